"""Tables of a TOML text that a user writes: every mistake is refused with the text's name, the table and the key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from workloads.errors import WorkloadError


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The values of the text. Raises WorkloadError with the name of the text, `source`, if it is not TOML."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError is one, and so is a number of too many digits
        raise WorkloadError(f"{source}: not TOML: {error}") from None


@dataclass(frozen=True)
class TomlTable:
    """A table of the text. Raises WorkloadError for a key that is not in `known`."""

    #: Name of the text in messages.
    source: str
    #: Name of the table; empty for the root.
    path: str
    values: Mapping[str, Any]
    known: tuple[str, ...]

    def __post_init__(self) -> None:
        for key in self.values:
            if key not in self.known:
                raise WorkloadError(
                    f"{self.label}: unknown key {key!r}; expected {', '.join(self.known) or 'none here'}"
                )

    def table(self, key: str, *known: str) -> Self:
        """A table within this one, empty if it is omitted."""
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
        return WorkloadError(f"{self.label}: {key}: expected {expected}, got {value!r}")

    @property
    def label(self) -> str:
        """Text and table, for messages."""
        return f"{self.source}: [{self.path}]" if self.path else self.source
