"""The two readings of the published table of drivers, as exact fractions for one hub with 53 vehicles, per minute.

Source: Appel, Sachs, *A Logistics Workload for Event Notification Middleware*, Table 3, and sections 4.2 to 4.4.
`as-printed` has its printed decimals, from which the paper's figures follow. `corrected` has the numbers that follow
from the paper's own assumptions where the printed ones contradict them:

* Scans: every shipment is scanned four times, 4 S per minute; printed are 4 S / 3.
* Environment: vehicles report as often as their positions, hubs from two zones every 6 minutes; the printed S / 2 each
  has no sensor behind it. Sensors do not join and leave: vehicles are static in every other row.
* Factors: 25152 / 53, and of monitored shipments 7545.6 / 53 in a vehicle and 7545.6 / 2 in the zone of a hub.

The two are never mixed, and their results never compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Entity(StrEnum):
    """Who publishes and subscribes (section 4.2)."""

    HQ = "HQ"
    LH = "LH"
    V = "V"
    C = "C"


#: What they are called where there is room.
ENTITY_TITLES: Mapping[Entity, str] = {
    Entity.HQ: "headquarters",
    Entity.LH: "logistics hub",
    Entity.V: "vehicle",
    Entity.C: "customer",
}

#: Vehicles per hub, customers and shipments per hub and day (section 4.2).
VEHICLES_PER_HUB = 53
CUSTOMERS_PER_DAY = 1000
SHIPMENTS_PER_DAY = 8384

#: From the pickup of a shipment to its delivery (section 4.4, assumption 1).
LIFE_DAYS = 3
MINUTES_PER_DAY = 1440

#: The share of shipments that are monitored (assumption 7).
MONITORED = Fraction(3, 10)

#: Shipments under way per hub; both profiles have this number.
SHIPMENTS_UNDER_WAY = SHIPMENTS_PER_DAY * LIFE_DAYS

#: Messages per shipment (Table 2); of environment data, per monitored shipment.
MESSAGES_PER_SHIPMENT: Mapping[str, int] = {
    "ShipmentOrder": 1,
    "OrderConfirmation": 1,
    "PickupOrder": 1,
    "ShipmentScan": 4,
    "ProofOfDelivery": 1,
    "PositionData": 720,
    "EnvironmentData": 1440,
}


class Growth(StrEnum):
    """What a quantity is proportional to; s is the number of vehicles per hub divided by 53."""

    FIXED = "1"
    HUBS = "B"
    FLEET = "s B"
    SCALE = "s"

    def times(self, base: int, scale: Fraction) -> Fraction:
        """The multiple of its value for one hub with all vehicles."""
        return {
            Growth.FIXED: Fraction(1),
            Growth.HUBS: Fraction(base),
            Growth.FLEET: base * scale,
            Growth.SCALE: scale,
        }[self]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of the table, and how it grows."""

    #: For one hub with all vehicles.
    value: Fraction
    growth: Growth

    def at(self, base: int, scale: Fraction) -> Fraction:
        return self.value * self.growth.times(base, scale)


#: Numbers of entities, or per entity.
ByEntity = Mapping[Entity, Quantity]


@dataclass(frozen=True, slots=True)
class DriverTraffic:
    """A row of the table: the messages of one type. Rates are per minute; as many leave as join."""

    #: Messages published, by who publishes them.
    published: ByEntity
    #: Subscriptions at one time.
    subscriptions: ByEntity
    #: Publishers at one time.
    publishers: ByEntity
    #: Subscriptions that join; who is absent never does.
    subscription_joins: ByEntity
    #: Publishers that join; who is absent never does.
    publisher_joins: ByEntity
    #: Receivers of a message, by who publishes and who receives it.
    factors: Mapping[tuple[Entity, Entity], Quantity]


@dataclass(frozen=True, slots=True)
class TrafficProfile:
    """A reading of the table, with the rates that its laws need, per minute for one hub with all vehicles."""

    name: str
    #: By the name of the driver.
    drivers: Mapping[str, DriverTraffic]
    shipments: Fraction
    #: Sessions of customers that begin.
    sessions: Fraction
    #: Sessions of customers at one time.
    sessions_alive: Fraction
    #: The stages at which one shipment in this many is scanned: 1 where all are.
    scan_every: int
    #: Zones of sensors in a hub; None: one for each of its vehicles.
    zones_per_hub: int | None

    @property
    def life_minutes(self) -> Fraction:
        """By Little's law: shipments under way divided by those that begin per minute."""
        return SHIPMENTS_UNDER_WAY / self.shipments

    @property
    def orders_per_session(self) -> Fraction:
        return self.shipments / self.sessions

    @property
    def session_minutes(self) -> Fraction:
        """How long a session lasts, by Little's law."""
        return self.sessions_alive / self.sessions


def _fixed(value: Fraction | int = 1) -> Quantity:
    return Quantity(Fraction(value), Growth.FIXED)


def _hubs(value: Fraction | int = 1) -> Quantity:
    return Quantity(Fraction(value), Growth.HUBS)


def _fleet(value: Fraction | int) -> Quantity:
    return Quantity(Fraction(value), Growth.FLEET)


#: The headquarters, alone.
_HQ: ByEntity = {Entity.HQ: _fixed()}
_HUBS: ByEntity = {Entity.LH: _hubs()}
_VEHICLES: ByEntity = {Entity.V: _fleet(VEHICLES_PER_HUB)}


def _profile(
    name: str,
    *,
    shipments: Fraction,
    sessions: Fraction,
    sessions_alive: Fraction,
    scans: Fraction,
    scan_every: int,
    positions: Fraction,
    position_factor: Fraction,
    monitored: Fraction,
    monitored_joins: Fraction,
    environment: Mapping[Entity, Quantity],
    environment_factors: Mapping[Entity, Quantity],
    sensors_join: ByEntity,
    zones_per_hub: int | None,
) -> TrafficProfile:
    """The rows that the two profiles share, with the numbers that tell them apart."""
    orders, alive, joining = _fleet(shipments), {Entity.C: _fleet(sessions_alive)}, {Entity.C: _fleet(sessions)}
    tracked = {Entity.C: _fleet(SHIPMENTS_UNDER_WAY)}
    tracked_joins = {Entity.C: _fleet(shipments)}
    single = _fixed()
    return TrafficProfile(
        name,
        {
            "ShipmentOrder": DriverTraffic(
                {Entity.C: orders}, _HQ, alive, {}, joining, {(Entity.C, Entity.HQ): single}
            ),
            "OrderConfirmation": DriverTraffic(
                {Entity.HQ: orders}, alive, _HQ, joining, {}, {(Entity.HQ, Entity.C): single}
            ),
            "PickupOrder": DriverTraffic({Entity.HQ: orders}, _HUBS, _HQ, {}, {}, {(Entity.HQ, Entity.LH): single}),
            "ShipmentScan": DriverTraffic(
                {Entity.LH: _fleet(scans)},
                {**_HQ, **tracked},
                _HUBS,
                tracked_joins,
                {},
                {(Entity.LH, Entity.HQ): single, (Entity.LH, Entity.C): single},
            ),
            "ProofOfDelivery": DriverTraffic(
                {Entity.V: orders},
                {**_HQ, **tracked},
                _VEHICLES,
                tracked_joins,
                {},
                {(Entity.V, Entity.HQ): single, (Entity.V, Entity.C): single},
            ),
            "PositionData": DriverTraffic(
                {Entity.V: _fleet(positions)},
                tracked,
                _VEHICLES,
                tracked_joins,
                {},
                {(Entity.V, Entity.C): _fixed(position_factor)},
            ),
            "EnvironmentData": DriverTraffic(
                environment,
                {Entity.C: _fleet(monitored)},
                {**_VEHICLES, **_HUBS},
                {Entity.C: _fleet(monitored_joins)},
                sensors_join,
                {(entity, Entity.C): factor for entity, factor in environment_factors.items()},
            ),
        },
        shipments,
        sessions,
        sessions_alive,
        scan_every,
        zones_per_hub,
    )


#: Table 3 as it is printed. The row of parallel subscriptions of PickupOrder names customers where it means hubs.
_PRINTED_ORDERS = Fraction("5.82")
AS_PRINTED = _profile(
    "as-printed",
    shipments=_PRINTED_ORDERS,
    sessions=Fraction("0.69"),
    sessions_alive=Fraction("8.43"),
    scans=Fraction("7.76"),
    scan_every=3,
    positions=Fraction("8.83"),
    position_factor=Fraction("474.74"),
    monitored=Fraction(7546),
    monitored_joins=Fraction("1.75"),
    environment={Entity.V: _fleet(Fraction("2.91")), Entity.LH: _fleet(Fraction("2.91"))},
    environment_factors={Entity.V: _fixed(Fraction("142.36")), Entity.LH: _fixed(Fraction("142.36"))},
    sensors_join={Entity.V: _fleet(Fraction("1.75"))},
    zones_per_hub=None,
)

#: S, and what follows from it.
_ORDERS = Fraction(SHIPMENTS_PER_DAY, MINUTES_PER_DAY)
_SESSIONS = Fraction(CUSTOMERS_PER_DAY, MINUTES_PER_DAY)
_MONITORED = MONITORED * SHIPMENTS_UNDER_WAY
_ZONES = 2
#: A vehicle reports every 3 minutes during the half of the time in which it carries its shipments: every 6, evenly.
REPORT_MINUTES = 6
CORRECTED = _profile(
    "corrected",
    shipments=_ORDERS,
    sessions=_SESSIONS,
    sessions_alive=_ORDERS / _SESSIONS,
    scans=4 * _ORDERS,
    scan_every=1,
    positions=Fraction(VEHICLES_PER_HUB, REPORT_MINUTES),
    position_factor=Fraction(SHIPMENTS_UNDER_WAY, VEHICLES_PER_HUB),
    monitored=_MONITORED,
    monitored_joins=MONITORED * _ORDERS,
    environment={
        Entity.V: _fleet(Fraction(VEHICLES_PER_HUB, REPORT_MINUTES)),
        Entity.LH: _hubs(Fraction(_ZONES, REPORT_MINUTES)),
    },
    environment_factors={
        Entity.V: _fixed(_MONITORED / VEHICLES_PER_HUB),
        Entity.LH: Quantity(_MONITORED / _ZONES, Growth.SCALE),
    },
    sensors_join={},
    zones_per_hub=_ZONES,
)

#: By name; the first is the default.
PROFILES: Mapping[str, TrafficProfile] = {profile.name: profile for profile in (CORRECTED, AS_PRINTED)}
