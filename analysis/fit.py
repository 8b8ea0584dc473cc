"""The model B = t_rcv + n_fltr t_fltr + r t_tx, fitted on cells (Henjes et al. 2006, section 4.5, equation 1).

One fit per run, broker, experiment and profile; nothing else is ever put together. The fit is on B, the time
per message received, which is linear in the parameters; noise is multiplicative, so that the weights are
1 / fitted^2. Estimates are never clamped: an impossible value is the symptom that somebody has to see. Cells at
a cap on transmission, where the data show one, are no part of the plane, and stand beside it.

Where an experiment has no filters, n_fltr is 0 in every cell and the model is B = t_rcv + r t_tx: the list of
parameters follows from the cells, and everything else is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
from statsmodels.regression.linear_model import WLS

from analysis.errors import DataError
from analysis.intervals import Vector, around, mean_interval
from analysis.plane import (
    REGRESSORS,
    Matrix,
    at_most,
    identifiable,
    iterated_wls,
    lack_of_fit_f,
    left_out_errors,
    non_negative,
    regressors,
    rests_on_one_row,
)
from analysis.results import (
    CellSummary,
    Constrained,
    Excluded,
    Finding,
    FitResult,
    FittedCell,
    Interval,
    LackOfFit,
    LeaveOneOut,
    Roofline,
    Scope,
    Variation,
)
from analysis.roofline import regimes
from workloads.rules import CAPPED_CELLS, CELL_MISFIT, FIT_MISFIT, ROOFLINE, Status, VerdictKind

#: Run, broker, experiment, profile: what one fit is about.
Unit: TypeAlias = tuple[str, str, str, str]

PARAMETERS = tuple(REGRESSORS)

#: ActiveMQ 4.0 on a 3.2 GHz CPU of its time, in s (Henjes et al. 2006, section 4.5).
PAPER: Mapping[str, float] = {"t_rcv": 4.9e-5, "t_fltr": 1.6e-7, "t_tx": 1.5e-5}

#: The replication grades that the paper's least squares saw (section 4.5).
PAPER_REPLICATION = (1, 2, 5, 10)

SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class StartFit:
    """The fit within one start: intervals are HC3 with n - p degrees of freedom; `fitted_s` in the cells' order."""

    cells: tuple[CellSummary, ...]
    parameters: Mapping[str, Interval]
    covariance: Matrix
    fitted_s: tuple[float, ...]

    @property
    def estimates(self) -> tuple[float, ...]:
        return tuple(interval.estimate for interval in self.parameters.values())

    @property
    def degrees(self) -> int:
        return len(self.cells) - len(self.parameters)


def processing_time_s(parameters: Mapping[str, float], n_fltr: float, replication: float) -> float:
    """B: seconds per message received; 1 / B messages/s are received, (r + 1) / B in all."""
    return sum(value * REGRESSORS[name](n_fltr, replication) for name, value in parameters.items())


def parameters_of(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """What the cells of an experiment ask for: without a filter in any of them, no cost of filters."""
    filters = any(cell.n_fltr for cell in cells)
    return tuple(name for name in PARAMETERS if filters or name != "t_fltr")


def fewest_cells(parameters: Sequence[str]) -> int:
    """Fewer cells leave no degree of freedom."""
    return len(parameters) + 1


def fits(cells: Sequence[CellSummary]) -> tuple[tuple[FitResult, ...], dict[Unit, DataError]]:
    """A fit per run, broker, experiment that fits the model, and profile; and why there is none where there is none.

    An experiment all of whose cells are paced asks for no fit, and gets neither.
    """
    results: list[FitResult] = []
    errors: dict[Unit, DataError] = {}
    for unit, group in groupby(sorted((cell for cell in cells if cell.fits_model), key=_unit), key=_unit):
        of_unit = list(group)
        if all(cell.pace is not None for cell in of_unit):
            continue
        try:
            results.append(fit(of_unit))
        except DataError as error:
            errors[unit] = error
    return tuple(results), errors


def fit(cells: Sequence[CellSummary]) -> FitResult:
    """The model on the cells of one run, broker, experiment and profile.

    With one start the intervals are HC3 over its cells; with several, t intervals over the estimates of the starts,
    which are the unit that is independent. This holds for any number of starts from two on, so that no
    cluster-robust covariance is offered beside it: that one needs 15 starts or more, and would then say the same.

    Where a cap on transmission is decidedly the better description (`workloads.rules.ROOFLINE`), the cells at the
    cap are left out, and everything but `roofline` and the comparison with the paper's least squares is about the
    others; the intervals are then conditional on which cells these are. Raises DataError where the cells cannot
    identify the model.
    """
    units = {_unit(cell) for cell in cells}
    if len(units) != 1:
        raise DataError(
            f"cells of {len(units)} runs, brokers, experiments or profiles are never put into one fit: {sorted(units)}"
        )
    run, broker, experiment, profile = units.pop()
    place = f"{experiment} on {broker} ({run})"
    measured = sorted(cells, key=lambda cell: cell.key)
    names = parameters_of(measured)
    usable = [cell for cell in measured if not _unusable(cell)]
    began_ns = _began(measured)
    roofline = _roofline(usable, names, began_ns, place)
    capped = frozenset(roofline.capped) if roofline is not None and roofline.preferred else frozenset[str]()
    starts, without = _per_start(measured, [cell for cell in usable if cell.key.cell not in capped], names, place)
    fitted = list(starts.values())
    covariance, degrees = _covariance(fitted)
    parameters = _over_starts(fitted)
    estimates = {name: interval.estimate for name, interval in parameters.items()}
    points = tuple(
        _point(of_cell, len(starts), began_ns, processing_time_s(estimates, of_cell[0].n_fltr, of_cell[0].replication))
        for of_cell in _by_cell(cell for start in fitted for cell in start.cells)
    )
    result = FitResult(
        run=run,
        broker=broker,
        experiment=experiment,
        profile=profile,
        starts=len(starts),
        scope=Scope.WITHIN_ONE_START if len(starts) == 1 else Scope.BETWEEN_STARTS,
        parameters=parameters,
        per_start={number: start.estimates for number, start in starts.items()},
        ols_as_in_paper=ols_as_in_paper(usable, names),
        cells_used=tuple(point.cell for point in points),
        cells_excluded=(
            *(Excluded(cell.key.cell, cell.key.start, _unusable(cell)) for cell in measured if _unusable(cell)),
            *(
                Excluded(name, 0, "transmission cap: B is r t_sat there, whatever else it costs")
                for name in sorted(capped)
            ),
        ),
        lack_of_fit=_lack(fitted, max((_deviation(point) for point in points), key=abs)),
        findings=(),
        points=points,
        covariance=tuple(tuple(float(value) for value in row) for row in covariance),
        degrees=degrees,
        roofline=roofline,
        constrained=_constrained(points, parameters, float(np.sqrt(covariance[0, 0])), degrees),
        leave_one_out=_leave_one_out(points, names),
        variation=variation(usable),
    )
    return result.also((*without, *_findings(result)))


def within_start(cells: Sequence[CellSummary], names: Sequence[str], place: str) -> StartFit:
    """The weighted fit on the cells of one start. Raises DataError where they do not identify the model."""
    used = tuple(sorted(cells, key=lambda cell: cell.key))
    if len(used) < (fewest := fewest_cells(names)):
        raise DataError(
            f"{place}: {len(used)} usable cells, a fit needs {fewest}; `python -m analysis summary` says why "
            "cells are left out, a larger --grid has more of them"
        )
    x, b = _design(used, names), _processing(used)
    _check_identifiable(x, place)
    result = iterated_wls(b, x)
    covariance = np.asarray(result.cov_HC3, dtype=float)
    parameters = {
        name: around(estimate, error, len(used) - len(names))
        for name, estimate, error in zip(names, result.params, np.sqrt(np.diag(covariance)), strict=True)
    }
    return StartFit(used, parameters, covariance, tuple(float(value) for value in x @ result.params))


def variation(cells: Sequence[CellSummary]) -> Variation:
    """How much B scatters: between the windows of a cell, and between the starts of a cell beyond that.

    Variance components of B relative to its cell's mean, by the method of moments and pooled over the cells: the
    variance of the windows, and that of the starts' means less what the windows contribute to it (Searle, Casella
    and McCulloch, Variance Components, 1992, chapter 3). An estimate below 0 is not a scatter of 0 but one that so
    few starts do not show: None, with the reason.
    """
    windows = [np.array([one.elapsed_s / one.received for one in cell.windows]) for cell in cells]
    squares = sum(float(((of_cell / of_cell.mean() - 1) ** 2).sum()) for of_cell in windows if len(of_cell) > 1)
    within_degrees = sum(len(of_cell) - 1 for of_cell in windows if len(of_cell) > 1)
    within = squares / within_degrees if within_degrees else None
    repeated = [of_cell for of_cell in _by_cell(cells) if len(of_cell) > 1]
    deviations = [_processing(of_cell) / _processing(of_cell).mean() - 1 for of_cell in repeated]
    degrees = sum(len(of_cell) - 1 for of_cell in repeated)
    relative = None if within is None else float(np.sqrt(within))
    if not degrees:
        return Variation(relative, None, "one start")
    if within is None:
        return Variation(None, None, "one window per cell: its scatter cannot be told from that of the starts")
    of_windows = within * float(np.mean([1 / len(cell.windows) for of_cell in repeated for cell in of_cell]))
    between = sum(float(of_cell @ of_cell) for of_cell in deviations) / degrees - of_windows
    if between < 0:
        return Variation(relative, None, "the starts differ by less than the scatter of their windows explains")
    return Variation(relative, float(np.sqrt(between)))


def ols_as_in_paper(cells: Sequence[CellSummary], names: Sequence[str] = PARAMETERS) -> dict[str, float] | None:
    """Ordinary least squares on B over the cells with r in {1, 2, 5, 10}, each the mean of its starts; in s.

    What the paper did, for comparison; it favours the large cells, and has no interval there. None where these
    cells do not identify the model.
    """
    chosen = [cell for cell in cells if cell.replication in PAPER_REPLICATION]
    if len({cell.key.cell for cell in chosen}) < fewest_cells(names):
        return None
    x, b = _design(chosen, names), _processing(chosen)
    if not identifiable(x):
        return None
    share = Counter(cell.key.cell for cell in chosen)
    weights = np.array([1 / share[cell.key.cell] for cell in chosen])
    estimates = WLS(b, x, weights=weights).fit().params
    return {name: float(estimate) for name, estimate in zip(names, estimates, strict=True)}


def _unit(cell: CellSummary) -> Unit:
    return cell.key.run, cell.key.broker, cell.key.experiment, cell.profile


def _unusable(cell: CellSummary) -> str:
    """Why a cell enters no fit; empty where it may. A cell with a pace of its own shows no capacity."""
    if cell.status != Status.OK:
        return f"{cell.status}: {cell.reason}"
    return "" if cell.pace is None else f"paced: {cell.pace}"


def _design(cells: Sequence[CellSummary | FittedCell], names: Sequence[str]) -> Matrix:
    return np.array([regressors(names, cell.n_fltr, cell.replication) for cell in cells], dtype=float)


def _processing(cells: Sequence[CellSummary]) -> Vector:
    return np.array([cell.processing_s.estimate for cell in cells if cell.processing_s])


def _by_cell(cells: Iterable[CellSummary]) -> Iterator[list[CellSummary]]:
    """The starts of each cell, by the cell's name."""
    for _, group in groupby(sorted(cells, key=lambda cell: cell.key.cell), key=lambda cell: cell.key.cell):
        yield list(group)


def _began(cells: Sequence[CellSummary]) -> dict[int, int]:
    """When the first window of each start began, in ns."""
    began: dict[int, int] = {}
    for cell in cells:
        for window in cell.windows:
            began[cell.key.start] = min(window.begin_ns, began.get(cell.key.start, window.begin_ns))
    return began


def _check_identifiable(x: Matrix, place: str) -> None:
    if not identifiable(x):
        raise DataError(f"{place}: over the usable cells {_COLLINEAR[x.shape[1]]}: take a larger --grid, or no -k")
    if rests_on_one_row(x):
        raise DataError(
            f"{place}: one parameter rests on a single usable cell, so that its error is unknown; "
            "take a larger --grid, or no -k"
        )


_COLLINEAR = {
    3: "the number of filters and the replication grade are collinear, so that their costs cannot be told apart; both "
    "must vary, and not together",
    2: "the replication grade is the same, so that what a copy costs cannot be told from what a message costs; it must "
    "vary",
}


def _per_start(
    cells: Sequence[CellSummary], used: Sequence[CellSummary], names: Sequence[str], place: str
) -> tuple[dict[int, StartFit], list[Finding]]:
    """The fits on the `used` cells of all starts that allow one, and a finding for each start that does not."""
    found: dict[int, StartFit] = {}
    errors: list[tuple[int, DataError]] = []
    for start in sorted({cell.key.start for cell in cells}):
        try:
            found[start] = within_start([cell for cell in used if cell.key.start == start], names, place)
        except DataError as error:
            errors.append((start, error))
    if not found:
        raise errors[0][1]
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


def _over_starts(starts: Sequence[StartFit]) -> dict[str, Interval]:
    if len(starts) == 1:
        return dict(starts[0].parameters)
    return {name: mean_interval([start.parameters[name].estimate for start in starts]) for name in starts[0].parameters}


def _covariance(starts: Sequence[StartFit]) -> tuple[Matrix, int]:
    """Of the parameters, and its degrees of freedom: HC3 within one start, else of the mean over the starts."""
    if len(starts) == 1:
        return starts[0].covariance, starts[0].degrees
    estimates = np.array([start.estimates for start in starts])
    return np.cov(estimates, rowvar=False) / len(starts), len(starts) - 1


def _point(of_cell: Sequence[CellSummary], starts: int, began_ns: Mapping[int, int], fitted_s: float) -> FittedCell:
    """A cell over its starts; where the fit has one start only, its interval is that over its windows."""
    single = of_cell[0].processing_s if starts == 1 else None
    return FittedCell(
        cell=of_cell[0].key.cell,
        n_fltr=of_cell[0].n_fltr,
        replication=of_cell[0].replication,
        measured_s=single or mean_interval([float(b) for b in _processing(of_cell)]),
        fitted_s=fitted_s,
        at_s=float(
            np.mean(
                [
                    np.mean([window.middle_ns - began_ns[cell.key.start] for window in cell.windows]) / 1e9
                    for cell in of_cell
                ]
            )
        ),
    )


def _deviation(point: FittedCell) -> float:
    """Measured mean (over the starts) / fitted - 1; below -1 where the fit says that B is negative."""
    return point.measured_s.estimate / point.fitted_s - 1


def _measured(points: Sequence[FittedCell]) -> Vector:
    return np.array([point.measured_s.estimate for point in points])


def _roofline(
    usable: Sequence[CellSummary], names: Sequence[str], began_ns: Mapping[int, int], place: str
) -> Roofline | None:
    """The roofline on the cells' means over the starts; None where the cells allow none.

    Its regimes come from the means; its parameters are those of the plane on the cells below the cap, and t_sat is
    the mean of B / r at the cap, over the cells with one start and else over the starts.
    """
    means = list(_by_cell(usable))
    if not means:
        return None
    x = _design([one[0] for one in means], names)
    found = regimes(np.array([_processing(of_cell).mean() for of_cell in means]), x)
    if found is None:
        return None
    capped = {of_cell[0].key.cell for of_cell, at_cap in zip(means, found.capped, strict=True) if at_cap}
    try:
        starts, _ = _per_start(usable, [cell for cell in usable if cell.key.cell not in capped], names, place)
    except DataError:  # what identifies the plane over all starts may not do so in any of them
        return None
    at_cap = [cell for cell in usable if cell.key.start in starts and cell.key.cell in capped]
    if not at_cap:
        return None
    per_copy = [
        [float(b) / cell.replication for cell, b in zip(of_start, _processing(of_start), strict=True)]
        for of_start in ([cell for cell in at_cap if cell.key.start == start] for start in starts)
        if of_start
    ]
    t_sat_s = mean_interval(per_copy[0] if len(starts) == 1 else [float(np.mean(one)) for one in per_copy])
    return Roofline(
        parameters=_over_starts(list(starts.values())),
        t_sat_s=t_sat_s,
        capped=tuple(sorted(capped)),
        delta_aicc=found.delta_aicc,
        preferred=found.delta_aicc > ROOFLINE.limit,
        points=tuple(
            _point(of_cell, len(starts), began_ns, of_cell[0].replication * t_sat_s.estimate)
            for of_cell in _by_cell(at_cap)
        ),
    )


def _constrained(
    points: Sequence[FittedCell], parameters: Mapping[str, Interval], standard_error: float, degrees: int
) -> Constrained | None:
    """The fit without negative parameters, where t_rcv, whose standard error is given, cannot be told from 0."""
    t_rcv = parameters["t_rcv"]
    if t_rcv.low is None or t_rcv.high is None or not t_rcv.low <= 0 <= t_rcv.high:
        return None
    measured, fitted = _measured(points), np.array([point.fitted_s for point in points])
    estimates = non_negative(measured, _design(points, tuple(parameters)), np.where(fitted > 0, fitted, measured))
    return Constrained(
        {name: float(estimate) for name, estimate in zip(parameters, estimates, strict=True)},
        at_most(t_rcv.estimate, standard_error, degrees),
    )


def _leave_one_out(points: Sequence[FittedCell], names: Sequence[str]) -> LeaveOneOut:
    errors = np.abs(left_out_errors(iterated_wls(_measured(points), _design(points, names))))
    worst = int(errors.argmax())
    return LeaveOneOut(float(np.median(errors)), float(errors[worst]), points[worst].cell)


def _lack(starts: Sequence[StartFit], largest: float) -> LackOfFit:
    """Relative errors of the windows, pooled over the starts; each start has parameters of its own."""
    groups = [
        np.array([window.elapsed_s / window.received for window in cell.windows]) / fitted
        for start in starts
        for cell, fitted in zip(start.cells, start.fitted_s, strict=True)
    ]
    test = lack_of_fit_f(groups, [1.0] * len(groups), sum(len(start.parameters) for start in starts))
    f, p = test or (None, None)
    return LackOfFit(f, p, abs(largest))


def _findings(result: FitResult) -> Iterator[Finding]:
    broker = result.broker
    if result.scope == Scope.WITHIN_ONE_START:
        yield Finding(
            what=f"{result.experiment}: one start only",
            measured="intervals within one start",
            limit="starts of a broker differ by more than its windows do",
            advice="--starts 3 or more, for intervals that hold for the next start as well",
            broker=broker,
        )
    at_cap: tuple[FittedCell, ...] = ()
    if result.roofline is not None and result.roofline.preferred:
        at_cap = result.roofline.points
        yield _capped(result, result.roofline)
    for point in sorted((*result.points, *at_cap), key=lambda point: -abs(_deviation(point))):
        deviation = _deviation(point)
        if abs(deviation) > CELL_MISFIT.limit:
            yield Finding(
                what=f"{result.experiment} {point.cell} lies off the fit",
                measured=f"{deviation:+.1%}",
                limit=f"{CELL_MISFIT.limit:.0%} is a finding, {FIT_MISFIT.limit:.0%} makes the fit invalid",
                advice="neither the plane nor a cap describes this cell: a disturbance, or a cost that the model lacks",
                consequence=VerdictKind.INVALID if abs(deviation) > FIT_MISFIT.limit else VerdictKind.VALID,
                broker=broker,
            )
    lack = result.lack_of_fit
    if lack.p is not None and lack.f is not None and lack.p < SIGNIFICANCE:
        yield Finding(
            what=f"{result.experiment}: cells leave the plane by more than their windows scatter",
            measured=f"F {lack.f:.1f}, p {lack.p:.2g}, largest deviation {lack.max_relative_deviation:.1%}",
            limit=f"p >= {SIGNIFICANCE}",
            advice="windows of one start scatter little, so that small deviations count here: judge by the largest",
            broker=broker,
        )
    for name, interval in result.parameters.items():
        yield from _doubtful_parameter(result, name, interval)


def _capped(result: FitResult, roofline: Roofline) -> Finding:
    t_sat_s = roofline.t_sat_s.estimate
    return Finding(
        what=f"{result.experiment}: transmission is capped in {len(roofline.capped)} cells",
        measured=f"{', '.join(roofline.capped)}: {t_sat_s * 1e6:.4g} us per copy, {1 / t_sat_s:.0f} copies/s at most; "
        f"AICc of the plane {roofline.delta_aicc:.0f} worse",
        limit=f"AICc worse by more than {ROOFLINE.limit:.0f}, at least {CAPPED_CELLS.limit:.0f} cells at the cap",
        advice="the parameters are those of the other cells; what limits these is not what a message, a filter and a "
        "copy cost: look for a full link, a lock or a single thread",
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
            limit="a cost is not negative",
            advice="alarm: something else than the broker's CPU limits some cells, as a rule a saturated "
            "transmission at high replication; leave those cells out",
            consequence=VerdictKind.INVALID,
            broker=result.broker,
        )
        return
    bound = result.constrained if name == "t_rcv" else None
    yield Finding(
        what=f"{result.experiment}: {name} cannot be told from 0",
        measured=measured + (f"; at most {bound.t_rcv_at_most_s * 1e6:.4g} us (one-sided 95 %)" if bound else ""),
        limit="an interval above 0",
        advice="cells with more filters show t_fltr, small cells show t_rcv; longer windows narrow both",
        broker=result.broker,
    )
