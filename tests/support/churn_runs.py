"""Run directories of a small workload with populations, from its model: a perfect broker and load.

Everything is simulated with fixed latencies, message by message: a subscription takes effect a little after SUBSCRIBE
was written, and ends a little after UNSUBSCRIBE was; its receipts come later. A test changes rows of a cell, and knows
what an analysis must find.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count, takewhile
from typing import Any

from tests.support import run_directories as rd
from tests.support import scenario_runs as wr
from workloads.arrivals import ArrivalProcess
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.message import KeySpace, MessageKey, MessageSpec
from workloads.scenario.model import (
    DESTINATION_PREFIX,
    Address,
    Consumption,
    Driver,
    Handler,
    HandlerSubscription,
    Reply,
    Scenario,
)
from workloads.scenario.periods import Lengths, Period
from workloads.scenario.population import Member, Order, Population, PopulationSubscription, enrolments
from workloads.scenario.published_flows import PublishedFlow, PublishedFlows
from workloads.scenario.workload import (
    AddressKey,
    Case,
    CaseRequest,
    ExpectedMessage,
    InteractionModel,
    SettingSpec,
    StepSpec,
    Workload,
)

#: Name of the workload; see `workload`.
WORKLOAD = "trackers"

SECOND_NS, MS_NS = 10**9, 10**6

ORDER, CONFIRMATION, POSITION, STATUS = range(4)
STEPS = ("order", "confirmation", "position", "status")

#: Numbers of the places, as used in fields.
HQ, VEHICLES, SHOP = 0, (1, 2), 3

#: Keys: vehicles have the numbers of their places, the zone has one of its own.
ZONE = 10
SPACE = KeySpace(((0, "V"), (ZONE, "Z"), (ZONE + 10, "C")))

BODY_BYTES = 64

#: Fields of a chain: receiving party, key.
PARTY, KEY = 0, 1

#: Latencies of the broker: until a frame has its effect, until its receipt is read, until a copy is.
EFFECT_NS, RECEIPT_NS, DELIVERY_NS = MS_NS, 3 * MS_NS, 4 * MS_NS

LENGTHS = Lengths(warm_up_s=12, measurement_s=30, drain_s=10)

#: From the join of a tracker to that of the next, and to its leave; sessions begin once in two seconds.
GAP_NS, LIFE_NS, SESSION_NS = 3 * SECOND_NS // 2, 75 * SECOND_NS, 3 * SECOND_NS // 2
#: Trackers that stand at any time, and their subscriptions: each third one has two.
TRACKERS = LIFE_NS // GAP_NS


@dataclass(frozen=True)
class TrackerLaw:
    """Member k hears the positions of one vehicle; each third one hears the status of it and of the zone as well."""

    initial: int = TRACKERS

    def member(self, number: int) -> Member:
        joins_ns = round((number + 0.5 - self.initial) * GAP_NS)
        vehicle = VEHICLES[number % 2]
        status = (vehicle, ZONE) if number % 3 == 0 else ()
        return Member(number, joins_ns, joins_ns + LIFE_NS, number % 2, ((vehicle,), status))

    def orders(self, _: int) -> tuple[Order, ...]:
        return ()


@dataclass(frozen=True)
class ShopLaw:
    """Each session sends three orders, and hears their confirmations; and leaves after that."""

    initial: int = 0

    def member(self, number: int) -> Member:
        joins_ns = round((2 * number + 0.1) * SECOND_NS)
        return Member(number, joins_ns, joins_ns + SESSION_NS, 0, ((self._key(number),),))

    def orders(self, number: int) -> tuple[Order, ...]:
        first_ns = self.member(number).joins_ns + SECOND_NS // 10
        return tuple(
            Order(
                first_ns + turn * SECOND_NS // 3,
                Execution(1, SHOP, 3 * number + turn).id,
                SHOP,
                (0, self._key(number)),
            )
            for turn in range(3)
        )

    def _key(self, number: int) -> int:
        return ZONE + 10 + number % 1000


@dataclass(frozen=True)
class TrackerModel:
    """HQ confirms orders; two vehicles say where they are, and they and a zone how they are, which HQ hears, too."""

    base: int = 1
    factor: int = 1
    name = "small"
    without_figure = ""
    published = True

    @cached_property
    def scenario(self) -> Scenario:
        topics = ("confirmation", "position", "status")
        destinations = (
            Destination(DestinationKind.QUEUE, f"{DESTINATION_PREFIX}.order"),
            *(Destination(DestinationKind.TOPIC, f"{DESTINATION_PREFIX}.{name}") for name in topics),
        )

        def sent(step: int) -> MessageSpec:
            key = None if step == ORDER else MessageKey(KEY, "Key", SPACE)
            return MessageSpec(step, PARTY, (step,), (BODY_BYTES,), True, False, key, step != ORDER)

        def hears(step: int) -> PopulationSubscription:
            return PopulationSubscription((step,), step, "Key", SPACE)

        handlers = (
            Handler(
                0, "HQ", HQ, ORDER, (ORDER,), (HandlerSubscription(ORDER),), False, False, (Reply(sent(CONFIRMATION)),)
            ),
            Handler(1, "HQ", HQ, STATUS, (STATUS,), (HandlerSubscription(STATUS),), False, True, ()),
        )
        drivers = [
            Driver(number, f"V{vehicle}", vehicle, sent(POSITION), 2.0, 0.25 * vehicle,
                   Execution(2, vehicle, 0).id, ((0, vehicle),), ())
            for number, vehicle in enumerate(VEHICLES, len(handlers))
        ]  # fmt: skip
        drivers += [
            Driver(number, f"V{vehicle}", vehicle, sent(STATUS), 1.0, 0.3 * vehicle,
                   Execution(3, vehicle, 0).id, ((0, vehicle), (0, ZONE)), ())
            for number, vehicle in enumerate(VEHICLES, len(handlers) + len(drivers))
        ]  # fmt: skip
        populations = (
            Population("trackers", (hears(POSITION), hears(STATUS)), 2, TrackerLaw()),
            Population("shoppers", (hears(CONFIRMATION),), 1, ShopLaw(), sent(ORDER)),
        )
        labels = ("HQ order", "all confirmation", "all position", "all status")
        return Scenario(
            self.name,
            STEPS,
            destinations,
            tuple(Address(label, number) for number, label in enumerate(labels)),
            handlers,
            tuple(drivers),
            populations,
        )

    handlers = 2

    @property
    def connections(self) -> int:
        return self.scenario.connections

    sent_per_s = 9.0

    @property
    def steps(self) -> tuple[StepSpec, ...]:
        kinds = (DestinationKind.QUEUE, *(DestinationKind.TOPIC,) * 3)
        return tuple(
            StepSpec(name, (1, 1, 2, 3)[step], kinds[step], True, False, step == STATUS, (BODY_BYTES,))
            for step, name in enumerate(STEPS)
        )

    @property
    def interactions(self) -> Mapping[int, InteractionModel]:
        return {
            1: InteractionModel("orders", Fraction(3, 2), Fraction(2), Fraction(2), 1, ()),
            2: InteractionModel("positions", Fraction(4), Fraction(1), Fraction(TRACKERS, 2), 1, ()),
            3: InteractionModel("status", Fraction(2), Fraction(1), Fraction(1 + TRACKERS // 4), 1, ()),
        }

    @property
    def addresses(self) -> tuple[AddressKey, ...]:
        return tuple(AddressKey(step, 0) for step in range(len(STEPS)))

    @property
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        return Fraction(3, 2), Fraction(3, 2), Fraction(4), Fraction(2)

    def expected(self, execution: Execution) -> tuple[ExpectedMessage, ...]:
        steps = {1: ((ORDER, SHOP), (CONFIRMATION, HQ)), 2: ((POSITION, execution.origin),)}
        mine = steps.get(execution.interaction, ((STATUS, execution.origin),))
        return tuple(ExpectedMessage(AddressKey(step, 0), sender, BODY_BYTES) for step, sender in mine)

    def audience(self, address: AddressKey) -> tuple[tuple[int, ...], ...]:
        return {ORDER: ((0,),), STATUS: ((1,),)}.get(address.step, ())

    def party(self, address: AddressKey) -> str:
        return "HQ" if address.step == ORDER else "all"

    def origin(self, execution: Execution) -> str:
        return ("HQ", "V1", "V2", "shop")[execution.origin]

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        return (("factor", str(self.factor)),)


def _model(request: CaseRequest) -> TrackerModel:
    return TrackerModel(request.base, int(request.settings["factor"]))


def workload() -> Workload:
    """The workload, to be put into the registry for the time of a test."""
    return Workload(
        name=WORKLOAD,
        subject="trackers",
        disclaimer="A workload of the tests.",
        figure="trackers {topology}",
        rules="run and reporting rules of SPECjms2007",
        source="the tests",
        provenance="Made for the tests.",
        cases={"trackers": Case(WORKLOAD, "trackers", _model)},
        digest=lambda: "0",
        deviations=None,
        not_applicable=(),
        settings=(SettingSpec("factor", int, 1, "of the tests", most=9),),
        flows=lambda _: PublishedFlows("Table of the tests", "s", Fraction(1), FLOWS),
        apart=lambda model: dict(model.facts),
        replaced_after_s=lambda _: {STATUS: 0.5},
        announced=lambda _: {},
    )


#: Half of the trackers hear the positions of V1; every third one hears the status, of a vehicle or of the zone in turn.
FLOWS = (
    PublishedFlow("Order", "C -> HQ", ORDER, None, None, Fraction(3, 2), Fraction(1), Fraction(3, 4),
                  Fraction(0), Fraction(1, 2), Fraction(1)),
    PublishedFlow("Position of V1", "V -> C", POSITION, frozenset({1}), (0, (0,)), Fraction(2), Fraction(TRACKERS),
                  Fraction(1), Fraction(2, 3), Fraction(0), Fraction(TRACKERS, 2)),
    PublishedFlow("Status", "V -> HQ, C", STATUS, None, (0, (1,)), Fraction(2), 1 + Fraction(TRACKERS, 3), Fraction(2),
                  Fraction(2, 9), Fraction(0), 1 + Fraction(TRACKERS, 3) * Fraction(3, 4)),
)  # fmt: skip


def add_cell(
    run: rd.RunDirectory,
    cell: str,
    *,
    factor: int = 1,
    lengths: Lengths = LENGTHS,
    lag_ns: int = 0,
    refused: int = -1,
) -> dict[str, Any]:
    """A further cell of a run; returns its keys. Nothing is wrong unless one of the following is.

    factor: of the model · lag_ns: lateness of the joins and leaves of members that only listen · refused:
    number of a session that gets no connection
    """
    request = CaseRequest(1, settings={"factor": factor})
    record, model = workload().record("trackers", request), _model(request)
    keys = {"broker": "activemq", "start": 1, "experiment": WORKLOAD, "cell": cell}
    begin_ns = wr.schedule(
        run, keys, record, model, lengths=lengths, consumption=Consumption.RELAXED, arrivals=ArrivalProcess.CONSTANT
    )
    begin_ns += 20 * SECOND_NS  # the initial members subscribe before the load
    done = _Life(model.scenario, begin_ns, lengths, lag_ns, refused).run()
    for table, rows in done.items():
        run.tables[table] += [keys | row for row in rows]
    return keys


class _Life(wr.Events):
    """A broker and a load that do everything right but what is asked for."""

    def __init__(self, scenario: Scenario, begin_ns: int, lengths: Lengths, lag_ns: int, refused: int) -> None:
        super().__init__()
        self._scenario, self._begin_ns, self._lengths = scenario, begin_ns, lengths
        self._lag_ns, self._refused = lag_ns, refused
        self._hearing: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        self._load_ns = round((lengths.warm_up_s + lengths.measurement_s) * SECOND_NS)
        self._rows: dict[str, list[dict[str, Any]]] = {
            table: [] for table in ("sent", "received", "subscriptions", "sessions")
        }

    def run(self) -> dict[str, list[dict[str, Any]]]:
        self._enrol()
        for driver in self._scenario.drivers:
            gap_ns = SECOND_NS / driver.rate_per_s
            for start in count():
                planned_ns = round((start + driver.offset) * gap_ns)
                if planned_ns >= self._load_ns:
                    break
                fields, execution = driver.fields[start % len(driver.fields)], driver.execution(start)
                self._at(planned_ns, self._send, driver.number, driver.outgoing, execution, fields, planned_ns)
        self._let_happen()
        return self._rows | self._edges()

    def _enrol(self) -> None:
        """The rows of subscriptions and sessions; sessions' orders are events."""
        over_ns = self._load_ns + 2 * SECOND_NS
        populations = self._scenario.populations
        joining = takewhile(lambda entry: entry.member.joins_ns < self._load_ns, enrolments(populations))
        for entry in joining:
            member, sessions = entry.member, populations[entry.population].sessions
            initial, stays = member.joins_ns < 0, member.leaves_ns >= self._load_ns
            lag_ns = 5 * MS_NS if sessions else MS_NS + self._lag_ns
            join_ns = -10 * SECOND_NS + entry.first * MS_NS if initial else member.joins_ns + lag_ns
            leave_ns = over_ns + entry.first * MS_NS if stays else member.leaves_ns + lag_ns
            refused = sessions and member.number == self._refused
            for number, place, keys in entry.numbered():
                row = {
                    "subscription": number,
                    "population": entry.population,
                    "member": member.number,
                    "place": place,
                    "key": keys[0],
                    "second_key": keys[1] if len(keys) > 1 else None,
                    "connection": member.connection,
                    "planned_join_ns": None if initial else self._begin_ns + member.joins_ns,
                    "subscribe_ns": None if refused else self._begin_ns + join_ns,
                    "joined_ns": None if refused else self._begin_ns + join_ns + RECEIPT_NS,
                    "planned_leave_ns": None if stays else self._begin_ns + member.leaves_ns,
                    "unsubscribe_ns": None if refused else self._begin_ns + leave_ns,
                    "left_ns": None if refused else self._begin_ns + leave_ns + RECEIPT_NS,
                }
                self._rows["subscriptions"].append(row)
                for step in populations[entry.population].subscriptions[place].steps:
                    for key in keys:
                        self._hearing[step, key].append(row)
            if sessions:
                self._session(entry.population, member, join_ns, leave_ns, stays=stays)

    def _session(self, number: int, member: Member, join_ns: int, leave_ns: int, *, stays: bool) -> None:
        population = self._scenario.populations[number]
        refused = member.number == self._refused
        orders = population.law.orders(member.number)
        orders = () if refused else [order for order in orders if order.planned_ns < self._load_ns]
        producer = self._scenario.first_session + member.number
        for order in orders:
            message = (producer, population.outgoing, order.execution, order.fields, order.planned_ns)
            self._at(order.planned_ns, self._send, *message)
        self._rows["sessions"].append(
            {
                "population": number,
                "member": member.number,
                "planned_join_ns": self._begin_ns + member.joins_ns,
                "connect_ns": self._begin_ns + member.joins_ns + MS_NS,
                "connected_ns": None if refused else self._begin_ns + member.joins_ns + 4 * MS_NS,
                "joined_ns": None if refused else self._begin_ns + join_ns + RECEIPT_NS,
                "planned_leave_ns": None if stays else self._begin_ns + member.leaves_ns,
                "leave_ns": None if refused else self._begin_ns + leave_ns,
                "left_ns": None if refused else self._begin_ns + leave_ns + RECEIPT_NS,
                "orders": len(orders),
            }
        )

    def _send(
        self, now_ns: int, producer: int, outgoing: MessageSpec, execution: int, fields: tuple[int, ...],
        planned_ns: int | None = None,
    ) -> None:  # fmt: skip
        """Sends a message, and delivers it to whoever is subscribed when it takes effect."""
        sent_ns = self._begin_ns + now_ns
        key = None if outgoing.key is None else fields[outgoing.key.field]
        address = outgoing.addresses[fields[outgoing.field]]
        stamp = {
            "producer": producer,
            "position": self._positions[producer],
            "execution": execution,
            "step": outgoing.step,
            "sent_ns": sent_ns,
            "body_bytes": outgoing.body_bytes[0],
        }
        self._positions[producer] += 1
        self._rows["sent"].append(
            stamp
            | {
                "address": address,
                "planned_ns": None if planned_ns is None else self._begin_ns + planned_ns,
                "settled_ns": sent_ns + RECEIPT_NS if outgoing.receipt else sent_ns,
                "key": key,
            }
        )
        for handler in self._scenario.handlers:
            if address in handler.addresses:
                self._at(now_ns + DELIVERY_NS, self._receive, stamp, handler.number, None)
                for answer in handler.answers:
                    answered_ns = now_ns + DELIVERY_NS + MS_NS
                    self._at(answered_ns, self._send, handler.number, answer.outgoing, execution, fields)
        for number in self._stand(outgoing.step, key, sent_ns + EFFECT_NS):
            self._at(now_ns + DELIVERY_NS + number * 1000, self._receive, stamp, None, number)

    def _stand(self, step: int, key: int | None, at_ns: int) -> Iterator[int]:
        for row in [] if key is None else self._hearing[step, key]:
            begin_ns, end_ns = row["subscribe_ns"], row["unsubscribe_ns"]
            if begin_ns is not None and begin_ns + EFFECT_NS <= at_ns < end_ns + EFFECT_NS:
                yield row["subscription"]

    def _receive(self, now_ns: int, stamp: Mapping[str, Any], handler: int | None, subscription: int | None) -> None:
        received_ns = self._begin_ns + now_ns
        self._rows["received"].append(
            dict(stamp)
            | {
                "handler": handler,
                "subscription": subscription,
                "arrival": next(self._arrival),
                "received_ns": received_ns,
                "settled_ns": received_ns,
                "redelivered": 0,
            }
        )

    def _edges(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of periods, samples and setup: 2 KB of heap for each subscription, and 40 MB without any."""
        warm_ns = round(self._lengths.warm_up_s * SECOND_NS)
        spans = {
            Period.WARM_UP: (0, warm_ns),
            Period.MEASUREMENT: (warm_ns, self._load_ns),
            Period.DRAIN: (self._load_ns, self._load_ns + SECOND_NS),
        }
        periods = [
            {
                "period": str(period),
                "begin_ns": self._begin_ns + begin,
                "end_ns": self._begin_ns + end,
                "broker_cpu_ns": (end - begin) // 10,
                "gc_pause_ns": 0,
                "load_cpu_ns": (end - begin) // 20,
                "store_bytes": end // 1000,
            }
            for period, (begin, end) in spans.items()
        ]
        subscriptions = self._rows["subscriptions"]
        samples = []
        for second in range(self._load_ns // SECOND_NS + 2):
            at_ns = self._begin_ns + second * SECOND_NS
            joined, left = (
                sum(row[name] is not None and row[name] < at_ns for row in subscriptions)
                for name in ("joined_ns", "left_ns")
            )
            samples.append(
                {
                    "at_ns": at_ns,
                    "received": second,
                    "dispatched": second,
                    "standing": joined - left,
                    "joined": joined,
                    "left": left,
                    "broker_cpu_ns": second * SECOND_NS // 10,
                    "broker_rss_bytes": 900 * 2**20,
                    "load_rss_bytes": 120 * 2**20,
                    "memory_available_bytes": 8 * 2**30,
                    "swap_used_bytes": 0,
                    "disk_written_bytes": second * 1000,
                    "network_sent_bytes": second * 3000,
                    "broker_heap_after_gc_bytes": 40 * 2**20 + 2048 * (joined - left),
                }
            )
        initial = sum(row["planned_join_ns"] is None for row in subscriptions)
        setup = {
            "begin_ns": self._begin_ns - 10 * SECOND_NS,
            "end_ns": self._begin_ns - 8 * SECOND_NS,
            "subscriptions": initial,
            "broker_heap_before_bytes": 40 * 2**20,
            "broker_heap_after_bytes": 40 * 2**20 + 2048 * initial,
            "broker_heap_left_bytes": 40 * 2**20,
        }
        return {"periods": periods, "samples": samples, "setup": [setup]}
