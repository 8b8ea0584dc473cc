"""Synthetic run directories: a run in memory that a test changes as it needs, then writes as the recorder would.

Every number follows from the model B = t_rcv + n_fltr t_fltr + r t_tx, with seeded multiplicative noise on each of the
levels that a rotation has (start, layout, round, slice), so that a test knows what an analysis must find; an open loop
is a queue in front of one server with that B.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.record_reading import read
from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Capabilities
from workloads.histogram import bucket_of
from workloads.json_value import json_value
from workloads.manifest import BrokerRecord, HostRecord, StoreRecord, StudyManifest, StudyStart
from workloads.messaging import Destination, DestinationKind
from workloads.schedule import schedule
from workloads.schema import (
    ANCHOR,
    PREPARATION,
    SCHEMA_VERSION,
    TABLES,
    WARM_UP_LAYOUT,
    WARMING_ROUND,
    WORKLOAD_TABLES,
    Column,
    Measure,
    RunKind,
    RunOutcome,
    Window,
)
from workloads.selectors import Equals
from workloads.throughput.blocks import ANCHOR_GRADES, FEWEST_ANCHORS, FEWEST_CELLS
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template
from workloads.throughput.lanes import LaneAudit
from workloads.throughput.load_shape import LoadOverride, ShareOfCapacity
from workloads.throughput.presets import PRESETS
from workloads.throughput.study_plan import StudyPlan

#: t_rcv, t_fltr, t_tx in s: something like today's ActiveMQ.
TIMES = (3.0e-5, 2.0e-8, 9.0e-6)

#: (further filters, replication grade)
CELLS = tuple((further, r) for further in (0, 160, 640, 2560) for r in (1, 2, 5, 10))

KEYS = ("broker", "start", "experiment", "cell")

#: What a file of a table holds: the rows of one layout of one block.
LAYOUT = ("broker", "start", "layout", "block")

#: Not measured before a slice; between the layouts nothing is measured either.
RAMP_S, CONNECTING_S = 0.1, 2.0


def schema(columns: Sequence[Column]) -> pa.Schema:
    """The declared columns as Arrow has them."""
    return pa.schema([pa.field(column.name, pa.type_for_alias(column.type), column.nullable) for column in columns])


@dataclass
class RunDirectory:
    """manifest.json, plan.json and the rows of the tables. `rows` of the manifest are counted when written."""

    manifest: dict[str, Any]
    plans: list[dict[str, Any]]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {table: [] for table in TABLES})

    def write(self, folder: Path, *, by_layout: bool = False) -> Path:
        """Writes everything; rows are stored in this order.

        by_layout: a file per table and layout, as the recorder has them, instead of one per table. A workload has a
            file per table and cell.
        """
        folder.mkdir(parents=True, exist_ok=True)
        study = "layouts" in self.tables
        names = (LAYOUT if by_layout else ()) if study else KEYS
        for table, rows in self.tables.items():
            (folder / table).mkdir(exist_ok=True)
            declared = schema((TABLES if study else WORKLOAD_TABLES)[table])
            files: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
            for row in rows:
                files.setdefault(tuple(row[name] for name in names), []).append(row)
            for key, of_one in files.items():
                name = "-".join(map(str, key)).replace("/", "_").replace(":", "_") or "all"
                pq.write_table(pa.Table.from_pylist(of_one, declared), folder / table / f"{name}.parquet")
        if self.manifest.get("outcome"):
            self.manifest["rows"] = self.manifest.get("rows") or {
                table: len(rows) for table, rows in self.tables.items()
            }
        (folder / "manifest.json").write_text(json.dumps(self.manifest), encoding="utf-8")
        plan = {"schema": SCHEMA_VERSION, "cells": self.plans}
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        return folder

    def rows(self, table: str, **keys: Any) -> list[dict[str, Any]]:
        """The rows of a table with these values, to be changed in place."""
        return [row for row in self.tables[table] if all(row[name] == value for name, value in keys.items())]


def window_of(row: Mapping[str, Any]) -> Window:
    """A row of the windows as a slice."""
    return Window(**{each.name: row[each.name] for each in fields(Window)})


def cell_name(further: int, replication: int) -> str:
    return f"f{further:04d}-r{replication:03d}"


def replication_plan(
    further: int,
    replication: int,
    *,
    experiment: str = "replication",
    cell: str | None = None,
    profile: str = "today",
    publishers: int = 2,
) -> Plan:
    """The cell of section 4.5 with few publishers."""
    matching, other = Subscription(Equals("ID", "#0")), Subscription(Equals("ID", "#1"))
    flow = Flow(
        Destination(DestinationKind.TOPIC, f"bench.{further}.{replication}"),
        publishers,
        (Template((("ID", "#0"),)),),
        (matching,) * replication + (other,) * further,
    )
    return Plan(experiment, cell or cell_name(further, replication), PROFILES[profile], (flow,))


def anchor_plan(replication: int, profile: str = "today") -> Plan:
    """Like those of `workloads.throughput.blocks`, with few publishers."""
    flow = Flow(
        Destination(DestinationKind.TOPIC, f"bench.anchor.{replication}"),
        2,
        (Template(),),
        (Subscription(),) * replication,
    )
    return Plan(ANCHOR, f"r{replication:03d}", PROFILES[profile], (flow,))


def manifest(**changes: Any) -> dict[str, Any]:
    """A manifest of a complete quick run of one broker and one start; `options` are merged."""
    options = {
        "grid": "quick",
        "profile": "today",
        "starts": 1,
        "layouts": 5,
        "rounds": 2,
        "slice_seconds": 0.4,
        "warmup_seconds": 75.0,
        "looks": [5],
        "widening": 1.0,
        "precision": None,
        "loop": "delivery",
        "in_flight": 1000,
        "coalesce_us": 500,
        "record": "ranges",
        "client": "bulk",
        "workers": 1,
        "broker_cpus": [0],
        "load_cpus": [1],
        "seed": 1,
    }
    written = StudyManifest(
        schema=SCHEMA_VERSION,
        kind=RunKind.THROUGHPUT,
        label="test",
        created_utc="2026-01-01T00:00:00Z",
        ended_utc="2026-01-01T00:05:00Z",
        options={},
        host=HOST,
        brokers={},
        starts=(),
        schedule=(),
        not_applicable=(),
        outcome=RunOutcome.COMPLETE,
    )
    return json_value(written) | changes | {"options": options | changes.get("options", {})}


def study_manifest(**changes: Any) -> StudyManifest:
    """Likewise as a record."""
    return read(StudyManifest, manifest(**changes), "manifest.json")


def preset_options(grid: str = "quick", **changes: Any) -> dict[str, Any]:
    """The options of a run as its grid presets them."""
    level = PRESETS[grid]
    looks = level.looks[:1] if changes.get("starts", 1) > 1 else level.looks
    usual = {"grid": grid, "rounds": level.rounds, "slice_seconds": level.slice_s, "warmup_seconds": level.warm_up_s}
    return usual | {"looks": list(looks)} | changes


#: A machine with two CPUs.
HOST = HostRecord(
    kernel="6.1",
    machine="x86_64",
    cpu_model=None,
    cpus=2,
    cpus_available=(0, 1),
    memory_bytes=8 * 2**30,
    python="3.11",
    platform="Linux",
    system=None,
    os=None,
    cpu_sockets=1,
    cpu_cores=2,
    cpu_mhz=None,
    cpu_caches={},
    store=StoreRecord("ext4", None, None, None, 10**11, 5 * 10**10),
    packages={},
)

#: A broker that lacks nothing.
BROKER = BrokerRecord(
    product="ActiveMQ Classic",
    version="5.18.3",
    provider="jars",
    server=None,
    options={},
    configuration_digest="0" * 16,
    flags=(),
    message_memory=None,
    java=None,
    flags_in_effect=None,
    tls=None,
    capabilities=Capabilities(
        frozenset({DestinationKind.TOPIC, DestinationKind.QUEUE}),
        durable=True,
        one_ahead=True,
        crash_marked=frozenset({DestinationKind.TOPIC, DestinationKind.QUEUE}),
        synced=True,
    ),
    protocol={"name": "stomp", "title": "STOMP"},
    cpus=(0,),
    cpu_known=True,
    scheduling=None,
)


def broker_facts(**changes: Any) -> dict[str, Any]:
    return json_value(BROKER) | changes


def capability_facts(**changes: Any) -> dict[str, Any]:
    """The capabilities of a broker that lacks nothing."""
    return json_value(BROKER.capabilities) | changes


def start_facts(broker: str, start: int, **changes: Any) -> dict[str, Any]:
    warm = StudyStart(
        broker=broker,
        start=start,
        idle_cpu=0.004,
        warm_up_s=41.0,
        warm=True,
        contrast_change=0.011,
        compiler_share=0.004,
        waited_for="",
        rounds=5,
    )
    return json_value(warm) | changes


def plan_entry(plan: Plan, **known: Any) -> dict[str, Any]:
    """The entry of plan.json; `known` are the further parameters of `StudyPlan.of`."""
    return json_value(StudyPlan.of(plan, **known))


def measured_run(
    cells: Sequence[tuple[int, int]] = CELLS,
    *,
    times: tuple[float, float, float] = TIMES,
    noise: float = 0.005,
    layout_noise: float = 0.0,
    round_noise: float = 0.0,
    start_noise: float = 0.0,
    brokers: Sequence[str] = ("activemq",),
    starts: int = 1,
    layouts: int = 5,
    rounds: int = 2,
    blocks: int = 1,
    anchors: int | None = None,
    slice_s: float = 0.4,
    messages: int = 20,
    profile: str = "today",
    experiment: str = "replication",
    fits_model: bool = True,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
) -> RunDirectory:
    """A run in which everything is right: the warm-up's layout, then `layouts` of an uncounted and `rounds` rounds.

    noise: relative standard deviation of a slice's B · layout_noise: of a cell's in a layout · round_noise: of the
    level of a round · start_noise: of a start's · blocks: the cells are dealt out to so many · anchors: in each block;
    as the recorder has them, where it is not said · messages: per lane, cell and layout, as the audit sees them.
    """
    rng = np.random.default_rng(seed)
    plans = {cell_name(*cell): replication_plan(*cell, experiment=experiment, profile=profile) for cell in cells}
    if anchors is None:
        anchors = max(FEWEST_ANCHORS if blocks > 1 else 0, FEWEST_CELLS - len(plans) // blocks)
    held = [anchor_plan(r, profile) for r in ANCHOR_GRADES[:anchors]]
    slots = schedule([(experiment, name) for name in plans], brokers, starts, seed)
    run = RunDirectory(
        manifest(
            brokers={broker: broker_facts() for broker in brokers},
            starts=[start_facts(broker, start) for start in range(1, starts + 1) for broker in brokers],
            schedule=[
                {"broker": slot.broker, "start": slot.start, "experiment": slot.experiment, "cell": slot.cell}
                for slot in slots
            ],
            options={
                "profile": profile,
                "starts": starts,
                "layouts": layouts,
                "rounds": rounds,
                "slice_seconds": slice_s,
                **(options or {}),
            },
        ),
        [
            *(
                plan_entry(plan, fits_model=fits_model, factors={"further": further, "replication": r})
                for (further, r), plan in zip(cells, plans.values(), strict=True)
            ),
            *map(plan_entry, held),
        ],
    )
    dealt = [[*list(plans.values())[block::blocks], *held] for block in range(blocks)]
    clock = 10**12
    for broker, start in dict.fromkeys((slot.broker, slot.start) for slot in slots):
        life = {"broker": broker, "start": start}
        factor = float(np.exp(start_noise * rng.standard_normal()))
        for layout, block in ((layout, block) for layout in range(layouts + 1) for block in range(blocks)):
            place = {"layout": layout, "block": block}
            of_layout = {
                (plan.experiment, plan.cell): float(np.exp(layout_noise * rng.standard_normal()))
                for plan in (*plans.values(), *held)
            }
            add_layout(run, life | place, clock)
            clock += round(CONNECTING_S * 1e9)
            for plan in dealt[block]:
                keys = life | {"experiment": plan.experiment, "cell": plan.cell}
                add_traffic(run, keys | place, plan, messages, clock)
            for number in _rounds(run, layout):
                level = factor * float(np.exp(round_noise * rng.standard_normal()))
                for position, at in enumerate(rng.permutation(len(dealt[block])).tolist()):
                    plan = dealt[block][at]
                    clock += round(RAMP_S * 1e9)
                    taken = times[0] + times[1] * plan.n_fltr + times[2] * plan.replication
                    taken *= (
                        level * of_layout[plan.experiment, plan.cell] * float(np.exp(noise * rng.standard_normal()))
                    )
                    keys = life | {"experiment": plan.experiment, "cell": plan.cell} | place
                    clock = add_window(run, keys, plan, taken, clock, slice_s, number=number, position=position)
                add_sample(run, keys, clock)
            run.tables["layouts"][-1]["end_ns"] = clock
    return run


def unreadable_run() -> RunDirectory:
    """Of a broker without a JVM and without a process that can be read."""
    run = measured_run([(0, 1), (0, 2)])
    for row in run.tables["windows"]:
        row.update(dict.fromkeys(("gc_pause_ns", "gc_pauses", "full_gc_pause_ns", "compiler_cpu_ns")))
    for row in run.tables["samples"]:
        row.update(dict.fromkeys(("broker_context_switches", "broker_disk_written_bytes")))
    return run


def nothing_measured(broker: str, reason: str) -> RunDirectory:
    """A run of a broker that cannot do the only cell that was asked for."""
    run = measured_run([(0, 1)])
    missing = {"broker": broker, "experiment": "and_filters", "cell": "s1-n01", "reason": reason}
    run.manifest |= {"schedule": [], "brokers": {}, "starts": [], "not_applicable": [missing]}
    run.tables = {table: [] for table in run.tables}
    return run


def _rounds(run: RunDirectory, layout: int) -> range:
    """The numbers of a layout's rounds: the warm-up's layout has one here."""
    return range(1) if layout == WARM_UP_LAYOUT else range(run.manifest["options"]["rounds"] + 1)


def queue_plan(subscribers: int, *, publishers: int = 2, cell: str = "queue") -> Plan:
    """Consumers that compete for the messages of a queue."""
    flow = Flow(
        Destination(DestinationKind.QUEUE, "bench.queue"), publishers, (Template(),), (Subscription(),) * subscribers
    )
    return Plan("queue_topic", cell, PROFILES["today"], (flow,))


#: What a slice has more of when it takes longer.
_BY_TIME = ("broker_cpu_ns", "compiler_cpu_ns", "gc_pause_ns", "full_gc_pause_ns", "load_cpu_ns")


def stretch(run: RunDirectory, factor: float, **keys: Any) -> None:
    """Slices with these values took so many times as long, with all that takes time in them."""
    for row in run.rows("windows", **keys):
        row["end_ns"] = row["begin_ns"] + round((row["end_ns"] - row["begin_ns"]) * factor)
        for name in _BY_TIME:
            row[name] = row[name] and round(row[name] * factor)


def add_layout(run: RunDirectory, keys: Mapping[str, Any], at_ns: int) -> None:
    """A row of the layouts table; `keys` as LAYOUT."""
    run.tables["layouts"].append(
        {
            **keys,
            "begin_ns": at_ns,
            "connected_ns": at_ns + round(CONNECTING_S * 1e9),
            "end_ns": at_ns + round(CONNECTING_S * 1e9) + 1,
            "cells": 1,
            "connections": 1,
            "subscriptions": 1,
            "rounds": len(_rounds(run, keys["layout"])),
            "status": "warm-up" if keys["layout"] == WARM_UP_LAYOUT else "ok",
        }
    )


def add_cell(
    run: RunDirectory,
    plan: Plan,
    *,
    taken_s: Sequence[float] = (),
    factors: Mapping[str, Any] | None = None,
    pace: LoadOverride | None = None,
    messages: int = 20,
    broker: str = "activemq",
    start: int = 1,
    block: int = 0,
) -> dict[str, Any]:
    """A further cell in all layouts of a block, with its plan and its traffic; returns its keys, without the layout.

    taken_s: its times per message, in turn over all its slices; without any it has no slice. A block that the start
    does not have yet is laid out.
    """
    keys = {"broker": broker, "start": start, "experiment": plan.experiment, "cell": plan.cell}
    if (plan.experiment, plan.cell) not in {(entry["experiment"], entry["cell"]) for entry in run.plans}:
        run.plans.append(plan_entry(plan, factors=factors or {}, pace=pace))
    if plan.experiment not in PREPARATION:
        run.manifest["schedule"].append(keys)
    slices = count()
    for layout in range(run.manifest["options"]["layouts"] + 1):
        place = {"broker": broker, "start": start, "layout": layout, "block": block}
        if not run.rows("layouts", **place):
            add_layout(run, place, free_from(run))
        add_traffic(run, keys | place, plan, messages, free_from(run))
        for number in _rounds(run, layout) if taken_s else ():
            others = run.rows("windows", **place, round=number)
            clock = max((row["end_ns"] for row in others), default=free_from(run))
            taken = taken_s[next(slices) % len(taken_s)]
            slice_s = run.manifest["options"]["slice_seconds"]
            clock = add_window(run, keys | place, plan, taken, clock, slice_s, number=number, position=len(others))
            add_sample(run, keys | place, clock)
    return keys


def free_from(run: RunDirectory) -> int:
    """An instant a second after the last slice, in ns."""
    return max((int(row["end_ns"]) for row in run.tables["windows"]), default=10**12) + 10**9


def waits_s(arrivals_s: npt.NDArray[np.float64], services_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How long each arrival waits for one server, first come first served (Lindley 1952): max(0, W + S - A)."""
    ahead = np.concatenate(([0.0], np.cumsum(services_s[:-1] - np.diff(arrivals_s))))
    return ahead - np.minimum.accumulate(ahead)


def open_loop_plan(percent: int, arrivals: ArrivalProcess, *, n_fltr: int = 20, replication: int = 1) -> Plan:
    """The cell of the latency experiment, with few publishers."""
    return replication_plan(n_fltr - replication, replication, experiment="latency", cell=f"u{percent:02d}-{arrivals}")


def add_open_loop(
    run: RunDirectory,
    plan: Plan,
    percent: int,
    arrivals: ArrivalProcess = ArrivalProcess.POISSON,
    *,
    service_s: float = 1e-3,
    slice_s: float = 20.0,
    lateness_s: float = 2e-5,
    stall_s: float = 0.0,
    seed: int = 1,
    start: int = 1,
    block: int = 1,
) -> npt.NDArray[np.float64]:
    """A cell of an open loop at a share of what one server with this constant service time can do.

    It has a slice in every counted round of the run's layouts, in a block beside the closed loops. A slice's length
    before the first one nothing is recorded, and at a third of the middle slice the server stands still for `stall_s`.
    Returns the latencies in s of the messages planned in the slices; each has one time per copy.
    """
    rng = np.random.default_rng(seed)
    rate = percent / 100 / service_s
    keys = add_cell(
        run, plan, factors={"percent": percent, "arrivals": str(arrivals)}, pace=ShareOfCapacity(percent, arrivals),
        start=start, block=block,
    )  # fmt: skip
    rounds = [
        (layout, each) for layout in range(1, run.manifest["options"]["layouts"] + 1) for each in _rounds(run, layout)
    ]
    counted = [(layout, each) for layout, each in rounds if each != WARMING_ROUND]
    span = slice_s * (len(counted) + 1)
    gaps = rng.exponential(1 / rate, round(span * rate * 1.1) + 100)
    planned = np.cumsum(gaps if arrivals is ArrivalProcess.POISSON else np.full(len(gaps), 1 / rate))
    services = np.full(len(planned), service_s)
    services[np.searchsorted(planned, slice_s * (1 + len(counted) // 2 + 1 / 3))] += stall_s
    done = planned + waits_s(planned, services) + services
    begin_ns = free_from(run)
    for number, (layout, each) in enumerate(counted):
        first, last = (np.searchsorted(planned, slice_s * (number + at)) for at in (1, 2))
        dispatched = int(np.diff(np.searchsorted(done, [slice_s * (number + 1), slice_s * (number + 2)]))[0])
        clock = begin_ns + round(slice_s * number * 1e9)
        place = keys | {"layout": layout, "block": block}
        others = len(run.rows("windows", broker=keys["broker"], start=start, layout=layout, block=block, round=each))
        add_window(run, place, plan, slice_s / max(1, last - first), clock, slice_s, number=each, position=others)
        run.tables["windows"][-1] |= {
            "begin_ns": clock,
            "end_ns": clock + round(slice_s * 1e9),
            "received": int(last - first),
            "expected": int((last - first) * plan.replication),
            "dispatched": int(dispatched * plan.replication),
            "in_flight": None,
            "planned_per_s": rate,
            "broker_cpu_ns": round(percent / 100 * slice_s * 1e9),
        }
        add_sample(run, place, clock + round(slice_s * 1e9))
        add_times(run, place, each, Measure.LATENCY, (done - planned)[first:last], int(plan.replication))
        add_times(run, place, each, Measure.LATENESS, np.full(last - first, lateness_s))
    return (done - planned)[(planned >= slice_s) & (planned < span)]


def add_times(
    run: RunDirectory,
    keys: Mapping[str, Any],
    number: int,
    measure: Measure,
    times_s: npt.NDArray[np.float64],
    copies: int = 1,
) -> None:
    """Rows of the latency table, of a round; `keys` with the layout."""
    counts = Counter(bucket_of(round(time * 1e9)) for time in times_s.tolist())
    run.tables["latency"] += [
        {**keys, "round": number, "measure": str(measure), "bucket": bucket, "count": times * copies}
        for bucket, times in sorted(counts.items())
    ]


def add_traffic(run: RunDirectory, keys: Mapping[str, Any], plan: Plan, messages: int, at_ns: int) -> None:
    """Every lane sends `messages`; every receiver gets them in one run, and those that share a lane get one in turn.

    `keys` with the layout, as everywhere below.
    """
    arrival = count()
    for lane in plan.lanes:
        run.tables["sends"].append(
            {
                **keys,
                "lane": lane.number,
                "first_seq": 0,
                "last_seq": messages - 1,
                "first_ns": at_ns,
                "last_ns": at_ns + 10**9,
            }
        )
        turns = (
            [(lane.receivers[seq % len(lane.receivers)], seq, seq) for seq in range(messages)]
            if lane.shared
            else [(receiver, 0, messages - 1) for receiver in lane.receivers]
        )
        for subscription, first, last in turns:
            run.tables["deliveries"].append(
                delivery(keys, subscription, lane.number, next(arrival), first, last, at_ns=at_ns)
            )


def delivery(
    keys: Mapping[str, Any], subscription: int, lane: int, arrival: int, first: int, last: int, at_ns: int = 10**12
) -> dict[str, Any]:
    return {
        **keys,
        "subscription": subscription,
        "lane": lane,
        "arrival": arrival,
        "first_seq": first,
        "last_seq": last,
        "first_ns": at_ns,
        "last_ns": at_ns + last - first,
        "planned_ns": None,
    }


def add_window(
    run: RunDirectory,
    keys: Mapping[str, Any],
    plan: Plan,
    taken_s: float,
    clock: int,
    slice_s: float,
    *,
    number: int,
    position: int,
) -> int:
    """A slice at this time per message, in the round of this number; returns its end."""
    received = max(1, round(slice_s / taken_s))
    elapsed = round(received * taken_s * 1e9)
    copies = round(received * plan.replication)
    broker_cpu_ns = round(0.985 * elapsed)
    warming = keys["layout"] == WARM_UP_LAYOUT or number == WARMING_ROUND
    run.tables["windows"].append(
        {
            **keys,
            "round": number,
            "position": position,
            "begin_ns": clock,
            "end_ns": clock + elapsed,
            "received": received,
            "expected": copies,
            "dispatched": copies,
            "in_flight": max(2, received // 25),
            "planned_per_s": None,
            "broker_cpu_ns": broker_cpu_ns,
            "compiler_cpu_ns": broker_cpu_ns // 500,
            "gc_pause_ns": round(0.02 * elapsed),
            "gc_pauses": 2,
            "full_gc_pause_ns": 0,
            "stolen_ns": 0,
            "load_cpu_ns": round(0.4 * elapsed),
            "idle_broker_cpu_ns": None,
            "owed": 0,
            "status": "warm-up" if warming else "ok",
        }
    )
    return clock + elapsed


def add_sample(run: RunDirectory, keys: Mapping[str, Any], at_ns: int) -> None:
    """A reading of counters that grow with the clock."""
    run.tables["samples"].append(
        {
            **keys,
            "at_ns": at_ns,
            "received": 1000,
            "dispatched": 1000,
            "broker_cpu_ns": round(0.985 * at_ns),
            "compiler_cpu_ns": round(0.002 * at_ns),
            "broker_rss_bytes": 900 * 2**20,
            "broker_context_switches": at_ns // 10**6,
            "broker_disk_written_bytes": at_ns // 2000,
            "load_rss_bytes": 120 * 2**20,
            "memory_available_bytes": 8 * 2**30,
            "swap_used_bytes": 0,
            "disk_written_bytes": at_ns // 1000,
            "network_sent_bytes": at_ns // 10,
        }
    )


#: Messages of all lanes in a row group of `write_events`, and what goes wrong in each where the events are faulty: its
#: first copy is lost, its second is overtaken by the next of its pair, its third comes twice, its fourth goes elsewhere
#: as well.
EVENTS_PER_GROUP = 1 << 18
FAULTS_OF_GROUP = LaneAudit(delivered=1, lost=1, duplicated=1, reordered=1, misdelivered=1)


def write_events(
    folder: Path, rows: int, *, subscriptions: int = 10, publishers: int = 20, faulty: bool = False
) -> tuple[Path, LaneAudit]:
    """A run of one cell with `rows` delivery events in one layout, interleaved as a broker delivers them.

    Returns the run directory and what its audit must find, the warm-up included; takes the memory of a row group.
    """
    run = measured_run([(0, subscriptions)], layouts=1, rounds=1, messages=1, anchors=0)
    place = {"layout": 1, "block": 0}
    keys = {key: run.manifest["schedule"][0][key] for key in KEYS} | place
    plan = replication_plan(0, subscriptions, publishers=publishers)
    run.plans[0] = plan_entry(plan, fits_model=True, factors={})
    pairs = subscriptions * publishers
    messages = rows // pairs
    for table in ("sends", "deliveries"):
        run.tables[table] = run.rows(table, layout=WARM_UP_LAYOUT)
    warm_up = len(run.tables["deliveries"])
    truth = LaneAudit(expected=warm_up + messages * pairs, delivered=warm_up + messages * pairs)
    add_traffic(run, keys, plan, messages, 10**12)
    run.tables["deliveries"] = run.rows("deliveries", layout=WARM_UP_LAYOUT)
    run.manifest["rows"] = {table: len(content) for table, content in run.tables.items()}
    (folder / "deliveries").mkdir(parents=True)
    declared = schema(TABLES["deliveries"])
    with pq.ParquetWriter(folder / "deliveries" / "events.parquet", declared) as writer:
        of_group, arrived = max(2, EVENTS_PER_GROUP // pairs), 0
        for first in range(0, messages, of_group):
            event = np.arange(first * pairs, min(first + of_group, messages) * pairs, dtype=np.int64)
            sequence, lane, subscription = event // pairs, event // subscriptions % publishers, event % subscriptions
            if faulty and len(event) > pairs:
                sequence[[1, 1 + pairs]] = sequence[[1 + pairs, 1]]
                copies = np.ones(len(event), np.int64)
                copies[:4] = 0, 1, 2, 2
                sequence, lane, subscription = (np.repeat(of, copies) for of in (sequence, lane, subscription))
                subscription[4] = -1
                truth += FAULTS_OF_GROUP
            writer.write_table(_events(keys, declared, arrived, sequence, lane, subscription))
            arrived += len(sequence)
    run.manifest["rows"]["deliveries"] += arrived
    return run.write(folder), truth


def _events(
    keys: Mapping[str, Any],
    declared: pa.Schema,
    arrived: int,
    sequence: npt.NDArray[np.int64],
    lane: npt.NDArray[np.int64],
    subscription: npt.NDArray[np.int64],
) -> pa.Table:
    """Rows of `deliveries`, one per copy, of which `arrived` came before."""
    arrival = np.arange(arrived, arrived + len(sequence), dtype=np.int64)
    columns: dict[str, Any] = {
        "subscription": subscription.astype(np.int32),
        "lane": lane.astype(np.int32),
        "arrival": arrival,
        "first_seq": sequence,
        "last_seq": sequence,
        "first_ns": 10**12 + arrival * 3000,
        "last_ns": 10**12 + arrival * 3000,
        "planned_ns": pa.nulls(len(arrival), pa.int64()),
        **{name: pa.repeat(pa.scalar(value, declared.field(name).type), len(arrival)) for name, value in keys.items()},
    }
    return pa.table([columns[name] for name in declared.names], schema=declared)
