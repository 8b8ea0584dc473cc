"""Confidence intervals: Student's t, always 95 %, never wider or narrower to please."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.results import Interval

CONFIDENCE = 0.95

Vector = npt.NDArray[np.float64]


@cache
def t_quantile(degrees: float) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, degrees))


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


def ratio_interval(numerators: Sequence[float], denominators: Sequence[float]) -> Interval:
    """sum(numerators) / sum(denominators) with its t interval over the windows (a rate, or a time per message).

    The variance is that of a ratio estimator, sum (y - R x)^2 / ((n - 1) n mean(x)^2) (Cochran, Sampling
    Techniques, 1977, section 2.11). With equal denominators it is the ordinary t interval of the mean.
    """
    y, x = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    ratio, n = y.sum() / x.sum(), len(y)
    if n == 1:
        return Interval(float(ratio))
    variance = ((y - ratio * x) ** 2).sum() / ((n - 1) * n * x.mean() ** 2)
    return around(ratio, np.sqrt(variance), n - 1)


def welch_degrees(variances: Vector, degrees: Vector) -> float:
    """Of a sum of independent terms with these variances and degrees of freedom (Welch 1947); 1 at least."""
    total = float(variances.sum())
    return max(1.0, total**2 / float((variances**2 / degrees).sum())) if total else 1.0


@dataclass(frozen=True)
class Block:
    """Observations that share nuisance columns: y = nuisance @ (its own coefficients) + slope x + error."""

    nuisance: npt.NDArray[np.float64]
    x: Vector
    y: Vector


def pooled_slope(blocks: Sequence[Block]) -> Interval | None:
    """The slope that all blocks have in common, beside the nuisance columns that each has for itself.

    Both sides are freed of the nuisance first (Frisch and Waugh 1933), so that what the nuisance explains is
    never taken for a slope. None where nothing is left to estimate it from.
    """
    x = np.concatenate([_residual(block.nuisance, block.x) for block in blocks] or [np.empty(0)])
    y = np.concatenate([_residual(block.nuisance, block.y) for block in blocks] or [np.empty(0)])
    degrees = len(x) - sum(int(np.linalg.matrix_rank(block.nuisance)) for block in blocks) - 1
    spread = float(x @ x)
    scale = sum(float(block.x @ block.x) for block in blocks)
    if degrees < 1 or spread <= 1e-18 * scale:
        return None
    slope = float(x @ y) / spread
    return around(slope, np.sqrt(((y - slope * x) ** 2).sum() / degrees / spread), degrees)


def _residual(nuisance: npt.NDArray[np.float64], values: Vector) -> Vector:
    coefficients = np.linalg.lstsq(nuisance, values, rcond=None)[0]
    residual: Vector = values - nuisance @ coefficients
    return residual
