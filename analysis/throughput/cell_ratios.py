"""The cells of one run, broker and profile that a comparison may use, and their ratios with intervals.

Cells are compared within each start, and again with each of its layouts left out, so that common effects of a start or
a layout cancel. An interval is over the layouts of the starts that were measured; from STARTS_AS_UNIT starts on it is
Student's t over the starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp

import numpy as np

from analysis.claims import Estimate
from analysis.errors import DataError
from analysis.intervals import Vector, mapped, mean_interval, stratified
from analysis.results import Interval
from analysis.table import grouped
from analysis.throughput.fit import STARTS_AS_UNIT
from analysis.throughput.results import CellSummary, FitResult
from workloads.command_line import analysing
from workloads.limits import LAYOUTS
from workloads.status import CellStatus
from workloads.throughput.flow import Factor

#: Why an estimate has no interval.
NO_INTERVAL = f"fewer than {LAYOUTS.limit:.0f} layouts give no interval; more --layouts"


@dataclass(frozen=True, slots=True)
class OfStart:
    """A number of one start."""

    estimate: float
    #: the same number with one layout left out, in the order of the start's layouts, which is the same for all numbers
    #: of the start; empty where there is no interval
    replicates: tuple[float, ...] = ()


def combined(function: Callable[[Vector], float], numbers: Sequence[OfStart]) -> OfStart:
    """A function of several numbers of one start, computed on each replicate.

    It has no replicates where one of the numbers has none, or where they are for different layouts.
    """
    estimate = float(function(np.array([number.estimate for number in numbers])))
    if len({len(number.replicates) for number in numbers}) > 1:
        return OfStart(estimate)
    together = np.array([number.replicates for number in numbers]).T
    return OfStart(estimate, tuple(float(function(replicate)) for replicate in together))


def over_layouts(parts: Iterable[tuple[int, float, float]]) -> OfStart:
    """sum(y) / sum(x) of a start from its (layout, y, x): a rate, a share or a mean."""
    by_layout: dict[int, Vector] = {}
    for layout, y, x in parts:
        by_layout.setdefault(layout, np.zeros(2))[:] += y, x
    sums = np.array([by_layout[layout] for layout in sorted(by_layout)])
    y, x = sums.sum(axis=0)
    others = sums.sum(axis=0) - sums
    if len(sums) < LAYOUTS.limit or not others[:, 1].all():
        return OfStart(float(y / x))
    return OfStart(float(y / x), tuple((others[:, 0] / others[:, 1]).tolist()))


def over_starts(starts: Sequence[OfStart]) -> Interval:
    """The mean of the starts with its interval over their layouts, or from STARTS_AS_UNIT starts on over the starts."""
    estimates = [start.estimate for start in starts]
    if len(starts) >= STARTS_AS_UNIT:
        return mean_interval(estimates)
    return stratified(estimates, [start.replicates for start in starts])


def processing(cell: CellSummary) -> OfStart:
    """B. Raises DataError where the cell has none."""
    if cell.processing_s is None:
        raise DataError(f"{cell.key}: no time per message")
    return OfStart(cell.processing_s.estimate, cell.replicates_s)


@dataclass(frozen=True, eq=False, slots=True)
class GridPoint:
    """A setting: a cell of a grid with its measurements in all starts."""

    experiment: str
    cell: str
    factors: Mapping[str, Factor]
    n_fltr: int
    replication: float
    #: by start
    starts: Mapping[int, CellSummary]

    def __str__(self) -> str:
        return f"{self.experiment} {self.cell}"

    def number(self, factor: str) -> int:
        """The level of a factor whose levels are whole numbers."""
        return int(self.factors[factor])


def estimated(interval: Interval, absolute: str, chosen: Iterable[GridPoint], starts: int) -> Estimate:
    """A number that is based on these settings."""
    return Estimate(interval, absolute, tuple(map(str, chosen)), starts, NO_INTERVAL)


@dataclass(frozen=True, slots=True)
class CellSet:
    """The settings of one (run, broker, profile), its models, and the statuses that are usable.

    A setting that is usable in no start is in doubt: comparisons leave it out where they can, and are otherwise refused
    with its reason.
    """

    settings: tuple[GridPoint, ...]
    #: by experiment
    fits: Mapping[str, FitResult]
    #: the statuses of usable cells
    counts: frozenset[CellStatus]
    #: by experiment: the reason why cells are not applicable to the broker
    not_applicable: Mapping[str, str] = field(default_factory=dict)

    def in_doubt(self, experiment: str, **factors: Factor) -> list[GridPoint]:
        """The settings of an experiment with these levels that are usable in no start."""
        found = self._with(experiment, factors)
        return [setting for setting in found if not any(map(self._counts, setting.starts.values()))]

    def _with(self, experiment: str, factors: Mapping[str, Factor]) -> list[GridPoint]:
        return [
            setting
            for setting in self.settings
            if setting.experiment == experiment and factors.items() <= dict(setting.factors).items()
        ]

    def of(self, experiment: str, **factors: Factor) -> list[GridPoint]:
        """The settings of an experiment with these levels, sorted by id, without those in doubt.

        Raises DataError where there are none.
        """
        doubtful = self.in_doubt(experiment, **factors)
        found = [setting for setting in self._with(experiment, factors) if setting not in doubtful]
        if not found and doubtful:
            raise DataError("; ".join(self._doubts(doubtful)))
        if not found:
            levels = "".join(f", {name} {level}" for name, level in factors.items())
            raise DataError(f"not measured: {experiment}{levels}{self.beyond(experiment)}")
        return sorted(found, key=lambda setting: setting.cell)

    def beyond(self, experiment: str) -> str:
        """Supplement to a reason where cells of an experiment are not applicable to the broker; otherwise empty."""
        return f" ({reason})" if (reason := self.not_applicable.get(experiment)) else ""

    def one(self, experiment: str, **factors: Factor) -> GridPoint:
        """The setting with these levels of all its factors. Raises DataError where it was not measured."""
        return self.of(experiment, **factors)[0]

    def levels(self, experiment: str, factor: str, **factors: Factor) -> list[int]:
        """The measured levels of a factor with whole numbers as levels, where the other factors have these levels."""
        return sorted({setting.number(factor) for setting in self.of(experiment, **factors)})

    def fit(self, experiment: str) -> FitResult:
        """The model fitted to an experiment. Raises DataError where there is none."""
        if experiment not in self.fits:
            raise DataError(f"no model was fitted to {experiment}: `{analysing('fit')}` shows why")
        return self.fits[experiment]

    def usable(self, settings: Iterable[GridPoint]) -> dict[int, list[CellSummary]]:
        """The cells of these settings, in this order, by start; only starts in which all of them are usable.

        Raises DataError where there is no such start, with the reasons of the cells that are in doubt.
        """
        wanted = list(settings)
        starts = sorted({start for setting in wanted for start in setting.starts})
        found = {
            start: cells
            for start in starts
            if len(cells := [s.starts[start] for s in wanted if start in s.starts and self._counts(s.starts[start])])
            == len(wanted)
        }
        if not found:
            raise DataError("; ".join(self._doubts(wanted)) or f"no start has all of {', '.join(map(str, wanted))}")
        return found

    def _doubts(self, settings: Iterable[GridPoint]) -> list[str]:
        return [
            f"{setting} (start {start}): {cell.status}, {cell.reason or 'no slice'}"
            for setting in settings
            for start, cell in setting.starts.items()
            if not self._counts(cell)
        ]

    def _counts(self, cell: CellSummary) -> bool:
        return cell.status in self.counts and cell.received_per_s is not None

    def of_setting(self, setting: GridPoint, value: Callable[[CellSummary], OfStart], absolute: str) -> Estimate:
        """A number of a setting. Raises DataError where the setting is in doubt."""
        found = [value(cell) for (cell,) in self.usable([setting]).values()]
        return estimated(over_starts(found), absolute, (setting,), len(found))

    def ratio(
        self,
        rate: str,
        above: Sequence[GridPoint],
        below: Sequence[GridPoint] = (),
        reference: Mapping[int, OfStart] | None = None,
    ) -> Estimate:
        """Geometric mean of a rate over `above`, divided by that over `below` (by 1 where that is empty).

        Over several starts it is their geometric mean. Raises DataError where cells are in doubt, or where no start is
        left.

        rate: a field of CellSummary
        above: settings in the numerator
        below: settings in the denominator
        reference: by start, a further divisor; starts without one are left out
        """
        weights: dict[GridPoint, float] = {}
        for group, sign in ((above, 1), (below, -1)):
            for setting in group:
                weights[setting] = weights.get(setting, 0.0) + sign / len(group)
        starts = {
            start: [_rate(cell, rate) for cell in cells]
            for start, cells in self.usable(weights).items()
            if reference is None or start in reference
        }
        if not starts:
            raise DataError(f"no start has both {', '.join(map(str, weights))} and the reference")
        coefficients = np.array([*weights.values(), *([] if reference is None else [-1.0])])
        logs = [
            combined(
                lambda numbers: float(coefficients @ np.log(numbers)),
                [*of_start, *([] if reference is None else [reference[start]])],
            )
            for start, of_start in starts.items()
        ]
        absolute = _absolute(rate, [[number.estimate for number in of_start] for of_start in starts.values()])
        return estimated(mapped(over_starts(logs), exp), absolute, weights, len(logs))


def settings(cells: Iterable[CellSummary]) -> tuple[GridPoint, ...]:
    """The cells of one run, broker and profile, grouped by setting."""
    found = []
    for (experiment, name), of_cell in grouped(cells, lambda cell: (cell.key.experiment, cell.key.cell)).items():
        first, starts = of_cell[0], {cell.key.start: cell for cell in of_cell}
        found.append(GridPoint(experiment, name, first.factors, first.n_fltr, first.replication, starts))
    return tuple(found)


def dispatched_share(cell: CellSummary) -> OfStart:
    """dispatched / (r x received) over all slices of a cell."""
    return over_layouts((s.layout, s.dispatched, cell.replication * s.received) for s in cell.windows)


def broker_cpu(cell: CellSummary) -> OfStart:
    """The broker's share of its CPU set. Raises DataError where it is unknown."""
    used = [(s.layout, s.broker_cpu_ns, s.taken_s * 1e9) for s in cell.windows if s.broker_cpu_ns is not None]
    if cell.broker_cpu is None or len(used) < len(cell.windows):
        raise DataError(f"{cell.key}: the broker's CPU is not known")
    cores = over_layouts(used)
    share = cell.broker_cpu / cores.estimate if cores.estimate else 1.0
    return OfStart(cell.broker_cpu, tuple(share * replicate for replicate in cores.replicates))


def _rate(cell: CellSummary, rate: str) -> OfStart:
    """A rate of a cell; its replicates follow from those of B, since every rate is a multiple of 1 / B."""
    interval = getattr(cell, rate)
    if not isinstance(interval, Interval) or interval.estimate <= 0:
        raise DataError(f"{cell.key}: no {rate}")
    time = processing(cell)
    return OfStart(
        interval.estimate, tuple(interval.estimate * time.estimate / replicate for replicate in time.replicates)
    )


def _absolute(rate: str, rates: Sequence[Sequence[float]]) -> str:
    """`61,200 against 34,200 messages/s overall`, each the mean over the starts; for more than two, the range."""
    means = [float(np.mean(of_setting)) for of_setting in zip(*rates, strict=True)]
    word = rate.removesuffix("_per_s")
    if len(means) > 2:
        return f"{min(means):,.0f} to {max(means):,.0f} messages/s {word} in {len(means)} cells"
    return " against ".join(f"{mean:,.0f}" for mean in means) + f" messages/s {word}"
