"""From the rows of a run to its result, without Spark: the order in which the parts of an analysis are executed.

The findings of the audit, and those about the host and the cells of a broker, apply to every model fitted to that
broker in that run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from analysis.formats import count
from analysis.results import CellKey, Finding
from analysis.run_directory import broker_findings
from analysis.throughput import aggregate, broker_comparison, claims, fit, judgement, latency, paper_fit
from analysis.throughput.reader import ThroughputRecord
from analysis.throughput.results import AuditResult, CellSummary, FitResult, HostUse, LatencyResult, RunResult
from workloads.schema import Window
from workloads.status import VerdictKind
from workloads.throughput.presets import SMOKE

#: The suite's own client, which the title does not mention.
BULK = "bulk"


def result_of(
    run: ThroughputRecord,
    audited_run: AuditResult,
    windows: Mapping[CellKey, Sequence[Window]],
    times: latency.Histograms,
    host: tuple[HostUse, ...],
) -> RunResult:
    """The analysis of a run from its rows; of a smoke grid, the audit only."""
    exact = {cell.key for cell in audited_run.cells if cell.copies.exact}
    found = judgement.estimated(run, windows, exact, {cell.key for cell in audited_run.cells if cell.lossy})
    findings = [*audited_run.findings, *broker_findings(run.manifest.brokers), *_nothing(run, found.cells)]
    latencies: tuple[LatencyResult, ...] = ()
    measures = run.options.grid != SMOKE
    if measures:
        latencies = latency.latency(run, found.cells, times, found.fits)
        found = replace(found, cells=latency.marked(found.cells, latencies))
        findings += judgement.doubts(run, windows, found, host)
        findings += latency.findings(found.cells, latencies, run.manifest.clock_bound_ns / 1e9)
        findings += latency.load_findings(latencies, windows)
    else:
        found = replace(found, fits=(), rounds=(), refused=())
        findings += aggregate.findings(run, found.cells)
    fits = tuple(_judged(result, findings) for result in _as_in_paper(found.fits, found.cells))
    return RunResult(
        run=run.name,
        path=str(run.path),
        title=_title(run),
        measures=measures,
        audit=audited_run,
        cells=found.cells,
        fits=fits,
        host=host,
        findings=tuple(findings),
        rounds=found.rounds,
        refused=tuple(str(error) for _, error in found.refused),
        claims=claims.claims(run.name, found.cells, fits, run.not_applicable) if measures else (),
        latency=latencies,
        not_applicable=run.not_applicable,
        comparisons=broker_comparison.compare(list(run.manifest.brokers), found.cells, fits, run.not_applicable)
        if measures
        else (),
        manifest=run.manifest,
    )


def _as_in_paper(fits: Sequence[FitResult], cells: Sequence[CellSummary]) -> Iterator[FitResult]:
    """The fits with the least squares of the paper beside them."""
    for result in fits:
        of_fit = result.broker, result.experiment, result.profile
        usable, _ = fit.usable_cells(
            [cell for cell in cells if (cell.key.broker, cell.key.experiment, cell.profile) == of_fit]
        )
        yield replace(result, ols_as_in_paper=paper_fit.ols_as_in_paper(usable, tuple(result.parameters)))


def _nothing(run: ThroughputRecord, cells: Sequence[CellSummary]) -> Iterator[Finding]:
    if not cells and run.not_applicable:
        yield Finding(
            what="nothing was measured",
            measured=f"{len(run.not_applicable)} cells, none of them applicable to its broker",
            limit="at least one applicable cell",
            advice="choose another experiment (-k) or another broker",
            consequence=VerdictKind.UNVERIFIED,
        )


def _judged(result: FitResult, findings: Sequence[Finding]) -> FitResult:
    """The fit with the run's findings: the verdict of a model is never better than that of its run."""
    return result.also(
        finding
        for finding in findings
        if finding.consequence != VerdictKind.VALID and finding.broker in {None, result.broker}
    )


def _title(run: ThroughputRecord) -> tuple[str, ...]:
    options, starts = run.options, count(len({start.start for start in run.manifest.starts}), "start")
    client = "" if options.client == BULK else f", client {options.client}"
    return (
        f"grid {options.grid}, profile {options.profile}, loop {options.loop}, {starts}{client}",
        *(f"{label}: {broker.title}" for label, broker in run.manifest.brokers.items()),
    )
