"""What the measuring half is told between two pairs of lives."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from analysis.gate.paired import ratios_of, rows_of
from analysis.planning import pairs_needed
from tests.bench_gate import CELLS as PLANE
from tests.support.gates import adjacent, by_role, rules
from workloads.errors import WorkloadError
from workloads.gate import ALL_CELLS, CONFIRMING_PAIRS, LOOKS
from workloads.throughput.families import COSTS


def plan(n_fltr, copies, **changes):
    """An entry of plan.json, as far as a gate reads it."""
    return SimpleNamespace(n_fltr=n_fltr, replication=copies, **{"fits_model": True, "pace": None, **changes})


PLANS = {key: plan(*factors) for key, factors in PLANE.items()}


def pair(change, second=1.0):
    """The slices of a pair of lives in which every cell changed alike."""
    return by_role(
        {
            key: adjacent([(1e-4, 1e-4 * change)] * 2, place=place, second=second)
            for place, key in enumerate(sorted(PLANE))
        }
    )


STEADY = (1.0, 1.001, 0.999, 1.002, 0.998)


@pytest.mark.parametrize(
    ("changes", "needed", "reason"),
    [
        (STEADY, 0, ""),
        (STEADY[:4], 1, "look after 5 pairs of lives"),
        ((0.5, 2.0, 1.0, 1.5, 0.7), LOOKS[1] - LOOKS[0], "look after 8 pairs of lives"),
        ([1.2 * change for change in STEADY], CONFIRMING_PAIRS, "fresh pairs of lives must confirm the change of "),
    ],
)
def test_pairs_until_the_next_decision(changes, needed, reason):
    """None once all is decided, else those of the next look, or fresh ones that must confirm a change."""
    more, why = pairs_needed(list(map(pair, changes)), PLANS, rules())

    assert more == needed
    assert why.startswith(reason)
    assert bool(why) == bool(reason)


def test_what_cannot_be_compared_ends_the_measurement():
    """A broker that received nothing, or lacks a cell, is an error of the run and not a number of pairs."""
    broken = pair(1.0)
    del broken["candidate"][min(PLANE)]

    with pytest.raises(WorkloadError, match=r"gate: replication f0000-r001, pair of lives 2: the candidate has no "):
        pairs_needed([pair(1.0), broken], PLANS, rules())


def test_only_cells_of_the_model_have_costs():
    """Cells of another experiment, with a load of their own or outside the model count for the mean only."""
    ratios = ratios_of([pair(change) for change in STEADY])

    assert {row.family for row in rows_of(ratios, PLANS)} == {*COSTS, ALL_CELLS}
    for changed in ({"fits_model": False}, {"pace": "receipt, 1 in flight per publisher"}):
        plans = {key: plan(*factors, **changed) for key, factors in PLANE.items()}
        assert {row.family for row in rows_of(ratios, plans)} == {ALL_CELLS}


def test_plans_of_cells_that_were_not_selected_do_not_count():
    """plan.json also has the cells that fill a block; a family is judged from the compared ones."""
    others = {("anchor", "r001"): plan(1, 1), ("replication", "f9999-r001"): plan(9999, 1)}
    ratios = ratios_of([pair(change) for change in STEADY])

    assert rows_of(ratios, PLANS | others) == rows_of(ratios, PLANS)
