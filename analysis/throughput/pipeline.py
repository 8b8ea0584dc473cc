"""From run directories to results: what Spark audits and counts, and what follows from it.

Spark's JVM takes seconds to start, as do the libraries that the rest of an analysis needs: both at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.run_directory import files_of
from analysis.spark import session
from analysis.throughput.reader import open_runs
from analysis.throughput.results import RunResult
from workloads.throughput.presets import SMOKE

#: What is imported while Spark's JVM starts, and of it what only a fit needs.
NEEDED = ("analysis.throughput.conclusions",)
FITTING = ("scipy.optimize", "statsmodels.regression.linear_model")


def analysed(
    paths: Sequence[Path], *, master: str, partial: bool = False, meanwhile: Sequence[str] = ()
) -> tuple[RunResult, ...]:
    """The complete analysis of each run; runs are never combined. Raises DataError where one cannot be read.

    meanwhile: modules that the caller needs afterwards, to be imported while Spark works
    """
    runs = open_runs(paths, partial=partial)
    fitting = FITTING if any(run.options.grid != SMOKE for run in runs) else ()
    with session(master, files_of(runs), (*NEEDED, *fitting, *meanwhile)) as spark:
        from analysis.frames import frames  # noqa: PLC0415
        from analysis.throughput import audit, conclusions, latency, slices  # noqa: PLC0415

        data = frames(spark, runs)
        audits, times = audit.audit(data, runs), latency.histograms(data, runs)
    return tuple(
        conclusions.result_of(run, audited_run, slices.windows_by_cell(run), times, slices.host_use(run))
        for run, audited_run in zip(runs, audits, strict=True)
    )
