"""How long a run measures what: slices, rounds and layouts of each level, a user's own, and what they take."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.arrivals import ArrivalProcess
from workloads.errors import WorkloadError
from workloads.limits import LAYOUTS
from workloads.messaging import Destination, DestinationKind
from workloads.throughput.blocks import Block, BlockCell, compose
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template
from workloads.throughput.load_shape import AtCapacity, ShareOfCapacity, SyncPublishers
from workloads.throughput.presets import (
    OPEN_SLICE,
    PACED_SLICE,
    PRESETS,
    RAMP_S,
    WARMING_S,
    Preset,
    estimate_s,
    grid_of,
    layout_s,
    longest_s,
    ramp_s,
    rounds_of,
    slice_s,
)

TODAY = PROFILES["today"]
GRID = {"replication": {"further": [0], "replication": [1]}}


def cell_of(number, *, own_connections=False, pace=None):
    flow = Flow(Destination(DestinationKind.TOPIC, f"t{number}"), 2, (Template(),), (Subscription(),) * 3)
    return BlockCell(Plan("e", f"c{number}", TODAY, (flow,)), pace, own_connections)


def block_of(cells, **changes):
    return Block(0, tuple(cell_of(number, **changes) for number in range(cells)))


@pytest.mark.parametrize("name", PRESETS)
def test_a_level_has_enough_layouts_for_an_interval(name):
    """`smoke` looks at correctness only; the unit of `gate` is the pair of lives."""
    level = PRESETS[name]

    assert (level.layouts >= LAYOUTS.limit) == (name not in {"smoke", "gate"})
    assert (level.warm_up_limit_s > 0) == (name != "smoke")
    assert level.warm_up_s <= level.warm_up_limit_s
    assert list(level.looks) == sorted(set(level.looks))
    assert len(level.looks) > 1 or level.widening == 1


def test_a_fixed_number_of_layouts_is_one_look():
    """Nothing is decided after it, so that neither time nor interval changes."""
    level = PRESETS["quick"].fixed(20)

    assert (level.looks, level.layouts, level.limit_s, level.widening) == ((20,), 20, None, 1.0)


@pytest.mark.parametrize(
    ("most", "looks"),
    [
        (10, (10,)),
        (16, (16,)),
        (20, (16, 20)),
        (48, (16, 24, 36, 48)),
        (60, (16, 24, 36, 48, 60)),
        (200, (16, 24, 36, 48, 72, 108, 162, 200)),
    ],
)
def test_looks_up_to_a_number_of_layouts(most, looks):
    """Those of the grid below it, further ones half as far again, and the number itself; no time limit then."""
    level = PRESETS["quick"].up_to(most)

    assert level.looks == looks
    assert level.limit_s is None
    assert level.widening == (PRESETS["quick"].widening if len(looks) > 1 else 1.0)


@given(seconds=st.floats(0.01, 10))
def test_a_ramp_is_a_share_of_its_slice_within_bounds(seconds):
    """A short slice has the least that a queue takes to fill; a long one wastes no more than a second."""
    least, most = RAMP_S

    assert least <= ramp_s(seconds) <= most
    assert ramp_s(seconds) <= ramp_s(seconds * 2)


def test_slices_of_cells_that_pace_themselves_are_longer():
    """A percentile needs messages, and a synchronous publisher sends few."""
    plain = slice_s(0.4, None, own_connections=False)
    paced = slice_s(0.4, SyncPublishers(1), own_connections=True)
    open_loop = slice_s(0.4, ShareOfCapacity(50, ArrivalProcess.POISSON), own_connections=True)

    assert (plain, paced, open_loop) == (0.4, 0.4 * PACED_SLICE, 0.4 * OPEN_SLICE)
    assert open_loop >= 5
    assert slice_s(0.4, AtCapacity(), own_connections=True) == paced


@pytest.mark.parametrize(("rounds", "own"), [(1, 1), (2, 1), (3, 2), (5, 2), (8, 4)])
def test_blocks_of_long_slices_have_fewer_rounds(rounds, own):
    """About half of them, and one at least."""
    level = Preset((8,), rounds, 0.4, 0, 0)

    assert rounds_of(level, block_of(6)) == rounds
    assert rounds_of(level, block_of(6, own_connections=True)) == own


@given(layouts=st.integers(1, 20), rounds=st.integers(1, 9), starts=st.integers(1, 5))
def test_what_a_run_takes_grows_with_what_it_does(layouts, rounds, starts):
    """More layouts, rounds, starts or cells take longer, by what they add."""
    level = Preset((layouts,), rounds, 0.4, 20.0, 75.0)
    blocks = [block_of(8)]
    took = estimate_s(blocks, level, starts)

    assert estimate_s(blocks, Preset((layouts + 1,), rounds, 0.4, 20.0, 75.0), starts) == pytest.approx(
        took + starts * layout_s(blocks[0], level)
    )
    cold = replace(level, warm_up_limit_s=0.0)
    assert layout_s(blocks[0], level) - layout_s(blocks[0], cold) == pytest.approx(WARMING_S)
    assert layout_s(blocks[0], cold) > rounds * 8 * (0.4 + ramp_s(0.4))
    assert estimate_s(blocks, Preset((layouts,), rounds + 1, 0.4, 20.0, 75.0), starts) > took
    assert estimate_s(blocks, level, 2 * starts) == pytest.approx(2 * took)
    assert estimate_s([block_of(9)], level, starts) > took


def test_quick_takes_minutes():
    """Sixteen cells of some thousand subscriptions in all."""
    cells = [cell_of(number) for number in range(16)]
    seconds = estimate_s(compose(cells, 10_000, TODAY), PRESETS["quick"], 1)

    assert 120 < seconds < 300


def test_a_run_takes_at_most_its_time_limit():
    """And its longest warm-up and all of its first look, however long they are; without a limit, its last look."""
    blocks = [block_of(12)]
    level = Preset((8, 12), 2, 0.2, 20.0, 60.0, limit_s=5000.0)

    assert longest_s(blocks, level) == 5000
    first_s = longest_s(blocks, replace(level, limit_s=1.0))
    last_s = longest_s(blocks, replace(level, limit_s=None))
    assert last_s - first_s == pytest.approx(4 * layout_s(blocks[0], level))
    assert first_s > estimate_s(blocks, level, 1)


def test_a_users_grid_says_what_differs():
    """What it does not say is that of `quick`; without a warm-up there is no limit to it either."""
    quick = PRESETS["quick"]
    assert grid_of("mine", GRID).level == quick
    times = {"layouts": 5, "rounds": 3, "slice_seconds": 1, "warmup_seconds": 90.0}
    level = grid_of("mine", times | GRID).level
    assert (level.layouts, level.rounds, level.slice_s, level.warm_up_s) == (5, 3, 1, 90.0)
    assert level.warm_up_limit_s >= 90.0
    assert grid_of("mine", {"warmup_seconds": 0} | GRID).level.warm_up_limit_s == 0
    assert grid_of("mine", GRID).own == GRID
    assert (level.looks, level.limit_s) == ((5,), None)
    looks = grid_of("mine", {"looks": [4, 6, 10]} | GRID).level
    assert (looks.looks, looks.limit_s, looks.widening) == ((4, 6, 10), None, quick.widening)
    assert grid_of("mine", {"looks": [7]} | GRID).level == quick.fixed(7)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            {"windows": 3} | GRID,
            "unknown key 'windows'; expected looks, layouts, rounds, slice_seconds, warmup_seconds, and",
        ),
        ({"rounds": "two"} | GRID, "rounds: expected a number, got 'two'"),
        ({"rounds": True} | GRID, "rounds: expected a number, got True"),
        ({"rounds": 2.5} | GRID, "rounds: expected a number, got 2.5"),
        ({"rounds": 2}, r"no experiment; expected a table such as \[replication\]"),
        ({"layouts": "many"} | GRID, "layouts: expected a number, got 'many'"),
        ({"layouts": 5, "looks": [5]} | GRID, "looks and layouts: expected one of them"),
        ({"looks": [8, 8]} | GRID, r"looks: expected growing whole numbers of layouts such as .*, got \[8, 8\]"),
        ({"looks": []} | GRID, "looks: expected growing whole numbers"),
        ({"looks": [0, 4]} | GRID, "looks: expected growing whole numbers"),
        ({"looks": 16} | GRID, "looks: expected growing whole numbers"),
        ({"looks": [True, 4]} | GRID, "looks: expected growing whole numbers"),
    ],
)
def test_a_users_grid_that_is_wrong_is_refused(table, words):
    """The text says what was expected."""
    with pytest.raises(WorkloadError, match=f"grid mine: {words}"):
        grid_of("mine", table)
