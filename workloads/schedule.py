"""The order of a run, as a pure function of what was asked for and a seed.

The brokers of a run are started in turn, forth and back (A B C C B A), so that drift of the host does not alias with a
broker. Within a start every round has each cell once, in a different order. Where every cell has a broker of its own,
the brokers take turns in every cell.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workloads.errors import WorkloadError


@dataclass(frozen=True, slots=True)
class Slot:
    """A measurement: a cell of an experiment, in a start of a broker process. Starts count from 1."""

    broker: str
    start: int
    experiment: str
    cell: str


def schedule(cells: Sequence[tuple[str, str]], brokers: Sequence[str], starts: int, seed: int) -> tuple[Slot, ...]:
    """All (experiment, cell) pairs once in every start of every broker, in random order within a start.

    Raises WorkloadError where a broker is named twice or there is no start.
    """
    if starts < 1:
        raise WorkloadError(f"starts: expected at least 1, got {starts}")
    if len(set(brokers)) < len(brokers):
        raise WorkloadError(f"brokers: each may be named once, got {', '.join(brokers)}")
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    slots: list[Slot] = []
    for start in range(1, starts + 1):
        for broker in brokers if start % 2 else reversed(brokers):
            order = sorted(cells)
            rng.shuffle(order)
            slots += [Slot(broker, start, experiment, cell) for experiment, cell in order]
    return tuple(slots)


def turns(cells: Sequence[tuple[str, str]], brokers: tuple[str, str], starts: int, seed: int) -> tuple[Slot, ...]:
    """The same for two brokers, each cell on one of them and right after it on the other, in random order.

    Of starts 1 and 2, 3 and 4, ... a cell has one in either order of the brokers, at random.
    """
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    slots: list[Slot] = []
    for start, reverse in zip(range(1, starts + 1), pair_orders(len(cells), str(seed)), strict=False):
        order = list(zip(sorted(cells), reverse, strict=True))
        rng.shuffle(order)
        for cell, second_first in order:
            slots += [Slot(broker, start, *cell) for broker in (brokers[::-1] if second_first else brokers)]
    return tuple(slots)


def round_orders(cells: int, seed: str) -> Iterator[tuple[int, ...]]:
    """The order of the cells 0, 1, ... in each round, an endless iterator.

    The rows of a Latin square that is balanced for carry-over, in random order and with relabelled cells: over as many
    rounds as there are cells (twice as many where that number is odd) each cell follows each other cell equally often
    (Williams, Australian Journal of Scientific Research A 2, 1949, pages 149-168).
    """
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    zigzag = [index // 2 if index % 2 else -(index // 2) for index in range(1, cells + 1)]
    while True:
        names = rng.sample(range(cells), cells)
        rows = [[names[(shift + step) % cells] for step in zigzag] for shift in range(cells)]
        if cells % 2:
            rows += [row[::-1] for row in rows]
        rng.shuffle(rows)
        yield from (tuple(row) for row in rows)


def pair_orders(cells: int, seed: str) -> Iterator[tuple[bool, ...]]:
    """Per cell and round, whether the second of two brokers is loaded before the first; an endless iterator.

    Of rounds 1 and 2, 3 and 4, ... each cell has one in either order, at random.
    """
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    while True:
        first = tuple(rng.random() < 0.5 for _ in range(cells))
        yield first
        yield tuple(not reverse for reverse in first)
