"""How long a grid of each level measures, unless its user says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.model import Plan


@dataclass(frozen=True, slots=True)
class Level:
    """Windows per cell and their length; the warm-up is a minimum, the data decide above it."""

    windows: int
    window_s: float
    warm_up_s: float


LEVELS: Mapping[str, Level] = {
    "smoke": Level(windows=1, window_s=0.3, warm_up_s=0.0),  # correctness only
    "quick": Level(windows=3, window_s=2.5, warm_up_s=40.0),
    "today": Level(windows=5, window_s=5.0, warm_up_s=60.0),
    "paper": Level(windows=5, window_s=10.0, warm_up_s=60.0),
}

#: What a cell takes besides its windows, and a start besides its warm-up: least squares over the 30 gaps between the
#: cells of one quick run of ActiveMQ Classic 5.18.3 on 2 cores. Repeated windows and a warm-up that does not become
#: stationary come on top.
CELL_S, CONNECTION_S, START_S = 2.2, 0.0012, 7.0


def estimate_s(plans: list[Plan], level: Level, starts: int) -> float:
    """Seconds that all starts (of all brokers) will take, each with every plan once."""
    cells = sum(CELL_S + CONNECTION_S * plan.connections + level.windows * level.window_s for plan in plans)
    return starts * (START_S + 1.5 * level.warm_up_s + cells)
