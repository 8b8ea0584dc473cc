"""Values of JSON records, checked as they are read: a refusal has the path, what was expected, and what was found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from workloads.errors import WorkloadError


def refusal(path: str, expected: str, value: Any) -> WorkloadError:
    """The error for a value that nothing of this suite has written."""
    return WorkloadError(f"{path}: expected {expected}, got {value!r}")


def values(record: Any, path: str, *keys: str) -> list[Any]:
    """The values of an object, in the order of these keys.

    Raises WorkloadError unless the object has these keys and no others.
    """
    if not isinstance(record, Mapping):
        raise refusal(path, "an object", record)
    if set(record) != set(keys):
        raise refusal(path, f"the keys {', '.join(keys)}", ", ".join(map(str, record)))
    return [record[key] for key in keys]


def text(value: Any, path: str) -> str:
    """Raises WorkloadError for anything else."""
    if not isinstance(value, str):
        raise refusal(path, "a text", value)
    return value


def whole(value: Any, path: str, least: int = 0) -> int:
    """A whole number. Raises WorkloadError for anything else, or for a number below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise refusal(path, f"a whole number from {least} on", value)
    return value


def digest_of(record: Any) -> str:
    """SHA-256 of a record as JSON, keys sorted, without spaces."""
    written = json.dumps(record, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(written.encode()).hexdigest()
