"""Numbers of starts and layouts: intervals against other implementations, and how often they cover the truth."""

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.throughput.cell_ratios import OfStart, combined, over_layouts, over_starts
from analysis.throughput.fit import STARTS_AS_UNIT
from tests.support.simulations import about, covers, repetitions

LAYOUTS = 8

#: Relative standard deviations: of what a layout, and what a start, does to all cells; of a cell in a layout.
OF_LAYOUTS, OF_STARTS, OF_CELLS = 0.2, 0.03, 0.02


def of_start(logs):
    """A cell whose B is the geometric mean over its layouts."""
    return OfStart(float(np.exp(logs.mean())), tuple(np.exp((logs.sum() - logs) / (len(logs) - 1))))


def log_ratio(numbers):
    return float(np.log(numbers[0] / numbers[1]))


def test_a_rate_over_layouts_is_that_of_all_its_slices():
    """The slices of a layout belong together, in whatever order they come; each replicate is the rate of the others."""
    parts = [(2, 30, 3), (1, 10, 1), (1, 30, 1), (3, 10, 2), (4, 40, 4)]

    found = over_layouts(parts)

    assert found.estimate == pytest.approx(120 / 11)
    assert found.replicates == pytest.approx((80 / 9, 90 / 8, 110 / 9, 80 / 7))


def test_a_mean_over_layouts_has_its_t_interval():
    """With as much in each layout it is the mean of the layouts, and scipy's t interval."""
    values = np.random.default_rng(1).normal(10, 1, LAYOUTS)

    interval = over_starts([over_layouts((layout, 5 * each, 5) for layout, each in enumerate(values))])

    reference = scipy.stats.t.interval(0.95, LAYOUTS - 1, values.mean(), scipy.stats.sem(values))
    assert (interval.estimate, interval.low, interval.high) == pytest.approx((values.mean(), *reference))


@pytest.mark.parametrize("parts", [[(1, 4, 2), (2, 5, 2), (3, 6, 2)], [(1, 4, 2), (2, 0, 0), (3, 0, 0), (4, 0, 0)]])
def test_too_few_layouts_give_an_estimate_without_an_interval(parts):
    """Three layouts, or four of which one has everything."""
    found = over_layouts(parts)

    assert found.replicates == ()
    assert over_starts([found]).ci95 is None


def test_what_belongs_to_other_layouts_is_not_combined():
    """The estimate stands; replicates that do not belong together place by place give no interval."""
    found = combined(log_ratio, [OfStart(2.0, (1.0, 2.0, 3.0, 2.0)), OfStart(1.0, (1.0, 1.0, 1.0))])

    assert found == OfStart(float(np.log(2)))


def test_a_start_without_an_interval_leaves_none_to_the_others():
    """Of two starts one has too few layouts: the mean of both stands alone."""
    interval = over_starts([OfStart(1.0, (1.0, 1.1, 0.9, 1.0)), OfStart(3.0)])

    assert (interval.estimate, interval.ci95) == (2.0, None)


def test_starts_are_the_unit_from_five_on():
    """Whatever the layouts say, five starts have Student's t over them, and four have not."""
    starts = [OfStart(number, (number,) * LAYOUTS) for number in (1.0, 2.0, 3.0, 4.0, 5.0)]
    reference = scipy.stats.t.interval(0.95, 4, 3, scipy.stats.sem([1, 2, 3, 4, 5]))

    assert over_starts(starts).ci95 == pytest.approx(reference)
    assert over_starts(starts[: STARTS_AS_UNIT - 1]).ci95 == [2.5, 2.5]


@pytest.mark.parametrize("starts", [1, 3, STARTS_AS_UNIT])
def test_intervals_of_a_ratio_cover_the_truth(starts):
    """A known ratio of two cells lies in 95 % of the intervals, however much layouts and starts do to both of them."""
    rng = np.random.default_rng(starts)
    runs, hits, widths = repetitions(300, 1500), 0, []
    for _ in range(runs):
        shared = OF_STARTS * rng.standard_normal((starts, 1)) + OF_LAYOUTS * rng.standard_normal((starts, LAYOUTS))
        cells = [np.log(b) + shared + OF_CELLS * rng.standard_normal((starts, LAYOUTS)) for b in (1.25e-4, 1e-4)]
        found = [combined(log_ratio, [of_start(cell[start]) for cell in cells]) for start in range(starts)]
        interval = over_starts(found)
        hits += covers(interval, np.log(1.25))
        widths.append(interval.high - interval.low)

    assert hits / runs == about(0.95, runs)
    assert np.mean(widths) < OF_LAYOUTS / 3


def test_starts_that_differ_are_covered_from_five_on():
    """Where each start has a ratio of its own, the next start is what the interval is about, and five show it."""
    rng = np.random.default_rng(2)
    runs, hits = repetitions(300, 1500), dict.fromkeys((STARTS_AS_UNIT - 1, STARTS_AS_UNIT), 0)
    for starts in hits:
        for _ in range(runs):
            own = np.log(1.25) + 0.05 * rng.standard_normal((starts, 1))
            logs = own + OF_CELLS * rng.standard_normal((starts, LAYOUTS))
            found = [combined(lambda b: float(np.log(b[0])), [of_start(each)]) for each in logs]
            hits[starts] += covers(over_starts(found), np.log(1.25))

    assert hits[STARTS_AS_UNIT] / runs == about(0.95, runs)
    assert hits[STARTS_AS_UNIT - 1] / runs < 0.5
