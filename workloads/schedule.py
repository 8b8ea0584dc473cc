"""The order of a run, as a pure function of what was asked for and a seed.

Cells are shuffled in every start, so that drift does not alias with a factor; the brokers of a run are
started in turn, forth and back (A B C C B A), so that drift of the host does not alias with a broker.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from workloads.errors import WorkloadError


@dataclass(frozen=True, slots=True)
class Slot:
    """One measurement: a cell of an experiment, in one life (start) of a broker process. Starts count from 1."""

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
