"""The laws of a shipment's life, of its customer's session, and of the drivers that report on it.

Everything is a pure function of the shipment's number or the customer's, so that the load, the subscribers and the
audit agree without communication. Shipment k joins at (k + 1/2) / r - T and leaves at (k + 1/2) / r, with r shipments
per second and lives of T seconds: those with a negative join are under way when the load begins, which is then
stationary from its first second on. In between it is scanned at four ages, and its delivery is proved just before it
leaves. Its subscriptions stand for its whole life.

Source: Appel, Sachs, section 4.4, whose assumptions leave open what is a choice here: a shipment has one pair of hubs,
one vehicle, and in its first hub one zone of sensors for its whole life; a vehicle and a zone report evenly.
Instants are exact, in seconds by the clock from the begin of the load; `_ns` are rounded down to nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
from typing import NamedTuple

from workloads.logistics.dimensions import LEAD_S, LINGER_S, LogisticsSize
from workloads.logistics.profiles import LIFE_DAYS
from workloads.scenario.message import MOST_FIELD

#: Ages in days at which a shipment is scanned: it enters and leaves the first hub, then the second. It is on the road
#: for half a day before, between and behind them, and in each hub for three quarters of a day.
STAGE_DAYS = (Fraction(1, 2), Fraction(5, 4), Fraction(7, 4), Fraction(5, 2))
STAGES = len(STAGE_DAYS)

#: Keys of customers, which are used again as those of shipments are.
CUSTOMER_KEYS: int = MOST_FIELD + 1

#: The monitored residues of `Shipments.mix` modulo 10, and their order; three of ten.
_MONITORED = {0: 0, 4: 1, 7: 2}

_NS = 10**9


class Progression(NamedTuple):
    """The shipments of a driver: `first`, `first + step`, ..., each at an age; one start for each."""

    first: int
    step: int
    #: In starts: the first is due at this many gaps after the begin of the load, at least 0 and less than 1.
    offset: Fraction


@dataclass(frozen=True)
class Shipments:
    """The shipments of a workload of this size, numbered from 0 in the order in which they join."""

    size: LogisticsSize

    @property
    def initial(self) -> int:
        """The number of those that are under way when the load begins."""
        return floor(self.size.shipments_per_s * self.size.life_s - Fraction(1, 2)) + 1

    def joins_s(self, number: int) -> Fraction:
        """When the subscriptions of a shipment begin."""
        return (number + Fraction(1, 2)) / self.size.shipments_per_s - self.size.life_s

    def leaves_s(self, number: int) -> Fraction:
        """When they end."""
        return self.joins_s(number) + self.size.life_s

    def joins_ns(self, number: int) -> int:
        half_gap, life, unit = self._integers
        return ((2 * number + 1) * half_gap - life) // unit

    def leaves_ns(self, number: int) -> int:
        half_gap, _, unit = self._integers
        return (2 * number + 1) * half_gap // unit

    @cached_property
    def _integers(self) -> tuple[int, int, int]:
        """Half of the gap between two joins, and the life, as multiples of a unit; and units per ns."""
        half_gap, life = _NS / (2 * self.size.shipments_per_s), _NS * self.size.life_s
        unit = lcm(half_gap.denominator, life.denominator)
        return int(half_gap * unit), int(life * unit), unit

    def hub(self, number: int) -> int:
        """The hub that it enters first, in which it is monitored."""
        return number % self.size.base

    def vehicle(self, number: int) -> int:
        return number % self.size.vehicles

    def mix(self, number: int) -> int:
        """What monitoring follows: it runs through the residues modulo 10 in each vehicle."""
        return number // self.size.vehicles + number % self.size.vehicles

    def monitored(self, number: int) -> bool:
        """Exactly three of ten in each vehicle, and of any 10 V consecutive shipments, with V vehicles."""
        return 3 * self.mix(number) % 10 < 3

    def zone(self, number: int) -> int:
        """Key of the zone of a monitored shipment; keys of zones follow those of vehicles.

        Monitored shipments go to the zones of their hub in turn. With a zone for each vehicle it is that of its own.
        """
        size = self.size
        if size.profile.zones_per_hub is None:
            return size.vehicles + self.vehicle(number)
        tens, residue = divmod(self.mix(number), 10)
        turn = len(_MONITORED) * tens + _MONITORED[residue]
        return size.vehicles + size.zones_per_hub * self.hub(number) + turn % size.zones_per_hub

    def zones_of(self, hub: int) -> tuple[int, ...]:
        """Keys of the zones of a hub."""
        size = self.size
        if size.profile.zones_per_hub is None:
            return tuple(range(size.vehicles + hub, 2 * size.vehicles, size.base))
        first = size.vehicles + size.zones_per_hub * hub
        return tuple(range(first, first + size.zones_per_hub))

    def slot(self, number: int) -> int:
        """The key of a shipment: no other with this key is under way."""
        return number % self.size.slots

    def customer(self, number: int) -> int:
        """The number of the customer that has ordered it."""
        shipments, customers = self._orders_per_session
        return ((number + 1) * customers - 1) // shipments

    @cached_property
    def _orders_per_session(self) -> tuple[int, int]:
        return self.size.profile.orders_per_session.as_integer_ratio()

    def stages(self, number: int) -> tuple[int, ...]:
        """The stages at which it is scanned, from 0: all, or every third of them, as the profile says."""
        every = self.size.profile.scan_every
        return tuple(stage for stage in range(STAGES) if (number + stage + 1) % every == 0)

    def delivered_s(self, number: int) -> Fraction:
        """When its delivery is proved."""
        return self.leaves_s(number) - LINGER_S

    def scans(self, hub: int, stage: int) -> Progression | None:
        """The shipments that a hub scans at a stage; None if there are none."""
        base, every = self.size.base, self.size.profile.scan_every
        of_hub = hub if stage < STAGES // 2 else (hub - 1) % base
        step = lcm(base, every)
        of_stage = (number for number in range(step) if number % base == of_hub and stage in self.stages(number))
        first = next(of_stage, None)
        return None if first is None else self._progression(first, step, self._age_s(stage))

    def deliveries(self, vehicle: int) -> Progression:
        """The shipments whose delivery a vehicle proves."""
        return self._progression(vehicle, self.size.vehicles, self.size.life_s - LINGER_S)

    def _age_s(self, stage: int) -> Fraction:
        return STAGE_DAYS[stage] / LIFE_DAYS * self.size.life_s

    def _progression(self, residue: int, step: int, age_s: Fraction) -> Progression:
        """The shipments of a residue modulo `step` that reach an age in the load."""
        rate = self.size.shipments_per_s
        least = max(0, ceil(rate * (self.size.life_s - age_s) - Fraction(1, 2)))
        first = least + (residue - least) % step
        return Progression(first, step, (self.joins_s(first) + age_s) * rate / step)


@dataclass(frozen=True)
class Customers:
    """The sessions of customers, numbered in the order in which they begin; each orders some shipments.

    A session lasts as long as the profile says; its orders are spread evenly over it, so that the last comes `LEAD_S`
    before the first of its shipments joins. Sessions that would begin before the load are left out.
    """

    shipments: Shipments

    def ordered(self, number: int) -> range:
        """The shipments that a customer orders."""
        each = self.shipments.size.profile.orders_per_session
        return range(floor(each * number), floor(each * (number + 1)))

    def begins_s(self, number: int) -> Fraction:
        ordered = self.ordered(number)
        whole = self.shipments.size.session_s
        return self.shipments.joins_s(ordered.start) - LEAD_S - whole * (1 - Fraction(1, 2 * len(ordered)))

    def ends_s(self, number: int) -> Fraction:
        return self.begins_s(number) + self.shipments.size.session_s

    def orders_s(self, number: int) -> tuple[Fraction, ...]:
        """When a customer sends its orders."""
        count = len(self.ordered(number))
        gap, begins = self.shipments.size.session_s / count, self.begins_s(number)
        return tuple(begins + (place + Fraction(1, 2)) * gap for place in range(count))

    @cached_property
    def first(self) -> int:
        """The number of the first customer whose session begins in the load."""
        size = self.shipments.size
        number = self.shipments.customer(ceil(size.shipments_per_s * (size.life_s + LEAD_S)))
        while self.begins_s(number) < 0:
            number += 1
        return number

    def key(self, number: int) -> int:
        return number % CUSTOMER_KEYS

    def connection(self, number: int) -> int:
        """Index of the connection on which a customer's shipments are tracked."""
        return number % self.shipments.size.connections
