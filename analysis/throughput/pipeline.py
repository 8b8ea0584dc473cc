"""From run directories to results: the order in which the parts of an analysis are executed.

The audit comes first. Its findings, and those about the host and the cells of a broker, apply to every model fitted to
that broker in that run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.errors import DataError
from analysis.results import (
    AuditResult,
    CellKey,
    CellSummary,
    Finding,
    FitResult,
    HostUse,
    LatencyResult,
    RoundLevel,
    RunResult,
)
from analysis.run_directory import certificates, files_of, frames
from analysis.spark import session
from analysis.throughput import aggregate, audit, broker_comparison, claims, fit, latency, run_checks
from analysis.throughput.reader import ThroughputRecord, open_runs
from workloads.limits import LAYOUTS
from workloads.schema import Window
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.presets import SMOKE

#: The suite's own client, which the title does not mention.
BULK = "bulk"


def audited(paths: Sequence[Path], *, master: str, partial: bool = False) -> tuple[AuditResult, ...]:
    """The audit of each run. Raises DataError where a run cannot be read."""
    runs = open_runs(paths, partial=partial)
    with session(master, files_of(runs)) as spark:
        return audit.audit(spark, frames(spark, runs), runs)


def analysed(paths: Sequence[Path], *, master: str, partial: bool = False) -> tuple[RunResult, ...]:
    """The complete analysis of each run; runs are never combined. Raises DataError where one cannot be read."""
    runs = open_runs(paths, partial=partial)
    with session(master, files_of(runs)) as spark:
        return _analysed(spark, runs)


def fitted(paths: Sequence[Path], *, master: str, partial: bool = False) -> tuple[RunResult, ...]:
    """As `analysed`, but raises DataError where no run allows a fit."""
    return with_models(analysed(paths, master=master, partial=partial))


def with_models(results: tuple[RunResult, ...]) -> tuple[RunResult, ...]:
    """The same results. Raises DataError, with the reasons, where no run has a model."""
    if any(result.fits for result in results):
        return results
    reasons = [reason for result in results for reason in result.refused] or [
        f"{result.path}: {_no_model(result)}" for result in results
    ]
    raise DataError("; ".join(reasons))


def _analysed(spark: SparkSession, runs: Sequence[ThroughputRecord]) -> tuple[RunResult, ...]:
    data = frames(spark, runs)
    audits = audit.audit(spark, data, runs)
    windows = aggregate.windows_by_cell(data, runs)
    times = latency.histograms(data, runs)
    host = run_checks.host_use(data, runs)
    return tuple(
        _result(
            run,
            audited_run,
            {key: windows[key] for key in run.cells},
            times,
            tuple(use for use in host if use.run == run.name),
        )
        for run, audited_run in zip(runs, audits, strict=True)
    )


def _result(
    run: ThroughputRecord,
    audited_run: AuditResult,
    windows: Mapping[CellKey, Sequence[Window]],
    times: latency.Histograms,
    host: tuple[HostUse, ...],
) -> RunResult:
    """The analysis of a run; of a smoke grid, the audit only."""
    estimates = aggregate.estimated(run, windows)
    cells = aggregate.summarise(run, windows, audited_run.cells, estimates)
    rounds: tuple[RoundLevel, ...] = ()
    findings = [*audited_run.findings, *certificates(run), *_nothing(run, cells)]
    fits: tuple[FitResult, ...] = ()
    latencies: tuple[LatencyResult, ...] = ()
    refused: tuple[str, ...] = ()
    measures = run.manifest.options.grid != SMOKE
    if measures:
        rounds = aggregate.round_levels(run, windows, estimates)
        fits, errors = fit.fits(cells, run.manifest.options.precision)
        refused = tuple(str(error) for error in errors.values())
        latencies = latency.latency(run, cells, times, fits)
        cells = latency.marked(cells, latencies)
    findings += aggregate.findings(run, cells)
    if measures:
        findings += latency.findings(cells, latencies, run.manifest.clock_bound_ns / 1e9)
        findings += latency.load_findings(latencies, windows)
        findings += run_checks.findings(run, windows, estimates, rounds, host)
        findings += [_refusal(broker, error, cells) for (_, broker, *_), error in errors.items()]
        findings += _few_layouts(cells, fits)
    fits = tuple(_judged(result, findings) for result in fits)
    return RunResult(
        run=run.name,
        path=str(run.path),
        title=_title(run),
        measures=measures,
        audit=audited_run,
        cells=cells,
        fits=fits,
        host=host,
        findings=tuple(findings),
        rounds=rounds,
        refused=refused,
        claims=claims.claims(run.name, cells, fits, run.not_applicable) if measures else (),
        latency=latencies,
        not_applicable=run.not_applicable,
        comparisons=broker_comparison.compare(list(run.manifest.brokers), cells, fits, run.not_applicable)
        if measures
        else (),
        manifest=run.facts,
    )


def _nothing(run: ThroughputRecord, cells: Sequence[CellSummary]) -> Iterator[Finding]:
    if not cells and run.not_applicable:
        yield Finding(
            what="nothing was measured",
            measured=f"{len(run.not_applicable)} cells, none of them applicable to its broker",
            limit="at least one applicable cell",
            advice="choose another experiment (-k) or another broker",
            consequence=VerdictKind.UNVERIFIED,
        )


def _few_layouts(cells: Sequence[CellSummary], fits: Sequence[FitResult]) -> Iterator[Finding]:
    """Experiments without a model whose cells have no interval; a fit has a finding of its own."""
    modelled = {(result.broker, result.experiment) for result in fits}
    found: dict[tuple[str, str], list[CellSummary]] = {}
    for cell in cells:
        if cell.status == CellStatus.OK:
            found.setdefault((cell.key.broker, cell.key.experiment), []).append(cell)
    for (broker, experiment), of_experiment in found.items():
        fewest = min(cell.layouts for cell in of_experiment)
        by_start = len({cell.key.start for cell in of_experiment}) >= fit.STARTS_AS_UNIT
        if (broker, experiment) not in modelled and not by_start and fewest < LAYOUTS.limit:
            yield fit.too_few_layouts(broker, experiment, fewest)


def _judged(result: FitResult, findings: Sequence[Finding]) -> FitResult:
    """The fit with the run's findings: the verdict of a model is never better than that of its run."""
    return result.also(
        finding
        for finding in findings
        if finding.consequence != VerdictKind.VALID and finding.broker in {None, result.broker}
    )


def _refusal(broker: str, error: DataError, cells: Sequence[CellSummary]) -> Finding:
    """A missing model makes the run invalid if cells were left out, but not if too few cells were asked for."""
    left_out = any(cell.status != CellStatus.OK for cell in cells if cell.key.broker == broker and cell.fits_model)
    return Finding(
        what="no model",
        measured=str(error),
        limit="usable cells that identify the parameters, and one more",
        advice="use the cells without a model",
        consequence=VerdictKind.INVALID if left_out else VerdictKind.VALID,
        broker=broker,
    )


def _no_model(result: RunResult) -> str:
    if not result.measures:
        return "a smoke grid shows correctness only, no model is fitted; measure with --grid quick"
    return (
        "no experiment of this run varies filters and replication independently, so that there is no model to fit; "
        "`pytest microbench -k replication` measures one that does"
    )


def _title(run: ThroughputRecord) -> tuple[str, ...]:
    options, number = run.manifest.options, len({start.start for start in run.manifest.starts})
    starts = f"{number} start{'s' * (number != 1)}"
    client = "" if options.client == BULK else f", client {options.client}"
    return (
        f"grid {options.grid}, profile {options.profile}, loop {options.loop}, {starts}{client}",
        *(f"{label}: {broker.title}" for label, broker in run.manifest.brokers.items()),
    )
