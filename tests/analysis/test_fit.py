"""The fit against others: statsmodels' own references, a textbook, the paper's arithmetic, and coverage."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from statsmodels.datasets import longley
from statsmodels.regression.linear_model import WLS

from analysis.errors import DataError
from analysis.fit import PAPER, PARAMETERS, fit, fits, ols_as_in_paper, processing_time_s, variation
from analysis.plane import iterated_wls, lack_of_fit_f
from analysis.results import Scope, fit_json
from tests.analysis.cells import cell, start_of
from tests.bench_fit import capped_cells, coverage, from_directories, simulated
from tests.run_directories import CELLS, TIMES
from workloads.rules import FIT_MISFIT, Status, VerdictKind

#: Section 4.5 of the paper: r and the additional subscribers.
PAPER_GRID = [(further, r) for further in (5, 10, 20, 40, 60, 80, 160) for r in (1, 2, 5, 10, 20, 40)]

PAPER_TIMES = tuple(PAPER[name] for name in PARAMETERS)


def estimates(result):
    return [result.parameters[name].estimate for name in PARAMETERS]


def whats(result):
    return [finding.what for finding in result.findings]


# The paper's own arithmetic


def test_the_paper_s_constants_come_back():
    """From B computed with t_rcv, t_fltr and t_tx over the paper's grid, both fits return the three constants."""
    result = fit(start_of(cells=PAPER_GRID, times=PAPER_TIMES))

    assert estimates(result) == pytest.approx(PAPER_TIMES, rel=1e-6)
    assert list(result.ols_as_in_paper.values()) == pytest.approx(PAPER_TIMES, rel=1e-6)
    assert len(result.cells_used) == 42
    assert result.lack_of_fit.max_relative_deviation < 1e-6


def test_the_paper_s_least_squares_see_28_of_the_42_cells():
    """r = 20 and 40 take no part in the fit as in the paper: whatever they are, its constants stay."""
    capped = [
        replace(one, processing_s=replace(one.processing_s, estimate=one.processing_s.estimate * 0.7))
        if one.replication > 10
        else one
        for one in start_of(cells=PAPER_GRID, times=PAPER_TIMES)
    ]

    assert sum(one.replication <= 10 for one in capped) == 28
    assert list(ols_as_in_paper(capped).values()) == pytest.approx(PAPER_TIMES, rel=1e-6)
    assert estimates(fit(capped)) != pytest.approx(PAPER_TIMES, rel=1e-2)


def test_the_paper_s_throughputs_give_its_constants_back():
    """From whole messages/s, as a figure has them, at r in {1, 2, 5, 10}: the constants, and r = 20 and 40 to 0.1 %."""
    rounded = [
        replace(one, processing_s=replace(one.processing_s, estimate=1 / round(1 / one.processing_s.estimate)))
        for one in start_of(cells=PAPER_GRID, times=PAPER_TIMES)
        if one.replication <= 10
    ]
    result = fit(rounded)

    assert estimates(result) == pytest.approx(PAPER_TIMES, rel=5e-3)
    # 49 + 0.16 x 25 + 15 x 20 = 353 us and 49 + 0.16 x 200 + 15 x 40 = 681 us
    constants = dict(zip(PARAMETERS, estimates(result), strict=True))
    assert processing_time_s(constants, 25, 20) == pytest.approx(353e-6, rel=1e-3)
    assert processing_time_s(constants, 200, 40) == pytest.approx(681e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("n_fltr", "r", "received", "overall"),
    [(0, 1, 15_625, 31_250), (0, 10, 5_025, 55_276), (0, 320, 206, 66_165), (320, 320, 204, 65_470)],
)
def test_predictions_of_the_paper_s_model(n_fltr, r, received, overall):
    """1 / B and (r + 1) / B as its constants give them, not as its rounded text does."""
    seconds = processing_time_s(PAPER, n_fltr, r)

    assert 1 / seconds == pytest.approx(received, abs=0.5)
    assert (r + 1) / seconds == pytest.approx(overall, rel=1e-3)


def test_what_one_transmission_is_worth():
    """94 filters cost as much as a transmission, 306 as much as a reception (section 4.5 and its figures)."""
    assert round(PAPER["t_tx"] / PAPER["t_fltr"]) == 94
    assert round(PAPER["t_rcv"] / PAPER["t_fltr"]) == 306


# Against somebody else's numbers


def test_hc3_is_that_of_stata_on_longley():
    """HC3 standard errors of Longley's data as statsmodels' own tests have them from Stata (results_regression.py)."""
    data = longley.load()
    x = np.column_stack([data.exog.to_numpy(), np.ones(16)])

    result = WLS(data.endog.to_numpy(), x, weights=1).fit()

    assert result.HC3_se == pytest.approx([91.11939, 0.05562, 0.82213, 0.29879, 0.32491, 922.80784, 1799477], rel=1e-4)


def test_the_interval_is_hc3_by_hand():
    """(X'WX)^-1 X'W e^2/(1-h)^2 WX (X'WX)^-1 (MacKinnon and White 1985) with 13 degrees of freedom, written out."""
    cells = sorted(start_of(np.random.default_rng(5), noise=0.02), key=lambda one: one.key)
    b = np.array([one.processing_s.estimate for one in cells])
    x = np.array([[1, one.n_fltr, one.replication] for one in cells], dtype=float)
    fitted = b
    for _ in range(10):  # to convergence, so that the number of rounds is tested as well
        w = 1 / fitted**2
        beta = np.linalg.solve(x.T @ (w[:, None] * x), x.T @ (w * b))
        fitted = x @ beta
    rx, e = x / fitted[:, None], (b - x @ beta) / fitted
    inverse = np.linalg.inv(rx.T @ rx)
    h = np.einsum("ij,jk,ik->i", rx, inverse, rx)
    errors = np.sqrt(np.diag(inverse @ (rx.T * (e / (1 - h)) ** 2) @ rx @ inverse))

    result = fit(cells)

    assert estimates(result) == pytest.approx(beta, rel=1e-4)
    halves = [result.parameters[name].high - result.parameters[name].estimate for name in PARAMETERS]
    assert halves == pytest.approx(stats.t.ppf(0.975, 13) * errors, rel=1e-3)


def test_lack_of_fit_is_the_textbook_s():
    """Kutner et al., Applied Linear Statistical Models, 5th ed., tables 3.4 to 3.6: F* = 14.80, p = 0.006."""
    gifts = {75: [28, 42], 100: [112, 136], 125: [160, 150], 150: [152], 175: [156, 124], 200: [124, 104]}
    x = np.array([size for size, counts in gifts.items() for _ in counts], dtype=float)
    y = np.array([count for counts in gifts.values() for count in counts], dtype=float)
    slope, intercept = np.polyfit(x, y, 1)
    assert (intercept, slope) == pytest.approx((50.72251, 0.48670), rel=1e-5)

    f, p = lack_of_fit_f([np.array(c, dtype=float) for c in gifts.values()], [intercept + slope * s for s in gifts], 2)

    assert f == pytest.approx(14.80, abs=0.005)
    assert p == pytest.approx(0.006, abs=5e-4)


def test_lack_of_fit_pools_the_starts():
    """Each start has three parameters of its own: F with (2 x 16 - 6, 2 x 16 x 2) degrees of freedom, written out."""
    rng = np.random.default_rng(8)
    starts = {start: start_of(rng, cell_noise=0.01, noise=0.01, start=start) for start in (1, 2)}
    result = fit([one for cells in starts.values() for one in cells])
    lack = pure = 0.0
    for start, cells in starts.items():
        for one in cells:
            fitted = np.dot(result.per_start[start], [1, one.n_fltr, one.replication])
            taken = np.array([w.elapsed_s / w.received for w in one.windows]) / fitted
            pure += ((taken - taken.mean()) ** 2).sum()
            lack += 3 * (taken.mean() - 1) ** 2

    assert result.lack_of_fit.f == pytest.approx((lack / 26) / (pure / 64))
    assert result.lack_of_fit.p == pytest.approx(stats.f.sf(result.lack_of_fit.f, 26, 64))


def test_least_squares_as_in_the_paper_take_the_mean_of_the_starts():
    """A cell that is missing in one start weighs as much as the others: plain least squares on the cells' means."""
    cells = [one for start in (1, 2) for one in start_of(np.random.default_rng(start), cell_noise=0.05, start=start)][
        1:
    ]
    means = {}
    for one in cells:
        means.setdefault((one.n_fltr, one.replication), []).append(one.processing_s.estimate)
    x = np.array([(1, *setting) for setting in means])
    expected = np.linalg.lstsq(x, np.array([np.mean(b) for b in means.values()]), rcond=None)[0]

    assert list(ols_as_in_paper(cells).values()) == pytest.approx(expected)


def test_lack_of_fit_needs_repetitions():
    """One window per cell, or as many parameters as cells, leave nothing to test."""
    ones = [np.array([1.0])] * 5
    assert lack_of_fit_f(ones, [1.0] * 5, 3) is None
    assert lack_of_fit_f([np.array([1.0, 1.1])] * 3, [1.0] * 3, 3) is None
    assert lack_of_fit_f([np.array([1.0, 1.0])] * 5, [1.0] * 5, 3) is None


@pytest.mark.parametrize(("starts", "runs"), [(1, 200), pytest.param(3, 100, marks=pytest.mark.slow), (5, 60)])
def test_intervals_cover_the_truth(starts, runs):
    """95 % intervals contain the parameters in 92 to 98 % of runs, within what so few runs can show (3 sigma)."""
    row = coverage("quick", starts, runs)

    assert row.starts == starts
    assert row.calibrated, row
    assert row.saturated <= 1


@pytest.mark.usefixtures("spark")
def test_the_whole_way_from_run_directories(tmp_path):
    """Four simulated runs, analysed in one call: each has its own fit, none sees a cap, and 12 intervals cover."""
    row = from_directories(tmp_path, 1, 4)

    assert (row.runs, row.saturated, row.invalid) == (4, 0, 0)
    assert sum(row.covered) * 4 >= 12 * 0.95 - 3 * np.sqrt(12 * 0.95 * 0.05)
    assert max(row.error) < 0.06


def test_weights_beat_least_squares_on_small_costs():
    """With multiplicative noise the weighted t_rcv scatters much less than that of plain least squares."""
    weighted, plain = [], []
    for seed in range(60):
        cells = start_of(np.random.default_rng(seed), cell_noise=0.02)
        weighted.append(estimates(fit(cells))[0])
        plain.append(ols_as_in_paper(cells)["t_rcv"])

    assert np.std(weighted) < 0.75 * np.std(plain)


# What a fit is made of


def test_one_start_says_so():
    """One start gives intervals within that start, and a finding that says so; it can still be valid."""
    result = fit(start_of(noise=0.005))

    assert (result.scope, result.starts) == (Scope.WITHIN_ONE_START, 1)
    assert "replication: one start only" in whats(result)
    assert result.verdict == VerdictKind.VALID


def test_several_starts_are_the_unit():
    """With three starts the interval is the t interval of the three estimates, with 2 degrees of freedom."""
    cells = [one for start, factor in ((1, 1.0), (2, 1.1), (3, 0.9)) for one in start_of(start=start, factor=factor)]

    result = fit(cells)

    assert (result.scope, result.starts) == (Scope.BETWEEN_STARTS, 3)
    assert result.parameters["t_rcv"].estimate == pytest.approx(TIMES[0])
    half = result.parameters["t_rcv"].high - result.parameters["t_rcv"].estimate
    assert half == pytest.approx(4.303 * 0.1 * TIMES[0] / np.sqrt(3), rel=1e-3)
    assert result.per_start[2] == pytest.approx([1.1 * t for t in TIMES])
    assert "replication: one start only" not in whats(result)


def test_excluded_cells_stay_out_and_visible():
    """A cell that is not ok changes nothing in the fit, and stands in the result with its reason."""
    cells = start_of(noise=0.005)
    spoiled = cells[0]
    broken = replace(
        spoiled,
        status=Status.NOT_SATURATED,
        reason="broker CPU 0.60",
        processing_s=replace(spoiled.processing_s, estimate=1.0),
    )

    result = fit([broken, *cells[1:]])

    assert estimates(result) == estimates(fit(cells[1:]))
    assert [(one.cell, one.reason) for one in result.cells_excluded] == [
        (spoiled.key.cell, "not-saturated: broker CPU 0.60")
    ]
    assert spoiled.key.cell not in result.cells_used
    assert len(result.cells_used) == len(cells) - 1


@pytest.mark.parametrize("pace", ["constant arrivals at 50 % of the capacity", ""])
def test_paced_cells_stay_out_and_visible(pace):
    """A cell that was not driven to capacity has no B: out of the fit, with its pace as the reason."""
    cells = start_of(noise=0.005)
    paced = replace(cells[0], pace=pace, processing_s=replace(cells[0].processing_s, estimate=1.0))

    result = fit([paced, *cells[1:]])

    assert estimates(result) == estimates(fit(cells[1:]))
    assert [(one.cell, one.reason) for one in result.cells_excluded] == [(paced.key.cell, f"paced: {pace}")]


def test_an_experiment_of_paced_cells_is_not_fitted():
    """It never asked for a model: neither a fit nor an error."""
    assert fits([replace(one, pace="Poisson arrivals") for one in start_of()]) == ((), {})


def test_points_stand_for_the_cells_that_entered():
    """Measured mean over the starts with its interval, what the fit says, and when it was measured."""
    cells = [one for start, factor in ((1, 1.0), (2, 1.1)) for one in start_of(start=start, factor=factor)]
    last = max((one for one in cells if one.key.start == 1), key=lambda one: one.windows[0].begin_ns)
    other = next(one for one in cells if one.key.start == 2 and one.key.cell == last.key.cell)

    result = fit(cells)

    (point,) = [point for point in result.points if point.cell == last.key.cell]
    first, second = last.processing_s.estimate, other.processing_s.estimate
    assert point.measured_s.estimate == pytest.approx((first + second) / 2)
    assert point.measured_s.high - point.measured_s.estimate == pytest.approx(12.706 * (second - first) / 2, rel=1e-3)
    assert point.fitted_s == pytest.approx(point.measured_s.estimate)
    middles = [np.mean([w.middle_ns for w in one.windows]) / 1e9 for one in (last, other)]
    assert point.at_s == pytest.approx(np.mean(middles))
    assert {point.cell for point in result.points} == set(result.cells_used)


def test_a_cell_that_one_of_two_starts_lacks_has_a_point_without_interval():
    """Its windows say nothing about other starts."""
    cells = [one for start in (1, 2) for one in start_of(noise=0.01, start=start)][1:]
    missing = {one.key.cell for one in cells if one.key.start == 2} - {
        one.key.cell for one in cells if one.key.start == 1
    }

    points = {point.cell: point for point in fit(cells).points}

    assert [points[name].measured_s.ci95 for name in missing] == [None]


def test_a_point_of_one_start_has_the_interval_of_its_windows():
    """Over one start the windows are all there is."""
    cells = start_of(noise=0.01)
    of_cell = {one.key.cell: one.processing_s for one in cells}

    assert {point.cell: point.measured_s for point in fit(cells).points} == of_cell


@pytest.mark.parametrize("starts", [1, 3])
def test_the_covariance_is_that_of_the_intervals(starts):
    """estimate +- t(degrees) sqrt(variance) are the ends of every interval: HC3 in one start, else over the starts."""
    rng = np.random.default_rng(4)
    cells = [one for start in range(1, starts + 1) for one in start_of(rng, cell_noise=0.02, start=start)]

    result = fit(cells)

    assert result.degrees == (13 if starts == 1 else 2)
    errors = np.sqrt(np.diag(result.covariance))
    highs = [result.parameters[name].high for name in PARAMETERS]
    assert highs == pytest.approx(estimates(result) + stats.t.ppf(0.975, result.degrees) * errors)
    if starts > 1:
        expected = np.cov(np.array(list(result.per_start.values())).T) / starts
        assert np.array(result.covariance) == pytest.approx(expected)


def test_variation_between_and_within_starts_is_told_apart():
    """Windows that scatter by 1 % in starts that scatter by 3 %: both come back, within 3 standard errors of 20 %."""
    rng = np.random.default_rng(9)
    cells = [
        one
        for start in range(1, 31)
        for one in start_of(rng, noise=0.01, start=start, factor=np.exp(0.03 * rng.standard_normal()))
    ]

    found = variation(cells)

    assert found.within_start == pytest.approx(0.01, rel=0.1)
    assert found.between_starts == pytest.approx(0.03, rel=3 / np.sqrt(2 * 29))  # a variance of 30 starts
    assert found.reason == ""


def test_variation_by_hand():
    """Two starts of one cell with windows 9, 11 and 12, 14 us: within 2 / 125, between 49 / 578 less half of that."""
    cells = [cell(0, 1, [9e-6, 11e-6]), cell(0, 1, [12e-6, 14e-6], start=2)]
    within = ((1 / 10) ** 2 * 2 + (1 / 13) ** 2 * 2) / 2
    between = 2 * (1.5 / 11.5) ** 2 - within / 2

    found = variation(cells)

    assert found.within_start == pytest.approx(np.sqrt(within))
    assert found.between_starts == pytest.approx(np.sqrt(between))


def test_one_start_has_no_variation_between_starts():
    """A claim between starts is refused at one start, in words."""
    found = fit(start_of(noise=0.01)).variation

    assert found.within_start == pytest.approx(0.01, rel=0.5)
    assert (found.between_starts, found.reason) == (None, "one start")


def test_starts_that_differ_too_little_have_no_variation_rather_than_0():
    """An estimate below 0 is not clamped: there is no number, and the reason stands in its place."""
    cells = [cell(0, 1, [9e-6, 11e-6]), cell(0, 1, [9e-6, 11e-6], start=2)]

    found = variation(cells)

    assert found.between_starts is None
    assert "less than the scatter of their windows" in found.reason


def test_leaving_a_cell_out_shows_the_one_that_is_off():
    """The largest error is that of the disturbed cell, and close to its disturbance; the typical one is small."""
    grid = [(further, r) for further in (0, 160, 640, 2560) for r in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]
    cells = [
        replace(one, processing_s=replace(one.processing_s, estimate=one.processing_s.estimate * 1.25))
        if (one.n_fltr, one.replication) == (165, 5)
        else one
        for one in start_of(cells=grid)
    ]

    found = fit(cells).leave_one_out

    assert found.cell == "f0160-r005"
    assert found.largest == pytest.approx(1 - 1 / 1.25, abs=0.01)
    assert found.median < 0.02


# A cap on transmission


def test_capped_cells_are_labelled_and_the_run_stays_usable():
    """The cells at the cap are named, left out with the reason and shown beside it."""
    cells = start_of(np.random.default_rng(1), cell_noise=0.01, noise=0.005, t_sat_s=1.5 * TIMES[2])
    capped = sorted(capped_cells("quick", 1.5))

    result = fit(cells)

    assert result.roofline.preferred
    assert list(result.roofline.capped) == capped
    assert result.roofline.t_sat_s.estimate == pytest.approx(1.5 * TIMES[2], rel=0.02)
    assert result.roofline.parameters == result.parameters
    assert estimates(result) == pytest.approx(TIMES, rel=0.05)
    assert [one.cell for one in result.cells_excluded if one.reason.startswith("transmission cap")] == capped
    assert not set(capped) & set(result.cells_used)
    (finding,) = [finding for finding in result.findings if "capped" in finding.what]
    assert all(name in finding.measured for name in capped)
    assert [point.cell for point in result.roofline.points] == capped
    for point in result.roofline.points:
        assert point.fitted_s == pytest.approx(point.replication * result.roofline.t_sat_s.estimate)
    assert result.verdict == VerdictKind.VALID
    assert result.degrees == 10


def test_a_cap_does_not_make_a_run_invalid():
    """The plane over all cells is off by more than the limit of a valid fit; the roofline is not."""
    cells = start_of(np.random.default_rng(1), cell_noise=0.01, noise=0.005, t_sat_s=3 * TIMES[2])
    x = np.array([[1, one.n_fltr, one.replication] for one in cells], dtype=float)
    b = np.array([one.processing_s.estimate for one in cells])
    plane = iterated_wls(b, x)

    assert np.abs(b / plane.fittedvalues - 1).max() > FIT_MISFIT.limit
    assert fit(cells).verdict == VerdictKind.VALID


def test_the_interval_of_the_cap_covers_it():
    """In 100 runs with 1 to 3 % noise, t_sat lies in its interval as often as 95 % allow (3 sigma)."""
    found = [simulated(seed, "quick", 1, 2.0).roofline for seed in range(100)]
    covered = sum(one.t_sat_s.low <= 2 * TIMES[2] <= one.t_sat_s.high for one in found)

    assert covered >= 95 - 3 * np.sqrt(100 * 0.95 * 0.05)


def test_a_cap_over_several_starts():
    """t_sat and the parameters have t intervals over the starts; every start leaves the same cells out."""
    cells = [
        one
        for start, factor in ((1, 1.0), (2, 1.02), (3, 0.98))
        for one in start_of(start=start, factor=factor, t_sat_s=2 * TIMES[2])
    ]

    result = fit(cells)

    assert list(result.roofline.capped) == sorted(capped_cells("quick", 2))
    assert result.roofline.t_sat_s.estimate == pytest.approx(2 * TIMES[2])
    half = result.roofline.t_sat_s.high - result.roofline.t_sat_s.estimate
    assert half == pytest.approx(4.303 * 0.02 * 2 * TIMES[2] / np.sqrt(3), rel=1e-3)
    assert result.per_start[2] == pytest.approx([1.02 * t for t in TIMES])


def test_without_a_cap_nothing_is_left_out():
    """The roofline may stand beside the plane, but it is not preferred, and no cell is called capped."""
    for seed in range(20):
        result = fit(start_of(np.random.default_rng(seed), cell_noise=0.02, noise=0.01))
        assert result.roofline is None or not result.roofline.preferred
        assert result.cells_excluded == ()
        assert not [finding for finding in result.findings if "capped" in finding.what]


def test_a_capped_cell_off_the_cap_is_named():
    """What neither the plane nor the cap describes does not hide among the cells left out."""
    capped = capped_cells("today", 2)
    grid = [(further, r) for further in (0, 160, 640, 2560, 4960) for r in (1, 2, 5, 10, 20, 40)]
    cells = [
        replace(one, processing_s=replace(one.processing_s, estimate=one.processing_s.estimate * 1.07))
        if one.key.cell == "f0160-r020"
        else one
        for one in start_of(np.random.default_rng(3), cells=grid, cell_noise=0.005, t_sat_s=2 * TIMES[2])
    ]
    assert "f0160-r020" in capped

    result = fit(cells)

    assert result.roofline.preferred
    assert "replication f0160-r020 lies off the fit" in whats(result)


# Bounds


def test_a_t_rcv_that_may_be_0_has_a_bound():
    """Beside the free fit stands the one without negative parameters, and a one-sided bound above the estimate."""
    for seed in range(20):
        result = fit(start_of(np.random.default_rng(seed), times=(0.0, *TIMES[1:]), cell_noise=0.01))
        t_rcv = result.parameters["t_rcv"]
        if t_rcv.low <= 0 <= t_rcv.high:
            assert all(value >= 0 for value in result.constrained.parameters.values())
            assert max(t_rcv.estimate, 0) < result.constrained.t_rcv_at_most_s < max(t_rcv.high, 3e-6)
            (finding,) = [finding for finding in result.findings if "t_rcv cannot be told from 0" in finding.what]
            assert f"at most {result.constrained.t_rcv_at_most_s * 1e6:.4g} us" in finding.measured


@pytest.mark.parametrize("t_rcv", [TIMES[0], -2e-5])
def test_a_t_rcv_that_is_not_0_has_no_bound(t_rcv):
    """Neither where it is clearly above 0, nor where it is the alarm below it, which nothing hides."""
    assert fit(start_of(times=(t_rcv, 2e-8, 6e-5), noise=0.001)).constrained is None


def test_everything_goes_into_json():
    """Each figure of the instrument has its place in the object of `fit`, and all of them are finite numbers."""
    cells = start_of(np.random.default_rng(1), cell_noise=0.01, noise=0.005, t_sat_s=1.5 * TIMES[2])
    run = SimpleNamespace(fits=(fit(cells),), verdict=VerdictKind.VALID)

    (record,) = json.loads(json.dumps(fit_json([run]), allow_nan=False))["fits"]

    assert record["roofline"]["preferred"] is True
    assert [point["cell"] for point in record["roofline"]["capped"]] == sorted(capped_cells("quick", 1.5))
    assert record["roofline"]["t_sat"]["estimate_s"] == pytest.approx(1.5 * TIMES[2], rel=0.02)
    assert np.array(record["covariance_s2"]).shape == (3, 3)
    assert record["degrees"] == len(record["points"]) - 3
    assert set(record["leave_one_out"]) == {"median", "largest", "cell"}
    assert record["variation"] == {
        "within_start": pytest.approx(0.005, rel=0.5),
        "between_starts": None,
        "reason": "one start",
    }
    assert record["constrained"] is None


@pytest.mark.parametrize(
    ("factor", "findings", "verdict"),
    [(1.04, 0, VerdictKind.VALID), (1.10, 1, VerdictKind.VALID), (1.30, 1, VerdictKind.INVALID)],
)
def test_a_cell_off_the_plane(factor, findings, verdict):
    """Beyond 5 % a cell is a finding, beyond 15 % the fit is invalid; 1.3 in one of 40 cells stays near 1.3."""
    grid = [(further, r) for further in (0, 160, 640, 2560) for r in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]
    cells = [
        replace(one, processing_s=replace(one.processing_s, estimate=one.processing_s.estimate * factor))
        if (one.n_fltr, one.replication) == (165, 5)
        else one
        for one in start_of(cells=grid)
    ]

    result = fit(cells)

    off = [finding for finding in result.findings if "f0160-r005 lies off the fit" in finding.what]
    assert len(off) == findings
    assert result.verdict == verdict
    assert result.lack_of_fit.max_relative_deviation == pytest.approx(factor - 1, abs=0.03)


def test_an_impossible_estimate_is_an_alarm_and_not_clamped():
    """A t_rcv significantly below 0 stays as it is, makes the fit invalid and says what it is the symptom of."""
    result = fit(start_of(times=(-2e-5, 2e-8, 6e-5), noise=0.001))

    assert result.parameters["t_rcv"].estimate == pytest.approx(-2e-5, rel=0.05)
    (alarm,) = [finding for finding in result.findings if finding.what.endswith("t_rcv is negative")]
    assert "saturated" in alarm.advice
    assert result.verdict == VerdictKind.INVALID


def test_a_parameter_that_cannot_be_told_from_nothing():
    """Filters that cost nothing give an interval around 0, and a finding that says how to see them."""
    result = fit(start_of(np.random.default_rng(2), cells=PAPER_GRID, times=(3e-5, 0.0, 9e-6), cell_noise=0.02))

    assert "replication: t_fltr cannot be told from 0" in whats(result)
    assert "replication: t_rcv cannot be told from 0" not in whats(result)


def test_deviations_beyond_the_windows_scatter_are_a_finding():
    """Cells that leave the plane by 3 % while windows agree within 0.1 % give a large F, named with the deviation."""
    result = fit(start_of(np.random.default_rng(1), cell_noise=0.03, noise=0.001))
    calm = fit(start_of(np.random.default_rng(1), noise=0.02))

    assert result.lack_of_fit.f > 100
    assert "replication: cells leave the plane by more than their windows scatter" in whats(result)
    assert calm.lack_of_fit.p > 0.01


def test_fitted_values_that_are_not_positive_keep_the_weights_finite():
    """An absurd plane is found and reported, not turned into a division by zero."""
    x = np.array([[1.0, n, r] for n, r in CELLS])
    b = np.where(x[:, 2] == 10, 1e-3, 1e-6)

    assert np.all(np.isfinite(iterated_wls(b, x).params))


# What is refused


def test_too_few_cells_are_refused():
    """Three cells determine three parameters and say nothing about their error."""
    with pytest.raises(DataError, match="3 usable cells, a fit needs 4"):
        fit(start_of(cells=CELLS[:3]))


@pytest.mark.parametrize(
    "cells",
    [
        [(0, r) for r in (1, 2, 5, 10)],  # n_fltr = r
        [(further, 1) for further in (0, 160, 640, 2560)],  # r constant
    ],
)
def test_collinear_factors_are_refused(cells):
    """Where filters and copies vary together, or one not at all, nobody can tell their costs apart."""
    with pytest.raises(DataError, match="collinear"):
        fit(start_of(cells=cells))


def test_a_parameter_that_rests_on_one_cell_is_refused():
    """Without repetition of a factor's level its error is unknown: HC3 would divide by nothing."""
    with pytest.raises(DataError, match="single usable cell"):
        fit(start_of(cells=[(0, 1), (160, 1), (640, 1), (2560, 1), (0, 2)]))


@pytest.mark.parametrize(
    "change",
    [{"profile": "paper"}, {"key": {"broker": "artemis"}}, {"key": {"experiment": "other"}}, {"key": {"run": "other"}}],
)
def test_what_must_not_be_mixed_is_not_mixed(change):
    """Profiles, brokers, experiments and runs each get a fit of their own; one call never gets two of them."""
    first = start_of(noise=0.005)
    second = [
        replace(one, key=replace(one.key, **change["key"])) if "key" in change else replace(one, **change)
        for one in start_of(times=tuple(2 * t for t in TIMES))
    ]

    with pytest.raises(DataError, match="never put into one fit"):
        fit(first + second)
    results, errors = fits(first + second)
    assert not errors
    assert sorted(estimates(result)[0] for result in results) == pytest.approx([TIMES[0], 2 * TIMES[0]], rel=0.02)


def test_experiments_without_a_model_are_not_fitted():
    """`fits_model` of the plan decides; the other cells give neither a fit nor an error."""
    assert fits([replace(one, fits_model=False) for one in start_of()]) == ((), {})


def test_a_start_without_enough_cells_is_left_out_and_named():
    """Two good starts give the interval; the third is a finding, not silently absent."""
    cells = [one for start in (1, 2) for one in start_of(start=start, noise=0.005)]
    cells += [replace(one, status=Status.UNSTEADY) for one in start_of(start=3)]

    result = fit(cells)

    assert result.starts == 2
    assert "start 3 has no fit" in whats(result)


def test_one_window_per_cell_still_fits():
    """Windows are not needed for the fit, only for its lack-of-fit test."""
    result = fit([cell(f, r, [TIMES[0] + TIMES[1] * (f + r) + TIMES[2] * r]) for f, r in CELLS])

    assert estimates(result) == pytest.approx(TIMES, rel=1e-6)
    assert (result.lack_of_fit.f, result.lack_of_fit.p) == (None, None)
