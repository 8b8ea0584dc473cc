"""Who subscribes when and to what: the laws of shipments and customers as `workloads.scenario.population` has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from workloads.logistics.dimensions import Addressing
from workloads.logistics.laws import Customers
from workloads.logistics.traffic import INTERACTION_OF, ORDER, ChainField
from workloads.scenario.execution import Execution
from workloads.scenario.population import Member, Order

_NS = 10**9


def _ns(seconds: Fraction) -> int:
    return floor(seconds * _NS)


@dataclass(frozen=True)
class TrackingLaw:
    """The subscriptions of a shipment, from before its first scan until after its delivery; member k is shipment k.

    Its customer's shipments share a connection, with those of some other customers.
    """

    customers: Customers

    @property
    def initial(self) -> int:
        return self.customers.shipments.initial

    def member(self, number: int) -> Member:
        """The shipment with this number, with keys in the order of the population's subscriptions."""
        shipments = self.customers.shipments
        slot, vehicle = (shipments.slot(number),), (shipments.vehicle(number),)
        environment = (*vehicle, shipments.zone(number)) if shipments.monitored(number) else ()
        return Member(
            number,
            shipments.joins_ns(number),
            shipments.leaves_ns(number),
            self.customers.connection(shipments.customer(number)),
            (slot, slot, vehicle, *_PLACES[shipments.size.addressing](environment)),
        )

    def orders(self, _: int) -> tuple[Order, ...]:
        return ()


@dataclass(frozen=True)
class SessionLaw:
    """The sessions of customers, each of which hears the confirmations of its orders.

    Member 0 is the first customer whose session begins in the load; see `Customers.first`.
    """

    customers: Customers

    @property
    def initial(self) -> int:
        return 0

    def member(self, number: int) -> Member:
        customer = self._customer(number)
        begins, ends = self.customers.begins_s(customer), self.customers.ends_s(customer)
        return Member(number, _ns(begins), _ns(ends), 0, ((self.customers.key(customer),),))

    def orders(self, number: int) -> tuple[Order, ...]:
        """The orders of a customer; the number of an execution is that of its shipment."""
        customer = self._customer(number)
        key, shipments = self.customers.key(customer), self.customers.shipments
        interaction = INTERACTION_OF[ORDER]
        found = zip(self.customers.ordered(customer), self.customers.orders_s(customer), strict=True)
        return tuple(
            Order(
                _ns(at_s),
                Execution(interaction, key, shipment).id,
                key,
                fields(customer=key, shipment=shipments.slot(shipment), hub=shipments.hub(shipment)),
            )
            for shipment, at_s in found
        )

    def _customer(self, number: int) -> int:
        return self.customers.first + number


def fields(*, customer: int = 0, shipment: int = 0, source: int = 0, hub: int = 0) -> tuple[int, ...]:
    """The fields of a chain, in the order of `ChainField`."""
    by_field = {
        ChainField.CUSTOMER: customer,
        ChainField.SHIPMENT: shipment,
        ChainField.SOURCE: source,
        ChainField.HUB: hub,
        ChainField.ALL: 0,
    }
    return tuple(by_field[field] for field in ChainField)


#: Keys of the environment, of vehicle and zone: of one subscription, or of one for each.
_PLACES: dict[Addressing, Callable[[tuple[int, ...]], tuple[tuple[int, ...], ...]]] = {
    Addressing.SELECTOR: lambda keys: (keys,),
    Addressing.TOPIC: lambda keys: (keys[:1], keys[1:]),
}
