"""The run directory: its files, and the columns of every recorded table, stated once, as the class of its rows.

    results/<UTC time>-<label>/
        manifest.json     `workloads.manifest.Manifest`: what ran where, with which options, and how it ended
        plan.json         what should have happened, per (experiment, cell)
        sends/            one Parquet file per (broker, start, layout, block, worker)
        deliveries/       likewise
        latency/          likewise; only where the loop of a cell is open
        windows/          one file per (broker, start, layout, block): the slices, with the round that each belongs to
        samples/          likewise, one row per second
        layouts/          likewise, one row each, written last: a layout that has it is complete
        brokers/          one folder per broker start: its log

Of a business workload (kind `workload`) the entries of plan.json are `workloads.scenario.scenario_plan.ScenarioPlan`
instead of `workloads.throughput.study_plan.StudyPlan`, and instead of sends, deliveries, windows and latency there are

        sent/             every message, one file per (broker, start, experiment, cell, worker)
        received/         every delivery, likewise
        subscriptions/    likewise, every subscription of a member of a population, if the scenario has populations
        sessions/         likewise, every session, if it has a population with sessions
        setup/            one row per (broker, start, experiment, cell), if the scenario has populations
        periods/          one file per (broker, start, experiment, cell), written last

Of a run of faults (kind `faults`) the entries of plan.json are `workloads.faults.faults.FaultPlan`, and the tables are

        messages/         every message, one file per (broker, start, experiment, cell); a start is a repetition
        copies/           every copy, likewise
        transactions/     likewise, what belongs to transactions whose commit was not confirmed
        usage/            likewise, what the broker used
        lives/            likewise, one row, written last

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
from types import NoneType
from typing import Annotated, Any, TypeAlias, get_args, get_type_hints

#: Raised when a column, a key or the meaning of one changes; the analysis refuses other versions.
SCHEMA_VERSION = 13

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
    """A column of a table."""

    name: str
    type: ColumnType
    #: What it holds, in words.
    meaning: str
    nullable: bool = False


#: A whole number that is stored with 32 bits.
Int32: TypeAlias = Annotated[int, ColumnType.INT32]

#: Broker, start, layout, block.
LayoutKey: TypeAlias = tuple[str, int, int, int]

_TYPES = {int: ColumnType.INT64, float: ColumnType.FLOAT64, str: ColumnType.STRING}


def columns_of(row: type[Any]) -> tuple[Column, ...]:
    """The columns of a table, from the class of its rows.

    It is a dataclass where rows are held as objects; others are only written, and a class of annotations is enough. The
    annotation of a field is the whole definition of its column: `Annotated[int | None, "what it holds"]`, where
    `| None` makes it nullable, and `Int32` stands for `int` where 32 bits are enough.
    """
    hints = get_type_hints(row, include_extras=True)
    return tuple(_column(name, hint) for name, hint in hints.items())


def _column(name: str, hint: Any) -> Column:
    kind, *stored, meaning = get_args(hint)
    nullable = NoneType in get_args(kind)
    if nullable:
        kind = get_args(kind)[0]
        kind, *stored = get_args(kind) or (kind,)
    return Column(name, stored[0] if stored else _TYPES[kind], meaning, nullable)


@dataclass(frozen=True)
class StartKeys:
    """What all rows of a broker's start have in common."""

    broker: Annotated[str, "the broker as the user named it, without credentials; its role where two compare"]
    start: Annotated[Int32, "number of the start of the broker's process, from 1"]


class CellKeys(StartKeys):
    """What all rows of a measured cell have in common."""

    experiment: Annotated[str, "file of microbench, 'anchor' or 'capacity'"]
    cell: Annotated[str, "setting of the experiment's factors"]


@dataclass(frozen=True, slots=True)
class LayoutKeys:
    """Throughput study only: the layout that a row belongs to."""

    layout: Annotated[Int32, "which layout of the start, from 1; 0 is that of the warm-up"]
    block: Annotated[Int32, "which of the start's blocks of cells, from 0"]


KEYS = columns_of(CellKeys)
LAYOUT_KEYS = columns_of(LayoutKeys)


class SendRow:
    """The messages of a lane in a layout."""

    lane: Annotated[Int32, "publisher x template, numbered in plan.json"]
    first_seq: Annotated[int, "first sequence number wholly written to the broker's socket"]
    last_seq: Annotated[int, "last one, included; a lane without a message has no row"]
    first_ns: Annotated[int, "instant after the first message of the lane's publisher was written"]
    last_ns: Annotated[int, "instant after its last one was"]


class DeliveryRow:
    """Copies of a lane that a subscription got one after the other."""

    subscription: Annotated[
        Int32,
        "numbered in plan.json; negative where it is another cell's: -1 less its number in the block",
    ]
    lane: Annotated[Int32, "publisher x template, numbered in plan.json"]
    arrival: Annotated[int, "index of the first message in the order in which the worker read them"]
    first_seq: Annotated[int, "first of the consecutive sequence numbers of a run"]
    last_seq: Annotated[int, "last one, included; the same as first_seq where events are recorded"]
    first_ns: Annotated[int, "instant at which the first was read"]
    last_ns: Annotated[int, "instant at which the last was read"]
    planned_ns: Annotated[int | None, "planned instant of the first; null in a closed loop"]


@dataclass(frozen=True, slots=True)
class Window(LayoutKeys):
    """The measured part of one slice."""

    round: Annotated[Int32, "which round of the layout; those up to 0 make it warm and are not counted"]
    position: Annotated[Int32, "index of the slice in its round, from 0"]
    begin_ns: Annotated[int, "instant of the first reading of the counters, after the ramp"]
    end_ns: Annotated[int, "instant of the last reading, before the drain"]
    received: Annotated[int, "messages wholly written to the broker's sockets in between"]
    expected: Annotated[int, "copies that the plan expects of those messages"]
    dispatched: Annotated[int, "copies read from the broker's sockets in between"]
    in_flight: Annotated[int | None, "messages in flight allowed; null in an open loop"]
    planned_per_s: Annotated[float | None, "messages planned per second; null in a closed loop"]
    broker_cpu_ns: Annotated[int | None, "CPU time of all its processes; null where it cannot be read"]
    compiler_cpu_ns: Annotated[int | None, "of it, by the compiler threads of its JVM; null without"]
    gc_pause_ns: Annotated[int | None, "pauses for young collections in between; null without a log"]
    gc_pauses: Annotated[int | None, "how many such pauses began in between; null without a log"]
    full_gc_pause_ns: Annotated[int | None, "pauses for full collections; null without a log"]
    stolen_ns: Annotated[
        int | None,
        "time in which a CPU of the broker was given to other machines by the hypervisor, the mean of its CPUs: the "
        "slice's share by time of all slices of the layout, since the kernel counts ticks of 10 ms; null where unknown",
    ]
    load_cpu_ns: Annotated[int, "CPU time of all workers"]
    idle_broker_cpu_ns: Annotated[int | None, "CPU time of other live brokers meanwhile; null without"]
    owed: Annotated[int, "copies that had not arrived at the end of the drain after the slice"]
    status: Annotated[str, "ok or warm-up"]

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


class CountersRow:
    """What the load has counted at an instant."""

    at_ns: Annotated[int, "instant of the reading; counters are cumulative"]
    received: Annotated[int, "messages written in this layout so far"]
    dispatched: Annotated[int, "copies read in this layout so far"]


class SampledRow:
    """What was read of the broker, the load and the host at an instant; counters are cumulative."""

    broker_cpu_ns: Annotated[int | None, "CPU time of all the broker's processes"]
    compiler_cpu_ns: Annotated[int | None, "of it, by the compiler threads of its JVM; null without"]
    broker_rss_bytes: Annotated[int | None, "resident memory of all the broker's processes"]
    broker_context_switches: Annotated[int | None, "of all threads of the broker"]
    broker_disk_written_bytes: Annotated[int | None, "by the broker's processes"]
    load_rss_bytes: Annotated[int, "resident memory of all workers"]
    memory_available_bytes: Annotated[int, "of the host"]
    swap_used_bytes: Annotated[int, "of the host"]
    disk_written_bytes: Annotated[int, "of the host's disks"]
    network_sent_bytes: Annotated[int, "of all interfaces, loopback included"]


class LatencyRow:
    """A bucket of a cell's latencies in a round."""

    round: Annotated[Int32, "of the slice in which the planned instant lies"]
    measure: Annotated[str, "latency: planned to read; lateness: planned to written, of the generator"]
    bucket: Annotated[Int32, "of workloads.histogram: log-linear, negative for negative times"]
    count: Annotated[int, "copies (latency) or messages (lateness)"]


@dataclass(frozen=True, order=True)
class LayoutRow(LayoutKeys, StartKeys):
    """A complete layout."""

    begin_ns: Annotated[int, "instant before the first connection was opened"]
    connected_ns: Annotated[int, "instant at which all connections and subscriptions were established"]
    end_ns: Annotated[int, "instant at which all of them were closed"]
    cells: Annotated[Int32, "laid out, anchors included"]
    connections: Annotated[Int32, "of publishers and subscribers"]
    subscriptions: Annotated[Int32, "on them"]
    rounds: Annotated[Int32, "complete ones, the uncounted one included"]
    status: Annotated[str, "ok or warm-up"]

    @property
    def key(self) -> LayoutKey:
        return self.broker, self.start, self.layout, self.block


class Measure(StrEnum):
    """What a row of the latency table counts."""

    LATENCY = "latency"
    LATENESS = "lateness"


class SentRow:
    """A message of a workload."""

    producer: Annotated[Int32, "handler or driver, numbered in plan.json"]
    position: Annotated[int, "index of the message among the producer's, from 0, in the order of writing"]
    execution: Annotated[int, "id of the chain that the message belongs to"]
    step: Annotated[Int32, "which message of the workload, numbered in plan.json"]
    address: Annotated[Int32, "message type and party that receives it, numbered in plan.json"]
    planned_ns: Annotated[int | None, "instant planned for its driver; null for a reply"]
    sent_ns: Annotated[int, "instant before its first byte was written"]
    settled_ns: Annotated[
        int | None,
        "instant at which the broker's receipt of its transaction's COMMIT, or of the message itself, was read; of a "
        "message with neither the instant at which it was written; null where that did not happen",
    ]
    body_bytes: Annotated[Int32, "of its body"]
    key: Annotated[Int32 | None, "by which members of populations hear it; null without"]


class ReceivedRow:
    """A delivery of a workload."""

    handler: Annotated[Int32 | None, "numbered in plan.json; null for the copy of a member"]
    subscription: Annotated[Int32 | None, "of the member, numbered in `subscriptions`; null for the copy of a handler"]
    arrival: Annotated[int, "index in the order in which the worker read its messages"]
    producer: Annotated[Int32, "producer of the message, from its stamp"]
    position: Annotated[int, "index of the message among that producer's, from its stamp"]
    execution: Annotated[int, "id of its chain, from its stamp"]
    step: Annotated[Int32, "from its stamp"]
    sent_ns: Annotated[int, "from its stamp"]
    received_ns: Annotated[int, "instant at which its bytes were read"]
    settled_ns: Annotated[
        int | None,
        "instant at which the receipt of the COMMIT that consumes it was read; outside transactions, at which its "
        "acknowledgement was written, or it was read where the broker acknowledges; null where that did not happen",
    ]
    redelivered: Annotated[Int32, "1 where the broker marks it as delivered before, else 0"]
    body_bytes: Annotated[Int32, "of its body, as received"]


@dataclass(slots=True, eq=False)
class SubscriptionRow:
    """A subscription of a member of a population."""

    subscription: Annotated[Int32, "numbered per cell in the order of workloads.scenario.population"]
    population: Annotated[Int32, "number in the scenario"]
    member: Annotated[int, "number in the population"]
    place: Annotated[Int32, "which of the population's subscriptions, from 0"]
    key: Annotated[Int32, "whose messages it hears"]
    second_key: Annotated[Int32 | None, "another key whose messages it hears; null without"]
    connection: Annotated[Int32, "index of the shared connection; of a session 0"]
    planned_join_ns: Annotated[int | None, "instant planned; null where it joined before the load"] = None
    subscribe_ns: Annotated[int | None, "instant before SUBSCRIBE was written; null if it never was"] = None
    joined_ns: Annotated[int | None, "instant at which its receipt was read; null if it never was"] = None
    planned_leave_ns: Annotated[int | None, "instant planned; null where the load ended before it"] = None
    unsubscribe_ns: Annotated[
        int | None,
        "instant before UNSUBSCRIBE was written, which ends every subscription after the drain; null if it never was",
    ] = None
    left_ns: Annotated[int | None, "instant at which its receipt was read; null if it never was"] = None


@dataclass(slots=True, eq=False)
class SessionRow:
    """A session of a member of a population."""

    population: Annotated[Int32, "number in the scenario"]
    member: Annotated[int, "number in the population"]
    planned_join_ns: Annotated[int, "instant planned for its join"]
    connect_ns: Annotated[int, "instant before its connection was opened"]
    connected_ns: Annotated[int | None, "instant at which the login was accepted; null if it never was"] = None
    joined_ns: Annotated[
        int | None,
        "instant at which the last receipt of its subscriptions was read; null if one never was",
    ] = None
    planned_leave_ns: Annotated[int | None, "instant planned; null where the load ended before it"] = None
    leave_ns: Annotated[int | None, "instant before its end was written; null if they never were"] = None
    left_ns: Annotated[int | None, "instant at which its end was confirmed; null if not"] = None
    orders: Annotated[Int32, "messages that it sent"] = 0


class SetupRow:
    """How the members that are there from the begin joined, and the memory that they take."""

    begin_ns: Annotated[int, "instant before the first SUBSCRIBE of a member was written"]
    end_ns: Annotated[int, "instant at which the last of their receipts was read"]
    subscriptions: Annotated[int, "of members, made in between"]
    broker_heap_before_bytes: Annotated[
        int | None,
        "before anything is connected, after a full collection of its JVM; null where that is not possible",
    ]
    broker_heap_after_bytes: Annotated[
        int | None,
        "before the load, after a full collection of its JVM; null where that is not possible",
    ]
    broker_heap_left_bytes: Annotated[
        int | None,
        "when all members have left and shared connections are still open, after a full collection of its JVM; null "
        "where that is not possible",
    ]
    broker_rss_before_bytes: Annotated[int | None, "resident memory of its processes then"]
    broker_rss_after_bytes: Annotated[int | None, "resident memory of its processes then"]
    broker_rss_left_bytes: Annotated[int | None, "resident memory of its processes then"]


class PeriodRow:
    """A period of a cell."""

    period: Annotated[str, "of workloads.scenario.periods; each at most once, one after the other"]
    begin_ns: Annotated[int, "instant at its begin"]
    end_ns: Annotated[int, "instant at its end; of the drain, when nothing was in flight any more"]
    broker_cpu_ns: Annotated[int | None, "CPU time of all the broker's processes in it"]
    gc_pause_ns: Annotated[int | None, "pauses of the broker's JVM in it; null without"]
    load_cpu_ns: Annotated[int, "CPU time of all workers in it"]
    store_bytes: Annotated[int | None, "what the broker's files hold at its end; null where unknown"]


class WorkloadCountersRow:
    """What the load of a workload has counted at an instant."""

    at_ns: Annotated[int, "instant of the reading; counters are cumulative"]
    received: Annotated[int, "messages written in this cell so far"]
    dispatched: Annotated[int, "messages read in this cell so far"]
    standing: Annotated[int, "subscriptions of members that are confirmed and not being ended"]
    joined: Annotated[int, "subscriptions of members that were confirmed so far"]
    left: Annotated[int, "subscriptions of members whose end was confirmed so far"]


class HeapRow:
    """What the log of the broker's JVM said of its heap at an instant."""

    broker_heap_after_gc_bytes: Annotated[
        int | None,
        "heap in use after the last collection of the broker's JVM; null without a log, and before the first",
    ]


@dataclass(frozen=True, slots=True)
class FaultMessageRow:
    """A message of a cell with a fault."""

    lane: Annotated[Int32, "its publisher; lanes of an open transaction follow those of the load"]
    seq: Annotated[int, "its number in the lane, from 0"]
    planned_ns: Annotated[int, "instant planned"]
    written_ns: Annotated[int | None, "instant after its first byte was written; null if none was"]
    confirmed_ns: Annotated[int | None, "instant at which its confirmation was read; null if none was"]
    fate: Annotated[str, "of workloads.faults.accounting.Fate"]


@dataclass(frozen=True, slots=True)
class FaultCopyRow:
    """A copy of a message of a cell with a fault; those of a subscription are in the order of their arrival."""

    subscription: Annotated[Int32, "its consumer"]
    lane: Annotated[Int32, "of its message"]
    seq: Annotated[int, "of its message"]
    at_ns: Annotated[int, "instant at which it was read"]
    redelivered: Annotated[Int32, "1 if it is marked as delivered before, else 0"]


@dataclass(frozen=True, slots=True)
class FaultTransactionRow:
    """A message that was sent or consumed in a transaction whose commit was not confirmed."""

    transaction: Annotated[Int32, "number of the transaction in its cell"]
    lane: Annotated[Int32, "of the message"]
    seq: Annotated[int, "of the message"]
    consumed: Annotated[Int32, "1 if it was consumed, 0 if it was sent"]
    at_ns: Annotated[int, "instant at which it was read or written"]


@dataclass(frozen=True, slots=True)
class FaultUsageRow:
    """What the broker used at an instant; counters are cumulative over a life of its process."""

    at_ns: Annotated[int, "instant of the reading"]
    broker_cpu_ns: Annotated[int, "CPU time of all the broker's processes"]
    broker_rss_bytes: Annotated[int, "resident memory of all the broker's processes"]


@dataclass(frozen=True, slots=True)
class FaultLifeRow:
    """A cell with a fault: one life of a broker, or two."""

    place: Annotated[str, "what messages were sent to, of workloads.faults.faults.Place"]
    publishers: Annotated[Int32, "connections that sent; of a business workload, its drivers"]
    consumers: Annotated[Int32, "connections that received, each with a subscription; of a business, its handlers"]
    capacity_per_s: Annotated[
        float | None,
        "messages per second of a closed loop, of a pilot on the same broker; null for a business workload",
    ]
    rate_per_s: Annotated[float, "messages per second planned"]
    begin_ns: Annotated[int, "first planned instant"]
    fault_ns: Annotated[int, "instant right before the fault"]
    over_ns: Annotated[int | None, "instant at which what the suite does to the broker was over; null if it never was"]
    ready_ns: Annotated[int | None, "instant at which a restarted broker answered a login; null without, or if never"]
    load_end_ns: Annotated[int, "instant at which no further message was sent"]
    end_ns: Annotated[int, "end of the drain; copies from here on were read by consumers that had connected anew"]
    first_broken_ns: Annotated[
        int | None, "instant at which the load first found a connection broken, or a message refused; null if none"
    ]
    attempts: Annotated[int, "connections that were tried again"]
    refusals: Annotated[int, "of these, those that the broker refused or closed without a login"]
    overdue: Annotated[str, "what had not come back when the cell's limit was over; empty if nothing"]


class RunKind(StrEnum):
    """What a run directory holds."""

    THROUGHPUT = "throughput"
    WORKLOAD = "workload"
    FAULTS = "faults"


WINDOWS = (*KEYS, *columns_of(Window))
SAMPLES = (*KEYS, *LAYOUT_KEYS, *columns_of(CountersRow), *columns_of(SampledRow))
WORKLOAD_SAMPLES = (*KEYS, *columns_of(WorkloadCountersRow), *columns_of(SampledRow), *columns_of(HeapRow))
SETUP = (*KEYS, *columns_of(SetupRow))
PERIODS = (*KEYS, *columns_of(PeriodRow))

TABLES: Mapping[str, tuple[Column, ...]] = {
    "sends": (*KEYS, *LAYOUT_KEYS, *columns_of(SendRow)),
    "deliveries": (*KEYS, *LAYOUT_KEYS, *columns_of(DeliveryRow)),
    "windows": WINDOWS,
    "samples": SAMPLES,
    "latency": (*KEYS, *LAYOUT_KEYS, *columns_of(LatencyRow)),
    "layouts": columns_of(LayoutRow),
}

#: Tables of a run of a business workload; a run directory has one of the two sets, given by its manifest's `kind`.
WORKLOAD_TABLES: Mapping[str, tuple[Column, ...]] = {
    "sent": (*KEYS, *columns_of(SentRow)),
    "received": (*KEYS, *columns_of(ReceivedRow)),
    "subscriptions": (*KEYS, *columns_of(SubscriptionRow)),
    "sessions": (*KEYS, *columns_of(SessionRow)),
    "setup": SETUP,
    "periods": PERIODS,
    "samples": WORKLOAD_SAMPLES,
}

#: Tables of a run of faults.
FAULT_TABLES: Mapping[str, tuple[Column, ...]] = {
    "messages": (*KEYS, *columns_of(FaultMessageRow)),
    "copies": (*KEYS, *columns_of(FaultCopyRow)),
    "transactions": (*KEYS, *columns_of(FaultTransactionRow)),
    "usage": (*KEYS, *columns_of(FaultUsageRow)),
    "lives": (*KEYS, *columns_of(FaultLifeRow)),
}

TABLES_OF: Mapping[RunKind, Mapping[str, tuple[Column, ...]]] = {
    RunKind.THROUGHPUT: TABLES,
    RunKind.WORKLOAD: WORKLOAD_TABLES,
    RunKind.FAULTS: FAULT_TABLES,
}
