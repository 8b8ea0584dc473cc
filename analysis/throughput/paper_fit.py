"""The fit of the paper, for comparison: least squares on B (Henjes et al. 2006, section 4.5), by statsmodels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from analysis.throughput.cost_model import PARAMETERS
from analysis.throughput.fit import PAPER_REPLICATION, design, fewest_cells, processing
from analysis.throughput.linear_model import identifiable
from analysis.throughput.results import CellSummary


def ols_as_in_paper(cells: Sequence[CellSummary], names: Sequence[str] = PARAMETERS) -> dict[str, float] | None:
    """Ordinary least squares on B over the cells with r in {1, 2, 5, 10}, each the mean of its starts; in s.

    The method of the paper, for comparison; it gives large cells more weight, and the paper has no interval. None
    where these cells do not identify the model.
    """
    chosen = [cell for cell in cells if cell.replication in PAPER_REPLICATION]
    if len({cell.key.cell for cell in chosen}) < fewest_cells(names):
        return None
    x, b = design(chosen, names), processing(chosen)
    if not identifiable(x):
        return None
    from statsmodels.regression.linear_model import WLS  # noqa: PLC0415 - loads more than all else here together

    share = Counter(cell.key.cell for cell in chosen)
    weights = np.array([1 / share[cell.key.cell] for cell in chosen])
    estimates = WLS(b, x, weights=weights).fit().params
    return {name: float(estimate) for name, estimate in zip(names, estimates, strict=True)}
