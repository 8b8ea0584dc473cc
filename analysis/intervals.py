"""Student's t distribution, and confidence intervals by it, always at 95 %.

scipy is imported on the first use: it takes longer than all else that reading a stored analysis needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import ceil

import numpy as np
import numpy.typing as npt

from analysis.results import Interval

CONFIDENCE = 0.95

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


def p_value(estimate: float, standard_error: float, degrees: float) -> float:
    """Of the two-sided t test that the estimate is 0."""
    from scipy.special import stdtr  # noqa: PLC0415

    if not standard_error:
        return 1.0 if estimate == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(estimate) / standard_error))


def quantile(degrees: float, probability: float) -> float:
    """The t with P(T <= t) = probability."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))


@cache
def t_quantile(degrees: float) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return quantile(degrees, (1 + CONFIDENCE) / 2)


def around(estimate: float, standard_error: float, degrees: float) -> Interval:
    """estimate +- t s; the ends are None without degrees of freedom, or without a standard error."""
    if degrees < 1 or not np.isfinite(standard_error):
        return Interval(float(estimate))
    half = t_quantile(degrees) * standard_error
    return Interval(float(estimate), float(estimate - half), float(estimate + half))


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of independent values, with the t interval of n - 1 degrees of freedom."""
    array = np.asarray(values, dtype=float)
    if len(array) == 1:
        return Interval(float(array[0]))
    return around(array.mean(), array.std(ddof=1) / np.sqrt(len(array)), len(array) - 1)


def units_needed(units: int, half_width: float, limit: float) -> int:
    """How many layouts, starts or the like narrow an interval to its limit: half-widths fall with their square root.

    units: those that gave this half-width
    """
    return ceil(units * (half_width / limit) ** 2)


def mapped(interval: Interval, function: Callable[[float], float]) -> Interval:
    """The interval of an increasing function of a number."""
    low, high = (None if end is None else float(function(end)) for end in (interval.low, interval.high))
    return Interval(float(function(interval.estimate)), low, high)


def jackknife_covariance(replicates: Matrix) -> Matrix:
    """Covariance of estimates from an array of replicates x quantities, each replicate with one sample unit left out.

    (n - 1) / n times the sum of the squared deviations from the replicates' mean (Tukey 1958; Efron and Stein,
    Ann. Stat. 9, 1981): on a linear model it is the cluster-robust covariance CV3 (MacKinnon, Nielsen and Webb 2023).
    """
    n = len(replicates)
    deviations = replicates - replicates.mean(axis=0)
    return np.asarray((n - 1) / n * deviations.T @ deviations)


def jackknife(estimate: float, replicates: Sequence[float] | Vector) -> Interval:
    """The interval of any smooth function of a start's cells, from its values with one layout left out.

    The ends are None where there are fewer than two replicates, or one of them is NaN.
    """
    return stratified([estimate], [replicates])


def stratified(
    estimates_by_start: Sequence[float], replicates_by_start: Sequence[Sequence[float] | Vector]
) -> Interval:
    """The mean of the starts' estimates with its interval over their layouts, which is valid for these starts only.

    The starts' variances add up. Their degrees of freedom do as well, since starts of the same broker have equal
    scatter: simulated with 2 to 4 starts of 4 to 8 layouts, coverage is 95.0 to 95.1 % (Satterthwaite's degrees: 95.2
    to 95.9 %), and 94.0 % or more where variances differ fourfold. The ends are None where a start has no replicates.
    """
    starts = len(estimates_by_start)
    mean = float(np.mean(estimates_by_start))
    if any(len(replicates) < 2 for replicates in replicates_by_start):
        return Interval(mean)
    variances = [
        float(jackknife_covariance(np.asarray(replicates, dtype=float)[:, None])[0, 0])
        for replicates in replicates_by_start
    ]
    degrees = sum(len(replicates) - 1 for replicates in replicates_by_start)
    return around(mean, np.sqrt(sum(variances)) / starts, degrees)


def welch_degrees(variances: Vector, degrees: Vector) -> float:
    """Degrees of freedom of a sum of independent terms with these variances and degrees (Welch 1947); at least 1."""
    total = float(variances.sum())
    return max(1.0, total**2 / float((variances**2 / degrees).sum())) if total else 1.0
