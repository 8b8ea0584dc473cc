"""The plane B = x @ parameters as arithmetic on arrays: nothing here knows a cell, a start or a finding.

Errors are multiplicative, so that every weight is 1 / fitted^2. Rows of `x` begin with 1 and end with r, `b` is in s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.stats import f as f_distribution
from scipy.stats import t as student
from statsmodels.regression.linear_model import WLS, RegressionResults

from analysis.intervals import CONFIDENCE, Vector

Matrix = npt.NDArray[np.float64]

#: Parameter -> what it is multiplied by, at n_fltr filters and replication grade r.
REGRESSORS: Mapping[str, Callable[[float, float], float]] = {
    "t_rcv": lambda _n_fltr, _r: 1.0,
    "t_fltr": lambda n_fltr, _r: n_fltr,
    "t_tx": lambda _n_fltr, r: r,
}

#: Rounds of 1 / fitted^2; the weights no longer move after the second.
ROUNDS = 3

#: Columns scaled to length 1 whose smallest singular value is below this say the same thing twice.
COLLINEAR = 1e-6

#: From here on a parameter rests on one row, and HC3 divides by nothing.
LEVERAGE = 1 - 1e-9


def regressors(parameters: Iterable[str], n_fltr: float, replication: float) -> list[float]:
    """The row of the design matrix for these parameters."""
    return [REGRESSORS[name](n_fltr, replication) for name in parameters]


def identifiable(x: Matrix) -> bool:
    """Whether the rows tell the columns apart."""
    lengths = np.linalg.norm(x, axis=0)
    if len(x) < x.shape[1] or not lengths.all():
        return False
    return bool(np.linalg.svd(x / lengths, compute_uv=False)[-1] > COLLINEAR)


def rests_on_one_row(x: Matrix) -> bool:
    """Whether some parameter is lost with a single row: always so with as many rows as columns."""
    return bool(_leverage(x).max() > LEVERAGE)


def iterated_wls(b: Vector, x: Matrix) -> RegressionResults:
    """Weighted least squares with weights 1 / fitted^2, from weights 1 / observed^2 on; statsmodels' result.

    Where a fitted value is not positive, the observed one keeps its place in the weights.
    """
    reference = b
    for _ in range(ROUNDS):
        fitted = x @ np.linalg.lstsq(x / reference[:, None], b / reference, rcond=None)[0]
        reference = np.where(fitted > 0, fitted, b)
    return WLS(b, x, weights=1 / reference**2).fit()


def non_negative(b: Vector, x: Matrix, reference: Vector) -> Vector:
    """Least squares with weights 1 / reference^2 and no parameter below 0 (Lawson and Hanson 1974, chapter 23)."""
    scale = np.linalg.norm(x / reference[:, None], axis=0)
    estimates: Vector = nnls(x / reference[:, None] / scale, b / reference)[0] / scale
    return estimates


def at_most(estimate: float, standard_error: float, degrees: int) -> float:
    """A one-sided 95 % upper bound for a quantity that cannot be negative, from an estimate that may be.

    The u with P(T <= (estimate - u) / s) = 0.05 P(T <= estimate / s), T being Student's t. Far above 0 it is the
    ordinary bound; near 0 and below, where that one would be too small or negative, it covers more often than 95 %
    and stays positive (CLs: Read, J. Phys. G 28, 2002, page 2693; Zech, Nucl. Instrum. Meth. A 277, 1989, page 608).
    """
    share = (1 - CONFIDENCE) * student.cdf(estimate / standard_error, degrees)
    return float(estimate + student.isf(share, degrees) * standard_error)


def left_out_errors(result: RegressionResults) -> Vector:
    """Per row: (predicted from all other rows) / observed - 1, at the weights of the fit with all rows.

    The residual of a row that was left out is e / (1 - h), h its leverage (PRESS: Allen, Technometrics 16, 1974).
    """
    errors: Vector = -result.resid / (1 - _leverage(result.model.wexog)) / result.model.endog
    return errors


def lack_of_fit_f(groups: Sequence[Vector], fitted: Sequence[float], parameters: int) -> tuple[float, float] | None:
    """F and p of the lack-of-fit test: repeated observations per setting against the value fitted there.

    F = (SS_lack / (c - p)) / (SS_pure / (n - c)) for c settings, n observations, p parameters (Kutner et al.,
    Applied Linear Statistical Models, 5th ed., section 3.7). None without a degree of freedom, or where the
    observations of a setting do not differ at all.
    """
    observations = sum(len(group) for group in groups)
    within, between = observations - len(groups), len(groups) - parameters
    pure = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    total = sum(float((group**2).sum()) for group in groups)
    if within < 1 or between < 1 or pure <= 1e-18 * total:
        return None
    lack = sum(len(group) * float(group.mean() - value) ** 2 for group, value in zip(groups, fitted, strict=True))
    f = (lack / between) / (pure / within)
    return f, float(f_distribution.sf(f, between, within))


def _leverage(x: Matrix) -> Vector:
    leverage: Vector = (np.linalg.qr(x / np.linalg.norm(x, axis=0))[0] ** 2).sum(axis=1)
    return leverage
