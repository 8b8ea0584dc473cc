"""From run directories of a workload to results: the only module that determines the order of the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from analysis.errors import DataError
from analysis.frames import Frames, frames, reading
from analysis.results import Finding, reasons, verdict
from analysis.run_directory import broker_findings, files_of, shared_cpus
from analysis.scenario import audit, deviations, timeline
from analysis.scenario.aggregates import Counts, counts, instants, percentiles_ms, times
from analysis.scenario.audit import AuditInput
from analysis.scenario.churn_audit import ChurnInput, MemberRecord, churn_audit, copy_counts
from analysis.scenario.churn_counts import ChurnCounts, churn_counts
from analysis.scenario.churn_measures import churn_findings, churn_result, population_results
from analysis.scenario.membership import arrays, failed_sessions, member_rows
from analysis.scenario.message_join import ledger
from analysis.scenario.reader import CaseRecord, ScenarioRecord, cells, comparable, open_runs, warnings
from analysis.scenario.results import (
    ChurnResult,
    DestinationResult,
    HandlerResult,
    InteractionResult,
    PeriodResult,
    PeriodSlice,
    Second,
    Span,
    StepResult,
    WorkloadResult,
)
from analysis.spark import session
from workloads.scenario.execution import Execution
from workloads.scenario.model import PlannedHandler
from workloads.scenario.periods import Period

#: The tables of members, by name.
MemberTables: TypeAlias = Mapping[str, pa.Table]


def analysed(paths: Sequence[Path], *, master: str, partial: bool = False) -> tuple[WorkloadResult, ...]:
    """The result of every complete cell of each run; cells are never combined.

    Raises DataError if a run cannot be read, if runs must not be compared, or if no cell was measured.
    """
    runs = open_runs(paths, partial=partial)
    if len(runs) > 1:
        comparable(runs)
    for run in runs:
        if not run.cells:
            raise DataError(f"{run.path}: nothing was measured: {reasons(run.not_applicable)}")
    with session(master, files_of(runs)) as spark:
        return _analysed(spark, runs)


def _analysed(spark: SparkSession, runs: Sequence[ScenarioRecord]) -> tuple[WorkloadResult, ...]:
    data = frames(spark, runs)
    with reading(runs):
        found = cells(runs, data.keys)
        periods = instants(data, found)
        for cell in found:
            _check_periods(cell, periods[cell.number])
        spans = {
            number: {period: (row["begin_ns"], row["end_ns"]) for period, row in of_cell.items()}
            for number, of_cell in periods.items()
        }
        with ledger(spark, data, found, spans) as joined:
            counted = counts(spark, joined, data)
            churned = churn_counts(spark, joined)
            tables = _member_tables(data, churned)
            return tuple(
                _result(
                    cell,
                    counted[cell.number],
                    periods[cell.number],
                    _member_record(cell, churned[cell.number], tables, periods[cell.number])
                    if cell.number in churned
                    else None,
                )
                for cell in found
            )


def _member_tables(data: Frames, churned: Mapping[int, ChurnCounts]) -> MemberTables:
    """The small tables of the cells with populations."""
    if not churned:
        return {}
    return {name: data.tables[name].toArrow() for name in ("subscriptions", "sessions", "setup")}


def _member_record(
    cell: CaseRecord, counted: ChurnCounts, tables: MemberTables, periods: Mapping[Period, Mapping[str, Any]]
) -> MemberRecord:
    mine = {name: table.filter(pc.equal(table["cell_id"], cell.number)) for name, table in tables.items()}
    setup = mine["setup"].to_pylist()
    loaded = [row for period, row in periods.items() if period is not Period.DRAIN]
    load_ns = min(row["begin_ns"] for row in loaded), max(row["end_ns"] for row in loaded)
    rows = member_rows(cell.populations, arrays(mine["subscriptions"]), load_ns, str(cell.key))
    sessions = arrays(mine["sessions"])
    return MemberRecord(counted, rows, sessions, failed_sessions(rows, sessions), setup[0] if setup else None)


def _unsent(of: MemberRecord, periods: Mapping[Period, Mapping[str, Any]]) -> Mapping[tuple[Period, int], int]:
    """The starts that failed sessions did not make, by period and interaction."""
    return Counter(
        (period, Execution.of(execution).interaction)
        for found in of.failed_sessions.values()
        for planned_ns, execution in found.unsent
        for period, row in periods.items()
        if row["begin_ns"] <= planned_ns < row["end_ns"]
    )


def _check_periods(cell: CaseRecord, periods: Mapping[Period, Any]) -> None:
    needed = {Period.MEASUREMENT, Period.REPEAT} if cell.plan.repeat else {Period.MEASUREMENT}
    if missing := needed - set(periods):
        raise DataError(
            f"periods of {cell.key}: {', '.join(sorted(missing))} is missing; the record is incomplete: measure again"
        )


def _result(
    cell: CaseRecord,
    counted: Counts,
    periods: Mapping[Period, Mapping[str, Any]],
    of_members: MemberRecord | None,
) -> WorkloadResult:
    load_ns = min(row["begin_ns"] for row in periods.values())
    cores = timeline.cpu(counted.samples, load_ns)
    whole = [row for row in counted.seconds_heard if row["step"] is None]
    sent = timeline.together(counted.seconds_sent)
    churned = None if of_members is None else of_members.counts
    seconds = timeline.seconds(sent, whole, cores, () if churned is None else churned.waiting)
    unsent = {} if of_members is None else _unsent(of_members, periods)
    material = AuditInput(cell, counted, periods, seconds, unsent)
    flows = {
        (period, number): audit.flow(material, number, period)
        for period in material.measured
        for number in cell.model.interactions
    }
    measured = tuple(_period(material, flows, period) for period in material.measured)
    rows = audit.audit(material, flows)
    churn: ChurnResult | None = None
    remarks: list[Finding] = []
    if of_members is not None:
        members = ChurnInput(material, of_members)
        populations, copies = population_results(members), copy_counts(members)
        rows = (*rows, *churn_audit(members, populations, copies))
        churn = churn_result(members, populations, copies)
        remarks += churn_findings(members, churn.memory)
    in_flight = timeline.backlog_by_address(cell, counted, churned)
    backlog = {cell.plan.addresses[address].label: number for address, number in in_flight.items()}
    findings: list[Finding] = [
        *cell.run.findings,
        *shared_cpus(cell.run.manifest),
        *broker_findings(cell.run.manifest.brokers),
        *deviations.findings(material, rows, measured, backlog),
        *remarks,
    ]
    findings = [finding for finding in findings if finding.broker in {None, cell.key.broker}]
    return WorkloadResult(
        run=cell.key.run,
        path=cell.run.path,
        key=cell.key,
        topology=cell.model.name,
        base=cell.model.base,
        transactions=cell.plan.transactions,
        periods=measured,
        audit=rows,
        findings=tuple(findings),
        deviations=deviations.deviations(material),
        verdict=verdict(findings),
        seconds=seconds,
        seconds_by_step=_by_step(cell, counted),
        slices=tuple(_slices(cell, counted)),
        slice_s=counted.slice_s,
        backlog_by_address=backlog,
        backlog_by_destination=timeline.summed_by_destination(cell, in_flight),
        plan=cell.run.plan(cell.key),
        manifest=cell.run.manifest,
        spans=tuple(
            Span(period, (row["begin_ns"] - load_ns) / 1e9, (row["end_ns"] - row["begin_ns"]) / 1e9)
            for period, row in periods.items()
        ),
        store=deviations.store(material),
        not_applicable=cell.run.not_applicable,
        churn=churn,
        warnings=warnings(cell.run, cell.key),
    )


def _by_step(cell: CaseRecord, counted: Counts) -> Mapping[str, tuple[Second, ...]]:
    return {
        step.message: timeline.seconds(
            [row for row in counted.seconds_sent if row["step"] == number],
            [row for row in counted.seconds_heard if row["step"] == number],
            {},
        )
        for number, step in enumerate(cell.steps)
    }


def _slices(cell: CaseRecord, counted: Counts) -> Iterator[PeriodSlice]:
    """The slices by address and time; copies received before the start of the load are excluded."""
    for row in sorted(counted.slices, key=lambda row: (row["address"], row["slice"])):
        if row["slice"] >= 0 and row["n"]:
            _, p90_ms, _ = percentiles_ms(row)
            yield PeriodSlice(
                cell.steps[cell.address_steps[row["address"]]].message,
                cell.plan.addresses[row["address"]].label,
                row["slice"] * counted.slice_s,
                p90_ms,
            )


def _period(
    material: AuditInput, flows: Mapping[tuple[Period, int], InteractionResult], period: Period
) -> PeriodResult:
    cell, counted, row = material.cell, material.counts, material.periods[period]
    seconds = material.elapsed_s(period)
    sent = sum(entry["n"] for (at, _), entry in counted.sent.items() if at is period)
    overall = counted.overall.get(period)
    received, received_bytes = (0, 0) if overall is None else (overall["n"], overall["bytes"])
    cpu_ns = row["broker_cpu_ns"]
    return PeriodResult(
        period=period,
        seconds=seconds,
        sent_per_s=sent / seconds,
        received_per_s=received / seconds,
        received_kb_per_s=received_bytes / 1000 / seconds,
        broker_cpu=None if cpu_ns is None else cpu_ns / 1e9 / seconds,
        load_cpu=row["load_cpu_ns"] / 1e9 / seconds,
        load_us_per_message=row["load_cpu_ns"] / 1e3 / (sent + received) if sent + received else None,
        store_growth_bytes_per_s=_growth(material, period),
        lateness=counted.lateness.get(period, times(None)),
        delivery=times(overall),
        interactions=tuple(flows[period, number] for number in cell.model.interactions),
        steps=tuple(_step(material, number, period) for number in range(len(cell.steps))),
        handlers=tuple(_handler(material, handler, period) for handler in cell.plan.handlers),
        destinations=tuple(_destination(material, number, period) for number in range(len(cell.plan.destinations))),
    )


def _growth(material: AuditInput, period: Period) -> float | None:
    """Growth of the broker's files since the end of the previous period, in bytes per second."""
    rows = list(material.periods.values())
    place = list(material.periods).index(period)
    if not place:
        return None
    before, after = (rows[at]["store_bytes"] for at in (place - 1, place))
    return None if before is None or after is None else (after - before) / material.elapsed_s(period)


def _step(material: AuditInput, number: int, period: Period) -> StepResult:
    cell, counted = material.cell, material.counts
    step, row = cell.steps[number], counted.steps.get((period, number))
    sent = sum(
        entry["n"] for (at, to), entry in counted.sent.items() if at is period and cell.address_steps[to] == number
    )
    received, received_bytes = (0, 0) if row is None else (row["n"], row["bytes"])
    return StepResult(step.interaction, step.message, sent, received, received_bytes, times(row))


def _handler(material: AuditInput, handler: PlannedHandler, period: Period) -> HandlerResult:
    row = material.counts.handlers.get((period, handler.number))
    message = material.cell.steps[handler.step].message
    return HandlerResult(handler.number, handler.place, message, 0 if row is None else row["n"], times(row))


def _destination(material: AuditInput, number: int, period: Period) -> DestinationResult:
    row = material.counts.destinations.get((period, number))
    name = material.cell.plan.destinations[number].name
    return DestinationResult(number, name, 0 if row is None else row["n"], times(row))
