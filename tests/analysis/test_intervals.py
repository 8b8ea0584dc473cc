"""The intervals against printed tables, hand arithmetic and statsmodels."""

import numpy as np
import pytest

from analysis.intervals import (
    jackknife,
    jackknife_covariance,
    mean_interval,
    stratified,
    t_quantile,
)
from analysis.results import Interval, per
from tests.support.simulations import about, covers, repetitions


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
    """A single value says nothing about scatter: no ends, rather than ends at the estimate."""
    assert mean_interval([3.0]) == Interval(3.0)


@pytest.mark.parametrize(
    ("time", "rate"),
    [
        (Interval(1e-3, 5e-4, 2e-3), Interval(2000, 1000, 4000)),
        (Interval(1e-3, -1e-4, 2e-3), Interval(2000, 1000, None)),  # a time that may be 0 bounds no rate from above
        (Interval(1e-3), Interval(2000)),
    ],
)
def test_a_rate_has_the_ends_of_its_time_in_turn(time, rate):
    assert per(2.0, time) == rate


# Layouts as the unit


def clustered(seed, layouts=8):
    """A response that differs between layouts, and two columns."""
    rng = np.random.default_rng(seed)
    layout = np.repeat(np.arange(layouts), 6)
    x = np.column_stack([np.ones(len(layout)), rng.uniform(1, 10, len(layout))])
    y = x @ [3.0, 0.5] + rng.normal(0, 0.3, layouts)[layout] + rng.normal(0, 0.2, len(layout))
    return layout, x, y


def test_the_jackknife_is_the_cluster_robust_covariance():
    """Leaving one cluster out at a time gives the `cluster-jk` covariance of statsmodels, every element of it."""
    from statsmodels.regression.linear_model import OLS

    layout, x, y = clustered(1)
    replicates = np.array([OLS(y[layout != each], x[layout != each]).fit().params for each in np.unique(layout)])
    reference = OLS(y, x).fit(cov_type="cluster-jk", cov_kwds={"groups": layout})

    assert jackknife_covariance(replicates) == pytest.approx(reference.cov_params(), rel=1e-9)


def test_the_jackknife_of_a_mean_is_its_t_interval():
    """For a mean the replicates say what the values do (Tukey 1958)."""
    values = np.array([2.0, 4.0, 6.0, 8.0, 9.0])
    replicates = [np.delete(values, place).mean() for place in range(5)]

    assert jackknife(values.mean(), replicates).ci95 == pytest.approx(mean_interval(values).ci95)


def test_without_replicates_there_is_no_interval():
    """Too few layouts, or a cell that is in one of them only."""
    assert jackknife(2.0, []).ci95 is None
    assert jackknife(2.0, [1.9, 2.1, np.nan, 2.0]).ci95 is None
    assert stratified([2.0, 4.0], [[1.9, 2.0, 2.1, 2.0], []]) == Interval(3.0)


def test_starts_add_their_variances_and_degrees():
    """Two means of 5 and 3 values: standard error sqrt(v1 + v2) / 2 with 4 + 2 degrees of freedom."""
    samples = [np.array([2.0, 4.0, 6.0, 8.0, 9.0]), np.array([5.0, 7.0, 6.5])]
    replicates = [[np.delete(sample, place).mean() for place in range(len(sample))] for sample in samples]

    found = stratified([sample.mean() for sample in samples], replicates)

    assert found.estimate == pytest.approx((samples[0].mean() + samples[1].mean()) / 2)
    error = np.sqrt(sum(sample.var(ddof=1) / len(sample) for sample in samples)) / 2
    assert found.high - found.estimate == pytest.approx(t_quantile(6) * error)


@pytest.mark.parametrize(("starts", "layouts"), [(2, 4), (4, 8)])
def test_starts_of_different_levels_are_covered(starts, layouts):
    """The interval is about these starts, however they differ: 95 % of the intervals cover their mean (3 sigma)."""
    rng, runs = np.random.default_rng(2), repetitions(1000, 4000)
    levels = rng.normal(10, 3, (runs, starts))
    values = levels[..., None] + rng.standard_normal((runs, starts, layouts))
    covered = 0
    for level, of_run in zip(levels, values, strict=True):
        replicates = (of_run.sum(axis=1, keepdims=True) - of_run) / (layouts - 1)
        found = stratified(of_run.mean(axis=1), replicates)
        covered += covers(found, level.mean())

    assert covered / runs == about(0.95, runs)
