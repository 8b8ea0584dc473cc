"""Whether a period was in a steady state: its throughput against the end of the warm-up, its backlog without trend.

Source: run and reporting rules of SPECjms2007, section 3.3; the limits stand in `workloads.specjms2007.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, sqrt

import numpy as np
import statsmodels.api as sm

from analysis.intervals import CONFIDENCE
from analysis.results import Interval
from analysis.workload.results import Judgement
from workloads.specjms2007 import rules


@dataclass(frozen=True, slots=True)
class Judged:
    """What a test says: `observed` in the rule's unit, None where there is nothing to observe."""

    observed: float | None
    judgement: Judgement
    why: str = ""


def level(before: Sequence[int], received_per_s: float, chance_per_s: float) -> Judged:
    """The copies of the last seconds of the warm-up against the period's rate.

    chance_per_s: standard deviation of a count of that many seconds, of the load itself, per second; see `granularity`.
    """
    if not before or not received_per_s:
        return Judged(None, Judgement.NOT_JUDGED, "the warm-up is too short: no whole second in its last third")
    observed = float(np.mean(before)) / received_per_s - 1
    chance = rules.DEVIATIONS * chance_per_s / received_per_s
    if chance > rules.LEVEL.limit:
        return Judged(
            observed,
            Judgement.NOT_JUDGED,
            f"too short: what the load itself varies by in {len(before)} s is up to {chance:.0%}",
        )
    failed = abs(observed) > rules.LEVEL.limit
    why = f"{np.mean(before):.1f} copies/s at the end of the warm-up, {received_per_s:.1f} in the period"
    return Judged(observed, Judgement.FAIL if failed else Judgement.PASS, why if failed else "")


def granularity(copies: Mapping[int, tuple[float, float]], seconds: float, *, poisson: bool) -> float:
    """Standard deviation of the copies in a window of the load as planned, per second of the window.

    copies: by interaction, executions per second and copies per execution. Of constant arrivals, evenly staggered, a
    window has an execution more or less: variance 1/4 at most. Of Poisson arrivals the variance is their number.
    """
    if not seconds:
        return 0.0
    variance = sum((rate_per_s * seconds if poisson else 0.25) * each**2 for rate_per_s, each in copies.values())
    return sqrt(variance) / seconds


def trend(backlog: Sequence[int]) -> Interval:
    """By how many copies a backlog, taken once a second, grows per second.

    Least squares with an interval that allows for autocorrelation: Newey, West, *A Simple, Positive Semi-Definite,
    Heteroskedasticity and Autocorrelation Consistent Covariance Matrix* (1987), with 4 (n / 100)^(2/9) lags as in their
    *Automatic Lag Selection in Covariance Matrix Estimation* (1994).
    """
    values = np.asarray(backlog, dtype=float)
    if np.ptp(values) == 0:
        return Interval(0.0, 0.0, 0.0)
    lags = floor(4 * (len(values) / 100) ** (2 / 9))
    design = sm.add_constant(np.arange(len(values), dtype=float))
    fitted = sm.OLS(values, design).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": True}, use_t=True)
    low, high = fitted.conf_int(alpha=1 - CONFIDENCE)[1]
    return Interval(float(fitted.params[1]), float(low), float(high))


def backlog(seconds: Sequence[int], received_per_s: float) -> Judged:
    """Fails where it grows for certain by more than the limit; passes where it certainly does not."""
    if len(seconds) < rules.BACKLOG_SECONDS or not received_per_s:
        return Judged(
            None, Judgement.NOT_JUDGED, f"too short: {len(seconds)} s, judged from {rules.BACKLOG_SECONDS} s on"
        )
    slope = trend(seconds)
    observed = slope.estimate / received_per_s
    low, high = (0.0 if end is None else end / received_per_s for end in (slope.low, slope.high))
    span = f"{observed:+.2%} of what is received, 95 % interval {low:+.2%} to {high:+.2%}"
    if low > rules.BACKLOG.limit:
        return Judged(observed, Judgement.FAIL, f"from {seconds[0]} to {seconds[-1]} copies; it grows by {span}")
    if high <= rules.BACKLOG.limit:
        return Judged(observed, Judgement.PASS)
    return Judged(observed, Judgement.NOT_JUDGED, f"the period does not tell: {span}")
