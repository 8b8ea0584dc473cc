"""The cells of the experiments: their ids, and that their plans are what the paper's section 4 describes."""

from __future__ import annotations

import re
from collections import Counter
from itertools import permutations, product

import pytest

from microbench.test_and_filters import EXPERIMENT as AND_FILTERS
from microbench.test_replication import EXPERIMENT as REPLICATION
from workloads.model import PROFILES, DestinationKind
from workloads.selectors import And

TODAY = PROFILES["today"]
LEVELS = ("smoke", "quick", "today", "paper")
EXPERIMENTS = (AND_FILTERS, REPLICATION)

GRIDS = [
    pytest.param(experiment, grid, id=f"{experiment.name} {grid}") for experiment in EXPERIMENTS for grid in LEVELS
]


def factors(experiment, grid):
    """The set of (first, second) factor values of a grid."""
    return {tuple(cell.factors.values()) for cell in experiment.cells(grid)}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_experiment_has_the_four_grids(experiment):
    """`--grid` means the same for every experiment."""
    assert tuple(experiment.grids) == LEVELS


@pytest.mark.parametrize(("experiment", "grid"), GRIDS)
def test_each_cell_can_be_selected_alone(experiment, grid):
    """-k matches substrings: no id is part of another one of its grid, and none means more than itself to it."""
    ids = [cell.id for cell in experiment.cells(grid)]

    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in ids)
    assert not [(part, whole) for part, whole in permutations(ids, 2) if part in whole]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_ids_are_zero_padded_and_mean_one_cell(experiment):
    """In all grids an id has the same form, and the same id the same factors: runs of different grids compare."""
    cells = [cell for grid in LEVELS for cell in experiment.cells(grid)]

    assert len({re.sub(r"\d", "0", cell.id) for cell in cells}) == 1
    assert len({cell.id for cell in cells}) == len({tuple(cell.factors.items()) for cell in cells})


@pytest.mark.parametrize(("experiment", "grid"), GRIDS)
def test_an_id_says_its_factors(experiment, grid):
    """f0160-r020: the numbers of an id are the levels of its factors, in their order."""
    for cell in experiment.cells(grid):
        assert [int(number) for number in re.findall(r"\d+", cell.id)] == list(cell.factors.values())


@pytest.mark.parametrize(("experiment", "grid"), GRIDS)
def test_every_cell_has_a_plan(experiment, grid):
    """Every message reaches somebody, on one topic of the cell's own."""
    plans = [experiment.plan(cell, TODAY) for cell in experiment.cells(grid)]

    destinations = {lane.destination for plan in plans for lane in plan.lanes}
    assert len(destinations) == len(plans)
    assert {destination.kind for destination in destinations} == {DestinationKind.TOPIC}


# --- replication (section 4.5) -------------------------------------------------------------------------------

REPLICATION_GRIDS = {
    "quick": (product((0, 160, 640, 2560), (1, 2, 5, 10))),
    "today": (product((0, 160, 640, 2560, 4960), (1, 2, 5, 10, 20, 40))),
    "paper": (product((5, 10, 20, 40, 60, 80, 160), (1, 2, 5, 10, 20, 40))),
}


@pytest.mark.parametrize(("grid", "expected"), REPLICATION_GRIDS.items(), ids=list(REPLICATION_GRIDS))
def test_replication_grids(grid, expected):
    """Further filters x replication grade: 16 cells for minutes, 30 for today's brokers, the paper's 42."""
    assert factors(REPLICATION, grid) == set(expected)


def test_the_replication_grids_reach_as_far_as_the_study():
    """The paper stops at 200 filters; today's go to 5000, so that t_fltr shows."""
    reach = {grid: max(REPLICATION.plan(cell, TODAY).n_fltr for cell in REPLICATION.cells(grid)) for grid in LEVELS}

    assert reach["paper"] == 200
    assert reach["today"] == 5000
    assert len(REPLICATION.cells("paper")) == 42


@pytest.mark.parametrize("grid", LEVELS)
def test_a_replication_plan_is_that_of_the_paper(grid):
    """20 publishers, one kind of message; r subscribers match and get every one, the further ones get none."""
    for cell in REPLICATION.cells(grid):
        further, replication = cell.factors["further"], cell.factors["replication"]
        plan = REPLICATION.plan(cell, TODAY)

        assert plan.publishers == len(plan.lanes) == 20
        assert plan.n_fltr == len(plan.subscriptions) == further + replication
        assert plan.replication == replication
        assert len({lane.receivers for lane in plan.lanes}) == 1


def test_the_replication_cells_tell_the_parameters_apart():
    """t_rcv, t_fltr and t_tx are fitted on these cells: n_fltr must vary at constant r, and r at constant filters."""
    assert REPLICATION.fits_model
    assert not AND_FILTERS.fits_model
    for grid in LEVELS:
        cells = factors(REPLICATION, grid)
        by_further = Counter(further for further, _ in cells)
        by_replication = Counter(replication for _, replication in cells)
        assert min(by_further.values()) > 1
        assert min(by_replication.values()) > 1


def test_the_smoke_grid_of_replication_shows_every_behaviour():
    """One copy and several, with filters that do not match and without."""
    assert {(further > 0, replication > 1) for further, replication in factors(REPLICATION, "smoke")} == {
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    }


# --- AND filters (section 4.4) -------------------------------------------------------------------------------


def test_and_filter_grids():
    """Three series; the paper's grid has every length from 1 to 25, the others end at the same lengths."""
    assert factors(AND_FILTERS, "paper") == set(product((1, 2, 3), range(1, 26)))
    for grid in LEVELS:
        cells = factors(AND_FILTERS, grid)
        lengths = {length for _, length in cells}
        assert cells == set(product((1, 2, 3), lengths))
        assert {1, 25} <= lengths
    assert any(length % 2 == 0 for _, length in factors(AND_FILTERS, "smoke"))  # where the erratum is


PAPER_CELLS = AND_FILTERS.cells("paper")


def components(selector):
    return selector.terms if isinstance(selector, And) else (selector,)


def rejected_at(selector, message):
    """The component, from 1, at which a broker that reads from left to right rejects a message; 0 if at none."""
    verdicts = [term.matches(message) for term in components(selector)]
    return verdicts.index(False) + 1 if False in verdicts else 0


def rejections(plan):
    """How many (subscription, kind of message) pairs are rejected at each component."""
    (flow,) = plan.flows
    return Counter(
        rejected_at(subscription.selector, dict(template.properties))
        for subscription in flow.subscriptions
        for template in flow.templates
    )


@pytest.mark.parametrize("cell", PAPER_CELLS, ids=lambda cell: cell.id)
def test_an_and_filter_plan_is_that_of_the_paper(cell):
    """20 publishers, 10 subscribers with filters of n components, 25 properties in every message, and r = 1."""
    plan = AND_FILTERS.plan(cell, TODAY)

    assert plan.publishers == 20
    assert plan.n_fltr == len(plan.subscriptions) == 10
    assert all(
        len(components(subscription.selector)) == cell.factors["length"] for _, subscription in plan.subscriptions
    )
    assert {tuple(name for name, _ in lane.template.properties) for lane in plan.lanes} == {
        tuple(f"P{number}" for number in range(1, 26))
    }
    assert {len(lane.receivers) for lane in plan.lanes} == {1}
    messages_for = Counter(receiver for lane in plan.lanes for receiver in lane.receivers)
    assert messages_for == dict.fromkeys(range(10), 20)


@pytest.mark.parametrize("cell", PAPER_CELLS, ids=lambda cell: cell.id)
def test_an_and_filter_rejects_where_its_series_says(cell):
    """Of the 100 pairs 10 match; series 1 rejects at the first component, 3 at the last, 2 half way.

    Half of an even n is not one place: with the condition j <= m / 2 (the paper prints n / 2), 70 of the 90
    pairs are rejected at n / 2 and 20 at n / 2 + 1.
    """
    series, length = cell.factors["series"], cell.factors["length"]
    expected = {1: {1: 90}, 3: {length: 90}}.get(series)
    if series == 2:
        expected = {(length + 1) // 2: 90} if length % 2 else {length // 2: 70, length // 2 + 1: 20}

    assert rejections(AND_FILTERS.plan(cell, TODAY)) == {0: 10, **expected}
