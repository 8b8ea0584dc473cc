"""The search for the highest load that passes: doubling, then bisection. Pure; the caller runs the probes.

    search = Search(first=4)
    while (base := search.next_base) is not None:
        search = search.answered(base, passed=...)
    search.best, search.ended

The last answer for a BASE counts: if a longer confirmation contradicts a passed probe, the caller calls `answered` for
that BASE again, and the search continues below it. A BASE that passed above one that failed is ignored, so that there
is no failure below the best BASE.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from workloads.errors import WorkloadError


class Ended(StrEnum):
    """Why there is no further probe."""

    FOUND = "found"
    NOTHING_PASSES = "not even the lowest BASE passes"
    EVERYTHING_PASSES = "the highest BASE asked for passes"
    OUT_OF_PROBES = "no probes left"


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one probe."""

    base: int
    passed: bool


@dataclass(frozen=True, slots=True)
class BaseSearch:
    """The state of a search. Raises WorkloadError if its limits leave nothing to search."""

    #: The BASE of the first probe.
    first: int = 1
    #: The highest BASE that is tried.
    most: int = 100_000
    #: The search ends when the lowest failed BASE is at most this share above the best one; a difference of 1 BASE
    #: always ends it.
    resolution: float = 0.05
    #: Maximum number of answers.
    most_probes: int = 12
    #: The answers so far.
    probes: tuple[Trial, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.most:
            raise WorkloadError(f"first BASE of the search: expected 1 to {self.most}, got {self.first}")
        if not 0 <= self.resolution < 1:
            raise WorkloadError(f"resolution of the search: expected a share from 0 to below 1, got {self.resolution}")
        if self.most_probes < 1:
            raise WorkloadError(f"probes of the search: expected at least 1, got {self.most_probes}")

    @property
    def failing(self) -> int | None:
        """The lowest BASE that failed."""
        return min((base for base, passed in self._answers.items() if not passed), default=None)

    @property
    def best(self) -> int | None:
        """The highest BASE that passed, among those below every BASE that failed."""
        failing = self.failing
        return max(
            (base for base, passed in self._answers.items() if passed and (failing is None or base < failing)),
            default=None,
        )

    @property
    def ended(self) -> Ended | None:
        """Why the search has ended; None while there is another probe to run."""
        best, failing = self.best, self.failing
        if failing == 1:
            return Ended.NOTHING_PASSES
        if failing is None and best == self.most:
            return Ended.EVERYTHING_PASSES
        if best is not None and failing is not None and failing - best <= max(1, self.resolution * best):
            return Ended.FOUND
        return Ended.OUT_OF_PROBES if len(self.probes) >= self.most_probes else None

    @property
    def next_base(self) -> int | None:
        """The BASE of the next probe; None once the search has ended."""
        if self.ended is not None:
            return None
        match self.best, self.failing:
            case None, None:
                return self.first
            case None, int(failing):
                return failing // 2
            case int(best), None:
                return min(2 * best, self.most)
            case int(best), int(failing):
                return (best + failing) // 2
        raise AssertionError

    def answered(self, base: int, *, passed: bool) -> BaseSearch:
        """The search with one more probe."""
        return replace(self, probes=(*self.probes, Trial(base, passed)))

    @property
    def _answers(self) -> dict[int, bool]:
        return {probe.base: probe.passed for probe in self.probes}
