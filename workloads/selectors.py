"""Message filters as values: the same object gives the selector's text and says which messages match it.

The broker evaluates the text, the plan evaluates the object; that the two agree is what the audit checks.
Only the part of the JMS selector grammar (JMS 1.1, section 3.8.1.1) that the experiments use is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from workloads.errors import WorkloadError

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_RESERVED = frozenset(("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"))


def _check_identifier(name: str) -> None:
    if not _IDENTIFIER.fullmatch(name) or name.upper() in _RESERVED:
        raise WorkloadError(
            f"property name {name!r} is not a selector identifier: letters, digits, _ and $, "
            "no digit first, no word of the grammar (hyphens are not legal in a JMS selector)"
        )


def _quoted(value: str) -> str:
    return "'{}'".format(value.replace("'", "''"))


@dataclass(frozen=True, slots=True)
class Equals:
    """`name = 'value'`; a message without the property does not match (the comparison is unknown)."""

    name: str
    value: str

    def __post_init__(self) -> None:
        _check_identifier(self.name)

    def matches(self, properties: Mapping[str, str]) -> bool:
        return properties.get(self.name) == self.value

    def __str__(self) -> str:
        return f"{self.name} = {_quoted(self.value)}"


@dataclass(frozen=True, slots=True)
class In:
    """`name IN ('a', 'b')`."""

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_identifier(self.name)
        if not self.values:
            raise WorkloadError(f"{self.name} IN (): a list of at least one value is needed")

    def matches(self, properties: Mapping[str, str]) -> bool:
        return properties.get(self.name) in self.values

    def __str__(self) -> str:
        return f"{self.name} IN ({', '.join(map(_quoted, self.values))})"


@dataclass(frozen=True, slots=True)
class Like:
    """`name LIKE 'pattern'`: `%` stands for any characters, `_` for one; no ESCAPE."""

    name: str
    pattern: str

    def __post_init__(self) -> None:
        _check_identifier(self.name)

    def matches(self, properties: Mapping[str, str]) -> bool:
        value = properties.get(self.name)
        parts = ({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in self.pattern)
        return value is not None and re.fullmatch("".join(parts), value, re.DOTALL) is not None

    def __str__(self) -> str:
        return f"{self.name} LIKE {_quoted(self.pattern)}"


@dataclass(frozen=True, slots=True)
class Between:
    """`name BETWEEN low AND high`, both included, on a property that holds an integer.

    STOMP carries every property as text; a broker must convert it (`convert_string_expressions` in ActiveMQ,
    which Classic applies to every STOMP selector). Text that is no integer does not match.
    """

    name: str
    low: int
    high: int

    def __post_init__(self) -> None:
        _check_identifier(self.name)
        if not 0 <= self.low <= self.high:
            raise WorkloadError(f"{self.name} BETWEEN: expected 0 <= low <= high, got {self.low} and {self.high}")

    def matches(self, properties: Mapping[str, str]) -> bool:
        value = properties.get(self.name, "")
        return re.fullmatch(r"\d+", value) is not None and self.low <= int(value) <= self.high

    def __str__(self) -> str:
        return f"{self.name} BETWEEN {self.low} AND {self.high}"


@dataclass(frozen=True, slots=True)
class IsNull:
    """`name IS NULL`: messages without the property match."""

    name: str

    def __post_init__(self) -> None:
        _check_identifier(self.name)

    def matches(self, properties: Mapping[str, str]) -> bool:
        return self.name not in properties

    def __str__(self) -> str:
        return f"{self.name} IS NULL"


@dataclass(frozen=True, slots=True)
class And:
    """All terms hold. Brokers evaluate from left to right and stop at the first that does not (seed of 4.4)."""

    terms: tuple[Selector, ...]

    def __post_init__(self) -> None:
        _at_least_two(self.terms, "AND")

    def matches(self, properties: Mapping[str, str]) -> bool:
        return all(term.matches(properties) for term in self.terms)

    def __str__(self) -> str:
        return " AND ".join(f"({term})" if isinstance(term, Or) else str(term) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Or:
    """At least one term holds."""

    terms: tuple[Selector, ...]

    def __post_init__(self) -> None:
        _at_least_two(self.terms, "OR")

    def matches(self, properties: Mapping[str, str]) -> bool:
        return any(term.matches(properties) for term in self.terms)

    def __str__(self) -> str:
        return " OR ".join(map(str, self.terms))


Selector: TypeAlias = Equals | In | Like | Between | IsNull | And | Or


def all_of(*terms: Selector) -> Selector:
    """The conjunction of one or more terms: a single term stands for itself."""
    return terms[0] if len(terms) == 1 else And(terms)


def _at_least_two(terms: tuple[Selector, ...], word: str) -> None:
    if len(terms) < 2:
        raise WorkloadError(f"{word} joins at least two terms, got {len(terms)}")


_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z_$][A-Za-z0-9_$]*)|'(?P<string>(?:[^']|'')*)'|(?P<sign>[=()]))")


def parse(text: str) -> Selector:
    """The selector that `text` spells, for the suite's own brokers.

    Raises WorkloadError with the place where the text leaves the supported grammar:
    `name = 'value'`, AND, OR and parentheses, AND binding tighter than OR.
    """
    tokens = _tokens(text)
    selector, rest = _disjunction(tokens, text)
    if rest:
        raise WorkloadError(f"selector {text!r}: {rest[0][1]!r} was not expected after {selector}")
    return selector


_Tokens: TypeAlias = list[tuple[str, str]]


def _tokens(text: str) -> _Tokens:
    tokens: _Tokens = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise WorkloadError(f"selector {text!r}: cannot read {text[at : at + 12]!r} at position {at}")
        kind = match.lastgroup or ""
        word = match[kind]
        if kind == "string":
            word = word.replace("''", "'")
        elif kind == "word" and word.upper() in ("AND", "OR"):
            kind = word = word.upper()
        tokens.append((kind, word))
        at = match.end()
    return tokens


def _disjunction(tokens: _Tokens, text: str) -> tuple[Selector, _Tokens]:
    terms, tokens = _joined(tokens, text, "OR", _conjunction)
    return (terms[0] if len(terms) == 1 else Or(terms)), tokens


def _conjunction(tokens: _Tokens, text: str) -> tuple[Selector, _Tokens]:
    terms, tokens = _joined(tokens, text, "AND", _primary)
    return all_of(*terms), tokens


def _joined(
    tokens: _Tokens, text: str, word: str, part: Callable[[_Tokens, str], tuple[Selector, _Tokens]]
) -> tuple[tuple[Selector, ...], _Tokens]:
    term, tokens = part(tokens, text)
    terms = [term]
    while tokens and tokens[0][0] == word:
        term, tokens = part(tokens[1:], text)
        terms.append(term)
    return tuple(terms), tokens


def _primary(tokens: _Tokens, text: str) -> tuple[Selector, _Tokens]:
    match tokens:
        case [("sign", "("), *rest]:
            selector, rest = _disjunction(rest, text)
            if not rest or rest[0] != ("sign", ")"):
                raise WorkloadError(f"selector {text!r}: a ')' is missing after {selector}")
            return selector, rest[1:]
        case [("word", name), ("sign", "="), ("string", value), *rest]:
            return Equals(name, value), rest
    found = " ".join(word for _, word in tokens[:3]) or "the end"
    raise WorkloadError(f"selector {text!r}: expected name = 'value' or '(', found {found}")
