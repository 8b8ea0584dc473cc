"""How a row of the audit follows from what was observed and the limit of its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor
from typing import Any, TypeAlias

from analysis.scenario.results import AuditRow, AuditVerdict, DeliveryTimes
from workloads.limits import Rule
from workloads.scenario.periods import Period

#: By place, what is counted there and the first example; a place where nothing is counted may be absent.
Counted: TypeAlias = Mapping[Any, tuple[int, str]]


def judged(
    rule: Rule,
    scope: str,
    observed: float | None,
    why: str,
    *,
    passes: bool | None = None,
    expected: float | None = None,
    period: Period | None = None,
) -> AuditRow:
    """A row that passes or fails: by default it passes up to the limit of its rule; `why` is said if it fails."""
    if passes is None:
        passes = (observed or 0) <= rule.limit
    verdict = AuditVerdict.PASS if passes else AuditVerdict.FAIL
    return AuditRow(rule, scope, observed, verdict, expected, "" if passes else why, period)


def unjudged(
    rule: Rule,
    scope: str,
    why: str,
    *,
    observed: float | None = None,
    expected: float | None = None,
    period: Period | None = None,
    suffices_s: int | None = None,
) -> AuditRow:
    """A row that neither passes nor fails."""
    return AuditRow(rule, scope, observed, AuditVerdict.NOT_JUDGED, expected, why, period, suffices_s)


def deviation(observed: float, expected: float) -> float | None:
    """Relative, signed; None if nothing was expected."""
    return observed / expected - 1 if expected else None


def near(rule: Rule, scope: str, observed: int, expected: float, why: str, period: Period) -> AuditRow:
    """A count that may differ from the expected one by the limit, rounded outwards, as counts are whole numbers."""
    low, high = floor((1 - rule.limit) * expected), ceil((1 + rule.limit) * expected)
    passes = low <= observed <= high
    off = deviation(observed, expected)
    return judged(rule, scope, off, why, passes=passes, expected=expected, period=period)


def share(rule: Rule, scope: str, part: int, whole: int, words: str, nothing: str, period: Period) -> AuditRow:
    """A share that has a limit; `words`: of what it is one; `nothing`: why it is not judged if there is no whole."""
    if not whole:
        return unjudged(rule, scope, nothing, period=period)
    return judged(rule, scope, part / whole, f"{part} of {whole} {words}", period=period)


def percentile(rule: Rule, scope: str, found: DeliveryTimes, period: Period, nothing: str, noun: str = "") -> AuditRow:
    """A 90th percentile in ms that has a limit; `nothing`: why it is not judged if there is none."""
    if found.p90_ms is None:
        return unjudged(rule, scope, nothing, period=period)
    why = f"{found.p90_ms:.0f} ms at the 90th percentile of {found.count}{noun}"
    return judged(rule, scope, found.p90_ms, why, period=period)


def zero(rule: Rule, scopes: Mapping[Any, str], found: Counted) -> list[AuditRow]:
    """A row for each place whose count must be zero; `scopes`: the places and what they are called."""
    return [judged(rule, scope, *found.get(place, (0, ""))) for place, scope in scopes.items()]


def summed(found: Iterable[tuple[Any, int, Iterable[Any]]]) -> dict[Any, tuple[int, Any]]:
    """By place, the sum of the numbers and the least of the examples that there are, None without one.

    found: place, number, and examples, of which some may be None
    """
    sums: dict[Any, tuple[int, Any]] = {}
    for place, number, examples in found:
        total, least = sums.get(place, (0, None))
        known = [example for example in (least, *examples) if example is not None]
        sums[place] = total + number, min(known, default=None)
    return sums
