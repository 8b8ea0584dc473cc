"""How many layouts a run needs for `--precision P`: Stein's two stages (Ann. Math. Stat. 16, 1945).

A pilot of a fixed number of layouts tells how much the coefficients scatter between layouts; the number of layouts
follows from that once, and is never looked at again, so that the interval keeps its coverage: its scatter and its
degrees of freedom stay those of the pilot (`analysis.throughput.rotation.estimate`, `analysis.throughput.fit`).
Called between layouts while a run measures, so that nothing here imports Spark or statsmodels.
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

#: Of the precision asked for, that the number of layouts aims at: the estimate itself moves by some % after the pilot.
AIM = 0.95


def layouts_needed(
    slices_by_start: Sequence[Sequence[MeasuredSlice]],
    rows: Mapping[Any, Sequence[float]],
    precision: float,
    starts: int | None = None,
) -> int:
    """Layouts per start, so that no coefficient's half-width exceeds `precision`; the pilot's number at least.

    slices_by_start: counted slices of the starts so far; of each the first PILOT_LAYOUTS layouts are taken · rows: for
    every cell of the fit 1, n_fltr and r, as `analysis.throughput.linear_model.regressors` has them; other cells only
    tell the level of the rounds · precision: relative to the coefficient, or to the smallest B where the pilot cannot
    tell it from 0 · starts: of the whole run, where some are still to come. Raises DataError where the cells do not
    identify the model, or a start has no pilot yet.
    """
    parameters, variances, smallest_s = [], [], []
    for slices in slices_by_start:
        pilot = sorted({one.layout for one in slices})[:PILOT_LAYOUTS]
        if len(pilot) < PILOT_LAYOUTS:
            raise DataError(f"{len(pilot)} layouts, a pilot has {PILOT_LAYOUTS}")
        start = estimate([one for one in slices if one.layout in pilot])
        measured = np.vstack([start.estimates_s, start.replicates_s])
        places = [
            place for place, cell in enumerate(start.cells) if cell in rows and np.isfinite(measured[:, place]).all()
        ]
        x = np.array([rows[start.cells[place]] for place in places], dtype=float)
        if not places or not identifiable(x):
            raise DataError(f"{len(places)} cells of the pilot do not tell the coefficients apart")
        fitted = iterated_wls(measured[:, places], x).parameters
        parameters.append(fitted[0])
        variances.append(np.diag(jackknife_covariance(fitted[1:])) * PILOT_LAYOUTS)
        smallest_s.append(measured[0, places].min())
    if not parameters:
        raise DataError("no start, so that there is no pilot")
    number = max(len(parameters), starts or 1)
    of_one = np.sqrt(np.mean(variances, axis=0) / number) * t_quantile(number * (PILOT_LAYOUTS - 1))
    allowed = [
        AIM * precision * (value if half / np.sqrt(PILOT_LAYOUTS) < value else np.mean(smallest_s))
        for value, half in zip(np.abs(np.mean(parameters, axis=0)), of_one, strict=True)
    ]
    asked = [float(half / limit) ** 2 for half, limit in zip(of_one, allowed, strict=True)]
    return max(PILOT_LAYOUTS, ceil(max(asked)))
