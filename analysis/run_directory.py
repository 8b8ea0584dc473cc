"""Reading of run directories, common to all kinds: what their tables hold, and checks of it. Needs no Spark.

Decides what may be read, and computes nothing. All checks that need only the JSON files, the footers of the Parquet
files and the small tables are made here, before Spark starts; `analysis.frames` has the tables as data frames.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.errors import DataError
from analysis.results import CellKey, Finding, NotApplicable
from analysis.run_description import ManifestT, OptionsT, PlanT, Records, describe
from workloads.command_line import analysing
from workloads.manifest import BrokerRecord, Manifest, RunOptions, StudyOptions, WorkloadOptions
from workloads.schema import (
    KEYS,
    LAYOUT_KEYS,
    PREPARATION,
    TABLES_OF,
    WARM_UP_LAYOUT,
    Column,
    LayoutKey,
    LayoutRow,
    RunKind,
    RunOutcome,
    columns_of,
)
from workloads.status import VerdictKind, WindowStatus

RowT = TypeVar("RowT")

KEY_NAMES = [column.name for column in KEYS]

#: The columns that identify a layout within a run, in this order.
LAYOUT_COLUMNS = (*KEYS[:2], *LAYOUT_KEYS)
LAYOUT_NAMES = [column.name for column in LAYOUT_COLUMNS]

#: The table that has rows of every measured cell.
_MEASURED = {RunKind.THROUGHPUT: "windows", RunKind.WORKLOAD: "periods", RunKind.FAULTS: "lives"}

#: The unit in which a killed run is complete.
_COMPLETED = {RunKind.THROUGHPUT: "layout", RunKind.WORKLOAD: "cell", RunKind.FAULTS: "cell"}


@dataclass(frozen=True, slots=True)
class RunRecord(Generic[ManifestT, OptionsT, PlanT]):
    """A run directory that may be read."""

    name: str
    path: Path
    #: an interrupted run, of which the complete part is read
    partial: bool
    manifest: ManifestT
    #: those of its session
    options: OptionsT
    #: entries of plan.json by (experiment, cell)
    plans: Mapping[tuple[str, str], PlanT]
    #: the cells measured in complete layouts, anchors and capacities included
    cells: tuple[CellKey, ...]
    #: the complete layouts, that of the warm-up included; none for a workload
    laid_out: tuple[LayoutRow, ...]
    #: Parquet files by table
    files: Mapping[str, tuple[Path, ...]]
    #: a finding that the run is not complete, where it is read in part
    findings: tuple[Finding, ...]
    not_applicable: tuple[NotApplicable, ...]

    def plan(self, key: CellKey) -> PlanT:
        return self.plans[key.experiment, key.cell]


AnyRun: TypeAlias = RunRecord[Any, Any, Any]


def read_run(
    folder: Path,
    shown: Path,
    name: str,
    kind: RunKind,
    records: Records[ManifestT, OptionsT, PlanT],
    *,
    partial: bool,
) -> RunRecord[ManifestT, OptionsT, PlanT]:
    """Reads a run directory. Raises DataError where it cannot support an analysis.

    folder: the directory
    shown: its path as given by the user, for messages
    name: name of the run
    kind: the expected kind
    records: what its manifest, the options in it, and an entry of its plan.json have to be
    partial: read an interrupted run as far as its layouts (of a workload: its cells) are complete, with a finding
    """
    manifest, options, plans = describe(folder, shown, kind, records)
    if not partial:
        _check_outcome(manifest, shown)
    tables = TABLES_OF[kind]
    files = {table: tuple(sorted((folder / table).glob("*.parquet"))) for table in tables}
    rows = {table: sum(_footer(file, tables[table], shown) for file in files[table]) for table in tables}
    if manifest.outcome is not None:
        _check_rows(rows, manifest.rows or {}, shown, more=partial and manifest.outcome is not RunOutcome.COMPLETE)
    laid_out = _laid_out(files.get("layouts", ()))
    measured = _measured_cells(name, files[_MEASURED[kind]], {layout.key for layout in laid_out}, kind)
    cells = tuple(sorted(key for key, counted in measured.items() if counted))
    setting = _setting(options)
    not_applicable = tuple(
        sorted(
            NotApplicable(name, cell.broker, cell.experiment, setting, cell.cell, cell.reason)
            for cell in manifest.not_applicable
        )
    )
    if not cells and not not_applicable:
        raise DataError(f"{shown}: no {_COMPLETED[kind]} is complete, there is nothing to read; measure again")
    _check_cells(sorted(measured), manifest, plans, shown, partial=partial)
    _check_not_applicable(not_applicable, cells, shown)
    scheduled = tuple(CellKey(name, slot.broker, slot.start, slot.experiment, slot.cell) for slot in manifest.schedule)
    missing = [key for key in scheduled if key not in measured or not measured[key]]
    if missing and not partial:
        raise DataError(
            f"{shown}: {len(missing)} scheduled cells have no {_MEASURED[kind]}, first {missing[0]}; "
            f"`{analysing(f'summary --partial {shown}')}` reads the others"
        )
    passes: tuple[int, int] | None = None
    if isinstance(options, StudyOptions):
        if not partial:
            _check_laid_out(files, {layout.key for layout in laid_out}, shown)
        passes = _check_passes(options.layouts, scheduled, measured, shown, partial=partial)
    return RunRecord(
        name=name,
        path=folder,
        partial=partial,
        manifest=manifest,
        options=options,
        plans=plans,
        cells=cells,
        laid_out=laid_out,
        files=files,
        findings=_partial_finding(manifest, cells, missing, passes) if partial else (),
        not_applicable=not_applicable,
    )


def _setting(options: RunOptions) -> str:
    """What all cells of the run have in common."""
    if isinstance(options, StudyOptions):
        return options.profile
    return options.consumption if isinstance(options, WorkloadOptions) else ""


def files_of(runs: Sequence[AnyRun]) -> tuple[Path, ...]:
    """The Parquet files of these runs."""
    return tuple(file for run in runs for of_table in run.files.values() for file in of_table)


def broker_findings(brokers: Mapping[str, BrokerRecord]) -> Iterator[Finding]:
    """Doubts about the brokers of a run, by label or role, as they were started."""
    for label, broker in brokers.items():
        if broker.untested:
            yield Finding(
                what=f"the suite was not tested with this release of {broker.product}",
                measured=f"{label} is {broker.version}",
                limit=f"a release of the lines of {', '.join(broker.untested)}",
                advice="read the broker's log for what it does not know any more; the audit is as exact as ever",
                broker=label,
            )
        if broker.tls == "insecure":
            yield Finding(
                what=f"the certificate of {label} was not verified",
                measured="encrypted, but the peer is not authenticated",
                limit="a certificate issued by a trusted authority",
                advice="pass the authority's certificate instead of --insecure",
                consequence=VerdictKind.UNVERIFIED,
                broker=label,
            )


def shared_cpus(manifest: Manifest) -> Iterator[Finding]:
    """A finding where another session measured on CPUs of the run: each took time of the other."""
    if manifest.shared_cpus:
        yield Finding(
            what=f"another session measured on CPU {', '.join(map(str, manifest.shared_cpus))}",
            measured="both at the same time",
            limit="CPUs that no other session measures on",
            advice="measure again when it has ended, or give each its own CPUs (--broker-cpus, --load-cpus)",
            consequence=VerdictKind.UNVERIFIED,
        )


def _check_outcome(manifest: Manifest, shown: Path) -> None:
    if manifest.outcome is RunOutcome.COMPLETE:
        return
    state = {
        None: "has no outcome: it is still running, or was killed",
        RunOutcome.INTERRUPTED: "was interrupted",
        RunOutcome.FAILED: f"failed: {manifest.error or 'no error was recorded'}",
    }[manifest.outcome]
    completed = _COMPLETED[manifest.kind]
    raise DataError(
        f"{shown}: the run {state}; everything after its last complete {completed} is missing. "
        f"`{analysing(f'summary --partial {shown}')}` reads the complete {completed}s"
    )


def _check_not_applicable(entries: Sequence[NotApplicable], cells: Sequence[CellKey], shown: Path) -> None:
    measured = {(key.broker, key.experiment, key.cell) for key in cells}
    for entry in entries:
        if (entry.broker, entry.experiment, entry.cell) in measured:
            raise DataError(
                f"{shown}: {entry.experiment} {entry.cell} is not applicable on {entry.broker} by the manifest, but "
                "it was recorded; the run directory was combined from two runs: measure again"
            )


def _footer(file: Path, columns: Sequence[Column], shown: Path) -> int:
    """The number of rows of a Parquet file, after a check of its columns."""
    try:
        with pq.ParquetFile(file) as parquet:
            schema, rows = parquet.schema_arrow, int(parquet.metadata.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"{shown}: {file.parent.name}/{file.name} cannot be read, it is damaged or truncated ({error}); "
            "copy the run directory again, or measure again"
        ) from error
    for column in columns:
        at = schema.get_field_index(column.name)
        found = schema.field(at).type if at >= 0 else "missing"
        if found != pa.type_for_alias(column.type):
            raise DataError(
                f"{shown}: {file.parent.name}/{file.name}: column {column.name} is {found}, expected {column.type}; "
                "it was not written by this version of the suite"
            )
    return rows


def _check_rows(found: Mapping[str, int], stated: Mapping[str, int], shown: Path, *, more: bool) -> None:
    """Raises DataError where rows are missing, or are more than stated.

    more: there may be more, of what was cut short after its files were written; it is not read
    """
    for table, rows in found.items():
        if rows != stated.get(table) and not (more and rows > stated.get(table, 0)):
            raise DataError(
                f"{shown}: {table}/ holds {rows} rows, the manifest says {stated.get(table, 'nothing')}; files are "
                "missing or were changed: copy the run directory again, or measure again"
            )


def read_table(files: Sequence[Path], columns: Sequence[str]) -> pa.Table:
    """All rows of small files, in the order of the files."""
    found: list[pa.Table] = []
    for file in files:
        with _parquet(file) as parquet:
            found.append(parquet.read(columns=list(columns)))
    return pa.concat_tables(found)


def read_rows(files: Sequence[Path], row: type[RowT]) -> list[RowT]:
    """All rows of small files, in the order of the files, with the columns that rows of the class have."""
    names, made = [column.name for column in columns_of(row)], cast("Callable[..., RowT]", row)
    return [made(**values) for file in files for values in read_table([file], names).to_pylist()]


def rows_by_cell(run: AnyRun, table: str, columns: Sequence[str]) -> Iterator[tuple[CellKey, dict[str, Any]]]:
    """The rows of a table that are few, each with its cell and these columns; of a partial run those of its complete
    layouts."""
    complete = {layout.key for layout in run.laid_out} if run.partial else None
    names = [*dict.fromkeys([*KEY_NAMES, *(LAYOUT_NAMES if complete else ()), *columns])]
    for file in run.files[table]:
        for row in read_table([file], names).to_pylist():
            if not complete or tuple(row[name] for name in LAYOUT_NAMES) in complete:
                key = CellKey(run.name, *(row[name] for name in KEY_NAMES))
                yield key, {name: row[name] for name in columns}


def known_cells(run: AnyRun) -> tuple[CellKey, ...]:
    """The cells that a row may belong to: every planned cell of every start; of a partial workload its complete cells.

    The manifest of a killed run may lack the last start, which is then taken from its layouts.
    """
    if run.partial and run.manifest.kind is RunKind.WORKLOAD:
        return run.cells
    starts = [(start.broker, start.start) for start in run.manifest.starts]
    if run.partial:
        starts += [(layout.broker, layout.start) for layout in run.laid_out]
    return tuple(
        CellKey(run.name, broker, start, experiment, cell)
        for broker, start in dict.fromkeys(starts)
        for experiment, cell in run.plans
    )


@contextmanager
def _parquet(file: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(file) as parquet:
            yield parquet
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"{file}: cannot be read, it is damaged ({error}); copy the run directory again, or measure again"
        ) from error


def _laid_out(files: Sequence[Path]) -> tuple[LayoutRow, ...]:
    """The complete layouts. Raises DataError where one is recorded twice."""
    found = sorted(read_rows(files, LayoutRow))
    for layout, following in pairwise(found):
        if layout.key == following.key:
            raise DataError(
                f"{files[0].parent}: layout {layout.layout}, block {layout.block} of {layout.broker} (start "
                f"{layout.start}) is recorded twice; the run directory was combined from two runs: measure again"
            )
    return tuple(found)


def _measured_cells(
    run: str, files: Sequence[Path], complete: Container[LayoutKey], kind: RunKind
) -> dict[CellKey, set[int]]:
    """Cells with rows in complete layouts, and the numbers of the layouts in which they have counted rows.

    The cell of a workload or a fault is complete if it has a row at all; it has a single number.
    """
    by_cell = kind is not RunKind.THROUGHPUT
    names = KEY_NAMES if by_cell else [*KEY_NAMES, *(column.name for column in LAYOUT_KEYS), "status"]
    found: dict[CellKey, set[int]] = {}
    for row in (row for file in files for row in read_table([file], names).to_pylist()):
        if by_cell or tuple(row[name] for name in LAYOUT_NAMES) in complete:
            counted = found.setdefault(CellKey(run, *(row[name] for name in KEY_NAMES)), set())
            if row.get("status", WindowStatus.OK) == WindowStatus.OK:
                counted.add(row.get("layout", WARM_UP_LAYOUT))
    return found


def _layouts_in(file: Path) -> set[LayoutKey]:
    """The layouts that a file has rows of; read from its footer if, as usual, each row group has a single layout."""
    found: set[LayoutKey] = set()
    with _parquet(file) as parquet:
        at = [parquet.schema_arrow.get_field_index(name) for name in LAYOUT_NAMES]
        for number in range(parquet.num_row_groups):
            group = parquet.metadata.row_group(number)
            known = [group.column(index).statistics for index in at]
            if all(s is not None and s.has_min_max and not s.null_count and s.min == s.max for s in known):
                found.add(tuple(statistics.min for statistics in known))
            else:
                rows = parquet.read_row_group(number, columns=LAYOUT_NAMES).group_by(LAYOUT_NAMES).aggregate([])
                found |= {tuple(row[name] for name in LAYOUT_NAMES) for row in rows.to_pylist()}
    return found


def _check_laid_out(files: Mapping[str, Sequence[Path]], complete: Container[LayoutKey], shown: Path) -> None:
    """Raises DataError where there are rows of a layout that was not completed."""
    for table, of_table in files.items():
        for file in of_table:
            for broker, start, layout, block in sorted(_layouts_in(file)):
                if (broker, start, layout, block) not in complete:
                    raise DataError(
                        f"{shown}: {table}/{file.name} has rows of layout {layout}, block {block} of {broker} (start "
                        f"{start}), which layouts/ does not have; the run directory was changed after it was written: "
                        "measure again"
                    )


def _check_passes(
    asked: int,
    scheduled: Sequence[CellKey],
    measured: Mapping[CellKey, set[int]],
    shown: Path,
    *,
    partial: bool,
) -> tuple[int, int]:
    """The number of complete passes, which have all scheduled cells of their start, and the least number expected.

    asked: layouts per start

    Raises DataError where a pass is missing or incomplete, unless the run is read in part.
    """
    starts: dict[tuple[str, int], list[CellKey]] = {}
    for key in scheduled:
        starts.setdefault((key.broker, key.start), []).append(key)
    whole = 0
    for keys in starts.values():
        of_start = [measured.get(key, set()) for key in keys]
        whole += len(set.intersection(*of_start))
        expected = set(range(1, max((asked, *set().union(*of_start))) + 1))
        for key, layouts in zip(keys, of_start, strict=True):
            if layouts != expected and not partial:
                lacking = ", ".join(map(str, sorted(expected - layouts)))
                raise DataError(
                    f"{shown}: {key} of {key.broker} was not measured in layout {lacking} of {len(expected)}; "
                    f"`{analysing(f'summary --partial {shown}')}` reads the others"
                )
    return whole, asked * len(starts)


def _check_cells(
    cells: Sequence[CellKey], manifest: Manifest, plans: Container[tuple[str, str]], shown: Path, *, partial: bool
) -> None:
    """Raises DataError where a recorded cell has no plan or start; of an interrupted run, starts are not checked."""
    starts = {(start.broker, start.start) for start in manifest.starts}
    for key in cells:
        if (key.experiment, key.cell) not in plans:
            raise DataError(f"{shown}: {key} was recorded, but plan.json has no plan of it; measure again")
        if key.broker not in manifest.brokers or not (partial or (key.broker, key.start) in starts):
            raise DataError(
                f"{shown}: {key} of {key.broker} was recorded, but the manifest has no such start; measure again"
            )


def _partial_finding(
    manifest: Manifest,
    cells: Sequence[CellKey],
    missing: Sequence[CellKey],
    passes: tuple[int, int] | None,
) -> tuple[Finding, ...]:
    """A finding where the run is not complete.

    passes: complete ones and those asked for; None for a workload
    """
    whole = passes is None or passes[0] >= passes[1]
    if manifest.outcome is RunOutcome.COMPLETE and not missing and whole:
        return ()
    measured = sum(key.experiment not in PREPARATION for key in cells)
    layouts = "" if passes is None else f"{passes[0]} of {passes[1]} layouts, "
    return (
        Finding(
            what="the run is not complete",
            measured=f"{measured} of {measured + len(missing)} cells, {layouts}outcome {manifest.outcome or 'absent'}",
            limit="every scheduled cell, and all traffic audited",
            advice=f"measure again; everything after the last complete {'cell' if passes is None else 'layout'} is "
            "neither audited nor counted",
            consequence=VerdictKind.UNVERIFIED,
        ),
    )
