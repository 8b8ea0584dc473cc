"""Where a ratio lies if a claim of a publication holds."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from workloads.limits import AS_PUBLISHED
from workloads.status import ClaimVerdict


@dataclass(frozen=True, slots=True)
class Range:
    """Where a ratio lies if a claim holds; both ends excluded."""

    low: float
    high: float

    def __str__(self) -> str:
        if self.high == inf:
            return f"above {self.low:.4g}"
        return f"below {self.high:.4g}" if self.low == 0 else f"between {self.low:.4g} and {self.high:.4g}"

    def verdict(self, low: float, high: float) -> ClaimVerdict:
        """Of an interval: reproduced if all of it lies inside, not reproduced if all of it lies outside."""
        if self.low < low and high < self.high:
            return ClaimVerdict.REPRODUCED
        if high <= self.low or low >= self.high:
            return ClaimVerdict.NOT_REPRODUCED
        return ClaimVerdict.NOT_DECIDABLE

    def margin(self, low: float, high: float) -> float:
        """How far an interval is from leaving the range, relative to the nearer limit; negative once it does."""
        return min(low / self.low - 1 if self.low else inf, inf if self.high == inf else 1 - high / self.high)


LARGER = Range(1, inf)
SMALLER = Range(0, 1)


def published(ratio: float) -> Range:
    """The range around the ratio of a publication."""
    return Range(ratio / AS_PUBLISHED.limit, ratio * AS_PUBLISHED.limit)
