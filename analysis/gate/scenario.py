"""A gate with a business workload: CPU time of the broker per message, and delivery times, in whole periods.

The brokers run one after the other, in the order A B B A; a pair of lives is the start of the same number of each. A
workload's rate is set by its plan, so that a slower broker shows in its CPU time and in its delivery times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.gate.pairs import incomplete, pairs_of_lives
from analysis.gate.results import CellComparison, GateResult, overriding
from analysis.gate.verdict import MetricRow, judge
from analysis.results import Finding
from analysis.run_directory import shared_cpus
from analysis.scenario import pipeline
from analysis.scenario.results import HandlerResult, PeriodResult, WorkloadResult
from workloads.command_line import analysing
from workloads.gate import SCENARIO_FAMILIES, GateRole, GateRules
from workloads.scenario.periods import Period
from workloads.schema import BY_URL, RunKind
from workloads.status import VerdictKind

CPU, MEDIAN, P90 = SCENARIO_FAMILIES


def judged(path: Path, rules: GateRules, *, master: str, partial: bool) -> GateResult:
    """The result of the gate. Raises DataError where the run cannot be read, or a pair lacks a cell."""
    return of_results(pipeline.analysed([path], master=master, partial=partial), path, rules, partial=partial)


def of_results(results: Sequence[WorkloadResult], path: Path, rules: GateRules, *, partial: bool) -> GateResult:
    """The same, from the results of all its cells."""
    pairs = pairs_of_lives({result.key: result for result in results}, path)
    cells = list(pairs[0][GateRole.BASELINE])
    by_cell = {
        (cell, family): [_log_ratio(family, *(pair[role][cell] for role in GateRole)) for pair in pairs]
        for cell in cells
        for family in SCENARIO_FAMILIES
    }
    rows = [
        MetricRow(family, number, _mean([by_cell[cell, family][number - 1] for cell in cells]))
        for family in SCENARIO_FAMILIES
        for number in range(1, len(pairs) + 1)
    ]
    judgement = judge(rows, rules)
    unfinished = incomplete(judgement, len(pairs), path, partial=partial)
    manifest = results[0].manifest
    failed, unmet = tuple(_failed(results)), tuple(shared_cpus(manifest))
    titles = {GateRole(result.key.broker): result.broker.title for result in results}
    return GateResult(
        run=results[0].run,
        path=str(results[0].path),
        baseline=manifest.options["baseline"],
        broker=manifest.options["broker"][0],
        titles={role: titles[role] for role in GateRole},
        what=", ".join(sorted(map(" ".join, cells))),
        pairs=len(pairs),
        rules=rules,
        families=judgement.families,
        cells=tuple(
            CellComparison.of(f"{' '.join(cell)}, {family}", logs)
            for (cell, family), values in by_cell.items()
            if len(logs := [value for value in values if value is not None]) == len(values)
        ),
        findings=(*failed, *unmet, *unfinished),
        judged=judgement.verdict,
        overriding=overriding(failed, unmet),
        of_processes=any(manifest.brokers[role].provider == BY_URL for role in GateRole),
        kind=RunKind.WORKLOAD,
    )


def _log_ratio(family: str, baseline: WorkloadResult, candidate: WorkloadResult) -> float | None:
    before, after = _measured(baseline), _measured(candidate)
    if family == CPU:
        values = [period.broker_s_per_message for period in (before, after)]
        return None if not all(values) else math.log((values[1] or 1) / (values[0] or 1))
    return _delivery(before.handlers, after.handlers, median=family == MEDIAN)


def _measured(result: WorkloadResult) -> PeriodResult:
    return next(period for period in result.periods if period.period is Period.MEASUREMENT)


def _delivery(before: Sequence[HandlerResult], after: Sequence[HandlerResult], *, median: bool) -> float | None:
    """The mean logarithm of the ratio of the handlers' delivery times, weighted by their messages."""
    found = {handler.handler: handler for handler in after}
    total = weight = 0.0
    for handler in before:
        times = [each.delivery.p50_ms if median else each.delivery.p90_ms for each in (handler, found[handler.handler])]
        if handler.received and all(times):
            total += handler.received * math.log((times[1] or 1) / (times[0] or 1))
            weight += handler.received
    return total / weight if weight else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _failed(results: Sequence[WorkloadResult]) -> Iterator[Finding]:
    for result in results:
        if result.audit_failed:
            yield Finding(
                what=f"the audit of {result.key.cell} on the {result.key.broker} failed in pair {result.key.start}",
                measured=str(result.verdict),
                limit="every test of the audit passes",
                advice=f"see `{analysing('audit')}`",
                consequence=VerdictKind.INVALID,
            )
