"""What a size amounts to: the table of drivers, totals, rates by the clock, and identities that a table has to keep.

Exact until the last step: `figures_json` has every number as a float, and beside it as a fraction. Source of table and
figure: Appel, Sachs, Table 3, Figure 3; the data of the figure follow from the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from workloads.json_value import json_value
from workloads.logistics.choices import CHOICES
from workloads.logistics.compiled import HEARD, LogisticsModel
from workloads.logistics.dimensions import TRACKED, Addressing, LogisticsSize
from workloads.logistics.profiles import (
    CUSTOMERS_PER_DAY,
    LIFE_DAYS,
    MESSAGES_PER_SHIPMENT,
    MINUTES_PER_DAY,
    SHIPMENTS_PER_DAY,
    SHIPMENTS_UNDER_WAY,
    ByEntity,
    Entity,
    Growth,
    Quantity,
)
from workloads.logistics.traffic import MESSAGES, body_bytes
from workloads.messaging import DestinationKind
from workloads.scenario.published_flows import PublishedFlow, PublishedFlows

#: Numbers per minute of the model, or at one time, by entity.
Numbers = Mapping[Entity, Fraction]

#: The driver whose subscriptions have two keys.
_TWO_KEYS = "EnvironmentData"


@dataclass(frozen=True, slots=True)
class DriverNumbers:
    """A row of the table at a size; per minute of the model."""

    published: Numbers
    subscriptions: Numbers
    publishers: Numbers
    subscription_joins: Numbers
    publisher_joins: Numbers
    #: Copies per message, by who publishes it.
    factors: Numbers
    #: Copies, by who receives them.
    received: Numbers

    @property
    def all_published(self) -> Fraction:
        return total(self.published)

    @property
    def factor(self) -> Fraction:
        """Average number of copies of a message."""
        return total(self.received) / self.all_published


def total(numbers: Numbers) -> Fraction:
    return sum(numbers.values(), Fraction())


def drivers(size: LogisticsSize) -> Mapping[str, DriverNumbers]:
    """The table of drivers at a size, by the name of the driver."""
    found = {}
    for name, row in size.profile.drivers.items():
        published = _at(size, row.published)
        each = 2 if name == _TWO_KEYS and size.addressing is Addressing.TOPIC else 1
        subscriptions, publishers = _at(size, row.subscriptions), _at(size, row.publishers)
        factors: dict[Entity, Fraction] = {}
        received: dict[Entity, Fraction] = {}
        for (sender, receiver), factor in row.factors.items():
            factors[sender] = factors.get(sender, Fraction()) + size.at(factor)
            received[receiver] = received.get(receiver, Fraction()) + size.at(factor) * published[sender]
        found[name] = DriverNumbers(
            published,
            {entity: each * number if entity is Entity.C else number for entity, number in subscriptions.items()},
            publishers,
            _joining(
                subscriptions, {entity: each * number for entity, number in _at(size, row.subscription_joins).items()}
            ),
            _joining(publishers, _at(size, row.publisher_joins)),
            factors,
            received,
        )
    return found


def _joining(present: Numbers, joins: Numbers) -> Numbers:
    """The rates at which those join that are there; 0 for who never does."""
    return {entity: joins.get(entity, Fraction()) for entity in present}


def _at(size: LogisticsSize, by_entity: ByEntity) -> Numbers:
    return {entity: size.at(quantity) for entity, quantity in by_entity.items()}


def by_entity(rows: Iterable[Numbers]) -> Numbers:
    """The sums over drivers, for the entities that have any, in the order of `Entity`."""
    listed = list(rows)
    return {
        entity: sum((row[entity] for row in listed if entity in row), Fraction())
        for entity in Entity
        if any(entity in row for row in listed)
    }


def totals(size: LogisticsSize) -> Mapping[str, Fraction]:
    """Sums over all drivers, by their names in JSON."""
    rows = drivers(size).values()
    subscriptions = by_entity(row.subscriptions for row in rows)
    return {
        "published_per_min": sum((row.all_published for row in rows), Fraction()),
        "delivered_per_min": sum((total(row.received) for row in rows), Fraction()),
        "customer_subscriptions": subscriptions[Entity.C],
        "subscriptions": total(subscriptions),
        "joins_per_min": sum((total(row.subscription_joins) for row in rows), Fraction()),
    }


@dataclass(frozen=True, slots=True)
class Identity:
    """A relation between numbers of the table."""

    name: str
    value: Fraction
    expected: Fraction

    @property
    def deviation(self) -> Fraction:
        """Relative; 0 if the identity holds."""
        return self.value / self.expected - 1


def identities(size: LogisticsSize) -> tuple[Identity, ...]:
    """The identities, of the profile at one hub with all vehicles, where they are those of the paper."""
    whole = LogisticsSize(size.profile, 1)
    rows, life = drivers(whole), Fraction(LIFE_DAYS * MINUTES_PER_DAY)
    published, received = (
        by_entity(row.published for row in rows.values()),
        by_entity(row.received for row in rows.values()),
    )
    positions, environment = rows["PositionData"], rows["EnvironmentData"]
    joins, monitored = (row.subscription_joins[Entity.C] for row in (positions, environment))
    confirmed = rows["OrderConfirmation"]
    return (
        Identity("joins * 3 days = subscriptions to positions", joins * life, positions.subscriptions[Entity.C]),
        Identity(
            "joins * 3 days = subscriptions to environment", monitored * life, environment.subscriptions[Entity.C]
        ),
        Identity(
            "joins * duration of a session = subscriptions to confirmations",
            confirmed.subscription_joins[Entity.C] * size.profile.session_minutes,
            confirmed.subscriptions[Entity.C],
        ),
        Identity(
            "scans per shipment",
            rows["ShipmentScan"].all_published / size.profile.shipments,
            Fraction(MESSAGES_PER_SHIPMENT["ShipmentScan"]),
        ),
        Identity(
            "copies of positions per shipment",
            total(positions.received) / joins,
            Fraction(MESSAGES_PER_SHIPMENT["PositionData"]),
        ),
        Identity(
            "copies of environment data per monitored shipment",
            total(environment.received) / monitored,
            Fraction(MESSAGES_PER_SHIPMENT["EnvironmentData"]),
        ),
        Identity(
            "published by entity = by driver",
            total(published),
            sum((row.all_published for row in rows.values()), Fraction()),
        ),
        Identity(
            "received by entity = factor * messages",
            total(received),
            sum((row.factor * row.all_published for row in rows.values()), Fraction()),
        ),
    )


def figures_json(size: LogisticsSize) -> dict[str, Any]:
    """Everything about a size as plain JSON values: a float for each number, and its exact text beside it."""
    record: dict[str, Any] = json_value(size) | {"profile": size.profile.name, "tracking": TRACKED}
    record["scale"] = size.scale_text
    scaled = size.base * size.scale
    record["entities"] = {
        "HQ": 1,
        "LH": size.base,
        "V": size.vehicles,
        **_exact(
            C_per_day=CUSTOMERS_PER_DAY * scaled,
            shipments_per_day=SHIPMENTS_PER_DAY * scaled,
            shipments_under_way=SHIPMENTS_UNDER_WAY * scaled,
        ),
    }
    record["drivers"] = {name: _driver_json(row) for name, row in drivers(size).items()}
    record["messages_per_shipment"] = dict(MESSAGES_PER_SHIPMENT)
    sums = totals(size)
    record["totals"] = _exact(**sums)
    record["wall"] = _wall_json(size, sums)
    record["body_bytes"] = {row.name: body_bytes(size, number) for number, row in enumerate(MESSAGES)}
    record["identities"] = [
        {
            "name": identity.name,
            **_exact(value=identity.value, expected=identity.expected),
            "holds": not identity.deviation,
            **_exact(deviation=identity.deviation),
        }
        for identity in identities(size)
    ]
    record["choices"] = [choice._asdict() for choice in CHOICES]
    return record


def _driver_json(row: DriverNumbers) -> dict[str, Any]:
    found: dict[str, Any] = {
        **_exact(published_per_min=row.all_published),
        **_exact_by_entity("subscriptions", row.subscriptions),
        **_exact_by_entity("publishers", row.publishers),
        **_exact_by_entity("subscription_joins_per_min", row.subscription_joins),
        **_exact_by_entity("publisher_joins_per_min", row.publisher_joins),
        **_exact(factor=row.factor),
    }
    if len(row.published) > 1:
        found["by_entity"] = {
            entity.value: _exact(published_per_min=number, factor=row.factors[entity])
            for entity, number in row.published.items()
        }
    return found


def _wall_json(size: LogisticsSize, sums: Mapping[str, Fraction]) -> dict[str, Any]:
    """Rates and durations by the clock, connections and destinations."""
    minute_s = size.minute_s
    sessions = size.at(Quantity(size.profile.sessions_alive, Growth.FLEET))
    always = 1 + size.base + size.vehicles
    return {
        **_exact(
            published_per_s=sums["published_per_min"] / minute_s,
            delivered_per_s=sums["delivered_per_min"] / minute_s,
            joins_per_s=sums["joins_per_min"] / minute_s,
            sessions_per_s=size.at(Quantity(size.profile.sessions, Growth.FLEET)) / minute_s,
            life_s=size.life_s,
            session_s=size.session_s,
            gap_s=size.gap_s,
            connections=always + size.connections + sessions,
        ),
        "tracking_connections": size.connections,
        "load_connections": LogisticsModel(size).connections,
        **_exact(topics=_topics(size, sessions)),
        "queues": 1 + size.base,
    }


def _topics(size: LogisticsSize, sessions: Fraction) -> Fraction:
    """Topics to which somebody publishes or is subscribed, at one time."""
    if size.addressing is Addressing.SELECTOR:
        return Fraction(len({row.word for row in MESSAGES if row.kind is DestinationKind.TOPIC}))
    return sessions + 2 * size.under_way + 2 * size.vehicles + size.zones


def _exact(**numbers: Fraction) -> dict[str, Any]:
    """Each number, and its exact text behind it."""
    found: dict[str, Any] = {}
    for name, number in numbers.items():
        found |= {name: float(number), f"{name}_exact": str(number)}
    return found


def _exact_by_entity(name: str, numbers: Numbers) -> dict[str, Any]:
    return {
        name: {entity.value: float(number) for entity, number in numbers.items()},
        f"{name}_exact": {entity.value: str(number) for entity, number in numbers.items()},
    }


def entity_rows(size: LogisticsSize) -> Mapping[str, Numbers]:
    """The data of Figure 3 at a size: (a) subscriptions, (b) published, (c) received, by entity as a whole."""
    rows = drivers(size).values()
    return {
        "subscriptions": by_entity(row.subscriptions for row in rows),
        "published_per_min": by_entity(row.published for row in rows),
        "received_per_min": by_entity(row.received for row in rows),
    }


def figure_rows_json(sizes: Iterable[LogisticsSize]) -> list[dict[str, Any]]:
    """The data of Figure 3, a row for each size."""
    found = []
    for size in sizes:
        row: dict[str, Any] = {"base": size.base}
        for name, numbers in entity_rows(size).items():
            row |= _exact_by_entity(name, numbers)
        row["totals"] = _exact(**totals(size))
        found.append(row)
    return found


def flows(model: Any) -> PublishedFlows:
    """Table 3 at the size of a model, with environment data of vehicles and hubs in a row each.

    Subscriptions and joins to environment data are those of both rows.
    """
    size: LogisticsSize = model.size
    rows = []
    table = drivers(size)
    for step, row in enumerate(MESSAGES):
        numbers = table[row.driver]
        receivers = [*([row.handled_by] if row.handled_by else []), *([Entity.C] if row.key else [])]
        rows.append(
            PublishedFlow(
                row.driver if len(numbers.published) == 1 else f"{row.driver} of {row.sender}",
                f"{row.sender} -> {', '.join(receivers)}",
                step,
                None,
                _hearing(size, step),
                numbers.published[row.sender],
                total(numbers.subscriptions),
                numbers.publishers[row.sender],
                total(numbers.subscription_joins),
                numbers.publisher_joins[row.sender],
                numbers.factors[row.sender],
            )
        )
    return PublishedFlows(
        f"Table 3 of Appel and Sachs, profile {size.profile.name}, {size.base} hubs with {size.scale_text} vehicles",
        "minute of the model",
        size.minute_s,
        tuple(rows),
    )


def _hearing(size: LogisticsSize, step: int) -> tuple[int, tuple[int, ...]] | None:
    for population, subscriptions in HEARD[size.addressing].items():
        if places := tuple(place for place, steps in enumerate(subscriptions) if step in steps):
            return population, places
    return None
