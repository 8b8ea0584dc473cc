"""Robust estimate of the cells of a start from its slices, with the model ln(time per message) = cell + round + e.

Every cell has slices in many rounds, and a disturbed round slows all its cells by the same factor. Disturbed single
slices have little weight, and a stretch of slices above the level of the others (whole rounds or parts of them) has
none. Round effects have the median 0 over the remaining slices, so that a cell's estimate is its cost at the median
undisturbed round; where too many slices are disturbed, the caller must report it. Pauses for garbage collection are a
cost of the broker and not a disturbance: they are subtracted from the slices first and added again as a mean.

The layout is the unit of every interval: everything is estimated again with one layout left out at a time. Arithmetic
on arrays; nothing here knows a run, a file or a finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from analysis.errors import DataError
from workloads.limits import DISTURBED_LEVEL, LAYOUTS
from workloads.schema import Window

Array: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = npt.NDArray[np.int_]

#: Layout, block, round.
RoundKey: TypeAlias = tuple[int, int, int]

#: Number of standard deviations from which a slice has weight 0: 95 % efficiency for normal errors (Beaton and Tukey
#: 1974).
TUKEY = 4.685

#: Number of consecutive slices whose median decides whether the host is disturbed: two seconds, while a disturbance
#: lasts seven.
STRETCH = 7

#: Number of standard deviations of a slice by which the median of an undisturbed stretch may exceed the level.
STRETCH_NOISE = 1.2

#: Quantile of the rounds that defines the undisturbed level: more than half of the rounds may be disturbed.
CALM = 1 / 3

#: Used instead of weight 0: disturbed rounds stay connected to the others without a visible effect.
LEAST_WEIGHT = 1e-8

#: Median absolute deviation of a normal distribution x this = its standard deviation.
_MAD = 1.482602218505602

#: Logarithms that differ by less are equal; far above the effect of slices with the least weight on a cell.
_ROUNDING = 1e-6

_SWEEPS = 2
_STAGES = 3
_ITERATIONS = 15

#: Convergence: largest change of a residual in the last iteration, as a share of the standard deviation of a slice;
#: while searching for disturbances, and in the final fit.
_LOOKING, _FITTED = 3e-2, 3e-3


class Ordered(Protocol):
    """Identifies a cell: hashable and sortable."""

    def __hash__(self) -> int: ...

    def __lt__(self, other: Any, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class MeasuredSlice:
    """The measured part of a slice."""

    cell: Ordered
    layout: int
    block: int
    round: int
    #: index of the slice in its round
    position: int
    #: duration, s, pauses of the broker's JVM included, without time stolen from the broker's CPUs
    taken_s: float
    #: messages that the broker processed in that time
    messages: float
    #: pauses for young collections, s; None without a log of the JVM
    gc_pause_s: float | None = None
    #: pauses for full collections, s; None without a log of the JVM
    full_gc_pause_s: float | None = None

    @classmethod
    def of(cls, cell: Ordered, window: Window) -> MeasuredSlice:
        """The part of a recorded slice that the estimation needs."""
        young, full = window.gc_pause_ns, window.full_gc_pause_ns
        return cls(
            cell=cell,
            layout=window.layout,
            block=window.block,
            round=window.round,
            position=window.position,
            taken_s=window.taken_s,
            messages=window.messages,
            gc_pause_s=None if young is None else young / 1e9,
            full_gc_pause_s=None if full is None else full / 1e9,
        )


@dataclass(frozen=True, slots=True)
class Scatter:
    """Relative standard deviations; None where the slices do not determine them."""

    #: of the slices of a cell within its layout, after removing the levels of their rounds
    slices: float | None
    #: of the layouts, beyond what the slices explain
    layouts: float | None


@dataclass(frozen=True, slots=True)
class CarryOver:
    """The effect of the preceding cell on a slice."""

    #: its standard deviation relative to B
    deviation: float
    #: of the test that there is no effect
    p: float


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """The estimates for a start; arrays are in the order of `cells`, times in s per message received."""

    cells: tuple[Any, ...]
    layouts: tuple[int, ...]
    #: B at the median undisturbed round, pauses included; NaN for a cell without a message
    estimates_s: Array
    #: the same with one layout left out, in the order of `layouts`; NaN for a cell that has no other layout; no rows
    #: where there are too few layouts for an interval
    replicates_s: Array
    #: ratio of each round to the median undisturbed round, less 1
    levels: Mapping[RoundKey, float]
    carry_over: CarryOver | None


def estimate(slices: Sequence[MeasuredSlice], widening: float = 1.0) -> StartEstimate:
    """Estimates B of every cell. Raises DataError where there is no slice, or a cell has two slices in a round.

    slices: the counted slices of a start
    widening: factor by which the replicates deviate more from the estimate, and all intervals are wider, than with a
        fixed number of layouts: the price of a look at the intervals before the last layout
    """
    table = _SliceTable.of(slices)
    kept = np.ones((1 + (len(table.layouts) if len(table.layouts) >= LAYOUTS.limit else 0), len(table.rounds)), bool)
    for index, layout in enumerate(table.layouts[: len(kept) - 1]):
        kept[1 + index] = table.layout_of != layout
    fitted = _robust(table, kept)
    robust_s = np.exp(fitted.cells)
    values = robust_s + table.pauses_s(kept, robust_s)
    return StartEstimate(
        cells=table.cells,
        layouts=table.layouts,
        estimates_s=values[0],
        replicates_s=values[0] + widening * (values[1:] - values[0]),
        levels=_levels(table, fitted),
        carry_over=_carry_over(table, fitted),
    )


def scatter(slices: Sequence[MeasuredSlice]) -> Scatter:
    """The scatter of the slices and the layouts of these cells, fitted as in `estimate`."""
    table = _SliceTable.of(slices)
    return _scatter(table, _robust(table, np.ones((1, len(table.rounds)), bool)))


@dataclass(frozen=True, slots=True)
class _SliceTable:
    """The slices as arrays of rounds x cells; 0 where a round has no slice of a cell."""

    cells: tuple[Any, ...]
    rounds: tuple[RoundKey, ...]
    layouts: tuple[int, ...]
    #: by round: its layout
    layout_of: Places
    #: by round: index of its (layout, block), from 0
    pass_of: Places
    #: index of the slice in its round; -1 where there is no slice
    position: Places
    #: duration of the slice, s
    taken: Array
    messages: Array
    #: pauses for young collections, s; None without a log
    young: Array | None
    #: pauses for full collections, s; None without a log
    full: Array | None
    #: ln(time per message outside pauses), where `used`
    logs: Array
    #: where there is a slice with messages
    used: Flags

    @classmethod
    def of(cls, slices: Sequence[MeasuredSlice]) -> _SliceTable:
        if not slices:
            raise DataError("no slice, so that there is nothing to estimate")
        cells = tuple(sorted({s.cell for s in slices}))
        column = {cell: index for index, cell in enumerate(cells)}
        rounds = tuple(sorted({(s.layout, s.block, s.round) for s in slices}))
        row = {key: index for index, key in enumerate(rounds)}
        at = (
            np.array([row[s.layout, s.block, s.round] for s in slices]),
            np.array([column[s.cell] for s in slices]),
        )
        shape = len(rounds), len(cells)
        position = np.full(shape, -1)
        position[at] = [s.position for s in slices]
        if np.count_nonzero(position >= 0) != len(slices):
            raise DataError("a cell has two slices in one round")

        def spread(values: Sequence[float]) -> Array:
            array = np.zeros(shape)
            array[at] = values
            return array

        taken, messages = spread([s.taken_s for s in slices]), spread([s.messages for s in slices])
        young = full = None
        running = taken
        if all(s.gc_pause_s is not None for s in slices):
            young = spread([s.gc_pause_s or 0.0 for s in slices])
            full = spread([s.full_gc_pause_s or 0.0 for s in slices])
            running = taken - young - full
        used = (running > 0) & (messages > 0)
        layouts = np.array([layout for layout, _, _ in rounds])
        passes = [key[:2] for key in rounds]
        return cls(
            cells=cells,
            rounds=rounds,
            layouts=tuple(sorted({layout for layout, _, _ in rounds})),
            layout_of=layouts,
            pass_of=np.cumsum([0, *(previous != key for previous, key in pairwise(passes))]),
            position=position,
            taken=taken,
            messages=messages,
            young=young,
            full=full,
            logs=np.log(np.where(used, running, 1.0) / np.where(used, messages, 1.0)),
            used=used,
        )

    def in_time(self, slices: Flags) -> tuple[Places, Places]:
        """Rows and columns of these slices, in the order in which they were measured within their (layout, block)."""
        rows, columns = np.nonzero(slices)
        order = np.lexsort((self.position[rows, columns], rows))
        return rows[order], columns[order]

    def before(self) -> Places:
        """Per slice, the column of the preceding slice in its round; -1 for the first, or where it is missing."""
        rows, columns = self.in_time(self.position >= 0)
        position = self.position[rows, columns]
        follows = (rows[1:] == rows[:-1]) & (position[1:] - position[:-1] == 1)
        before = np.full(self.position.shape, -1)
        before[rows[1:][follows], columns[1:][follows]] = columns[:-1][follows]
        return before

    def pauses_s(self, kept: Flags, robust_s: Array) -> Array | float:
        """Per replicate and cell: seconds of pauses per message, over the rounds that are kept.

        Pauses for young collections are attributed to the cell. A full collection removes garbage of all cells, so that
        its share of the measured time outside pauses is the same for all cells.
        """
        if self.young is None or self.full is None:
            return 0.0
        rounds = kept.astype(float)
        young = _ratio(rounds @ self.young, rounds @ self.messages)
        full = (rounds @ self.full).sum(axis=1)
        running = (rounds @ (self.taken - self.young - self.full)).sum(axis=1)
        pauses: Array = young + robust_s * _ratio(full, running)[:, None]
        return pauses


@dataclass(frozen=True, slots=True)
class _RobustFit:
    """Per replicate: effects of cells and rounds (NaN for those without a slice), residuals and weights."""

    cells: Array
    rounds: Array
    residuals: Array
    weights: Array


def _robust(table: _SliceTable, kept: Flags) -> _RobustFit:
    """A fit per row of `kept`, starting from medians, with a fixed scale: first with all slices (Tukey's biweight:
    Huber and Ronchetti, Robust Statistics, 2009, sections 7.3 to 7.8), then without the stretches above the level."""
    used = table.used & kept[:, :, None]
    components = _components(used)
    stretches = _Stretches.of(table)
    residuals = np.where(used, table.logs, np.nan)
    for _ in range(_SWEEPS):
        residuals = residuals - _median(residuals, -2)[:, None, :]
        residuals = residuals - _median(residuals, -1)[:, :, None]
    scale = _scale(residuals, used)
    limit = np.maximum(np.log1p(DISTURBED_LEVEL.limit), STRETCH_NOISE * scale)
    calm = used.astype(float)
    stage = 1
    while True:
        tolerance = _FITTED if stage == _STAGES else _LOOKING
        fitted = _biweight(table.logs, calm, np.where(used, residuals, 0.0), scale, components, tolerance)
        if stage == _STAGES:
            break
        cells, _ = _levelled(fitted, used, calm, components, CALM)
        found = used * stretches.calm(np.where(used, table.logs - cells[:, None, :], np.nan), limit)
        residuals = fitted.residuals
        calm, stage = found, _STAGES if np.array_equal(found, calm) else stage + 1
    cells, rounds = _levelled(fitted, used, calm, components, 1 / 2)
    return replace(fitted, cells=cells, rounds=rounds)


def _scale(residuals: Array, used: Flags) -> Array:
    """Per replicate: the standard deviation that corresponds to the median absolute residual."""
    count = used.sum(axis=(1, 2))
    parameters = used.any(axis=1).sum(axis=1) + used.any(axis=2).sum(axis=1) - 1
    spread = _median(np.abs(residuals).reshape(len(used), -1), -1)
    scale: Array = _MAD * spread * np.sqrt(count / np.maximum(count - parameters, 1))
    return np.fmax(scale, _ROUNDING)


def _biweight(
    logs: Array, calm: Array, residuals: Array, scale: Array, components: Array, tolerance: float
) -> _RobustFit:
    """Iterated weighted least squares, starting from these residuals; `calm` multiplies the weights, 0 for no slice."""
    limit = TUKEY * scale[:, None, None]
    for step in range(_ITERATIONS):
        weights = calm * np.clip(1 - (residuals / limit) ** 2, 0, None) ** 2
        weights = np.where(calm > 0, np.maximum(weights, LEAST_WEIGHT), 0.0)
        cells, rounds = additive(logs, weights, components)
        before, residuals = residuals, logs - cells[:, None, :] - rounds[:, :, None]
        change = np.where(calm > 0, np.abs(residuals - before), 0.0).max(axis=(1, 2))
        if step and (change <= tolerance * scale).all():
            break
    return _RobustFit(cells, rounds, residuals, weights)


@dataclass(frozen=True, slots=True)
class _Stretches:
    """The slices in the order of time, and the stretch around each, which does not extend beyond its layout."""

    #: row of each slice
    rows: Places
    #: column of each slice
    columns: Places
    #: per slice, the indices of its stretch in the order of time
    places: Places
    #: which of these exist in the same layout
    there: Flags

    @classmethod
    def of(cls, table: _SliceTable) -> _Stretches:
        rows, columns = table.in_time(table.used)
        places = np.arange(len(rows))[:, None] + np.arange(-(STRETCH // 2), STRETCH // 2 + 1)
        inside = np.clip(places, 0, len(rows) - 1)
        passes = table.pass_of[rows]
        return cls(rows, columns, inside, (places == inside) & (passes[inside] == passes[:, None]))

    def calm(self, levels: Array, limit: Array) -> Array:
        """Per slice 1 where the median level of its stretch is below the limit, 0 where it is above; linear between 4/5
        and 6/5 of the limit, so that estimates are continuous. 1 where at most half of the stretch exists."""
        around = np.where(self.there, levels[:, self.rows, self.columns][:, self.places], np.nan)
        above = _median(around, -1) / limit[:, None]
        above[:, self.there.sum(axis=1) <= STRETCH // 2] = 0.0
        calm = np.full(levels.shape, LEAST_WEIGHT)
        calm[:, self.rows, self.columns] = np.clip((1.2 - np.nan_to_num(above)) / 0.4, LEAST_WEIGHT, 1.0)
        return calm


def additive(values: Array, weights: Array, components: Array) -> tuple[Array, Array]:
    """Weighted least squares of cell + round: the rounds are eliminated, the system of the cells is solved.

    A constant can be moved between the two: it is fixed by the matrix of components, and finally by `_levelled`.
    """
    of_cell, of_round = weights.sum(axis=1), weights.sum(axis=2)
    share = weights / np.where(of_round > 0, of_round, 1.0)[:, :, None]
    weighted = weights * values
    matrix = components - share.transpose(0, 2, 1) @ weights
    places = np.arange(weights.shape[2])
    matrix[:, places, places] += np.where(of_cell > 0, of_cell, 1.0)
    right = weighted.sum(axis=1) - (share * weighted.sum(axis=2)[:, :, None]).sum(axis=1)
    cells = np.linalg.solve(matrix, right[..., None])[..., 0]
    rounds = _ratio((weighted - weights * cells[:, None, :]).sum(axis=2), of_round, 0.0)
    return cells, rounds


def _components(used: Flags) -> Array:
    """Per replicate, cells x cells: 1 where common rounds connect two cells, directly or through other cells."""
    steps = used.astype(float)
    reached: Array = (steps.transpose(0, 2, 1) @ steps > 0).astype(float)
    while True:
        further: Array = (reached @ reached > 0).astype(float)
        if (further == reached).all():
            return reached
        reached = further


def _levelled(fitted: _RobustFit, used: Flags, calm: Array, components: Array, share: float) -> tuple[Array, Array]:
    """Effects with the same sums, such that for every component of the cells this share of the calm slices is in
    rounds with an effect below 0; NaN for cells and rounds without a slice."""
    cells = np.where(used.any(axis=1), fitted.cells, np.nan)
    rounds = np.where(used.any(axis=2), fitted.rounds, np.nan)
    first_of_cell = components.argmax(axis=2)
    first_of_round = np.take_along_axis(first_of_cell, used.argmax(axis=2), axis=1)
    for first in np.unique(first_of_cell):
        of_round = (first_of_round == first) & used.any(axis=2)
        level = _weighted_quantile(rounds, calm.sum(axis=2) * of_round, share)[:, None]
        rounds = rounds - level * of_round
        cells = cells + level * (first_of_cell == first)
    return cells, rounds


def _levels(table: _SliceTable, fitted: _RobustFit) -> dict[RoundKey, float]:
    """The median over a round's slices, disturbed ones included, after removing the cells' costs."""
    levels = _median(np.where(table.used, table.logs - fitted.cells[0], np.nan), -1)
    return {key: float(np.expm1(level)) for key, level in zip(table.rounds, levels, strict=True) if np.isfinite(level)}


def _scatter(table: _SliceTable, fitted: _RobustFit) -> Scatter:
    """By the method of moments, from the residuals of the calm slices: within a cell's layout, where the cells' means
    and the rounds take degrees of freedom, and of these means beyond that."""
    counted = fitted.weights[0] > 1 / 10
    residuals = np.where(counted, fitted.residuals[0], 0.0)
    first = np.flatnonzero(np.diff(table.pass_of, prepend=-1))
    count = np.add.reduceat(counted.astype(float), first, axis=0)
    means = _ratio(np.add.reduceat(residuals, first, axis=0), count, 0.0)
    rounds_of = np.add.reduceat(counted.any(axis=1).astype(float), first)
    squares = float((np.where(counted, residuals - means[table.pass_of], 0.0) ** 2).sum())
    there = count > 0
    degrees = float(np.maximum((count - there).sum(axis=1) - np.maximum(rounds_of - 1, 0), 0).sum())
    if not degrees:
        return Scatter(None, None)
    slices = squares / degrees
    beyond = int(there.sum()) - int(there.any(axis=0).sum()) - int(there.any(axis=1).sum()) + 1
    if beyond < 1:
        return Scatter(float(np.sqrt(slices)), None)
    layouts = float((means[there] ** 2).sum()) / beyond - slices * float((1 / count[there]).mean())
    return Scatter(float(np.sqrt(slices)), float(np.sqrt(max(0.0, layouts))))


def _carry_over(table: _SliceTable, fitted: _RobustFit) -> CarryOver | None:
    """The preceding cell as a variance component of the residuals, by the method of moments (Searle, Casella and
    McCulloch, Variance Components, 1992, chapter 5), and its F test adjusted for cells and rounds; slices with
    negligible weight are left out, all others have equal weight."""
    before = table.before()
    known = table.used & (before >= 0) & (fitted.weights[0] > 1 / 10)
    columns = np.unique(before[known])
    if len(columns) < 2:
        return None
    components = _components(known[None])
    values = np.stack([fitted.residuals[0], *((before == column).astype(float) for column in columns)])
    cells, rounds = additive(values, np.broadcast_to(known.astype(float), values.shape), components)
    rest = (values - cells[:, None, :] - rounds[:, :, None])[:, known]
    residuals, design = rest[0], rest[1:]
    gram = design @ design.T
    inverse = np.linalg.pinv(gram, rcond=1e-9, hermitian=True)
    rank = round(float(np.trace(inverse @ gram)))
    explained = design @ residuals
    between = float(explained @ inverse @ explained)
    apart = len(np.unique(components[0].argmax(axis=1)[known.any(axis=0)]))
    parameters = int(known.any(axis=0).sum() + known.any(axis=1).sum()) - apart + rank
    degrees = int(known.sum()) - parameters
    if rank < 1 or degrees < 1:
        return None
    within = max(float(residuals @ residuals) - between, 0.0) / degrees
    if within <= _ROUNDING**2:
        return None
    variance = (between / rank - within) * rank / float(np.trace(gram))
    return CarryOver(float(np.sqrt(max(0.0, variance))), float(fdtrc(rank, degrees, between / rank / within)))


def _median(values: Array, axis: int) -> Array:
    """The median of values that are not NaN; NaN where there are none. (numpy's own loops over lines.)"""
    ordered = np.sort(values, axis=axis)
    count = np.isfinite(values).sum(axis=axis, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis)
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[axis] - 1), axis)
    median: Array = ((low + high) / 2).squeeze(axis)
    return median


def _weighted_quantile(values: Array, weights: Array, share: float) -> Array:
    """Per row, interpolated between the values whose cumulative weights, each up to its middle, enclose the share; 0
    for a row without weights."""
    order = np.argsort(np.where(weights > 0, values, np.inf), axis=-1)
    ordered = np.nan_to_num(np.take_along_axis(values, order, -1))
    of_ordered = np.take_along_axis(weights, order, -1)
    total = of_ordered.sum(axis=-1)
    middle = (of_ordered.cumsum(axis=-1) - of_ordered / 2) / np.where(total > 0, total, 1.0)[:, None]
    last = np.maximum((weights > 0).sum(axis=-1) - 1, 0)
    right = np.minimum((middle < share).sum(axis=-1), last)[:, None]
    left = np.maximum(right - 1, 0)
    at, below = np.take_along_axis(middle, right, -1), np.take_along_axis(middle, left, -1)
    part = np.clip(_ratio(share - below, at - below, 1.0), 0.0, 1.0)
    low, high = np.take_along_axis(ordered, left, -1), np.take_along_axis(ordered, right, -1)
    quantile: Array = np.where(total > 0, (low + part * (high - low))[:, 0], 0.0)
    return quantile


def _ratio(above: Array, below: Array, otherwise: float = np.nan) -> Array:
    ratio: Array = np.full(np.broadcast(above, below).shape, otherwise)
    return np.divide(above, below, out=ratio, where=below > 0)
