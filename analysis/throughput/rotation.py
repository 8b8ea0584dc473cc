"""What the slices of one start say about its cells: ln(time per message) = cell + round + e, robustly.

Every cell has slices in many rounds, and a round slows all its cells alike. What disturbs single slices carries
little weight, and a stretch of slices that lies above the others, whole rounds or parts of them, none. Round effects
have the median 0 over what is left, so that a cell's estimate is its cost at the median round that nobody disturbed;
where a third of the slices or more is disturbed, it is for the caller to doubt it. Pauses for garbage collection are
a cost of the broker and no disturbance: they are taken off the slices first and come back as a mean.

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

#: Standard deviations at which a slice has no weight: 95 % efficient for normal errors (Beaton and Tukey 1974).
TUKEY = 4.685

#: Slices, one after the other, whose median says whether the host is disturbed: three seconds, a spell takes seven.
STRETCH = 7

#: The median of a stretch may lie so many standard deviations of a slice above the level without a disturbance.
STRETCH_NOISE = 1.2

#: A disturbance is told from a level that this share of the rounds lies below: more than half may be disturbed.
CALM = 1 / 3

#: The weight of a slice without weight: disturbed rounds stay connected to the others, and show in no digit.
LEAST_WEIGHT = 1e-8

#: Median absolute deviation of a normal distribution x this = its standard deviation.
_MAD = 1.482602218505602

#: Logarithms that differ by less are equal: far more than what slices of the least weight can move a cell by.
_ROUNDING = 1e-6

_SWEEPS = 2
_STAGES = 3
_ITERATIONS = 15

#: Of the standard deviation of a slice, by which the last iteration changes a residual: while disturbances are looked
#: for, and in the end.
_LOOKING, _FITTED = 3e-2, 3e-3


class Ordered(Protocol):
    """What names a cell: hashable, and sorted."""

    def __hash__(self) -> int: ...

    def __lt__(self, other: Any, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class MeasuredSlice:
    """The measured part of one slice: `received` messages in `taken_s`, pauses of the broker's JVM included.

    gc_pause_s, gc_pauses: young collections in it, and how many · full_gc_pause_s: full ones; None where no log of the
    JVM tells.
    """

    cell: Ordered
    layout: int
    block: int
    round: int
    position: int
    taken_s: float
    received: int
    gc_pause_s: float | None = None
    gc_pauses: int | None = None
    full_gc_pause_s: float | None = None

    @classmethod
    def of(cls, cell: Ordered, window: Window) -> MeasuredSlice:
        """What the estimation needs of a recorded slice."""
        young, full = window.gc_pause_ns, window.full_gc_pause_ns
        return cls(
            cell=cell,
            layout=window.layout,
            block=window.block,
            round=window.round,
            position=window.position,
            taken_s=window.elapsed_s,
            received=window.received,
            gc_pause_s=None if young is None else young / 1e9,
            gc_pauses=window.gc_pauses,
            full_gc_pause_s=None if full is None else full / 1e9,
        )


@dataclass(frozen=True, slots=True)
class Scatter:
    """Relative standard deviations: of the slices of a cell within its layout, less the level of their rounds, and of
    the layouts beyond that. None where the slices do not show it."""

    slices: float | None
    layouts: float | None


@dataclass(frozen=True, slots=True)
class CarryOver:
    """What the cell that was under way before adds to a slice: its standard deviation relative to B, and the p value
    of the test that it adds nothing."""

    deviation: float
    p: float


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """The cells of one start, in the order of `cells`; times in s per message received.

    estimates_s: B at the median round, pauses included; NaN for a cell without a message · replicates_s: the same with
    one layout left out, in the order of `layouts`; NaN for a cell that has no other layout; without a row where there
    are too few layouts for an interval · pilot_s: the same of the pilot's layouts alone, without a row where there was
    no pilot · means_s: time over messages of all slices · robust_s: what estimates_s is without the pauses that a log
    tells of · levels: of each round, its factor less 1 relative to the median round.
    """

    cells: tuple[Any, ...]
    layouts: tuple[int, ...]
    estimates_s: Array
    replicates_s: Array
    means_s: Array
    robust_s: Array
    levels: Mapping[RoundKey, float]
    scatter: Scatter
    carry_over: CarryOver | None
    pilot_s: Array


def estimate(slices: Sequence[MeasuredSlice], pilot: int | None = None) -> StartEstimate:
    """B of every cell. Raises DataError where there is no slice, or two of one cell in one round.

    pilot: how many first layouts decided on the number of all, where they did.
    """
    table = _SliceTable.of(slices)
    kept = np.ones((1 + (len(table.layouts) if len(table.layouts) >= LAYOUTS.limit else 0), len(table.rounds)), bool)
    for place, layout in enumerate(table.layouts[: len(kept) - 1]):
        kept[1 + place] = table.layout_of != layout
    fitted = _robust(table, kept)
    robust_s = np.exp(fitted.cells)
    values = robust_s + table.pauses_s(kept, robust_s)
    return StartEstimate(
        cells=table.cells,
        layouts=table.layouts,
        estimates_s=values[0],
        replicates_s=values[1:],
        means_s=_ratio(table.taken.sum(axis=0), table.received.sum(axis=0)),
        robust_s=robust_s[0],
        levels=_levels(table, fitted),
        scatter=_scatter(table, fitted),
        carry_over=_carry_over(table, fitted),
        pilot_s=np.empty((0, len(table.cells))) if pilot is None else _pilot(slices, table, pilot),
    )


def _pilot(slices: Sequence[MeasuredSlice], table: _SliceTable, layouts: int) -> Array:
    """Replicates of the estimate from the first layouts, as if there were no others; none where these are too few."""
    first = table.layouts[:layouts]
    alone = estimate([one for one in slices if one.layout in first])
    replicates: Array = np.full((len(alone.replicates_s) if len(first) == layouts else 0, len(table.cells)), np.nan)
    if len(replicates):
        replicates[:, [table.cells.index(cell) for cell in alone.cells]] = alone.replicates_s
    return replicates


def scatter(slices: Sequence[MeasuredSlice]) -> Scatter:
    """How much the slices and the layouts of these cells scatter; as in `estimate`."""
    table = _SliceTable.of(slices)
    return _scatter(table, _robust(table, np.ones((1, len(table.rounds)), bool)))


@dataclass(frozen=True, slots=True)
class _SliceTable:
    """The slices as arrays of rounds x cells; 0 where a round has no slice of a cell.

    layout_of, pass_of: of the rounds, the latter counting (layout, block) from 0 · logs: ln(time per message outside
    pauses) where `used` · position: -1 where there is no slice.
    """

    cells: tuple[Any, ...]
    rounds: tuple[RoundKey, ...]
    layouts: tuple[int, ...]
    layout_of: Places
    pass_of: Places
    position: Places
    taken: Array
    received: Array
    young: Array | None
    full: Array | None
    logs: Array
    used: Flags

    @classmethod
    def of(cls, slices: Sequence[MeasuredSlice]) -> _SliceTable:
        if not slices:
            raise DataError("no slice, so that there is nothing to estimate")
        cells = tuple(sorted({one.cell for one in slices}))
        column = {cell: place for place, cell in enumerate(cells)}
        rounds = tuple(sorted({(one.layout, one.block, one.round) for one in slices}))
        row = {key: place for place, key in enumerate(rounds)}
        at = (
            np.array([row[one.layout, one.block, one.round] for one in slices]),
            np.array([column[one.cell] for one in slices]),
        )
        shape = len(rounds), len(cells)
        position = np.full(shape, -1)
        position[at] = [one.position for one in slices]
        if np.count_nonzero(position >= 0) != len(slices):
            raise DataError("a cell has two slices in one round")

        def spread(values: Sequence[float]) -> Array:
            array = np.zeros(shape)
            array[at] = values
            return array

        taken, received = spread([one.taken_s for one in slices]), spread([one.received for one in slices])
        young = full = None
        running = taken
        if all(one.gc_pause_s is not None for one in slices):
            young = spread([one.gc_pause_s or 0.0 for one in slices])
            full = spread([one.full_gc_pause_s or 0.0 for one in slices])
            running = taken - young - full
        used = (running > 0) & (received > 0)
        layouts = np.array([layout for layout, _, _ in rounds])
        passes = [key[:2] for key in rounds]
        return cls(
            cells=cells,
            rounds=rounds,
            layouts=tuple(sorted({layout for layout, _, _ in rounds})),
            layout_of=layouts,
            pass_of=np.cumsum([0, *(one != other for one, other in pairwise(passes))]),
            position=position,
            taken=taken,
            received=received,
            young=young,
            full=full,
            logs=np.log(np.where(used, running, 1.0) / np.where(used, received, 1.0)),
            used=used,
        )

    def in_time(self) -> tuple[Places, Places]:
        """Rows and columns of the slices, in the order in which they were measured within their (layout, block)."""
        rows, columns = np.nonzero(self.used)
        order = np.lexsort((self.position[rows, columns], rows))
        return rows[order], columns[order]

    def before(self) -> Places:
        """Per slice the column of the slice before it in its round; -1 for the first, or where that one is missing."""
        rows, columns = np.nonzero(self.position >= 0)
        position = self.position[rows, columns]
        order = np.lexsort((position, rows))
        rows, columns, position = rows[order], columns[order], position[order]
        follows = (rows[1:] == rows[:-1]) & (position[1:] - position[:-1] == 1)
        before = np.full(self.position.shape, -1)
        before[rows[1:][follows], columns[1:][follows]] = columns[:-1][follows]
        return before

    def pauses_s(self, kept: Flags, robust_s: Array) -> Array | float:
        """Per replicate and cell: seconds of pauses per message, of the rounds that are kept.

        Those for young collections are the cell's own. A full one collects what all cells left behind, so that its
        share of the measured time outside pauses is the same for all.
        """
        if self.young is None or self.full is None:
            return 0.0
        rounds = kept.astype(float)
        young = _ratio(rounds @ self.young, rounds @ self.received)
        full = (rounds @ self.full).sum(axis=1)
        running = (rounds @ (self.taken - self.young - self.full)).sum(axis=1)
        pauses: Array = young + robust_s * _ratio(full, running)[:, None]
        return pauses


@dataclass(frozen=True, slots=True)
class _RobustFit:
    """Per replicate: effects of cells and rounds, NaN for those without a slice; residuals, weights and their scale."""

    cells: Array
    rounds: Array
    residuals: Array
    weights: Array
    scale: Array


def _robust(table: _SliceTable, kept: Flags) -> _RobustFit:
    """A fit per row of `kept`: from medians on, at a scale that stays, first with all slices (Tukey's biweight: Huber
    and Ronchetti, Robust Statistics, 2009, sections 7.3 to 7.8), then without the stretches that lie above the rest."""
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
    """Per replicate: the standard deviation that belongs to the median absolute residual."""
    count = used.sum(axis=(1, 2))
    parameters = used.any(axis=1).sum(axis=1) + used.any(axis=2).sum(axis=1) - 1
    spread = _median(np.abs(residuals).reshape(len(used), -1), -1)
    scale: Array = _MAD * spread * np.sqrt(count / np.maximum(count - parameters, 1))
    return np.fmax(scale, _ROUNDING)


def _biweight(
    logs: Array, calm: Array, residuals: Array, scale: Array, components: Array, tolerance: float
) -> _RobustFit:
    """Iterated weighted least squares from these residuals on; `calm` is a factor of the weights, 0 for no slice."""
    limit = TUKEY * scale[:, None, None]
    for step in range(_ITERATIONS):
        weights = calm * np.clip(1 - (residuals / limit) ** 2, 0, None) ** 2
        weights = np.where(calm > 0, np.maximum(weights, LEAST_WEIGHT), 0.0)
        cells, rounds = additive(logs, weights, components)
        before, residuals = residuals, logs - cells[:, None, :] - rounds[:, :, None]
        change = np.where(calm > 0, np.abs(residuals - before), 0.0).max(axis=(1, 2))
        if step and (change <= tolerance * scale).all():
            break
    return _RobustFit(cells, rounds, residuals, weights, scale)


@dataclass(frozen=True, slots=True)
class _Stretches:
    """Rows and columns of the slices in the order of time; around each the places in that order of its stretch, which
    ends where the layout does, and which of them there are."""

    rows: Places
    columns: Places
    places: Places
    there: Flags

    @classmethod
    def of(cls, table: _SliceTable) -> _Stretches:
        rows, columns = table.in_time()
        places = np.arange(len(rows))[:, None] + np.arange(-(STRETCH // 2), STRETCH // 2 + 1)
        inside = np.clip(places, 0, len(rows) - 1)
        one_pass = table.pass_of[rows]
        return cls(rows, columns, inside, (places == inside) & (one_pass[inside] == one_pass[:, None]))

    def calm(self, levels: Array, limit: Array) -> Array:
        """Per slice 1 where the median level of its stretch lies below the limit, 0 above it; between 4/5 and 6/5 of
        it the one becomes the other, so that no estimate jumps. At most half a stretch tells nothing."""
        around = np.where(self.there, levels[:, self.rows, self.columns][:, self.places], np.nan)
        above = _median(around, -1) / limit[:, None]
        above[:, self.there.sum(axis=1) <= STRETCH // 2] = 0.0
        calm = np.full(levels.shape, LEAST_WEIGHT)
        calm[:, self.rows, self.columns] = np.clip((1.2 - np.nan_to_num(above)) / 0.4, LEAST_WEIGHT, 1.0)
        return calm


def additive(values: Array, weights: Array, components: Array) -> tuple[Array, Array]:
    """Weighted least squares of cell + round: the rounds are eliminated, the system of the cells is solved.

    The level between the two is free: it is fixed by the components' matrix, and for good by `_levelled`.
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
    """Per replicate, cells x cells: 1 where rounds in common connect two cells, over others or directly."""
    steps = used.astype(float)
    reached: Array = (steps.transpose(0, 2, 1) @ steps > 0).astype(float)
    while True:
        further: Array = (reached @ reached > 0).astype(float)
        if (further == reached).all():
            return reached
        reached = further


def _levelled(fitted: _RobustFit, used: Flags, calm: Array, components: Array, share: float) -> tuple[Array, Array]:
    """Effects with the same sums, such that for every component of the cells this share of the calm slices is in
    rounds with an effect below 0; NaN for what has no slice."""
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
    """The median over a round's slices, disturbed ones included, less the cells' own cost."""
    levels = _median(np.where(table.used, table.logs - fitted.cells[0], np.nan), -1)
    return {key: float(np.expm1(level)) for key, level in zip(table.rounds, levels, strict=True) if np.isfinite(level)}


def _scatter(table: _SliceTable, fitted: _RobustFit) -> Scatter:
    """By the method of moments, from the residuals of the calm slices: within a cell's layout, where each round costs a
    degree of freedom beside the cells' means, and of these means beyond that."""
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
    McCulloch, Variance Components, 1992, chapter 5), and the F test beside cells and rounds; slices that do not count
    at all are left out, the others count alike."""
    before = table.before()
    known = table.used & (before >= 0) & (fitted.weights[0] > 1 / 10)
    columns = np.unique(before[known])
    if len(columns) < 2:
        return None
    components = _components(known[None])
    values = np.stack([fitted.residuals[0], *((before == one).astype(float) for one in columns)])
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
    """Of what is not NaN; NaN where nothing is. (numpy's own takes one line at a time.)"""
    ordered = np.sort(values, axis=axis)
    count = np.isfinite(values).sum(axis=axis, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis)
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[axis] - 1), axis)
    median: Array = ((low + high) / 2).squeeze(axis)
    return median


def _weighted_quantile(values: Array, weights: Array, share: float) -> Array:
    """Per row, between the values whose cumulated weights, each up to its middle, lie on either side; 0 without."""
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
