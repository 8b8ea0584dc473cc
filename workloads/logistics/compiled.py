"""The model of a size in the form that engine and audit need: destinations, handlers, drivers, populations.

Handlers are the headquarters' three and one at each hub; what changes are the populations: shipments, tracked by their
customers, and the sessions of customers. Every message type to customers has a single address: which of them get a copy
follows from its key. The drivers of equal entities start staggered; those of scans and proofs of delivery follow the
law of the shipments that they report on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

from workloads.logistics.dimensions import LEAD_S, LINGER_S, Addressing, LogisticsSize
from workloads.logistics.laws import STAGES, Customers, Progression, Shipments
from workloads.logistics.membership import SessionLaw, TrackingLaw, fields
from workloads.logistics.profiles import VEHICLES_PER_HUB, Entity, Growth, Quantity
from workloads.logistics.size_record import SizeRecord
from workloads.logistics.traffic import (
    CONFIRMATION,
    INTERACTION_OF,
    INTERACTIONS,
    MESSAGES,
    OF_HUBS,
    OF_VEHICLES,
    ORDER,
    PICKUP,
    POSITION,
    PROOF,
    SCAN,
    ChainField,
    KeyUse,
    body_bytes,
    key_space,
)
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.derived_model import DerivedModel, StartedExecution
from workloads.scenario.execution import Execution
from workloads.scenario.message import KEY_PLACE, MessageKey, MessageSpec
from workloads.scenario.model import DESTINATION_PREFIX, Address, Driver, Handler, HandlerSubscription, Reply, Scenario
from workloads.scenario.population import Population, PopulationSubscription
from workloads.scenario.workload import InteractionModel

#: A word in the name of the topic that all keys of a message type share.
_ALL = "all"
#: In the name of a subscription: any one word.
_ANY = "*"

#: Numbers of the populations.
TRACKING, SESSIONS = range(2)

#: The subscriptions of a shipment, by the message types that each hears; keys of places are those of a vehicle and of a
#: zone, which need a subscription each where a key is a topic.
_TRACKED = {
    Addressing.SELECTOR: ((SCAN,), (PROOF,), (POSITION,), (OF_VEHICLES, OF_HUBS)),
    Addressing.TOPIC: ((SCAN,), (PROOF,), (POSITION,), (OF_VEHICLES, OF_HUBS), (OF_VEHICLES, OF_HUBS)),
}


@dataclass(frozen=True)
class LogisticsModel(DerivedModel):
    """A size as a `workloads.scenario.workload.Model`."""

    size: LogisticsSize

    @property
    def record(self) -> SizeRecord:
        return SizeRecord.of(self.size)

    @property
    def name(self) -> str:
        size = self.size
        return (
            f"{size.profile.name}, BASE_L {size.base}, {size.scale_text} vehicles, by {size.addressing}, "
            f"{size.customers_per_connection} customers per connection"
        )

    @property
    def base(self) -> int:
        return self.size.base

    @cached_property
    def shipments(self) -> Shipments:
        return Shipments(self.size)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario. Raises WorkloadError if there are more keys than a message can have."""
        self.size.require_runnable()
        return _Compiler(self.shipments).scenario(self.name)

    @property
    def handlers(self) -> int:
        return len(_HANDLED_BY_HQ) + self.size.base

    @property
    def connections(self) -> int:
        size = self.size
        scans = sum(self.shipments.scans(hub, stage) is not None for hub in range(size.base) for stage in range(STAGES))
        drivers = scans + 3 * size.vehicles + size.base  # vehicles: deliveries, positions, environment
        return self.handlers + drivers + size.connections + sessions_at_once(size)

    @cached_property
    def interactions(self) -> Mapping[int, InteractionModel]:
        """The interactions. The copies that they receive include those of members of populations."""
        return {
            number: InteractionModel(
                row.title,
                self._rate_per_s(row.starts),
                Fraction(1 + len(row.answers)),
                sum((self._receivers(message) for message in (row.starts, *row.answers)), Fraction()),
                self.size.base if row.starts == ORDER else 1,
                (),
                ceil(self.size.profile.orders_per_session) if row.starts == ORDER else 1,
            )
            for number, row in INTERACTIONS.items()
        }

    @cached_property
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        return tuple(self._rate_per_s(step) / _parties(self.size, step) for step, _ in self.addresses)

    def started(self, execution: Execution) -> StartedExecution:
        """As the drivers say; an order has its shipment's number, and its customer is its origin."""
        if INTERACTIONS[execution.interaction].starts != ORDER:
            return super().started(execution)
        chain = fields(customer=execution.origin, hub=self.shipments.hub(execution.number))
        return StartedExecution(self.rows.messages[ORDER], chain, execution.origin)

    def origin(self, execution: Execution) -> str:
        row = INTERACTIONS[execution.interaction]
        match MESSAGES[row.starts].sender:
            case Entity.C:
                return f"C{execution.origin:05d}"
            case Entity.V:
                return f"V{execution.origin:05d}"
        if row.starts == SCAN:
            hub, stage = divmod(execution.origin, STAGES)
            return f"{hub_name(hub)}, stage {stage + 1}"
        return hub_name(execution.origin)

    @property
    def without_figure(self) -> str:
        return ""

    @property
    def published(self) -> bool:
        return self.size.vehicles_per_hub == VEHICLES_PER_HUB and self.size.compression == 1

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        size = self.size
        fleet = f"{size.vehicles} vehicles ({size.scale_text} per hub)"
        entities = f"{size.base} hub{'s' * (size.base > 1)}, 1 headquarters, {fleet}"
        rate = float(size.scale * size.base)
        return (
            ("profile", size.profile.name),
            ("entities", f"{entities}, {1000 * rate:,.1f} customers and {8384 * rate:,.1f} shipments a day"),
            ("time compression", f"{size.compression} minutes of the model in a minute"),
            ("addressing", size.addressing.value),
            ("tracking", f"{size.connections} connections, {size.customers_per_connection} customers on each"),
            (
                "life of a shipment",
                f"{float(size.life_s):,.1f} s; joins {LEAD_S} s after its order, leaves {LINGER_S} s after its proof",
            ),
            ("session of a customer", f"{float(size.session_s):,.2f} s; after as long, orders come at their full rate"),
            ("sizes", ", ".join(f"{row.message} {row.body_bytes[0]}" for row in self.steps) + " bytes, a choice"),
        )

    def _rate_per_s(self, message: int) -> Fraction:
        row = MESSAGES[message]
        published = self.size.profile.drivers[row.driver].published[row.sender]
        return self.size.at(published) / self.size.minute_s

    def _receivers(self, message: int) -> Fraction:
        row = MESSAGES[message]
        factors = self.size.profile.drivers[row.driver].factors
        return sum(
            (self.size.at(factor) for (sender, _), factor in factors.items() if sender is row.sender), Fraction()
        )


def ramp_s(model: Any) -> float:
    """The time after which as many sessions are open as the model says; of a model of this workload."""
    return float(model.size.session_s)


def compression(model: Any) -> int:
    """The minutes of the model in a minute; of a model of this workload."""
    return int(model.size.compression)


def replaced_after_s(model: Any) -> Mapping[int, float]:
    """The gap between two positions of a vehicle, s; of a model of this workload."""
    return {POSITION: float(model.size.gap_s)}


def quantities(model: Any) -> Mapping[str, str]:
    """What keeps the results of a model of this workload apart from those of another."""
    size: LogisticsSize = model.size
    return {
        "profile": size.profile.name,
        "BASE_L": str(size.base),
        "vehicles per hub": size.scale_text,
        "time compression": str(size.compression),
        "addressing": size.addressing.value,
        "customers per connection": str(size.customers_per_connection),
        "tracking": model.record.tracking,
    }


#: Numbers of the message types that the headquarters handle, in the order of their handlers.
_HANDLED_BY_HQ = tuple(number for number, row in enumerate(MESSAGES) if row.handled_by is Entity.HQ)


def sessions_at_once(size: LogisticsSize) -> int:
    """About how many sessions of customers are open at once."""
    return ceil(size.at(Quantity(size.profile.sessions_alive, Growth.FLEET)))


def hub_name(hub: int) -> str:
    return f"LH{hub + 1}"


def _handled(size: LogisticsSize) -> tuple[tuple[int, int | None], ...]:
    """Message type and hub of every handler, by its number; None for the headquarters."""
    return (*((number, None) for number in _HANDLED_BY_HQ), *((PICKUP, hub) for hub in range(size.base)))


def _parties(size: LogisticsSize, message: int) -> int:
    return size.base if message == PICKUP else 1


def _party(message: int, party: int) -> str:
    row = MESSAGES[message]
    if row.handled_by is Entity.LH:
        return hub_name(party)
    found = [] if row.handled_by is None else [row.handled_by.value]
    return " and ".join((*found, *([Entity.C.value] if row.key else [])))


class _Compiler:
    """Builds the parts of a scenario."""

    def __init__(self, shipments: Shipments) -> None:
        self._shipments, self._size = shipments, shipments.size
        self._numbers: dict[Destination, int] = {}
        self._addresses: list[Address] = []
        self._messages = tuple(map(self._message, range(len(MESSAGES))))

    def scenario(self, name: str) -> Scenario:
        handlers = tuple(map(self._handler, range(len(_handled(self._size)))))
        drivers = tuple(replace(each, number=number) for number, each in enumerate(self._drivers(), len(handlers)))
        populations = self._populations()
        return Scenario(
            name,
            tuple(row.name for row in MESSAGES),
            tuple(self._numbers),
            tuple(self._addresses),
            handlers,
            drivers,
            populations,
        )

    def _destination(self, message: int, place: str) -> int:
        """The number of the destination whose name has this word for a place or a key."""
        row = MESSAGES[message]
        name = f"{DESTINATION_PREFIX}.logistics.{place}.{row.word}"
        return self._numbers.setdefault(Destination(row.kind, name), len(self._numbers))

    def _topic(self, message: int) -> int:
        """The number of the topic that a message type is sent to."""
        return self._destination(message, _ALL if self._size.addressing is Addressing.SELECTOR else KEY_PLACE)

    def _header(self, use: KeyUse) -> str | None:
        return use.header if self._size.addressing is Addressing.SELECTOR else None

    def _message(self, number: int) -> MessageSpec:
        row = MESSAGES[number]
        first = len(self._addresses)
        for party in range(_parties(self._size, number)):
            label = _party(number, party)
            to = self._topic(number) if row.key else self._destination(number, label)
            self._addresses.append(Address(f"{label} {row.name}", to))
        key = row.key and MessageKey(row.key.field, self._header(row.key), key_space(self._size, row.key))
        return MessageSpec(
            number,
            ChainField.HUB if number == PICKUP else ChainField.ALL,
            tuple(range(first, len(self._addresses))),
            (body_bytes(self._size, number),),
            row.persistent,
            transacted=False,
            key=key,
            receipt=key is not None,  # the audit needs the instant from which the broker must deliver it
        )

    def _handler(self, number: int) -> Handler:
        message, hub = _handled(self._size)[number]
        row, spec = MESSAGES[message], self._messages[message]
        addresses = spec.addresses if hub is None else spec.addresses[hub : hub + 1]
        to = self._addresses[addresses[0]].destination
        if row.key and self._size.addressing is Addressing.TOPIC:
            to = self._destination(message, _ANY)
        answers = INTERACTIONS[INTERACTION_OF[message]].answers if message == ORDER else ()
        return Handler(
            number,
            Entity.HQ.value if hub is None else hub_name(hub),
            hub or 0,
            message,
            addresses,
            (HandlerSubscription(to),),
            transacted=False,
            durable=row.kind is DestinationKind.TOPIC,
            answers=tuple(Reply(self._messages[answer]) for answer in answers),
        )

    def _drivers(self) -> Iterator[Driver]:
        """The drivers, not yet numbered."""
        size, shipments = self._size, self._shipments
        for hub in range(size.base):
            for stage in range(STAGES):
                if (scanned := shipments.scans(hub, stage)) is not None:
                    yield self._following(hub_name(hub), STAGES * hub + stage, SCAN, scanned)
        for vehicle in range(size.vehicles):
            yield self._following(f"V{vehicle:05d}", vehicle, PROOF, shipments.deliveries(vehicle))
        for message in (POSITION, OF_VEHICLES):
            for vehicle in range(size.vehicles):
                yield self._reporting(f"V{vehicle:05d}", vehicle, message, size.vehicles, (vehicle,))
        for hub in range(size.base):
            yield self._reporting(hub_name(hub), hub, OF_HUBS, size.base, shipments.zones_of(hub))

    def _following(self, place: str, sender: int, message: int, found: Progression) -> Driver:
        """A driver with a start for each shipment of a progression."""
        starts = range(self._size.slots // found.step)
        slots = (self._shipments.slot(found.first + found.step * start) for start in starts)
        rows = (fields(shipment=slot) for slot in slots)
        return self._driver(place, sender, message, self._size.shipments_per_s / found.step, found.offset, rows)

    def _reporting(self, place: str, sender: int, message: int, equal: int, sources: tuple[int, ...]) -> Driver:
        """A driver that reports of its sources in turn; `equal` drivers share the published rate."""
        size, row = self._size, MESSAGES[message]
        rate_per_s = size.at(size.profile.drivers[row.driver].published[row.sender]) / size.minute_s / equal
        rows = (fields(source=source) for source in sources)
        return self._driver(place, sender, message, rate_per_s, Fraction(2 * sender + 1, 2 * equal), rows)

    def _driver(
        self,
        place: str,
        sender: int,
        message: int,
        rate_per_s: Fraction,
        offset: Fraction,
        rows: Iterable[tuple[int, ...]],
    ) -> Driver:
        first = Execution(INTERACTION_OF[message], sender, 0).id
        spec = self._messages[message]
        return Driver(0, place, sender, spec, float(rate_per_s), float(offset), first, tuple(rows), ())

    def _populations(self) -> tuple[Population, ...]:
        size, customers = self._size, Customers(self._shipments)
        tracked = tuple(map(self._subscription, _TRACKED[size.addressing]))
        return (
            Population("shipments", tracked, size.connections, TrackingLaw(customers)),
            Population(
                "sessions",
                (self._subscription((CONFIRMATION,)),),
                sessions_at_once(size),
                SessionLaw(customers),
                self._messages[ORDER],
            ),
        )

    def _subscription(self, steps: tuple[int, ...]) -> PopulationSubscription:
        use = MESSAGES[steps[0]].key
        if use is None:
            raise AssertionError("members hear messages with keys only")
        return PopulationSubscription(steps, self._topic(steps[0]), self._header(use), key_space(self._size, use))
