"""How many layouts `--precision` takes: asked by the half that measures, between two layouts, in its own words.

No Spark and no statsmodels: a broker is live while this runs.
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
    """Layouts per start, so that no coefficient of any model of the run is known worse than to `half_width`.

    windows: the counted slices of all cells of a start, anchors included · plans: the plan.json entries of its cells,
    without anchors. Raises WorkloadError where the cells show no model.
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
    """The design of a model; without a filter in any cell it has no cost of filters."""
    filters = any(plan["n_fltr"] for _, plan in cells)
    names = [name for name in REGRESSORS if filters or name != "t_fltr"]
    return {key: regressors(names, plan["n_fltr"], plan["replication"]) for key, plan in cells}
