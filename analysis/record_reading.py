"""Reading of JSON values as the records that `workloads` states: msgspec checks them against the dataclasses.

Decides structure only; what values mean together is checked by whoever reads the record. Keys that a record does not
have are not read: a file of another version is refused by the number of its schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from analysis.errors import DataError

T = TypeVar("T")

#: How msgspec ends the text of an error: the path of the value, whose root is $.
_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\w+|\[[^]]*\]")


def read(record: type[T], value: Any, at: str) -> T:
    """The object as a record; only a field with a default may be absent. Raises DataError with the path of a mismatch.

    record: a dataclass
    at: what the object is, such as its file
    """
    try:
        return msgspec.convert(value, record, dec_hook=_fraction)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{at}: {_said(record, str(error))}; this version of the suite did not write it: copy the run directory "
            "again, or measure again"
        ) from None


def _fraction(kind: Any, value: Any) -> Any:
    try:
        return kind(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"Expected `{kind.__name__}`, such as 16/21, got another text") from None


def _said(record: Any, text: str) -> str:
    """The text of msgspec with the path first, and with the words that were expected.

    msgspec quotes a value only where words are expected: any other may be a secret that was put into the wrong field.
    """
    found = _PLACE.search(text)
    path = found["path"].lstrip(".") if found else ""
    said = _PLACE.sub("", text)
    said = said[0].lower() + said[1:]
    words = _words(_kind(record, path)) if said.startswith("invalid enum value") else ()
    return f"{path}: " * bool(path) + said + f", expected one of {', '.join(words)}" * bool(words)


def _kind(record: Any, path: str) -> Any:
    """The type of what has this path in a record."""
    kind = record
    for step in _STEP.findall(path):
        kind = _required(kind)
        if not step.startswith("["):
            kind = get_type_hints(kind)[step]
        else:
            kind = get_args(kind)[-1 if get_origin(kind) is Mapping else 0]
    return _required(kind)


def _required(kind: Any) -> Any:
    """The type without `| None`."""
    kinds = [each for each in get_args(kind) if each is not NoneType]
    return kinds[0] if NoneType in get_args(kind) else kind


def _words(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
