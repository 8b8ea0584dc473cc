"""The message types of the workload, as a table: sizes, who answers with them, and how subscribers tell them apart.

Source: Appel, Sachs, Tables 1 and 3, section 4.5. Environment data is two message types here, of vehicles and of hubs,
as their rates, sizes and numbers of receivers differ; one subscription hears both. Choices where the paper leaves
something open:

* Orders and pickup orders are on queues, everything else on topics. "Reliable" is persistent, and for the headquarters
  a durable subscription: what they are owed is stored. Positions are not persistent.
* Nothing is transacted. The headquarters send a confirmation and a pickup order, then acknowledge the order: in this
  order on one connection, at least once.
* Sizes: the paper has contents only. Data of the environment has 8 bytes for each shipment that is monitored there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from workloads.errors import WorkloadError
from workloads.logistics.dimensions import Addressing, LogisticsSize
from workloads.logistics.profiles import ENTITY_TITLES, Entity
from workloads.messaging import MOST_BODY_BYTES, DestinationKind
from workloads.scenario.business import Business, BusinessInteraction, BusinessMessage, BusinessRole, Party, in_turn
from workloads.scenario.message import KeySpace, MessageKey


class ChainField(IntEnum):
    """The fields of a chain, by index."""

    #: Of the customer; see `laws.Customers.key`.
    CUSTOMER = 0
    #: Of the shipment; see `laws.Shipments.slot`.
    SHIPMENT = 1
    #: Of the vehicle or of the zone.
    SOURCE = 2
    #: Index of the hub that picks the shipment up.
    HUB = 3
    #: Always 0: selects the address of a message type that has only one.
    ALL = 4


class KeyUse(NamedTuple):
    """How subscribers select among the messages of a type."""

    header: str
    field: ChainField


CUSTOMER_KEY = KeyUse("Customer", ChainField.CUSTOMER)
SHIPMENT_KEY = KeyUse("Shipment", ChainField.SHIPMENT)
VEHICLE_KEY = KeyUse("Vehicle", ChainField.SOURCE)
PLACE_KEY = KeyUse("Place", ChainField.SOURCE)


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message type."""

    name: str
    #: The name of its driver in the profiles.
    driver: str
    sender: Entity
    kind: DestinationKind
    persistent: bool
    #: The static subscriber; None if only customers hear it.
    handled_by: Entity | None
    #: None if no customer hears it.
    key: KeyUse | None
    #: Body in bytes, without what depends on the number of receivers.
    body_bytes: int
    #: The last word in the name of its destination.
    word: str
    #: Body in bytes for each shipment that it is about.
    bytes_per_receiver: int = 0


_QUEUE, _TOPIC = DestinationKind.QUEUE, DestinationKind.TOPIC

#: By number.
MESSAGES: tuple[MessageRow, ...] = (
    MessageRow("shipmentOrder", "ShipmentOrder", Entity.C, _QUEUE, True, Entity.HQ, None, 500, "shipmentOrder"),
    MessageRow(
        "orderConfirmation", "OrderConfirmation", Entity.HQ, _TOPIC, True, None, CUSTOMER_KEY, 128, "orderConfirmation"
    ),
    MessageRow("pickupOrder", "PickupOrder", Entity.HQ, _QUEUE, True, Entity.LH, None, 300, "pickupOrder"),
    MessageRow("shipmentScan", "ShipmentScan", Entity.LH, _TOPIC, True, Entity.HQ, SHIPMENT_KEY, 64, "shipmentScan"),
    MessageRow(
        "proofOfDelivery", "ProofOfDelivery", Entity.V, _TOPIC, True, Entity.HQ, SHIPMENT_KEY, 200, "proofOfDelivery"
    ),
    MessageRow("positionData", "PositionData", Entity.V, _TOPIC, False, None, VEHICLE_KEY, 64, "positionData"),
    MessageRow(
        "environmentDataV", "EnvironmentData", Entity.V, _TOPIC, True, None, PLACE_KEY, 64, "environmentData", 8
    ),
    MessageRow(
        "environmentDataLH", "EnvironmentData", Entity.LH, _TOPIC, True, None, PLACE_KEY, 64, "environmentData", 8
    ),
)  # fmt: skip

#: Their numbers.
ORDER, CONFIRMATION, PICKUP, SCAN, PROOF, POSITION, OF_VEHICLES, OF_HUBS = range(len(MESSAGES))


@dataclass(frozen=True, slots=True)
class InteractionRow:
    """The message that starts a chain, and what follows."""

    title: str
    starts: int
    #: Numbers of the messages that answer it.
    answers: tuple[int, ...] = ()


#: By number.
INTERACTIONS: dict[int, InteractionRow] = {
    1: InteractionRow("Shipment order", ORDER, (CONFIRMATION, PICKUP)),
    2: InteractionRow("Shipment scan", SCAN),
    3: InteractionRow("Proof of delivery", PROOF),
    4: InteractionRow("Position data", POSITION),
    5: InteractionRow("Environment data of vehicles", OF_VEHICLES),
    6: InteractionRow("Environment data of hubs", OF_HUBS),
}

#: The number of the interaction of each message, by its number.
INTERACTION_OF: dict[int, int] = {
    message: number for number, row in INTERACTIONS.items() for message in (row.starts, *row.answers)
}


def body_bytes(size: LogisticsSize, number: int) -> int:
    """The size of a message's body. Raises WorkloadError if it is larger than any body may be."""
    row = MESSAGES[number]
    factors = size.profile.drivers[row.driver].factors
    receivers = size.at(factors[row.sender, Entity.C]) if row.bytes_per_receiver else 0
    found = row.body_bytes + row.bytes_per_receiver * round(receivers)
    if found > MOST_BODY_BYTES:
        raise WorkloadError(f"{row.name}: a body of {found} bytes; expected at most {MOST_BODY_BYTES}")
    return found


def key_space(size: LogisticsSize, use: KeyUse) -> KeySpace:
    """The texts of a kind of key. Zones share the numbers of vehicles, and follow them."""
    letters = {CUSTOMER_KEY: "C", SHIPMENT_KEY: "S", VEHICLE_KEY: "V", PLACE_KEY: "V"}
    ranges = [(0, letters[use])]
    if use is PLACE_KEY:
        ranges.append((size.vehicles, "Z"))
    return KeySpace(tuple(ranges))


#: The party that a message goes to, where the headquarters hear all of them and customers those with their keys.
_BOTH = f"{Entity.HQ} and {Entity.C}"


def business_of(size: LogisticsSize) -> Business:
    """The business at a size: who takes part, and who sends which message to whom, how often."""
    roles: dict[str, BusinessRole] = {
        entity: BusinessRole(entity, places, handlers, named, ENTITY_TITLES[entity])
        for entity, places, handlers, named in (
            (Entity.HQ, 1, 1, "{name}"),
            (Entity.LH, size.base, 1, "{name}{number}"),
            (Entity.V, size.vehicles, 1, "{name}{index:05d}"),
            (Entity.C, 1, 0, "{name}{index:05d}"),
        )
    }
    parties: dict[str, Party] = {
        Entity.HQ: Party.one(roles[Entity.HQ]),
        Entity.LH: Party.one(roles[Entity.LH], in_turn),
        Entity.V: Party.one(roles[Entity.V]),
        Entity.C: Party.only(roles[Entity.C], Entity.C),
        _BOTH: Party.only(roles[Entity.HQ], _BOTH),
    }
    interactions = {
        number: BusinessInteraction(
            row.title,
            (_message(size, row.starts, None), *(_message(size, answer, row.starts) for answer in row.answers)),
            _rate_per_s(size, row.starts),
            together=ceil(size.profile.orders_per_session) if row.starts == ORDER else 1,
        )
        for number, row in INTERACTIONS.items()
    }
    name = (
        f"{size.profile.name}, BASE_L {size.base}, {size.scale_text} vehicles, by {size.addressing}, "
        f"{size.customers_per_connection} customers per connection"
    )
    return Business(name, size.base, roles, parties, interactions)


def _message(size: LogisticsSize, number: int, after: int | None) -> BusinessMessage:
    row = MESSAGES[number]
    header = row.key and (row.key.header if size.addressing is Addressing.SELECTOR else None)
    hearing = size.profile.drivers[row.driver].factors.get((row.sender, Entity.C)) if row.key else None
    return BusinessMessage(
        row.name,
        row.sender,
        Entity.C if row.handled_by is None else _BOTH if row.key else row.handled_by,
        (body_bytes(size, number),),
        row.kind,
        row.persistent,
        durable=row.kind is DestinationKind.TOPIC and row.handled_by is not None,
        after=None if after is None else MESSAGES[after].name,
        key=row.key and MessageKey(row.key.field, header, key_space(size, row.key)),
        members=size.at(hearing) if hearing else Fraction(),
    )


def _rate_per_s(size: LogisticsSize, number: int) -> Fraction:
    row = MESSAGES[number]
    return size.at(size.profile.drivers[row.driver].published[row.sender]) / size.minute_s
