"""Claims of a publication about the cases of a workload, as rows of a table: what is compared, and what is expected.

A claim is about ratios between two cases at the same BASE, in the same start of a broker. Nothing here knows how a
quantity is measured; `analysis.scenario.claims` judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workloads.ranges import Range


class ComparedQuantity(StrEnum):
    """A quantity of a case; those by interaction are compared for each of them."""

    BROKER_CPU = "broker CPU per BASE"
    DELIVERY = "mean delivery time"
    SENT = "messages sent, by interaction"
    RECEIVED = "messages received, by interaction"
    #: Subscriptions and consumers of all event handlers, counted in the plan.
    SUBSCRIPTIONS = "subscriptions"
    #: Counted in the plan.
    HANDLERS = "event handlers"


@dataclass(frozen=True, slots=True)
class CaseRatio:
    """A ratio between two cases, by their names."""

    quantity: ComparedQuantity
    above: str
    below: str
    #: Where it lies if the claim holds.
    expected: Range


@dataclass(frozen=True, slots=True)
class PublishedClaim:
    """A claim, and the ratios that decide it: all of them must lie where they are expected."""

    #: Section of the publication.
    section: str
    claim: str
    #: The published values, as text.
    published: str
    #: Empty where a run has no such number.
    ratios: tuple[CaseRatio, ...]
    #: Why the claim is not judged; its ratios are then shown only. Empty for a claim that is judged.
    unjudged: str = ""


@dataclass(frozen=True, slots=True)
class PublishedClaims:
    """The claims that a workload tests."""

    #: The publication, for headings.
    source: str
    rows: tuple[PublishedClaim, ...]

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases that are compared."""
        return tuple(dict.fromkeys(name for row in self.rows for of in row.ratios for name in (of.below, of.above)))


#: Of a workload that tests none.
NO_CLAIMS = PublishedClaims("", ())
