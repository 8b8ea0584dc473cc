"""`python -m workloads.logistics`: what a size amounts to, without running anything.

`figures` does the arithmetic. A size that is too large to run is printed too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from workloads.logistics import DISCLAIMER, WORKLOAD
from workloads.logistics.cases import SETTINGS, sized
from workloads.logistics.dimensions import LogisticsSize, profile_of
from workloads.logistics.figures import figure_rows_json, figures_json
from workloads.logistics.profiles import PROFILES, Entity
from workloads.plain_text import table
from workloads.scenario.command import TextPart, bases, describe, with_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 printed; 2 refused, with the reason on standard error."""
    return describe(_parser(), DISCLAIMER, _described, arguments)


def _described(options: argparse.Namespace) -> tuple[dict[str, Any], Iterable[TextPart]]:
    sizes = [_size(options, base) for base in options.base]
    listed = [figures_json(size) for size in sizes]
    if len(sizes) == 1:
        return listed[0], (_summary_text, _drivers_text, _messages_text, _identities_text, _choices_text)
    return {"figures": figure_rows_json(sizes), "sizes": listed}, (_figures_text,)


def _size(options: argparse.Namespace, base: int) -> LogisticsSize:
    given = {setting.name: getattr(options, setting.name.replace("-", "_")) for setting in SETTINGS}
    return sized(profile_of(options.profile), WORKLOAD.request(base, given=given))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workloads.logistics",
        description="Compute the traffic and the subscriptions of the logistics workload; runs nothing.",
    )
    parser.add_argument("--profile", default=next(iter(PROFILES)), metavar="|".join(PROFILES), help="(corrected)")
    parser.add_argument(
        "--base",
        type=bases,
        default=range(1, 2),
        metavar="N|FIRST:LAST:STEP",
        help="the number of hubs (1); for several, prints the data of figure 3, a row each",
    )
    for setting in SETTINGS:
        words = {"metavar": "|".join(setting.kind)} if isinstance(setting.kind, tuple) else {"type": int}
        parser.add_argument(
            f"--{setting.name}", default=setting.default, help=f"{setting.meaning} ({setting.default})", **words
        )
    return with_json(parser)


def _summary_text(record: dict[str, Any]) -> str:
    entities, sums, wall = record["entities"], record["totals"], record["wall"]
    return (
        f"profile {record['profile']}, BASE_L {record['base']}, {record['scale']} vehicles per hub, compression "
        f"{record['compression']}, by {record['addressing']}, tracking {record['tracking']}\n"
        f"entities: {entities['LH']:,} LH, {entities['HQ']} HQ, {entities['V']:,} V, {entities['C_per_day']:,.3f} C "
        f"and {entities['shipments_per_day']:,.3f} shipments a day, {entities['shipments_under_way']:,.3f} under way\n"
        f"per minute of the model: {sums['published_per_min']:,.4f} published, {sums['delivered_per_min']:,.4f} "
        f"delivered, {sums['joins_per_min']:,.4f} subscriptions join and as many leave\n"
        f"subscriptions: {sums['customer_subscriptions']:,.3f} of customers, {sums['subscriptions']:,.3f} in all\n"
        f"by the clock: {wall['published_per_s']:,.3f} published/s, {wall['delivered_per_s']:,.3f} delivered/s, "
        f"{wall['joins_per_s']:,.3f} joins/s, of which {wall['sessions_per_s']:,.4f} of sessions\n"
        f"a shipment lives {wall['life_s']:,.1f} s, a session {wall['session_s']:,.2f} s; a vehicle reports every "
        f"{wall['gap_s']:,.3f} s\n"
        f"destinations: {wall['queues']} queues, {wall['topics']:,.1f} topics\n"
        f"connections: {wall['connections']:,.1f} of entities, {wall['tracking_connections']:,} of them for tracking "
        f"with {record['customers_per_connection']} customers on each; the load opens {wall['load_connections']:,}"
    )


def _drivers_text(record: dict[str, Any]) -> str:
    rows = []
    for name, row in record["drivers"].items():
        rows.append(
            [
                name,
                row["published_per_min"],
                _by_entity(row["subscriptions"]),
                _by_entity(row["publishers"]),
                _by_entity(row["subscription_joins_per_min"]),
                _by_entity(row["publisher_joins_per_min"]),
                row["factor"],
            ]
        )
        rows += [
            [f"  of {entity}", each["published_per_min"], "", "", "", "", each["factor"]]
            for entity, each in row.get("by_entity", {}).items()
        ]
    heads = ["driver", "messages", "subscriptions", "publishers", "join", "publishers join", "factor"]
    return table("Drivers, per minute of the model; as many leave as join", heads, rows)


def _by_entity(numbers: dict[str, float]) -> str:
    return " ".join(f"{entity} {number:,.2f}" for entity, number in numbers.items()) or "0"


def _messages_text(record: dict[str, Any]) -> str:
    per_shipment = ", ".join(f"{name} {number}" for name, number in record["messages_per_shipment"].items())
    sizes = ", ".join(f"{name} {size:,}" for name, size in record["body_bytes"].items())
    return (
        f"Messages per shipment, of environment data per monitored one: {per_shipment}\n"
        f"Bodies in bytes, a choice: {sizes}"
    )


def _identities_text(record: dict[str, Any]) -> str:
    rows = [
        [
            identity["name"],
            f"{identity['value']:,.4f}",
            f"{identity['expected']:,.4f}",
            "holds" if identity["holds"] else f"{identity['deviation']:+.2%}",
        ]
        for identity in record["identities"]
    ]
    return table(f"Identities of profile {record['profile']}", ["identity", "value", "expected", ""], rows)


def _choices_text(record: dict[str, Any]) -> str:
    return "Choices\n" + "\n".join(f"- {each['question']}: {each['choice']}" for each in record["choices"])


def _figures_text(record: dict[str, Any]) -> str:
    first = record["sizes"][0]
    parts = (
        ("subscriptions", "Figure 3a: subscriptions, by BASE_L"),
        ("published_per_min", "Figure 3b: published per minute of the model, by BASE_L"),
        ("received_per_min", "Figure 3c: received per minute of the model, by BASE_L"),
    )
    about = f"profile {first['profile']}, {first['scale']} vehicles per hub, by {first['addressing']}"
    return "\n\n".join((about, *(_part_text(record["figures"], *part) for part in parts)))


def _part_text(rows: Sequence[dict[str, Any]], key: str, title: str) -> str:
    entities = [entity.value for entity in Entity if entity.value in rows[0][key]]
    return table(title, ["BASE_L", *entities], [[row["base"], *(row[key][each] for each in entities)] for row in rows])


if __name__ == "__main__":
    raise SystemExit(main())
