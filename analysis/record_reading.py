"""Reading of JSON values as the records that `workloads` states: msgspec checks them against the dataclasses.

Decides structure only; what values mean together is checked by whoever reads the record. Keys that a record does not
have are not read: a file of another version is refused by the number of its schema.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from enum import StrEnum
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from analysis.errors import DataError

T = TypeVar("T")

#: How msgspec ends the text of an error: the path of the value, whose root is $.
_PLACE = re.compile(r" - at (?:`key` in )?`\$(?P<path>[^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<field>\w+)`$")
_STEP = re.compile(r"\w+|\[[^]]*\]")


def read(record: type[T], value: Any, at: str) -> T:
    """The object as a record; only a field with a default may be absent. Raises DataError with the path of a mismatch.

    record: a dataclass
    at: what the object is, such as its file
    """
    try:
        return msgspec.convert(value, record, dec_hook=_fraction)
    except msgspec.ValidationError as error:
        path, said = _mismatch(record, value, str(error))
        raise DataError(
            f"{at}: {path.lstrip('.')}{_between(path, said)}{said}; this version of the suite did not write it: copy "
            "the run directory again, or measure again"
        ) from None


def from_text(record: type[T], text: bytes, at: str) -> T:
    """As `read`, from the text of a JSON file that the analysis itself wrote."""
    try:
        return msgspec.json.decode(text, type=record, dec_hook=_fraction)
    except msgspec.DecodeError as error:
        raise DataError(f"{at}: {error}") from None


def _between(path: str, said: str) -> str:
    return "" if not path else " " if said == "is missing" else ": "


def _fraction(kind: Any, value: Any) -> Any:
    with suppress(TypeError, ValueError, ZeroDivisionError):
        found = kind(value)
        if str(found) == value:
            return found
    raise ValueError(f"Expected `{kind.__name__}`, such as 16/21, got another value")


def _mismatch(record: Any, value: Any, text: str) -> tuple[str, str]:
    """The path of a mismatch, and what it is, by the text of msgspec.

    msgspec quotes a value only where words are expected: any other may be a secret that was put into the wrong field.
    It does not name the key of a mapping, which is looked for here.
    """
    place = _PLACE.search(text)
    path, said = place["path"] if place else "", _PLACE.sub("", text)
    before, inside, _ = path.partition("[...]")
    if inside:
        kind = get_args(_at(record, value, before)[0])[-1]
        for key, item in _at(record, value, before)[1].items():
            try:
                msgspec.convert(item, kind, dec_hook=_fraction)
            except msgspec.ValidationError as error:
                further, said = _mismatch(kind, item, str(error))
                return f"{before}[{json.dumps(key)}]{further}", said
    if missing := _MISSING.search(said):
        return f"{path}.{missing['field']}", "is missing"
    words = _words(_at(record, value, path)[0]) if said.startswith("Invalid enum value") else ()
    return path, f"{said[0].lower()}{said[1:]}" + f", expected one of {', '.join(words)}" * bool(words)


def _at(record: Any, value: Any, path: str) -> tuple[Any, Any]:
    """The type and the value of what has this path in a record."""
    kind = _required(record)
    for step in _STEP.findall(path):
        if step.startswith("["):
            kind, value = get_args(kind)[0], value[int(step[1:-1])]
        else:
            kind, value = get_type_hints(kind)[step], value[step]
        kind = _required(kind)
    return kind, value


def _required(kind: Any) -> Any:
    """The type without `| None`."""
    kinds = [each for each in get_args(kind) if each is not NoneType]
    return kinds[0] if NoneType in get_args(kind) else kind


def _words(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
