"""The claims of a publication about a workload's cases, judged on the results of a run; the rows are the workload's.

The rule is that of `analysis.claims`. Ratios are between two cases of one run, broker, consumption, topology and BASE.
Those of measured quantities are taken within each start, whose effects cancel; their interval is Student's t over the
starts' logarithms. Cells whose audit failed are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from analysis.claims import ClaimComparison, Comparisons, Estimate, decide, table
from analysis.errors import DataError
from analysis.formats import number, span
from analysis.intervals import mapped, mean_interval
from analysis.results import Claim, Interval
from analysis.scenario.results import InteractionResult, PeriodResult, WorkloadResult
from analysis.table import Table, grouped
from workloads.scenario.claims import CaseRatio, ComparedQuantity, PublishedClaim
from workloads.scenario.workload import CaseRequest
from workloads.status import ClaimVerdict, VerdictKind

#: Smallest number of starts with both cases of a ratio: with two the t quantile is 12.7, and says nothing.
FEWEST_STARTS = 3

#: Part of a quantity that has only one.
_WHOLE = ""


@dataclass(frozen=True, slots=True)
class _Quantity:
    """How a quantity is read from a result."""

    #: The values by part. Raises DataError where one is not known.
    values: Callable[[WorkloadResult], Mapping[str, float]]
    unit: str
    #: Whether it follows from the plan: then one start says as much as many.
    planned: bool = False


def _measured(result: WorkloadResult) -> PeriodResult:
    if result.measured is None:
        raise DataError(f"{_place(result)}: no measurement period")
    return result.measured


def _broker_cpu(result: WorkloadResult) -> Mapping[str, float]:
    cores = _measured(result).broker_cpu
    if cores is None:
        raise DataError(f"{_place(result)}: the broker's CPU is not known")
    return {_WHOLE: 1e3 * cores / result.base}


def _delivery(result: WorkloadResult) -> Mapping[str, float]:
    mean_ms = _measured(result).delivery.mean_ms
    if mean_ms is None:
        raise DataError(f"{_place(result)}: nothing was received")
    return {_WHOLE: mean_ms}


def _by_interaction(count: Callable[[InteractionResult], int]) -> Callable[[WorkloadResult], Mapping[str, float]]:
    return lambda result: {f"interaction {of.number}": count(of) for of in _measured(result).interactions}


_QUANTITIES: Mapping[ComparedQuantity, _Quantity] = {
    ComparedQuantity.BROKER_CPU: _Quantity(_broker_cpu, "core-ms per s and BASE"),
    ComparedQuantity.DELIVERY: _Quantity(_delivery, "ms"),
    ComparedQuantity.SENT: _Quantity(_by_interaction(lambda of: of.sent), "messages"),
    ComparedQuantity.RECEIVED: _Quantity(_by_interaction(lambda of: of.received), "messages"),
    ComparedQuantity.SUBSCRIPTIONS: _Quantity(
        lambda result: {_WHOLE: sum(len(handler.subscriptions) for handler in result.plan.handlers)},
        "by the plan",
        planned=True,
    ),
    ComparedQuantity.HANDLERS: _Quantity(
        lambda result: {_WHOLE: len(result.plan.handlers)}, "by the plan", planned=True
    ),
}


def claims(results: Sequence[WorkloadResult]) -> tuple[Claim, ...]:
    """A row per claim, for each run, broker, consumption, topology and BASE with two of the cases that are compared."""
    units = grouped(
        results,
        lambda result: (result.run, result.key.broker, result.consumption, result.topology, result.base),
    )
    return tuple(claim for unit in units.values() for claim in _of_unit(unit))


def tables(results: Sequence[WorkloadResult]) -> Iterator[Table]:
    """A table of claims for each broker and consumption of each run."""
    for of_run in grouped(results, lambda result: result.run).values():
        yield from table(claims(of_run), of_run[0].workload.claims.source, "consumption")


def _of_unit(unit: Sequence[WorkloadResult]) -> Iterator[Claim]:
    first = unit[0]
    published = first.workload.claims
    by_case = {name: [result for result in unit if _is_of(result, name)] for name in published.cases}
    if sum(map(bool, by_case.values())) < 2:
        return
    run, broker, consumption = first.run, first.key.broker, first.consumption
    for row in published.rows:
        yield Claim(run, broker, consumption, row.section, row.claim, row.published, *_judged(row, by_case))


def _is_of(result: WorkloadResult, name: str) -> bool:
    """Whether a result is one of the case with this name, which reads no file."""
    return result.key.cell == result.workload.cases[name].cell(CaseRequest(result.base))


def _judged(
    row: PublishedClaim, by_case: Mapping[str, Sequence[WorkloadResult]]
) -> tuple[str, ClaimVerdict, str, tuple[str, ...]]:
    """measured, verdict, reason, cells."""
    nothing = "", ClaimVerdict.NOT_DECIDABLE
    try:
        decision = decide(_comparisons(row, by_case))
    except DataError as error:
        return *nothing, f"{row.unjudged}; {error}" if row.unjudged else str(error), ()
    if decision is None:
        return *nothing, row.unjudged, ()
    if row.unjudged:
        shown = "; ".join(str(compared) for compared in decision.compared)
        return shown, ClaimVerdict.NOT_DECIDABLE, row.unjudged, decision.cells
    starts = [compared.estimate.starts for compared in decision.compared if compared.estimate.starts]
    scope = f"95 % t intervals over {span(starts)} starts" if starts else "counted, without an interval"
    return decision.measured, decision.verdict, f"{decision.criterion}; {scope}", decision.cells


def _comparisons(row: PublishedClaim, by_case: Mapping[str, Sequence[WorkloadResult]]) -> Comparisons:
    for ratio in row.ratios:
        above, below = (_by_start(name, by_case[name]) for name in (ratio.above, ratio.below))
        for label, estimate in _estimates(ratio, above, below):
            yield ClaimComparison(label, estimate, ratio.expected)


def _by_start(name: str, results: Sequence[WorkloadResult]) -> Mapping[int, WorkloadResult]:
    """The usable results of a case. Raises DataError where there are none, with the reasons."""
    usable = {result.key.start: result for result in results if result.verdict != VerdictKind.INVALID}
    if not results:
        raise DataError(f"not measured: {name}")
    if not usable:
        failures = "; ".join(f"{_place(result)}: {result.first_failure or 'invalid'}" for result in results)
        raise DataError(f"the audit failed: {failures}")
    return usable


def _estimates(
    ratio: CaseRatio, above: Mapping[int, WorkloadResult], below: Mapping[int, WorkloadResult]
) -> Iterator[tuple[str, Estimate]]:
    """The ratio of each part, with its label. Raises DataError where it cannot be computed."""
    quantity = _QUANTITIES[ratio.quantity]
    names = f"{ratio.above} / {ratio.below}"
    if quantity.planned:
        pairs = [(next(iter(above.values())), next(iter(below.values())))]
    else:
        pairs = [(above[start], below[start]) for start in sorted(above.keys() & below.keys())]
        if len(pairs) < FEWEST_STARTS:
            raise DataError(
                f"{ratio.quantity}, {names}: {len(pairs)} starts have both; an interval needs {FEWEST_STARTS} "
                f"(--starts {FEWEST_STARTS})"
            )
    values = [(quantity.values(over), quantity.values(under)) for over, under in pairs]
    cells = tuple(dict.fromkeys(result.key.cell for pair in pairs for result in pair))
    for part in values[0][0]:
        of_part = [(over[part], under[part]) for over, under in values]
        label = f"{ratio.quantity}, {names}" + (f", {part}" if part else "")
        if min(min(pair) for pair in of_part) <= 0:
            raise DataError(f"{label}: a value is 0")
        logs = [log(over / under) for over, under in of_part]
        interval = mapped(mean_interval(logs), exp)
        if quantity.planned:
            interval = Interval(interval.estimate, interval.estimate, interval.estimate)
        over, under = (number(float(np.mean(side))) for side in zip(*of_part, strict=True))
        absolute = f"{over} against {under} {quantity.unit}"
        yield label, Estimate(interval, absolute, cells, 0 if quantity.planned else len(pairs))


def _place(result: WorkloadResult) -> str:
    return f"{result.key.cell}, start {result.key.start}"
