"""The estimation of a start's cells: exact where nothing scatters, against statsmodels, and what it must not lose."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import DataError
from analysis.intervals import jackknife_covariance
from analysis.throughput import rotation
from analysis.throughput.rotation import MeasuredSlice, estimate, scatter
from tests.bench_fit import GRIDS, HOSTS, SCHEMES, Host, Scheme, Spells, start_slices
from tests.support.run_directories import TIMES
from tests.support.simulations import about, repetitions
from workloads.limits import CARRY_OVER, DISTURBED_LEVEL

#: Time per message of six cells, in s.
CELLS = {"a": 2e-5, "b": 5e-5, "c": 1.1e-4, "d": 3e-5, "e": 8e-5, "f": 1e-4}

LAYOUTS, ROUNDS = 6, 3


def slices(rng=None, *, noise=0.0, layout_noise=0.0, level=lambda key: 1.0, cells=CELLS, layouts=LAYOUTS, **changes):
    """Every cell in every round, in random order; `level` is a factor by (layout, block, round)."""
    rng = rng or np.random.default_rng(0)
    made = []
    for layout in range(1, 1 + layouts):
        effects = {name: np.exp(layout_noise * rng.standard_normal()) for name in cells}
        for number in range(1, 1 + ROUNDS):
            for position, name in enumerate(rng.permutation(list(cells))):
                taken_s = cells[name] * effects[name] * level((layout, 0, number))
                taken_s *= np.exp(noise * rng.standard_normal()) * 1e4
                made.append(MeasuredSlice(str(name), layout, 0, number, position, float(taken_s), 10_000, **changes))
    return made


def truth(cells=CELLS):
    return [cells[name] for name in sorted(cells)]


# Exact where nothing scatters


def test_without_noise_every_cell_and_every_replicate_is_exact():
    """Cells in their order, one replicate per layout, and no interval where there is nothing to be unsure of."""
    found = estimate(slices())

    assert found.cells == tuple(sorted(CELLS))
    assert found.layouts == tuple(range(1, LAYOUTS + 1))
    assert found.replicates_s.shape == (LAYOUTS, len(CELLS))
    for row in (found.estimates_s, *found.replicates_s):
        assert row == pytest.approx(truth(), rel=1e-9)
    assert max(map(abs, found.levels.values())) < 1e-9
    assert scatter(slices()).slices == pytest.approx(0, abs=1e-9)


@given(
    slow=st.sets(st.integers(0, LAYOUTS * ROUNDS - 1), max_size=LAYOUTS * ROUNDS // 3 - 1),
    slower=st.floats(1.01, 10.0),
)
def test_rounds_that_a_neighbour_slows_down_change_nothing(slow, slower):
    """Less than a third of them, by as much as you like: the cost is that of the others, and their levels are seen."""

    def level(key):
        return slower if (key[0] - 1) * ROUNDS + key[2] - 1 in slow else 1.0

    found = estimate(slices(level=level))

    assert found.estimates_s == pytest.approx(truth(), rel=1e-6)
    assert found.levels == pytest.approx({key: level(key) - 1 for key in found.levels}, abs=1e-6)


@given(missing=st.sets(st.integers(0, LAYOUTS * ROUNDS * len(CELLS) - 1), max_size=40))
def test_missing_slices_change_nothing(missing):
    """Rounds need not be complete: their levels are compared over the cells that they share."""
    rng = np.random.default_rng(1)
    levels = {}
    made = slices(level=lambda key: levels.setdefault(key, 1 + 0.01 * rng.random()))
    found = estimate([each for place, each in enumerate(made) if place not in missing])

    relative = found.estimates_s / truth()
    assert relative == pytest.approx(np.full(len(CELLS), relative[0]), rel=1e-6)
    assert 1 <= relative[0] <= 1.01


def test_a_cell_without_a_message_has_no_estimate():
    """Neither 0 nor infinity; the others are what they are."""
    made = [replace(each, messages=0) if each.cell == "c" else each for each in slices()]

    found = estimate(made)

    assert np.isnan(found.estimates_s[2])
    assert np.delete(found.estimates_s, 2) == pytest.approx(np.delete(truth(), 2), rel=1e-9)


# Invariances


@given(unit=st.floats(1e-6, 1e6))
def test_the_unit_of_time_is_free(unit):
    """B in other units is B in other units: pauses, replicates and levels with it."""
    made = slices(np.random.default_rng(2), noise=0.05, layout_noise=0.05, gc_pause_s=1e-3, full_gc_pause_s=0.0)
    scaled = [replace(each, taken_s=each.taken_s * unit, gc_pause_s=each.gc_pause_s * unit) for each in made]

    found, other = estimate(made), estimate(scaled)

    assert other.estimates_s == pytest.approx(found.estimates_s * unit, rel=1e-9)
    assert other.replicates_s == pytest.approx(found.replicates_s * unit, rel=1e-9)
    assert other.levels == pytest.approx(found.levels, abs=1e-9)


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_slices_and_the_names_of_the_cells_are_free(random):
    """Only what a slice says of itself counts."""
    made = slices(np.random.default_rng(3), noise=0.05, layout_noise=0.05)
    names = dict(zip(CELLS, random.sample(sorted(CELLS), len(CELLS)), strict=True))
    shuffled = [replace(each, cell=names[each.cell]) for each in random.sample(made, len(made))]

    found, other = estimate(made), estimate(shuffled)

    places = [other.cells.index(names[name]) for name in found.cells]
    assert other.estimates_s[places] == pytest.approx(found.estimates_s, rel=1e-9)
    assert other.replicates_s[:, places] == pytest.approx(found.replicates_s, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_disturbed_rounds_are_as_good_as_absent(seed):
    """With noise as well: what a spell of 30 % covers carries no weight, so that leaving it out says the same."""
    rng = np.random.default_rng(seed)
    grid, scheme, host = GRIDS["quick"], SCHEMES["quick"], HOSTS["noisy"]
    made, _ = start_slices(rng, grid, scheme, 1, TIMES, host, 0.05)
    slow = {(2, 1), (2, 2), (5, 1), (7, 2)}
    disturbed = [
        replace(each, taken_s=each.taken_s * 1.3, gc_pause_s=None) if (each.layout, each.round) in slow
        else replace(each, gc_pause_s=None)
        for each in made
    ]  # fmt: skip

    found = estimate(disturbed)
    others = estimate([each for each in disturbed if (each.layout, each.round) not in slow])

    assert found.estimates_s == pytest.approx(others.estimates_s, rel=0.02)
    assert {key[::2] for key, level in found.levels.items() if level > DISTURBED_LEVEL.limit} == slow


def test_spells_that_cover_parts_of_rounds_leave_no_bias():
    """20 % of the time 30 % slower, in spells of about a round's length: the mean of the runs is within 1 %."""
    host = Host((0.05, 0.05), (0.03, 0.08), 0.02, Spells(0.30, 7, 28))
    found = []
    for seed in range(repetitions(30, 100)):
        made, settings = start_slices(
            np.random.default_rng(seed), GRIDS["quick"], SCHEMES["quick"], 1, TIMES, host, 0.05
        )
        start = estimate(made)
        model = [np.dot(TIMES, [1, sum(settings[key]), settings[key][1]]) for key in start.cells]
        found.append(np.mean(start.estimates_s / model))

    assert np.mean(found) == pytest.approx(1, abs=0.01)


# Blocks


def blocks(level_of_block, *, anchors=True):
    """Two blocks of three cells in every layout, beside two anchors where there are any."""
    made = []
    for layout in range(1, 6):
        for block, names in enumerate(("abc", "def")):
            for position, name in enumerate([*names, *(("x", "y") if anchors else ())]):
                taken_s = {**CELLS, "x": 4e-5, "y": 6e-5}[name] * level_of_block[block] * 1e4
                made += [MeasuredSlice(name, layout, block, number, position, taken_s, 10_000) for number in (1, 2)]
    return made


def test_anchors_tie_the_levels_of_the_blocks():
    """A block that was measured 6 % slower is corrected by the cells that it shares with the other."""
    found = estimate(blocks((1.0, 1.06)))

    relative = found.estimates_s / truth({**CELLS, "x": 4e-5, "y": 6e-5})
    assert relative == pytest.approx(np.full(8, relative[0]), rel=1e-9)
    assert 1 < relative[0] < 1.06


@pytest.mark.parametrize("levels", [(1.0, 1.06), (2.0, 1.0)])
def test_blocks_without_a_common_cell_have_a_level_each(levels):
    """Nothing tells their levels apart from their cells: each has its own median round, whichever takes longer."""
    found = estimate(blocks(levels, anchors=False))

    assert found.estimates_s == pytest.approx(np.array(truth()) * np.repeat(levels, 3), rel=1e-9)
    assert max(map(abs, found.levels.values())) < 1e-9


# Pauses for garbage collection


def test_pauses_are_a_cost_and_never_trimmed():
    """One pause in 18 slices, as long as the slice: robustly an outlier, and a 19th of the cell's whole cost."""
    made = [replace(each, gc_pause_s=0.0, full_gc_pause_s=0.0) for each in slices()]
    at = next(place for place, each in enumerate(made) if each.cell == "b")
    pause_s = made[at].taken_s
    made[at] = replace(made[at], taken_s=2 * pause_s, gc_pause_s=pause_s)

    found = estimate(made)

    assert found.estimates_s[1] == pytest.approx(CELLS["b"] * (1 + 1 / 18), rel=1e-9)
    assert np.delete(found.estimates_s, 1) == pytest.approx(np.delete(truth(), 1), rel=1e-9)
    # its error is known: without its layout the cell has no pause at all
    assert found.replicates_s[made[at].layout - 1, 1] == pytest.approx(CELLS["b"], rel=1e-9)
    assert np.delete(found.replicates_s[:, 1], made[at].layout - 1) == pytest.approx(CELLS["b"] * (1 + 1 / 15))


def test_without_a_log_of_pauses_a_long_slice_is_a_disturbance():
    """The same slices: nothing says that it was a pause."""
    made = slices()
    at = next(place for place, each in enumerate(made) if each.cell == "b")
    made[at] = replace(made[at], taken_s=2 * made[at].taken_s)

    found = estimate(made)

    assert found.estimates_s == pytest.approx(truth(), rel=1e-6)


def test_a_full_collection_is_spread_over_all_cells_by_their_time():
    """It collects what all of them left behind: every cell becomes slower by the same share."""
    made = [replace(each, gc_pause_s=0.0, full_gc_pause_s=0.0) for each in slices()]
    share = 0.02 * sum(each.taken_s for each in made)
    made[7] = replace(made[7], taken_s=made[7].taken_s + share, full_gc_pause_s=share)

    assert estimate(made).estimates_s == pytest.approx(np.array(truth()) * 1.02, rel=1e-9)


# Replicates


def test_a_replicate_is_the_estimate_without_that_layout():
    """Everything is estimated again: levels, weights, pauses."""
    rng = np.random.default_rng(6)
    made, _ = start_slices(rng, GRIDS["quick"], SCHEMES["quick"], 1, TIMES, HOSTS["spells"], 0.05)
    found = estimate(made)

    for place, layout in enumerate(found.layouts):
        without = estimate([each for each in made if each.layout != layout])
        assert found.replicates_s[place] == pytest.approx(without.estimates_s, rel=2e-4)


def test_too_few_layouts_have_no_replicates():
    """Three layouts give an estimate and no interval."""
    found = estimate(slices(layouts=3))

    assert found.estimates_s == pytest.approx(truth())
    assert found.replicates_s.shape == (0, len(CELLS))


def test_a_cell_of_one_layout_has_no_replicate_without_it():
    """NaN there, so that whoever asks for its interval gets none; the other cells have theirs."""
    found = estimate([each for each in slices() if each.cell != "d" or each.layout == 2])

    assert np.argwhere(np.isnan(found.replicates_s)).tolist() == [[1, 3]]
    assert found.estimates_s == pytest.approx(truth())


def test_the_covariance_is_cluster_robust_on_clean_balanced_data():
    """ln B of a cell relative to another: within some % of `cluster-crv3` of statsmodels, clusters being layouts."""
    from statsmodels.regression.linear_model import OLS

    ratios = []
    for seed in range(repetitions(10, 20)):
        made = slices(np.random.default_rng(seed), noise=0.02, layout_noise=0.02, layouts=10)
        found = estimate(made)
        ours = jackknife_covariance(np.log(found.replicates_s[:, 1:] / found.replicates_s[:, :1]))
        y = np.array([np.log(each.taken_s / each.messages) for each in made])
        dummies = np.array([[each.cell == name for name in found.cells] for each in made], dtype=float)
        dummies[:, 0] = 1
        reference = OLS(y, dummies).fit(
            cov_type="cluster-crv3", cov_kwds={"groups": np.array([each.layout for each in made])}
        )
        ratios.append(np.sqrt(np.diag(ours)[:] / np.diag(reference.cov_params())[1:]))

    assert np.mean(ratios) == pytest.approx(1, abs=0.05)
    assert np.quantile(ratios, [0.05, 0.95]) == pytest.approx([1, 1], abs=0.25)


def test_least_squares_of_cells_and_rounds_are_those_of_statsmodels():
    """Any weights, missing slices, and the level left free: sums of a cell and a round are those of dummy columns."""
    from statsmodels.regression.linear_model import WLS

    rng = np.random.default_rng(7)
    weights = rng.uniform(0.1, 1, (7, 5)) * (rng.random((7, 5)) < 0.7)
    weights[:, 0] = weights[0] = 1
    values = rng.standard_normal((7, 5))
    rows, columns = np.nonzero(weights)
    dummies = np.hstack([np.eye(5)[columns], np.eye(7)[rows][:, 1:]])
    reference = WLS(values[rows, columns], dummies, weights=weights[rows, columns]).fit()

    cells, rounds = rotation.additive(values, weights[None], np.ones((1, 5, 5)))

    assert (cells[0][columns] + rounds[0][rows]) == pytest.approx(reference.fittedvalues, rel=1e-9)


# What else the slices say


def test_scatter_is_that_of_the_simulation():
    """Slices within their layout, and layouts beyond that; the levels of rounds are part of neither."""
    rng = np.random.default_rng(8)
    host = Host((0.05, 0.05), (0.06, 0.06), 0.05)
    found = [
        scatter(start_slices(rng, GRIDS["quick"], Scheme((8,), 3, 1, ()), 1, TIMES, host, 0.05)[0]) for _ in range(30)
    ]

    assert np.mean([each.slices for each in found]) == pytest.approx(0.05, rel=0.07)
    assert np.mean([each.layouts for each in found]) == pytest.approx(0.06, rel=0.07)


def test_one_round_per_layout_does_not_tell_slices_from_layouts():
    """Neither has a number of its own then."""
    assert scatter([each for each in slices(noise=0.05) if each.round == 1]) == rotation.Scatter(None, None)


def carrying(share, seed):
    """16 cells, each of which slows down the one after it by its own normal share."""
    rng = np.random.default_rng(seed)
    made, _ = start_slices(rng, GRIDS["quick"], SCHEMES["quick"], 1, TIMES, HOSTS["noisy"], 0.03)
    effect = {cell: share * rng.standard_normal() for cell in {each.cell for each in made}}
    at = {(each.layout, each.round, each.position): each.cell for each in made}
    return [
        replace(
            each,
            taken_s=each.taken_s * np.exp(effect.get(at.get((each.layout, each.round, each.position - 1)), 0.0)),
            gc_pause_s=None,
        )
        for each in made
    ]


def test_what_the_cell_before_leaves_behind_is_seen():
    """4 % are found in most runs, with about the right size; without any the test holds its level."""
    few, many = repetitions(15, 40), repetitions(40, 100)
    found = [estimate(carrying(0.04, seed)).carry_over for seed in range(few)]
    without = [estimate(carrying(0.0, seed)).carry_over for seed in range(many)]

    assert sum(each.p < 0.01 for each in found) >= 0.8 * few
    assert np.sqrt(np.mean([each.deviation**2 for each in found])) == pytest.approx(0.04, rel=0.25)
    assert sum(each.p < 0.01 and each.deviation > CARRY_OVER.limit for each in without) <= 0.05 * many
    assert np.mean([each.p < 0.5 for each in without]) == about(0.5, many)


def test_a_single_cell_has_nothing_before_it():
    """No preceding cell, no carry-over; its estimate is the median of its slices."""
    made = [
        MeasuredSlice("a", layout, 0, 1, 0, taken_s, 1000)
        for layout, taken_s in enumerate((1.0, 1.1, 1.2, 1.3, 1.9), 1)
    ]

    found = estimate(made)

    assert found.carry_over is None
    assert found.estimates_s == pytest.approx([1.2e-3])


# What is refused


def test_no_slice_is_an_error():
    """There is nothing to say."""
    with pytest.raises(DataError, match="no slice"):
        estimate([])


def test_a_cell_comes_once_in_a_round():
    """Two slices of a cell in one round would count as one."""
    made = slices()
    with pytest.raises(DataError, match="two slices in one round"):
        estimate([*made, made[0]])
