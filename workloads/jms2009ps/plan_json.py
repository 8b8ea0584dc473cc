"""Conversion of a configuration to plain JSON values and back, and digests that identify configuration and tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from workloads.jms2009ps.parameters import MESSAGES, PARAMETERS, Configuration, MessageParameters, has
from workloads.jms2009ps.targets import MOST_SELECTOR, TOPICS
from workloads.supply_chain import plan_json
from workloads.supply_chain.json_values import digest_of, refusal, text, values, whole

_KEYS = ("name", "topology", "handlers_per_queue", "parameters", "digest")


def to_json(configuration: Configuration) -> dict[str, Any]:
    """All values of the configuration, so that `from_json` returns an equal one, and their digest."""
    return {"name": configuration.name, **_values(configuration), "digest": configuration_digest(configuration)}


def from_json(record: Any) -> Configuration:
    """The described configuration. Raises WorkloadError with the path of a value that `to_json` cannot have written."""
    name, topology, handlers, parameters, digest_given = values(record, "configuration", *_KEYS)
    name = text(name, "configuration.name")
    handlers = whole(handlers, "configuration.handlers_per_queue", least=1)
    by_message = values(parameters, "configuration.parameters", *MESSAGES)
    found = Configuration(
        name,
        {message: _parameters(message, row) for message, row in zip(MESSAGES, by_message, strict=True)},
        topology,
        handlers,
    )
    if digest_given != configuration_digest(found):
        raise refusal("configuration.digest", "the digest of the values", digest_given)
    return found


def configuration_digest(configuration: Configuration) -> str:
    """SHA-256 of everything but the name: configurations with the same digest are the same."""
    return digest_of(_values(configuration))


def digest() -> str:
    """SHA-256 of all tables: runs with the same digest and the same configuration had the same model."""
    return digest_of(
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


def _parameters(message: str, record: Any) -> MessageParameters:
    path = f"configuration.parameters.{message}"
    found: dict[str, Any] = {}
    for name, given in zip(PARAMETERS, values(record, path, *PARAMETERS), strict=True):
        found[name] = PARAMETERS[name].value(given)
        if (found[name] is None) is has(message, name) or (given is None) is has(message, name):
            raise refusal(f"{path}.{name}", PARAMETERS[name].expected if has(message, name) else "null", given)
    return MessageParameters(**found)
