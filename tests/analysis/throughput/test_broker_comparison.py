"""Brokers beside each other: ratios against other implementations, their coverage, and what is said of them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.errors import DataError
from analysis.results import Finding, Interval, NotApplicable
from analysis.throughput import broker_comparison, tables
from analysis.throughput.broker_comparison import Mean, compare, fieller, holm, log_welch
from analysis.throughput.cell_ratios import OfStart
from analysis.throughput.fit import fits
from analysis.throughput.json_output import summary_json
from analysis.throughput.results import Scope
from tests.support import study_runs
from tests.support.fit_cells import start_of
from tests.support.run_directories import TIMES
from tests.support.simulations import about, covers, repetitions, slack
from workloads.status import CellStatus, VerdictKind

FIRST, SECOND, THIRD = "activemq:5.18.3", "activemq:6.1.7,store=memory", "stomp://127.0.0.1:61613"

CELLS = tuple((further, r) for further in (0, 640, 2560) for r in (1, 5, 10))


def cells_of(brokers, *, starts=2, seed=0, noise=0.005, start_noise=0.005, layouts=6):
    """Cells of a run: label -> times; starts, layouts and slices scatter."""
    rng = np.random.default_rng(seed)
    return [
        replace(each, key=replace(each.key, broker=label))
        for start in range(1, starts + 1)
        for label, times in brokers.items()
        for each in start_of(
            rng,
            cells=CELLS,
            times=times,
            noise=noise,
            layout_noise=noise,
            layouts=layouts,
            start=start,
            factor=np.exp(start_noise * rng.standard_normal()),
        )
    ]


def layouts_of(logs):
    """A start whose number is the mean over these layouts."""
    return OfStart(float(logs.mean()), tuple((logs.sum() - logs) / (len(logs) - 1)))


def compared(cells, brokers=(FIRST, SECOND), not_applicable=()):
    found, _ = fits(cells)
    return compare(brokers, cells, found, not_applicable)


def slower(factor):
    return tuple(factor * time for time in TIMES)


def of(rows, broker):
    return {row.what: row for row in rows if row.broker == broker}


# Against somebody else's numbers


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (5, 2)])
def test_the_ratio_of_cells_is_welch_s_of_logarithms(sizes):
    """Estimate, interval and p are those of scipy and of statsmodels on the logarithms."""
    from statsmodels.stats.weightstats import CompareMeans

    rng = np.random.default_rng(3)
    above, below = (np.log(1e-4) + 0.1 * rng.standard_normal(size) for size in sizes)

    tested = log_welch(Mean.over(above), Mean.over(below))

    reference = scipy.stats.ttest_ind(above, below, equal_var=False)
    low, high = np.exp(reference.confidence_interval(0.95))
    assert [tested.interval.low, tested.interval.high] == pytest.approx([low, high])
    assert tested.interval.estimate == pytest.approx(np.exp(above.mean() - below.mean()))
    assert tested.p == pytest.approx(reference.pvalue)
    others = CompareMeans.from_data(above, below).tconfint_diff(usevar="unequal")
    assert np.log([tested.interval.low, tested.interval.high]) == pytest.approx(others)


def test_within_a_start_the_layouts_are_the_sample():
    """With one start of each the interval and p are scipy's, the layouts being what is repeated."""
    rng = np.random.default_rng(4)
    above, below = (np.log(1e-4) + 0.1 * rng.standard_normal(layouts) for layouts in (8, 5))

    tested = log_welch(*(Mean.within([layouts_of(logs)]) for logs in (above, below)))

    reference = scipy.stats.ttest_ind(above, below, equal_var=False)
    assert [tested.interval.low, tested.interval.high] == pytest.approx(np.exp(reference.confidence_interval(0.95)))
    assert tested.p == pytest.approx(reference.pvalue)


def test_over_the_layouts_of_several_starts_each_start_counts_alike():
    """The variances of the starts' means add up, and so do their degrees of freedom."""
    rng = np.random.default_rng(5)
    starts = [0.1 * rng.standard_normal(layouts) for layouts in (8, 6, 4)]

    mean = Mean.within([layouts_of(logs) for logs in starts])

    assert mean.value == pytest.approx(np.mean([logs.mean() for logs in starts]))
    assert mean.variance == pytest.approx(sum(scipy.stats.sem(logs) ** 2 for logs in starts) / 9)
    assert mean.degrees == 7 + 5 + 3


def test_the_ratio_of_coefficients_is_fieller_s():
    """The ends are where Welch's test of `above - R below = 0`, at its degrees of freedom, is just significant."""
    above, below = Mean(1.4, 0.01, 3), Mean(1.1, 0.02, 4)

    interval = fieller(above, below).interval

    ratio = 1.4 / 1.1
    degrees = (0.01 + ratio**2 * 0.02) ** 2 / (0.01**2 / 3 + (ratio**2 * 0.02) ** 2 / 4)
    for end in (interval.low, interval.high):
        statistic = (1.4 - end * 1.1) / np.sqrt(0.01 + end**2 * 0.02)
        assert 2 * scipy.stats.t.sf(abs(statistic), degrees) == pytest.approx(0.05)
    assert interval.low < ratio < interval.high


def test_the_table_is_holm_s():
    """Adjusted p values are those of statsmodels."""
    from statsmodels.stats.multitest import multipletests

    p_values = [0.04, 0.001, 0.03, 0.2, 0.009, 0.009]

    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


# Coverage


@pytest.mark.parametrize(("starts", "most"), [(2, 0.99), (3, 0.98), (5, 0.98)])
def test_intervals_of_cells_cover_the_truth(starts, most):
    """A known ratio lies in 94 to 98 % of the intervals (more with two starts), within what so few runs can show."""
    rng = np.random.default_rng(starts)
    runs = repetitions(500, 2000)
    hits = sum(
        covers(
            log_welch(
                *(Mean.over(np.log(t) + 0.02 * rng.standard_normal(starts)) for t in (1.25e-4, 1e-4)),
            ).interval,
            1.25,
        )
        for _ in range(runs)
    )

    assert 0.94 - slack(0.95, runs) <= hits / runs <= most + slack(0.95, runs)


@pytest.mark.parametrize("starts", [1, 3])
def test_intervals_of_cells_over_layouts_cover_the_truth(starts):
    """A known ratio lies in 95 % of the intervals over 6 layouts per start, within what so few runs can show."""
    rng = np.random.default_rng(10 + starts)
    runs = repetitions(500, 2000)
    hits = sum(
        covers(
            log_welch(
                *(
                    Mean.within([layouts_of(np.log(t) + 0.02 * rng.standard_normal(6)) for _ in range(starts)])
                    for t in (1.25e-4, 1e-4)
                ),
            ).interval,
            1.25,
        )
        for _ in range(runs)
    )

    assert hits / runs == about(0.95, runs)


@pytest.mark.parametrize("truth", [0.0, 1.25])
@pytest.mark.parametrize("scatter", [0.05, 0.3, 0.6])
def test_intervals_of_coefficients_cover_the_truth_near_nothing(truth, scatter):
    """Also where a coefficient is close to 0: at least 93 % of the answers are right, `not determinable` being one."""
    rng = np.random.default_rng(7)
    runs, hits, open_ended = repetitions(300, 1500), 0, 0
    for _ in range(runs):
        above = truth + scatter * max(truth, 1) * rng.standard_normal(3)
        below = 1 + scatter * rng.standard_normal(3)
        try:
            hits += covers(fieller(Mean.over(above), Mean.over(below)).interval, truth)
        except DataError:
            open_ended += 1

    assert (hits + open_ended) / runs >= 0.93 - slack(0.93, runs)
    assert open_ended / runs <= (0.01 if scatter == 0.05 else 0.8)


@pytest.mark.parametrize("starts", [1, 5])
def test_simulated_runs_show_their_ratio(starts):
    """Through cells and fits, 1.25 lies in the intervals of coefficients and cells as often as 95 % make it.

    Fewer than five starts speak for themselves, so that there they do not differ.
    """
    runs, hits, total = repetitions(8, 25), 0, 0
    for seed in range(runs):
        brokers = {FIRST: TIMES, SECOND: slower(1.25)}
        (one,) = compared(cells_of(brokers, starts=starts, seed=seed, start_noise=0.01 if starts >= 5 else 0.0))
        ratios = [row.ratio for row in (*one.coefficients, *one.cells) if row.ratio is not None]
        total += len(ratios)
        hits += sum(covers(ratio, 1.25) for ratio in ratios)

    assert total >= runs * 11
    # The rows of a run share its starts, so that the runs are what the share rests on.
    assert hits / total >= 0.95 - slack(0.95, runs)


def test_nothing_is_said_where_nothing_differs():
    """Two brokers alike: in at most 5 % of the tables anything is said at all."""
    tables_of = repetitions(15, 60)
    said = sum(
        any(row.words not in {"", "no difference seen", "not significant after Holm correction"} for row in each.cells)
        for seed in range(tables_of)
        for each in compare(
            [FIRST, SECOND], cells_of({FIRST: TIMES, SECOND: TIMES}, starts=3, seed=seed, start_noise=0.0), (), ()
        )
    )

    assert said <= scipy.stats.binom.ppf(0.999, tables_of, 0.05)


# What stands beside each other


def test_words_and_rates():
    """Slower where B is larger, and the received rate is the reciprocal; the first broker has no ratio."""
    brokers = {FIRST: TIMES, SECOND: slower(2), THIRD: slower(0.5)}
    (one,) = compared(cells_of(brokers, starts=5), list(brokers))

    assert (one.against, one.scope) == (FIRST, Scope.BETWEEN_STARTS)
    cell = of(one.cells, SECOND)["f0000-r001"]
    assert cell.ratio.estimate == pytest.approx(2, rel=0.03)
    assert cell.words.startswith("slower by ")
    assert cell.received.estimate == pytest.approx(1 / cell.ratio.estimate)
    assert (cell.received.low, cell.received.high) == pytest.approx((1 / cell.ratio.high, 1 / cell.ratio.low))
    assert of(one.cells, THIRD)["f0000-r001"].words.startswith("faster by ")
    assert of(one.coefficients, SECOND)["t_tx"].ratio.estimate == pytest.approx(2, rel=0.05)
    assert all(row.ratio is None and row.value_s for row in of(one.coefficients, FIRST).values())


@pytest.mark.parametrize("starts", [1, 4])
def test_few_starts_speak_for_themselves(starts):
    """With fewer than five starts of either broker the intervals are over their layouts, and say so."""
    cells = cells_of({FIRST: TIMES, SECOND: slower(1.25)}, starts=5)
    (one,) = compared([cell for cell in cells if cell.key.broker == FIRST or cell.key.start <= starts])

    assert one.scope == Scope.THESE_STARTS
    assert "95 % intervals for these starts" in tables.compared_title(one)
    assert of(one.cells, SECOND)["f0000-r001"].ratio.low is not None
    assert of(one.coefficients, SECOND)["t_rcv"].ratio.low is not None


def test_a_start_without_a_fit_leaves_none_between_starts():
    """Cells of five starts have their ratio; a model of four of them has no interval of that kind."""
    cells = [
        replace(each, status=CellStatus.UNSTEADY)
        if (each.key.broker, each.key.start, each.key.cell[-1]) == (SECOND, 3, "5")
        else each
        for each in cells_of({FIRST: TIMES, SECOND: slower(1.25)}, starts=5)
    ]
    without = [
        cell
        for cell in cells
        if (cell.key.broker, cell.key.start) != (SECOND, 3) or cell.key.cell in {"f0000-r001", "f0000-r005"}
    ]
    (one,) = compared(without)

    assert one.scope == Scope.BETWEEN_STARTS
    assert of(one.cells, SECOND)["f0000-r005"].ratio.low is not None
    row = of(one.coefficients, SECOND)["t_tx"]
    assert (row.ratio, row.reason) == (None, f"the model of {SECOND} has no interval between starts: starts 4")


def test_too_few_layouts_give_ratios_without_intervals():
    """Cells of three layouts stand beside each other, and nothing is said of them; coefficients have no ratio."""
    (one,) = compared(cells_of({FIRST: TIMES, SECOND: slower(1.25)}, layouts=3))

    row = of(one.cells, SECOND)["f0000-r001"]
    assert row.ratio.estimate == pytest.approx(1.25, rel=0.05)
    assert (row.ratio.ci95, row.p, row.words) == (None, None, "")
    assert row.reason == "fewer than 4 layouts give no interval; more --layouts"
    assert "fewer than 4 layouts" in of(one.coefficients, SECOND)["t_rcv"].reason


@pytest.mark.parametrize("broker", [FIRST, SECOND])
def test_a_cell_in_doubt_has_its_reason(broker):
    """A cell that is not ok on one side has no ratio, whichever side it is."""
    cells = [
        replace(each, status=CellStatus.NOT_SATURATED, reason="broker CPU 0.60")
        if (each.key.broker, each.key.cell, each.key.start) == (broker, "f0000-r001", 1)
        else each
        for each in cells_of({FIRST: TIMES, SECOND: slower(1.25)})
    ]
    (one,) = compared(cells)

    row = of(one.cells, SECOND)["f0000-r001"]
    assert row.ratio is None
    assert "start 1: not-saturated, broker CPU 0.60" in row.reason
    assert of(one.cells, SECOND)["f0000-r005"].ratio is not None


def test_a_cell_that_is_nothing_for_a_broker():
    """It stands beside the others with the reason, and without a number."""
    cells = [
        each
        for each in cells_of({FIRST: TIMES, SECOND: slower(1.25)})
        if (each.key.broker, each.n_fltr > 100) != (SECOND, True)
    ]
    beyond = [
        NotApplicable("run", SECOND, "replication", "today", "f0640-r001", "no filters on subscriptions"),
    ]
    (one,) = compared(cells, not_applicable=beyond)

    row = of(one.cells, SECOND)["f0640-r001"]
    assert (row.value_s, row.ratio) == (None, None)
    assert row.reason == "not applicable: no filters on subscriptions"
    assert of(one.coefficients, SECOND)["t_fltr"].reason == f"no model of {SECOND}"


def test_a_denominator_near_nothing_is_not_determinable():
    """Where t_fltr of the first broker cannot be told from 0 there is no ratio of it, and nothing is clamped."""
    times = (TIMES[0], 0.0, TIMES[2])
    (one,) = compared(cells_of({FIRST: times, SECOND: TIMES}, noise=0.01))

    row = of(one.coefficients, SECOND)["t_fltr"]
    assert row.ratio is None
    assert row.reason == "not determinable: the interval of the denominator covers 0"


def test_nothing_is_said_of_an_invalid_model():
    """The ratio is shown with the broker whose model is invalid, and no word is said of it."""
    cells = cells_of({FIRST: TIMES, SECOND: slower(1.25)})
    invalid = Finding("messages were lost", "1", "0", "look for it", VerdictKind.INVALID, SECOND)
    models = [fit.also([invalid]) if fit.broker == SECOND else fit for fit in fits(cells)[0]]
    (one,) = compare([FIRST, SECOND], cells, models, ())

    for row in of(one.coefficients, SECOND).values():
        assert row.ratio is not None
        assert (row.reason, row.words) == (f"invalid model: {SECOND}", "")


def test_one_broker_is_beside_nobody():
    """No comparison without a second broker in the same experiment."""
    assert compared(cells_of({FIRST: TIMES}), [FIRST]) == ()
    assert broker_comparison.compare([FIRST, SECOND], [], (), ()) == ()


def test_chance_is_stated():
    """The table says how many intervals exclude 1 by themselves."""
    (one,) = compared(cells_of({FIRST: TIMES, SECOND: TIMES}))

    assert tables.chance(one.cells).startswith("9 ratios: where nothing differs, 0.5 intervals are expected")


def test_routing_is_no_filtering():
    """A comparison of routed cells says so in its title."""
    cells = [replace(each, routed=True) for each in cells_of({FIRST: TIMES, SECOND: TIMES})]
    (one,) = compared(cells)

    assert "replication, routing, not filtering, profile" in tables.compared_title(one)


def test_json_has_the_ratios():
    """Every broker and coefficient, and every broker and cell, with interval, words and reason."""
    cells = cells_of({FIRST: TIMES, SECOND: slower(1.25)}, starts=5)
    result = replace(study_runs.study(), comparisons=compared(cells))

    records = summary_json([result])["ratios"]

    assert len(records) == 2 * (3 + 9)
    (cell,) = [record for record in records if (record["what"], record["broker"]) == ("f0000-r001", SECOND)]
    assert cell["ratio"]["ci95"][0] < 1.25 < cell["ratio"]["ci95"][1]
    assert (cell["against"], cell["kind"], cell["scope"]) == (FIRST, "cell", "between starts")


def test_the_ratio_of_an_estimate_below_nothing_is_shown():
    """A numerator that may be negative keeps its sign."""
    assert fieller(Mean(-0.1, 0.01, 4), Mean(1.0, 0.0001, 4)).interval == Interval(
        pytest.approx(-0.1), pytest.approx(-0.378, abs=0.01), pytest.approx(0.178, abs=0.01)
    )
