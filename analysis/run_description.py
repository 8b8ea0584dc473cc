"""The JSON files of run directories: which runs are named, of which kind, and what they say of themselves.

Needs neither pyarrow nor Spark: a verb that answers from a stored analysis reads no more of a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from analysis.errors import DataError
from analysis.record_reading import read
from workloads.command_line import analysing, measuring
from workloads.faults.faults import FaultPlan
from workloads.manifest import Manifest, RunOptions
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.schema import SCHEMA_VERSION, RunKind
from workloads.throughput.study_plan import StudyPlan

#: The run that is read when none is named.
LATEST = Path("results/latest")

#: Names of the kinds in messages.
_WHAT = {
    RunKind.THROUGHPUT: "the throughput study",
    RunKind.WORKLOAD: "a business workload",
    RunKind.FAULTS: "the experiment faults",
}

ManifestT = TypeVar("ManifestT", bound=Manifest)
OptionsT = TypeVar("OptionsT", bound=RunOptions)
PlanT = TypeVar("PlanT", bound=StudyPlan | ScenarioPlan | FaultPlan)

#: What a manifest, its options and an entry of plan.json have to be.
Records: TypeAlias = tuple[type[ManifestT], type[OptionsT], type[PlanT]]


def resolve_runs(paths: Sequence[Path]) -> tuple[tuple[Path, Path, str], ...]:
    """(folder, path as given by the user, name of the run) of the named run directories, or of the newest.

    Raises DataError where a directory is named twice.
    """
    shown = list(paths) or [LATEST]
    folders = [path.resolve() for path in shown]
    for path, folder in zip(shown, folders, strict=True):
        if folders.count(folder) > 1:
            raise DataError(f"{path}: this run directory is named twice; each run is read once")
    names = [folder.name for folder in folders]
    unique = len(set(names)) == len(names)
    return tuple(
        (folder, path, name if unique else str(folder))
        for folder, path, name in zip(folders, shown, names, strict=True)
    )


def kind_of(paths: Sequence[Path]) -> RunKind:
    """The kind of these run directories. Raises DataError where their kinds differ, or one is not a run directory."""
    kinds = {path: _manifest(folder, path)[1] for folder, path, _ in resolve_runs(paths)}
    if len(set(kinds.values())) > 1:
        texts = "; ".join(f"{path} is of {_WHAT[kind]}" for path, kind in kinds.items())
        raise DataError(f"cannot combine runs of different kinds: {texts}; name runs of one kind")
    return next(iter(kinds.values()))


def manifests(paths: Sequence[Path]) -> tuple[tuple[Manifest, Path], ...]:
    """(manifest, path as given by the user) of these run directories. Raises DataError where one cannot be read."""
    return tuple(
        (read(Manifest, _manifest(folder, path)[0], f"{path}/manifest.json"), path)
        for folder, path, _ in resolve_runs(paths)
    )


def describe(
    folder: Path, shown: Path, kind: RunKind, records: Records[ManifestT, OptionsT, PlanT]
) -> tuple[ManifestT, OptionsT, dict[tuple[str, str], PlanT]]:
    """manifest, options and plans of a run directory, which has these files from its first start on.

    Arguments are those of `read_run`, and results as in RunRecord.
    """
    facts, found = _manifest(folder, shown)
    if found is not kind:
        raise DataError(
            f"{shown}: a run of {_WHAT[found]}, expected one of {_WHAT[kind]}; `{analysing(f'summary {shown}')}` "
            "shows its results"
        )
    of_manifest, of_options, of_plan = records
    manifest = read(of_manifest, facts, f"{shown}/manifest.json")
    options = read(of_options, manifest.options, f"{shown}/manifest.json, options")
    entries = enumerate(_entries(folder, shown))
    plans = [read(of_plan, entry, f"{shown}/plan.json: cells[{at}]") for at, entry in entries]
    cells = [(plan.experiment, plan.cell) for plan in plans]
    return manifest, options, dict(zip(cells, plans, strict=True))


def _manifest(folder: Path, shown: Path) -> tuple[Mapping[str, Any], RunKind]:
    """The content of manifest.json, and the kind of the run."""
    if not folder.is_dir():
        raise DataError(
            f"{shown}: no such run directory; measure one with `{measuring('microbench -k replication')}`, or name one "
            "below results/"
        )
    if not (folder / "manifest.json").is_file():
        raise DataError(f"{shown}: not a run directory, it has no manifest.json; name one below results/")
    content = _json(folder / "manifest.json")
    _check_schema(content, shown / "manifest.json")
    return content, read(_KindRecord, content, f"{shown}/manifest.json").kind


@dataclass(frozen=True, slots=True)
class _KindRecord:
    """What is read of a manifest before it is known what the manifest has to have."""

    kind: RunKind


def _json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read: {error}; the run directory is damaged, measure again") from error
    if not isinstance(content, dict):
        raise DataError(f"{file}: holds a {type(content).__name__}, expected an object; this is not a run directory")
    return content


def _check_schema(content: Mapping[str, Any], file: Path) -> None:
    schema = content.get("schema")
    if schema == SCHEMA_VERSION:
        return
    advice = "use the version of the suite that measured it, or measure again"
    if isinstance(schema, int) and schema < SCHEMA_VERSION:
        advice = (
            "an older version of the suite measured it, without what this one needs: analyse it with that version "
            "(its checkout reads it unchanged), or measure again"
        )
    raise DataError(f"{file}: schema {schema!r}, this analysis reads {SCHEMA_VERSION}; {advice}")


def _entries(folder: Path, shown: Path) -> Sequence[Mapping[str, Any]]:
    """The entries of plan.json."""
    if not (folder / "plan.json").is_file():
        raise DataError(f"{shown}: plan.json is missing, so the expected deliveries are unknown; measure again")
    content = _json(folder / "plan.json")
    _check_schema(content, shown / "plan.json")
    return read(_PlanFile, content, f"{shown}/plan.json").cells


@dataclass(frozen=True, slots=True)
class _PlanFile:
    """plan.json; an entry is another record for each kind of run."""

    cells: tuple[Any, ...]
