"""Defaults for the cells, layouts, rounds and slices of a run, a user's own grids, and estimates of the duration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from workloads.errors import WorkloadError
from workloads.throughput.blocks import Block
from workloads.throughput.flow import Cell, Experiment
from workloads.throughput.load_shape import LoadOverride, ShareOfCapacity


@dataclass(frozen=True, slots=True)
class Preset:
    """Sizes and durations of a run. There is no warm-up where both of its times are 0."""

    #: layouts of a start after which it is decided whether it goes on to the next number; the last ends it
    looks: tuple[int, ...]
    #: rounds of a layout
    rounds: int
    #: measured part of a slice, s
    slice_s: float
    #: least duration of the warm-up, s
    warm_up_s: float
    #: approximate duration of the warm-up, s, in a start whose broker does not become warm
    warm_up_limit_s: float
    #: no layout begins after the first look if its end would be later than this after the begin of the start, s
    limit_s: float | None = None
    #: factor by which the interval of a run with several looks is wider than that of a fixed number of layouts
    widening: float = 1.0

    @property
    def layouts(self) -> int:
        """Layouts of a start until the first look."""
        return self.looks[0]

    def fixed(self, layouts: int) -> Preset:
        """The same with one look, after this number of layouts: nothing is decided, so the interval is as it is."""
        return replace(self, looks=(layouts,), limit_s=None, widening=1.0)

    def up_to(self, most: int) -> Preset:
        """The same looks as far as they are below this number of layouts, further ones GROWTH apart, and this one."""
        looks = list(self.looks)
        while looks[-1] < most:
            looks.append(round(looks[-1] * GROWTH))
        kept = tuple(look for look in looks if look < most)
        return replace(self, looks=(*kept, most), limit_s=None) if kept else self.fixed(most)


#: Ratio of the numbers of layouts of two looks beyond those of a grid: the step of its last ones.
GROWTH = 1.5

#: The preset that shows correctness only.
SMOKE = "smoke"

PRESETS: Mapping[str, Preset] = {
    SMOKE: Preset(looks=(1,), rounds=1, slice_s=0.1, warm_up_s=0.0, warm_up_limit_s=0.0),
    "quick": Preset(
        looks=(16, 24, 36, 48),
        rounds=2,
        slice_s=0.2,
        warm_up_s=20.0,
        warm_up_limit_s=120.0,
        limit_s=630.0,
        # simulated (`make bench-fit`): without it the intervals of runs that ended at a look cover 92.6 to 96.0 % on a
        # recorded restless host, with it 93.3 to 96.7 %
        widening=1.05,
    ),
    "today": Preset(looks=(8, 12, 16), rounds=5, slice_s=0.2, warm_up_s=40.0, warm_up_limit_s=180.0),
    "paper": Preset(looks=(8, 12, 16), rounds=5, slice_s=0.2, warm_up_s=40.0, warm_up_limit_s=180.0),
    # of each pair of lives; an even number of rounds, since every two have a cell in both orders of the brokers
    "gate": Preset(looks=(2,), rounds=6, slice_s=0.2, warm_up_s=20.0, warm_up_limit_s=120.0),
}

#: Factors by which slices are longer for cells with their own load shape or with connections as a factor, and for open
#: loops: a synchronous publisher is far from the broker's capacity, and a percentile of an open loop needs messages.
#: With 25 instead of 15 an open loop would last 5 s, and `latency` alone more than half an hour.
PACED_SLICE, OPEN_SLICE = 5.0, 15.0

#: Ramp: load before the measured part of a slice, as a share of that part; its least and greatest duration in s. The
#: least is 2.5 times the time for which messages are in flight. In one run of 48 layouts, 24 with a ramp of 0.05 s and
#: 24 with 0.03 s in turn, cells took 0.9 % less with the shorter one (95 % interval -2.4 to +0.5 %).
RAMP_SHARE, RAMP_S = 0.15, (0.03, 1.0)

#: Share of the rounds that a layout has in a block of cells that share no connections; at least one round.
PACED_ROUNDS = 0.5

#: A layout begins with a round that is not counted: the broker's code meets new objects, and garbage from connecting
#: is collected. Its total duration in s, in a run that has a warm-up. In one run of 48 layouts, with 3 s and 0.8 s in
#: turn, cells took 0.6 % more after the shorter one (-1.0 to +2.2 %), and 0.2 % less in the first counted round than in
#: the second (-2.1 to +1.6 %).
WARMING_S = 0.8


def slice_s(level_slice_s: float, pace: LoadOverride | None, *, own_connections: bool) -> float:
    """The measured part of a cell's slice in s; the engine extends it for a broker that takes few messages in it."""
    if isinstance(pace, ShareOfCapacity):
        return level_slice_s * OPEN_SLICE
    return level_slice_s * PACED_SLICE if own_connections else level_slice_s


def ramp_s(measured_s: float) -> float:
    """Duration in s of the ramp before the measured part of a slice."""
    least, most = RAMP_S
    return min(most, max(least, RAMP_SHARE * measured_s))


def rounds_of(level: Preset, block: Block) -> int:
    """Counted rounds of a block in each of its layouts."""
    return max(1, round(level.rounds * PACED_ROUNDS)) if block.own_connections else level.rounds


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of each experiment: those of a level, or a user's own factors by experiment."""

    name: str
    level: Preset
    own: Mapping[str, Mapping[str, Any]] | None = None

    def cells(self, experiment: Experiment) -> tuple[Cell, ...]:
        """Raises WorkloadError where the experiment has no such grid, or not these factors."""
        if self.own is None:
            return experiment.cells(self.name)
        levels = self.own.get(experiment.name)
        return () if levels is None else experiment.grid_of(levels)


def grid_of(name: str, table: Mapping[str, Any]) -> Grid:
    """A grid from a user's table: `looks` or `layouts`, `rounds`, `slice_seconds`, `warmup_seconds`, and a table of
    factors per experiment.

    Missing keys default to those of `quick`. Raises WorkloadError for any other key; whether the experiments exist is
    checked when they are collected.
    """
    quick = PRESETS["quick"]
    times = {"rounds": quick.rounds, "slice_seconds": quick.slice_s, "warmup_seconds": quick.warm_up_s}
    own: dict[str, Mapping[str, Any]] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            own[key] = value
        elif key in times:
            if isinstance(value, bool) or not isinstance(value, type(times[key]) | int):
                raise WorkloadError(f"grid {name}: {key}: expected a number, got {value!r}")
            times[key] = value
        elif key not in _LOOKS:
            raise WorkloadError(
                f"grid {name}: unknown key {key!r}; expected {', '.join((*_LOOKS, *times))}, and a table of factors "
                "per experiment"
            )
    if not own:
        raise WorkloadError(f"grid {name}: no experiment; expected a table such as [replication] with its factors")
    warm_up_s = times["warmup_seconds"]
    level = replace(
        _looking(name, table, quick),
        rounds=int(times["rounds"]),
        slice_s=times["slice_seconds"],
        warm_up_s=warm_up_s,
        warm_up_limit_s=max(warm_up_s, quick.warm_up_limit_s) if warm_up_s else 0.0,
    )
    return Grid(name, level, own)


#: Keys of a user's grid of which it may have one: numbers of layouts after which it is decided whether to go on, or a
#: number that is measured in any case.
_LOOKS = ("looks", "layouts")


def _looking(name: str, table: Mapping[str, Any], quick: Preset) -> Preset:
    """`quick` with the looks of a user's table."""
    if all(key in table for key in _LOOKS):
        raise WorkloadError(f"grid {name}: looks and layouts: expected one of them; layouts = N is one look, after N")
    if "layouts" in table:
        layouts = table["layouts"]
        if isinstance(layouts, bool) or not isinstance(layouts, int):
            raise WorkloadError(f"grid {name}: layouts: expected a number, got {layouts!r}")
        return quick.fixed(layouts)
    if "looks" not in table:
        return quick
    looks = table["looks"]
    whole = isinstance(looks, list) and all(isinstance(look, int) and not isinstance(look, bool) for look in looks)
    if not whole or not looks or looks[0] < 1 or any(after <= before for before, after in pairwise(looks)):
        raise WorkloadError(
            f"grid {name}: looks: expected growing whole numbers of layouts such as [16, 24, 36, 48], got {looks!r}"
        )
    return quick.fixed(looks[0]) if len(looks) == 1 else replace(quick, looks=tuple(looks), limit_s=None)


#: Overheads in s: of a slice besides its ramp and measured part, of opening and closing a connection and a
#: subscription, and of a start besides its warm-up. Measured on ActiveMQ Classic 5.18.3 on 2 cores.
DRAIN_S, CONNECTION_S, SUBSCRIPTION_S, START_S = 0.015, 0.0006, 0.00015, 7.0

#: Overhead in s of a workload's cell besides its periods: from two runs of ActiveMQ Classic 5.18.3 on 2 cores.
CELL_S = 2.2

#: Typical duration of a warm-up that ends when the broker is warm, as a share of its limit.
WARM_UP_SHARE = 0.28


def estimate_s(blocks: Sequence[Block], level: Preset, starts: int) -> float:
    """Seconds that all starts of one broker will take, if each ends at its first look."""
    warm_up_s = max(level.warm_up_s, WARM_UP_SHARE * level.warm_up_limit_s)
    return starts * (START_S + warm_up_s + level.layouts * pass_s(blocks, level))


def longest_s(blocks: Sequence[Block], level: Preset) -> float:
    """Seconds that a start will take at most: with the longest warm-up, to its time limit or its last look."""
    begun_s = START_S + level.warm_up_limit_s
    if level.limit_s is None:
        return begun_s + level.looks[-1] * pass_s(blocks, level)
    return max(level.limit_s, begun_s + level.layouts * pass_s(blocks, level))


def pass_s(blocks: Sequence[Block], level: Preset) -> float:
    """Seconds that a layout of every block takes on a broker not seen yet."""
    return sum(layout_s(block, level) for block in blocks)


def layout_s(block: Block, level: Preset, slices_s: Iterable[float] | None = None) -> float:
    """Seconds that one layout of a block takes on a broker.

    slices_s: measured part of each cell's slice, s; those of the level where None, for a broker not seen yet
    """
    if slices_s is None:
        slices_s = [slice_s(level.slice_s, cell.pace, own_connections=cell.own_connections) for cell in block.cells]
    round_s = sum(measured + ramp_s(measured) + DRAIN_S for measured in slices_s)
    opening_s = CONNECTION_S * block.connections + SUBSCRIPTION_S * block.subscriptions
    return opening_s + (WARMING_S if level.warm_up_limit_s else 0.0) + rounds_of(level, block) * round_s
