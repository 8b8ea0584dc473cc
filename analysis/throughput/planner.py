"""The number of layouts for `--precision`: called by the measuring half between two layouts, with its own types.

It imports neither Spark nor statsmodels, since a broker is live while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from analysis.errors import DataError
from analysis.throughput import precision, rotation
from analysis.throughput.linear_model import REGRESSORS, regressors
from workloads.errors import WorkloadError
from workloads.schema import Window

#: (experiment, cell)
Key = tuple[str, str]


def layouts_needed(
    windows: Mapping[Key, Sequence[Window]], plans: Mapping[Key, Mapping[str, Any]], half_width: float, starts: int
) -> int:
    """Layouts per start with which the half-width of no coefficient in the run exceeds `half_width`.

    Raises WorkloadError where the cells do not identify a model.

    windows: the counted slices of all cells of a start, anchors included
    plans: the plan.json entries of its cells, without anchors
    half_width: relative half-width of the 95 % intervals
    starts: number of starts of the run
    """
    slices = [
        rotation.MeasuredSlice.of(key, window)
        for key, of_cell in windows.items()
        for window in of_cell
        if window.planned_per_s is None
    ]
    modelled = sorted(key for key, plan in plans.items() if plan["fits_model"] and plan["pace"] is None)
    try:
        return max(
            precision.layouts_needed([slices], _rows([(key, plans[key]) for key in group]), half_width, starts)
            for _, group in groupby(modelled, key=lambda key: (key[0], plans[key]["profile"]))
        )
    except DataError as error:
        raise WorkloadError(f"--precision: {error}") from error


def _rows(cells: Sequence[tuple[Key, Mapping[str, Any]]]) -> dict[Key, list[float]]:
    """The design matrix of a model, by cell; without a filter in any cell it has no column for filters."""
    filters = any(plan["n_fltr"] for _, plan in cells)
    names = [name for name in REGRESSORS if filters or name != "t_fltr"]
    return {key: regressors(names, plan["n_fltr"], plan["replication"]) for key, plan in cells}
