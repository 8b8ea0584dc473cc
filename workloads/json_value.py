"""Records as plain JSON values: what is written of a plan, a manifest or a result, and the digest of tables.

The dataclass of a record states its keys and their order; nothing here knows one. Reading is the matter of those who
read files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any


def json_value(value: Any) -> Any:
    """The value as `json` takes it.

    Records and mappings become objects, sets sorted lists, enums and fractions texts such as "16/21"; a key that is a
    pair becomes one text.
    """
    if is_dataclass(value):
        return {field.name: json_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): json_value(each) for key, each in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(map(json_value, value))
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    return str(value) if isinstance(value, Fraction | Enum) else value


def digest_of(value: Any) -> str:
    """SHA-256 of a value as JSON, keys sorted, without spaces."""
    written = json.dumps(json_value(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()


def _key(key: Any) -> Any:
    if isinstance(key, tuple):
        return " -> ".join(map(str, key))
    return str(key) if isinstance(key, Enum) else key
