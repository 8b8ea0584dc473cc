"""The order of a run: random where drift could hide, and the same for the same seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby, islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.schedule import Slot, round_orders, schedule, turns

CELLS = [("replication", f"r{number:02d}") for number in range(12)] + [("and_filters", "s1-n01")]

CELL_LISTS = st.lists(
    st.tuples(st.sampled_from("xyz"), st.text("abc", min_size=1, max_size=3)), unique=True, max_size=8
)
BROKERS = st.lists(st.sampled_from(["activemq", "artemis", "stomp://h:1"]), unique=True, max_size=3)


@given(cells=CELL_LISTS, brokers=BROKERS, starts=st.integers(1, 4), seed=st.integers())
def test_every_cell_comes_once_in_every_start(cells, brokers, starts, seed):
    """All pairs of experiment and cell, once per broker and start, and each start in one piece."""
    slots = schedule(cells, brokers, starts, seed)

    assert Counter(slots) == Counter(
        Slot(broker, start, *cell) for broker in brokers for start in range(1, starts + 1) for cell in cells
    )
    lives = [life for life, _ in groupby(slots, key=lambda slot: (slot.broker, slot.start))]
    assert len(lives) == len(set(lives))


@given(cells=CELL_LISTS, starts=st.integers(1, 5), seed=st.integers())
def test_two_brokers_take_turns_in_every_cell(cells, starts, seed):
    """Each cell on one broker and right after it on the other, once in every start; in two starts in either order."""
    slots = turns(cells, ("A", "B"), starts, seed)
    adjacent = list(zip(slots[::2], slots[1::2], strict=True))

    assert Counter(slots) == Counter(schedule(cells, ["A", "B"], starts, seed))
    assert all(replace(first, broker=second.broker) == second for first, second in adjacent)
    first_of = {(first.start, first.experiment, first.cell): first.broker for first, _ in adjacent}
    for number in range(1, starts, 2):
        assert all({first_of[number, *cell], first_of[number + 1, *cell]} == {"A", "B"} for cell in cells)


@given(cells=CELL_LISTS, seed=st.integers(), data=st.data())
def test_the_seed_alone_decides_the_order(cells, seed, data):
    """The same seed gives the same order, in whatever order the cells were collected."""
    collected = data.draw(st.permutations(cells))

    assert schedule(collected, ["a", "b"], 2, seed) == schedule(cells, ["a", "b"], 2, seed)


def test_starts_and_seeds_differ_in_order():
    """Drift within a start cannot stand for a factor: the order is shuffled, and anew in every start."""
    slots = schedule(CELLS, ["activemq"], 2, seed=1)
    first, second = ([slot.cell for slot in slots if slot.start == start] for start in (1, 2))
    other_seed = [slot.cell for slot in schedule(CELLS, ["activemq"], 1, seed=2)]

    assert first != second
    assert first != other_seed
    assert first != sorted(first)


@pytest.mark.parametrize(
    ("starts", "lives"), [(1, "A1 B1 C1"), (2, "A1 B1 C1 C2 B2 A2"), (3, "A1 B1 C1 C2 B2 A2 A3 B3 C3")]
)
def test_brokers_take_turns_forth_and_back(starts, lives):
    """A B C C B A: drift of the host cannot stand for a broker."""
    slots = schedule(CELLS, ["A", "B", "C"], starts, seed=7)

    assert [f"{broker}{start}" for (broker, start), _ in groupby(slots, lambda s: (s.broker, s.start))] == lives.split()


@pytest.mark.parametrize(
    ("brokers", "starts", "message"),
    [
        (["a"], 0, "starts: expected at least 1, got 0"),
        (["a"], -1, "starts: expected at least 1, got -1"),
        (["a", "b", "a"], 1, "brokers: each may be named once, got a, b, a"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(brokers, starts, message):
    """A number of starts below one and a broker named twice are mistakes, named before anything runs."""
    with pytest.raises(WorkloadError, match=message):
        schedule(CELLS, brokers, starts, seed=1)


# --- rounds --------------------------------------------------------------------------------------------------------


def square(cells):
    """How many rounds it takes until every cell has followed each other one equally often."""
    return cells * (1 + cells % 2)


@given(cells=st.integers(1, 40), seed=st.text(max_size=5), rounds=st.integers(1, 100))
def test_every_cell_comes_once_in_every_round(cells, seed, rounds):
    """However many rounds are taken."""
    for order in islice(round_orders(cells, seed), rounds):
        assert sorted(order) == list(range(cells))


@given(cells=st.integers(2, 24), seed=st.text(max_size=5), squares=st.integers(1, 3))
def test_every_cell_follows_each_other_one_equally_often(cells, seed, squares):
    """What a slice leaves behind meets all other cells alike; and every cell has every place equally often."""
    orders = list(islice(round_orders(cells, seed), squares * square(cells)))

    followed = Counter(pair for order in orders for pair in pairwise(order))
    assert set(followed) == {(each, other) for each in range(cells) for other in range(cells) if each != other}
    assert set(followed.values()) == {squares * (1 + cells % 2)}
    places = Counter((cell, place) for order in orders for place, cell in enumerate(order))
    assert set(places.values()) == {squares * (1 + cells % 2)}


@given(cells=st.integers(8, 24), seed=st.text(max_size=5))  # of fewer, the draws are equal now and then
def test_the_seed_of_the_rounds_alone_decides_their_order(cells, seed):
    """The same again for the same seed; another for another, and in the next square."""
    count = square(cells)
    orders = list(islice(round_orders(cells, seed), 2 * count))

    assert orders == list(islice(round_orders(cells, seed), 2 * count))
    assert orders != list(islice(round_orders(cells, f"{seed}x"), 2 * count))
    assert orders[:count] != orders[count:]


def test_one_cell_has_nothing_to_follow():
    """It is alone in all its rounds."""
    assert list(islice(round_orders(1, "7"), 5)) == [(0,)] * 5
