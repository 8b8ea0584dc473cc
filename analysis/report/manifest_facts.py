"""The manifest of a run -> facts about it: the lines below a page's title, and the section of the system under test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from analysis.formats import MIB
from analysis.report.page import Facts, Part, Section, Soft
from analysis.table import Table, TableColumn
from workloads.json_value import json_value
from workloads.manifest import BrokerRecord, Manifest


def title_lines(manifest: Manifest) -> Iterator[str]:
    """The host, then when the run began and ended."""
    host = manifest.host
    cpus = f"{host.cpus} CPUs" if host.cpus else ""
    system = host.os or host.platform
    yield ", ".join(filter(None, (host.cpu_model, cpus, f"{host.memory_bytes / 2**30:.1f} GiB", system)))
    yield f"{manifest.created_utc} to {manifest.ended_utc or '?'}, {manifest.outcome or 'no outcome'}"


def system(
    anchor: str, path: str | Path, manifest: Manifest, brokers: Mapping[str, BrokerRecord], *further: Section
) -> Section:
    """The section about the run directory, the brokers, and the host, options and time of the run.

    anchor: of the chapter
    further: groups of facts that are shown last
    """
    setup = Section("", "", (*_setup(manifest), *further), style="setup")
    parts: tuple[Part, ...] = (Soft(f"Run directory: {path}"), _brokers(brokers), setup)
    return Section(f"{anchor}-setup", "System under test", parts)


def _setup(manifest: Manifest) -> Iterator[Section]:
    yield _group("Host", json_value(manifest.host))
    yield _group("Options", json_value(manifest.options))
    times = {
        "began": manifest.created_utc,
        "ended": manifest.ended_utc,
        "outcome": manifest.outcome,
        "schema": manifest.schema,
    }
    yield _group("Run", {name: value for name, value in times.items() if value is not None})


def _group(title: str, values: Mapping[str, Any]) -> Section:
    return Section("", title, (Facts(tuple((_name(key), _value(key, value)) for key, value in values.items())),))


def _brokers(known: Mapping[str, BrokerRecord]) -> Table:
    """A column per broker, a row per fact: common facts first, then all others in the manifest."""
    described = {label: _broker(broker) for label, broker in known.items()}
    names = dict.fromkeys([*_BROKER_FACTS, *(name for facts in described.values() for name in facts)])
    return Table.of(
        "Brokers, as they were started",
        [name for name in names if any(name in facts for facts in described.values())],
        TableColumn("", _name, number=False),
        *(TableColumn(label, partial(_fact, facts), number=False) for label, facts in described.items()),
    )


def _fact(facts: Mapping[str, Any], name: str) -> str:
    return _value(name, facts.get(name))


_BROKER_FACTS = (
    "product",
    "version",
    "provider",
    "server",
    "java",
    "flags",
    "message_memory",
    "configuration_digest",
    "options",
    "protocol",
    "capabilities",
)


def _broker(broker: BrokerRecord) -> dict[str, Any]:
    facts: dict[str, Any] = json_value(broker)
    return facts | {"protocol": broker.protocol_title, "capabilities": _capabilities(broker)}


def _capabilities(broker: BrokerRecord) -> str:
    row = broker.capabilities
    return "; ".join(
        (
            f"destinations: {', '.join(sorted(row.destinations)) or 'none'}",
            "filters on subscriptions" if row.selectors else "no filters on subscriptions",
            f"acknowledgement: {', '.join(sorted(row.ack_modes)) or 'none'}",
            f"transactions: {row.transactions}",
            "messages are confirmed" if row.receipts else "no confirmation of messages",
            "durable subscriptions" if row.durable else "no durable subscriptions",
            "deliveries ahead limited to one" if row.one_ahead else "no limit of deliveries ahead",
        )
    )


def _name(key: str) -> str:
    return key.removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: Any) -> str:
    if value is None or value in ([], "", {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes") and isinstance(value, int):
        return f"{value / MIB:,.0f} MiB"
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(name, of_name)}" for name, of_name in value.items())
    return str(value)
