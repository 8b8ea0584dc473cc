"""The search for the highest load that passes: doubling, then bisection. Pure; the caller runs the probes.

    search = LoadSearch(first=4)
    while (value := search.next_value) is not None:
        search = search.answered(value, passed=...)
    search.best, search.ended

What is searched is a quantity with whole numbers as values, such as BASE, all of them multiples of a step.

The last answer for a value counts: if a longer confirmation contradicts a passed probe, the caller calls `answered` for
that value again, and the search continues below it. A value that passed above one that failed is ignored, so that there
is no failure below the best value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from workloads.errors import WorkloadError


class Ended(StrEnum):
    """Why there is no further probe."""

    FOUND = "found"
    NOTHING_PASSES = "not even the lowest value passes"
    EVERYTHING_PASSES = "the highest value asked for passes"
    OUT_OF_PROBES = "no probes left"


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one probe."""

    value: int
    passed: bool


@dataclass(frozen=True, slots=True)
class LoadSearch:
    """The state of a search. Raises WorkloadError if its limits leave nothing to search."""

    #: The value of the first probe.
    first: int = 1
    #: The highest value that is tried.
    most: int = 100_000
    #: The search ends when the lowest failed value is at most this share above the best one; a difference of one step
    #: always ends it.
    resolution: float = 0.05
    #: Maximum number of answers.
    most_probes: int = 12
    #: The values are multiples of it, beginning with itself; a limit that is none is taken as the multiple below.
    step: int = 1
    #: The answers so far.
    probes: tuple[Trial, ...] = ()

    def __post_init__(self) -> None:
        if not self.step <= self.first <= self.most:
            raise WorkloadError(f"first value of the search: expected {self.step} to {self.most}, got {self.first}")
        if not 0 <= self.resolution < 1:
            raise WorkloadError(f"resolution of the search: expected a share from 0 to below 1, got {self.resolution}")
        if self.most_probes < 1:
            raise WorkloadError(f"probes of the search: expected at least 1, got {self.most_probes}")

    @property
    def failing(self) -> int | None:
        """The lowest value that failed."""
        return min((value for value, passed in self._answers.items() if not passed), default=None)

    @property
    def best(self) -> int | None:
        """The highest value that passed, among those below every value that failed."""
        failing = self.failing
        return max(
            (value for value, passed in self._answers.items() if passed and (failing is None or value < failing)),
            default=None,
        )

    @property
    def ended(self) -> Ended | None:
        """Why the search has ended; None while there is another probe to run."""
        best, failing = self.best, self.failing
        if failing == self.step:
            return Ended.NOTHING_PASSES
        if failing is None and best == self._multiple(self.most):
            return Ended.EVERYTHING_PASSES
        if best is not None and failing is not None and failing - best <= max(self.step, self.resolution * best):
            return Ended.FOUND
        return Ended.OUT_OF_PROBES if len(self.probes) >= self.most_probes else None

    @property
    def next_value(self) -> int | None:
        """The value of the next probe; None once the search has ended."""
        if self.ended is not None:
            return None
        match self.best, self.failing:
            case None, None:
                return self._multiple(self.first)
            case None, int(failing):
                return self._multiple(failing // 2)
            case int(best), None:
                return self._multiple(min(2 * best, self.most))
            case int(best), int(failing):
                return self._multiple((best + failing) // 2)
        raise AssertionError

    def answered(self, value: int, *, passed: bool) -> LoadSearch:
        """The search with one more probe."""
        return replace(self, probes=(*self.probes, Trial(value, passed)))

    def _multiple(self, value: int) -> int:
        return max(value // self.step, 1) * self.step

    @property
    def _answers(self) -> dict[int, bool]:
        return {probe.value: probe.passed for probe in self.probes}
