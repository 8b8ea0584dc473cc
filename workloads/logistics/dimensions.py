"""The size of the workload: a profile, hubs, vehicles per hub, time compression, and how messages are addressed.

Three numbers scale it. BASE is the number of hubs. The vehicles of a hub, 1 to 53 of the published 53, scale the fleet,
the shipments and the customers together, exactly. Time compression is the number of minutes of the model in a minute of
the clock: it scales rates, and shortens lives. One hub with 53 vehicles and a compression of 1 is the published
workload. Results that differ in any of these are never compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm

from workloads.errors import WorkloadError
from workloads.logistics.profiles import (
    CUSTOMERS_PER_DAY,
    LIFE_DAYS,
    PROFILES,
    SHIPMENTS_UNDER_WAY,
    VEHICLES_PER_HUB,
    Entity,
    Growth,
    Quantity,
    TrafficProfile,
)
from workloads.scenario.message import MOST_FIELD


class Addressing(StrEnum):
    """How a subscriber gets the messages with its keys; results of the two are never compared."""

    #: Of a topic per message type, by a selector on a header.
    SELECTOR = "selector"
    #: By a topic per key, for brokers without selectors; who hears two keys needs two subscriptions.
    TOPIC = "topic"


#: Highest time compression: a life of a minute, which is long compared with `LEAD_S` and `LINGER_S`.
MOST_COMPRESSION = 4320

#: Highest BASE: hubs are numbered in a field of messages.
MOST_BASE = 10_000

#: From the last order of a session to the first subscription of its shipments, s by the clock. A choice: several times
#: the delay of a broker that keeps up.
LEAD_S = 2

#: From the proof of delivery to the end of a shipment's subscriptions, s by the clock. A choice: more than the second
#: before an UNSUBSCRIBE in which the audit does not count on messages.
LINGER_S = 2

#: All subscriptions of a shipment stand for its whole life, as the published number of subscriptions asks for.
TRACKED = "life"

#: Customers whose subscriptions share a connection, unless the user sets it: a choice that keeps sockets few.
CUSTOMERS_PER_CONNECTION = 4


@dataclass(frozen=True)
class LogisticsSize:
    """The size of the workload. Raises WorkloadError with the option of a value that is out of range."""

    profile: TrafficProfile
    #: Number of hubs.
    base: int
    vehicles_per_hub: int = VEHICLES_PER_HUB
    #: Minutes of the model in a minute of the clock.
    compression: int = 1
    addressing: Addressing = Addressing.SELECTOR
    customers_per_connection: int = CUSTOMERS_PER_CONNECTION

    def __post_init__(self) -> None:
        for option, value, most in (
            ("base", self.base, MOST_BASE),
            ("vehicles", self.vehicles_per_hub, VEHICLES_PER_HUB),
            ("compression", self.compression, MOST_COMPRESSION),
            ("customers-per-connection", self.customers_per_connection, MOST_FIELD),
        ):
            if not 1 <= value <= most:
                raise WorkloadError(f"--{option}: expected a whole number from 1 to {most}, got {value}")

    @property
    def scale(self) -> Fraction:
        """The share of a hub's vehicles, and with them of its shipments and customers."""
        return Fraction(self.vehicles_per_hub, VEHICLES_PER_HUB)

    @property
    def scale_text(self) -> str:
        return f"{self.vehicles_per_hub}/{VEHICLES_PER_HUB}"

    @cached_property
    def vehicles(self) -> int:
        return self.vehicles_per_hub * self.base

    @property
    def minute_s(self) -> Fraction:
        """Seconds by the clock of a minute of the model."""
        return Fraction(60, self.compression)

    @cached_property
    def shipments_per_s(self) -> Fraction:
        return self.at(Quantity(self.profile.shipments, Growth.FLEET)) / self.minute_s

    @cached_property
    def life_s(self) -> Fraction:
        """From the begin of a shipment's subscriptions to their end."""
        return self.profile.life_minutes * self.minute_s

    @cached_property
    def gap_s(self) -> Fraction:
        """Between two positions of a vehicle."""
        published = self.at(self.profile.drivers["PositionData"].published[Entity.V])
        return self.minute_s * self.vehicles / published

    @property
    def session_s(self) -> Fraction:
        """How long the session of a customer lasts; after as long, as many are there as the model says."""
        return self.profile.session_minutes * self.minute_s

    @property
    def under_way(self) -> Fraction:
        """Average number of shipments at one time."""
        return SHIPMENTS_UNDER_WAY * self.base * self.scale

    @property
    def zones_per_hub(self) -> int:
        return self.profile.zones_per_hub or self.vehicles_per_hub

    @property
    def zones(self) -> int:
        return self.zones_per_hub * self.base

    @cached_property
    def slots(self) -> int:
        """Keys of shipments: a key is free for a quarter of a life before it is used again.

        A multiple of what the shipments of a vehicle, or those of a stage of a hub, are apart, so that the keys of one
        driver repeat soon.
        """
        least, apart = ceil(Fraction(5, 4) * self.under_way) + 16, lcm(3, self.vehicles)
        return -(-least // apart) * apart

    @cached_property
    def connections(self) -> int:
        """Connections that the subscriptions of all shipments share."""
        tracking = Fraction(CUSTOMERS_PER_DAY * LIFE_DAYS) * self.base * self.scale
        return ceil(tracking / self.customers_per_connection)

    def at(self, quantity: Quantity) -> Fraction:
        """The quantity at this size, in minutes of the model."""
        return quantity.at(self.base, self.scale)

    def require_runnable(self) -> None:
        """Raises WorkloadError if the keys of shipments have more digits than a message holds."""
        if self.slots > MOST_FIELD + 1:
            raise WorkloadError(
                f"--base {self.base} with --vehicles {self.vehicles_per_hub}: {self.slots} keys of shipments are "
                f"needed; expected at most {MOST_FIELD + 1}: lower one of the two"
            )


def profile_of(name: str) -> TrafficProfile:
    """The profile with this name. Raises WorkloadError if there is none."""
    if name not in PROFILES:
        raise WorkloadError(f"--profile: expected one of {', '.join(PROFILES)}, got {name!r}")
    return PROFILES[name]
