"""The number of layouts that a run needs for `--precision P`: Stein's two-stage procedure (Ann. Math. Stat. 16, 1945).

A pilot with a fixed number of layouts estimates the scatter of the coefficients between layouts; the number of layouts
is determined from it once and not revised, so that the interval keeps its coverage: its scatter and degrees of freedom
are those of the pilot (`analysis.throughput.rotation.estimate`, `analysis.throughput.fit`). Called between layouts
while a run measures, so that nothing here imports Spark or statsmodels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np

from analysis.errors import DataError
from analysis.intervals import jackknife_covariance, t_quantile
from analysis.throughput.linear_model import identifiable, iterated_wls
from analysis.throughput.rotation import MeasuredSlice, estimate
from workloads.throughput.presets import PILOT_LAYOUTS

#: Share of the precision asked for at which the number of layouts aims: the estimate changes by some % after the pilot.
AIM = 0.95


def layouts_needed(
    slices_by_start: Sequence[Sequence[MeasuredSlice]],
    rows: Mapping[Any, Sequence[float]],
    precision: float,
    starts: int | None = None,
) -> int:
    """Layouts per start with which no coefficient's half-width exceeds `precision`; at least those of the pilot.

    Raises DataError where the cells do not identify the model, or a start has no pilot yet.

    slices_by_start: counted slices of the starts so far; the first PILOT_LAYOUTS layouts of each are used
    rows: for every cell of the fit 1, n_fltr and r, as in `analysis.throughput.linear_model.regressors`; other cells
        only contribute to the levels of the rounds
    precision: relative to the coefficient; where that does not differ significantly from 0 in the pilot, relative to B
        in the cell where the coefficient matters most
    starts: number of starts of the whole run, where some are still to be measured
    """
    parameters, variances, floors_s = [], [], []
    for slices in slices_by_start:
        pilot = sorted({measured_slice.layout for measured_slice in slices})[:PILOT_LAYOUTS]
        if len(pilot) < PILOT_LAYOUTS:
            raise DataError(f"{len(pilot)} layouts, a pilot has {PILOT_LAYOUTS}")
        start = estimate([measured_slice for measured_slice in slices if measured_slice.layout in pilot])
        measured = np.vstack([start.estimates_s, start.replicates_s])
        columns = [
            column for column, cell in enumerate(start.cells) if cell in rows and np.isfinite(measured[:, column]).all()
        ]
        x = np.array([rows[start.cells[column]] for column in columns], dtype=float)
        if not columns or not identifiable(x):
            raise DataError(f"{len(columns)} cells of the pilot do not identify the coefficients")
        fitted = iterated_wls(measured[:, columns], x).parameters
        parameters.append(fitted[0])
        variances.append(np.diag(jackknife_covariance(fitted[1:])) * PILOT_LAYOUTS)
        floors_s.append(1 / (x / measured[0, columns][:, np.newaxis]).max(axis=0))
    if not parameters:
        raise DataError("no start, so that there is no pilot")
    number = max(len(parameters), starts or 1)
    of_layout = np.sqrt(np.mean(variances, axis=0) / number) * t_quantile(number * (PILOT_LAYOUTS - 1))
    allowed = [
        AIM * precision * (value if half / np.sqrt(PILOT_LAYOUTS) < value else floor_s)
        for value, half, floor_s in zip(
            np.abs(np.mean(parameters, axis=0)), of_layout, np.mean(floors_s, axis=0), strict=True
        )
    ]
    asked = [float(half / limit) ** 2 for half, limit in zip(of_layout, allowed, strict=True)]
    return max(PILOT_LAYOUTS, ceil(max(asked)))
