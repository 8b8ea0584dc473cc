"""The model of a size: its business in the language of `workloads.scenario`, and the laws of travel.

Handlers are the headquarters' three and one at each hub; what changes are the populations: shipments, tracked by their
customers, and the sessions of customers. Every message type to customers has a single address: which of them get a copy
follows from its key. The drivers of scans and proofs of delivery follow the law of the shipments that they report on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

from workloads.logistics.dimensions import LEAD_S, LINGER_S, TRACKED, Addressing, LogisticsSize
from workloads.logistics.laws import STAGES, Customers, Progression, Shipments
from workloads.logistics.membership import SessionLaw, TrackingLaw, fields
from workloads.logistics.profiles import VEHICLES_PER_HUB, Entity, Growth, Quantity
from workloads.logistics.traffic import (
    CONFIRMATION,
    INTERACTION_OF,
    INTERACTIONS,
    MESSAGES,
    OF_HUBS,
    OF_VEHICLES,
    ORDER,
    POSITION,
    PROOF,
    SCAN,
    ChainField,
    business_of,
)
from workloads.messaging import Destination
from workloads.scenario.business import Business, BusinessMessage
from workloads.scenario.business_model import BusinessModel
from workloads.scenario.derived_model import StartedExecution
from workloads.scenario.execution import Execution
from workloads.scenario.message import KEY_PLACE
from workloads.scenario.model import DESTINATION_PREFIX, Driver, Scenario
from workloads.scenario.population import Population, PopulationSubscription

#: Numbers of the populations.
TRACKING, SESSIONS = range(2)

_PLACE = (OF_VEHICLES, OF_HUBS)

#: The subscriptions of a shipment and of a session, by the message types that each hears; keys of places are those of a
#: vehicle and of a zone, which need a subscription each where a key is a topic.
HEARD = {
    Addressing.SELECTOR: {TRACKING: ((SCAN,), (PROOF,), (POSITION,), _PLACE), SESSIONS: ((CONFIRMATION,),)},
    Addressing.TOPIC: {TRACKING: ((SCAN,), (PROOF,), (POSITION,), _PLACE, _PLACE), SESSIONS: ((CONFIRMATION,),)},
}


@dataclass(frozen=True)
class LogisticsModel(BusinessModel):
    """A size as a `workloads.scenario.workload.Model`."""

    size: LogisticsSize

    @cached_property
    def business(self) -> Business:
        return business_of(self.size)

    @cached_property
    def shipments(self) -> Shipments:
        return Shipments(self.size)

    @cached_property
    def rows(self) -> Scenario:
        self.size.require_runnable()
        return super().rows

    @property
    def connections(self) -> int:
        size = self.size
        scans = sum(self.shipments.scans(hub, stage) is not None for hub in range(size.base) for stage in range(STAGES))
        drivers = scans + 3 * size.vehicles + size.base  # vehicles: deliveries, positions, environment
        return self.handlers + drivers + size.connections + sessions_at_once(size)

    def started(self, execution: Execution) -> StartedExecution:
        """As the drivers say; an order has its shipment's number, and its customer is its origin."""
        if INTERACTIONS[execution.interaction].starts != ORDER:
            return super().started(execution)
        chain = fields(customer=execution.origin, hub=self.shipments.hub(execution.number))
        return StartedExecution(self.rows.messages[ORDER], chain, execution.origin)

    def origin(self, execution: Execution) -> str:
        if INTERACTIONS[execution.interaction].starts != SCAN:
            return super().origin(execution)
        hub, stage = divmod(execution.origin, STAGES)
        return f"{self.business.roles[Entity.LH].place(hub)}, stage {stage + 1}"

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

    @property
    def _title(self) -> str:
        return self.name

    def _receiving_field(self, message: BusinessMessage) -> int:
        return ChainField.HUB if message.receiver == Entity.LH else ChainField.ALL

    def _destination(self, message: BusinessMessage, label: str) -> Destination:
        place = label if message.key is None else KEY_PLACE if message.key.header is None else "all"
        word = MESSAGES[self.business.numbers[message.name]].word
        return Destination(message.kind, f"{DESTINATION_PREFIX}.logistics.{place}.{word}")

    def _drivers_of_all(self) -> Iterator[Driver]:
        size, shipments = self.size, self.shipments
        for hub in range(size.base):
            for stage in range(STAGES):
                if (scanned := shipments.scans(hub, stage)) is not None:
                    yield self._following(SCAN, hub, STAGES * hub + stage, scanned)
        for vehicle in range(size.vehicles):
            yield self._following(PROOF, vehicle, vehicle, shipments.deliveries(vehicle))
        for message in (POSITION, OF_VEHICLES):
            for vehicle in range(size.vehicles):
                yield self._reporting(message, vehicle, (vehicle,))
        for hub in range(size.base):
            yield self._reporting(OF_HUBS, hub, shipments.zones_of(hub))

    def _following(self, message: int, place: int, sender: int, found: Progression) -> Driver:
        """A driver with a start for each shipment of a progression."""
        number, starts = INTERACTION_OF[message], range(self.size.slots // found.step)
        slots = (self.shipments.slot(found.first + found.step * start) for start in starts)
        return replace(
            self._driver(number, place, tuple(fields(shipment=slot) for slot in slots)),
            sender=sender,
            rate_per_s=float(self.size.shipments_per_s / found.step),
            offset=float(found.offset),
            first_execution=Execution(number, sender, 0).id,
        )

    def _reporting(self, message: int, place: int, sources: tuple[int, ...]) -> Driver:
        """A driver that reports of its sources in turn."""
        return self._driver(INTERACTION_OF[message], place, tuple(fields(source=source) for source in sources))

    def _populations(self) -> tuple[Population, ...]:
        size, customers = self.size, Customers(self.shipments)
        tracked, confirmed = (tuple(map(self._heard, each)) for each in HEARD[size.addressing].values())
        ordered = self._messages[MESSAGES[ORDER].name]
        return (
            Population("shipments", tracked, size.connections, TrackingLaw(customers)),
            Population("sessions", confirmed, sessions_at_once(size), SessionLaw(customers), ordered),
        )

    def _heard(self, steps: tuple[int, ...]) -> PopulationSubscription:
        message = self.business.messages[steps[0]]
        if message.key is None:
            raise AssertionError("members hear messages with keys only")
        to = self._numbers[self._destination(message, "")]
        return PopulationSubscription(steps, to, message.key.header, message.key.space)


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
        "tracking": TRACKED,
    }


def sessions_at_once(size: LogisticsSize) -> int:
    """About how many sessions of customers are open at once."""
    return ceil(size.at(Quantity(size.profile.sessions_alive, Growth.FLEET)))
