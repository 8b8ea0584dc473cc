"""Run directory of the throughput study -> checked description; the common part is in `analysis.run_directory`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import TypeAlias

from analysis.run_directory import RunRecord, read_run, require, resolve_runs
from workloads.schema import RunKind, Window
from workloads.status import WindowStatus

#: Broker and start.
Life: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ThroughputRecord(RunRecord):
    """A run directory of the throughput study that may be read. `cells` are those with counted slices."""

    grid: str
    profile: str
    loop: str
    client: str
    workers: int
    #: layouts asked for, per start
    layouts: int
    #: counted rounds per layout
    rounds: int
    #: least duration of the measured part of a slice, s
    slice_s: float
    #: relative half-width for which layouts were added; None where their number was fixed
    precision: float | None


def open_runs(paths: Sequence[Path], *, partial: bool = False) -> tuple[ThroughputRecord, ...]:
    """The named run directories, or the newest. Raises DataError where one cannot support an analysis.

    With `partial` an interrupted run is read as far as its layouts are complete, and a finding says so.
    """
    return tuple(_open(folder, shown, name, partial=partial) for folder, shown, name in resolve_runs(paths))


def counted(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The counted slices, without those of the warm-up."""
    return tuple(window for window in windows if window.status == WindowStatus.OK)


def _open(folder: Path, shown: Path, name: str, *, partial: bool) -> ThroughputRecord:
    found = read_run(folder, shown, name, RunKind.THROUGHPUT, _PLAN, partial=partial)
    for record in found.plans.values():
        for group in record["lanes"]:
            for key, kind in _LANES.items():
                require(group, key, kind, f"{shown}/plan.json, lanes of {record['experiment']} {record['cell']}")
    options, place = found.manifest["options"], f"{shown}/manifest.json"
    return ThroughputRecord(
        **{field.name: getattr(found, field.name) for field in fields(found)},
        grid=require(options, "grid", str, place),
        profile=require(options, "profile", str, place),
        loop=require(options, "loop", str, place),
        client=require(options, "client", str, place),
        workers=require(options, "workers", int, place),
        layouts=require(options, "layouts", int, place),
        rounds=require(options, "rounds", int, place),
        slice_s=float(require(options, "slice_seconds", (float, int), place)),
        precision=require(options, "precision", (float, NoneType), place),
    )


_PLAN: Mapping[str, type | tuple[type, ...]] = {
    "experiment": str,
    "cell": str,
    "profile": str,
    "n_fltr": int,
    "routed": bool,
    "replication": (float, int),
    "connections": int,
    "lanes": list,
    "fits_model": bool,
    "factors": dict,
    "pace": (str, NoneType),
}

_LANES: Mapping[str, type | tuple[type, ...]] = {
    "first": int,
    "step": int,
    "count": int,
    "receivers": list,
    "shared": bool,
}
