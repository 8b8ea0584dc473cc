"""Synthetic run directories: a run in memory that a test changes as it needs, then writes as the recorder would.

Every number follows from the model B = t_rcv + n_fltr t_fltr + r t_tx, with seeded multiplicative noise, so
that a test knows what an analysis must find; an open loop is a queue in front of one server with that B.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from workloads.histogram import bucket_of
from workloads.model import PROFILES, Destination, DestinationKind, Flow, Plan, Subscription, Template
from workloads.records import CAPACITY, SCHEMA_VERSION, TABLES, WARM_UP, WORKLOAD_TABLES, Measure, Type, plan_record
from workloads.schedule import schedule
from workloads.selectors import Equals
from workloads.sendrules import Arrivals, Pace, Utilisation

#: t_rcv, t_fltr, t_tx in s: something like today's ActiveMQ.
TIMES = (3.0e-5, 2.0e-8, 9.0e-6)

#: (further filters, replication grade)
CELLS = tuple((further, r) for further in (0, 160, 640, 2560) for r in (1, 2, 5, 10))

KEYS = ("broker", "start", "experiment", "cell")

_COLUMNS = {**TABLES, **WORKLOAD_TABLES}

_ARROW = {Type.INT64: pa.int64(), Type.INT32: pa.int32(), Type.FLOAT64: pa.float64(), Type.STRING: pa.string()}


def schema(table: str) -> pa.Schema:
    """The declared columns as Arrow has them."""
    return pa.schema([pa.field(column.name, _ARROW[column.type], column.nullable) for column in _COLUMNS[table]])


@dataclass
class RunDirectory:
    """manifest.json, plan.json and the rows of the tables. `rows` of the manifest are counted when written."""

    manifest: dict[str, Any]
    plans: list[dict[str, Any]]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {table: [] for table in TABLES})

    def write(self, folder: Path) -> Path:
        """Writes everything, one file per cell and table; rows are stored in the order in which they stand here."""
        folder.mkdir(parents=True, exist_ok=True)
        for table, rows in self.tables.items():
            (folder / table).mkdir(exist_ok=True)
            files: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
            for row in rows:
                files.setdefault(tuple(row[key] for key in KEYS), []).append(row)
            for key, of_cell in files.items():
                name = "-".join(map(str, key)).replace("/", "_").replace(":", "_")
                pq.write_table(pa.Table.from_pylist(of_cell, schema(table)), folder / table / f"{name}.parquet")
        if self.manifest.get("outcome"):
            self.manifest.setdefault("rows", {table: len(rows) for table, rows in self.tables.items()})
        (folder / "manifest.json").write_text(json.dumps(self.manifest), encoding="utf-8")
        plan = {"schema": SCHEMA_VERSION, "cells": self.plans}
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        return folder

    def rows(self, table: str, **keys: Any) -> list[dict[str, Any]]:
        """The rows of a table with these values, to be changed in place."""
        return [row for row in self.tables[table] if all(row[name] == value for name, value in keys.items())]


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


def manifest(**changes: Any) -> dict[str, Any]:
    """A manifest of a complete quick run of one broker and one start; `options` are merged."""
    options = {
        "grid": "quick",
        "profile": "today",
        "starts": 1,
        "windows": 2,
        "window_seconds": 3.0,
        "warmup_seconds": 20.0,
        "loop": "delivery",
        "in_flight": 1000,
        "coalesce_us": 1000,
        "record": "runs",
        "client": "bulk",
        "workers": 1,
        "broker_cpus": [0],
        "load_cpus": [1],
        "seed": 1,
    }
    return {
        "schema": SCHEMA_VERSION,
        "label": "test",
        "created_utc": "2026-01-01T00:00:00Z",
        "ended_utc": "2026-01-01T00:05:00Z",
        "host": {"cpus": 2},
        "brokers": {},
        "starts": [],
        "schedule": [],
        "not_applicable": [],
        "outcome": "complete",
        **changes,
        "options": options | changes.get("options", {}),
    }


def broker_facts(**changes: Any) -> dict[str, Any]:
    return {
        "product": "ActiveMQ Classic",
        "version": "5.18.3",
        "provider": "jars",
        "configuration_digest": "0" * 16,
        "jvm_flags": [],
        "cpus": [0],
        "cpu_known": True,
        **changes,
    }


def start_facts(broker: str, start: int, **changes: Any) -> dict[str, Any]:
    stable = {"idle_cpu": 0.004, "warm_up_s": 21.0, "stationary": True, "largest_change": 0.011}
    return {"broker": broker, "start": start, **stable, **changes}


def measured_run(
    cells: Sequence[tuple[int, int]] = CELLS,
    *,
    times: tuple[float, float, float] = TIMES,
    noise: float = 0.005,
    start_noise: float = 0.0,
    drift_per_minute: float = 0.0,
    brokers: Sequence[str] = ("activemq",),
    starts: int = 1,
    windows: int = 2,
    window_s: float = 3.0,
    messages: int = 20,
    profile: str = "today",
    experiment: str = "replication",
    fits_model: bool = True,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
) -> RunDirectory:
    """A run in which everything is right.

    noise: relative standard deviation of a window's B · start_noise: of a start's · drift_per_minute: relative
    growth of B within a start · messages: per lane and cell, as the audit sees them.
    """
    rng = np.random.default_rng(seed)
    plans = {cell_name(*cell): replication_plan(*cell, experiment=experiment, profile=profile) for cell in cells}
    warm = replication_plan(*cells[0], experiment=WARM_UP, cell=f"01-{cell_name(*cells[0])}", profile=profile)
    slots = schedule([(experiment, name) for name in plans], brokers, starts, seed)
    run = RunDirectory(
        manifest(
            brokers={broker: broker_facts() for broker in brokers},
            starts=[start_facts(broker, start) for start in range(1, starts + 1) for broker in brokers],
            schedule=[
                {"broker": slot.broker, "start": slot.start, "experiment": slot.experiment, "cell": slot.cell}
                for slot in slots
            ],
            options={"profile": profile, "starts": starts, "windows": windows, **(options or {})},
        ),
        [
            plan_record(warm, fits_model=False, factors={}),
            *(
                plan_record(plan, fits_model=fits_model, factors={"further": further, "replication": r})
                for (further, r), plan in zip(cells, plans.values(), strict=True)
            ),
        ],
    )
    clock = 10**12
    factors: dict[tuple[str, int], float] = {}
    began: dict[tuple[str, int], int] = {}
    for slot in slots:
        life = slot.broker, slot.start
        keys = {"broker": slot.broker, "start": slot.start}
        if life not in factors:
            factors[life] = float(np.exp(start_noise * rng.standard_normal()))
            add_traffic(run, {**keys, "experiment": WARM_UP, "cell": warm.cell}, warm, messages, clock)
            clock = add_windows(run, {**keys, "experiment": WARM_UP, "cell": warm.cell}, warm, [1e-4], clock, window_s)
            for row in run.rows("windows", **keys, experiment=WARM_UP):
                row["status"] = "warm-up"
            began[life] = clock
        plan = plans[slot.cell]
        mean = times[0] + times[1] * plan.n_fltr + times[2] * plan.replication
        keys |= {"experiment": slot.experiment, "cell": slot.cell}
        add_traffic(run, keys, plan, messages, clock)
        growth = 1 + drift_per_minute * (clock - began[life]) / 60e9
        taken = [mean * factors[life] * growth * float(np.exp(noise * rng.standard_normal())) for _ in range(windows)]
        clock = add_windows(run, keys, plan, taken, clock, window_s) + 10**9
    return run


def queue_plan(subscribers: int, *, publishers: int = 2, cell: str = "queue") -> Plan:
    """Consumers that compete for the messages of a queue."""
    flow = Flow(
        Destination(DestinationKind.QUEUE, "bench.queue"), publishers, (Template(),), (Subscription(),) * subscribers
    )
    return Plan("queue_topic", cell, PROFILES["today"], (flow,))


def add_cell(
    run: RunDirectory,
    plan: Plan,
    *,
    taken_s: Sequence[float] = (),
    factors: Mapping[str, Any] | None = None,
    pace: Pace | None = None,
    messages: int = 20,
    broker: str = "activemq",
    start: int = 1,
) -> dict[str, Any]:
    """A further cell of a run with its plan, its traffic, and a window of 3 s per entry of `taken_s`; its keys."""
    keys = {"broker": broker, "start": start, "experiment": plan.experiment, "cell": plan.cell}
    run.plans.append(plan_record(plan, factors=factors or {}, pace=pace))
    if plan.experiment not in (WARM_UP, CAPACITY):
        run.manifest["schedule"].append(keys)
    clock = free_from(run)
    add_traffic(run, keys, plan, messages, clock)
    add_windows(run, keys, plan, taken_s, clock, 3.0)
    return keys


def free_from(run: RunDirectory) -> int:
    """An instant a second after the last window, in ns."""
    return max((int(row["end_ns"]) for row in run.tables["windows"]), default=10**12) + 10**9


def waits_s(arrivals_s: npt.NDArray[np.float64], services_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How long each arrival waits for one server, first come first served (Lindley 1952): max(0, W + S - A)."""
    ahead = np.concatenate(([0.0], np.cumsum(services_s[:-1] - np.diff(arrivals_s))))
    return ahead - np.minimum.accumulate(ahead)


def open_loop_plan(percent: int, arrivals: Arrivals, *, n_fltr: int = 20, replication: int = 1) -> Plan:
    """The cell of the latency experiment, with few publishers."""
    return replication_plan(n_fltr - replication, replication, experiment="latency", cell=f"u{percent:02d}-{arrivals}")


def add_open_loop(
    run: RunDirectory,
    plan: Plan,
    percent: int,
    arrivals: Arrivals = Arrivals.POISSON,
    *,
    service_s: float = 1e-3,
    windows: int = 5,
    window_s: float = 20.0,
    lateness_s: float = 2e-5,
    stall_s: float = 0.0,
    seed: int = 1,
    start: int = 1,
) -> npt.NDArray[np.float64]:
    """A cell of an open loop at a share of what one server with this constant service time can do.

    A window's length before the first one nothing is recorded, and at a third of the middle window the server stands
    still for `stall_s`. Returns the latencies in s of the messages planned in the windows; each has one time per copy.
    """
    rng = np.random.default_rng(seed)
    rate = percent / 100 / service_s
    keys = add_cell(
        run, plan, factors={"percent": percent, "arrivals": str(arrivals)}, pace=Utilisation(percent, arrivals),
        start=start,
    )  # fmt: skip
    span = window_s * (windows + 1)
    gaps = rng.exponential(1 / rate, round(span * rate * 1.1) + 100)
    planned = np.cumsum(gaps if arrivals is Arrivals.POISSON else np.full(len(gaps), 1 / rate))
    services = np.full(len(planned), service_s)
    services[np.searchsorted(planned, window_s * (1 + windows // 2 + 1 / 3))] += stall_s
    done = planned + waits_s(planned, services) + services
    begin_ns = free_from(run)
    for number in range(windows):
        first, last = (np.searchsorted(planned, window_s * (number + at)) for at in (1, 2))
        dispatched = int(np.diff(np.searchsorted(done, [window_s * (number + 1), window_s * (number + 2)]))[0])
        clock = begin_ns + round(window_s * number * 1e9)
        add_windows(run, keys, plan, [window_s / max(1, last - first)], clock, window_s)
        run.tables["windows"][-1] |= {
            "window": number,
            "begin_ns": clock,
            "end_ns": clock + round(window_s * 1e9),
            "received": int(last - first),
            "expected": int((last - first) * plan.replication),
            "dispatched": int(dispatched * plan.replication),
            "in_flight": None,
            "planned_per_s": rate,
            "broker_cpu_ns": round(percent / 100 * window_s * 1e9),
        }
        add_times(run, keys, number, Measure.LATENCY, (done - planned)[first:last], int(plan.replication))
        add_times(run, keys, number, Measure.LATENESS, np.full(last - first, lateness_s))
    return (done - planned)[(planned >= window_s) & (planned < span)]


def add_times(
    run: RunDirectory,
    keys: Mapping[str, Any],
    window: int,
    measure: Measure,
    times_s: npt.NDArray[np.float64],
    copies: int = 1,
) -> None:
    """Rows of the latency table."""
    counts = Counter(bucket_of(round(time * 1e9)) for time in times_s.tolist())
    run.tables["latency"] += [
        {**keys, "window": window, "measure": str(measure), "bucket": bucket, "count": count * copies}
        for bucket, count in sorted(counts.items())
    ]


def add_traffic(run: RunDirectory, keys: Mapping[str, Any], plan: Plan, messages: int, at_ns: int) -> None:
    """Every lane sends `messages`; every receiver gets them in one run, and those that share a lane get one in turn."""
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


def add_windows(
    run: RunDirectory, keys: Mapping[str, Any], plan: Plan, taken_s: Sequence[float], clock: int, window_s: float
) -> int:
    """One window per time per message, back to back, and a sample at its end; returns the end of the last."""
    for number, seconds in enumerate(taken_s):
        received = round(window_s / seconds)
        elapsed = round(received * seconds * 1e9)
        copies = round(received * plan.replication)
        run.tables["windows"].append(
            {
                **keys,
                "window": number,
                "begin_ns": clock,
                "end_ns": clock + elapsed,
                "received": received,
                "expected": copies,
                "dispatched": copies,
                "in_flight": 1000,
                "planned_per_s": None,
                "broker_cpu_ns": round(0.985 * elapsed),
                "gc_pause_ns": round(0.02 * elapsed),
                "load_cpu_ns": round(0.4 * elapsed),
                "host_speed_ns": 5_000_000 + number,
                "status": "ok",
            }
        )
        clock += elapsed
        run.tables["samples"].append(
            {
                **keys,
                "at_ns": clock,
                "received": received,
                "dispatched": copies,
                "broker_cpu_ns": round(0.985 * elapsed),
                "broker_rss_bytes": 900 * 2**20,
                "broker_context_switches": clock // 10**6,
                "broker_disk_written_bytes": clock // 2000,
                "load_rss_bytes": 120 * 2**20,
                "memory_available_bytes": 8 * 2**30,
                "swap_used_bytes": 0,
                "disk_written_bytes": clock // 1000,
                "network_sent_bytes": clock // 10,
            }
        )
    return clock


def write_events(folder: Path, rows: int, *, subscriptions: int = 10, publishers: int = 20) -> Path:
    """A run of one cell with `rows` delivery events in one file, interleaved as a broker delivers them; no fault."""
    run = measured_run([(0, subscriptions)], windows=1, messages=1)
    keys = {key: run.manifest["schedule"][0][key] for key in KEYS}
    plan = replication_plan(0, subscriptions, publishers=publishers)
    run.plans[1] = plan_record(plan, fits_model=True, factors={})
    messages = rows // (subscriptions * publishers)
    for table in ("sends", "deliveries"):
        run.tables[table] = [row for row in run.tables[table] if row["experiment"] == WARM_UP]
    add_traffic(run, keys, plan, messages, 10**12)
    run.tables["deliveries"] = run.rows("deliveries", experiment=WARM_UP)
    events = messages * subscriptions * publishers
    run.manifest["rows"] = {table: len(content) for table, content in run.tables.items()}
    run.manifest["rows"]["deliveries"] += events
    run.write(folder)
    arrival = np.arange(events, dtype=np.int64)
    sequence = arrival // (subscriptions * publishers)
    instants = 10**12 + arrival * 3000
    columns = {
        **{
            name: pa.DictionaryArray.from_arrays(pa.array(np.zeros(events, np.int32)), pa.array([keys[name]]))
            for name in KEYS
        },
        "subscription": pa.array((arrival % subscriptions).astype(np.int32)),
        "lane": pa.array((arrival // subscriptions % publishers).astype(np.int32)),
        "arrival": pa.array(arrival),
        "first_seq": pa.array(sequence),
        "last_seq": pa.array(sequence),
        "first_ns": pa.array(instants),
        "last_ns": pa.array(instants),
        "planned_ns": pa.nulls(events, pa.int64()),
    }
    declared = schema("deliveries")
    table = pa.table([columns[name].cast(declared.field(name).type) for name in declared.names], schema=declared)
    pq.write_table(table, folder / "deliveries" / "events.parquet")
    return folder
