"""A cap on transmission: B = max(t_rcv + n_fltr t_fltr + r t_tx, r t_sat), as arithmetic on arrays.

At the cap every copy takes t_sat, independent of the other costs, so that B / r = t_sat there and larger
everywhere else: the capped cells are those with the smallest B / r. There is therefore a single split for each number
of capped cells, and all of them are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are loaded on their first use

from analysis.intervals import Matrix, Vector
from analysis.throughput.linear_model import identifiable, rests_on_one_row
from workloads.limits import CAPPED_CELLS

Rows: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = npt.NDArray[np.int_]

#: Replaces values that are not positive; its logarithm drives the search away from them.
_TINY = 1e-100

#: Relative errors below this are rounding, which does not distinguish the models.
ROUNDING = 1e-6

#: Number of standard deviations of a row by which the plane must exceed the cap for the row to be clear of the cap.
CLEAR = 3

#: Parameters counted by AICc in addition to those of the mean: the variance.
_VARIANCE = 1


@dataclass(frozen=True, slots=True)
class Regimes:
    """The best roofline."""

    #: which rows are capped
    capped: Rows
    #: AICc of the plane alone less that of the roofline
    delta_aicc: float


def regimes(b: Vector, x: Matrix) -> Regimes | None:
    """The roofline with the least squares of log residuals; rows of `x` end with r, `b` is in s.

    The errors of both models are log-normal with the same variance, so that their AICc are comparable. None where no
    roofline has at least CAPPED_CELLS rows at the cap and, clear of it, rows that identify the plane: rows near the
    bend may be capped as well, and would then bias t_tx towards t_sat.
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
        fitted
        for fitted in found
        if fitted.capped.sum() >= CAPPED_CELLS.limit and _apart(x, np.flatnonzero(fitted.clear_of_cap(n - parameters)))
    ]
    if not admissible:
        return None
    best = min(admissible, key=lambda fitted: fitted.squares)
    return Regimes(best.capped, aicc(rows.plane_squares(), n, parameters) - aicc(best.squares, n, parameters + 1))


def aicc(squares: float, n: int, k: int) -> float:
    """n ln(squares / n) + 2 k + 2 k (k + 1) / (n - k - 1): Akaike's criterion for normal errors, corrected for small n.

    k counts the variance as well (Burnham and Anderson, Model Selection and Multimodel Inference, 2002, equations
    2.4 and 7.1).
    """
    return n * float(np.log(squares / n + ROUNDING**2)) + 2 * k + 2 * k * (k + 1) / (n - k - 1)


@dataclass(frozen=True, slots=True)
class _Roofline:
    """A fitted roofline."""

    #: sum of squares of the log residuals
    squares: float
    #: per row, plane / (r t_sat)
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

        return float(
            2 * scipy.optimize.least_squares(logs, self._start(np.arange(len(rows))), slopes, method="lm").cost
        )

    def roofline(self, capped: Places, rest: Places) -> _Roofline:
        """The roofline fitted from this split as the starting point."""

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
        result = scipy.optimize.least_squares(logs, start, slopes, method="lm")
        return _Roofline(float(2 * result.cost), self.plane @ result.x[:-1] / (self.cap * result.x[-1]))

    def _start(self, places: Places) -> Vector:
        """The plane fitted to these rows; with non-negative parameters if it would otherwise be negative anywhere."""
        ones = np.ones(len(places))
        free = np.asarray(np.linalg.lstsq(self.plane[places], ones, rcond=None)[0], dtype=float)
        return (
            free
            if (self.plane @ free > 0).all()
            else np.asarray(scipy.optimize.nnls(self.plane[places], ones)[0], dtype=float)
        )


def _apart(x: Matrix, rows: Places) -> bool:
    """Whether these rows identify the plane without any parameter depending on a single row."""
    return identifiable(x[rows]) and not rests_on_one_row(x[rows])
