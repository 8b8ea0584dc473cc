"""The plane B = x @ parameters as arithmetic on arrays: nothing here knows a cell, a start or a finding.

Errors are multiplicative, so that every weight is 1 / fitted^2. Rows of `x` begin with 1 and end with r, `b` is in s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from analysis.intervals import Matrix, Vector

#: Rounds of 1 / fitted^2; the weights no longer move after the second.
ROUNDS = 3

#: Columns scaled to length 1 are collinear if their smallest singular value is below this.
COLLINEAR = 1e-6

#: Leverage from which a parameter depends on a single row.
LEVERAGE = 1 - 1e-9

#: Relative standard errors below this are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Plane:
    """A fitted plane."""

    parameters: Vector
    #: x @ parameters
    fitted: Vector


def identifiable(x: Matrix) -> bool:
    """Whether the columns are linearly independent."""
    lengths = np.linalg.norm(x, axis=0)
    if len(x) < x.shape[1] or not lengths.all():
        return False
    return bool(np.linalg.svd(x / lengths, compute_uv=False)[-1] > COLLINEAR)


def rests_on_one_row(x: Matrix) -> bool:
    """Whether a parameter depends on a single row; always the case with as many rows as columns."""
    leverage = (np.linalg.qr(x / np.linalg.norm(x, axis=0))[0] ** 2).sum(axis=1)
    return bool(leverage.max() > LEVERAGE)


def iterated_wls(b: Vector, x: Matrix) -> Plane:
    """Weighted least squares with weights 1 / fitted^2, iterated from weights 1 / observed^2.

    Where a fitted value is not positive, the observed value is used in the weights instead. `b` may have a first axis
    of replicates: then each is fitted separately, and the results have that axis as well.
    """
    reference, parameters = b, b
    for _ in range(ROUNDS + 1):
        q, r = np.linalg.qr(x / reference[..., None])
        right = q.swapaxes(-1, -2) @ (b / reference)[..., None]
        parameters = np.linalg.solve(r, right)[..., 0]
        fitted = parameters @ x.T
        reference = np.where(fitted > 0, fitted, b)
    return Plane(parameters, fitted)


def lack_of_fit_f(relative: Vector, covariance: Matrix, degrees: int, x: Matrix) -> tuple[float, float] | None:
    """F and p of the test that the cells lie on the plane; None without degrees of freedom, or without scatter.

    Hotelling's T^2 in the q = cells - parameters directions orthogonal to the plane, with their covariance:
    (degrees - q + 1) / (q degrees) T^2 is F with q and degrees - q + 1 (Anderson, Multivariate Statistical Analysis,
    2003, section 5.2).

    relative: measured / fitted - 1
    covariance: of `relative`
    degrees: degrees of freedom of the covariance
    x: design matrix, rows divided by the fitted values
    """
    free = x.shape[0] - x.shape[1]
    if free < 1 or degrees < free:
        return None
    directions = np.linalg.qr(x, mode="complete")[0][:, x.shape[1] :]
    scatter = directions.T @ covariance @ directions
    size = np.sqrt(np.diag(scatter))
    if size.min() <= ROUNDING or np.linalg.cond(scatter / np.outer(size, size)) > 1 / COLLINEAR**2:
        return None
    off = directions.T @ relative
    f = float(off @ np.linalg.solve(scatter, off)) * (degrees - free + 1) / (free * degrees)
    return f, float(fdtrc(free, degrees - free + 1, f))
