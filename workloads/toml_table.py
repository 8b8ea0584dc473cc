"""Tables of a TOML text that a user writes: every mistake is refused with the text's name, line, table and key."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

from workloads.errors import WorkloadError

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?")


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The values of the text. Raises WorkloadError with the name of the text, `source`, if it is not TOML."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError is one, and so is a number of too many digits
        raise WorkloadError(f"{source}: not TOML: {error}") from None


def line_of(text: str, path: str, key: str) -> int | None:
    """The number of the line that sets a key of a table, or else of the line that begins the table.

    None unless there is exactly one such line: a text may say the same in several ways.
    """
    table, keys, headers = "", [], []
    wanted = re.compile(rf"\s*(?:{re.escape(key)}|\"{re.escape(key)}\")\s*=")
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = ".".join(part.strip().strip("\"'") for part in header[1].split("."))
            headers += [number] * (table == path)
        elif table == path and wanted.match(line):
            keys.append(number)
    found = keys or headers
    if not found and path:  # the table may be written in one line
        parent, _, last = path.rpartition(".")
        return line_of(text, parent, last)
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class TomlTable:
    """A table of the text. Raises WorkloadError for a key that is not in `known`."""

    #: Name of the text in messages.
    source: str
    #: Name of the table; empty for the root.
    path: str
    values: Mapping[str, Any]
    #: None: the keys are the user's own.
    known: tuple[str, ...] | None
    #: The text, in which lines are looked up.
    text: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        known = self.values if self.known is None else self.known
        for key in self.values:
            if key not in known:
                expected = ", ".join(known) or "none here"
                raise WorkloadError(f"{self.label(key)}: unknown key {key!r}; expected {expected}")

    def table(self, key: str, *known: str) -> Self:
        """A table within this one, empty if it is omitted."""
        return self._within(key, known)

    def table_of_names(self, key: str) -> Self:
        """A table within this one, whose keys are names of the user's; empty if it is omitted."""
        return self._within(key, None)

    def _within(self, key: str, known: tuple[str, ...] | None) -> Self:
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.refusal(key, "a table", value)
        return replace(self, path=f"{self.path}.{key}" if self.path else key, values=value, known=known)

    def boolean(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.refusal(key, "true or false", value)
        return value

    def refusal(self, key: str, expected: str, value: Any) -> WorkloadError:
        """The error for a value that is not what was expected."""
        return WorkloadError(f"{self.label(key)}: {key}: expected {expected}, got {value!r}")

    def missing(self, key: str, expected: str) -> WorkloadError:
        """The error for a key that has to be there."""
        return WorkloadError(f"{self.label(key)}: {key!r} is missing; expected {expected}")

    def label(self, key: str = "") -> str:
        """Text, line and table, for messages about a key."""
        line = line_of(self.text, self.path, key)
        place = self.source if line is None else f"{self.source}, line {line}"
        return f"{place}: [{self.path}]" if self.path else place


@dataclass(frozen=True)
class ScaledTable(TomlTable):
    """A table whose numbers may be per BASE."""

    base: int

    def number(self, key: str, default: Any = None) -> Fraction:
        """A number from 0 on, or `{ per_base = number }` of it."""
        value = self.values.get(key, default)
        if value is None:
            raise self.missing(key, "a number or { per_base = number }")
        if isinstance(value, Mapping):
            if set(value) != {"per_base"}:
                raise self.refusal(key, "a number or { per_base = number }", dict(value))
            return self.fraction(key, value["per_base"]) * self.base
        return self.fraction(key, value)

    def count(self, key: str, default: Any = None) -> int:
        """A whole number; a value per BASE is rounded up."""
        value = self.number(key, default)
        if value.denominator > 1 and not isinstance(self.values.get(key), Mapping):
            raise self.refusal(key, "a whole number", self.values[key])
        return math.ceil(value)

    def fraction(self, key: str, value: Any) -> Fraction:
        """A number from 0 on, exactly as it is written: 0.1 is 1/10."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise self.refusal(key, "a number from 0 on", value)
        return Fraction(str(value))


def grows(value: Any) -> bool:
    """Whether any part of a value is per BASE."""
    return isinstance(value, Mapping) and ("per_base" in value or any(map(grows, value.values())))
