"""The model B = t_rcv + n_fltr t_fltr + r t_tx, fitted on cells (Henjes et al. 2006, section 4.5, equation 1).

One fit per run, broker, experiment and profile; data are never pooled beyond that. The fit is on B, the time
per message received, which is linear in the parameters; noise is multiplicative, so that the weights are
1 / fitted^2. Standard errors come from the layouts: the plane is refitted with one layout left out at a time
(jackknife), so that deviations shared by all cells of a layout widen the intervals. Estimates are never clamped: an
impossible value is a symptom that must stay visible. Cells at a cap on transmission, where the data show one, are
excluded from the plane and reported separately.

Where an experiment has no filters, n_fltr is 0 in every cell and the model is B = t_rcv + r t_tx: the list of
parameters follows from the cells, and everything else is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeAlias, TypeVar

import numpy as np

from analysis.errors import DataError
from analysis.intervals import Matrix, Vector, around, jackknife_covariance, mean_interval, t_quantile, units_needed
from analysis.results import CellKey, Finding, Interval
from analysis.table import grouped
from analysis.throughput import rotation
from analysis.throughput.cost_model import PARAMETERS, regressors
from analysis.throughput.linear_model import (
    identifiable,
    iterated_wls,
    lack_of_fit_f,
    rests_on_one_row,
)
from analysis.throughput.results import (
    CellDeviation,
    CellSummary,
    Description,
    Excluded,
    FitResult,
    FittedCell,
    Grade,
    HalfWidth,
    LackOfFit,
    Negligible,
    Roofline,
    Scope,
    Variation,
)
from analysis.throughput.roofline import regimes
from workloads.command_line import analysing
from workloads.limits import CAPPED_CELLS, GOOD, LAYOUTS, NEGLIGIBLE, PRECISION, ROOFLINE, ROUGH
from workloads.status import CellStatus, VerdictKind

#: Run, broker, experiment, profile: the scope of a fit.
Unit: TypeAlias = tuple[str, str, str, str]

_Key = TypeVar("_Key", str, int)

#: The replication grades used in the paper's least squares (section 4.5).
PAPER_REPLICATION = (1, 2, 5, 10)

#: Smallest number of starts for which starts are the unit of the intervals. With fewer, the t quantile is too large:
#: with 4 starts it is 3.2, and JVM starts differ by 2 to 5 %; layouts are then the unit.
STARTS_AS_UNIT = 5


@dataclass(frozen=True, slots=True)
class StartFit:
    """The plane within one start: arrays with a column for each cell, or for each parameter, in s.

    The first row is the estimate; those after it are the same with one layout left out each, and are absent where the
    start has too few layouts.
    """

    cells: tuple[CellSummary, ...]
    measured: Matrix
    fitted: Matrix
    parameters: Matrix


@dataclass(frozen=True, slots=True)
class Spread:
    """The source of an interval's variance: the layouts within their starts, or the starts.

    Quantities are those of each start, with their replicates in the rows, or elements, after the first.
    """

    scope: Scope

    def degrees(self, starts: Sequence[Matrix]) -> int:
        """Degrees of freedom; those of the starts add up, since starts of the same broker have equal scatter."""
        if self.scope == Scope.BETWEEN_STARTS:
            return len(starts) - 1
        return sum(len(of_start) - 2 for of_start in starts) if _replicated(starts) else 0

    def covariance(self, starts: Sequence[Matrix]) -> Matrix:
        """Covariance of the mean over the starts; NaN where it cannot be estimated.

        That is the case where a start has no replicates, or where there is a single start and the scope is between
        starts.
        """
        if self.scope == Scope.BETWEEN_STARTS:
            estimates = np.array([of_start[0] for of_start in starts])
            return np.atleast_2d(np.cov(estimates, rowvar=False)) / len(starts)
        if not _replicated(starts):
            return np.full((starts[0].shape[1], starts[0].shape[1]), np.nan)
        parts = [jackknife_covariance(of_start[1:]) for of_start in starts]
        return np.asarray(sum(parts) / len(parts) ** 2)

    def interval(self, starts: Sequence[Vector]) -> Interval:
        """The mean of a quantity over the starts."""
        estimates = [of_start[0] for of_start in starts]
        if self.scope == Scope.BETWEEN_STARTS:
            return mean_interval(estimates)
        variance = self.covariance([of_start[:, None] for of_start in starts])[0, 0]
        return around(float(np.mean(estimates)), np.sqrt(variance), self.degrees(starts))


def _replicated(starts: Sequence[Matrix]) -> bool:
    """Whether every start has replicates."""
    return all(len(of_start) > 1 for of_start in starts)


def parameters_of(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """The parameters of the model for these cells: without any filter there is no t_fltr."""
    filters = any(cell.n_fltr for cell in cells)
    return tuple(name for name in PARAMETERS if filters or name != "t_fltr")


def fewest_cells(parameters: Sequence[str]) -> int:
    """The smallest number of cells that leaves a degree of freedom."""
    return len(parameters) + 1


def fits(
    cells: Sequence[CellSummary], precision: float | None = None
) -> tuple[tuple[FitResult, ...], dict[Unit, DataError]]:
    """A fit per run, broker, experiment with `fits_model`, and profile; and the error where a fit is not possible.

    An experiment whose cells all have their own load shape gets neither.

    precision: as in `fit`
    """
    results: list[FitResult] = []
    errors: dict[Unit, DataError] = {}
    for unit, group in groupby(sorted((cell for cell in cells if cell.fits_model), key=_unit), key=_unit):
        of_unit = list(group)
        if all(cell.pace is not None for cell in of_unit):
            continue
        try:
            results.append(fit(of_unit, precision))
        except DataError as error:
            errors[unit] = error
    return tuple(results), errors


def fit(cells: Sequence[CellSummary], precision: float | None = None) -> FitResult:
    """Fits the model to the cells of one run, broker, experiment and profile.

    The estimate is the mean over the starts. With up to 4 starts its interval is over their layouts and holds for
    these starts only, whose differences are reported separately; from 5 on it is a t interval over the starts.

    Where a cap on transmission is clearly the better description (`workloads.limits.ROOFLINE`), and not a poor one,
    the cells at the cap are left out, and everything but `roofline` and the comparison with the paper's least squares
    refers to the other cells; the intervals are then conditional on this selection. Raises DataError where the cells
    cannot identify the model.

    precision: largest relative half-width asked for (--precision); None for that of `workloads.limits.PRECISION`
    """
    units = {_unit(cell) for cell in cells}
    if len(units) != 1:
        raise DataError(
            f"cells of {len(units)} runs, brokers, experiments or profiles cannot be combined in one fit: "
            f"{sorted(units)}"
        )
    run, broker, experiment, profile = units.pop()
    label = f"{experiment} on {broker} ({run})"
    measured = sorted(cells, key=lambda cell: cell.key)
    names = parameters_of(measured)
    usable, excluded = usable_cells(measured)
    roofline = _roofline(usable, names, label)
    capped = frozenset(roofline.capped) if roofline is not None and roofline.preferred else frozenset[str]()
    starts, without = _per_start(measured, [cell for cell in usable if cell.key.cell not in capped], names, label)
    fitted = list(starts.values())
    spread = _spread(len(fitted))
    planes = [start.parameters for start in fitted]
    covariance, degrees = spread.covariance(planes), spread.degrees(planes)
    parameters = _over_starts(fitted, names, spread)
    points = _points(_seen(fitted), spread)
    known = bool(np.isfinite(covariance).all())
    result = FitResult(
        run=run,
        broker=broker,
        experiment=experiment,
        profile=profile,
        starts=len(starts),
        scope=spread.scope,
        parameters=parameters,
        per_start={number: tuple(map(float, start.parameters[0])) for number, start in starts.items()},
        cells_used=tuple(point.cell for point in points),
        cells_excluded=(
            *(Excluded(key.cell, key.start, reason) for key, reason in sorted(excluded.items())),
            *(
                Excluded(name, 0, "transmission cap: B is r t_sat there, independent of the other costs")
                for name in sorted(capped)
            ),
        ),
        lack_of_fit=_lack(fitted, names, points, spread),
        findings=(),
        points=points,
        covariance=tuple(tuple(float(value) for value in row) for row in covariance) if known else None,
        degrees=degrees if known else 0,
        t_quantile=t_quantile(degrees) if known and degrees >= 1 else None,
        roofline=roofline,
        variation=variation(usable),
        description=_description([*points, *(roofline.points if roofline is not None and capped else ())]),
        precision=_precision(parameters, points, precision),
        layouts=min(cell.layouts for start in fitted for cell in start.cells),
    )
    return result.also((*without, *_findings(result)))


def usable_cells(cells: Sequence[CellSummary]) -> tuple[list[CellSummary], dict[CellKey, str]]:
    """The cells that a fit may use, capped ones included, and why the others are left out."""
    excluded = {cell.key: reason for cell in cells if (reason := _unusable(cell))}
    excluded |= _without_interval([cell for cell in cells if cell.key not in excluded])
    return [cell for cell in cells if cell.key not in excluded], excluded


def within_start(cells: Sequence[CellSummary], names: Sequence[str], label: str) -> StartFit:
    """The weighted fit on the cells of one start. Raises DataError where they do not identify the model."""
    used = tuple(sorted(cells, key=lambda cell: cell.key))
    if len(used) < (fewest := fewest_cells(names)):
        raise DataError(
            f"{label}: {len(used)} usable cells, a fit needs {fewest}; `{analysing('summary')}` shows why "
            "cells are left out, a larger --grid has more cells"
        )
    x = design(used, names)
    _check_identifiable(x, label)
    measured = np.vstack([processing(used), np.array([cell.replicates_s for cell in used]).T])
    plane = iterated_wls(measured, x)
    return StartFit(used, measured, plane.fitted, plane.parameters)


def variation(cells: Sequence[CellSummary]) -> Variation:
    """Variance components of B: slices of a cell, its layouts beyond that, and its starts beyond that.

    They are relative to the cell's mean, by the method of moments and pooled over the cells (Searle, Casella and
    McCulloch, Variance Components, 1992, chapter 3). A negative estimate for the starts does not mean a scatter of 0,
    but one that is too small to be detected with this number of starts: None, with the reason.
    """
    scatters = [
        rotation.scatter([rotation.MeasuredSlice.of(cell.key, window) for cell in of_start for window in cell.windows])
        for of_start in _by(cells, lambda cell: cell.key.start)
        if any(cell.windows for cell in of_start)
    ]
    slices = _pooled([scatter.slices for scatter in scatters])
    layouts = _pooled([scatter.layouts for scatter in scatters])
    repeated = [of_cell for of_cell in _by(cells, lambda cell: cell.key.cell) if len(of_cell) > 1]
    if not repeated:
        return Variation(slices, layouts, None, "one start")
    if not all(cell.replicates_s for of_cell in repeated for cell in of_cell):
        return Variation(
            slices, layouts, None, "too few layouts: their scatter cannot be separated from that of the starts"
        )
    deviations = [processing(of_cell) / processing(of_cell).mean() - 1 for of_cell in repeated]
    degrees = sum(len(of_cell) - 1 for of_cell in repeated)
    of_layouts = np.mean([_relative_variance(cell) for of_cell in repeated for cell in of_cell])
    between = sum(float(of_cell @ of_cell) for of_cell in deviations) / degrees - of_layouts
    if between < 0:
        return Variation(slices, layouts, None, "the starts differ by less than the scatter of their layouts explains")
    return Variation(slices, layouts, float(np.sqrt(between)))


def _unit(cell: CellSummary) -> Unit:
    return cell.key.run, cell.key.broker, cell.key.experiment, cell.profile


def _unusable(cell: CellSummary) -> str:
    """Why a cell is excluded from the fit; empty where it is usable. A cell with its own load shape shows no B."""
    if cell.status != CellStatus.OK:
        return f"{cell.status}: {cell.reason}"
    return "" if cell.pace is None else f"paced: {cell.pace}"


def design(cells: Sequence[CellSummary | FittedCell], names: Sequence[str]) -> Matrix:
    return np.array([regressors(names, cell.n_fltr, cell.replication) for cell in cells], dtype=float)


def _without_interval(cells: Sequence[CellSummary]) -> dict[CellKey, str]:
    """Cells with too few layouts for an interval, in starts where other cells have enough."""
    with_interval = {cell.key.start for cell in cells if cell.replicates_s}
    return {
        cell.key: f"in {cell.layouts} of the start's layouts only, so that its error is unknown"
        for cell in cells
        if cell.key.start in with_interval and not cell.replicates_s
    }


def processing(cells: Sequence[CellSummary]) -> Vector:
    return np.array([cell.processing_s.estimate for cell in cells if cell.processing_s])


def _relative_variance(cell: CellSummary) -> float:
    estimate = processing([cell])[0]
    return float(jackknife_covariance(np.array(cell.replicates_s)[:, None] / estimate)[0, 0])


def _by(cells: Iterable[CellSummary], key: Callable[[CellSummary], _Key]) -> Iterator[list[CellSummary]]:
    for _, group in groupby(sorted(cells, key=key), key=key):
        yield list(group)


def _pooled(deviations: Sequence[float | None]) -> float | None:
    known = [deviation**2 for deviation in deviations if deviation is not None]
    return float(np.sqrt(np.mean(known))) if known else None


def _spread(starts: int) -> Spread:
    return Spread(Scope.BETWEEN_STARTS if starts >= STARTS_AS_UNIT else Scope.THESE_STARTS)


def _check_identifiable(x: Matrix, label: str) -> None:
    if not identifiable(x):
        raise DataError(f"{label}: over the usable cells {_COLLINEAR[x.shape[1]]}: take a larger --grid, or no -k")
    if rests_on_one_row(x):
        raise DataError(
            f"{label}: one parameter depends on a single usable cell, so that its error is unknown; "
            "take a larger --grid, or no -k"
        )


_COLLINEAR = {
    3: "the number of filters and the replication grade are collinear, so that their costs cannot be separated; both "
    "must vary, and not together",
    2: "the replication grade is constant, so that the costs of a copy and of a message cannot be separated; it must "
    "vary",
}


def _per_start(
    cells: Sequence[CellSummary], used: Sequence[CellSummary], names: Sequence[str], label: str
) -> tuple[dict[int, StartFit], list[Finding]]:
    """The fits on the `used` cells of all starts that allow one, and a finding for each start that does not."""
    found: dict[int, StartFit] = {}
    errors: list[tuple[int, DataError]] = []
    for start in sorted({cell.key.start for cell in cells}):
        try:
            found[start] = within_start([cell for cell in used if cell.key.start == start], names, label)
        except DataError as error:
            errors.append((start, error))
    if not found:
        raise errors[0][1]
    if len(found) < STARTS_AS_UNIT and any(len(start.parameters) > 1 for start in found.values()):
        for start in [start for start, of_start in found.items() if len(of_start.parameters) == 1]:
            layouts = found.pop(start).cells[0].layouts
            errors.append((start, DataError(f"{layouts} layouts, an interval needs {LAYOUTS.limit:.0f}")))
    findings = [
        Finding(
            what=f"start {start} has no fit",
            measured=str(error),
            limit="every start enters the interval",
            advice="measure again with more --starts",
            broker=cells[0].key.broker,
        )
        for start, error in errors
    ]
    return found, findings


def _over_starts(starts: Sequence[StartFit], names: Sequence[str], spread: Spread) -> dict[str, Interval]:
    return {name: spread.interval([start.parameters[:, index] for start in starts]) for index, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class _Seen:
    """A cell in one start: measured and fitted B, each followed by its replicates."""

    cell: CellSummary
    measured: Vector
    fitted: Vector


def _seen(starts: Iterable[StartFit]) -> Iterator[_Seen]:
    for start in starts:
        for index, cell in enumerate(start.cells):
            yield _Seen(cell, start.measured[:, index], start.fitted[:, index])


def _points(seen: Iterable[_Seen], spread: Spread) -> tuple[FittedCell, ...]:
    """Each cell, averaged over the starts that have it; its deviation is from the planes of these starts."""
    of_cells = grouped(seen, lambda in_start: in_start.cell.key.cell)
    return tuple(_point(of_cell, spread) for _, of_cell in sorted(of_cells.items()))


def _point(of_cell: Sequence[_Seen], spread: Spread) -> FittedCell:
    measured_s = spread.interval([in_start.measured for in_start in of_cell])
    fitted_s = float(np.mean([in_start.fitted[0] for in_start in of_cell]))
    return FittedCell(
        cell=of_cell[0].cell.key.cell,
        n_fltr=of_cell[0].cell.n_fltr,
        replication=of_cell[0].cell.replication,
        measured_s=measured_s,
        fitted_s=fitted_s,
        deviation=_moved(
            spread.interval([in_start.measured / in_start.fitted - 1 for in_start in of_cell]),
            measured_s.estimate / fitted_s - 1,
        ),
    )


def _moved(interval: Interval, estimate: float) -> Interval:
    """An interval of the same width around this estimate."""
    if interval.low is None or interval.high is None:
        return Interval(estimate)
    return Interval(estimate, estimate + interval.low - interval.estimate, estimate + interval.high - interval.estimate)


def _roofline(usable: Sequence[CellSummary], names: Sequence[str], label: str) -> Roofline | None:
    """The roofline fitted to the cells' means over the starts; None where the cells do not allow one.

    Its regimes follow from the means; its parameters are those of the plane fitted to the cells below the cap, and
    t_sat is the mean of B / r over the cells at the cap. It is preferred only where it also describes every cell at
    least roughly: of two poor descriptions one always has the smaller AICc, and a cost per filter that grows with the
    number of filters is no cap.
    """
    means = list(_by(usable, lambda cell: cell.key.cell))
    if not means:
        return None
    x = design([of_cell[0] for of_cell in means], names)
    found = regimes(np.array([processing(of_cell).mean() for of_cell in means]), x)
    if found is None:
        return None
    capped = {of_cell[0].key.cell for of_cell, at_cap in zip(means, found.capped, strict=True) if at_cap}
    try:
        starts, _ = _per_start(usable, [cell for cell in usable if cell.key.cell not in capped], names, label)
    except DataError:  # what identifies the plane over all starts may not do so in any of them
        return None
    at_cap = [
        _at_cap(of_start)
        for start in starts
        if (of_start := [cell for cell in usable if cell.key.start == start and cell.key.cell in capped])
    ]
    if not at_cap:
        return None
    spread = _spread(len(starts))
    t_sat = [of_start[0].fitted / of_start[0].cell.replication for of_start in at_cap]
    points = _points((capped_cell for of_start in at_cap for capped_cell in of_start), spread)
    described = _description([*_points(_seen(starts.values()), spread), *points])
    return Roofline(
        parameters=_over_starts(list(starts.values()), names, spread),
        t_sat_s=spread.interval(t_sat),
        capped=tuple(sorted(capped)),
        delta_aicc=found.delta_aicc,
        preferred=found.delta_aicc > ROOFLINE.limit and described.grade != Grade.POOR,
        points=points,
    )


def _at_cap(cells: Sequence[CellSummary]) -> list[_Seen]:
    """The capped cells of one start; the fitted value is r t_sat, where t_sat is the mean of B / r over them."""
    replication = np.array([cell.replication for cell in cells])
    measured = np.vstack([processing(cells), np.array([cell.replicates_s for cell in cells]).T])
    fitted = (measured / replication).mean(axis=1)[:, None] * replication
    return [_Seen(cell, measured[:, index], fitted[:, index]) for index, cell in enumerate(cells)]


def _lack(starts: Sequence[StartFit], names: Sequence[str], points: Sequence[FittedCell], spread: Spread) -> LackOfFit:
    """Lack of fit of the mean deviations over the starts; no test where the starts have different cells."""
    largest = max(abs(point.deviation.estimate) for point in points)
    if len({tuple(cell.key.cell for cell in start.cells) for start in starts}) > 1:
        return LackOfFit(None, None, largest)
    deviations = [start.measured / start.fitted - 1 for start in starts]
    fitted = np.mean([start.fitted[0] for start in starts], axis=0)
    test = lack_of_fit_f(
        np.mean([of_start[0] for of_start in deviations], axis=0),
        spread.covariance(deviations),
        spread.degrees(deviations),
        design(starts[0].cells, names) / fitted[:, None],
    )
    f, p = test or (None, None)
    return LackOfFit(f, p, largest)


def _description(points: Sequence[FittedCell]) -> Description:
    """The grade, from the ends of the deviations' intervals nearer to 0, so that noise alone does not lower it."""
    ordered = sorted(points, key=lambda point: -abs(point.deviation.estimate))
    grade, limit = Grade.GOOD, 0.0
    if any(_surely(point) > ROUGH.limit for point in points):
        grade, limit = Grade.POOR, ROUGH.limit
    elif any(_surely(point) > GOOD.limit for point in points):
        grade, limit = Grade.ROUGH, GOOD.limit
    decided = [point for point in ordered if _surely(point) > limit] if limit else ordered[:1]
    return Description(
        grade=grade,
        worst=tuple(CellDeviation(point.cell, point.deviation) for point in decided),
        rms=float(np.sqrt(np.mean([point.deviation.estimate**2 for point in points]))),
    )


def _surely(point: FittedCell) -> float:
    """Lower bound of the cell's absolute deviation; the absolute deviation itself where it has no interval."""
    low, high = point.deviation.low, point.deviation.high
    if low is None or high is None:
        return abs(point.deviation.estimate)
    return max(low, -high, 0.0)


def _precision(
    parameters: Mapping[str, Interval], points: Sequence[FittedCell], asked: float | None
) -> dict[str, HalfWidth]:
    limit = PRECISION.limit if asked is None else min(asked, PRECISION.limit)
    found = {}
    for name, interval in parameters.items():
        if interval.low is None or interval.high is None:
            found[name] = HalfWidth(None, limit, holds=False)
            continue
        times, b_s = _where_it_matters(name, points)
        half = (interval.high - interval.low) / 2
        half *= times / b_s if interval.low <= 0 <= interval.high else 1 / abs(interval.estimate)
        share = (interval.high if interval.high >= 0 else -interval.low) * times / b_s
        negligible = Negligible(times, share) if share < NEGLIGIBLE.limit else None
        found[name] = HalfWidth(half, limit, half <= limit or negligible is not None, negligible)
    return found


def _where_it_matters(name: str, points: Sequence[FittedCell]) -> tuple[float, float]:
    """How often the cell of whose B it may be the largest share has this coefficient, and B of that cell in s."""
    cells = [(regressors([name], point.n_fltr, point.replication)[0], point.measured_s.estimate) for point in points]
    return max(cells, key=lambda of_cell: of_cell[0] / of_cell[1])


def _findings(result: FitResult) -> Iterator[Finding]:
    broker = result.broker
    if result.starts == 1:
        yield Finding(
            what=f"{result.experiment}: one start only",
            measured="intervals over the layouts of this start of the broker",
            limit="starts of the same broker differ by 2 to 5 %",
            advice=f"--starts {STARTS_AS_UNIT} or more, for intervals that hold for further starts as well",
            broker=broker,
        )
    if result.scope == Scope.THESE_STARTS and result.covariance is None:
        yield too_few_layouts(broker, result.experiment, result.layouts)
    if result.roofline is not None and result.roofline.preferred:
        yield _capped(result, result.roofline)
    if result.description is not None and result.description.grade != Grade.GOOD:
        yield _described(result, result.description)
    for name, precision in result.precision.items():
        if precision.half_width is not None and not precision.holds:
            yield _imprecise(result, name, precision, precision.half_width)
    for name, interval in result.parameters.items():
        if result.precision[name].negligible is None:
            yield from _doubtful_parameter(result, name, interval)


def too_few_layouts(broker: str, experiment: str, layouts: int) -> Finding:
    """The finding that an experiment has no interval.

    layouts: of the cell, or the start, with the fewest
    """
    return Finding(
        what=f"{experiment}: too few layouts for an interval",
        measured=f"{layouts} layouts",
        limit=f"at least {LAYOUTS.limit:.0f} in every start",
        advice=f"--layouts {2 * LAYOUTS.limit:.0f}",
        consequence=VerdictKind.UNVERIFIED,
        broker=broker,
        open_point=f"{layouts} layouts give no interval",
    )


def bend(points: Sequence[FittedCell]) -> str:
    """What a filter costs with few and with many of them, at the smallest replication grade; empty where the cost does
    not grow by the factor BENT, where that is no more than the error of a cell, or where fewer than three numbers of
    filters were measured there."""
    smallest = min(point.replication for point in points)
    line = sorted((point.n_fltr, point.measured_s.estimate) for point in points if point.replication == smallest)
    steps = [(less, more, (b - a) / (more - less)) for (less, a), (more, b) in pairwise(line) if more > less]
    if len(steps) < 2:
        return ""
    (_, few, first_s), (many, most, last_s) = steps[0], steps[-1]
    if first_s <= 0 or last_s < BENT * first_s or (last_s - first_s) * (most - many) < GOOD.limit * line[-1][1]:
        return ""
    return f"a filter costs {first_s * 1e6:.3g} us up to {few:,} filters, {last_s * 1e6:.3g} us beyond {many:,}"


#: Growth of the cost of a filter from which it is named: far more than the cells' errors, and what the caches of a CPU
#: do to it (measured: 3 and 6).
BENT = 2


def _described(result: FitResult, description: Description) -> Finding:
    shown = ", ".join(f"{cell.cell} {cell.deviation.estimate:+.0%}" for cell in description.worst[:NAMED])
    more = len(description.worst) - NAMED
    lack = result.lack_of_fit
    return Finding(
        what=f"{result.experiment}: the plane describes the cells {ADVERB[description.grade]}",
        measured=f"{shown}{f' and {more} more' if more > 0 else ''}; rms {description.rms:.1%}"
        + (f"; F {lack.f:.1f}, p {lack.p:.2g}" if lack.f is not None and lack.p is not None else "")
        + (f"; {bent}" if (bent := bend(result.points)) else ""),
        limit=f"every cell within {GOOD.limit:.0%}, at the end of its interval nearer to 0; "
        f"{ROUGH.limit:.0%} is rough, beyond it poor",
        advice="a result about the model, not about the measurement: use the cells, not the coefficients"
        if description.grade == Grade.POOR
        else "predictions from the coefficients have errors of this size",
        broker=result.broker,
    )


#: Largest number of cells that a finding names; the others are counted.
NAMED = 3

ADVERB = {Grade.ROUGH: "roughly", Grade.POOR: "poorly"}


def _imprecise(result: FitResult, name: str, precision: HalfWidth, half_width: float) -> Finding:
    interval = result.parameters[name]
    covers_0 = not interval.beyond(0)
    if result.scope == Scope.BETWEEN_STARTS:
        advice = f"--starts {units_needed(result.starts, half_width, precision.limit)}"
    else:
        option = "--layouts" if precision.limit == PRECISION.limit else "--max-layouts"
        advice = f"{option} {units_needed(result.layouts, half_width, precision.limit)}, or more --starts"
    return Finding(
        what=f"{result.experiment}: the interval of {name} is too wide",
        measured=f"+-{half_width:.0%} of " + ("B, in the cell where it matters most" if covers_0 else "the estimate"),
        limit=f"+-{_percent(precision.limit)}, 95 % interval",
        advice=advice,
        consequence=VerdictKind.UNVERIFIED if half_width > PRECISION.limit else VerdictKind.VALID,
        broker=result.broker,
        open_point=f"{name} +-{_percent(half_width)} (limit {_percent(precision.limit)})",
    )


def _percent(share: float) -> str:
    """In whole per cent, below 10 % with two digits."""
    return f"{share:.0%}" if share >= 1 / 10 else f"{100 * share:.2g}%"


def _capped(result: FitResult, roofline: Roofline) -> Finding:
    t_sat_s = roofline.t_sat_s.estimate
    return Finding(
        what=f"{result.experiment}: transmission is capped in {len(roofline.capped)} cells",
        measured=f"{', '.join(roofline.capped)}: {t_sat_s * 1e6:.4g} us per copy, {1 / t_sat_s:.0f} copies/s at most; "
        f"AICc of the plane {roofline.delta_aicc:.0f} worse",
        limit=f"AICc worse by more than {ROOFLINE.limit:.0f}, at least {CAPPED_CELLS.limit:.0f} cells at the cap, "
        f"with it every cell within {ROUGH.limit:.0%}",
        advice="the parameters are those of the other cells; the capped cells are not limited by the costs of message, "
        "filter and copy: look for a saturated link, a lock or a single thread",
        broker=result.broker,
    )


def _doubtful_parameter(result: FitResult, name: str, interval: Interval) -> Iterator[Finding]:
    if interval.low is None or interval.high is None or interval.low > 0:
        return
    measured = f"{interval.estimate * 1e6:.4g} us, 95 % {interval.low * 1e6:.4g} to {interval.high * 1e6:.4g} us"
    if interval.high < 0:
        yield Finding(
            what=f"{result.experiment}: {name} is negative",
            measured=measured,
            limit="a cost cannot be negative",
            advice="some cells are limited by something other than the broker's CPU, usually by saturated "
            "transmission at high replication; leave those cells out",
            consequence=VerdictKind.INVALID,
            broker=result.broker,
        )
        return
    yield Finding(
        what=f"{result.experiment}: {name} does not differ significantly from 0",
        measured=measured,
        limit="an interval above 0",
        advice="cells with more filters determine t_fltr better, small cells t_rcv; more layouts narrow both intervals",
        broker=result.broker,
    )
