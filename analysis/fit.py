"""The model B = t_rcv + n_fltr t_fltr + r t_tx, fitted on cells (Henjes et al. 2006, section 4.5, equation 1).

One fit per run, broker, experiment and profile; nothing else is ever put together. The fit is on B, the time
per message received, which is linear in the three parameters; noise is multiplicative, so that the weights are
1 / fitted^2. Estimates are never clamped: an impossible value is the symptom that somebody has to see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.regression.linear_model import WLS, RegressionResults

from analysis.errors import DataError
from analysis.intervals import Vector, around, mean_interval
from analysis.results import CellSummary, Excluded, Finding, FitResult, Interval, LackOfFit, Scope
from workloads.rules import CELL_MISFIT, FIT_MISFIT, Status, VerdictKind

Matrix = npt.NDArray[np.float64]

#: Run, broker, experiment, profile: what one fit is about.
Unit: TypeAlias = tuple[str, str, str, str]

PARAMETERS = ("t_rcv", "t_fltr", "t_tx")

#: ActiveMQ 4.0 on a 3.2 GHz CPU of its time, in s (Henjes et al. 2006, section 4.5).
PAPER: Mapping[str, float] = {"t_rcv": 4.9e-5, "t_fltr": 1.6e-7, "t_tx": 1.5e-5}

#: The replication grades that the paper's least squares saw (section 4.5).
PAPER_REPLICATION = (1, 2, 5, 10)

#: Fewer cells leave no degree of freedom.
FEWEST_CELLS = 4

#: Rounds of 1 / fitted^2; the weights no longer move after the second.
ROUNDS = 3

#: Columns scaled to length 1 whose smallest singular value is below this say the same thing twice.
COLLINEAR = 1e-6

#: From here on a parameter rests on one cell, and HC3 divides by nothing.
LEVERAGE = 1 - 1e-9

SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class StartFit:
    """The fit within one start: intervals are HC3 with n - 3 degrees of freedom; `fitted_s` in the cells' order."""

    cells: tuple[CellSummary, ...]
    parameters: Mapping[str, Interval]
    fitted_s: tuple[float, ...]

    @property
    def estimates(self) -> tuple[float, float, float]:
        first, second, third = (self.parameters[name].estimate for name in PARAMETERS)
        return first, second, third


def processing_time_s(parameters: Mapping[str, float], n_fltr: float, replication: float) -> float:
    """B: seconds per message received; 1 / B messages/s are received, (r + 1) / B in all."""
    return parameters["t_rcv"] + n_fltr * parameters["t_fltr"] + replication * parameters["t_tx"]


def fits(cells: Sequence[CellSummary]) -> tuple[tuple[FitResult, ...], dict[Unit, DataError]]:
    """A fit per run, broker, experiment that fits the model, and profile; and why there is none where there is none."""
    results: list[FitResult] = []
    errors: dict[Unit, DataError] = {}
    for unit, group in groupby(sorted((cell for cell in cells if cell.fits_model), key=_unit), key=_unit):
        try:
            results.append(fit(list(group)))
        except DataError as error:
            errors[unit] = error
    return tuple(results), errors


def fit(cells: Sequence[CellSummary]) -> FitResult:
    """The model on the cells of one run, broker, experiment and profile.

    With one start the intervals are HC3 over its cells; with several, t intervals over the estimates of the
    starts, which are the unit that is independent. Raises DataError where the cells cannot identify the model.
    """
    units = {_unit(cell) for cell in cells}
    if len(units) != 1:
        raise DataError(
            f"cells of {len(units)} runs, brokers, experiments or profiles are never put into one fit: {sorted(units)}"
        )
    run, broker, experiment, profile = units.pop()
    place = f"{experiment} on {broker} ({run})"
    starts, unusable = _per_start(cells, place)
    parameters = _over_starts(starts)
    estimates = {name: interval.estimate for name, interval in parameters.items()}
    used = [cell for start in starts.values() for cell in start.cells]
    deviations = _deviations(used, estimates)
    lack = _lack(list(starts.values()), max(deviations.values(), key=abs))
    result = FitResult(
        run=run,
        broker=broker,
        experiment=experiment,
        profile=profile,
        starts=len(starts),
        scope=Scope.WITHIN_ONE_START if len(starts) == 1 else Scope.BETWEEN_STARTS,
        parameters=parameters,
        per_start={number: start.estimates for number, start in starts.items()},
        ols_as_in_paper=ols_as_in_paper(used),
        cells_used=tuple(sorted(deviations)),
        cells_excluded=tuple(
            Excluded(cell.key.cell, cell.key.start, f"{cell.status}: {cell.reason}")
            for cell in sorted(cells, key=lambda cell: cell.key)
            if cell.status != Status.OK
        ),
        lack_of_fit=lack,
        findings=(),
    )
    return result.also((*unusable, *_findings(result, deviations)))


def within_start(cells: Sequence[CellSummary], place: str) -> StartFit:
    """The weighted fit on the usable cells of one start. Raises DataError where they do not identify the model."""
    used = tuple(sorted((cell for cell in cells if cell.status == Status.OK), key=lambda cell: cell.key))
    if len(used) < FEWEST_CELLS:
        raise DataError(
            f"{place}: {len(used)} usable cells, a fit needs {FEWEST_CELLS}; `python -m analysis summary` says why "
            "cells are left out, a larger --grid has more of them"
        )
    x, b = _design(used), _processing(used)
    _check_identifiable(x, place)
    result = iterated_wls(b, x)
    errors = np.asarray(result.HC3_se, dtype=float)
    parameters = {
        name: around(estimate, error, len(used) - len(PARAMETERS))
        for name, estimate, error in zip(PARAMETERS, result.params, errors, strict=True)
    }
    return StartFit(used, parameters, tuple(float(value) for value in x @ result.params))


def iterated_wls(b: Vector, x: Matrix) -> RegressionResults:
    """Weighted least squares with weights 1 / fitted^2, from weights 1 / observed^2 on; statsmodels' result.

    Where a fitted value is not positive, the observed one keeps its place in the weights.
    """
    reference = b
    for _ in range(ROUNDS + 1):
        result = WLS(b, x, weights=1 / reference**2).fit()
        fitted = x @ result.params
        reference = np.where(fitted > 0, fitted, b)
    return result


def lack_of_fit_f(groups: Sequence[Vector], fitted: Sequence[float], parameters: int) -> tuple[float, float] | None:
    """F and p of the lack-of-fit test: repeated observations per setting against the value fitted there.

    F = (SS_lack / (c - p)) / (SS_pure / (n - c)) for c settings, n observations, p parameters (Kutner et al.,
    Applied Linear Statistical Models, 5th ed., section 3.7). None without a degree of freedom, or where the
    observations of a setting do not differ at all.
    """
    observations = sum(len(group) for group in groups)
    within, between = observations - len(groups), len(groups) - parameters
    pure = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    total = sum(float((group**2).sum()) for group in groups)
    if within < 1 or between < 1 or pure <= 1e-18 * total:
        return None
    lack = sum(len(group) * float(group.mean() - value) ** 2 for group, value in zip(groups, fitted, strict=True))
    f = (lack / between) / (pure / within)
    return f, float(stats.f.sf(f, between, within))


def ols_as_in_paper(cells: Sequence[CellSummary]) -> dict[str, float] | None:
    """Ordinary least squares on B over the cells with r in {1, 2, 5, 10}, each the mean of its starts; in s.

    What the paper did, for comparison; it favours the large cells, and has no interval there. None where these
    cells do not identify the model.
    """
    chosen = [cell for cell in cells if cell.replication in PAPER_REPLICATION]
    if len({cell.key.cell for cell in chosen}) < FEWEST_CELLS:
        return None
    x, b = _design(chosen), _processing(chosen)
    if not _identifiable(x):
        return None
    share = Counter(cell.key.cell for cell in chosen)
    weights = np.array([1 / share[cell.key.cell] for cell in chosen])
    estimates = WLS(b, x, weights=weights).fit().params
    return {name: float(estimate) for name, estimate in zip(PARAMETERS, estimates, strict=True)}


def _unit(cell: CellSummary) -> Unit:
    return cell.key.run, cell.key.broker, cell.key.experiment, cell.profile


def _design(cells: Sequence[CellSummary]) -> Matrix:
    return np.array([[1.0, cell.n_fltr, cell.replication] for cell in cells])


def _processing(cells: Sequence[CellSummary]) -> Vector:
    return np.array([cell.processing_s.estimate for cell in cells if cell.processing_s])


def _identifiable(x: Matrix) -> bool:
    scaled = x / np.linalg.norm(x, axis=0)
    return bool(np.linalg.svd(scaled, compute_uv=False)[-1] > COLLINEAR)


def _check_identifiable(x: Matrix, place: str) -> None:
    if not _identifiable(x):
        raise DataError(
            f"{place}: over the usable cells the number of filters and the replication grade are collinear, so that "
            "their costs cannot be told apart; both must vary, and not together: take a larger --grid, or no -k"
        )
    if (np.linalg.qr(x)[0] ** 2).sum(axis=1).max() > LEVERAGE:
        raise DataError(
            f"{place}: one parameter rests on a single usable cell, so that its error is unknown; "
            "take a larger --grid, or no -k"
        )


def _per_start(cells: Sequence[CellSummary], place: str) -> tuple[dict[int, StartFit], list[Finding]]:
    """The fits of all starts that allow one, and a finding for each that does not."""
    found: dict[int, StartFit] = {}
    errors: list[tuple[int, DataError]] = []
    for start, group in groupby(sorted(cells, key=lambda cell: cell.key), key=lambda cell: cell.key.start):
        try:
            found[start] = within_start(list(group), place)
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


def _over_starts(starts: Mapping[int, StartFit]) -> dict[str, Interval]:
    fitted = list(starts.values())
    if len(fitted) == 1:
        return dict(fitted[0].parameters)
    return {name: mean_interval([start.parameters[name].estimate for start in fitted]) for name in PARAMETERS}


def _deviations(cells: Sequence[CellSummary], estimates: Mapping[str, float]) -> dict[str, float]:
    """Measured mean (over the starts) / fitted - 1, per cell; below -1 where the fit says that B is negative."""
    means: dict[str, float] = {}
    for name, group in groupby(sorted(cells, key=lambda cell: cell.key.cell), key=lambda cell: cell.key.cell):
        of_cell = list(group)
        fitted = processing_time_s(estimates, of_cell[0].n_fltr, of_cell[0].replication)
        means[name] = float(_processing(of_cell).mean()) / fitted - 1
    return means


def _lack(starts: Sequence[StartFit], largest: float) -> LackOfFit:
    """Relative errors of the windows, pooled over the starts; each start has three parameters of its own."""
    groups = [
        np.array([window.elapsed_s / window.received for window in cell.windows]) / fitted
        for start in starts
        for cell, fitted in zip(start.cells, start.fitted_s, strict=True)
    ]
    test = lack_of_fit_f(groups, [1.0] * len(groups), len(PARAMETERS) * len(starts))
    f, p = test or (None, None)
    return LackOfFit(f, p, abs(largest))


def _findings(result: FitResult, deviations: Mapping[str, float]) -> Iterator[Finding]:
    broker = result.broker
    if result.scope == Scope.WITHIN_ONE_START:
        yield Finding(
            what=f"{result.experiment}: one start only",
            measured="intervals within one start",
            limit="starts of a broker differ by more than its windows do",
            advice="--starts 3 or more, for intervals that hold for the next start as well",
            broker=broker,
        )
    for cell, deviation in sorted(deviations.items(), key=lambda item: -abs(item[1])):
        if abs(deviation) > CELL_MISFIT.limit:
            yield Finding(
                what=f"{result.experiment} {cell} lies off the fit",
                measured=f"{deviation:+.1%}",
                limit=f"{CELL_MISFIT.limit:.0%} is a finding, {FIT_MISFIT.limit:.0%} makes the fit invalid",
                advice="the plane does not describe this cell: a cap at high replication, or a disturbance",
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
    yield Finding(
        what=f"{result.experiment}: {name} cannot be told from 0",
        measured=measured,
        limit="an interval above 0",
        advice="cells with more filters show t_fltr, small cells show t_rcv; longer windows narrow both",
        broker=result.broker,
    )
