"""Comparison of the brokers of a run: ratios of coefficients and of cells, each with its 95 % interval.

Every broker is compared with the first in the manifest; nothing is compared across runs, experiments or profiles.
Brokers are measured one after the other and share no round levels, so the errors of both sides add up. With five
starts or more of every broker the unit is the start, otherwise the layouts of the starts that were measured; the
interval is labelled accordingly.

* A cell's B is positive and its noise multiplicative: the difference of the mean logarithms, with the variances and the
  degrees of freedom of Welch (Biometrika 34, 1947).
* A coefficient may be close to 0, or estimated below it, so that it has no logarithm: Fieller's interval of a ratio of
  means (J. R. Stat. Soc. B 16, 1954, page 175), for variances that differ (Tamhane and Logan, Biom. J. 46, 2004). Where
  the interval of the denominator covers 0 the ratio is not determinable, and nothing is clamped.

Intervals are 95 % each, so that one in twenty excludes 1 where nothing differs; a difference is concluded only where
the interval excludes 1 and the difference is significant at 5 % over its whole table (Holm, Scand. J. Stat. 6, 1979).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import exp, sqrt

import numpy as np

from analysis.errors import DataError
from analysis.intervals import around, jackknife_covariance, mapped, p_value, t_quantile, welch_degrees
from analysis.results import Interval, NotApplicable
from analysis.throughput.cell_ratios import NO_INTERVAL, OfStart, combined, processing
from analysis.throughput.fit import STARTS_AS_UNIT
from analysis.throughput.results import BrokerComparison, CellSummary, FitResult, Ratio, Scope
from workloads.status import CellStatus, VerdictKind

SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Mean:
    """An estimate with its standard error."""

    value: float
    #: squared standard error; 0 where it is not known
    variance: float
    #: degrees of freedom of the variance; 0 where it is not known
    degrees: float

    @classmethod
    def over(cls, values: Sequence[float]) -> Mean:
        """The mean of two or more independent values."""
        return cls(float(np.mean(values)), float(np.var(values, ddof=1)) / len(values), len(values) - 1)

    @classmethod
    def within(cls, starts: Sequence[OfStart]) -> Mean:
        """The mean over these starts, with the variance from their layouts (as `intervals.stratified`)."""
        value = float(np.mean([start.estimate for start in starts]))
        if not all(start.replicates for start in starts):
            return cls(value, 0.0, 0)
        variances = [jackknife_covariance(np.array(start.replicates)[:, None])[0, 0] for start in starts]
        degrees = sum(len(start.replicates) - 1 for start in starts)
        return cls(value, float(sum(variances)) / len(starts) ** 2, degrees)

    @property
    def interval(self) -> Interval:
        return around(self.value, sqrt(self.variance), self.degrees)


@dataclass(frozen=True, slots=True)
class Tested:
    """A ratio and the test that it is 1."""

    interval: Interval
    #: consistent with the interval; None without an interval
    p: float | None


def compare(
    brokers: Sequence[str],
    cells: Sequence[CellSummary],
    fits: Sequence[FitResult],
    not_applicable: Sequence[NotApplicable],
) -> tuple[BrokerComparison, ...]:
    """A comparison per experiment and profile that at least two brokers of a run measured.

    Open loops are left out: their rates are those of the plan.

    brokers: in the manifest's order
    """
    closed = [cell for cell in cells if not cell.open_loop]
    found = []
    for (experiment, profile), group in groupby(sorted(closed, key=_question), key=_question):
        of_question = list(group)
        measured = [label for label in brokers if any(cell.key.broker == label for cell in of_question)]
        if len(measured) < 2:
            continue
        scope = _scope(of_question)
        models = {fit.broker: fit for fit in fits if (fit.experiment, fit.profile) == (experiment, profile)}
        beyond = {
            (entry.broker, entry.cell): f"not applicable: {entry.reason}"
            for entry in not_applicable
            if (entry.experiment, entry.profile) == (experiment, profile)
        }
        found.append(
            BrokerComparison(
                run=of_question[0].key.run,
                experiment=experiment,
                profile=profile,
                against=measured[0],
                scope=scope,
                routed=any(cell.routed for cell in of_question),
                coefficients=_worded(_coefficients(measured, models, scope)),
                cells=_worded(_cells(measured, of_question, beyond, scope)),
            )
        )
    return tuple(found)


def log_welch(above: Mean, below: Mean) -> Tested:
    """exp(above - below) for means of logarithms."""
    difference, variance = above.value - below.value, above.variance + below.variance
    if min(above.degrees, below.degrees) < 1:
        return Tested(Interval(exp(difference)), None)
    degrees = welch_degrees(np.array([above.variance, below.variance]), np.array([above.degrees, below.degrees]))
    interval = around(difference, sqrt(variance), degrees) if variance else Interval(difference, difference, difference)
    return Tested(mapped(interval, exp), p_value(difference, sqrt(variance), degrees))


def fieller(above: Mean, below: Mean) -> Tested:
    """above / below for independent means, at the degrees of freedom of the estimated ratio.

    Raises DataError where the denominator does not differ significantly from 0, so that no ratio is excluded.
    """
    if below.value <= t_quantile(below.degrees) * sqrt(below.variance):
        raise DataError("not determinable: the interval of the denominator covers 0")
    ratio = above.value / below.value
    parts = np.array([above.variance, ratio**2 * below.variance])
    degrees = welch_degrees(parts, np.array([above.degrees, below.degrees]))
    t2 = t_quantile(degrees) ** 2
    # (above - R below)^2 = t^2 (var above + R^2 var below), solved for R
    leading = below.value**2 - t2 * below.variance
    if leading <= 0:
        raise DataError("not determinable: the interval of the denominator covers 0")
    middle = above.value * below.value
    root = sqrt(max(0.0, middle**2 - leading * (above.value**2 - t2 * above.variance)))
    interval = Interval(ratio, (middle - root) / leading, (middle + root) / leading)
    p = p_value(above.value - below.value, sqrt(above.variance + below.variance), degrees)
    return Tested(interval, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values: where nothing differs, at most 5 % of tables have a value at or below 0.05 (Holm 1979)."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    largest = 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = largest
    return [float(value) for value in adjusted]


def _question(cell: CellSummary) -> tuple[str, str]:
    return cell.key.experiment, cell.profile


def _scope(cells: Sequence[CellSummary]) -> Scope:
    """Between starts only where every broker has enough of them."""
    starts = {(cell.key.broker, cell.key.start) for cell in cells}
    enough = min(Counter(broker for broker, _ in starts).values()) >= STARTS_AS_UNIT
    return Scope.BETWEEN_STARTS if enough else Scope.THESE_STARTS


def _coefficients(brokers: Sequence[str], models: Mapping[str, FitResult], scope: Scope) -> Iterator[Ratio]:
    if not models:
        return
    reference = models.get(brokers[0])
    names = dict.fromkeys(name for model in models.values() for name in model.parameters)
    for name in names:
        for broker in brokers:
            model = models.get(broker)
            value = model.parameters[name] if model and name in model.parameters else None
            if broker == brokers[0]:
                yield Ratio(name, broker, value, None, reason="" if value else "no model")
                continue
            try:
                tested = fieller(*(_mean(name, label, models.get(label), scope) for label in (broker, brokers[0])))
            except DataError as error:
                yield Ratio(name, broker, value, None, reason=str(error))
                continue
            yield Ratio(name, broker, value, tested.interval, p=tested.p, reason=_doubts(reference, model))


def _mean(name: str, broker: str, model: FitResult | None, scope: Scope) -> Mean:
    """A coefficient with its variance from the fit. Raises DataError where there is no fit that covers this scope."""
    if model is None or name not in model.parameters:
        raise DataError(f"no model of {broker}" if model is None else f"the model of {broker} has no {name}")
    if model.covariance is None or model.degrees < 1:
        raise DataError(f"the model of {broker} has no interval: {NO_INTERVAL}")
    if scope is Scope.BETWEEN_STARTS and model.scope is not scope:
        raise DataError(f"the model of {broker} has no interval {scope}: starts {model.starts}")
    index = list(model.parameters).index(name)
    return Mean(model.parameters[name].estimate, model.covariance[index][index], model.degrees)


def _doubts(*models: FitResult | None) -> str:
    """Why there is no conclusion: the ratio with an invalid model is shown without one."""
    invalid = [model.broker for model in models if model and model.verdict == VerdictKind.INVALID]
    return f"invalid model: {' and '.join(invalid)}" if invalid else ""


def _cells(
    brokers: Sequence[str],
    cells: Sequence[CellSummary],
    beyond: Mapping[tuple[str, str], str],
    scope: Scope,
) -> Iterator[Ratio]:
    for name in sorted({cell.key.cell for cell in cells}):
        sides: dict[str, tuple[Mean, Interval] | str] = {}
        for broker in brokers:
            of_cell = sorted(
                (cell for cell in cells if (cell.key.broker, cell.key.cell) == (broker, name)),
                key=lambda cell: cell.key.start,
            )
            try:
                sides[broker] = _side(of_cell, beyond.get((broker, name), "not measured"), scope)
            except DataError as error:
                sides[broker] = str(error)
        reference = sides[brokers[0]]
        for broker in brokers:
            side = sides[broker]
            if isinstance(side, str):
                yield Ratio(name, broker, None, None, reason=side)
            elif broker == brokers[0]:
                yield Ratio(name, broker, side[1], None)
            elif isinstance(reference, str):
                yield Ratio(name, broker, side[1], None, reason=f"{brokers[0]}: {reference}")
            else:
                tested = log_welch(side[0], reference[0])
                reason = NO_INTERVAL if tested.p is None else ""
                yield Ratio(name, broker, side[1], tested.interval, p=tested.p, reason=reason)


def _side(of_cell: Sequence[CellSummary], missing: str, scope: Scope) -> tuple[Mean, Interval]:
    """ln B of a cell on one broker, and B. Raises DataError where the cell is not usable, with the reason.

    Of several starts, at least two must have a usable measurement of the cell.
    """
    if not of_cell:
        raise DataError(missing)
    good = [cell for cell in of_cell if cell.status == CellStatus.OK and cell.processing_s is not None]
    if len(good) < min(2, len(of_cell)):
        bad = next(cell for cell in of_cell if cell not in good)
        raise DataError(f"start {bad.key.start}: {bad.status}" + (f", {bad.reason}" if bad.reason else ""))
    logs = [combined(lambda numbers: float(np.log(numbers[0])), [processing(cell)]) for cell in good]
    if scope is Scope.BETWEEN_STARTS:
        if len(logs) < 2:
            raise DataError("measured in one start only")
        mean = Mean.over([start.estimate for start in logs])
    else:
        mean = Mean.within(logs)
    return mean, mapped(mean.interval, exp)


def _worded(ratios: Iterator[Ratio]) -> tuple[Ratio, ...]:
    """The ratios with their conclusions, adjusted over the whole table."""
    rows = list(ratios)
    tested = [(index, row.p, row.ratio) for index, row in enumerate(rows) if not row.reason]
    known = [(index, p, ratio) for index, p, ratio in tested if p is not None and ratio is not None]
    for (index, _, ratio), p_holm in zip(known, holm([p for _, p, _ in known]), strict=True):
        rows[index] = replace(rows[index], p_holm=p_holm, words=_words(ratio, p_holm))
    return tuple(rows)


def _words(ratio: Interval, p_holm: float) -> str:
    """The conclusion, in per cent of the first broker's time."""
    if ratio.low is None or ratio.high is None:
        return ""
    if ratio.low <= 1 <= ratio.high:
        return "no difference seen"
    if p_holm > SIGNIFICANCE:
        return "not significant after Holm correction"
    if ratio.low <= 0:  # a cost that may be none: no time is more than 100 % shorter
        return f"faster by {1 - ratio.high:.1%} or more"
    ends = (ratio.low - 1, ratio.high - 1) if ratio.estimate > 1 else (1 - ratio.high, 1 - ratio.low)
    word = "slower" if ratio.estimate > 1 else "faster"
    return f"{word} by {abs(ratio.estimate - 1):.1%} [{ends[0]:.1%}, {ends[1]:.1%}]"
