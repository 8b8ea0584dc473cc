"""Run directories of a workload from its pure model: a perfect broker and load, or one with a fault that is put in.

Everything is simulated from the compiled scenario, message by message in the order of time, so that a fault has the
consequences that it would have: who loses an order gets no confirmation. A test knows what an analysis must find.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from tests.support import run_directories as rd
from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.json_value import json_value
from workloads.messaging import Destination, DestinationKind
from workloads.registry import WORKLOADS
from workloads.scenario.message import MessageSpec
from workloads.scenario.model import (
    DESTINATION_PREFIX,
    Address,
    Consumption,
    Driver,
    Handler,
    HandlerSubscription,
    Reply,
    Scenario,
    splitmix64,
)
from workloads.scenario.periods import Lengths, Period
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.scenario.workload import Case, CaseRequest, Model, RequestRecord, Text, Workload
from workloads.schema import WORKLOAD_TABLES, RunKind
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Topology, vertical

#: Whose run it is.
WORKLOAD = "specjms2007"

#: What a message's stamp says of it, in the columns of both tables.
STAMPED = ("producer", "position", "execution", "step", "sent_ns")

#: The instant at which the load begins.
BEGIN_NS = 10**12

SECOND_NS = 10**9
MS_NS = 10**6

#: Models of `request_of` that no case makes, by the name of the text of their request.
_MADE: dict[str, Model] = {}

#: From a delivery to its answer, and from a COMMIT to its receipt.
ANSWER_NS, COMMIT_NS = MS_NS // 10, MS_NS // 2

#: Long enough for the rarest interaction of vertical BASE 10 to be judged: 20 executions.
LENGTHS = Lengths(warm_up_s=15, measurement_s=40, drain_s=20)


class Fault(StrEnum):
    """What is done to the message that is chosen; LATE and WHOLE-interaction ones are done to all of that kind.

    LATE: delivered 6 s late, all of them, in order · LAGGING: the drivers are one and a half gaps behind, at the right
    rate · SLOW: the drivers have four fifths of their rate · CUT: received, committed, and never answered · DOUBLE:
    answered twice · SKIP: a driver leaves out an execution's number · SWELL: a byte more arrives than was sent ·
    LEAK: a handler whose filter rejects it gets it, too.
    """

    LOSE = "lose"
    DUPLICATE = "duplicate"
    MISROUTE = "misroute"
    REORDER = "reorder"
    LATE = "late"
    LAGGING = "lagging"
    SLOW = "slow"
    CUT = "cut"
    DOUBLE = "double"
    SKIP = "skip"
    SWELL = "swell"
    LEAK = "leak"


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault, done to the `nth` message of a step that is sent in the measurement period (or to all of the step)."""

    fault: Fault
    step: str
    nth: int = 2


@dataclass(frozen=True, slots=True)
class Message:
    """A message on its way; `sender` is the index of its sender's place."""

    producer: int
    position: int
    execution: int
    outgoing: MessageSpec
    sender: int
    fields: tuple[int, ...]
    column: int
    address: int
    sent_ns: int
    body_bytes: int


@dataclass(frozen=True)
class Filtered(SupplyChain):
    """A model whose topics are one: what a handler hears, selectors tell apart. Who gets what remains the same."""

    @cached_property
    def scenario(self) -> Scenario:
        plain = super().scenario
        queues = [number for number, to in enumerate(plain.destinations) if to.kind is DestinationKind.QUEUE]
        places = {number: place for place, number in enumerate(queues)}
        topic = len(queues)

        def to(number: int) -> int:
            return places.get(plain.addresses[number].destination, topic)

        def subscriptions(handler: Handler) -> tuple[HandlerSubscription, ...]:
            if to(handler.addresses[0]) != topic:
                return tuple(HandlerSubscription(to(number)) for number in handler.addresses)
            labels = ", ".join(f"'{plain.addresses[number].label}'" for number in handler.addresses)
            return (HandlerSubscription(topic, f"Address IN ({labels})"),)

        return replace(
            plain,
            destinations=(
                *(plain.destinations[number] for number in queues),
                Destination(DestinationKind.TOPIC, f"{DESTINATION_PREFIX}.T"),
            ),
            addresses=tuple(
                Address(address.label, to(number), (("Address", address.label),) if to(number) == topic else ())
                for number, address in enumerate(plain.addresses)
            ),
            handlers=tuple(replace(handler, subscriptions=subscriptions(handler)) for handler in plain.handlers),
        )


@dataclass
class Performed:
    """What the simulation has recorded, without the keys of its cell."""

    sent: list[dict[str, Any]] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)


def request_of(workload: str, model: Model) -> RequestRecord:
    """What a workload makes this model of: a request of one of its cases, or one that `with_made_models` knows."""
    known = WORKLOADS[workload]
    for case in known.cases.values():
        if case.files is None and case.model(CaseRequest(model.base)) == model:
            return known.record(case.name, CaseRequest(model.base))
    name = str(len(_MADE))
    _MADE[name] = model
    return RequestRecord(model.base, Text(name, ""), case="made", tables=known.digest())


def with_made_models(workload: Workload) -> Workload:
    """The workload, whose other cases are the models of `request_of` that no case makes."""
    return replace(workload, other_case=Case(workload.name, "made", lambda request: _MADE[request.own.source]))


def workload_run(
    topology: Topology | None = None,
    *,
    broker: str = "activemq",
    start: int = 1,
    options: Mapping[str, Any] | None = None,
    **cell: Any,
) -> rd.RunDirectory:
    """A complete run of one cell; `cell`: parameters of `add_cell`."""
    run = empty_run(broker, start, **(options or {}))
    add_cell(run, topology or vertical(10), broker=broker, start=start, **cell)
    return run


def empty_run(broker: str = "activemq", start: int = 1, **options: Any) -> rd.RunDirectory:
    """A complete run without a cell."""
    run = rd.RunDirectory(
        rd.manifest(
            kind=str(RunKind.WORKLOAD),
            brokers={
                broker: rd.broker_facts(options={"store": "kahadb", "sync": "always"}),
            },
            starts=[rd.start_facts(broker, start)],
            options={"consumption": "strict", "workers": 1, **options},
        ),
        [],
        {table: [] for table in WORKLOAD_TABLES},
    )
    del run.manifest["options"]["profile"], run.manifest["options"]["layouts"]
    return run


def add_cell(
    run: rd.RunDirectory,
    topology: Topology,
    *,
    planted: Sequence[Planted] = (),
    lengths: Lengths = LENGTHS,
    repeat: bool = False,
    delivery_ms: Callable[[float], float] = lambda _at_s: 2.0,
    arrivals: ArrivalProcess = ArrivalProcess.CONSTANT,
    broker: str = "activemq",
    start: int = 1,
    cell: str | None = None,
    filtered: bool = False,
    **plan: Any,
) -> dict[str, Any]:
    """A further cell of a run; returns its keys. In it nothing is wrong but what is `planted`.

    delivery_ms: what a broker takes at this second of the run, up to a fifth more; messages stay in order · filtered:
    all topics are one, see `Filtered` · plan: further or other keys of the cell's entry in plan.json.
    """
    model = Filtered(topology) if filtered else SupplyChain(topology)
    cell = cell or f"{topology.name}-b{topology.base:04d}"
    keys = {"broker": broker, "start": start, "experiment": WORKLOAD, "cell": cell}
    conduct = {"consumption": Consumption.STRICT, "arrivals": arrivals, "repeat": repeat}
    begin_ns = schedule(run, keys, request_of(WORKLOAD, model), model, plan, lengths=lengths, **conduct)
    periods = _periods(lengths, begin_ns, repeat=repeat)
    done = _Simulation(model.scenario, periods, planted, delivery_ms, arrivals).run()
    last_ns = max((row["received_ns"] for row in done.received), default=begin_ns)
    after_ns = max(end for _, end in periods.values())
    periods[Period.DRAIN] = (after_ns, max(last_ns, after_ns) + SECOND_NS // 2)
    run.tables["sent"] += [keys | row for row in done.sent]
    run.tables["received"] += [keys | row for row in done.received]
    run.tables["periods"] += [
        keys | _period_row(period, begin, end, begin_ns, done) for period, (begin, end) in periods.items()
    ]
    run.tables["samples"] += [keys | row for row in _samples(begin_ns, periods[Period.DRAIN][1], done)]
    return keys


def schedule(
    run: rd.RunDirectory,
    keys: dict[str, Any],
    request: RequestRecord,
    model: Model,
    plan: Mapping[str, Any] | None = None,
    **conduct: Any,
) -> int:
    """Adds a cell to plan and schedule of a run; returns an instant after all that is recorded.

    model: of the request · plan: further or other keys of its entry in plan.json · conduct: parameters of
    `ScenarioPlan.of`
    """
    if keys["cell"] not in {entry["cell"] for entry in run.plans}:
        usual = {"transactions": Transactions.FULL, "seed": 1, "length": "own"}
        record = ScenarioPlan.of(keys["experiment"], request, model, keys["cell"], **usual, **conduct)
        run.plans.append(json_value(record) | (plan or {}))
    run.manifest["schedule"].append(keys)
    return max((row["end_ns"] for row in run.tables["periods"]), default=BEGIN_NS - SECOND_NS) + SECOND_NS


class Events:
    """What happens in the order of time; every event is an instant and what is called then."""

    def __init__(self) -> None:
        self._events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._ticket, self._arrival = count(), count()
        self._positions: Counter[int] = Counter()

    def _at(self, at_ns: int, event: Callable[..., None], *arguments: Any) -> None:
        heappush(self._events, (at_ns, next(self._ticket), event, arguments))

    def _let_happen(self) -> None:
        while self._events:
            now_ns, _, event, arguments = heappop(self._events)
            event(now_ns, *arguments)


class _Simulation(Events):
    """A broker and a load that do everything right but what is planted."""

    def __init__(
        self,
        scenario: Scenario,
        periods: Mapping[Period, tuple[int, int]],
        planted: Sequence[Planted],
        delivery_ms: Callable[[float], float],
        arrivals: ArrivalProcess,
    ) -> None:
        super().__init__()
        self._scenario, self._planted, self._delivery_ms, self._arrivals = scenario, planted, delivery_ms, arrivals
        self._begin_ns = periods[Period.WARM_UP][0]
        self._end_ns = max(end for _, end in periods.values())
        self._measured_ns = periods[Period.MEASUREMENT]
        self._done = Performed()
        self._subscribers: dict[int, list[Handler]] = defaultdict(list)
        for handler in scenario.handlers:
            for address in handler.addresses:
                self._subscribers[address].append(handler)
        self._turns: Counter[int] = Counter()
        self._free_ns: dict[tuple[int, int], int] = {}
        self._seen: Counter[Planted] = Counter()

    def run(self) -> Performed:
        for driver in self._scenario.drivers:
            for start, planned_ns, sent_ns in self._starts(driver):
                self._at(sent_ns, self._start, driver, start, planned_ns)
        self._let_happen()
        return self._done

    def _afflicts(self, fault: Fault, step: int) -> bool:
        """Whether all messages of a step have this fault."""
        return any((one.fault, one.step) == (fault, self._scenario.steps[step]) for one in self._planted)

    def _chosen(self, step: int, at_ns: int, *faults: Fault) -> Fault | None:
        """The fault of which this is the nth message of its step in the measurement; counts them."""
        begin, end = self._measured_ns
        found = None
        for one in self._planted:
            if one.fault in faults and one.step == self._scenario.steps[step] and begin <= at_ns < end:
                self._seen[one] += 1
                found = one.fault if self._seen[one] == one.nth else found
        return found

    def _starts(self, driver: Driver) -> Iterator[tuple[int, int, int]]:
        """(number, planned, sent) up to the end of the load."""
        gap_ns = SECOND_NS / driver.rate_per_s
        stretch = 1.25 if self._afflicts(Fault.SLOW, driver.outgoing.step) else 1.0
        lag_ns = 1.5 * gap_ns if self._afflicts(Fault.LAGGING, driver.outgoing.step) else 0.02 * MS_NS
        rng = np.random.default_rng(driver.number)
        drawn_ns, skipped = 0.0, 0
        for start in count():
            drawn_ns += rng.exponential(gap_ns)
            due_ns = (start + driver.offset) * gap_ns if self._arrivals is ArrivalProcess.CONSTANT else drawn_ns
            planned_ns = self._begin_ns + round(due_ns)
            sent_ns = self._begin_ns + round(due_ns * stretch + lag_ns)
            if sent_ns >= self._end_ns:
                return
            skipped += self._chosen(driver.outgoing.step, sent_ns, Fault.SKIP) is not None
            yield start + skipped, planned_ns, sent_ns

    def _start(self, now_ns: int, driver: Driver, start: int, planned_ns: int) -> None:
        fields = driver.fields[start % len(driver.fields)]
        settled_ns = now_ns + COMMIT_NS if driver.outgoing.transacted else now_ns
        self._send(
            now_ns,
            driver,
            driver.outgoing,
            driver.execution(start),
            fields,
            driver.column(start),
            settled_ns,
            planned_ns,
        )

    def _send(
        self,
        now_ns: int,
        producer: Handler | Driver,
        outgoing: MessageSpec,
        execution: int,
        fields: tuple[int, ...],
        column: int,
        settled_ns: int,
        planned_ns: int | None = None,
    ) -> None:
        """Records a message, and has it delivered."""
        message = Message(
            producer.number,
            self._positions[producer.number],
            execution,
            outgoing,
            producer.sender,
            fields,
            column,
            outgoing.addresses[fields[outgoing.field]],
            now_ns,
            outgoing.body_bytes[column],
        )
        self._positions[producer.number] += 1
        self._done.sent.append(
            {
                "producer": message.producer,
                "position": message.position,
                "execution": execution,
                "step": outgoing.step,
                "address": message.address,
                "planned_ns": planned_ns,
                "sent_ns": now_ns,
                "settled_ns": settled_ns,
                "body_bytes": message.body_bytes,
                "key": None,
            }
        )
        self._deliver(settled_ns, message)

    def _deliver(self, ready_ns: int, message: Message) -> None:
        """To all subscribers of a topic, to the next one of a queue; or what a fault makes of it."""
        receivers = self._subscribers[message.address]
        destination = self._scenario.addresses[message.address].destination
        if self._scenario.destinations[destination].kind is DestinationKind.QUEUE:
            receivers = [receivers[self._turns[message.address] % len(receivers)]]
            self._turns[message.address] += 1
        step = message.outgoing.step
        delay_ns = 6 * SECOND_NS if self._afflicts(Fault.LATE, step) else 0
        chosen = self._chosen(
            step,
            message.sent_ns,
            *(Fault.LOSE, Fault.DUPLICATE, Fault.MISROUTE, Fault.REORDER, Fault.SWELL, Fault.LEAK),
        )
        for place, handler in enumerate(receivers):
            at_ns = self._arrives(ready_ns + delay_ns, message, handler)
            fault = chosen if place == 0 else None
            if fault is Fault.LOSE:
                continue
            if fault is Fault.DUPLICATE:
                self._at(at_ns + 5 * MS_NS, self._receive, message, handler, message.body_bytes)
            if fault is Fault.MISROUTE:
                others = [one for one in self._scenario.handlers if one.step == step and one not in receivers]
                self._at(at_ns, self._receive, message, others[0], message.body_bytes)
                continue
            if fault is Fault.LEAK:
                filters = [one for one in self._scenario.handlers if one.subscriptions[0].selector is not None]
                rejecting = next(one for one in filters if one not in receivers)
                self._at(at_ns, self._receive, message, rejecting, message.body_bytes)
            late_ns = 3 * SECOND_NS if fault is Fault.REORDER else 0
            self._at(at_ns + late_ns, self._receive, message, handler, message.body_bytes + (fault is Fault.SWELL))

    def _arrives(self, ready_ns: int, message: Message, handler: Handler) -> int:
        """In order per address and handler; up to a fifth more than asked for."""
        takes_ms = self._delivery_ms((ready_ns - self._begin_ns) / SECOND_NS)
        spread = 1 + splitmix64(message.producer << 40 | message.position) / 2**64 / 5
        lane = (message.address, handler.number)
        at_ns = max(ready_ns + round(takes_ms * MS_NS * spread), self._free_ns.get(lane, 0) + 1)
        self._free_ns[lane] = at_ns
        return at_ns

    def _receive(self, now_ns: int, message: Message, handler: Handler, body_bytes: int) -> None:
        settled_ns = now_ns + ANSWER_NS + (COMMIT_NS if handler.transacted else 0)
        self._done.received.append(
            {
                "handler": handler.number,
                "subscription": None,
                "arrival": next(self._arrival),
                "producer": message.producer,
                "position": message.position,
                "execution": message.execution,
                "step": message.outgoing.step,
                "sent_ns": message.sent_ns,
                "received_ns": now_ns,
                "settled_ns": settled_ns,
                "redelivered": 0,
                "body_bytes": body_bytes,
            }
        )
        answers = [
            one
            for one in handler.answers
            if message.address in handler.addresses
            and (one.only_from is None or message.fields[one.only_from] == message.sender)
        ]
        if answers and (fault := self._chosen(message.outgoing.step, now_ns, Fault.CUT, Fault.DOUBLE)):
            answers = [] if fault is Fault.CUT else [*answers, answers[0]]
        self._at(now_ns + ANSWER_NS, self._answers, message, handler, answers, settled_ns)

    def _answers(self, now_ns: int, message: Message, handler: Handler, answers: list[Reply], settled_ns: int) -> None:
        for answer in sorted(answers, key=lambda one: not one.outgoing.transacted):
            self._send(
                now_ns,
                handler,
                answer.outgoing,
                message.execution,
                message.fields,
                message.column,
                settled_ns if answer.outgoing.transacted else now_ns,
            )


def _periods(lengths: Lengths, begin_ns: int, *, repeat: bool) -> dict[Period, tuple[int, int]]:
    measured_ns = begin_ns + round(lengths.warm_up_s * SECOND_NS)
    end_ns = measured_ns + round(lengths.measurement_s * SECOND_NS)
    periods = {Period.WARM_UP: (begin_ns, measured_ns), Period.MEASUREMENT: (measured_ns, end_ns)}
    if repeat:
        periods[Period.REPEAT] = (end_ns, end_ns + round(lengths.measurement_s * SECOND_NS))
    return periods


def _period_row(period: Period, begin: int, end: int, load_begin_ns: int, done: Performed) -> dict[str, Any]:
    """20 us of the load and 50 us of the broker per message; a kilobyte of store per 10 messages."""
    messages = sum(begin <= row["sent_ns"] < end for row in done.sent)
    messages += sum(begin <= row["received_ns"] < end for row in done.received)
    before = sum(row["sent_ns"] < end for row in done.sent)
    return {
        "period": str(period),
        "begin_ns": begin,
        "end_ns": end,
        "broker_cpu_ns": messages * 50_000,
        "gc_pause_ns": messages * 500,
        "load_cpu_ns": messages * 20_000,
        "store_bytes": before * 100,
    }


def _samples(begin_ns: int, end_ns: int, done: Performed) -> Iterator[dict[str, Any]]:
    sent = np.sort([row["sent_ns"] for row in done.sent])
    received = np.sort([row["received_ns"] for row in done.received])
    for at_ns in range(begin_ns, end_ns + SECOND_NS, SECOND_NS):
        messages = int(np.searchsorted(sent, at_ns)), int(np.searchsorted(received, at_ns))
        yield {
            "at_ns": at_ns,
            "received": messages[0],
            "dispatched": messages[1],
            "standing": 0,
            "joined": 0,
            "left": 0,
            "broker_cpu_ns": sum(messages) * 50_000,
            "compiler_cpu_ns": sum(messages) * 500,
            "broker_rss_bytes": 900 * 2**20,
            "broker_context_switches": sum(messages) * 4,
            "broker_disk_written_bytes": messages[0] * 1000,
            "load_rss_bytes": 120 * 2**20,
            "memory_available_bytes": 8 * 2**30,
            "swap_used_bytes": 0,
            "disk_written_bytes": messages[0] * 1500,
            "network_sent_bytes": sum(messages) * 3000,
            "broker_heap_after_gc_bytes": None,
        }
