"""`python -m workloads.jms2009ps`: what a configuration amounts to, without running anything.

`figures` does the arithmetic.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workloads.jms2009ps import DISCLAIMER
from workloads.jms2009ps.configuration import read
from workloads.jms2009ps.figures import figures_json
from workloads.jms2009ps.parameters import PARAMETERS, Configuration
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.plain_text import alike, table
from workloads.scenario.command import TextPart, describe, file_text, with_json
from workloads.supply_chain.topology import CONTROLLED


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 printed; 2 refused, with the reason on standard error."""
    return describe(_parser(), DISCLAIMER, _described, arguments)


def _described(options: argparse.Namespace) -> tuple[dict[str, Any], Iterable[TextPart]]:
    configuration = _configuration(options.scenario, options.configuration, options.topology)
    parts = (_summary_text, _parameters_text, _messages_text, _destinations_text)
    return figures_json(configuration, options.base), parts


def _configuration(scenario: int | None, file: Path | None, topology: str | None) -> Configuration:
    if scenario is not None:
        return replace(SCENARIOS[scenario], topology=topology or SCENARIOS[scenario].topology)
    if file is None:
        raise AssertionError("the parser asks for one of the two")
    return read(file_text("configuration", file), file.name, topology)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workloads.jms2009ps",
        description="Compute destinations, subscriptions and filters of a configuration; runs nothing.",
    )
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--scenario", type=int, choices=tuple(SCENARIOS), help="a scenario of the paper")
    chosen.add_argument("--configuration", type=Path, metavar="FILE.toml", help="your own configuration")
    parser.add_argument(
        "--topology", choices=tuple(CONTROLLED), help="what BASE scales (the configuration's, or vertical)"
    )
    parser.add_argument("--base", type=_base, default=1, metavar="N", help="the scaling factor (1)")
    return with_json(parser)


def _base(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")


def _summary_text(record: dict[str, Any]) -> str:
    places = ", ".join(f"{number} {role}" for role, number in record["locations"].items())
    mix = ", ".join(f"{group} {share:.2f} %" for group, share in record["message_mix_percent"].items())
    busiest = record["busiest_topic"]
    return (
        f"{record['configuration']}, {record['topology']}, BASE {record['base']}: {places}\n"
        f"{record['queues']} queues with {record['queue_consumers']} consumers, {record['topics']} topics with "
        f"{record['topic_subscriptions']} subscriptions, {record['filters']} of them with a filter; "
        f"{record['event_handlers']} event handlers and {record['drivers']} drivers on {record['connections']} "
        f"connections\n"
        f"messages: {record['sent_per_s']:,.2f} sent/s, {record['received_per_s']:,.2f} received/s ({mix})\n"
        f"filters: {record['filters_per_s']:,.2f} evaluated/s, {record['filters_per_message']:.4f} per message sent, "
        f"of which {record['rejected_per_message']:.4f} reject it; {record['terms_per_message']:.4f} terms\n"
        f"filters of durable subscriptions reject {record['unmatched_durable_per_s']:,.2f} persistent messages/s\n"
        f"busiest topic: {busiest['name']}, {busiest['messages_percent']:.1f} % of the messages sent"
    )


def _parameters_text(record: dict[str, Any]) -> str:
    rows = [
        [message, *(_shown(values[name]) for name in PARAMETERS)] for message, values in record["parameters"].items()
    ]
    return table("Parameters (92 values; - no such parameter)", ["message", *PARAMETERS], rows)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else value


def _messages_text(record: dict[str, Any]) -> str:
    rows = [
        [
            message,
            _first(row["destinations"], 60),
            " ".join(row["properties"]),
            _first(row["selectors"], 100),
        ]
        for message, row in record["messages"].items()
    ]
    return table(
        "Messages, with the selectors of the first consumer", ["message", "sent to", "properties", "selector"], rows
    )


def _first(texts: Sequence[str], most: int) -> str:
    """The first text, shortened, and the number of the others."""
    if not texts:
        return ""
    shown = texts[0] if len(texts[0]) <= most else f"{texts[0][: most - 3]}..."
    return shown if len(texts) == 1 else f"{shown} and {len(texts) - 1} more"


def _destinations_text(record: dict[str, Any]) -> str:
    """Destinations that differ in their number only share a row."""
    sharing: dict[tuple[Any, ...], list[str]] = {}
    for row in record["destinations"]:
        location, _, rest = row["name"].partition("_")
        key = (row["kind"], location.rstrip("0123456789"), rest, row["subscriptions"], row["filters"])
        sharing.setdefault((*key, row["sent_per_s"]), []).append(row["name"])
    rows = [
        [kind, alike(names), consumers, filters, rate]
        for (kind, _, _, consumers, filters, rate), names in sharing.items()
    ]
    return table("Destinations", ["kind", "name", "subscriptions", "filters", "sent/s"], rows)


if __name__ == "__main__":
    raise SystemExit(main())
