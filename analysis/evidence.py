"""The cells of one run, broker and profile that a comparison may use, and their ratios with intervals.

Cells are compared start by start, so that what makes one start faster than another cancels. With several starts
the interval is Student's t over the starts; within one start it follows from the cells' own intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp

import numpy as np

from analysis.errors import DataError
from analysis.intervals import Vector, around, mean_interval, ratio_interval, t_quantile, welch_degrees
from analysis.results import CellSummary, FitResult, Interval
from workloads.model import Factor
from workloads.rules import Status


@dataclass(frozen=True, eq=False, slots=True)
class Setting:
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

    starts: how many the interval is over; with one it holds within that start only.
    """

    interval: Interval
    absolute: str
    settings: tuple[Setting, ...]
    starts: int

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit, or as a share of a number without an error of its own."""
        return replace(self, interval=mapped(self.interval, lambda number: number * factor))


@dataclass(frozen=True, slots=True)
class Evidence:
    """The settings of one (run, broker, profile), its models by experiment, and the statuses that count.

    A setting that counts in no start is in doubt: what can be compared without it is, and what cannot is refused
    with its reason. not_applicable: by experiment, what the broker cannot do of it, in words.
    """

    settings: tuple[Setting, ...]
    fits: Mapping[str, FitResult]
    counts: frozenset[Status]
    not_applicable: Mapping[str, str] = field(default_factory=dict)

    def in_doubt(self, experiment: str, **factors: Factor) -> list[Setting]:
        """The settings of an experiment with these levels that count in no start."""
        return [one for one in self._with(experiment, factors) if not any(map(self._counts, one.starts.values()))]

    def _with(self, experiment: str, factors: Mapping[str, Factor]) -> list[Setting]:
        return [
            setting
            for setting in self.settings
            if setting.experiment == experiment and factors.items() <= dict(setting.factors).items()
        ]

    def of(self, experiment: str, **factors: Factor) -> list[Setting]:
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

    def one(self, experiment: str, **factors: Factor) -> Setting:
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

    def usable(self, settings: Iterable[Setting]) -> dict[int, list[CellSummary]]:
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

    def _doubts(self, settings: Iterable[Setting]) -> list[str]:
        return [
            f"{setting} (start {start}): {cell.status}, {cell.reason or 'no window'}"
            for setting in settings
            for start, cell in setting.starts.items()
            if not self._counts(cell)
        ]

    def _counts(self, cell: CellSummary) -> bool:
        return cell.status in self.counts and cell.received_per_s is not None

    def over_starts(self, setting: Setting, value: Callable[[CellSummary], Interval], absolute: str) -> Estimate:
        """A number of one setting: t interval over its starts, or its own interval within the one start."""
        intervals = [value(cell) for (cell,) in self.usable([setting]).values()]
        interval = mean_interval([one.estimate for one in intervals]) if len(intervals) > 1 else intervals[0]
        return Estimate(interval, absolute, (setting,), len(intervals))

    def ratio(self, rate: str, above: Sequence[Setting], below: Sequence[Setting] = ()) -> Estimate:
        """Geometric mean of a rate over `above`, divided by that over `below` (by 1 where there are none).

        rate: a field of CellSummary. Over several starts: exp of the t interval over the starts' log ratios. Within
        one start: delta method on the logarithms, the cells being measured one after the other and taken as
        independent, with the degrees of freedom of Welch (1947). Raises DataError where cells are in doubt or
        give no interval.
        """
        weights: dict[Setting, float] = {}
        for group, sign in ((above, 1), (below, -1)):
            for setting in group:
                weights[setting] = weights.get(setting, 0.0) + sign / len(group)
        starts = self.usable(weights)
        coefficients = np.array(list(weights.values()))
        rates = {start: [_rate(cell, rate) for cell in cells] for start, cells in starts.items()}
        logs = [float(coefficients @ np.log([one.estimate for one in of_start])) for of_start in rates.values()]
        if len(logs) > 1:
            interval = mean_interval(logs)
        else:
            ((start, of_start),) = rates.items()
            cells = starts[start]
            errors = [relative_error(one, cell) for one, cell in zip(of_start, cells, strict=True)]
            variances = (coefficients * np.array(errors)) ** 2
            degrees = np.array([len(cell.windows) - 1.0 for cell in cells])
            interval = _welch(logs[0], variances, degrees)
        return Estimate(mapped(interval, exp), _absolute(rate, list(rates.values())), tuple(weights), len(logs))


def settings(cells: Iterable[CellSummary]) -> tuple[Setting, ...]:
    """The cells of one run, broker and profile, their starts put side by side."""
    by_cell: dict[tuple[str, str], dict[int, CellSummary]] = {}
    for cell in cells:
        by_cell.setdefault((cell.key.experiment, cell.key.cell), {})[cell.key.start] = cell
    found = []
    for (experiment, name), starts in by_cell.items():
        first = next(iter(starts.values()))
        found.append(Setting(experiment, name, first.factors, first.n_fltr, first.replication, starts))
    return tuple(found)


def ends(interval: Interval, place: object) -> tuple[float, float]:
    """Both ends of an interval. Raises DataError where it has none."""
    if interval.low is None or interval.high is None:
        raise DataError(f"{place}: one window in one start gives no interval; more --windows, or more --starts")
    return interval.low, interval.high


def mapped(interval: Interval, function: Callable[[float], float]) -> Interval:
    """The interval of an increasing function of a number."""
    low, high = (None if end is None else float(function(end)) for end in (interval.low, interval.high))
    return Interval(float(function(interval.estimate)), low, high)


def dispatched_share(cell: CellSummary) -> Interval:
    """dispatched / (r x received) over the windows, whose own two counts belong together."""
    expected = [cell.replication * window.received for window in cell.windows]
    return ratio_interval([window.dispatched for window in cell.windows], expected)


def broker_cpu(cell: CellSummary) -> Interval:
    """The broker's share of its CPU set, with the scatter of the windows. Raises DataError where it is unknown."""
    used = [window.broker_cpu_ns for window in cell.windows if window.broker_cpu_ns is not None]
    if cell.broker_cpu is None or len(used) < len(cell.windows):
        raise DataError(f"{cell.key}: the broker's CPU is not known")
    cores = ratio_interval(used, [window.elapsed_s * 1e9 for window in cell.windows])
    share = cell.broker_cpu / cores.estimate if cores.estimate else 1.0
    return mapped(cores, lambda number: number * share)


def _rate(cell: CellSummary, rate: str) -> Interval:
    interval = getattr(cell, rate)
    if not isinstance(interval, Interval) or interval.estimate <= 0:
        raise DataError(f"{cell.key}: no {rate}")
    return interval


def relative_error(interval: Interval, cell: CellSummary) -> float:
    """The standard error of a cell's rate, from its t interval over the windows, relative to the rate."""
    low, high = ends(interval, cell.key)
    return (high - low) / 2 / t_quantile(len(cell.windows) - 1) / interval.estimate


def _welch(estimate: float, variances: Vector, degrees: Vector) -> Interval:
    """A sum of independent terms with these variances and degrees of freedom (Welch 1947)."""
    total = float(variances.sum())
    if total == 0:
        return Interval(estimate, estimate, estimate)
    return around(estimate, np.sqrt(total), welch_degrees(variances, degrees))


def _absolute(rate: str, rates: Sequence[Sequence[Interval]]) -> str:
    """`61,200 against 34,200 messages/s overall`, each the mean over the starts; of more than two, the range."""
    means = [float(np.mean([one.estimate for one in of_setting])) for of_setting in zip(*rates, strict=True)]
    word = rate.removesuffix("_per_s")
    if len(means) > 2:
        return f"{min(means):,.0f} to {max(means):,.0f} messages/s {word} in {len(means)} cells"
    return " against ".join(f"{one:,.0f}" for one in means) + f" messages/s {word}"
