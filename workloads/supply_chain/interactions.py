"""The seven interactions as tables: every message with its sender, its receiver and its trigger.

Source: Sachs, Kounev, Bacon, Buchmann, *Workload Characterization of the SPECjms2007 Benchmark* (2009), section 2.3
and Table 1. A row is a *step*. Its sender and receiver are *parties*: roles in an execution of the interaction; the
number of the execution determines which location plays each of them. Everything else in the workload is computed from
these rows.

Choices where the paper leaves something open:

* Interaction 5 is of group c: Table 1 and the equations per location say so; those of section 3.1a (d) contradict them.
* Sender of the messages about what RFID readers see: the distribution centre for `shipDep` and `shipInfo`, the supplier
  for `pShipInfo`. The equations per location (chi_SM, chi_DC, chi_SP) hold only with this choice.
* Which receipt triggers which message: in the order of section 2.3. The statistics to the headquarters follow the
  message that reports the goods' departure (`shipDep`) or arrival (`pShipInfo`), not the order.
* A distribution centre orders from one supplier per call for offers. It does not choose at random: the number of the
  execution determines the winner, and only the winner's offer is answered.
* Interaction 6 goes to all supermarkets, interaction 7 is described by its sizes only (xi_6 and xi_7).
* Object, text, stream and map messages all have bodies of bytes; the type's name is kept for the disclosure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from workloads.errors import WorkloadError
from workloads.messaging import DestinationKind


class Role(StrEnum):
    """The kinds of locations: supermarkets, suppliers, distribution centres, headquarters."""

    SM = "SM"
    SP = "SP"
    DC = "DC"
    HQ = "HQ"


#: What a location is called where there is room.
TITLES: Mapping[Role, str] = {
    Role.SM: "supermarket",
    Role.SP: "supplier",
    Role.DC: "distribution centre",
    Role.HQ: "headquarters",
}


class Participant(StrEnum):
    """A party in an execution of an interaction: one location, or all locations that subscribe to a topic."""

    SM = "supermarket"
    DC = "distribution_centre"
    SP = "supplier"  # the one that gets the order
    HQ = "headquarters"  # one of its instances
    SUPPLIERS = "suppliers"  # all that offer the product family called for
    SUPERMARKETS = "supermarkets"  # all

    @property
    def role(self) -> Role:
        return _ROLES[self]

    @property
    def plural(self) -> bool:
        """Whether the party consists of several locations."""
        return self in (Participant.SUPPLIERS, Participant.SUPERMARKETS)


_ROLES: Mapping[Participant, Role] = {
    Participant.SM: Role.SM,
    Participant.DC: Role.DC,
    Participant.SP: Role.SP,
    Participant.HQ: Role.HQ,
    Participant.SUPPLIERS: Role.SP,
    Participant.SUPERMARKETS: Role.SM,
}


class DestinationGroup(StrEnum):
    """Table 3: publish/subscribe (a, b) or point-to-point (c, d), persistent (b, d) or not (a, c)."""

    A = "a"
    B = "b"
    C = "c"
    D = "d"


_GROUPS: Mapping[tuple[DestinationKind, bool], DestinationGroup] = {
    (DestinationKind.TOPIC, False): DestinationGroup.A,
    (DestinationKind.TOPIC, True): DestinationGroup.B,
    (DestinationKind.QUEUE, False): DestinationGroup.C,
    (DestinationKind.QUEUE, True): DestinationGroup.D,
}


@dataclass(frozen=True, slots=True)
class DeliveryOptions:
    """How a message is produced and consumed."""

    persistent: bool
    transacted: bool
    #: Whether the subscriptions to its topic are durable.
    durable: bool = False


#: NP, NT (, ND) in column "Prop." of Table 1.
PLAIN = DeliveryOptions(persistent=False, transacted=False)
#: P, T in column "Prop." of Table 1.
SAFE = DeliveryOptions(persistent=True, transacted=True)
#: P, T, D in column "Prop." of Table 1.
DURABLE = DeliveryOptions(persistent=True, transacted=True, durable=True)


@dataclass(frozen=True, slots=True)
class MessageType:
    """A message of an interaction; a single receiver has a queue for it, several receivers subscribe to a topic.

    A configuration may send a message to a topic although it has a single receiver. Raises WorkloadError if several
    receivers are to share a queue.
    """

    #: Number of the interaction.
    interaction: int
    #: Name of the message.
    message: str
    sender: Participant
    receiver: Participant
    mode: DeliveryOptions
    #: Type of the JMS message in the paper.
    body: str
    description: str
    #: Name of the message whose receipt triggers this one; None if a driver sends it.
    after: str | None = None
    #: If given, only a triggering message that this party sent counts.
    after_from: Participant | None = None
    #: Kind of its destinations if a configuration sets it.
    configured_kind: DestinationKind | None = None

    def __post_init__(self) -> None:
        if self.receiver.plural and self.configured_kind is DestinationKind.QUEUE:
            raise WorkloadError(f"{self.message}: has several consumers; expected a topic, got a queue")

    @property
    def kind(self) -> DestinationKind:
        """Kind of its destinations."""
        if self.configured_kind is not None:
            return self.configured_kind
        return DestinationKind.TOPIC if self.receiver.plural else DestinationKind.QUEUE

    @property
    def group(self) -> DestinationGroup:
        return _GROUPS[self.kind, self.mode.persistent]


@dataclass(frozen=True, slots=True)
class InteractionSpec:
    """An interaction; the sender of its first step starts it. A step is listed after the step that triggers it."""

    title: str
    steps: tuple[MessageType, ...]

    @property
    def starter(self) -> Participant:
        return self.steps[0].sender


SM, DC, SP, HQ, SUPPLIERS, SUPERMARKETS = Participant

#: By number, 1 to 7.
INTERACTIONS: Mapping[int, InteractionSpec] = {
    1: InteractionSpec(
        "order and shipment between supermarket and distribution centre",
        (
            MessageType(1, "order", SM, DC, SAFE, "ObjectMsg", "order"),
            MessageType(1, "orderConf", DC, SM, SAFE, "ObjectMsg", "confirmation of the order", "order"),
            MessageType(
                1, "shipDep", DC, DC, SAFE, "TextMsg", "shipment seen leaving the distribution centre", "order"
            ),
            MessageType(1, "statInfoOrderDC", DC, HQ, PLAIN, "StreamMsg", "sales statistics", "shipDep"),
            MessageType(1, "shipInfo", DC, SM, SAFE, "TextMsg", "shipment seen arriving at the supermarket", "shipDep"),
            MessageType(1, "shipConf", SM, DC, SAFE, "ObjectMsg", "confirmation of the shipment", "shipInfo"),
        ),
    ),
    2: InteractionSpec(
        "order and shipment between distribution centre and supplier",
        (
            MessageType(2, "callForOffers", DC, SUPPLIERS, DURABLE, "TextMsg", "call for offers of a product family"),
            MessageType(2, "offer", SUPPLIERS, DC, SAFE, "TextMsg", "offer", "callForOffers"),
            MessageType(2, "pOrder", DC, SP, SAFE, "TextMsg", "purchase order", "offer", after_from=SP),
            MessageType(2, "pOrderConf", SP, DC, SAFE, "TextMsg", "confirmation of the purchase order", "pOrder"),
            MessageType(2, "invoice", SP, HQ, SAFE, "TextMsg", "invoice", "pOrder"),
            MessageType(
                2, "pShipInfo", SP, DC, SAFE, "TextMsg", "shipment seen arriving at the distribution centre", "pOrder"
            ),
            MessageType(2, "pShipConf", DC, SP, SAFE, "TextMsg", "confirmation of the shipment", "pShipInfo"),
            MessageType(2, "statInfoShipDC", DC, HQ, PLAIN, "StreamMsg", "purchase statistics", "pShipInfo"),
        ),
    ),
    3: InteractionSpec(
        "price updates", (MessageType(3, "priceUpdate", HQ, SUPERMARKETS, DURABLE, "MapMsg", "selling prices"),)
    ),
    4: InteractionSpec(
        "inventory", (MessageType(4, "inventoryInfo", SM, SM, SAFE, "TextMsg", "goods seen leaving the warehouse"),)
    ),
    5: InteractionSpec(
        "sales statistics", (MessageType(5, "statInfoSM", SM, HQ, PLAIN, "ObjectMsg", "sales statistics"),)
    ),
    6: InteractionSpec(
        "new products", (MessageType(6, "productAnnouncement", HQ, SUPERMARKETS, PLAIN, "StreamMsg", "new products"),)
    ),
    7: InteractionSpec(
        "credit card hot lists",
        (MessageType(7, "creditCardHL", HQ, SUPERMARKETS, PLAIN, "StreamMsg", "credit card hot list"),),
    ),
}
