"""The published table of flows of a workload with populations, beside which a run is put.

Plain values of a model; the analysis measures the same quantities in the records, and knows no workload.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class PublishedFlow:
    """A row of the table of flows: what the model says, and in which records the same is found."""

    #: For example "ShipmentScan".
    name: str
    #: Senders and receivers for display, for example "LH -> HQ, C".
    parties: str
    #: Number of the message type.
    step: int
    #: Numbers of the locations that send it; None: whoever sends it.
    senders: frozenset[int] | None
    #: The subscriptions that hear it: number of the population, and places among its subscriptions; None if no member
    #: of a population hears it.
    hearing: tuple[int, tuple[int, ...]] | None
    #: Messages per unit of time.
    published: Fraction
    #: Subscriptions at one time, those of event handlers included.
    subscriptions: Fraction
    #: Entities that send it at one time.
    publishers: Fraction
    #: Subscriptions that join per unit of time; as many leave.
    joins: Fraction
    #: Publishers that join per unit of time.
    publisher_joins: Fraction
    #: Copies per message.
    factor: Fraction


@dataclass(frozen=True, slots=True)
class PublishedFlows:
    """The table of flows of a model."""

    #: For example "Table 3 of Appel et al. 2010, profile corrected".
    title: str
    #: Unit of time for display, for example "model minute".
    unit: str
    #: Seconds of a run that are one unit.
    unit_s: Fraction
    rows: tuple[PublishedFlow, ...]
