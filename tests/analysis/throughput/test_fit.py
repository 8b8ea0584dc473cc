"""The fit against the paper's arithmetic, its own written out by hand, and the truth of simulated runs."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.intervals import jackknife, jackknife_covariance, mean_interval
from analysis.results import Interval
from analysis.throughput.cost_model import PAPER, PARAMETERS, processing_time_s
from analysis.throughput.fit import bend, fit, fits, variation
from analysis.throughput.linear_model import iterated_wls
from analysis.throughput.paper_fit import ols_as_in_paper
from analysis.throughput.results import Grade, Scope
from tests.bench_fit import (
    GRIDS,
    RECORDED,
    capped_cells,
    coverage,
    often_disturbed,
    simulated,
    stopped,
    stopped_runs,
    with_cap,
)
from tests.support.fit_cells import cell, start_of
from tests.support.run_directories import CELLS, TIMES
from tests.support.simulations import covers, repetitions, slack
from workloads.limits import GOOD, PRECISION, ROOFLINE, ROUGH
from workloads.status import CellStatus, VerdictKind

#: Section 4.5 of the paper: r and the additional subscribers.
PAPER_GRID = [(further, r) for further in (5, 10, 20, 40, 60, 80, 160) for r in (1, 2, 5, 10, 20, 40)]

PAPER_TIMES = tuple(PAPER[name] for name in PARAMETERS)


def estimates(result):
    return [result.parameters[name].estimate for name in PARAMETERS]


def whats(result):
    return [finding.what for finding in result.findings]


def half_width(interval):
    return (interval.high - interval.low) / 2


def off(one, factor):
    """A cell that measures so much more than the plane has, in every layout."""
    values = one.processing_s.estimate, one.processing_s.low, one.processing_s.high
    return replace(
        one,
        processing_s=Interval(*(value * factor for value in values)),
        replicates_s=tuple(value * factor for value in one.replicates_s),
    )


def several(starts, rng=None, **changes):
    """Starts that differ by 10 %, each with its own noise."""
    rng = rng or np.random.default_rng(4)
    factors = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98][:starts]
    return [
        each for start, factor in enumerate(factors, 1) for each in start_of(rng, start=start, factor=factor, **changes)
    ]


# The paper's own arithmetic


def test_the_paper_s_constants_come_back():
    """From B computed with t_rcv, t_fltr and t_tx over the paper's grid, both fits return the three constants."""
    cells = start_of(cells=PAPER_GRID, times=PAPER_TIMES)
    result = fit(cells)

    assert estimates(result) == pytest.approx(PAPER_TIMES, rel=1e-6)
    assert list(ols_as_in_paper(cells).values()) == pytest.approx(PAPER_TIMES, rel=1e-6)
    assert len(result.cells_used) == 42
    assert result.lack_of_fit.max_relative_deviation < 1e-6


def test_the_paper_s_least_squares_see_28_of_the_42_cells():
    """r = 20 and 40 take no part in the fit as in the paper: whatever they are, its constants stay."""
    capped = [
        replace(each, processing_s=replace(each.processing_s, estimate=each.processing_s.estimate * 0.7))
        if each.replication > 10
        else each
        for each in start_of(cells=PAPER_GRID, times=PAPER_TIMES)
    ]

    assert sum(each.replication <= 10 for each in capped) == 28
    assert list(ols_as_in_paper(capped).values()) == pytest.approx(PAPER_TIMES, rel=1e-6)
    assert estimates(fit(capped)) != pytest.approx(PAPER_TIMES, rel=1e-2)


def test_the_paper_s_throughputs_give_its_constants_back():
    """From whole messages/s, as a figure has them, at r in {1, 2, 5, 10}: the constants, and r = 20 and 40 to 0.1 %."""
    rounded = [
        replace(each, processing_s=replace(each.processing_s, estimate=1 / round(1 / each.processing_s.estimate)))
        for each in start_of(cells=PAPER_GRID, times=PAPER_TIMES)
        if each.replication <= 10
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


@pytest.mark.parametrize("starts", [1, 3])
def test_the_interval_is_the_jackknife_by_hand(starts):
    """The plane again for each layout left out of each start: sum (b_l - mean)^2 (L - 1) / L, added over the starts and
    divided by their number squared, with 7 degrees of freedom each."""
    cells = several(starts, noise=0.03, layout_noise=0.03)
    expected, variance = [], np.zeros(3)
    for start in range(1, starts + 1):
        of_start = sorted((each for each in cells if each.key.start == start), key=lambda one: one.key)
        x = np.array([[1, each.n_fltr, each.replication] for each in of_start], dtype=float)
        expected.append(iterated_wls(np.array([each.processing_s.estimate for each in of_start]), x).parameters)
        planes = np.array(
            [
                iterated_wls(np.array([each.replicates_s[layout] for each in of_start]), x).parameters
                for layout in range(8)
            ]
        )
        variance += 7 / 8 * ((planes - planes.mean(axis=0)) ** 2).sum(axis=0) / starts**2

    result = fit(cells)

    assert (result.scope, result.starts, result.layouts) == (Scope.THESE_STARTS, starts, 8)
    assert estimates(result) == pytest.approx(np.mean(expected, axis=0))
    assert result.degrees == 7 * starts
    halves = [half_width(result.parameters[name]) for name in PARAMETERS]
    assert halves == pytest.approx(scipy.stats.t.ppf(0.975, 7 * starts) * np.sqrt(variance))
    assert np.diag(result.covariance) == pytest.approx(variance)
    assert result.per_start[starts] == pytest.approx(expected[-1])


def test_what_layouts_have_in_common_widens_the_coefficients_and_not_the_cells():
    """A layout that is 10 % slower in every cell is no deviation of any cell from the plane."""
    base = start_of(cells=CELLS)
    shifts = np.array([1.0, 1.1, 0.95, 1.02, 0.9, 1.05, 0.97, 1.01])
    cells = [
        replace(each, replicates_s=tuple(each.processing_s.estimate * np.delete(shifts, at).mean() for at in range(8)))
        for each in base
    ]

    result = fit(cells)

    relative = half_width(jackknife(1.0, [np.delete(shifts, at).mean() for at in range(8)]))
    assert [half_width(result.parameters[name]) for name in PARAMETERS] == pytest.approx(relative * np.array(TIMES))
    for point in result.points:
        assert half_width(point.measured_s) == pytest.approx(relative * point.measured_s.estimate)
        assert half_width(point.deviation) < 1e-9


def test_from_five_starts_on_they_are_the_unit():
    """The t interval of the five estimates, with 4 degrees of freedom, whatever their layouts say."""
    result = fit(several(5))

    factors = [1.0, 1.1, 0.9, 1.05, 0.95]
    assert (result.scope, result.starts, result.degrees) == (Scope.BETWEEN_STARTS, 5, 4)
    for name, true in zip(PARAMETERS, TIMES, strict=True):
        expected = mean_interval([factor * true for factor in factors])
        assert result.parameters[name].ci95 == pytest.approx(expected.ci95)


@pytest.mark.parametrize("starts", [2, 3, 4])
def test_more_starts_never_make_an_interval_wider(starts):
    """Half-widths shrink with the root of their number, although the starts differ by 10 %."""
    one = fit(several(1, noise=0.05, layout_noise=0.03))
    more = fit(several(starts, noise=0.05, layout_noise=0.03))

    for name in PARAMETERS:
        assert half_width(more.parameters[name]) < 1.3 * half_width(one.parameters[name]) / np.sqrt(starts)
    assert more.variation.between_starts == pytest.approx(0.08, abs=0.05)


def test_least_squares_as_in_the_paper_take_the_mean_of_the_starts():
    """A cell that is missing in one start weighs as much as the others: plain least squares on the cells' means."""
    cells = [each for start in (1, 2) for each in start_of(np.random.default_rng(start), cell_noise=0.05, start=start)][
        1:
    ]
    means = {}
    for each in cells:
        means.setdefault((each.n_fltr, each.replication), []).append(each.processing_s.estimate)
    x = np.array([(1, *setting) for setting in means])
    expected = np.linalg.lstsq(x, np.array([np.mean(b) for b in means.values()]), rcond=None)[0]

    assert list(ols_as_in_paper(cells).values()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("starts", "host", "runs"),
    [
        pytest.param(1, "noisy", 150, marks=pytest.mark.slow),  # spells are noise, and more
        (1, "spells", 150),
        pytest.param(3, "spells", 60, marks=pytest.mark.slow),  # pooled by the rule for one start
        (5, "spells", 60),
    ],
)
def test_intervals_cover_the_truth(starts, host, runs):
    """95 % intervals contain the parameters in 93 to 97 % of runs, within what so few runs can show (3 sigma), and the
    mean of the estimates is within 3 %, on a host that is disturbed for a fifth of the time as well."""
    row = coverage("quick", starts, host, repetitions(40 // starts, runs))

    assert row.starts == starts
    assert row.calibrated, row
    assert row.saturated <= 1


@pytest.mark.parametrize(
    ("host", "runs"),
    [
        ("spells", 150),  # `make bench-fit` has more of the same
        pytest.param(RECORDED, 150, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_runs_that_ended_at_a_look_cover_the_truth(host, runs):
    """Over all of them, whichever look ended them: on a simulated host and on one that was recorded. Some of them end
    at the first look, and some go on."""
    runs = repetitions(20, runs)
    row = stopped_runs("quick", host, runs)

    assert row.calibrated, row
    ended = [int(number) for number in row.what.rpartition(" ")[2].split("/")]
    assert sum(ended) == runs
    assert min(ended[0], sum(ended[1:])) > runs / 10
    assert all(half_width < PRECISION.limit for half_width in row.half_width)


def test_a_quiet_host_ends_a_run_at_its_first_look():
    """Its intervals are far within the limits."""
    assert {stopped(seed, "quick", "quiet").look for seed in range(repetitions(5, 20))} == {1}


def test_a_wider_interval_takes_more_looks_and_the_same_estimate():
    """The factor of a grid widens every interval before it decides."""
    plain, wide = (fit(start_of(np.random.default_rng(3), noise=0.05, layouts=16, widening=w)) for w in (1.0, 1.2))

    assert estimates(wide) == pytest.approx(estimates(plain), rel=0.01)
    for name in PARAMETERS:
        ratio = half_width(wide.parameters[name]) / half_width(plain.parameters[name])
        assert ratio == pytest.approx(1.2, rel=0.02)


def test_intervals_of_runs_that_were_often_disturbed_cover_the_truth():
    """With more than a third of its slices in disturbed rounds, up to the limit, a run is as good as any other."""
    runs = repetitions(30, 150)
    row = often_disturbed(runs)

    assert row.runs > 0.4 * runs
    assert row.calibrated, row
    assert row.disturbed == 0


def test_weights_beat_least_squares_on_small_costs():
    """With multiplicative noise the weighted t_rcv scatters less than that of plain least squares."""
    x = np.array([[1, further + r, r] for further, r in CELLS], dtype=float)
    b = x @ TIMES * np.exp(0.02 * np.random.default_rng(1).standard_normal((1000, len(x))))
    plain = np.linalg.lstsq(x, b.T, rcond=None)[0]

    assert np.std(iterated_wls(b, x).parameters[:, 0]) < 0.8 * np.std(plain[0])


# What a fit is made of


def test_one_start_says_so():
    """One start gives intervals for that life, and a finding that says so; it can still be valid."""
    result = fit(start_of(noise=0.005))

    assert (result.scope, result.starts) == (Scope.THESE_STARTS, 1)
    assert "replication: one start only" in whats(result)
    assert result.verdict == VerdictKind.VALID


@pytest.mark.parametrize("layouts", [1, 3])
def test_too_few_layouts_are_unverified(layouts):
    """An estimate without interval, and a finding that asks for more layouts."""
    result = fit(start_of(noise=0.005, layouts=layouts))

    assert estimates(result) == pytest.approx(TIMES, rel=0.05)
    assert [interval.ci95 for interval in result.parameters.values()] == [None] * 3
    assert (result.covariance, result.degrees) == (None, 0)
    assert [(each.half_width, each.holds) for each in result.precision.values()] == [(None, False)] * 3
    (finding,) = [each for each in result.findings if each.consequence != VerdictKind.VALID]
    assert (finding.consequence, finding.measured) == (VerdictKind.UNVERIFIED, f"{layouts} layouts")
    assert "--layouts" in finding.advice


def test_a_start_with_too_few_layouts_is_left_out_and_named():
    """The interval is about the other; what was killed early does not take it away."""
    whole, killed = start_of(noise=0.005), start_of(noise=0.005, layouts=2, start=2, factor=1.3)

    result = fit([*whole, *killed])

    assert (result.starts, result.parameters) == (1, fit(whole).parameters)
    (finding,) = [each for each in result.findings if each.what == "start 2 has no fit"]
    assert finding.measured == "2 layouts, an interval needs 4"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": CellStatus.NOT_SATURATED, "reason": "broker CPU 0.60"}, "not-saturated: broker CPU 0.60"),
        ({"pace": "constant arrivals at 50 %"}, "paced: constant arrivals at 50 %"),  # was not driven to capacity
        ({"pace": ""}, "paced: "),
        ({"replicates_s": (), "layouts": 1}, "in 1 of the start's layouts only, so that its error is unknown"),
    ],
)
def test_excluded_cells_stay_out_and_visible(changes, reason):
    """A cell that is not ok, has no B or no error changes nothing in the fit, and is in the result with its reason."""
    cells = start_of(noise=0.005)
    others = [*cells[:3], *cells[4:]]
    spoiled = replace(cells[3], processing_s=replace(cells[3].processing_s, estimate=1.0), **changes)

    result = fit([spoiled, *others])

    assert estimates(result) == estimates(fit(others))
    assert [(each.cell, each.reason) for each in result.cells_excluded] == [(spoiled.key.cell, reason)]
    assert set(result.cells_used) == {each.key.cell for each in others}


def test_an_experiment_of_paced_cells_is_not_fitted():
    """It never asked for a model: neither a fit nor an error."""
    assert fits([replace(each, pace="Poisson arrivals") for each in start_of()]) == ((), {})


@pytest.mark.parametrize("starts", [2, 5])
def test_points_stand_for_the_cells_that_entered(starts):
    """Measured mean over the starts, what their planes say, and the first divided by the second, less 1."""
    cells = several(starts, noise=0.03)
    result = fit(cells)

    assert {point.cell for point in result.points} == set(result.cells_used) == {each.key.cell for each in cells}
    for point in result.points:
        of_cell = [each.processing_s.estimate for each in cells if each.key.cell == point.cell]
        assert point.measured_s.estimate == pytest.approx(np.mean(of_cell))
        fitted = np.dot(estimates(result), [1, point.n_fltr, point.replication])
        assert point.fitted_s == pytest.approx(fitted)
        assert point.deviation.estimate == pytest.approx(point.measured_s.estimate / point.fitted_s - 1)
        if starts == 5:
            assert point.measured_s.ci95 == pytest.approx(mean_interval(of_cell).ci95)


def test_the_deviation_has_the_interval_of_its_replicates():
    """The cell and the plane without the same layout: what both have in common is no uncertainty of the deviation."""
    cells = sorted(start_of(np.random.default_rng(3), noise=0.03, layout_noise=0.03), key=lambda one: one.key)
    x = np.array([[1, each.n_fltr, each.replication] for each in cells], dtype=float)
    measured = np.array([each.replicates_s for each in cells]).T
    replicates = measured / iterated_wls(measured, x).fitted - 1

    result = fit(cells)

    for point, of_cell in zip(result.points, replicates.T, strict=True):
        expected = jackknife(point.deviation.estimate, of_cell)
        assert point.deviation.ci95 == pytest.approx(expected.ci95)


def test_a_cell_that_some_starts_lack_is_compared_with_the_planes_of_the_others():
    """A slow start without the cell does not make the cell fast."""
    cells = [each for each in several(2) if (each.key.start, each.key.cell) != (2, "f0160-r005")]

    (point,) = [point for point in fit(cells).points if point.cell == "f0160-r005"]

    assert point.deviation.estimate == pytest.approx(0, abs=1e-6)


def test_a_cell_that_four_of_five_starts_lack_has_a_point_without_interval():
    """One life says nothing about others."""
    cells = [each for each in several(5, noise=0.01) if each.key.start == 1 or each.key.cell != "f0160-r005"]

    (point,) = [point for point in fit(cells).points if point.cell == "f0160-r005"]

    assert (point.measured_s.ci95, point.deviation.ci95) == (None, None)


def test_a_point_of_one_start_has_the_interval_of_its_layouts():
    """As the cell has it in every other table."""
    cells = start_of(noise=0.01)
    of_cell = {each.key.cell: each.processing_s for each in cells}

    for point in fit(cells).points:
        assert point.measured_s.estimate == of_cell[point.cell].estimate
        assert point.measured_s.ci95 == pytest.approx(of_cell[point.cell].ci95)


@pytest.mark.parametrize("starts", [1, 3, 5])
def test_the_covariance_is_that_of_the_intervals(starts):
    """estimate +- t(degrees) sqrt(variance) are the ends of every interval, whatever the scope."""
    result = fit(several(starts, noise=0.03, layout_noise=0.02))

    assert result.degrees == (4 if starts == 5 else 7 * starts)
    errors = np.sqrt(np.diag(result.covariance))
    highs = [result.parameters[name].high for name in PARAMETERS]
    assert highs == pytest.approx(estimates(result) + scipy.stats.t.ppf(0.975, result.degrees) * errors)
    if starts == 5:
        expected = np.cov(np.array(list(result.per_start.values())).T) / starts
        assert np.array(result.covariance) == pytest.approx(expected)


def test_slices_layouts_and_starts_are_told_apart():
    """Slices that scatter by 5 %, layouts by 4 %, starts by 3 %: all three come back."""
    rng = np.random.default_rng(9)
    cells = [
        each
        for start in range(1, 31)
        for each in start_of(
            rng, noise=0.05, layout_noise=0.04, start=start, factor=np.exp(0.03 * rng.standard_normal())
        )
    ]

    found = variation(cells)

    assert found.slices == pytest.approx(0.05, rel=0.1)
    assert found.layouts == pytest.approx(0.04, rel=0.1)
    assert found.between_starts == pytest.approx(0.03, rel=3 / np.sqrt(2 * 29))  # a variance of 30 starts
    assert found.reason == ""


def test_the_variance_of_starts_is_less_what_their_layouts_explain():
    """Two starts of one cell: half the squared difference of their B, relative, less the mean of their variances."""
    cells = [cell(0, 1, np.array([9.0, 10, 11, 10, 10]) * 1e-6, start=1), cell(0, 1, [13e-6] * 5, start=2)]
    first, second = (each.processing_s.estimate for each in cells)
    explained = jackknife_covariance(np.array(cells[0].replicates_s)[:, None] / first)[0, 0] / 2

    found = variation(cells)

    relative = (second - first) / (second + first)
    assert found.between_starts == pytest.approx(np.sqrt(2 * relative**2 - explained))


def test_one_start_has_no_variation_between_starts():
    """A claim between starts is refused at one start, in words."""
    found = fit(start_of(noise=0.01)).variation

    assert found.slices == pytest.approx(0.01, rel=0.2)
    assert (found.between_starts, found.reason) == (None, "one start")


def test_starts_that_differ_too_little_have_no_variation_rather_than_0():
    """An estimate below 0 is not clamped: there is no number, and the reason stands in its place."""
    cells = [each for start in (1, 2) for each in start_of(noise=0.05, start=start)]

    found = variation(cells)

    assert found.between_starts is None
    assert "less than the scatter of their layouts" in found.reason


def test_two_layouts_do_not_tell_starts_from_layouts():
    """Without replicates nothing says how much of the difference is theirs."""
    found = variation([each for start in (1, 2) for each in start_of(noise=0.05, start=start, layouts=2)])

    assert (found.between_starts, found.reason.split(":")[0]) == (None, "too few layouts")


# A cap on transmission


def test_capped_cells_are_labelled_and_the_run_stays_usable():
    """The cells at the cap are named, left out with the reason and shown beside it."""
    cells = start_of(np.random.default_rng(1), cell_noise=0.01, noise=0.005, t_sat_s=1.5 * TIMES[2])
    capped = sorted(capped_cells("wide", 1.5))

    result = fit(cells)

    assert result.roofline.preferred
    assert list(result.roofline.capped) == capped
    assert result.roofline.t_sat_s.estimate == pytest.approx(1.5 * TIMES[2], rel=0.02)
    assert result.roofline.parameters == result.parameters
    assert estimates(result) == pytest.approx(TIMES, rel=0.05)
    assert [each.cell for each in result.cells_excluded if each.reason.startswith("transmission cap")] == capped
    assert not set(capped) & set(result.cells_used)
    (finding,) = [finding for finding in result.findings if "capped" in finding.what]
    assert all(name in finding.measured for name in capped)
    assert [point.cell for point in result.roofline.points] == capped
    for point in result.roofline.points:
        assert point.fitted_s == pytest.approx(point.replication * result.roofline.t_sat_s.estimate)
    assert result.verdict == VerdictKind.VALID
    assert result.description.grade == Grade.GOOD


def test_a_cap_does_not_make_the_description_poor():
    """The plane over all cells is off by more than the limit; the roofline is not."""
    cells = start_of(np.random.default_rng(1), cell_noise=0.01, noise=0.005, t_sat_s=3 * TIMES[2])
    x = np.array([[1, each.n_fltr, each.replication] for each in cells], dtype=float)
    b = np.array([each.processing_s.estimate for each in cells])

    assert np.abs(b / iterated_wls(b, x).fitted - 1).max() > ROUGH.limit
    result = fit(cells)
    assert (result.verdict, result.description.grade) == (VerdictKind.VALID, Grade.GOOD)


@pytest.mark.slow  # `make bench-fit` has more of the same
def test_the_interval_of_the_cap_covers_it():
    """On a quiet host t_sat lies in its interval as often as 95 % allow (3 sigma), in 40 runs."""
    found = [simulated(seed, "today", 1, "quiet", 2.0).result.roofline for seed in range(40)]
    covered = np.mean([covers(each.t_sat_s, 2 * TIMES[2]) for each in found])

    assert covered >= 0.95 - slack(0.95, 40)


@pytest.mark.parametrize("starts", [3, 5])
def test_a_cap_over_several_starts(starts):
    """t_sat and the parameters have the intervals of the fit's scope; every start leaves the same cells out."""
    result = fit(several(starts, t_sat_s=2 * TIMES[2]))

    factors = [1.0, 1.1, 0.9, 1.05, 0.95][:starts]
    assert list(result.roofline.capped) == sorted(capped_cells("wide", 2))
    assert result.roofline.t_sat_s.estimate == pytest.approx(2 * TIMES[2] * np.mean(factors))
    if starts == 5:
        expected = mean_interval([factor * 2 * TIMES[2] for factor in factors])
        assert result.roofline.t_sat_s.ci95 == pytest.approx(expected.ci95)
    else:
        assert half_width(result.roofline.t_sat_s) < 1e-9
    assert result.per_start[2] == pytest.approx([1.1 * t for t in TIMES])


def test_without_a_cap_nothing_is_left_out():
    """The roofline may stand beside the plane, but it is not preferred, and no cell is called capped."""
    for seed in range(repetitions(8, 20)):
        result = fit(start_of(np.random.default_rng(seed), cell_noise=0.02, noise=0.01))
        assert result.roofline is None or not result.roofline.preferred
        assert result.cells_excluded == ()
        assert not [finding for finding in result.findings if "capped" in finding.what]


def test_a_bend_is_not_a_cap():
    """Filters beyond the 640th cost five times as much, as filters outside a CPU's cache do: the roofline has the
    smaller AICc, but it is not preferred, since it describes the cells as poorly as the plane does."""
    times = dict(zip(PARAMETERS, (4e-6, 8e-8, 7e-6), strict=True))
    cells = []
    for each in start_of(
        np.random.default_rng(4), cells=GRIDS["today"], times=tuple(times.values()), cell_noise=0.02, noise=0.02
    ):
        more_s = 4 * times["t_fltr"] * max(each.n_fltr - 640, 0)
        cells.append(off(each, 1 + more_s / processing_time_s(times, each.n_fltr, each.replication)))

    result = fit(cells)

    assert result.roofline.delta_aicc > ROOFLINE.limit
    assert not result.roofline.preferred
    assert result.cells_excluded == ()
    assert (result.verdict, result.description.grade) == (VerdictKind.VALID, Grade.POOR)
    (finding,) = [finding for finding in result.findings if "poorly" in finding.what]
    assert re.search(r"a filter costs 0\.0[789]\d* us up to 161 filters, 0\.[34]\d* us beyond 2,561", finding.measured)


def test_a_plane_has_no_bend():
    """Neither a constant cost per filter, nor one that falls, nor two numbers of filters are a bend."""
    plane = fit(start_of(np.random.default_rng(5), cell_noise=0.02, noise=0.02)).points

    assert bend(plane) == ""
    assert bend([replace(each, measured_s=Interval(2e-5 + 1e-6 * np.sqrt(each.n_fltr))) for each in plane]) == ""
    assert bend([each for each in plane if each.n_fltr < 200]) == ""


def test_a_capped_cell_off_the_cap_is_named():
    """What neither the plane nor the cap describes does not hide among the cells left out."""
    capped = capped_cells("today", 2)
    cells = [
        off(each, 1.09) if each.key.cell == "f0160-r020" else each
        for each in start_of(np.random.default_rng(3), cells=GRIDS["today"], cell_noise=0.005, t_sat_s=2 * TIMES[2])
    ]
    assert "f0160-r020" in capped

    result = fit(cells)

    assert result.roofline.preferred
    assert result.description.grade == Grade.ROUGH
    assert [each.cell for each in result.description.worst] == ["f0160-r020"]


@pytest.mark.parametrize(("grid", "cap"), [("wide", 1.5), pytest.param("today", 2.0, marks=pytest.mark.slow)])
def test_a_cap_is_found_on_a_quiet_host(grid, cap):
    """In every run it is seen, and nine of ten name exactly its cells (3 sigma)."""
    runs = repetitions(8, 20)
    row = with_cap(grid, cap, "quiet", runs)

    assert row.saturated == runs
    assert row.labelled / runs >= 0.9 - slack(0.9, runs)


# What is said


@pytest.mark.parametrize(
    ("factor", "grade"), [(1.0, Grade.GOOD), (1.04, Grade.GOOD), (1.10, Grade.ROUGH), (1.30, Grade.POOR)]
)
def test_a_cell_off_the_plane_is_a_result_and_no_doubt(factor, grade):
    """Beyond 5 % the plane is rough, beyond 15 % poor, the cell is named, and the numbers are as valid as before."""
    grid = [(further, r) for further in (0, 160, 640, 2560) for r in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]
    cells = [off(each, factor) if each.key.cell == "f0160-r005" else each for each in start_of(cells=grid)]

    result = fit(cells)

    assert (result.description.grade, result.verdict) == (grade, VerdictKind.VALID)
    assert result.lack_of_fit.max_relative_deviation == pytest.approx(factor - 1, abs=0.03)
    assert result.description.worst[0].deviation.estimate == pytest.approx(factor - 1, abs=0.03)
    found = [finding for finding in result.findings if "plane describes" in finding.what]
    if grade == Grade.GOOD:
        assert not found
        return
    assert [each.cell for each in result.description.worst] == ["f0160-r005"]
    (finding,) = found
    assert "f0160-r005 +" in finding.measured
    assert ("use the cells" in finding.advice) == (grade == Grade.POOR)


def test_noise_does_not_make_a_plane_poor():
    """A deviation counts from the near end of its interval: one layout that was off widens it and does not shift it."""
    cells = start_of()
    at = next(place for place, each in enumerate(cells) if each.key.cell == "f0640-r005")
    wild = cells[at]
    values = np.array([1.0] * 7 + [1.0 + 8 * 0.10])  # one of 8 layouts 80 % slower: the mean is 10 % off
    changed = replace(
        wild,
        processing_s=Interval(wild.processing_s.estimate * values.mean()),
        replicates_s=tuple(wild.processing_s.estimate * np.delete(values, layout).mean() for layout in range(8)),
    )

    result = fit([*cells[:at], changed, *cells[at + 1 :]])

    assert result.lack_of_fit.max_relative_deviation > GOOD.limit
    assert result.description.grade == Grade.GOOD


def test_the_description_s_rms_is_that_of_all_cells():
    """Worst first, and the root mean square over every cell."""
    result = fit(start_of(np.random.default_rng(1), cell_noise=0.1, noise=0.005))
    deviations = [point.deviation.estimate for point in result.points]

    assert result.description.rms == pytest.approx(np.sqrt(np.mean(np.square(deviations))))
    assert abs(result.description.worst[0].deviation.estimate) == max(map(abs, deviations))


def test_lack_of_fit_needs_the_degrees_of_freedom_of_several_starts():
    """16 cells leave 13 directions: 7 degrees of one start test nothing, 28 of four find cells that are 3 % off."""
    one = fit(start_of(np.random.default_rng(1), cell_noise=0.03, noise=0.01))
    four = fit(
        [
            cell
            for start in range(1, 5)
            for cell in (
                off(made, 1.03 if made.key.cell in ("f0000-r001", "f0160-r005") else 1.0)
                for made in start_of(np.random.default_rng(start), noise=0.02, start=start)
            )
        ]
    )

    assert (one.lack_of_fit.f, one.lack_of_fit.p) == (None, None)
    assert four.lack_of_fit.p < 0.01


@pytest.mark.parametrize(("noise", "verdict"), [(0.02, VerdictKind.VALID), (0.5, VerdictKind.UNVERIFIED)])
def test_a_coefficient_that_is_not_known_well_enough_is_unverified(noise, verdict):
    """Half-width beyond 15 % of the estimate: the number of layouts that would do is part of the advice."""
    result = fit(start_of(np.random.default_rng(5), layout_noise=noise))

    assert result.verdict == verdict
    for name, precision in result.precision.items():
        interval = result.parameters[name]
        if interval.low > 0:
            assert precision.half_width == pytest.approx(half_width(interval) / interval.estimate)
        assert precision.limit == PRECISION.limit
        assert precision.holds == (precision.half_width <= PRECISION.limit)
        found = [finding for finding in result.findings if finding.what.endswith(f"the interval of {name} is too wide")]
        assert len(found) == (not precision.holds)
        for finding in found:
            assert finding.consequence == VerdictKind.UNVERIFIED
            assert f"--layouts {int(np.ceil(8 * (precision.half_width / 0.15) ** 2))}" in finding.advice


def test_what_is_near_0_is_measured_by_the_smallest_cell():
    """A t_rcv whose interval covers 0 is known well enough within 15 % of the smallest B."""
    result = fit(start_of(np.random.default_rng(2), times=(0.0, *TIMES[1:]), noise=0.02, layout_noise=0.02))
    interval, precision = result.parameters["t_rcv"], result.precision["t_rcv"]

    assert interval.low < 0 < interval.high
    smallest = min(point.measured_s.estimate for point in result.points)
    assert precision.half_width == pytest.approx(half_width(interval) / smallest)
    assert precision.holds
    assert result.verdict == VerdictKind.VALID


def test_a_filter_near_0_is_measured_where_there_are_most():
    """Nothing per filter, known to 15 % of the smallest B, would still be unknown times 2,560: that cell decides."""
    result = fit(start_of(np.random.default_rng(2), times=(TIMES[0], 0.0, TIMES[2]), noise=0.2, layout_noise=0.02))
    interval, precision = result.parameters["t_fltr"], result.precision["t_fltr"]

    assert interval.low < 0 < interval.high
    share = max(point.n_fltr / point.measured_s.estimate for point in result.points)
    assert precision.half_width == pytest.approx(half_width(interval) * share)
    assert half_width(interval) / min(point.measured_s.estimate for point in result.points) < 0.001
    assert precision.half_width > 0.01


def test_a_precision_asked_for_is_the_limit_and_no_verdict():
    """Estimates and intervals are the same; an interval wider than asked for is a point that more layouts mend, and
    leaves the verdict as it is."""
    cells = several(2, noise=0.05, layout_noise=0.05, layouts=12)

    plain, result = fit(cells), fit(cells, precision=0.02)

    assert result.parameters == plain.parameters
    assert {precision.limit for precision in plain.precision.values()} == {PRECISION.limit}
    assert {precision.limit for precision in result.precision.values()} == {0.02}
    missed = [finding for finding in result.findings if finding.what.endswith("is too wide")]
    assert missed
    assert all(finding.consequence == VerdictKind.VALID for finding in missed)
    assert all(re.fullmatch(r"t_\w+ \+-[\d.]+% \(limit 2%\)", finding.open_point) for finding in missed)
    assert not any(finding.open_point for finding in plain.findings)
