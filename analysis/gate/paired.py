"""Adjacent slices of two brokers -> ratios by cell and by family, one per pair of lives.

Two adjacent slices of the same cell see the same state of the host, so that their ratio is far more exact than either
slice. Of every two such ratios of a cell one has the candidate first, the other the baseline; their mean is free of any
effect of the order. Over these means the Hodges-Lehmann estimate is taken, so that disturbed slices have little
weight. Pauses for garbage collection are a cost of the broker and not a disturbance: they are subtracted from the
slices first and added again as a mean, as in `analysis.throughput.rotation`.

The ratio of a cost of the model (t_rcv, t_fltr, t_tx) compares two planes: one through the baseline's cells of all
pairs of lives, one through the same cells times their ratios in one pair of lives. What the plane does not describe is
therefore the same in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from analysis.errors import DataError
from analysis.gate.verdict import MetricRow, hodges_lehmann
from analysis.throughput.cost_model import regressors
from analysis.throughput.linear_model import identifiable, iterated_wls
from workloads.gate import ALL_CELLS, GateRole
from workloads.limits import IDLE_BROKER
from workloads.schema import Window
from workloads.throughput.families import COSTS, PairWindows, families
from workloads.throughput.study_plan import StudyPlan

#: (experiment, cell)
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class AdjacentSlices:
    """Two adjacent slices of a cell, one of each broker."""

    #: The baseline's.
    baseline: Window
    #: The candidate's.
    candidate: Window

    @property
    def candidate_first(self) -> bool:
        """Whether the candidate's slice preceded the baseline's."""
        return self.candidate.position < self.baseline.position

    @property
    def quiet(self) -> bool:
        """Whether the broker that was not under load was idle in both slices."""
        idle = (
            window.idle_broker_cpu_ns / (window.end_ns - window.begin_ns)
            for window in (self.baseline, self.candidate)
            if window.idle_broker_cpu_ns is not None
        )
        return all(share <= IDLE_BROKER.limit for share in idle)

    @property
    def ran(self) -> bool:
        """Whether neither slice lies within a pause, which leaves no time to compare."""
        return _running_s(self.baseline) > 0 and _running_s(self.candidate) > 0


@dataclass(frozen=True, slots=True)
class CellRatio:
    """A cell in a pair of lives."""

    #: (experiment, cell)
    key: Key
    #: Number of the pair of lives.
    pair: int
    #: ln(B of the candidate / B of the baseline), pauses for garbage collection included.
    log_ratio: float
    #: The baseline's seconds per message, pauses included.
    baseline_s: float
    #: Half the difference of the logarithms with the candidate first and with the baseline first.
    order_effect: float
    #: Standard deviation of the logarithm of a pair of adjacent slices; None with a single one of each order.
    scatter: float | None
    #: Pairs of adjacent slices that were measured.
    measured: int
    #: Those left out, because the broker that was not under load was busy or a slice lay within a pause, with as many
    #: of the other order.
    left_out: int


def ratios_of(pairs: Sequence[PairWindows]) -> tuple[CellRatio, ...]:
    """The ratios of all cells in all pairs of lives, numbered from 1."""
    return tuple(ratio for number, windows in enumerate(pairs, start=1) for ratio in cell_ratios(windows, number))


def cell_ratios(windows: PairWindows, pair: int) -> tuple[CellRatio, ...]:
    """The ratios of all cells in a pair of lives.

    windows: counted slices by role and cell
    pair: number of the pair of lives

    Raises DataError where a cell has no usable slices of each order, or a broker delivered nothing.
    """
    cells = sorted(set[Key]().union(*(windows[role] for role in GateRole)))
    for role in GateRole:
        if missing := [key for key in cells if not windows[role].get(key)]:
            raise DataError(f"{' '.join(missing[0])}, pair of lives {pair}: the {role} has no slice of it")
    full = {role: _full_share(window for of_cell in windows[role].values() for window in of_cell) for role in GateRole}
    return tuple(
        _cell_ratio(key, pair, _adjacent(key, windows[GateRole.BASELINE][key], windows[GateRole.CANDIDATE][key]), full)
        for key in cells
    )


def _adjacent(key: Key, baseline: Iterable[Window], candidate: Iterable[Window]) -> list[AdjacentSlices]:
    """Raises DataError for a slice without its neighbour."""
    of_baseline, of_candidate = _by_round(baseline), _by_round(candidate)
    if of_baseline.keys() != of_candidate.keys():
        raise DataError(f"{' '.join(key)}: a slice of one broker has none of the other in the same round")
    found = [AdjacentSlices(of_baseline[at], of_candidate[at]) for at in sorted(of_baseline)]
    for slices in found:
        if abs(slices.baseline.position - slices.candidate.position) != 1:
            raise DataError(f"{' '.join(key)}: the slices of the two brokers in a round are not adjacent")
        for role, window in ((GateRole.BASELINE, slices.baseline), (GateRole.CANDIDATE, slices.candidate)):
            if not window.messages:
                raise DataError(f"{' '.join(key)}: the {role} delivered nothing in a slice")
    return found


def _by_round(windows: Iterable[Window]) -> dict[tuple[int, int, int], Window]:
    return {(window.layout, window.block, window.round): window for window in windows}


def _cell_ratio(key: Key, pair: int, slices: Sequence[AdjacentSlices], full: Mapping[GateRole, float]) -> CellRatio:
    """The ratio of a cell in a pair of lives.

    full: pauses for full collections by role, as a share of the time outside pauses. They remove garbage of all cells.
    """
    ran = [each for each in slices if each.ran]
    quiet = [each for each in ran if each.quiet]
    usable = _both_orders(quiet)
    if not usable:  # contaminated, which the caller sees by what is left out
        quiet = ran
    first = [_log_ratio(each) for each in quiet if each.candidate_first]
    second = [_log_ratio(each) for each in quiet if not each.candidate_first]
    count = min(len(first), len(second))
    if not count:
        raise DataError(f"{' '.join(key)}, pair of lives {pair}: fewer than two pairs of slices, one in either order")
    first, second = first[:count], second[:count]
    balanced = [(before + after) / 2 for before, after in zip(first, second, strict=True)]
    running = hodges_lehmann(balanced)
    baseline_s = median(_running_s(each.baseline) / each.baseline.messages for each in quiet)
    before = baseline_s * (1 + full[GateRole.BASELINE]) + _young_s(each.baseline for each in quiet)
    after = baseline_s * math.exp(running) * (1 + full[GateRole.CANDIDATE]) + _young_s(each.candidate for each in quiet)
    return CellRatio(
        key=key,
        pair=pair,
        log_ratio=math.log(after / before),
        baseline_s=before,
        order_effect=(fmean(first) - fmean(second)) / 2,
        scatter=float(np.std(balanced, ddof=1)) * math.sqrt(2) if count > 1 else None,
        measured=len(slices),
        left_out=len(slices) - 2 * count if usable else len(slices),
    )


def _both_orders(slices: Sequence[AdjacentSlices]) -> bool:
    return {each.candidate_first for each in slices} == {False, True}


def _running_s(window: Window) -> float:
    """Time outside pauses, s, in which the broker had its CPUs."""
    return window.taken_s - ((window.gc_pause_ns or 0) + (window.full_gc_pause_ns or 0)) / 1e9


def _log_ratio(slices: AdjacentSlices) -> float:
    before, after = slices.baseline, slices.candidate
    return math.log(_running_s(after) / after.messages) - math.log(_running_s(before) / before.messages)


def _young_s(windows: Iterable[Window]) -> float:
    """Pauses for young collections, s per message; 0 without a log."""
    of_cell = list(windows)
    return sum(window.gc_pause_ns or 0 for window in of_cell) / 1e9 / sum(window.messages for window in of_cell)


def _full_share(windows: Iterable[Window]) -> float:
    """Pauses for full collections as a share of the time outside pauses."""
    of_role = list(windows)
    return sum(window.full_gc_pause_ns or 0 for window in of_role) / 1e9 / sum(map(_running_s, of_role))


def rows_of(ratios: Sequence[CellRatio], plans: Mapping[Key, StudyPlan]) -> tuple[MetricRow, ...]:
    """The families' logarithms of ratios.

    ratios: of all cells
    plans: entries of plan.json, by cell
    """
    factors = {
        key: (plan.n_fltr, plan.replication)
        for key, plan in plans.items()
        if plan.fits_model and plan.pace is None and any(ratio.key == key for ratio in ratios)
    }
    named = families((experiment, *factors[experiment, cell]) for experiment, cell in factors)
    return metric_rows(ratios, factors, named)


def metric_rows(
    ratios: Sequence[CellRatio], factors: Mapping[Key, tuple[float, float]], families: Sequence[str]
) -> tuple[MetricRow, ...]:
    """The families' logarithms of ratios, one for each pair of lives.

    ratios: of all cells in all pairs of lives
    factors: (n_fltr, replication grade) of the cells of the model
    families: costs of the model, and `all cells`

    Raises DataError where the cells do not separate the costs, or a pair lacks a cell.
    """
    by_pair: dict[int, dict[Key, CellRatio]] = {}
    for ratio in ratios:
        by_pair.setdefault(ratio.pair, {})[ratio.key] = ratio
    cells = sorted({ratio.key for ratio in ratios})
    for pair, of_pair in by_pair.items():
        if missing := [key for key in cells if key not in of_pair]:
            raise DataError(f"pair of lives {pair} lacks the cell {' '.join(missing[0])}")
    rows = [
        MetricRow(ALL_CELLS, pair, fmean(ratio.log_ratio for ratio in of_pair.values()))
        for pair, of_pair in sorted(by_pair.items())
    ]
    costs = [name for name in COSTS if name in families]
    if costs:
        rows += _cost_rows(by_pair, factors, costs)
    return tuple(sorted(rows, key=lambda row: (families.index(row.family), row.pair)))


def _cost_rows(
    by_pair: Mapping[int, Mapping[Key, CellRatio]], factors: Mapping[Key, tuple[float, float]], costs: Sequence[str]
) -> Iterator[MetricRow]:
    keys = sorted(factors)
    x = np.array([regressors(costs, *factors[key]) for key in keys])
    if not identifiable(x):
        raise DataError(f"the cells do not separate {', '.join(costs)}: choose more of them")
    baseline = np.exp([fmean(math.log(of_pair[key].baseline_s) for of_pair in by_pair.values()) for key in keys])
    before = iterated_wls(baseline, x).parameters
    for pair, of_pair in sorted(by_pair.items()):
        after = iterated_wls(baseline * np.exp([of_pair[key].log_ratio for key in keys]), x).parameters
        for name, cost_before, cost_after in zip(costs, before, after, strict=True):
            positive = cost_before > 0 and cost_after > 0
            yield MetricRow(name, pair, math.log(cost_after / cost_before) if positive else None)
