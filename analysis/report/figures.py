"""Results -> pictures as values: the points, intervals and model lines of each panel. Draws nothing.

Every experiment of the published study has the corresponding figure of the paper; an experiment that is not in the
table PICTURES has none. A cell that is not `ok` stays in its picture with a hollow marker, and is listed with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from math import ceil, inf, nan

from analysis.results import Interval
from analysis.table import grouped
from analysis.throughput.cost_model import PARAMETERS, processing_time_s
from analysis.throughput.results import BrokerComparison, CellSummary, FitResult, LatencyResult, Roofline, RunResult
from analysis.throughput.tables import SCOPES
from workloads.limits import GOOD, ROUGH
from workloads.schema import Window
from workloads.status import CellStatus, VerdictKind

#: Number of steps in a line of the model.
STEPS = 60

#: Largest number of rows that are drawn at full height.
MOST_TALL = 16

#: Largest number of layouts that are named along an axis, and from which on only these have a line.
MOST_NAMED, MOST_BORDERS = 8, 48

#: Largest number of rows and of columns of a heat map: those of the largest values; all others are in the tables.
MOST_ROWS, MOST_COLUMNS = 40, 240

#: Ratio of largest to smallest value from which an axis is logarithmic.
WIDE = 30.0


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A measured value over x, with its interval."""

    x: float
    y: Interval
    start: int = 1
    #: it must not be used as a measurement of the broker
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Data drawn in one colour: measured points and the line of a model, or a continuous line."""

    label: str
    points: tuple[PlotPoint, ...] = ()
    #: (x, y) of the model's line
    model: tuple[tuple[float, float], ...] = ()
    #: the points of each start are joined
    joined: bool = False
    #: (x, y) of a continuous line without markers
    line: tuple[tuple[float, float], ...] = ()

    @property
    def values(self) -> list[float]:
        return [point.y.estimate for point in self.points] + [y for _, y in (*self.model, *self.line)]


class ShadeTone(StrEnum):
    """What the colour of a shade stands for."""

    LOW = "low"
    USUAL = "usual"
    HIGH = "high"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Shade:
    """How the values up to a limit are drawn in a heat map, beyond those of the shade before it."""

    name: str
    limit: float
    tone: ShadeTone
    opacity: float


@dataclass(frozen=True, slots=True)
class Heat:
    """Values by row and column, each in its shade; the shades of a kind of figure are always the same."""

    #: x of the columns' edges, one more than there are columns
    edges: tuple[float, ...]
    #: a value for each row of the panel and each column; None where there is none
    values: tuple[tuple[float | None, ...], ...]
    shades: tuple[Shade, ...]

    @classmethod
    def of(cls, edges: Iterable[float], rows: Iterable[Iterable[tuple[int, float]]], shades: tuple[Shade, ...]) -> Heat:
        """From the columns and values of each row; of several values in a column the largest is shown."""
        known, values = tuple(edges), []
        for row in rows:
            largest: list[float | None] = [None] * (len(known) - 1)
            for column, value in sorted(row, key=lambda found: found[1]):
                largest[column] = value
            values.append(tuple(largest))
        return cls(known, tuple(values), shades)

    @property
    def places(self) -> list[list[float]]:
        """The number of each value's shade; NaN without a value."""
        limits = [shade.limit for shade in self.shades]
        return [[nan if value is None else bisect_left(limits, value) for value in row] for row in self.values]


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    #: values at which reference lines are drawn
    levels: tuple[float, ...] = ()
    #: half-widths of shaded bands around 0, in units of the values
    bands: tuple[float, ...] = ()
    #: the x axis is always linear
    even: bool = False
    #: the y axis is always linear
    level: bool = False
    #: names of x = 0, 1, ... in a horizontal panel, whose x runs downwards and whose values run to the right
    rows: tuple[str, ...] = ()
    #: the values are ratios, on a logarithmic axis with a line at 1
    ratios: bool = False
    #: (x, name) of vertical lines
    borders: tuple[tuple[float, str], ...] = ()
    #: drawn in the rows instead of series; the names of the borders are those of the x axis
    heat: Heat | None = None

    @property
    def x_is_wide(self) -> bool:
        return not (self.rows or self.even) and _wide([point.x for series in self.series for point in series.points])

    @property
    def y_is_wide(self) -> bool:
        return not (self.levels or self.level) and _wide([value for series in self.series for value in series.values])


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure."""

    #: its anchor on the page
    name: str
    title: str
    caption: str
    #: alternative text for screen readers
    alt: str
    panels: tuple[Panel, ...]
    #: cells with hollow markers, with their status
    hollow: tuple[str, ...] = ()
    #: cells without a number to draw
    missing: tuple[str, ...] = ()
    #: panels, or their rows, are drawn with reduced height
    low: bool = False


@dataclass(frozen=True, slots=True)
class PlotGroup:
    """The cells of one experiment on one broker under one profile, and their model where there is one."""

    broker: str
    experiment: str
    profile: str
    cells: tuple[CellSummary, ...]
    fit: FitResult | None

    @property
    def title(self) -> str:
        return f"{self.experiment} on {self.broker}, profile {self.profile}"


def groups(result: RunResult) -> tuple[PlotGroup, ...]:
    """The cells of a run by broker, experiment and profile: those with figures first, in the order of the paper."""
    fits = {(fit.broker, fit.experiment, fit.profile): fit for fit in result.fits}

    def unit(cell: CellSummary) -> tuple[str, str, str]:
        return cell.key.broker, cell.key.experiment, cell.profile

    def figure_number(cell: CellSummary) -> int:
        return list(PICTURES).index(cell.key.experiment) if cell.key.experiment in PICTURES else len(PICTURES)

    ordered = sorted(result.cells, key=lambda cell: (cell.key.broker, figure_number(cell), *unit(cell), cell.key))
    return tuple(PlotGroup(*key, tuple(cells), fits.get(key)) for key, cells in groupby(ordered, key=unit))


def of_group(group: PlotGroup) -> tuple[Picture, ...]:
    """The figures of an experiment; none where it is not in PICTURES or has nothing to draw."""
    draw = PICTURES.get(group.experiment)
    return tuple(picture for picture in draw(group) if picture.panels) if draw else ()


def against_plane(fit: FitResult) -> Picture:
    """The deviation of every cell used in a fit, with its interval, and the bands of the grades."""
    points = sorted(fit.points, key=lambda point: (point.n_fltr - point.replication, point.replication, point.cell))
    panel = Panel(
        "",
        "",
        "measured / model - 1 in %",
        (Series("", tuple(PlotPoint(at, _scaled(point.deviation, 100)) for at, point in enumerate(points))),),
        levels=(0.0,),
        bands=_BANDS,
        rows=tuple(point.cell for point in points),
    )
    return Picture(
        f"plane-{fit.experiment}-{fit.broker}-{fit.profile}",
        "Cells against the model",
        f"Relative deviation of every cell from the model of {fit.experiment} on {fit.broker}, 95 % intervals "
        f"{SCOPES[fit.scope]}. Shaded: {GOOD.limit:.0%} (the description is good while every interval reaches into it) "
        f"and {ROUGH.limit:.0%} (rough; beyond it poor).",
        f"Interval plot of the deviation of {len(points)} cells from the model; the largest is "
        f"{fit.lack_of_fit.max_relative_deviation:.1%}, and the table below has each.",
        (panel,),
        low=len(points) > MOST_TALL,
    )


def slices(cells: Iterable[CellSummary]) -> Picture | None:
    """B of every slice of a broker and start relative to that of its cell, by cell and round; None without any.

    Of more rounds than there is room for, neighbours share a column, which shows the slowest of them.
    """
    rows = [(cell, found) for cell in sorted(cells, key=lambda cell: cell.key) if (found := _deviations(cell))]
    if not rows:
        return None
    wildest = sorted(rows, key=lambda row: -max(abs(deviation) for _, deviation in row[1]))[:MOST_ROWS]
    shown = [row for row in rows if row in wildest]
    windows = sorted((window for _, found in rows for window, _ in found), key=lambda window: window.begin_ns)
    rounds = list(dict.fromkeys(map(_round, windows)))
    merged = ceil(len(rounds) / MOST_COLUMNS)
    columns = {key: number // merged for number, key in enumerate(rounds)}
    layouts = [(columns[key], key[0]) for at, key in enumerate(rounds) if not at or key[0] != rounds[at - 1][0]]
    slowest, slowest_cell = max((deviation, cell.key.cell) for cell, found in rows for _, deviation in found)
    alone = len({cell.key.experiment for cell, _ in shown}) == 1
    panel = Panel(
        "",
        "rounds in the order of time; numbered and dotted: a layout begins",
        "",
        (),
        rows=tuple(cell.key.cell if alone else f"{cell.key.experiment} {cell.key.cell}" for cell, _ in shown),
        borders=_thinned(layouts),
        heat=Heat.of(
            range(-(-len(rounds) // merged) + 1),
            [[(columns[_round(window)], deviation) for window, deviation in found] for _, found in shown],
            _DEVIATIONS,
        ),
    )
    title = f"{shown[0][0].key.broker}, start {shown[0][0].key.start}"
    left_out = f" Of {len(rows)} cells the {len(shown)} that scatter most." if len(rows) > len(shown) else ""
    shared = f" Each column is the slowest of {merged} rounds in a row." if merged > 1 else ""
    return Picture(
        f"slices-{title}",
        f"Every slice on {title}",
        "B of every slice relative to that of its cell: a row for each cell, a column for each round in the order of "
        "time. A disturbed host colours whole columns; a row that changes shows a change of that cell only."
        f"{left_out}{shared}",
        f"Grid of {len(shown)} cells by {len(rounds)} rounds: how much slower each slice was than its cell; the "
        f"slowest is one of {slowest_cell} with {slowest:+.0%}.",
        (panel,),
        low=True,
    )


def _deviations(cell: CellSummary) -> list[tuple[Window, float]]:
    """The slices of a cell, relative to its B; none of an open loop, whose B is given by the plan."""
    if cell.open_loop or cell.processing_s is None or cell.processing_s.estimate <= 0:
        return []
    usual_s = cell.processing_s.estimate
    return [(window, window.processing_s / usual_s - 1) for window in cell.windows if window.messages]


def _round(window: Window) -> tuple[int, int, int]:
    return window.layout, window.block, window.round


def _thinned(layouts: Sequence[tuple[float, int]]) -> tuple[tuple[float, str], ...]:
    """Where layouts begin, and the numbers of as many of them as there is room for."""
    named = ceil(len(layouts) / MOST_NAMED)
    return tuple(
        (x, "" if index % named else str(number))
        for index, (x, number) in enumerate(layouts)
        if not index % named or len(layouts) <= MOST_BORDERS
    )


#: Shades of a slice's B relative to that of its cell.
_DEVIATIONS = (
    Shade("below -10%", -0.10, ShadeTone.LOW, 0.8),
    Shade("-10% to -5%", -0.05, ShadeTone.LOW, 0.4),
    Shade("-5% to +5%", 0.05, ShadeTone.USUAL, 0.5),
    Shade("+5% to +10%", 0.10, ShadeTone.HIGH, 0.35),
    Shade("+10% to +20%", 0.20, ShadeTone.HIGH, 0.65),
    Shade("above +20%", inf, ShadeTone.HIGH, 1.0),
)


def latency(results: Sequence[LatencyResult], broker: str, profile: str) -> Picture:
    """Percentiles of a broker over the load, and the measured mean waiting time with the prediction of M/GI/1."""
    panels = []
    ordered = sorted(results, key=lambda cell: (cell.arrivals, cell.percent, cell.key.start))
    for arrivals, group in groupby(ordered, key=lambda cell: cell.arrivals):
        of_arrivals = list(group)
        ranks = sorted({percentile.rank for cell in of_arrivals for percentile in cell.percentiles})
        panels.append(
            Panel(
                f"{arrivals} arrivals",
                "load in % of the capacity",
                "latency in ms",
                tuple(_percentile(rank, of_arrivals) for rank in ranks),
            )
        )
    waiting = tuple(
        _waiting(arrivals, [cell for cell in results if cell.arrivals == arrivals])
        for arrivals in sorted({cell.arrivals for cell in results})
    )
    panels.append(Panel("mean waiting time", "load in % of the capacity", "waiting time in ms", waiting))
    doubtful = [cell for cell in results if cell.status != CellStatus.OK]
    return Picture(
        f"latency-{broker}-{profile}",
        "Latency against load",
        f"Latency on {broker}, profile {profile}, from the planned instant of a message to its read, so that a stall "
        "counts for every message that was due during it. Dashed: the mean waiting time that M/GI/1 predicts from "
        "the fitted cost of a message. Hollow: the percentile is dominated by generator lateness, or the cell is "
        "not ok; the table has the reason.",
        f"Latency percentiles of {broker} over the load in per cent of its capacity.",
        tuple(panels),
        tuple(f"{cell.key}: {cell.status}" for cell in doubtful),
    )


def coefficients(results: Sequence[RunResult]) -> Picture | None:
    """Comparison of the fitted times of all models; None with fewer than two models."""
    fits = [fit for result in results for fit in result.fits]
    if len(fits) < 2:
        return None
    runs = {result.run: f"run {number}: " for number, result in enumerate(results, 1)} if len(results) > 1 else {}
    rows = tuple(f"{runs.get(fit.run, '')}{fit.broker}, {fit.experiment}, {fit.profile}" for fit in fits)
    invalid = [fit.verdict == VerdictKind.INVALID for fit in fits]
    points = {
        name: tuple(
            PlotPoint(row, _scaled(fit.parameters[name], 1e6), hollow=invalid[row])
            for row, fit in enumerate(fits)
            if name in fit.parameters
        )
        for name in PARAMETERS
    }
    return Picture(
        "coefficients",
        "Comparison of coefficients",
        "Fitted times with their 95 % intervals, one row per model. Hollow: the verdict of the model is invalid. "
        "Absolute values of two runs are not comparable, since the state of the host, and often the host, differs. "
        "Ratios within a run are.",
        "Interval plot of the fitted times per message, per filter and per copy; the table below has the numbers.",
        tuple(Panel(name, "", "µs", (Series("", points[name]),), rows=rows) for name in PARAMETERS),
        tuple(row for row, wrong in zip(rows, invalid, strict=True) if wrong),
    )


def ratios(comparison: BrokerComparison) -> Picture | None:
    """The ratios of coefficients and cells to those of the first broker; None where there is nothing to draw."""
    every = (*comparison.coefficients, *comparison.cells)
    drawn = [row for row in every if row.ratio is not None and row.ratio.estimate > 0]
    if not drawn:
        return None
    rows = tuple(dict.fromkeys(row.what for row in drawn))
    brokers = list(dict.fromkeys(row.broker for row in drawn))
    series = tuple(
        Series(
            broker,
            tuple(
                PlotPoint(
                    rows.index(row.what) + (index - (len(brokers) - 1) / 2) * 0.22, row.ratio, hollow=bool(row.reason)
                )
                for row in drawn
                if row.broker == broker and row.ratio is not None
            ),
        )
        for index, broker in enumerate(brokers)
    )
    return Picture(
        f"ratios-{comparison.experiment}-{comparison.profile}",
        f"Times relative to {comparison.against}",
        f"Coefficients and B of the cells of {comparison.experiment}, profile {comparison.profile}, divided by those "
        f"of {comparison.against}, with 95 % intervals {SCOPES[comparison.scope]}; right of 1 is slower. "
        "Hollow: a model involved is invalid.",
        f"Interval plot of ratios of times to those of {comparison.against}; the tables below have the numbers.",
        (Panel("", "", f"time / time of {comparison.against}", series, rows=rows, ratios=True),),
        missing=tuple(
            f"{row.what} on {row.broker}" + (f": {row.reason}" if row.reason else "")
            for row in every
            if row.broker != comparison.against and row not in drawn
        ),
    )


#: Limits of the grades, in %.
_BANDS = (GOOD.limit * 100, ROUGH.limit * 100)

#: The rates in a throughput figure: label, and field of a cell.
RATES = (("received", "received_per_s"), ("dispatched", "dispatched_per_s"), ("overall", "overall_per_s"))

_PER_S = "messages/s"


def _publishers_subscribers(group: PlotGroup) -> Iterable[Picture]:
    """Figures 3 and 4: throughput over publishers for each number of subscribers, and vice versa."""
    for figure, x, other in (("3", "publishers", "subscribers"), ("4", "subscribers", "publishers")):
        lines = [
            (level, cells, len({cell.factors[x] for cell in cells})) for level, cells in _split(group.cells, other)
        ]
        # Cells of the other figure contribute only a few points at each of many levels here, which form no line.
        chosen = [line for line in lines if line[2] > max(1, max(places for *_, places in lines) / 2)]
        panels = [
            Panel(
                f"{level} {other if level != 1 else other[:-1]}",
                x,
                _PER_S,
                tuple(_series(label, cells, x, rate) for label, rate in RATES),
            )
            for level, cells, _ in chosen
        ]
        yield _figure(
            replace(group, cells=tuple(cell for _, cells, _ in chosen for cell in cells)),
            figure,
            f"Throughput over the number of {x}",
            f"Received, dispatched and overall throughput over the number of {x}, no filters.",
            panels,
        )


def _filter_activation(group: PlotGroup) -> Iterable[Picture]:
    """Figure 5: overall throughput over m subscribers with equal filters, without and with two kinds of filter."""
    series = tuple(
        _series(str(level), cells, "subscribers", "overall_per_s") for level, cells in _split(group.cells, "filter")
    )
    yield _figure(
        group,
        "5",
        "Cost of activating a filter",
        "Overall throughput over the number of subscribers: without a filter, and with equal filters on the "
        "correlation id or on an application property, all of which match.",
        [Panel("", "subscribers", _PER_S, series)],
    )


def _or_filters(group: PlotGroup) -> Iterable[Picture]:
    """Figure 6: simple filters against OR filters over the number of different ids."""
    series = tuple(
        _series(f"{kind}, {on}", cells, "ids", "overall_per_s")
        for kind, of_kind in _split(group.cells, "kind")
        for on, cells in _split(of_kind, "filter")
    )
    yield _figure(
        group,
        "6",
        "Simple filters against OR filters",
        "Overall throughput over the number of different ids: one simple filter for each id, or an OR filter on each "
        "of five subscribers; every message matches once.",
        [Panel("", "different ids", _PER_S, series)],
    )


_AND_SERIES: Mapping[object, str] = {
    1: "(1) first component rejects",
    2: "(2) middle component rejects",
    3: "(3) last component rejects",
}


def _and_filters(group: PlotGroup) -> Iterable[Picture]:
    """Figure 7: three series that differ in the component that rejects a message."""
    series = tuple(
        _series(_AND_SERIES.get(level, str(level)), cells, "length", "overall_per_s")
        for level, cells in _split(group.cells, "series")
    )
    yield _figure(
        group,
        "7",
        "How early an AND filter rejects",
        "Overall throughput over the number of components of the filters, by the component that rejects a message.",
        [Panel("", "components of the filter", _PER_S, series)],
    )


def _replication(group: PlotGroup) -> Iterable[Picture]:
    """Figure 8: the same cells over the filters for each r, and over r for each number of further filters."""
    panels = [
        Panel(
            f"({letter}) {rate}",
            label,
            _PER_S,
            tuple(
                _series(title.format(level), cells, x, field, _model(group, cells, x, field))
                for level, cells in _split(group.cells, factor)
            ),
        )
        for letter, rate, field, factor, title, x, label in (
            ("a", *RATES[0], "replication", "r = {}", "n_fltr", "filters installed, n_fltr"),
            ("b", *RATES[2], "replication", "r = {}", "n_fltr", "filters installed, n_fltr"),
            ("c", *RATES[0], "further", "{:,} further", "replication", "replication grade r"),
            ("d", *RATES[2], "further", "{:,} further", "replication", "replication grade r"),
        )
    ]
    model = "" if group.fit is None else " Dashed: the fitted model."
    if _capped(group.fit):
        model = " Dashed: the fitted model with its cap on transmission."
    yield _figure(
        group,
        "8",
        "Filters and copies",
        "Received and overall throughput over the number of installed filters, a curve for each replication grade, "
        f"and the same cells over the replication grade, a curve for each number of non-matching filters.{model}",
        panels,
    )


#: Experiment -> its figures, numbered as in the paper.
PICTURES: Mapping[str, Callable[[PlotGroup], Iterable[Picture]]] = {
    "publishers_subscribers": _publishers_subscribers,
    "filter_activation": _filter_activation,
    "or_filters": _or_filters,
    "and_filters": _and_filters,
    "replication": _replication,
    "correlation_filters": _replication,
    "different_filters": _replication,
}


def _figure(group: PlotGroup, number: str, title: str, caption: str, panels: Sequence[Panel]) -> Picture:
    return Picture(
        f"figure-{number}-{group.experiment}-{group.broker}-{group.profile}",
        title,
        f"{caption} {group.title}; as figure {number} of Henjes et al. 2006. "
        "Bars: 95 % intervals over the layouts of a start; thin lines only join the points of a start.",
        f"{title}: {caption} The table below has the numbers.",
        tuple(panel for panel in panels if any(series.points for series in panel.series)),
        _named(cell for cell in group.cells if cell.status != CellStatus.OK and cell.overall_per_s is not None),
        _named(cell for cell in group.cells if cell.overall_per_s is None),
    )


def _named(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    return tuple(f"{cell.key.cell} (start {cell.key.start}): {cell.status}" for cell in cells)


def _series(
    label: str,
    cells: Sequence[CellSummary],
    x: str,
    field: str,
    model: Sequence[tuple[float, float]] = (),
) -> Series:
    points = [
        PlotPoint(_x(cell, x), rate, cell.key.start, cell.status != CellStatus.OK)
        for cell in cells
        if (rate := getattr(cell, field)) is not None
    ]
    ordered = sorted(points, key=lambda point: (point.start, point.x))
    return Series(label, tuple(ordered), tuple(model), joined=not model)


def _x(cell: CellSummary, name: str) -> float:
    return float(cell.n_fltr if name == "n_fltr" else cell.factors[name])


def _model(group: PlotGroup, cells: Sequence[CellSummary], x: str, field: str) -> list[tuple[float, float]]:
    """The model with one factor fixed: over n_fltr at constant r, or over r at constant non-matching filters."""
    places = [_x(cell, x) for cell in cells]
    if group.fit is None or min(places) == max(places):
        return []
    cap = _capped(group.fit)
    source = cap.parameters if cap else group.fit.parameters
    estimates = {name: interval.estimate for name, interval in source.items()}
    t_sat_s = cap.t_sat_s.estimate if cap else 0.0
    line = []
    for at in _steps(min(places), max(places)):
        further = cells[0].n_fltr - cells[0].replication
        n_fltr, r = (at, cells[0].replication) if x == "n_fltr" else (further + at, at)
        seconds = max(processing_time_s(estimates, n_fltr, r), r * t_sat_s)
        if seconds > 0:
            line.append((at, (1 if field == "received_per_s" else 1 + r) / seconds))
    return line


def _capped(fit: FitResult | None) -> Roofline | None:
    """The roofline, where it describes the cells better than the plane."""
    return fit.roofline if fit and fit.roofline and fit.roofline.preferred else None


def _steps(low: float, high: float) -> list[float]:
    """From low to high in equal ratios, for a logarithmic axis; from 0 on, in equal steps."""
    if low <= 0:
        return [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
    return [low * (high / low) ** (step / STEPS) for step in range(STEPS + 1)]


def _split(cells: Iterable[CellSummary], factor: str) -> list[tuple[object, list[CellSummary]]]:
    """The cells by the levels of a factor: numbers in ascending order, strings in order of appearance."""
    found: dict[object, list[CellSummary]] = grouped(cells, lambda cell: cell.factors[factor])
    return sorted(found.items(), key=lambda item: item[0] if isinstance(item[0], int) else 0)


def _percentile(rank: float, results: Sequence[LatencyResult]) -> Series:
    points = tuple(
        PlotPoint(
            cell.percent, _scaled(found.latency_s, 1e3), cell.key.start, found.greyed or cell.status != CellStatus.OK
        )
        for cell in results
        for found in cell.percentiles
        if found.rank == rank
    )
    return Series(f"p{rank:g}", points, joined=True)


def _waiting(arrivals: str, results: Sequence[LatencyResult]) -> Series:
    points = tuple(
        PlotPoint(cell.percent, Interval(cell.waiting_s * 1e3), cell.key.start, cell.status != CellStatus.OK)
        for cell in results
    )
    predicted = {cell.percent: cell.predicted_waiting_s for cell in results if cell.predicted_waiting_s is not None}
    return Series(arrivals, points, tuple((at, seconds * 1e3) for at, seconds in sorted(predicted.items())))


def _scaled(interval: Interval, factor: float) -> Interval:
    if interval.low is None or interval.high is None:
        return Interval(interval.estimate * factor)
    return Interval(interval.estimate * factor, interval.low * factor, interval.high * factor)


def _wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) >= WIDE
