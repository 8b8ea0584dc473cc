"""The plane's arithmetic against statsmodels, scipy, printed tables, brute force and simulation."""

import warnings

import numpy as np
import pytest

from analysis.throughput.linear_model import (
    identifiable,
    iterated_wls,
    lack_of_fit_f,
    rests_on_one_row,
)
from tests.support.run_directories import CELLS, TIMES
from tests.support.simulations import about

X = np.array([[1.0, further + r, r] for further, r in CELLS])


def noisy(seed, sigma=0.02, times=TIMES):
    return X @ np.array(times) * np.exp(sigma * np.random.default_rng(seed).standard_normal(len(X)))


@pytest.mark.parametrize("seed", range(5))
def test_weighted_fit_is_the_gamma_model(seed):
    """1 / fitted^2 solves the equations of a Gamma GLM with identity link, which statsmodels solves in its own way."""
    import statsmodels.api as sm
    from statsmodels.tools.sm_exceptions import DomainWarning

    b = noisy(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)  # an identity link may leave the domain; here nothing does
        gamma = sm.GLM(b, X, family=sm.families.Gamma(link=sm.families.links.Identity())).fit(tol=1e-12)

    assert np.all(X @ gamma.params > 0)
    assert iterated_wls(b, X).parameters == pytest.approx(gamma.params, rel=1e-4)


def test_many_replicates_are_fitted_one_by_one():
    """A first axis changes nothing but the shape."""
    b = np.array([noisy(seed) for seed in range(4)])
    found = iterated_wls(b, X)

    assert found.parameters.shape == (4, 3)
    for row, parameters in zip(b, found.parameters, strict=True):
        assert parameters == pytest.approx(iterated_wls(row, X).parameters)


def test_fitted_values_that_are_not_positive_keep_the_weights_finite():
    """An absurd plane is found and reported, not turned into a division by zero."""
    b = np.where(X[:, 2] == 10, 1e-3, 1e-6)

    assert np.all(np.isfinite(iterated_wls(b, X).parameters))


@pytest.mark.parametrize(
    ("x", "apart", "one"),
    [
        ([[1, 1, 1], [1, 5, 1], [1, 1, 5], [1, 5, 5]], True, False),
        ([[1, 1, 1], [1, 5, 1], [1, 9, 1], [1, 5, 5]], True, True),
        ([[1, 1, 1], [1, 5, 5], [1, 9, 9], [1, 7, 7]], False, None),
        ([[1, 0, 1], [1, 0, 5], [1, 0, 9], [1, 0, 7]], False, None),  # no filters at all
        ([[1, 1, 1], [1, 5, 1]], False, None),
    ],
)
def test_what_rows_tell_apart(x, apart, one):
    """Both factors vary, not together, and neither by a single row."""
    rows = np.array(x, dtype=float)

    assert identifiable(rows) == apart
    if apart:
        assert rests_on_one_row(rows) == one


def sampled(seed, observations, off=0.0):
    """Mean of relative deviations that scatter with a covariance of their own, its estimate, and the plane's rows."""
    rng = np.random.default_rng(seed)
    x = X[:8] / (X[:8] @ np.array(TIMES))[:, None]
    values = rng.standard_normal((observations, 8)) @ rng.standard_normal((8, 8)) * 0.02
    values[:, 3] += off
    residuals = np.eye(8) - x @ np.linalg.pinv(x)
    values = values @ residuals
    return values.mean(axis=0), np.cov(values, rowvar=False) / observations, x, values


def test_lack_of_fit_is_hotelling_s_test():
    """T^2 of the 5 directions that 8 cells and 3 parameters leave, as statsmodels has it for a mean vector."""
    from statsmodels.stats.multivariate import test_mvmean as mvmean

    mean, covariance, x, values = sampled(1, 20, off=0.02)
    directions = np.linalg.qr(x, mode="complete")[0][:, 3:]
    reference = mvmean(values @ directions, np.zeros(5))

    f, p = lack_of_fit_f(mean, covariance, 19, x)

    assert f == pytest.approx(reference.statistic)
    assert p == pytest.approx(reference.pvalue)


def test_lack_of_fit_of_one_direction_is_student_s_test():
    """All that 4 cells and 3 parameters leave."""
    from scipy.stats import ttest_1samp

    mean, covariance, x, values = sampled(1, 20, off=0.02)
    cells = [0, 1, 4, 5]
    direction = np.linalg.qr(x[cells], mode="complete")[0][:, 3]
    reference = ttest_1samp(values[:, cells] @ direction, 0)

    f, p = lack_of_fit_f(mean[cells], covariance[np.ix_(cells, cells)], 19, x[cells])

    assert f == pytest.approx(reference.statistic**2)
    assert p == pytest.approx(reference.pvalue)


def test_lack_of_fit_holds_its_level():
    """Of the planes without any, 5 % have p below 0.05 (3 sigma)."""
    runs = 1000
    samples = (sampled(seed, 12)[:3] for seed in range(runs))
    alarms = sum(lack_of_fit_f(mean, covariance, 11, x)[1] < 0.05 for mean, covariance, x in samples)

    assert alarms / runs == about(0.05, runs)


def test_lack_of_fit_needs_degrees_of_freedom():
    """Fewer layouts than free directions, no free direction, or no scatter at all leave nothing to test."""
    mean, covariance, x, _ = sampled(1, 20)

    assert lack_of_fit_f(mean, covariance, 4, x) is None
    assert lack_of_fit_f(mean[:3], covariance[:3, :3], 19, x[:3]) is None
    assert lack_of_fit_f(mean, np.zeros((8, 8)), 19, x) is None
