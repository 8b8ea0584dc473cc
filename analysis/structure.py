"""A JSON value as a typed record: the record's dataclass states which keys there are, and what each of them holds.

Decides structure only; what values mean together is checked by whoever reads the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from analysis.errors import DataError

T = TypeVar("T")

_PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", NoneType: "null"}


class OpenRecord:
    """Base of records whose object may have further keys, which are not read; all others have exactly their fields."""

    __slots__ = ()


class _MismatchError(Exception):
    """What a value is, and what was expected instead; the text starts with the path inside the JSON."""


def read(record: type[T], value: Any, at: str) -> T:
    """The object as a record; only a field with a default may be absent. Raises DataError with the path of a mismatch.

    record: a dataclass whose fields are plain values, words (a StrEnum or Literal), records, tuples (lists), mappings,
        or one of these `| None`; `Any` is not checked
    at: what the object is, such as its file
    """
    try:
        found: T = _value(record, value, "")
    except _MismatchError as error:
        raise DataError(
            f"{at}: {error}; this version of the suite did not write it: copy the run directory again, or measure again"
        ) from None
    return found


def _value(kind: Any, value: Any, path: str) -> Any:
    inner = next(inner for inner in get_args(kind) if inner is not NoneType) if _optional(kind) else kind
    origin, inside = get_origin(inner), get_args(inner)
    if inner is Any or (value is None and inner is not kind):
        return value
    if isinstance(value, dict) and is_dataclass(inner):
        return _record(inner, value, path)
    if isinstance(value, dict) and origin is Mapping:
        return {key: _value(inside[1], item, f"{path}[{json.dumps(key)}]") for key, item in value.items()}
    if isinstance(value, list) and origin is tuple and (inside[-1] is ... or len(inside) == len(value)):
        kinds = repeat(inside[0], len(value)) if inside[-1] is ... else inside
        items = enumerate(zip(kinds, value, strict=True))
        return tuple(_value(of_item, item, f"{path}[{number}]") for number, (of_item, item) in items)
    if value in _words(inner):
        return value if origin is Literal else inner(value)
    if inner in _PLAIN and (type(value) is inner or (inner is float and type(value) is int)):
        return inner(value)
    # A text may be a secret that was put into the wrong field: it is quoted only where words are expected.
    quoted = not isinstance(value, str | dict | list) or (isinstance(value, str) and _words(inner))
    found = json.dumps(value)[:80] if quoted else _expected(type(value))
    raise _MismatchError(f"{path or 'it'} is {found}, expected {_expected(kind)}")


def _record(record: Any, value: Mapping[str, Any], path: str) -> Any:
    kinds, inside = _kinds(record), f"{path}." if path else ""
    for name in value:
        if name not in kinds and not issubclass(record, OpenRecord):
            raise _MismatchError(f"{inside}{name} is unknown, expected {', '.join(kinds)}")
    for name, (kind, required) in kinds.items():
        if required and name not in value:
            raise _MismatchError(f"{inside}{name} is missing, expected {_expected(kind)}")
    return record(**{name: _value(kinds[name][0], value[name], inside + name) for name in kinds if name in value})


@cache
def _kinds(record: Any) -> Mapping[str, tuple[Any, bool]]:
    """Of each field its type, and whether its key must be there."""
    hints = get_type_hints(record)
    return {
        field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in fields(record)
    }


def _optional(kind: Any) -> bool:
    return get_origin(kind) in {Union, UnionType}


def _words(kind: Any) -> tuple[str, ...]:
    """The words of a StrEnum or Literal; none of any other type."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()


def _expected(kind: Any) -> str:
    """A type in words."""
    if _optional(kind):
        return " or ".join(map(_expected, get_args(kind)))
    if words := _words(kind):
        return f"one of {', '.join(words)}"
    if kind is list or get_origin(kind) is tuple:
        return "a list" if kind is list or get_args(kind)[-1] is ... else f"a list of {len(get_args(kind))}"
    return _PLAIN.get(kind, "an object")
