"""The search for the highest load that passes: doubling, then bisection. Pure; whoever runs the probes answers.

    search = Search(first=4)
    while (base := search.next_base) is not None:
        search = search.answered(base, passed=...)
    search.best, search.ended

An answer is taken as it is, and the last one about a BASE counts: a passed probe that a longer confirmation takes back
is `answered` once more, and the search goes on below it. Whatever passed above a BASE that failed counts for nothing,
so that the best one has no failure below it.
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
    base: int
    passed: bool


@dataclass(frozen=True, slots=True)
class BaseSearch:
    """How far a search has come. Raises WorkloadError where its limits leave nothing to search.

    first: the BASE to begin with · most: no BASE above it is tried · resolution: how far the lowest BASE that failed
    may lie above the best, as a share of it; 1 BASE is always near enough · most_probes: answers, at most.
    """

    first: int = 1
    most: int = 100_000
    resolution: float = 0.05
    most_probes: int = 12
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
        """The highest BASE that passed, of those below every one that failed."""
        failing = self.failing
        return max(
            (base for base, passed in self._answers.items() if passed and (failing is None or base < failing)),
            default=None,
        )

    @property
    def ended(self) -> Ended | None:
        """None while there is something to try."""
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
        """What to try next; None once the search has ended."""
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
