"""Whether a period was in a steady state: throughput as at the end of the warm-up, and a backlog without a trend.

Source: run rules, section 3.3; the limits are in `workloads.scenario.limits`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.intervals import around
from analysis.results import Interval
from analysis.scenario.audit_rows import judged, unjudged
from analysis.scenario.results import AuditRow
from workloads.scenario import limits
from workloads.scenario.periods import Period

#: Parts of a period, of each of which one value counts.
BATCHES = 6


def level(
    before: Sequence[int], received_per_s: float, chance_per_s: float, period: Period, suffices_s: int | None = None
) -> AuditRow:
    """Compares the throughput at the end of the warm-up with that of the period.

    before: copies received in each of the last seconds of the warm-up
    received_per_s: copies received per second in the period
    chance_per_s: standard deviation of the planned load over those seconds, per second; see `granularity`
    period: the one that is judged
    suffices_s: length of a warm-up with which the test is judged; see `warm_up_s`
    """
    if not before or not received_per_s:
        why = "the warm-up is too short: no whole second in its last third"
        return unjudged(limits.LEVEL, "run", why, period=period, suffices_s=suffices_s)
    observed = float(np.mean(before)) / received_per_s - 1
    chance = limits.DEVIATIONS * chance_per_s / received_per_s
    if chance > limits.LEVEL.limit:
        why = f"too short: the load itself varies by up to {chance:.0%} in {len(before)} s"
        return unjudged(limits.LEVEL, "run", why, observed=observed, period=period, suffices_s=suffices_s)
    why = f"{np.mean(before):.1f} copies/s at the end of the warm-up, {received_per_s:.1f} in the period"
    return judged(limits.LEVEL, "run", observed, why, passes=abs(observed) <= limits.LEVEL.limit, period=period)


def granularity(copies: Mapping[int, tuple[float, float]], seconds: float, *, poisson: bool) -> float:
    """Standard deviation of the copies in a window of the planned load, per second of the window.

    copies: by interaction, executions per second and copies per execution
    seconds: length of the window
    poisson: whether arrivals are a Poisson process, where the variance equals the number of executions; with constant,
        evenly staggered arrivals a window has up to one execution more or less, a variance of at most 1/4
    """
    if not seconds:
        return 0.0
    variance = sum((rate_per_s * seconds if poisson else 0.25) * each**2 for rate_per_s, each in copies.values())
    return sqrt(variance) / seconds


def warm_up_s(copies: Mapping[int, tuple[float, float]], *, poisson: bool) -> int | None:
    """A warm-up in whole seconds in whose last third the planned load varies little enough to judge the throughput.

    copies, poisson: as in `granularity`. None if nothing is received.
    """
    received_per_s = sum(rate_per_s * each for rate_per_s, each in copies.values())
    if not received_per_s:
        return None
    allowed_per_s = limits.LEVEL.limit * received_per_s / limits.DEVIATIONS
    of_one_s = granularity(copies, 1, poisson=poisson) / allowed_per_s
    window_s = ceil(of_one_s**2 if poisson else of_one_s)  # as the granularity falls with the length of the window
    return ceil((window_s + 1) / limits.WARM_UP_SHARE)  # its ends may cut a second


def trend(backlog: Sequence[int]) -> Interval:
    """Growth of a backlog in copies per second, from one value per second.

    A line is fitted to the means of a few batches, with the t interval of their residuals: the longer the batches, the
    less successive batches correlate (Law, *Simulation Modeling and Analysis*, section 9.5.3). In a minute whose
    successive seconds have an autocorrelation of 0.9, six batches report growth where there is none in 7 % of the
    cases; an estimator of the autocorrelation (Newey, West 1987) does so in 20 % and more.
    """
    each = len(backlog) // BATCHES
    values = np.asarray(backlog[len(backlog) - each * BATCHES :], dtype=float)
    return slope_of((np.arange(BATCHES) + 0.5) * each, values.reshape(BATCHES, each).mean(axis=1))


def slope_of(x: npt.NDArray[np.floating[Any]], y: npt.NDArray[np.floating[Any]]) -> Interval:
    """The slope of the line through one value of each part, with the t interval of its residuals."""
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    return around(slope, np.sqrt(covariance[0, 0]), len(x) - 2)


def backlog(seconds: Sequence[int], received_per_s: float, period: Period) -> AuditRow:
    """Fails if the whole interval of the growth is above the limit; passes if the whole interval is within it."""
    if len(seconds) < limits.BACKLOG_SECONDS or not received_per_s:
        why = f"too short: {len(seconds)} s, judged from {limits.BACKLOG_SECONDS} s on"
        return unjudged(limits.BACKLOG, "run", why, period=period, suffices_s=limits.BACKLOG_SECONDS + 1)
    slope = trend(seconds)
    observed = slope.estimate / received_per_s
    low, high = (0.0 if end is None else end / received_per_s for end in (slope.low, slope.high))
    span = f"{observed:+.2%} of the receive rate, 95 % interval {low:+.2%} to {high:+.2%}"
    if not (low > limits.BACKLOG.limit or high <= limits.BACKLOG.limit):
        why = f"the period is too short to decide: {span}"
        return unjudged(limits.BACKLOG, "run", why, observed=observed, period=period)
    why = f"from {seconds[0]} to {seconds[-1]} copies; it grows by {span}"
    return judged(limits.BACKLOG, "run", observed, why, passes=high <= limits.BACKLOG.limit, period=period)
