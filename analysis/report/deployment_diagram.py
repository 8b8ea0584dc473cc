"""The system under test as a picture: processes with their CPUs, connections, broker and store, from manifest and plan.

Facts that are not in the manifest are not drawn; a broker given by the URL of another host is drawn outside this host.
Required by the run rules, section 6.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from analysis.report.svg import WIDTH, Anchor, Tone, box, head, line, lines, svg, text
from analysis.scenario.one_host import on_one_host
from workloads.manifest import BrokerRecord, HostRecord, Manifest
from workloads.messaging import DestinationKind
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.schema import BY_URL

#: Horizontal extent of the load on the left and of the broker on the right; connections are drawn between them.
_LOAD, _BROKER = (16.0, 300.0), (600.0, WIDTH - 16.0)
_TOP, _STEP = 52.0, 17.0

#: Maximum number of workers drawn as boxes; further workers are only counted.
_WORKERS = 4


def diagram(manifest: Manifest, plan: ScenarioPlan, broker: str) -> str:
    """An `<svg>` element; `broker` is a label of the manifest, `plan` a cell's entry of plan.json."""
    host, options, facts = manifest.host, manifest.options, manifest.brokers[broker]
    load, bottom_of_load = _load(options)
    of_broker = tuple(_broker(broker, facts))
    of_store = tuple(_store(facts, host))
    store_top = _TOP + 30 + _STEP * len(of_broker) + 26
    bottom = max(bottom_of_load, store_top + 32 + _STEP * len(of_store) if of_store else store_top) + 16
    elsewhere = not on_one_host(broker, facts.provider)
    right = _LOAD[1] + 16 if elsewhere else WIDTH - 2
    elements = [
        box(1, 1, right, bottom - 2, fill=Tone.SHADE),
        text(16, 24, "Host" if elsewhere else "Host: clients and server on one", bold=True),
        lines(16, 41, wrap(", ".join(_host(host)), 44 if elsewhere else 150)[:1], size=11.5, tone=Tone.SOFT),
        *load,
        *_connections(plan, facts.protocol_title, (_TOP + store_top) / 2 - 6),
        *_panel(_BROKER, _TOP, store_top - _TOP - 26, f"Broker {broker}", of_broker, dashed=elsewhere),
    ]
    if of_store:
        middle = (_BROKER[0] + _BROKER[1]) / 2
        elements += [
            line([(middle, store_top - 26), (middle, store_top)], Tone.INK, width=1.4),
            *_panel(_BROKER, store_top, 32 + _STEP * len(of_store), "Store", of_store),
        ]
    _, clients = _clients(plan)
    processes = _hosts(options) * options["workers"] if "workers" in options else "?"
    alt = (
        f"System under test: {processes} load processes with {clients}, connected by {facts.protocol_title} to "
        f"{', '.join(of_broker[:1]) or broker}."
    )
    return svg(alt, bottom, elements)


def _host(host: HostRecord) -> Iterator[str]:
    yield from filter(None, (host.system, host.cpu_model))
    if host.cpus:
        yield f"{host.cpus} CPUs"
    yield f"{host.memory_bytes / 2**30:.1f} GiB"
    yield from filter(None, (host.os, f"Linux {host.kernel}"))


def _load(options: Mapping[str, Any]) -> tuple[list[str], float]:
    """The boxes of the load's processes, and the y coordinate of their lower end."""
    workers = _hosts(options) * int(options.get("workers", 1))
    where = f"{_hosts(options)} hosts" if options.get("hosts") else _cpus(options.get("load_cpus"))
    shown = min(workers, _WORKERS)
    boxes: list[str] = []
    y = _TOP + 34
    for number in range(1, shown + 1):
        boxes += _panel((_LOAD[0] + 12, _LOAD[1] - 12), y, 46, f"Worker {number}", ("event handlers and drivers",))
        y += 54
    if workers > shown:
        boxes.append(text(_LOAD[0] + 16, y + 12, f"and {workers - shown} more", size=12))
        y += 22
    outer = box(_LOAD[0], _TOP, _LOAD[1] - _LOAD[0], y - _TOP + 4, edge=Tone.FIRST)
    title = text(_LOAD[0] + 12, _TOP + 22, f"Load, {where}", bold=True)
    y += 16
    controller = _panel(_LOAD, y, 46, "Controller, any CPU", ("pytest: periods, samples, audit",))
    return [outer, title, *boxes, *controller], y + 46


def _hosts(options: Mapping[str, Any]) -> int:
    return int(options["host_count"]) if options.get("hosts") else 1


def _clients(plan: ScenarioPlan) -> tuple[int, str]:
    """The number of connections, and whose they are."""
    numbers = {
        "event handlers": len(plan.handlers),
        "drivers": len(plan.drivers),
        "of subscribers": sum(population.connections for population in plan.populations),
    }
    return sum(numbers.values()), ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number)


def _connections(plan: ScenarioPlan, protocol: str, y: float) -> Iterator[str]:
    connections, clients = _clients(plan)
    destinations = plan.destinations
    queues = sum(destination.kind is DestinationKind.QUEUE for destination in destinations)
    middle = (_LOAD[1] + _BROKER[0]) / 2
    yield line([(_LOAD[1] + 8, y), (_BROKER[0] - 8, y)], Tone.INK, width=1.6)
    yield head(_LOAD[1] + 4, y, Tone.INK, to_the_left=True)
    yield head(_BROKER[0] - 4, y, Tone.INK)
    yield text(middle, y - 12, f"{protocol}, {connections:,} connections", anchor=Anchor.MIDDLE, bold=True)
    below = (
        clients,
        f"{queues:,} queues, {len(destinations) - queues:,} topics",
    )
    yield lines(middle, y + 20, below, anchor=Anchor.MIDDLE)


def _broker(label: str, facts: BrokerRecord) -> Iterator[str]:
    yield " ".join(filter(None, (facts.product or label, facts.version)))
    if facts.provider == BY_URL:
        yield (
            "already running, on this host"
            if on_one_host(label, facts.provider)
            else "already running on an unknown host"
        )
    else:
        yield f"provided by {facts.image or facts.provider}"
    yield _cpus(facts.cpus)
    if facts.java:
        yield f"Java {facts.java}"
    yield from (
        f"{name.replace('_', ' ')} {value}"
        for name, value in facts.options.items()
        if value and name not in {"store", "sync"}
    )


def _store(facts: BrokerRecord, host: HostRecord) -> Iterator[str]:
    if facts.options.get("store"):
        yield f"{facts.options['store']}, synced: {facts.options.get('sync', 'unknown')}"
        if host.store.filesystem:
            yield f"{host.store.filesystem} on {host.store.disk or 'a disk'} of {host.store.size_bytes / 1e9:,.0f} GB"


def _cpus(cpus: Sequence[int] | None) -> str:
    if not cpus:
        return "CPUs not known"
    return f"CPU{'s' * (len(cpus) > 1)} {', '.join(map(str, cpus))}"


def _panel(
    sides: tuple[float, float], y: float, height: float, title: str, words: Sequence[str], *, dashed: bool = False
) -> Iterator[str]:
    yield box(sides[0], y, sides[1] - sides[0], height, edge=Tone.FIRST, dashed=dashed)
    yield text(sides[0] + 12, y + 20, title, bold=True)
    yield lines(sides[0] + 12, y + 38, words)
