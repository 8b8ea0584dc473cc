"""Claims of publications compared with the measurements of a run: one rule for both kinds of runs.

A claim is reduced to ratios, each with the range in which it lies if the claim holds. `reproduced` requires the whole
interval inside the range, `not reproduced` the whole interval outside; an interval across a limit is not decidable.
Absolute values are shown and never judged: they depend on the machine. Nothing here knows a kind of run or a claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.errors import DataError
from analysis.formats import NOTHING
from analysis.results import Claim, Interval
from analysis.table import Table, TableColumn, grouped
from workloads.ranges import Range
from workloads.status import ClaimVerdict

#: Verdicts in the order of precedence.
_DECIDING = (ClaimVerdict.NOT_REPRODUCED, ClaimVerdict.NOT_DECIDABLE, ClaimVerdict.REPRODUCED)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval and the data that it is based on."""

    interval: Interval
    #: the absolute values, as text
    absolute: str
    #: names of the cells
    cells: tuple[str, ...]
    #: number of starts; 0 for a number that does not depend on a measurement
    starts: int
    #: why an end of the interval is not known, for an interval that may lack one
    without_ends: str = ""

    def ends(self, label: str) -> tuple[float, float]:
        """Both ends of the interval. Raises DataError where it has none."""
        if self.interval.low is None or self.interval.high is None:
            raise DataError(f"{label}: {self.without_ends}")
        return self.interval.low, self.interval.high


@dataclass(frozen=True, slots=True)
class ClaimComparison:
    """A number that a claim is judged by."""

    #: what the number is
    label: str
    estimate: Estimate
    #: the range in which it lies if the claim holds
    expected: Range

    @property
    def verdict(self) -> ClaimVerdict:
        return self.expected.verdict(*self.estimate.ends(self.label))

    @property
    def margin(self) -> float:
        return self.expected.margin(*self.estimate.ends(self.label))

    def __str__(self) -> str:
        low, high = self.estimate.ends(self.label)
        number = f"{self.estimate.interval.estimate:.3g} [{low:.3g}, {high:.3g}]"
        return f"{self.label} {number}" + (f" ({self.estimate.absolute})" if self.estimate.absolute else "")


Comparisons = Iterator[ClaimComparison]


@dataclass(frozen=True, slots=True)
class Decision:
    """What comparisons say about a claim."""

    #: all comparisons, the least favourable first
    compared: tuple[ClaimComparison, ...]
    verdict: ClaimVerdict
    #: when the claim holds, and how many comparisons agree
    criterion: str

    @property
    def measured(self) -> str:
        """The least favourable comparison."""
        return str(self.compared[0]) + ("; the least favourable comparison" if len(self.compared) > 1 else "")

    @property
    def cells(self) -> tuple[str, ...]:
        """What the comparisons are based on."""
        return tuple(dict.fromkeys(cell for comparison in self.compared for cell in comparison.estimate.cells))


def decide(comparisons: Iterable[ClaimComparison], *, mostly: bool = False) -> Decision | None:
    """The decision on a claim; None without a comparison. Raises DataError where a comparison has no interval.

    mostly: more than half of the comparisons decide; otherwise all must agree
    """
    compared = sorted(comparisons, key=lambda found: (_DECIDING.index(found.verdict), found.margin))
    if not compared:
        return None
    first = compared[0]
    votes = Counter(comparison.verdict for comparison in compared)
    verdict = first.verdict
    if mostly:
        verdict = next((v for v, count in votes.items() if 2 * count > len(compared)), ClaimVerdict.NOT_DECIDABLE)
    return Decision(tuple(compared), verdict, _criterion(first, votes, mostly=mostly))


def _criterion(first: ClaimComparison, votes: Counter[ClaimVerdict], *, mostly: bool) -> str:
    words = f"holds if {first.expected}"
    total = votes.total()
    if total > 1:
        counted = ", ".join(f"{votes[verdict]} {verdict}" for verdict in reversed(_DECIDING) if votes[verdict])
        words += f", in {'more than half' if mostly else 'each'} of {total} comparisons: {counted}"
    if first.verdict is ClaimVerdict.NOT_DECIDABLE:
        words += "; the interval lies across the limit"
    return words


def table(found: Iterable[Claim], source: str, profile: str) -> Iterator[Table]:
    """The claims of a publication: a table for each broker and profile.

    source: the publication
    profile: what a profile is called
    """
    for (broker, name), of_broker in grouped(found, lambda claim: (claim.broker, claim.profile)).items():
        yield Table.of(
            f"Claims of {source} as measured on {broker}, {profile} {name}",
            of_broker,
            TableColumn("section", lambda claim: claim.section, number=False),
            TableColumn("claim", lambda claim: claim.claim, number=False),
            TableColumn("published", lambda claim: claim.published, number=False),
            TableColumn("measured", lambda claim: claim.measured or NOTHING, number=False),
            TableColumn("verdict", lambda claim: claim.verdict, number=False),
            kind=lambda claim: claim.verdict.replace(" ", "-"),
            note=lambda claim: claim.reason,
            keys=2,
        )
