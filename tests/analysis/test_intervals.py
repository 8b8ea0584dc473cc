"""The intervals against printed tables, hand arithmetic and statsmodels."""

import numpy as np
import pytest
from statsmodels.api import OLS

from analysis.intervals import Block, mean_interval, pooled_slope, ratio_interval, t_quantile


@pytest.mark.parametrize(
    ("degrees", "printed"),
    # Two-sided 95 % points as in every printed table of Student's t (for example NIST/SEMATECH, 1.3.6.7.2).
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (13, 2.160), (30, 2.042)],
)
def test_quantile_is_that_of_the_printed_tables(degrees, printed):
    """The quantile has half of the 5 % on either side, and the degrees of freedom that it is asked for."""
    assert t_quantile(degrees) == pytest.approx(printed, abs=5e-4)


def test_mean_interval_divides_by_n_minus_one():
    """Mean 5, variance 20/3 with n - 1, so the half width is 3.182 sqrt(20/3/4)."""
    interval = mean_interval([2.0, 4.0, 6.0, 8.0])

    assert interval.estimate == 5
    assert interval.high - 5 == pytest.approx(3.1824 * np.sqrt(20 / 3 / 4), rel=1e-4)
    assert interval.low == pytest.approx(10 - interval.high)


def test_one_value_has_no_interval():
    """A single window says nothing about scatter: no ends, rather than ends at the estimate."""
    assert mean_interval([3.0]).ci95 is None
    assert ratio_interval([6.0], [2.0]).ci95 is None
    assert ratio_interval([6.0], [2.0]).estimate == 3


def test_ratio_of_equal_windows_is_the_mean():
    """With windows of one length the rate and its interval are the ordinary mean and t interval."""
    counts = [1000.0, 1040.0, 990.0, 1015.0]

    assert ratio_interval(counts, [2.0] * 4).ci95 == pytest.approx(mean_interval([c / 2 for c in counts]).ci95)


def test_ratio_weights_windows_by_their_length():
    """A rate over unequal windows is total over total, not the mean of the rates."""
    interval = ratio_interval([100.0, 900.0], [1.0, 3.0])

    assert interval.estimate == 250
    # (100 - 250)^2 + (900 - 750)^2 = 45000, over (n - 1) n mean^2 = 8
    assert interval.high - 250 == pytest.approx(12.706 * np.sqrt(45000 / 8), rel=1e-4)


def test_pooled_slope_is_the_regression_with_dummies():
    """One slope beside a level per block is what statsmodels estimates with a dummy column per block."""
    rng = np.random.default_rng(3)
    x = [rng.uniform(0, 5, n) for n in (4, 6, 3)]
    y = [level + 0.3 * at + rng.normal(0, 0.1, len(at)) for level, at in zip((1.0, -2.0, 7.0), x, strict=True)]
    dummies = np.zeros((13, 4))
    dummies[:4, 0] = dummies[4:10, 1] = dummies[10:, 2] = 1
    dummies[:, 3] = np.concatenate(x)
    reference = OLS(np.concatenate(y), dummies).fit()

    slope = pooled_slope([Block(np.ones((len(at), 1)), at, values) for at, values in zip(x, y, strict=True)])

    assert slope.estimate == pytest.approx(reference.params[3])
    assert slope.ci95 == pytest.approx(list(reference.conf_int()[3]))


def test_a_slope_needs_more_than_its_nuisance():
    """Without a degree of freedom, or without spread in time, there is no slope rather than a made-up one."""
    assert pooled_slope([]) is None
    assert pooled_slope([Block(np.ones((2, 1)), np.array([0.0, 1.0]), np.array([1.0, 2.0]))]) is None
    assert pooled_slope([Block(np.ones((4, 1)), np.full(4, 7.0), np.arange(4.0))]) is None
