"""The plane B = x @ parameters as arithmetic on arrays: nothing here knows a cell, a start or a finding.

Errors are multiplicative, so that every weight is 1 / fitted^2. Rows of `x` begin with 1 and end with r, `b` is in s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.special import fdtrc

from analysis import student
from analysis.intervals import CONFIDENCE, Matrix, Vector

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
    #: the values by which the rows were divided in the last iteration
    reference: Vector


def identifiable(x: Matrix) -> bool:
    """Whether the columns are linearly independent."""
    lengths = np.linalg.norm(x, axis=0)
    if len(x) < x.shape[1] or not lengths.all():
        return False
    return bool(np.linalg.svd(x / lengths, compute_uv=False)[-1] > COLLINEAR)


def rests_on_one_row(x: Matrix) -> bool:
    """Whether a parameter depends on a single row; always the case with as many rows as columns."""
    return bool(_leverage(x).max() > LEVERAGE)


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
        used, reference = reference, np.where(fitted > 0, fitted, b)
    return Plane(parameters, parameters @ x.T, used)


def non_negative(b: Vector, x: Matrix, reference: Vector) -> Vector:
    """Least squares with weights 1 / reference^2 and no parameter below 0 (Lawson and Hanson 1974, chapter 23)."""
    scale = np.linalg.norm(x / reference[:, None], axis=0)
    estimates: Vector = nnls(x / reference[:, None] / scale, b / reference)[0] / scale
    return estimates


def at_most(estimate: float, standard_error: float, degrees: int) -> float:
    """A one-sided 95 % upper bound for a quantity that cannot be negative, from an estimate that may be.

    The u with P(T <= (estimate - u) / s) = 0.05 P(T <= estimate / s), T being Student's t. Far above 0 it is the
    ordinary bound; near and below 0, where the ordinary bound would be too small or negative, its coverage exceeds 95 %
    and it stays positive (CLs: Read, J. Phys. G 28, 2002, page 2693; Zech, Nucl. Instrum. Meth. A 277, 1989, page 608).
    """
    share = (1 - CONFIDENCE) * student.cumulative(degrees, estimate / standard_error)
    return float(estimate - student.quantile(degrees, share) * standard_error)


def left_out_errors(b: Vector, x: Matrix) -> Vector:
    """Per row: (predicted from all other rows) / observed - 1, at the weights of the fit with all rows.

    The residual of a row that was left out is e / (1 - h), h its leverage (PRESS: Allen, Technometrics 16, 1974).
    """
    plane = iterated_wls(b, x)
    errors: Vector = (plane.fitted - b) / (1 - _leverage(x / plane.reference[:, None])) / b
    return errors


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


def _leverage(x: Matrix) -> Vector:
    leverage: Vector = (np.linalg.qr(x / np.linalg.norm(x, axis=0))[0] ** 2).sum(axis=1)
    return leverage
