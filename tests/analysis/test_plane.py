"""The plane's arithmetic against statsmodels, scipy, printed tables, brute force and simulation."""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import lsq_linear
from statsmodels.tools.sm_exceptions import DomainWarning

from analysis.plane import at_most, identifiable, iterated_wls, left_out_errors, non_negative, rests_on_one_row
from tests.run_directories import CELLS, TIMES

X = np.array([[1.0, further + r, r] for further, r in CELLS])


def noisy(seed, sigma=0.02, times=TIMES):
    return X @ np.array(times) * np.exp(sigma * np.random.default_rng(seed).standard_normal(len(X)))


@pytest.mark.parametrize("seed", range(5))
def test_weighted_fit_is_the_gamma_model(seed):
    """1 / fitted^2 solves the equations of a Gamma GLM with identity link, which statsmodels solves in its own way."""
    b = noisy(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)  # an identity link may leave the domain; here nothing does
        gamma = sm.GLM(b, X, family=sm.families.Gamma(link=sm.families.links.Identity())).fit(tol=1e-12)

    assert np.all(X @ gamma.params > 0)
    assert iterated_wls(b, X).params == pytest.approx(gamma.params, rel=1e-4)


@pytest.mark.parametrize("times", [TIMES, (-3e-6, 2e-8, 9e-6), (3e-5, -1e-9, 9e-6)])
def test_non_negative_is_the_bounded_least_squares_of_scipy(times):
    """Another algorithm for the same bounds gives the same parameters, none of them below 0."""
    b = noisy(3, times=times)
    reference = X @ np.abs(times)
    scale = np.abs(times)
    bounded = lsq_linear(X * scale / reference[:, None], b / reference, bounds=(0, np.inf), tol=1e-14).x * scale

    found = non_negative(b, X, reference)

    assert found == pytest.approx(bounded, rel=1e-5, abs=1e-13)
    assert np.all(found >= 0)


def test_non_negative_leaves_a_possible_fit_alone():
    """Where no parameter of the free fit is below 0, the constrained one is the same."""
    b = noisy(4)
    free = iterated_wls(b, X)

    assert non_negative(b, X, free.fittedvalues) == pytest.approx(free.params, rel=1e-3)


@pytest.mark.parametrize(
    ("estimate", "degrees", "bound"),
    # Printed tables of Student's t (NIST/SEMATECH, 1.3.6.7.2): far from 0 the one-sided 95 % point, and at 0 that
    # of 97.5 %, as half of the distribution is excluded there.
    [(1000, 13, 1000 + 1.771), (1000, 4, 1000 + 2.132), (0, 13, 2.160), (0, 4, 2.776)],
)
def test_the_bound_is_that_of_the_printed_tables(estimate, degrees, bound):
    """estimate + t(0.95) s far above 0, t(0.975) s at 0."""
    assert at_most(estimate, 1.0, degrees) == pytest.approx(bound, abs=1e-3)


def test_the_bound_scales_and_stays_above_0():
    """In other units it is the same bound; an estimate far below 0 still leaves a cost above 0 possible."""
    assert at_most(2e-6, 3e-6, 13) == pytest.approx(1e-6 * at_most(2, 3, 13))
    assert 0 < at_most(-3, 1, 13) < at_most(-1, 1, 13) < at_most(0, 1, 13)


@pytest.mark.parametrize(("truth", "most"), [(0.0, 1.0), (0.5, 1.0), (5.0, 0.96)])
def test_the_bound_covers_at_least_95_percent(truth, most):
    """Never less than promised, and no more than promised where the truth is far from 0; 2000 runs, 3 sigma."""
    rng = np.random.default_rng(6)
    estimates = truth + rng.standard_normal(2000)
    errors = np.sqrt(rng.chisquare(13, 2000) / 13)
    covered = np.mean([at_most(e, s, 13) >= truth for e, s in zip(estimates, errors, strict=True)])
    slack = 3 * np.sqrt(0.95 * 0.05 / 2000)

    assert 0.95 - slack <= covered <= most + slack


def test_left_out_errors_are_those_of_leaving_out():
    """At unchanged weights, each row predicted from a fit on the fifteen others."""
    b = noisy(7)
    result = iterated_wls(b, X)
    weights = result.model.weights
    expected = []
    for row in range(len(b)):
        kept = np.arange(len(b)) != row
        other = sm.WLS(b[kept], X[kept], weights=weights[kept]).fit()
        expected.append((X[row] @ other.params) / b[row] - 1)

    assert left_out_errors(result) == pytest.approx(expected, rel=1e-6)


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
