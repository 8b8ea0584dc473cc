"""When a broker counts as warm: its cells repeat themselves, whatever the host does, and its compiler is at rest."""

from __future__ import annotations

import random
from math import log

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workloads.limits import WARM_COMPILER, WARM_CONTRASTS
from workloads.throughput.warmth import COMPILED, ROUNDS, STABLE, judge

CELLS = [("replication", f"r{number:03d}") for number in range(8)]
#: Of the broker's CPU time: at rest, and busy.
REST, BUSY = WARM_COMPILER.limit / 10, WARM_COMPILER.limit * 10


def rounds_of(count, *, scatter=0.0, changes=None, seed=1):
    """ln B per round and cell: each cell has its own cost, to which `changes(round, cell)` adds something."""
    drawn = random.Random(seed)
    return [
        {
            cell: log(1e-5 * (1 + place)) + drawn.gauss(0, scatter) + (changes(number, place) if changes else 0.0)
            for place, cell in enumerate(CELLS)
        }
        for number in range(count)
    ]


COSTS = st.floats(-12, -5)
RUNS = st.integers(1, 9).flatmap(
    lambda count: st.lists(st.fixed_dictionaries(dict.fromkeys(CELLS, COSTS)), min_size=count, max_size=count)
)


@given(rounds=RUNS, data=st.data())
def test_the_level_of_a_round_changes_nothing(rounds, data):
    """A host that slows down whole rounds says nothing about the broker."""
    levels = data.draw(st.lists(st.floats(-1, 1), min_size=len(rounds), max_size=len(rounds)))
    shifted = [
        {cell: value + level for cell, value in of_round.items()}
        for of_round, level in zip(rounds, levels, strict=True)
    ]

    here, there = judge(rounds, []), judge(shifted, [])
    if here.contrast_change is None:
        assert there.contrast_change is None
    else:
        assume(abs(here.contrast_change - WARM_CONTRASTS.limit) > 1e-6)
        assert there.contrast_change == pytest.approx(here.contrast_change, abs=1e-6)
    assert there.warm == here.warm


@pytest.mark.parametrize("count", range(2 * ROUNDS))
def test_too_few_rounds_tell_nothing(count):
    """Three rounds are compared with three: before, nothing is known, however alike they are."""
    state = judge(rounds_of(count), [REST] * count)

    assert not state.warm
    assert state.contrast_change is None


@pytest.mark.parametrize(
    ("rounds", "compiler", "missing"),
    [
        (6, REST, ""),
        (6, None, ""),
        (6, BUSY, COMPILED),
        (5, REST, STABLE),
        (5, BUSY, f"{STABLE} and {COMPILED}"),
    ],
)
def test_what_a_cold_broker_lacks_is_told(rounds, compiler, missing):
    """Cells that repeat themselves, a compiler at rest, or both; nothing where it is warm."""
    state = judge(rounds_of(rounds), [compiler] * rounds)

    assert state.missing == missing
    assert state.warm == (not missing)


@pytest.mark.parametrize(("scatter", "least"), [(0.0, 200), (0.02, 196), (0.03, 180), (0.05, 140)])
def test_cells_that_only_scatter_are_warm(scatter, least):
    """What the scatter of a slice explains is no change; where it is large a look may miss that, and the next sees it.

    Of 200 runs of eight cells.
    """
    states = [judge(rounds_of(6, scatter=scatter, seed=seed), [REST] * 6) for seed in range(200)]

    assert sum(state.warm for state in states) >= least
    assert all(state.contrast_change >= 0 for state in states)


@pytest.mark.parametrize("scatter", [0.0, 0.02])
def test_a_cell_that_drifts_is_not_warm(scatter):
    """One cell in eight that still becomes a fifth faster from three rounds to the next three, in steps or at once."""

    def steadily(number, place):
        return -0.25 / ROUNDS * number if place == 3 else 0.0

    def at_once(number, place):
        return -0.25 if place == 3 and number >= ROUNDS else 0.0

    for changes in (steadily, at_once):
        states = [judge(rounds_of(6, scatter=scatter, changes=changes, seed=seed), [REST] * 6) for seed in range(50)]
        assert not any(state.warm for state in states)


def test_only_the_last_rounds_count():
    """What changed long ago is over."""
    rounds = rounds_of(12, changes=lambda number, place: -0.5 if place == 3 and number >= 4 else 0.0)

    assert not judge(rounds[:8], [REST] * 8).warm
    assert judge(rounds, [REST] * 12).warm


@pytest.mark.parametrize(
    ("shares", "warm", "share"),
    [
        ([], True, None),  # without a JVM
        ([None] * 6, True, None),
        ([REST] * 6, True, REST),
        ([BUSY] * 4 + [REST] * 2, True, REST),
        ([REST] * 5 + [BUSY], False, BUSY),
        ([REST] * 4 + [BUSY, REST], False, BUSY),
        ([BUSY] * 6, False, BUSY),
        ([WARM_COMPILER.limit] * 6, False, WARM_COMPILER.limit),
        ([None] * 5 + [REST], False, None),
    ],
)
def test_the_compiler_is_at_rest_in_two_rounds_in_a_row(shares, warm, share):
    """However well the cells repeat themselves; where there is no compiler they alone decide."""
    state = judge(rounds_of(6), shares)

    assert state.warm == warm
    assert state.compiler_share == share


def test_a_cell_that_is_not_in_all_rounds_is_left_out():
    """A slice in which nothing was sent has no cost; the others are compared without it."""
    rounds = rounds_of(6)
    del rounds[2][CELLS[0]], rounds[4][CELLS[5]]
    full = judge(rounds_of(6), [])

    assert full.contrast_change == 0.0
    assert judge(rounds, []).contrast_change is not None
    nothing_common = judge([{CELLS[number % 2]: -10.0} for number in range(6)], [])
    assert (nothing_common.contrast_change, nothing_common.warm) == (None, False)
