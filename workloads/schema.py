"""The run directory: the columns of every recorded table, and its plan and manifest.

    results/<UTC time>-<label>/
        manifest.json     `kind`, what ran where, with which options; `outcome` once it ended; `not_applicable`: a
                          list of {broker, experiment, cell, reason} of cells that a broker cannot do and that were
                          therefore not scheduled; `warnings`: a list of {broker, start, source, messages, others}, an
                          entry for each log of a broker and each other source, with messages {severity, text, count,
                          first} and the number of `others`, which were too many to be kept
        plan.json         what should have happened, per (experiment, cell)
        sends/            one Parquet file per (broker, start, layout, block, worker)
        deliveries/       likewise
        latency/          likewise; only where the loop of a cell is open
        windows/          one file per (broker, start, layout, block): the slices, with the round that each belongs to
        samples/          likewise, one row per second
        layouts/          likewise, one row each, written last: a layout that has it is complete
        brokers/          one folder per broker start: its log

Of a business workload (kind `workload`) plan.json has what `workloads.scenario.model` compiled, and instead of sends,
deliveries, windows and latency there are

        sent/             every message, one file per (broker, start, experiment, cell, worker)
        received/         every delivery, likewise
        subscriptions/    likewise, every subscription of a member of a population, if the scenario has populations
        sessions/         likewise, every session, if it has a population with sessions
        setup/            one row per (broker, start, experiment, cell), if the scenario has populations
        periods/          one file per (broker, start, experiment, cell), written last

A *layout* is the cells of a block connected and subscribed on the broker at once, until the last of its rounds; the
layouts of all blocks with the same number form a pass, which is the unit of every interval. Layout 0 is that of the
warm-up. Lanes and subscriptions are numbered per cell, as in plan.json, and the sequence numbers of a lane continue
from slice to slice: within a (layout, block, lane, subscription) `arrival` is unique and the rows are in its order,
and the sends of a lane have no gap, starting at 0. A complete run has all scheduled cells in all its layouts.

Every instant is `CLOCK_MONOTONIC` in int64 ns, one clock for all processes of a host. The files are
written under a temporary name and renamed when complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

#: Raised when a column, a key or the meaning of one changes; the analysis refuses other versions.
SCHEMA_VERSION = 8

#: Offset of the positions of a cell's second part, after its broker was killed, from those of the first.
PART_POSITIONS = 10**9

#: The experiment name of cells that every block of a run has, so that the rounds of different blocks share a level.
ANCHOR = "anchor"

#: The experiment name of the closed loops whose capacity an open loop's rate is a share of.
CAPACITY = "capacity"

#: Cells that are audited and contribute to the level of a round, but appear in no table.
PREPARATION = (ANCHOR, CAPACITY)

#: The number of the warm-up's layout; those that are measured follow from 1.
WARM_UP_LAYOUT = 0

#: The number of a layout's first round, which warms the broker up for the new layout and is not counted. Further
#: warm-up rounds, where needed, have the numbers below it.
WARMING_ROUND = 0


class RunOutcome(StrEnum):
    """How a session ended; absent while it runs, or when it was killed."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


#: The source of warnings that do not come from a broker's log.
LOAD = "load"

#: `provider` in the manifest of a broker that the suite did not start.
BY_URL = "url"


class Severity(StrEnum):
    """Severity of a warning in a broker's log or from a library of the load."""

    WARNING = "warning"
    ERROR = "error"


class ColumnType(StrEnum):
    INT64 = "int64"
    INT32 = "int32"
    FLOAT64 = "float64"
    STRING = "string"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: ColumnType
    meaning: str
    nullable: bool = False


KEYS = (
    Column(
        "broker", ColumnType.STRING, "the broker as the user named it, without credentials; its role where two compare"
    ),
    Column("start", ColumnType.INT32, "number of the start of the broker's process, from 1"),
    Column("experiment", ColumnType.STRING, f"file of microbench, {ANCHOR!r} or {CAPACITY!r}"),
    Column("cell", ColumnType.STRING, "setting of the experiment's factors"),
)

#: Throughput study only: the layout that a row belongs to.
LAYOUT_KEYS = (
    Column("layout", ColumnType.INT32, "which layout of the start, from 1; 0 is that of the warm-up"),
    Column("block", ColumnType.INT32, "which of the start's blocks of cells, from 0"),
)

SENDS = (
    *KEYS,
    *LAYOUT_KEYS,
    Column("lane", ColumnType.INT32, "publisher x template, numbered in plan.json"),
    Column("first_seq", ColumnType.INT64, "first sequence number wholly written to the broker's socket"),
    Column("last_seq", ColumnType.INT64, "last one, included; a lane without a message has no row"),
    Column("first_ns", ColumnType.INT64, "instant after the first message of the lane's publisher was written"),
    Column("last_ns", ColumnType.INT64, "instant after its last one was"),
)

DELIVERIES = (
    *KEYS,
    *LAYOUT_KEYS,
    Column(
        "subscription",
        ColumnType.INT32,
        "numbered in plan.json; negative where it is another cell's: -1 less its number in the block",
    ),
    Column("lane", ColumnType.INT32, "publisher x template, numbered in plan.json"),
    Column("arrival", ColumnType.INT64, "index of the first message in the order in which the worker read them"),
    Column("first_seq", ColumnType.INT64, "first of the consecutive sequence numbers of a run"),
    Column("last_seq", ColumnType.INT64, "last one, included; the same as first_seq where events are recorded"),
    Column("first_ns", ColumnType.INT64, "instant at which the first was read"),
    Column("last_ns", ColumnType.INT64, "instant at which the last was read"),
    Column("planned_ns", ColumnType.INT64, "planned instant of the first; null in a closed loop", nullable=True),
)

WINDOWS = (
    *KEYS,
    *LAYOUT_KEYS,
    Column(
        "round",
        ColumnType.INT32,
        f"which round of the layout; those up to {WARMING_ROUND} make it warm and are not counted",
    ),
    Column("position", ColumnType.INT32, "index of the slice in its round, from 0"),
    Column("begin_ns", ColumnType.INT64, "instant of the first reading of the counters, after the ramp"),
    Column("end_ns", ColumnType.INT64, "instant of the last reading, before the drain"),
    Column("received", ColumnType.INT64, "messages wholly written to the broker's sockets in between"),
    Column("expected", ColumnType.INT64, "copies that the plan expects of those messages"),
    Column("dispatched", ColumnType.INT64, "copies read from the broker's sockets in between"),
    Column("in_flight", ColumnType.INT64, "messages in flight allowed; null in an open loop", nullable=True),
    Column("planned_per_s", ColumnType.FLOAT64, "messages planned per second; null in a closed loop", nullable=True),
    Column(
        "broker_cpu_ns", ColumnType.INT64, "CPU time of all its processes; null where it cannot be read", nullable=True
    ),
    Column(
        "compiler_cpu_ns", ColumnType.INT64, "of it, by the compiler threads of its JVM; null without", nullable=True
    ),
    Column(
        "gc_cpu_ns", ColumnType.INT64, "of it, by the JVM's threads for garbage collection; null without", nullable=True
    ),
    Column(
        "gc_pause_ns", ColumnType.INT64, "pauses for young collections in between; null without a log", nullable=True
    ),
    Column("gc_pauses", ColumnType.INT64, "how many such pauses began in between; null without a log", nullable=True),
    Column("full_gc_pause_ns", ColumnType.INT64, "pauses for full collections; null without a log", nullable=True),
    Column(
        "stolen_ns",
        ColumnType.INT64,
        "time in which a CPU of the broker was given to other machines by the hypervisor, the mean of its CPUs: the "
        "slice's share by time of all slices of the layout, since the kernel counts ticks of 10 ms; null where unknown",
        nullable=True,
    ),
    Column("load_cpu_ns", ColumnType.INT64, "CPU time of all workers"),
    Column(
        "idle_broker_cpu_ns", ColumnType.INT64, "CPU time of other live brokers meanwhile; null without", nullable=True
    ),
    Column("owed", ColumnType.INT64, "copies that had not arrived at the end of the drain after the slice"),
    Column("status", ColumnType.STRING, "ok or warm-up"),
)

_SAMPLED = (
    Column("broker_cpu_ns", ColumnType.INT64, "CPU time of all the broker's processes", nullable=True),
    Column(
        "compiler_cpu_ns", ColumnType.INT64, "of it, by the compiler threads of its JVM; null without", nullable=True
    ),
    Column(
        "gc_cpu_ns", ColumnType.INT64, "of it, by the JVM's threads for garbage collection; null without", nullable=True
    ),
    Column("broker_rss_bytes", ColumnType.INT64, "resident memory of all the broker's processes", nullable=True),
    Column("broker_context_switches", ColumnType.INT64, "of all threads of the broker", nullable=True),
    Column("broker_disk_written_bytes", ColumnType.INT64, "by the broker's processes", nullable=True),
    Column("load_rss_bytes", ColumnType.INT64, "resident memory of all workers"),
    Column("memory_available_bytes", ColumnType.INT64, "of the host"),
    Column("swap_used_bytes", ColumnType.INT64, "of the host"),
    Column("disk_written_bytes", ColumnType.INT64, "of the host's disks"),
    Column("network_sent_bytes", ColumnType.INT64, "of all interfaces, loopback included"),
)

#: Throughput study only; experiment and cell are those being measured at that instant.
SAMPLES = (
    *KEYS,
    *LAYOUT_KEYS,
    Column("at_ns", ColumnType.INT64, "instant of the reading; counters are cumulative"),
    Column("received", ColumnType.INT64, "messages written in this layout so far"),
    Column("dispatched", ColumnType.INT64, "copies read in this layout so far"),
    *_SAMPLED,
)

WORKLOAD_SAMPLES = (
    *KEYS,
    Column("at_ns", ColumnType.INT64, "instant of the reading; counters are cumulative"),
    Column("received", ColumnType.INT64, "messages written in this cell so far"),
    Column("dispatched", ColumnType.INT64, "messages read in this cell so far"),
    Column("standing", ColumnType.INT64, "subscriptions of members that are confirmed and not being ended"),
    Column("joined", ColumnType.INT64, "subscriptions of members that were confirmed so far"),
    Column("left", ColumnType.INT64, "subscriptions of members whose end was confirmed so far"),
    *_SAMPLED,
    Column(
        "broker_heap_after_gc_bytes",
        ColumnType.INT64,
        "heap in use after the last collection of the broker's JVM; null without a log, and before the first",
        nullable=True,
    ),
)

LATENCY = (
    *KEYS,
    *LAYOUT_KEYS,
    Column("round", ColumnType.INT32, "of the slice in which the planned instant lies"),
    Column("measure", ColumnType.STRING, "latency: planned to read; lateness: planned to written, of the generator"),
    Column("bucket", ColumnType.INT32, "of workloads.histogram: log-linear, negative for negative times"),
    Column("count", ColumnType.INT64, "copies (latency) or messages (lateness)"),
)

LAYOUTS = (
    *KEYS[:2],
    *LAYOUT_KEYS,
    Column("begin_ns", ColumnType.INT64, "instant before the first connection was opened"),
    Column("connected_ns", ColumnType.INT64, "instant at which all connections and subscriptions were established"),
    Column("end_ns", ColumnType.INT64, "instant at which all of them were closed"),
    Column("cells", ColumnType.INT32, "laid out, anchors included"),
    Column("connections", ColumnType.INT32, "of publishers and subscribers"),
    Column("subscriptions", ColumnType.INT32, "on them"),
    Column("rounds", ColumnType.INT32, "complete ones, the uncounted one included"),
    Column("status", ColumnType.STRING, "ok or warm-up"),
)


class Measure(StrEnum):
    """What a row of the latency table counts."""

    LATENCY = "latency"
    LATENESS = "lateness"


SENT = (
    *KEYS,
    Column("producer", ColumnType.INT32, "handler or driver, numbered in plan.json"),
    Column("position", ColumnType.INT64, "index of the message among the producer's, from 0, in the order of writing"),
    Column("execution", ColumnType.INT64, "id of the chain that the message belongs to"),
    Column("step", ColumnType.INT32, "which message of the workload, numbered in plan.json"),
    Column("address", ColumnType.INT32, "message type and party that receives it, numbered in plan.json"),
    Column("planned_ns", ColumnType.INT64, "instant planned for its driver; null for a reply", nullable=True),
    Column("sent_ns", ColumnType.INT64, "instant before its first byte was written"),
    Column(
        "settled_ns",
        ColumnType.INT64,
        "instant at which the broker's receipt of its transaction's COMMIT, or of the message itself, was read; of a "
        "message with neither the instant at which it was written; null where that did not happen",
        nullable=True,
    ),
    Column("body_bytes", ColumnType.INT32, "of its body"),
    Column("key", ColumnType.INT32, "by which members of populations hear it; null without", nullable=True),
)

RECEIVED = (
    *KEYS,
    Column("handler", ColumnType.INT32, "numbered in plan.json; null for the copy of a member", nullable=True),
    Column(
        "subscription",
        ColumnType.INT32,
        "of the member, numbered in `subscriptions`; null for the copy of a handler",
        nullable=True,
    ),
    Column("arrival", ColumnType.INT64, "index in the order in which the worker read its messages"),
    Column("producer", ColumnType.INT32, "producer of the message, from its stamp"),
    Column("position", ColumnType.INT64, "index of the message among that producer's, from its stamp"),
    Column("execution", ColumnType.INT64, "id of its chain, from its stamp"),
    Column("step", ColumnType.INT32, "from its stamp"),
    Column("sent_ns", ColumnType.INT64, "from its stamp"),
    Column("received_ns", ColumnType.INT64, "instant at which its bytes were read"),
    Column(
        "settled_ns",
        ColumnType.INT64,
        "instant at which the receipt of the COMMIT that consumes it was read; outside transactions, at which its "
        "acknowledgement was written, or it was read where the broker acknowledges; null where that did not happen",
        nullable=True,
    ),
    Column("redelivered", ColumnType.INT32, "1 where the broker marks it as delivered before, else 0"),
    Column("body_bytes", ColumnType.INT32, "of its body, as received"),
)

SUBSCRIPTIONS = (
    *KEYS,
    Column("subscription", ColumnType.INT32, "numbered per cell in the order of workloads.scenario.population"),
    Column("population", ColumnType.INT32, "number in the scenario"),
    Column("member", ColumnType.INT64, "number in the population"),
    Column("place", ColumnType.INT32, "which of the population's subscriptions, from 0"),
    Column("key", ColumnType.INT32, "whose messages it hears"),
    Column("second_key", ColumnType.INT32, "another key whose messages it hears; null without", nullable=True),
    Column("connection", ColumnType.INT32, "index of the shared connection; of a session 0"),
    Column("planned_join_ns", ColumnType.INT64, "instant planned; null where it joined before the load", nullable=True),
    Column(
        "subscribe_ns", ColumnType.INT64, "instant before SUBSCRIBE was written; null if it never was", nullable=True
    ),
    Column("joined_ns", ColumnType.INT64, "instant at which its receipt was read; null if it never was", nullable=True),
    Column("planned_leave_ns", ColumnType.INT64, "instant planned; null where the load ended before it", nullable=True),
    Column(
        "unsubscribe_ns",
        ColumnType.INT64,
        "instant before UNSUBSCRIBE was written, which ends every subscription after the drain; null if it never was",
        nullable=True,
    ),
    Column("left_ns", ColumnType.INT64, "instant at which its receipt was read; null if it never was", nullable=True),
)

SESSIONS = (
    *KEYS,
    Column("population", ColumnType.INT32, "number in the scenario"),
    Column("member", ColumnType.INT64, "number in the population"),
    Column("planned_join_ns", ColumnType.INT64, "instant planned for its join"),
    Column("connect_ns", ColumnType.INT64, "instant before its connection was opened"),
    Column(
        "connected_ns", ColumnType.INT64, "instant at which the login was accepted; null if it never was", nullable=True
    ),
    Column(
        "joined_ns",
        ColumnType.INT64,
        "instant at which the last receipt of its subscriptions was read; null if one never was",
        nullable=True,
    ),
    Column("planned_leave_ns", ColumnType.INT64, "instant planned; null where the load ended before it", nullable=True),
    Column(
        "leave_ns",
        ColumnType.INT64,
        "instant before its end was written; null if they never were",
        nullable=True,
    ),
    Column("left_ns", ColumnType.INT64, "instant at which its end was confirmed; null if not", nullable=True),
    Column("orders", ColumnType.INT32, "messages that it sent"),
)

_MEMORY = "after a full collection of its JVM; null where that is not possible"

SETUP = (
    *KEYS,
    Column("begin_ns", ColumnType.INT64, "instant before the first SUBSCRIBE of a member was written"),
    Column("end_ns", ColumnType.INT64, "instant at which the last of their receipts was read"),
    Column("subscriptions", ColumnType.INT64, "of members, made in between"),
    Column("broker_heap_before_bytes", ColumnType.INT64, f"before anything is connected, {_MEMORY}", nullable=True),
    Column("broker_heap_after_bytes", ColumnType.INT64, f"before the load, {_MEMORY}", nullable=True),
    Column(
        "broker_heap_left_bytes",
        ColumnType.INT64,
        f"when all members have left and shared connections are still open, {_MEMORY}",
        nullable=True,
    ),
    Column("broker_rss_before_bytes", ColumnType.INT64, "resident memory of its processes then", nullable=True),
    Column("broker_rss_after_bytes", ColumnType.INT64, "resident memory of its processes then", nullable=True),
    Column("broker_rss_left_bytes", ColumnType.INT64, "resident memory of its processes then", nullable=True),
)

PERIODS = (
    *KEYS,
    Column("period", ColumnType.STRING, "of workloads.scenario.periods; each at most once, one after the other"),
    Column("begin_ns", ColumnType.INT64, "instant at its begin"),
    Column("end_ns", ColumnType.INT64, "instant at its end; of the drain, when nothing was in flight any more"),
    Column("broker_cpu_ns", ColumnType.INT64, "CPU time of all the broker's processes in it", nullable=True),
    Column("gc_pause_ns", ColumnType.INT64, "pauses of the broker's JVM in it; null without", nullable=True),
    Column("load_cpu_ns", ColumnType.INT64, "CPU time of all workers in it"),
    Column(
        "host_speed_ns",
        ColumnType.INT64,
        "time of a fixed piece of work on the load's CPU, lower quartile over the period",
    ),
    Column(
        "store_bytes", ColumnType.INT64, "what the broker's files hold at its end; null where unknown", nullable=True
    ),
)

TABLES: Mapping[str, tuple[Column, ...]] = {
    "sends": SENDS,
    "deliveries": DELIVERIES,
    "windows": WINDOWS,
    "samples": SAMPLES,
    "latency": LATENCY,
    "layouts": LAYOUTS,
}

#: Tables of a run of a business workload; a run directory has one of the two sets, given by its manifest's `kind`.
WORKLOAD_TABLES: Mapping[str, tuple[Column, ...]] = {
    "sent": SENT,
    "received": RECEIVED,
    "subscriptions": SUBSCRIPTIONS,
    "sessions": SESSIONS,
    "setup": SETUP,
    "periods": PERIODS,
    "samples": WORKLOAD_SAMPLES,
}


class RunKind(StrEnum):
    """What a run directory holds."""

    THROUGHPUT = "throughput"
    WORKLOAD = "workload"


TABLES_OF: Mapping[RunKind, Mapping[str, tuple[Column, ...]]] = {
    RunKind.THROUGHPUT: TABLES,
    RunKind.WORKLOAD: WORKLOAD_TABLES,
}


@dataclass(frozen=True, slots=True)
class Window:
    """The measured part of one slice; fields as the columns of WINDOWS that follow KEYS."""

    layout: int
    block: int
    round: int
    position: int
    begin_ns: int
    end_ns: int
    received: int
    expected: int
    dispatched: int
    in_flight: int | None
    planned_per_s: float | None
    broker_cpu_ns: int | None
    compiler_cpu_ns: int | None
    gc_cpu_ns: int | None
    gc_pause_ns: int | None
    gc_pauses: int | None
    full_gc_pause_ns: int | None
    stolen_ns: int | None
    load_cpu_ns: int
    idle_broker_cpu_ns: int | None
    owed: int
    status: str

    @property
    def elapsed_s(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9

    @property
    def taken_s(self) -> float:
        """Seconds in which the broker had its CPUs.

        Closed loop: without the time stolen from them, which is no cost of the broker. Open loop: all, since the plan
        gives the rate.
        """
        stolen_s = 0.0 if self.stolen_ns is None or self.planned_per_s is not None else self.stolen_ns / 1e9
        return self.elapsed_s - stolen_s

    @property
    def messages(self) -> float:
        """Messages that the broker has processed.

        Closed loop: copies delivered, divided by the copies of a message. `received` would count the change of the
        messages in flight as well. Open loop: the messages sent, since the plan gives their rate.
        """
        if self.planned_per_s is not None:
            return float(self.received)
        return self.dispatched * self.received / self.expected if self.expected else 0.0

    @property
    def messages_per_s(self) -> float:
        return self.messages / self.elapsed_s

    @property
    def processing_s(self) -> float:
        """B of the slice, pauses included: seconds per message. Only where there are `messages`."""
        return self.taken_s / self.messages
