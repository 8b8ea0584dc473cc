"""Run directory of the throughput study -> checked description; the common part is in `analysis.run_directory`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from analysis.results import CellKey
from analysis.run_directory import (
    ManifestRecord,
    OptionsRecord,
    PlanRecord,
    RunRecord,
    StartRecord,
    describe,
    read_run,
    resolve_runs,
)
from workloads.schema import RunKind, Window
from workloads.status import WindowStatus

#: Broker and start.
Life: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions(OptionsRecord):
    """The options of the throughput study on which its analysis depends."""

    grid: str
    profile: str
    loop: str
    client: str
    #: layouts of a start until its first look
    layouts: int
    #: factor by which intervals are wider than those of a fixed number of layouts
    widening: float
    #: largest relative half-width asked for; None for that of `workloads.limits.PRECISION`
    precision: float | None


@dataclass(frozen=True, slots=True)
class StudyStart(StartRecord):
    """A start of a broker, after its warm-up."""

    #: duration of the warm-up, s
    warm_up_s: float
    #: the cells' contrasts were stable and the compiler was idle, by the limits of `workloads.limits`
    warm: bool
    #: of the last rounds of the warm-up; None where there were too few rounds
    contrast_change: float | None
    #: of the last rounds of the warm-up; None where there were too few rounds, or no JVM is known
    compiler_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyManifest(ManifestRecord):
    """manifest.json of the throughput study."""

    options: StudyOptions
    starts: tuple[StudyStart, ...]


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """Lanes with the same receivers; see `workloads.throughput.plan_json.plan_record`."""

    first: int
    step: int
    count: int
    receivers: tuple[tuple[int, int], ...]
    shared: bool


@dataclass(frozen=True, slots=True)
class StudyPlan(PlanRecord):
    """An entry of plan.json of the throughput study, as `workloads.throughput.plan_json.plan_record` writes it."""

    profile: str
    publishers: int
    subscriptions: int
    connections: int
    n_fltr: int
    routed: bool
    replication: float
    lanes: tuple[LaneGroup, ...]
    fits_model: bool
    factors: Mapping[str, Any]
    pace: str | None


#: A run directory of the throughput study that may be read. `cells` are those with counted slices.
ThroughputRecord: TypeAlias = RunRecord[StudyManifest, StudyPlan]


def open_runs(paths: Sequence[Path], *, partial: bool = False) -> tuple[ThroughputRecord, ...]:
    """The named run directories, or the newest. Raises DataError where one cannot support an analysis.

    With `partial` an interrupted run is read as far as its layouts are complete, and a finding says so.
    """
    return tuple(
        read_run(*found, RunKind.THROUGHPUT, (StudyManifest, StudyPlan), partial=partial)
        for found in resolve_runs(paths)
    )


def open_start(folder: Path, broker: str, start: int, cells: Sequence[CellKey]) -> ThroughputRecord:
    """The run directory of a session that still measures, as if it had this start only. Reads none of its tables.

    cells: those of the start that have counted slices
    """
    found = describe(folder, folder, RunKind.THROUGHPUT, (StudyManifest, StudyPlan))
    of_start = tuple(each for each in found.manifest.starts if (each.broker, each.start) == (broker, start))
    return RunRecord(
        name=folder.name,
        path=folder,
        partial=True,
        manifest=replace(found.manifest, starts=of_start),
        plans=found.plans,
        cells=tuple(cells),
        laid_out=(),
        files={},
        findings=(),
        not_applicable=(),
        facts=found.facts,
        entries=found.entries,
    )


def counted(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The counted slices, without those of the warm-up."""
    return tuple(window for window in windows if window.status == WindowStatus.OK)
