"""The manifest of a run -> facts about it: the lines below a page's title, groups of values, a table of the brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.formats import MIB
from analysis.table import Table, TableColumn, TableRow


def title_lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    """The host, then when the run began and ended."""
    host = manifest.get("host", {})
    cpus = f"{host['cpus']} CPUs" if "cpus" in host else ""
    memory = f"{host['memory_bytes'] / 2**30:.1f} GiB" if "memory_bytes" in host else ""
    system = host.get("os") or host.get("platform")
    yield ", ".join(filter(None, (host.get("cpu_model"), cpus, memory, system))) or "host not known"
    began, ended = (manifest.get(key, "?") for key in ("created_utc", "ended_utc"))
    yield f"{began} to {ended}, {manifest.get('outcome', 'no outcome')}"


def setup(manifest: Mapping[str, Any]) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Groups of (name, value) from the manifest: host, options, time."""
    yield "Host", _facts(manifest.get("host", {}))
    yield "Options", _facts(manifest.get("options", {}))
    times = {"began": "created_utc", "ended": "ended_utc", "outcome": "outcome", "schema": "schema"}
    yield "Run", _facts({name: manifest[key] for name, key in times.items() if key in manifest})


def brokers(manifest: Mapping[str, Any]) -> Table:
    """A column per broker, a row per fact: common facts first, then all others in the manifest."""
    described: Mapping[str, Mapping[str, Any]] = manifest.get("brokers", {})
    names = dict.fromkeys([*_BROKER_FACTS, *(name for facts in described.values() for name in facts)])
    rows = tuple(
        TableRow((_name(name), *(_broker_fact(name, facts) for facts in described.values())))
        for name in names
        if any(name in facts for facts in described.values())
    )
    columns = (TableColumn("", number=False), *(TableColumn(label, number=False) for label in described))
    return Table("Brokers, as they were started", columns, rows)


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


def _broker_fact(name: str, facts: Mapping[str, Any]) -> str:
    value = facts.get(name)
    words = {"capabilities": _capabilities, "protocol": _protocol}.get(name)
    return words(value) if words and isinstance(value, dict) else _value(name, value)


def _protocol(row: Mapping[str, Any]) -> str:
    """The abbreviation of the broker's protocol; how it is spelled is in the manifest."""
    return str(row.get("name")).upper()


def _capabilities(row: Mapping[str, Any]) -> str:
    """The broker's capabilities as text."""
    return "; ".join(
        (
            f"destinations: {', '.join(row.get('destinations') or ()) or 'none'}",
            "filters on subscriptions" if row.get("selectors") else "no filters on subscriptions",
            f"acknowledgement: {', '.join(row.get('ack_modes') or ()) or 'none'}",
            f"transactions: {row.get('transactions')}",
            "durable subscriptions" if row.get("durable") else "no durable subscriptions",
            "one message ahead" if row.get("one_ahead") else "no limit on the messages ahead",
        )
    )


def _facts(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((_name(key), _value(key, value)) for key, value in values.items())


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
