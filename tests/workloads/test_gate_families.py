"""The words of a gate: which costs the cells separate, the order of the brokers, and the rules of a gate."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.experiments import EXPERIMENTS
from workloads.gate import ALL_CELLS, CONFIRMING_PAIRS, DECIDING, FEWEST_PAIRS, LOOKS, GateRules, Policy
from workloads.schedule import pair_orders
from workloads.throughput.families import COSTS, families
from workloads.throughput.flow import PROFILES
from workloads.throughput.presets import PRESETS


def cells(*points, name="replication"):
    return [(name, n_fltr, copies) for n_fltr, copies in points]


@pytest.mark.parametrize(
    ("selected", "costs"),
    [
        (cells((1, 1), (10, 10), (641, 1), (650, 10)), COSTS),
        (cells((1, 1), (10, 10), (641, 1)), ()),  # as many cells as costs
        (cells((1, 1), (2, 2), (5, 5), (10, 10)), ()),  # filters and copies vary together
        (cells((0, 1), (0, 2), (0, 10)), ("t_rcv", "t_tx")),  # no filters at all
        (cells((0, 1), (0, 1), (0, 10)), ()),  # a cell counts once
        (cells((1, 1), (161, 1), (641, 1), (2561, 1)), ()),  # the copies are those of every message
        ([*cells((1, 1), (10, 10), (641, 1), (650, 10)), *cells((5, 5), name="body_size")], ()),
        ([], ()),
    ],
)
def test_costs_that_the_cells_separate(selected, costs):
    """All that occur, or none; more cells than costs, of one experiment. All cells together are always a family."""
    assert families(selected) == (*costs, ALL_CELLS)


@given(points=st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 40)), unique=True, max_size=6))
def test_separated_costs_are_those_of_full_rank(points):
    """As numpy's rank of the same cells says."""
    matrix = np.array([(1.0, *point) for point in points]).reshape(-1, 3)
    used = matrix[:, matrix.any(axis=0)]
    full = len(points) > used.shape[1] > 0 and np.linalg.matrix_rank(used / used.max(axis=0)) == used.shape[1]

    assert (len(families(cells(*points))) > 1) == full


def test_the_grid_of_a_gate_separates_all_costs():
    """Six cells of replication; every other experiment has a grid for gates too, except latency, which has no cell."""
    experiment = EXPERIMENTS["replication"]
    plans = [experiment.plan(cell, PROFILES["today"]) for cell in experiment.cells("gate")]

    assert len(plans) == 6
    assert families(("replication", plan.n_fltr, plan.replication) for plan in plans) == (*COSTS, ALL_CELLS)
    assert {name for name, each in EXPERIMENTS.items() if not each.cells("gate")} == {"latency"}
    assert (PRESETS["gate"].layouts * PRESETS["gate"].rounds) % 2 == 0


@given(cells=st.integers(1, 30), seed=st.text(max_size=5), pairs=st.integers(1, 10))
def test_every_cell_has_both_orders_in_every_two_rounds(cells, seed, pairs):
    """Rounds 1 and 2, 3 and 4, ...: each cell once with the one broker first and once with the other."""
    orders = list(islice(pair_orders(cells, seed), 2 * pairs))

    assert all(len(order) == cells for order in orders)
    assert all(
        before != after
        for first, second in zip(orders[::2], orders[1::2], strict=True)
        for before, after in zip(first, second, strict=True)
    )


def test_the_order_of_the_brokers_is_random():
    """Each cell has its own, by the seed alone; neither order is preferred in the first of two rounds."""
    orders = list(islice(pair_orders(20, "1"), 200))

    assert orders == list(islice(pair_orders(20, "1"), 200))
    assert orders != list(islice(pair_orders(20, "2"), 200))
    assert len(set(orders)) == len(orders)
    first = np.array(orders[::2])
    assert 0.4 < first.mean() < 0.6
    assert abs(np.corrcoef(first.T)[~np.eye(20, dtype=bool)]).max() < 0.5


def test_the_rules_of_a_gate():
    """As in the method: three looks, five fresh pairs, at most 20 pairs; the deciding families keep their margin."""
    rules = GateRules(
        0.05, Policy.BLAME, LOOKS, CONFIRMING_PAIRS, calibrated={"t_tx": 0.2, "t_rcv": 0.2, "t_fltr": 0.01}
    )

    assert (LOOKS, CONFIRMING_PAIRS, FEWEST_PAIRS, DECIDING) == ((5, 8, 12), 5, 5, (ALL_CELLS, "t_tx"))
    assert rules.most_pairs == 20
    assert GateRules(0.05, Policy.BLAME, (8,), 0).most_pairs == 8
    assert [rules.margin_of(family) for family in ("t_tx", ALL_CELLS, "t_rcv", "t_fltr")] == [0.05, 0.05, 0.2, 0.05]
