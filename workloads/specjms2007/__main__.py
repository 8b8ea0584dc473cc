"""`python -m workloads.specjms2007`: the computed traffic of a topology, without running anything.

`characterization` does the arithmetic.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from workloads.errors import WorkloadError
from workloads.plain_text import alike, table
from workloads.scenario.command import TextPart, bases, describe, file_text, with_json
from workloads.specjms2007 import DISCLAIMER
from workloads.supply_chain import freeform
from workloads.supply_chain.characterization import characterization, figures
from workloads.supply_chain.topology import CONTROLLED, Topology


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 printed; 2 refused, with the reason on standard error."""
    return describe(_parser(), DISCLAIMER, _described, arguments)


def _described(options: argparse.Namespace) -> tuple[dict[str, Any], Iterable[TextPart]]:
    topology = _topology(options.topology, options.file)
    if len(options.base) == 1:
        parts = (_places_text, _groups_text, _interactions_text, _messages_text, _locations_text)
        return characterization(topology(options.base[0])), parts
    return {"topology": options.topology, "figures": figures(map(topology, options.base))}, (_figures_text,)


def _topology(topology: str, file: Path | None) -> Callable[[int], Topology]:
    """A function from BASE to the topology."""
    if topology in CONTROLLED:
        if file is not None:
            raise WorkloadError(f"--file describes a freeform topology; {topology} has none")
        return CONTROLLED[topology]
    if file is None:
        raise WorkloadError(
            f"--topology freeform needs --file FILE.toml, such as {Path(freeform.__file__).with_name(freeform.EXAMPLE)}"
        )
    text = file_text("file", file)
    return lambda base: freeform.read(text, base, file.name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workloads.specjms2007",
        description="Compute the traffic of a workload derived from the published SPECjms2007 papers; runs nothing.",
    )
    parser.add_argument("--topology", required=True, choices=(*CONTROLLED, "freeform"))
    parser.add_argument(
        "--base",
        type=bases,
        default=range(1, 2),
        metavar="N|FIRST:LAST:STEP",
        help="the scaling factor (1); for several, prints the data of figures 3 to 9, one row each",
    )
    parser.add_argument("--file", type=Path, metavar="FILE.toml", help="the freeform topology")
    return with_json(parser)


_VOLUME = {
    "sent_per_s": "sent/s",
    "received_per_s": "received/s",
    "sent_kb_per_s": "sent KB/s",
    "received_kb_per_s": "received KB/s",
}


def _places_text(record: dict[str, Any]) -> str:
    families = record["product_families"]
    places = [f"{number} {role}" for role, number in record["locations"].items()]
    if record["delta"] is not None:
        places.append(f"delta {record['delta']:.4g}")
    if families is not None:
        places.append(
            f"{families['number']} product families, {families['per_supplier']} of each supplier "
            f"(rho {families['rho']:.3g}, zeta {families['zeta']:.4g})"
        )
    return (
        f"{record['topology']}, BASE {record['base']}: {', '.join(places)}\n"
        f"{record['queues']} queues, {record['topics']} topics with {record['topic_subscriptions']} subscriptions; "
        f"{record['event_handlers']} event handlers and {record['drivers']} drivers on "
        f"{record['connections']} connections"
    )


def _groups_text(record: dict[str, Any]) -> str:
    names = {
        "a": "publish/subscribe, not persistent",
        "b": "publish/subscribe, persistent",
        "c": "point-to-point, not persistent",
        "d": "point-to-point, persistent",
    }
    rows = [
        [f"{group} {name}", record["message_mix_percent"][group], record["bandwidth_percent"][group]]
        + [record["groups"][group][key] for key in _VOLUME]
        for group, name in names.items()
    ]
    rows.append(["all", 100.0, 100.0, *(record[key] for key in _VOLUME)])
    return table("Groups: shares of the messages received", ["group", "messages %", "KB %", *_VOLUME.values()], rows)


def _interactions_text(record: dict[str, Any]) -> str:
    rows = [
        [number, interaction["title"], interaction["rate_per_s"], interaction["rate_of"], interaction["started_per_s"]]
        + [
            " ".join(f"{interaction['groups'][group][key]:.2f}" for group in "abcd")
            for key in ("sent_per_s", "received_per_s")
        ]
        for number, interaction in record["interactions"].items()
    ]
    heads = ["", "interaction", "rate/s", "of", "started/s", "sent/s: a b c d", "received/s: a b c d"]
    return table("Interactions (xi)", heads, rows)


def _messages_text(record: dict[str, Any]) -> str:
    properties = {"persistent": "P", "transacted": "T", "durable": "D"}
    rows = [
        [
            message["interaction"],
            name,
            message["from"],
            message["to"],
            f"{message['destinations']} {message['kind']}{'s' * (message['destinations'] > 1)}",
            message["group"],
            " ".join(short for key, short in properties.items() if message[key]),
            message["sent_after"] or "driver",
            " ".join(f"{size}" for size in message["body_bytes"]),
            message["mean_body_bytes"],
            message["sent_per_s"],
            message["received_per_s"],
        ]
        for name, message in record["messages"].items()
    ]
    heads = ["", "message", "from", "to", "destinations", "group", "", "after", "bytes", "mean", "sent/s", "received/s"]
    return table("Messages (P persistent, T transacted, D durable)", heads, rows)


def _locations_text(record: dict[str, Any]) -> str:
    """Locations of a role that have the same traffic share a row."""
    sharing: dict[str, list[str]] = {}
    rows: dict[str, list[Any]] = {}
    for location, groups in record["per_location"].items():
        row = [" ".join(f"{groups[group][key]:.3f}" for group in "abcd") for key in ("sent_per_s", "received_per_s")]
        row += [f"{sum(groups[group][key] for group in 'abcd'):.2f}" for key in ("sent_kb_per_s", "received_kb_per_s")]
        sharing.setdefault(location.rstrip("0123456789") + str(row), []).append(location)
        rows.setdefault(location.rstrip("0123456789") + str(row), row)
    named = [[alike(names), *rows[key]] for key, names in sharing.items()]
    heads = ["location", "sent/s: a b c d", "received/s: a b c d", "sent KB/s", "received KB/s"]
    return table("Each location (chi)", heads, named)


def _figures_text(record: dict[str, Any]) -> str:
    rows = [
        [row["base"], *row["locations"].values()]
        + [
            row[key][group]
            for key in ("received_per_s", "received_kb_per_s", "message_mix_percent")
            for group in "abcd"
        ]
        for row in record["figures"]
    ]
    heads = ["BASE", *record["figures"][0]["locations"]]
    heads += [f"{group} {unit}" for unit in ("msg/s", "KB/s", "%") for group in "abcd"]
    return table(f"{record['topology']}: received, by BASE", heads, rows)


if __name__ == "__main__":
    raise SystemExit(main())
