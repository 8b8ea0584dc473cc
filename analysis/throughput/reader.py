"""Run directory of the throughput study -> checked description; the common part is in `analysis.run_directory`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from analysis.results import CellKey
from analysis.run_description import describe, resolve_runs
from analysis.run_directory import RunRecord, read_run
from analysis.throughput.results import CellAudit, CellSummary, LatencyResult
from workloads.manifest import StudyManifest, StudyOptions
from workloads.schema import RunKind, Window
from workloads.status import WindowStatus
from workloads.throughput.study_plan import StudyPlan

#: Broker and start.
Life: TypeAlias = tuple[str, int]

#: More cells than these are counted, not named.
NAMED = 5

#: Of a run of the study.
_RECORDS = StudyManifest, StudyOptions, StudyPlan

#: A run directory of the throughput study that may be read. `cells` are those with counted slices.
ThroughputRecord: TypeAlias = RunRecord[StudyManifest, StudyOptions, StudyPlan]


def open_runs(paths: Sequence[Path], *, partial: bool = False) -> tuple[ThroughputRecord, ...]:
    """The named run directories, or the newest. Raises DataError where one cannot support an analysis.

    With `partial` an interrupted run is read as far as its layouts are complete, and a finding says so.
    """
    return tuple(read_run(*found, RunKind.THROUGHPUT, _RECORDS, partial=partial) for found in resolve_runs(paths))


def open_start(folder: Path, broker: str, start: int, cells: Sequence[CellKey]) -> ThroughputRecord:
    """The run directory of a session that still measures, as if it had this start only. Reads none of its tables.

    cells: those of the start that have counted slices
    """
    manifest, options, plans = describe(folder, folder, RunKind.THROUGHPUT, _RECORDS)
    of_start = tuple(each for each in manifest.starts if (each.broker, each.start) == (broker, start))
    return RunRecord(
        name=folder.name,
        path=folder,
        partial=True,
        manifest=replace(manifest, starts=of_start),
        options=options,
        plans=plans,
        cells=tuple(cells),
        laid_out=(),
        files={},
        findings=(),
        not_applicable=(),
    )


def counted(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The counted slices, without those of the warm-up."""
    return tuple(window for window in windows if window.status == WindowStatus.OK)


def named(cells: Sequence[CellAudit | CellSummary | LatencyResult]) -> str:
    """The first of these cells by name, the others as a number."""
    more = f" and {len(cells) - NAMED} more cells" if len(cells) > NAMED else ""
    return ", ".join(str(cell.key) for cell in cells[:NAMED]) + more
