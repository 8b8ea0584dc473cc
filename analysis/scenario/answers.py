"""Answers about runs of a business workload, from the analyses that are stored with them where these fit.

Spark is imported only where something has to be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.scenario.comparability import check_comparable
from analysis.scenario.results import WorkloadResult
from analysis.store import Shelf, answered

SHELF = Shelf("analysis.json", WorkloadResult)


def analysed(paths: Sequence[Path], *, master: str, partial: bool = False, **asked: Any) -> tuple[WorkloadResult, ...]:
    """The result of every complete cell of each run; cells are never combined.

    asked: as of `analysis.store.answered`

    Raises DataError if a run cannot be read, if runs must not be compared, or if no cell was measured.
    """

    def compute(missing: Sequence[Path]) -> tuple[WorkloadResult, ...]:
        from analysis.scenario import pipeline  # noqa: PLC0415

        return pipeline.analysed(missing, master=master, partial=partial)

    results = answered(paths, SHELF, compute, partial=partial, **asked)
    if len({result.path for result in results}) > 1:
        check_comparable([(result.plan, result.model, f"{result.run}, {result.key.cell}") for result in results])
    return results
