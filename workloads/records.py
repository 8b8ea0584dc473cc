"""The run directory: the columns of every recorded table, and the plan and manifest beside them.

    results/<UTC time>-<label>/
        manifest.json     what ran where, with which options; `outcome` once it ended
        plan.json         what should have happened, per (experiment, cell)
        sends/            one Parquet file per (broker, start, experiment, cell, worker)
        deliveries/       likewise
        windows/          one file per (broker, start, experiment, cell), written last: a cell that has it is complete
        samples/          likewise, one row per second of load
        brokers/          one folder per broker start: its log

Within a (lane, subscription) pair `arrival` is unique and the rows stand in its order; the sends of a lane
have no gap, from 0 on. A complete cell has at least one window, and a complete run all scheduled cells.

Every instant is `CLOCK_MONOTONIC` in int64 ns, one clock for all processes of a host. The files are
written under a temporary name and renamed when complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workloads.model import Plan

#: Raised when a column, a key or the meaning of one changes; the analysis refuses other versions.
SCHEMA_VERSION = 1

#: The experiment name under which the traffic of the warm-up is recorded; it is audited like any other.
WARM_UP = "warm-up"


class Outcome(StrEnum):
    """How a session ended; absent while it runs, or when it was killed."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Type(StrEnum):
    INT64 = "int64"
    INT32 = "int32"
    FLOAT64 = "float64"
    STRING = "string"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type
    meaning: str
    nullable: bool = False


KEYS = (
    Column("broker", Type.STRING, "the broker as the user named it, without credentials"),
    Column("start", Type.INT32, "which life of the broker's process, from 1"),
    Column("experiment", Type.STRING, f"file of microbench, or {WARM_UP!r}"),
    Column("cell", Type.STRING, "setting of the experiment's factors"),
)

SENDS = (
    *KEYS,
    Column("lane", Type.INT32, "publisher x template, numbered in plan.json"),
    Column("first_seq", Type.INT64, "first sequence number wholly written to the broker's socket"),
    Column("last_seq", Type.INT64, "last one, included; a lane without a message has no row"),
    Column("first_ns", Type.INT64, "instant after the first message of the lane's publisher was written"),
    Column("last_ns", Type.INT64, "instant after its last one was"),
)

DELIVERIES = (
    *KEYS,
    Column("subscription", Type.INT32, "numbered in plan.json"),
    Column("lane", Type.INT32, "publisher x template, numbered in plan.json"),
    Column("arrival", Type.INT64, "place of the first message in the order in which the worker read them"),
    Column("first_seq", Type.INT64, "first of the consecutive sequence numbers of a run"),
    Column("last_seq", Type.INT64, "last one, included; the same as first_seq where events are recorded"),
    Column("first_ns", Type.INT64, "instant at which the first was read"),
    Column("last_ns", Type.INT64, "instant at which the last was read"),
    Column("planned_ns", Type.INT64, "planned instant of the first; null in a closed loop", nullable=True),
)

WINDOWS = (
    *KEYS,
    Column("window", Type.INT32, "counts from 0 in a cell; a repeated window has a number of its own"),
    Column("begin_ns", Type.INT64, "instant of the first reading of the counters"),
    Column("end_ns", Type.INT64, "instant of the last reading"),
    Column("received", Type.INT64, "SEND frames wholly written to the broker's sockets in between"),
    Column("expected", Type.INT64, "copies that the plan expects of those"),
    Column("dispatched", Type.INT64, "copies read from the broker's sockets in between"),
    Column("in_flight", Type.INT64, "messages in flight allowed; null in an open loop", nullable=True),
    Column(
        "broker_cpu_ns", Type.INT64, "CPU time of the broker's process; null where it cannot be read", nullable=True
    ),
    Column("load_cpu_ns", Type.INT64, "CPU time of all workers"),
    Column("host_speed_ns", Type.INT64, "time of the fixed piece of work at the window's end, on the load's CPU"),
    Column("status", Type.STRING, "ok, warm-up, repeated or contaminated"),
)

SAMPLES = (
    *KEYS,
    Column("at_ns", Type.INT64, "instant of the reading; counters are cumulative"),
    Column("received", Type.INT64, "SEND frames written in this cell so far"),
    Column("dispatched", Type.INT64, "copies read in this cell so far"),
    Column("broker_cpu_ns", Type.INT64, "CPU time of the broker's process", nullable=True),
    Column("broker_rss_bytes", Type.INT64, "resident memory of the broker's process", nullable=True),
    Column("load_rss_bytes", Type.INT64, "resident memory of all workers"),
    Column("memory_available_bytes", Type.INT64, "of the host"),
    Column("swap_used_bytes", Type.INT64, "of the host"),
    Column("disk_written_bytes", Type.INT64, "of the host's disks"),
    Column("network_sent_bytes", Type.INT64, "of all interfaces, loopback included"),
)

TABLES: Mapping[str, tuple[Column, ...]] = {
    "sends": SENDS,
    "deliveries": DELIVERIES,
    "windows": WINDOWS,
    "samples": SAMPLES,
}


def plan_record(plan: Plan, **extra: Any) -> dict[str, Any]:
    """One entry of plan.json: what the audit and the fit need of a plan, in plain JSON values.

    `lanes` is a list of {`first`, `step`, `count`, `receivers`}: the lanes first, first + step, ...
    (count of them) share the receivers, given as inclusive [first, last] ranges of subscriptions.
    """
    return {
        "experiment": plan.experiment,
        "cell": plan.cell,
        "profile": plan.profile.name,
        "publishers": plan.publishers,
        "subscriptions": len(plan.subscriptions),
        "n_fltr": plan.n_fltr,
        "replication": plan.replication,
        "lanes": _lanes(plan),
        **extra,
    }


def expected_pairs(record: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """(lane, subscription) pairs of a plan.json entry between which every message must be delivered once."""
    for group in record["lanes"]:
        for place in range(group["count"]):
            lane = group["first"] + place * group["step"]
            for first, last in group["receivers"]:
                for subscription in range(first, last + 1):
                    yield lane, subscription


def _lanes(plan: Plan) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = []
    first_lane = first_subscription = 0
    for flow in plan.flows:
        for index, receivers in enumerate(flow.receivers):
            groups.append(
                {
                    "first": first_lane + index,
                    "step": len(flow.templates),
                    "count": flow.publishers,
                    "receivers": _ranges([first_subscription + receiver for receiver in receivers]),
                }
            )
        first_lane += flow.publishers * len(flow.templates)
        first_subscription += len(flow.subscriptions)
    return groups


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Sorted numbers as inclusive ranges: [1, 2, 3, 7] -> [[1, 3], [7, 7]]."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
