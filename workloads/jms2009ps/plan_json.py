"""Conversion of a configuration to plain JSON values and back, and digests that identify configuration and tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from workloads.errors import WorkloadError
from workloads.jms2009ps.parameters import MESSAGES, PARAMETERS, Configuration, MessageParameters, has
from workloads.jms2009ps.targets import MOST_SELECTOR, TOPICS
from workloads.supply_chain import plan_json

_KEYS = ("name", "topology", "handlers_per_queue", "parameters", "digest")


def to_json(configuration: Configuration) -> dict[str, Any]:
    """All values of the configuration, so that `from_json` returns an equal one, and their digest."""
    return {"name": configuration.name, **_values(configuration), "digest": configuration_digest(configuration)}


def from_json(record: Any) -> Configuration:
    """The described configuration. Raises WorkloadError with the place if `to_json` cannot have written a value."""
    row = _row(record, "configuration", _KEYS)
    if not isinstance(row["name"], str):
        raise _refusal("configuration.name", "a text", row["name"])
    handlers = row["handlers_per_queue"]
    if isinstance(handlers, bool) or not isinstance(handlers, int) or handlers < 1:
        raise _refusal("configuration.handlers_per_queue", "a whole number from 1 on", handlers)
    parameters = _row(row["parameters"], "configuration.parameters", tuple(MESSAGES))
    found = Configuration(
        row["name"],
        {message: _parameters(message, parameters[message]) for message in MESSAGES},
        row["topology"],
        handlers,
    )
    if row["digest"] != configuration_digest(found):
        raise _refusal("configuration.digest", "the digest of the values", row["digest"])
    return found


def configuration_digest(configuration: Configuration) -> str:
    """SHA-256 of everything but the name: configurations with the same digest are the same."""
    return _digest(_values(configuration))


def digest() -> str:
    """SHA-256 of all tables: runs with the same digest and the same configuration had the same model."""
    return _digest(
        {
            "supply_chain": plan_json.tables(),
            "topics": {target.value: asdict(topics) for target, topics in TOPICS.items()},
            "parameters": {name: parameter.expected for name, parameter in PARAMETERS.items()},
            "most_selector": MOST_SELECTOR,
        }
    )


def _values(configuration: Configuration) -> dict[str, Any]:
    return {
        "topology": configuration.topology,
        "handlers_per_queue": configuration.handlers_per_queue,
        "parameters": configuration.parameters_json(),
    }


def _digest(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _parameters(message: str, record: Any) -> MessageParameters:
    place = f"configuration.parameters.{message}"
    values: dict[str, Any] = {}
    for name, given in _row(record, place, tuple(PARAMETERS)).items():
        values[name] = PARAMETERS[name].value(given)
        if (values[name] is None) is has(message, name) or (given is None) is has(message, name):
            raise _refusal(f"{place}.{name}", PARAMETERS[name].expected if has(message, name) else "null", given)
    return MessageParameters(**values)


def _row(record: Any, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise _refusal(place, "an object", record)
    if set(record) != set(keys):
        raise _refusal(place, f"the keys {', '.join(keys)}", ", ".join(map(str, record)))
    return record


def _refusal(place: str, expected: str, value: Any) -> WorkloadError:
    return WorkloadError(f"{place}: expected {expected}, got {value!r}")
