"""The roofline: found where transmission is capped, not seen where it is not, and never better than another optimiser
finds it to be."""

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.throughput.linear_model import iterated_wls
from analysis.throughput.roofline import aicc, regimes
from tests.bench_fit import GRIDS
from tests.support.run_directories import TIMES
from tests.support.simulations import repetitions, slack
from workloads.limits import ROOFLINE

#: Section 4.5 of the paper.
PAPER_GRID = tuple((further, r) for further in (5, 10, 20, 40, 60, 80, 160) for r in (1, 2, 5, 10, 20, 40))


def design(grid):
    return np.array([[1.0, further + r, r] for further, r in grid])


def capped_at(x, ratio, times=TIMES):
    """B with t_sat = ratio t_tx, and which cells are capped."""
    plane, cap = x @ np.array(times), ratio * times[2] * x[:, 2]
    return np.maximum(plane, cap), cap > plane


def scatter(b, seed, sigma):
    return b * np.exp(sigma * np.random.default_rng(seed).standard_normal(len(b)))


@pytest.mark.parametrize("grid", ["wide", "today"])
@pytest.mark.parametrize("ratio", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_without_noise_the_regimes_are_exact(grid, ratio, unit):
    """The cells at the cap are named, whatever the unit of time, and the plane alone is decidedly worse."""
    x = design(GRIDS[grid])
    b, capped = capped_at(x, ratio)

    found = regimes(b * unit, x)

    assert list(found.capped) == list(capped)
    assert found.delta_aicc > 100


@pytest.mark.parametrize(("grid", "ratio"), [("wide", 1.5), ("today", 1.5), ("today", 2.0)])
def test_with_noise_the_capped_cells_are_labelled_and_the_plane_comes_back(grid, ratio):
    """With 1 % noise: every cap is seen, 9 of 10 name exactly its cells, the typical error is below 5 %."""
    x = design(GRIDS[grid])
    truth, capped = capped_at(x, ratio)
    right, errors, runs = 0, [], repetitions(15, 40)
    for seed in range(runs):
        b = scatter(truth, seed, 0.01)
        found = regimes(b, x)
        assert found.delta_aicc > ROOFLINE.limit
        right += list(found.capped) == list(capped)
        below = ~found.capped
        errors.append(np.abs(iterated_wls(b[below], x[below]).parameters / TIMES - 1))

    assert right / runs >= 0.9 - slack(0.9, runs)
    assert np.all(np.quantile(errors, 0.9, axis=0) < 0.05)


@pytest.mark.parametrize("grid", ["wide", "today"])
def test_without_a_cap_it_does_not_cry_saturation(grid):
    """Of the runs with 1 to 3 % noise at most one in fifty prefers the roofline."""
    x, runs = design(GRIDS[grid]), repetitions(50 if grid == "wide" else 25, 150)
    found = [regimes(scatter(x @ np.array(TIMES), seed, 0.01 + 0.02 * seed / runs), x) for seed in range(runs)]

    assert sum(each is not None and each.delta_aicc > ROOFLINE.limit for each in found) <= max(1, runs / 50)


def test_a_single_cell_that_lies_off_is_no_cap():
    """A disturbance of one cell, at the largest replication and the fewest filters, does not make a regime."""
    x = design(GRIDS["wide"])
    b = scatter(x @ np.array(TIMES), 1, 0.01)
    b[(x[:, 2] == 10) & (x[:, 1] == 10)] *= 1.4

    found = regimes(b, x)

    assert found is None or found.delta_aicc < ROOFLINE.limit


def test_cells_at_the_bend_do_not_stand_for_the_plane():
    """A cap that leaves r = 1 only says nothing about t_tx: no roofline, rather than a t_tx from capped cells."""
    x = design(PAPER_GRID)
    truth, capped = capped_at(x, 4.0, (4.9e-5, 1.6e-7, 1.5e-5))
    assert set(x[~capped, 2]) == {1.0}

    for seed in range(10):
        assert regimes(scatter(truth, seed, 0.02), x) is None


@pytest.mark.parametrize("rows", [slice(0, 6), slice(0, 4)])
def test_few_cells_have_no_roofline(rows):
    """Without degrees of freedom for one more parameter there is none."""
    x = design(GRIDS["wide"])[rows]

    assert regimes(x @ np.array(TIMES), x) is None


@pytest.mark.parametrize("seed", range(4))
def test_another_optimiser_finds_nothing_better(seed):
    """Nelder and Mead's simplex, started at the truth, ends at the same difference of AICc."""
    x = design(GRIDS["wide"])
    b = scatter(capped_at(x, 1.5)[0], seed, 0.01)
    scale = np.array([*TIMES, 1.5 * TIMES[2]])

    def squares(relative):
        parameters = relative * scale[: len(relative)]
        model = x @ parameters[:3]
        if len(parameters) == 4:
            model = np.maximum(model, x[:, 2] * parameters[3])
        return np.sum(np.log(np.maximum(model, 1e-12) / b) ** 2)

    tight = {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 20_000, "maxfev": 20_000}
    plane, roofline = (
        scipy.optimize.minimize(squares, np.ones(n), method="Nelder-Mead", options=tight).fun for n in (3, 4)
    )

    assert regimes(b, x).delta_aicc == pytest.approx(aicc(plane, 16, 4) - aicc(roofline, 16, 5), abs=1e-3)


def test_aicc_is_that_of_statsmodels():
    """Differences between models equal those of statsmodels, which has the constant of the normal likelihood beside."""
    from statsmodels.regression.linear_model import OLS
    from statsmodels.tools.eval_measures import aicc as aicc_of_statsmodels

    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(20), rng.standard_normal((20, 3))])
    y = x @ [1, 2, 3, 0] + rng.standard_normal(20)
    small, large = OLS(y, x[:, :3]).fit(), OLS(y, x).fit()

    ours = aicc(small.ssr, 20, 4) - aicc(large.ssr, 20, 5)

    assert ours == pytest.approx(
        aicc_of_statsmodels(small.llf, 20, 4) - aicc_of_statsmodels(large.llf, 20, 5), abs=1e-6
    )
