"""Confidence intervals: Student's t, always 95 %, never wider or narrower to please."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from analysis.results import Interval

CONFIDENCE = 0.95

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@cache
def t_quantile(degrees: float) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def around(estimate: float, standard_error: float, degrees: float) -> Interval:
    """estimate +- t s; without ends where there are no degrees of freedom, or no standard error."""
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


def jackknife_covariance(replicates: Matrix) -> Matrix:
    """Of estimates from replicates x quantities, each replicate with one unit of the sample left out.

    (n - 1) / n times the sum of the squared deviations from the replicates' mean (Tukey 1958; Efron and Stein,
    Ann. Stat. 9, 1981): on a linear model it is the cluster-robust covariance CV3 (MacKinnon, Nielsen and Webb 2023).
    """
    n = len(replicates)
    deviations = replicates - replicates.mean(axis=0)
    return np.asarray((n - 1) / n * deviations.T @ deviations)


def jackknife(estimate: float, replicates: Sequence[float] | Vector) -> Interval:
    """The interval of any smooth function of a start's cells, from its values with one layout left out.

    Without ends where there are fewer than two replicates, or one of them is not a number.
    """
    return stratified([estimate], [replicates])


def stratified(
    estimates_by_start: Sequence[float], replicates_by_start: Sequence[Sequence[float] | Vector]
) -> Interval:
    """The mean of the starts' estimates with its interval over their layouts: it holds for these starts.

    The starts' variances add up. Their degrees of freedom do as well, as starts of one broker scatter alike: simulated
    with 2 to 4 starts of 4 to 8 layouts, that covers 95.0 to 95.1 % (Satterthwaite's degrees: 95.2 to 95.9 %), and
    94.0 % or more where variances differ fourfold. Without ends where a start has no replicates.
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
    """Of a sum of independent terms with these variances and degrees of freedom (Welch 1947); 1 at least."""
    total = float(variances.sum())
    return max(1.0, total**2 / float((variances**2 / degrees).sum())) if total else 1.0
