"""The cells of one run, broker and profile that a comparison may use, and their ratios with intervals.

Cells are compared start by start, and within a start once more with each of its layouts left out: what makes one
start or one layout faster than another cancels. An interval is over the layouts of the starts that were measured; from
STARTS_AS_UNIT of them on it is Student's t over the starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp

import numpy as np

from analysis.errors import DataError
from analysis.intervals import Vector, mean_interval, stratified
from analysis.results import CellSummary, FitResult, Interval
from analysis.throughput.fit import STARTS_AS_UNIT
from workloads.limits import LAYOUTS
from workloads.status import CellStatus
from workloads.throughput.flow import Factor

#: Why an estimate may stand without an interval.
NO_INTERVAL = f"fewer than {LAYOUTS.limit:.0f} layouts give no interval; more --layouts"


@dataclass(frozen=True, slots=True)
class OfStart:
    """A number of one start, and the same with one of its layouts left out, in the order of the layouts.

    replicates: those of all numbers of a start belong together, place by place; empty where there is no interval.
    """

    estimate: float
    replicates: tuple[float, ...] = ()


def combined(function: Callable[[Vector], float], numbers: Sequence[OfStart]) -> OfStart:
    """A function of several numbers of one start, computed on each replicate.

    Without replicates where one of the numbers has none, or has them of other layouts.
    """
    estimate = float(function(np.array([one.estimate for one in numbers])))
    if len({len(one.replicates) for one in numbers}) > 1:
        return OfStart(estimate)
    together = np.array([one.replicates for one in numbers]).T
    return OfStart(estimate, tuple(float(function(replicate)) for replicate in together))


def over_layouts(parts: Iterable[tuple[int, float, float]]) -> OfStart:
    """sum(y) / sum(x) of one start from its (layout, y, x): a rate, a share or a mean."""
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
    """The mean of the starts: over their layouts, or from STARTS_AS_UNIT of them on over the starts themselves."""
    estimates = [one.estimate for one in starts]
    if len(starts) >= STARTS_AS_UNIT:
        return mean_interval(estimates)
    return stratified(estimates, [one.replicates for one in starts])


def processing(cell: CellSummary) -> OfStart:
    """B. Raises DataError where the cell has none."""
    if cell.processing_s is None:
        raise DataError(f"{cell.key}: no time per message")
    return OfStart(cell.processing_s.estimate, cell.replicates_s)


@dataclass(frozen=True, eq=False, slots=True)
class GridPoint:
    """One cell of a grid, with what each start measured of it."""

    experiment: str
    cell: str
    factors: Mapping[str, Factor]
    n_fltr: int
    replication: float
    starts: Mapping[int, CellSummary]

    def __str__(self) -> str:
        return f"{self.experiment} {self.cell}"

    def number(self, factor: str) -> int:
        """The level of a factor that counts something."""
        return int(self.factors[factor])


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, the absolute values behind it in words, and the settings that it rests on.

    starts: how many have it.
    """

    interval: Interval
    absolute: str
    settings: tuple[GridPoint, ...]
    starts: int

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit, or as a share of a number without an error of its own."""
        return replace(self, interval=mapped(self.interval, lambda number: number * factor))


@dataclass(frozen=True, slots=True)
class CellSet:
    """The settings of one (run, broker, profile), its models by experiment, and the statuses that count.

    A setting that counts in no start is in doubt: what can be compared without it is, and what cannot is refused
    with its reason. not_applicable: by experiment, what the broker cannot do of it, in words.
    """

    settings: tuple[GridPoint, ...]
    fits: Mapping[str, FitResult]
    counts: frozenset[CellStatus]
    not_applicable: Mapping[str, str] = field(default_factory=dict)

    def in_doubt(self, experiment: str, **factors: Factor) -> list[GridPoint]:
        """The settings of an experiment with these levels that count in no start."""
        return [one for one in self._with(experiment, factors) if not any(map(self._counts, one.starts.values()))]

    def _with(self, experiment: str, factors: Mapping[str, Factor]) -> list[GridPoint]:
        return [
            setting
            for setting in self.settings
            if setting.experiment == experiment and factors.items() <= dict(setting.factors).items()
        ]

    def of(self, experiment: str, **factors: Factor) -> list[GridPoint]:
        """The settings of an experiment with these levels, by their ids, without those in doubt.

        Raises DataError where there is none.
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
        """What a reason adds where the broker cannot do all of an experiment; empty where it can."""
        return f" ({reason})" if (reason := self.not_applicable.get(experiment)) else ""

    def one(self, experiment: str, **factors: Factor) -> GridPoint:
        """The setting with these levels of all its factors. Raises DataError where it was not measured."""
        return self.of(experiment, **factors)[0]

    def levels(self, experiment: str, factor: str, **factors: Factor) -> list[int]:
        """The measured levels of a factor that counts something, where the others have these levels."""
        return sorted({setting.number(factor) for setting in self.of(experiment, **factors)})

    def fit(self, experiment: str) -> FitResult:
        """The model fitted on an experiment. Raises DataError where there is none."""
        if experiment not in self.fits:
            raise DataError(f"no model was fitted on {experiment}: `python -m analysis fit` says why")
        return self.fits[experiment]

    def usable(self, settings: Iterable[GridPoint]) -> dict[int, list[CellSummary]]:
        """Per start in which all of these count, their cells in this order.

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
        """A number of one setting. Raises DataError where the setting is in doubt."""
        found = [value(cell) for (cell,) in self.usable([setting]).values()]
        return Estimate(over_starts(found), absolute, (setting,), len(found))

    def ratio(
        self,
        rate: str,
        above: Sequence[GridPoint],
        below: Sequence[GridPoint] = (),
        reference: Mapping[int, OfStart] | None = None,
    ) -> Estimate:
        """Geometric mean of a rate over `above`, divided by that over `below` (by 1 where there are none).

        rate: a field of CellSummary · reference: by start, what it is divided by as well; starts without one are left
        out. Over several starts it is their geometric mean. Raises DataError where cells are in doubt, or where no
        start is left.
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
            raise DataError(f"no start has both {', '.join(map(str, weights))} and what they are divided by")
        coefficients = np.array([*weights.values(), *([] if reference is None else [-1.0])])
        logs = [
            combined(
                lambda numbers: float(coefficients @ np.log(numbers)),
                [*of_start, *([] if reference is None else [reference[start]])],
            )
            for start, of_start in starts.items()
        ]
        absolute = _absolute(rate, [[one.estimate for one in of_start] for of_start in starts.values()])
        return Estimate(mapped(over_starts(logs), exp), absolute, tuple(weights), len(logs))


def settings(cells: Iterable[CellSummary]) -> tuple[GridPoint, ...]:
    """The cells of one run, broker and profile, their starts put side by side."""
    by_cell: dict[tuple[str, str], dict[int, CellSummary]] = {}
    for cell in cells:
        by_cell.setdefault((cell.key.experiment, cell.key.cell), {})[cell.key.start] = cell
    found = []
    for (experiment, name), starts in by_cell.items():
        first = next(iter(starts.values()))
        found.append(GridPoint(experiment, name, first.factors, first.n_fltr, first.replication, starts))
    return tuple(found)


def ends(interval: Interval, place: object) -> tuple[float, float]:
    """Both ends of an interval. Raises DataError where it has none."""
    if interval.low is None or interval.high is None:
        raise DataError(f"{place}: {NO_INTERVAL}")
    return interval.low, interval.high


def mapped(interval: Interval, function: Callable[[float], float]) -> Interval:
    """The interval of an increasing function of a number."""
    low, high = (None if end is None else float(function(end)) for end in (interval.low, interval.high))
    return Interval(float(function(interval.estimate)), low, high)


def dispatched_share(cell: CellSummary) -> OfStart:
    """dispatched / (r x received) over all slices of a cell."""
    return over_layouts((one.layout, one.dispatched, cell.replication * one.received) for one in cell.windows)


def broker_cpu(cell: CellSummary) -> OfStart:
    """The broker's share of its CPU set. Raises DataError where it is unknown."""
    used = [
        (one.layout, one.broker_cpu_ns, one.elapsed_s * 1e9) for one in cell.windows if one.broker_cpu_ns is not None
    ]
    if cell.broker_cpu is None or len(used) < len(cell.windows):
        raise DataError(f"{cell.key}: the broker's CPU is not known")
    cores = over_layouts(used)
    share = cell.broker_cpu / cores.estimate if cores.estimate else 1.0
    return OfStart(cell.broker_cpu, tuple(share * one for one in cores.replicates))


def _rate(cell: CellSummary, rate: str) -> OfStart:
    """A rate of a cell; each of them is a multiple of 1 / B, in every replicate."""
    interval = getattr(cell, rate)
    if not isinstance(interval, Interval) or interval.estimate <= 0:
        raise DataError(f"{cell.key}: no {rate}")
    time = processing(cell)
    return OfStart(interval.estimate, tuple(interval.estimate * time.estimate / one for one in time.replicates))


def _absolute(rate: str, rates: Sequence[Sequence[float]]) -> str:
    """`61,200 against 34,200 messages/s overall`, each the mean over the starts; of more than two, the range."""
    means = [float(np.mean(of_setting)) for of_setting in zip(*rates, strict=True)]
    word = rate.removesuffix("_per_s")
    if len(means) > 2:
        return f"{min(means):,.0f} to {max(means):,.0f} messages/s {word} in {len(means)} cells"
    return " against ".join(f"{one:,.0f}" for one in means) + f" messages/s {word}"
