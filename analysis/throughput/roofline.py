"""A cap on transmission: B = max(t_rcv + n_fltr t_fltr + r t_tx, r t_sat), as arithmetic on arrays.

Under the cap every copy takes t_sat, whatever else the message costs, so that B / r = t_sat there and more
everywhere else: the capped cells are those with the smallest B / r. This leaves one split per number of capped
cells, and all of them are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares, nnls

from analysis.intervals import Matrix, Vector
from analysis.throughput.linear_model import identifiable, rests_on_one_row
from workloads.limits import CAPPED_CELLS

Rows: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = npt.NDArray[np.int_]

#: What is not positive becomes this, whose logarithm drives a search away.
_TINY = 1e-100

#: Relative errors below this are rounding, of which no model explains more than another.
ROUNDING = 1e-6

#: Standard deviations of a row by which the plane is above the cap, for the row to be clear of it.
CLEAR = 3

#: Parameters counted by AICc beside those of the mean: the variance.
_VARIANCE = 1


@dataclass(frozen=True, slots=True)
class Regimes:
    """The best roofline: which rows are capped, and how much higher the AICc of the plane alone is."""

    capped: Rows
    delta_aicc: float


def regimes(b: Vector, x: Matrix) -> Regimes | None:
    """The roofline with the least squares of log residuals; rows of `x` end with r, `b` is in s.

    The errors of both models are log-normal with one variance, so that their AICc may be compared. None where no
    roofline has at least CAPPED_CELLS rows at the cap and, clear of it, rows that identify the plane: rows at the
    bend may be capped as well, and would then show t_sat where t_tx is asked.
    """
    n, parameters = len(b), x.shape[1] + _VARIANCE
    replication = x[:, -1]
    if n <= parameters + 2 or not (replication > 0).all():
        return None
    rows = _Rows.of(b, x)
    order = np.argsort(b / replication)
    splits = [(order[:count], order[count:]) for count in range(round(CAPPED_CELLS.limit), n - x.shape[1])]
    found = [rows.roofline(capped, rest) for capped, rest in splits if _apart(x, rest)]
    admissible = [
        one
        for one in found
        if one.capped.sum() >= CAPPED_CELLS.limit and _apart(x, np.flatnonzero(one.clear_of_cap(n - parameters)))
    ]
    if not admissible:
        return None
    best = min(admissible, key=lambda one: one.squares)
    return Regimes(best.capped, aicc(rows.plane_squares(), n, parameters) - aicc(best.squares, n, parameters + 1))


def aicc(squares: float, n: int, k: int) -> float:
    """n ln(squares / n) + 2 k + 2 k (k + 1) / (n - k - 1): Akaike's criterion for normal errors, corrected for small n.

    k counts the variance as well (Burnham and Anderson, Model Selection and Multimodel Inference, 2002, equations
    2.4 and 7.1).
    """
    return n * float(np.log(squares / n + ROUNDING**2)) + 2 * k + 2 * k * (k + 1) / (n - k - 1)


@dataclass(frozen=True, slots=True)
class _Roofline:
    """A fitted roofline: its sum of squares, and per row plane / (r t_sat)."""

    squares: float
    above: Vector

    @property
    def capped(self) -> Rows:
        return np.asarray(self.above < 1)

    def clear_of_cap(self, degrees: int) -> Rows:
        return np.asarray(np.log(np.maximum(self.above, _TINY)) > CLEAR * np.sqrt(self.squares / degrees))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows divided by their B, columns of length 1: residuals are logs of a sum, parameters are about 1."""

    plane: Matrix
    cap: Vector

    @classmethod
    def of(cls, b: Vector, x: Matrix) -> _Rows:
        relative = x / b[:, None]
        rows: Matrix = relative / np.linalg.norm(relative, axis=0)
        return cls(rows, rows[:, -1])

    def plane_squares(self) -> float:
        """Sum of squares of the log residuals of the plane alone."""
        rows = self.plane

        def logs(parameters: Vector) -> Vector:
            return np.log(np.maximum(rows @ parameters, _TINY))

        def slopes(parameters: Vector) -> Matrix:
            return np.asarray(rows / np.maximum(rows @ parameters, _TINY)[:, None])

        return float(2 * least_squares(logs, self._start(np.arange(len(rows))), slopes, method="lm").cost)

    def roofline(self, capped: Places, rest: Places) -> _Roofline:
        """From this split on."""

        def model(parameters: Vector) -> tuple[Matrix, Vector]:
            plane, cap = self.plane @ parameters[:-1], self.cap * parameters[-1]
            at_cap = (cap > plane)[:, None]
            return np.hstack([self.plane * ~at_cap, self.cap[:, None] * at_cap]), np.maximum(plane, cap)

        def logs(parameters: Vector) -> Vector:
            return np.log(np.maximum(model(parameters)[1], _TINY))

        def slopes(parameters: Vector) -> Matrix:
            rows, value = model(parameters)
            return np.asarray(rows / np.maximum(value, _TINY)[:, None])

        start = np.append(self._start(rest), 1 / self.cap[capped].mean())
        result = least_squares(logs, start, slopes, method="lm")
        return _Roofline(float(2 * result.cost), self.plane @ result.x[:-1] / (self.cap * result.x[-1]))

    def _start(self, places: Places) -> Vector:
        """The plane on these rows; without a parameter below 0 where it would be below 0 somewhere."""
        ones = np.ones(len(places))
        free = np.asarray(np.linalg.lstsq(self.plane[places], ones, rcond=None)[0], dtype=float)
        return free if (self.plane @ free > 0).all() else np.asarray(nnls(self.plane[places], ones)[0], dtype=float)


def _apart(x: Matrix, rows: Places) -> bool:
    """Whether these rows identify the plane, and none of them alone a parameter of it."""
    return identifiable(x[rows]) and not rests_on_one_row(x[rows])
