"""Message filters as values: the same object yields the selector's text and decides which messages match it.

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

#: A bound is a Java `int`; a property may be any `long`, which has 19 digits.
_MOST = 2**31 - 1
_INTEGER = "[0-9]{1,19}"


def _check_identifier(name: str) -> None:
    if not _IDENTIFIER.fullmatch(name) or name.upper() in _RESERVED:
        raise WorkloadError(
            f"property name {name!r} is not a selector identifier: letters, digits, _ and $, "
            "no digit first, no word of the grammar (hyphens are not legal in a JMS selector)"
        )


def _quoted(value: str) -> str:
    return "'{}'".format(value.replace("'", "''"))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A condition on a property. Raises WorkloadError for a name that a selector cannot have."""

    name: str

    def __post_init__(self) -> None:
        _check_identifier(self.name)


@dataclass(frozen=True, slots=True)
class Equals(_Comparison):
    """`name = 'value'`; a message without the property does not match (the comparison is unknown)."""

    value: str

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
class Like(_Comparison):
    """`name LIKE 'pattern'`: `%` stands for any characters, `_` for one; no ESCAPE."""

    pattern: str

    def matches(self, properties: Mapping[str, str]) -> bool:
        value = properties.get(self.name)
        parts = ({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in self.pattern)
        return value is not None and re.fullmatch("".join(parts), value, re.DOTALL) is not None

    def __str__(self) -> str:
        return f"{self.name} LIKE {_quoted(self.pattern)}"


@dataclass(frozen=True, slots=True)
class Between:
    """`name BETWEEN low AND high`, both included, on a property that holds an integer.

    Protocols of text carry every property as text; a broker must convert it (`convert_string_expressions` in ActiveMQ,
    which Classic applies to every such selector). Text that is no integer does not match. Integers are those of
    a non-negative Java `int`: with a bound in that range Classic does not match larger numbers in text (observed).
    """

    name: str
    low: int
    high: int

    def __post_init__(self) -> None:
        _check_identifier(self.name)
        if not 0 <= self.low <= self.high <= _MOST:
            raise WorkloadError(
                f"{self.name} BETWEEN: expected 0 <= low <= high <= {_MOST}, got {self.low} and {self.high}"
            )

    def matches(self, properties: Mapping[str, str]) -> bool:
        value = properties.get(self.name, "")
        return re.fullmatch(_INTEGER, value) is not None and self.low <= int(value) <= self.high

    def __str__(self) -> str:
        return f"{self.name} BETWEEN {self.low} AND {self.high}"


@dataclass(frozen=True, slots=True)
class IsNull(_Comparison):
    """`name IS NULL`: messages without the property match."""

    def matches(self, properties: Mapping[str, str]) -> bool:
        return self.name not in properties

    def __str__(self) -> str:
        return f"{self.name} IS NULL"


@dataclass(frozen=True, slots=True)
class _Joined:
    """Conditions that are joined. Raises WorkloadError for fewer than two."""

    terms: tuple[Selector, ...]

    def __post_init__(self) -> None:
        if len(self.terms) < 2:
            raise WorkloadError(f"{type(self).__name__.upper()} joins at least two terms, got {len(self.terms)}")


@dataclass(frozen=True, slots=True)
class And(_Joined):
    """All terms hold. Brokers evaluate from left to right and stop at the first that does not (seed of 4.4).

    A conjunction among its terms keeps its parentheses: what was nested is nested in the text.
    """

    def matches(self, properties: Mapping[str, str]) -> bool:
        return all(term.matches(properties) for term in self.terms)

    def __str__(self) -> str:
        return " AND ".join(f"({term})" if isinstance(term, And | Or) else str(term) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Or(_Joined):
    """At least one term holds. A disjunction among its terms keeps its parentheses, a conjunction needs none."""

    def matches(self, properties: Mapping[str, str]) -> bool:
        return any(term.matches(properties) for term in self.terms)

    def __str__(self) -> str:
        return " OR ".join(f"({term})" if isinstance(term, Or) else str(term) for term in self.terms)


Selector: TypeAlias = Equals | In | Like | Between | IsNull | And | Or


def compares_numbers(selector: Selector | None) -> bool:
    """Whether a part of it compares text as a number."""
    terms = selector.terms if isinstance(selector, And | Or) else ()
    return isinstance(selector, Between) or any(map(compares_numbers, terms))


def all_of(*terms: Selector) -> Selector:
    """The conjunction of one or more terms; a single term is returned unchanged."""
    return terms[0] if len(terms) == 1 else And(terms)


_TOKEN = re.compile(
    rf"""\s*(?:(?P<word>{_IDENTIFIER.pattern})
          | '(?P<string>(?:[^']|'')*)'
          | (?P<integer>{_INTEGER})(?![A-Za-z0-9_$])
          | (?P<sign>[=(),]))""",
    re.VERBOSE,
)


def parse(text: str) -> Selector:
    """Parses a selector, for the suite's own brokers; `parse(str(selector)) == selector`.

    Raises WorkloadError with the position at which the text leaves the supported grammar: `name = 'value'`,
    `name IN ('a', 'b')`, `name LIKE 'pattern'`, `name BETWEEN 1 AND 2`, `name IS NULL`, AND, OR and
    parentheses, AND binding tighter than OR; words of the grammar in any case.
    """
    try:
        reader = _Reader(text)
        selector = _disjunction(reader)
        reader.take("", "AND, OR or the end")
    except WorkloadError as error:
        raise WorkloadError(f"selector {text!r}: {error}") from None
    return selector


@dataclass(frozen=True, slots=True)
class _Token:
    """A token of a selector's text."""

    #: "word", "string" or "integer"; for a sign or a reserved word the token itself; "" for the end
    kind: str
    text: str
    #: position in the text, in characters
    at: int


class _Reader:
    """The tokens of a text, taken from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._taken = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._taken]

    def skip(self, kind: str) -> bool:
        """Takes the next token if it is of this kind."""
        found = self._next.kind == kind
        self._taken += found
        return found

    def take(self, kind: str, expected: str) -> str:
        """The text of the next token, which must be of this kind."""
        token = self._next
        if not self.skip(kind):
            raise self.refusal(expected)
        return token.text

    def refusal(self, expected: str) -> WorkloadError:
        token = self._next
        found = f"{token.text!r} at position {token.at}" if token.kind else "the end"
        return WorkloadError(f"expected {expected}, found {found}")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise WorkloadError(f"cannot read {text[at : at + 12]!r} at position {at}")
        group = kind = match.lastgroup or ""
        found = match[group]
        if group == "sign" or (group == "word" and found.upper() in _RESERVED):
            kind = found.upper()
        elif group == "string":
            found = found.replace("''", "'")
        tokens.append(_Token(kind, found, match.start(group)))
        at = match.end()
    return [*tokens, _Token("", "", end)]


def _disjunction(reader: _Reader) -> Selector:
    terms = [_conjunction(reader)]
    while reader.skip("OR"):
        terms.append(_conjunction(reader))
    return terms[0] if len(terms) == 1 else Or(tuple(terms))


def _conjunction(reader: _Reader) -> Selector:
    terms = [_primary(reader)]
    while reader.skip("AND"):
        terms.append(_primary(reader))
    return all_of(*terms)


def _primary(reader: _Reader) -> Selector:
    if reader.skip("("):
        selector = _disjunction(reader)
        reader.take(")", "AND, OR or ')'")
        return selector
    name = reader.take("word", "a property name or '('")
    for word, comparison in _COMPARISONS.items():
        if reader.skip(word):
            return comparison(reader, name)
    raise reader.refusal(f"one of {' '.join(_COMPARISONS)} after {name}")


def _in(reader: _Reader, name: str) -> In:
    reader.take("(", "'('")
    values = [reader.take("string", "'text'")]
    while reader.skip(","):
        values.append(reader.take("string", "'text'"))
    reader.take(")", "',' or ')'")
    return In(name, tuple(values))


def _between(reader: _Reader, name: str) -> Between:
    low = reader.take("integer", "an integer")
    reader.take("AND", "AND")
    return Between(name, int(low), int(reader.take("integer", "an integer")))


def _is_null(reader: _Reader, name: str) -> IsNull:
    reader.take("NULL", "NULL")
    return IsNull(name)


_COMPARISONS: Mapping[str, Callable[[_Reader, str], Selector]] = {
    "=": lambda reader, name: Equals(name, reader.take("string", "'text'")),
    "IN": _in,
    "LIKE": lambda reader, name: Like(name, reader.take("string", "'pattern'")),
    "BETWEEN": _between,
    "IS": _is_null,
}
