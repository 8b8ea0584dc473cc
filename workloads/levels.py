"""Which cells a run measures and how long, unless its user says otherwise; and what that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workloads.errors import WorkloadError
from workloads.model import Cell, Experiment, Plan
from workloads.sendrules import Pace, Utilisation


@dataclass(frozen=True, slots=True)
class Level:
    """Windows per cell and their length; the warm-up is a minimum, the data decide above it."""

    windows: int
    window_s: float
    warm_up_s: float


LEVELS: Mapping[str, Level] = {
    "smoke": Level(windows=1, window_s=0.3, warm_up_s=0.0),  # correctness only
    "quick": Level(windows=3, window_s=2.0, warm_up_s=40.0),
    "today": Level(windows=5, window_s=5.0, warm_up_s=60.0),
    "paper": Level(windows=5, window_s=10.0, warm_up_s=60.0),
}


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of each experiment: those of a level, or a user's own factors by experiment."""

    name: str
    level: Level
    own: Mapping[str, Mapping[str, Any]] | None = None

    def cells(self, experiment: Experiment) -> tuple[Cell, ...]:
        """Raises WorkloadError where the experiment has no such grid, or not these factors."""
        if self.own is None:
            return experiment.cells(self.name)
        levels = self.own.get(experiment.name)
        return () if levels is None else experiment.grid_of(levels)


def grid_of(name: str, table: Mapping[str, Any]) -> Grid:
    """A grid from a user's table: `windows`, `window_seconds`, `warmup_seconds`, and a table of factors per experiment.

    What is not said of the times is that of `quick`. Raises WorkloadError for any other key; whether the
    experiments exist is known when they are collected.
    """
    quick = LEVELS["quick"]
    times = {"windows": quick.windows, "window_seconds": quick.window_s, "warmup_seconds": quick.warm_up_s}
    own: dict[str, Mapping[str, Any]] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            own[key] = value
        elif key not in times:
            raise WorkloadError(
                f"grid {name}: unknown key {key!r}; expected {', '.join(times)}, and a table of factors per experiment"
            )
        elif isinstance(value, bool) or not isinstance(value, type(times[key]) | int):
            raise WorkloadError(f"grid {name}: {key}: expected a number, got {value!r}")
        else:
            times[key] = value
    if not own:
        raise WorkloadError(f"grid {name}: no experiment; expected a table such as [replication] with its factors")
    return Grid(name, Level(int(times["windows"]), times["window_seconds"], times["warmup_seconds"]), own)


#: One window in four may be measured again, so that a restless host cannot make a run much longer than estimated.
REPEATED_SHARE = 1 / 4

#: What a cell takes besides its windows, a start besides its warm-up, and one look of a warm-up: from two quick runs of
#: ActiveMQ Classic 5.18.3 on 2 cores (30 and 117 cells).
CELL_S, CONNECTION_S, START_S, LOOK_S = 2.2, 0.0012, 7.0, 6.0


def estimate_s(cells: Sequence[tuple[Plan, Pace | None]], level: Level, starts: int, looks: int) -> float:
    """Seconds that all starts (of all brokers) will take, each with every cell once.

    looks: cells that a warm-up loads in turn, two rounds at least. An experiment with open loops measures its
    capacity first, in every start. Of the windows that a slow host may have measured again, half are.
    """
    windows_s = level.windows * level.window_s * (1 + REPEATED_SHARE / 2)
    cell_s = [CELL_S + CONNECTION_S * plan.connections + windows_s for plan, _ in cells]
    open_loops = {
        plan.experiment: took for (plan, pace), took in zip(cells, cell_s, strict=True) if type(pace) is Utilisation
    }
    warm_up_s = max(1.5 * level.warm_up_s, 2 * looks * LOOK_S) if level.warm_up_s else 0.0
    return starts * (START_S + warm_up_s + sum(cell_s) + sum(open_loops.values()))
