"""Selectors as bindings, for brokers that route messages instead of evaluating filters.

`matches` still defines which subscription gets which message. A binding can express less than a selector, so only
selectors with an equivalent binding are accepted here; the audit then checks routing just as it checks filters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from workloads.errors import WorkloadError
from workloads.selectors import And, Equals, Like, Selector

Properties: TypeAlias = tuple[tuple[str, str], ...]

_WORD = "[A-Za-z0-9-]+"
_KEY = re.compile(rf"{_WORD}(\.{_WORD})*")
#: The last word of a pattern that stands for one word or more. In LIKE it is the same as `%`.
_REST = "%%"
_PATTERN = re.compile(rf"({_WORD}|%)(\.({_WORD}|%))*|({_WORD}\.)*{_REST}")


def routing_key(properties: Properties) -> str:
    """The key under which a message is sent: the value of its only property."""
    ((_, key),) = properties
    return key


def binding_key(selector: Selector | None, any_word: str, any_rest: str | None = None) -> str:
    """The key by which a subscription is bound.

    Raises WorkloadError for a selector that no key can stand for.

    any_word: the broker's wildcard for exactly one word
    any_rest: its wildcard for all further words, one or more, at the end of a key; None if it has none
    """
    if isinstance(selector, Equals):
        return selector.value
    if isinstance(selector, Like):
        spelled = {"%": any_word, _REST: any_rest}
        words = [spelled.get(word, word) for word in selector.pattern.split(".")]
        if None in words:
            raise WorkloadError(f"{selector}: the protocol has no wildcard for several words; use `%`, for one word")
        return ".".join(filter(None, words))
    raise WorkloadError(f"{selector}: only `name = 'key'` and `name LIKE 'word.%'` can be a binding key")


def conditions(selector: Selector | None) -> dict[str, str]:
    """The headers and values that a message must have, all of them."""
    terms = selector.terms if isinstance(selector, And) else (selector,)
    equal = [term for term in terms if isinstance(term, Equals)]
    wanted = {term.name: term.value for term in equal}
    if not len(wanted) == len(equal) == len(terms):
        raise WorkloadError(f"{selector}: only `name = 'value'`, or several of different names joined by AND, can bind")
    return wanted


def check_keys(messages: Iterable[Properties], selectors: Iterable[Selector | None]) -> None:
    """Raises WorkloadError unless every selector matches the same messages as its binding key.

    A message's key is the value of its only property, to which all selectors refer. `%` matches any text, a wildcard
    exactly one word: the two agree where `%` replaces a whole word, and all keys have as many words as the pattern.
    `%%` at the end stands for one word or more, so keys may have more words; then no other wildcard precedes it, which
    could stand for several words as well. Keys with a word less are refused, since brokers differ on whether the
    wildcard may stand for no word.
    """
    names, counts = set(), set()
    for properties in messages:
        if len(properties) != 1 or not _KEY.fullmatch(properties[0][1]):
            raise WorkloadError(f"{dict(properties)}: expected one property, whose value is words joined by `.`")
        names.add(properties[0][0])
        counts.add(_words(properties[0][1]))
    for selector in selectors:
        key = binding_key(selector, "%", _REST)
        if not (_PATTERN if isinstance(selector, Like) else _KEY).fullmatch(key):
            raise WorkloadError(
                f"{selector}: expected words joined by `.`, in LIKE also `%` for a whole word, "
                "or `%%` at the end and no other wildcard"
            )
        if {selector.name} != names:  # type: ignore[union-attr]  # binding_key takes no other selector
            raise WorkloadError(f"{selector}: expected a condition on {', '.join(sorted(names))}, whose value routes")
        if not isinstance(selector, Like):
            continue
        if key.endswith(_REST):
            if min(counts) < _words(key):
                raise WorkloadError(f"{selector}: expected no more words than the shortest key of the messages has")
        elif counts != {_words(key)}:
            raise WorkloadError(f"{selector}: expected as many words as the keys of the messages have")


def _words(key: str) -> int:
    return key.count(".") + 1
