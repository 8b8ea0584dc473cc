"""`make bench-fit`: how well the fit knows its own errors, on slices and run directories whose parameters are known.

Slices lie one after the other on a time axis, on hosts that scatter as measured ones did, and that slow down in spells:
coverage of the 95 % intervals over the layouts of one start and of several and over starts, of runs that ended at
one of several looks, also on a host that was recorded, what the estimates miss the
truth by, coverage of runs that were disturbed for more than a third of their slices, what a host does that is disturbed
for half of the time, false alarms of the roofline where nothing is capped, and what it finds where transmission is.
Nothing is timed, so that another load does no harm. The last line is one JSON object. The tests run the same
simulations with fewer seeds.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from tabulate import tabulate

from analysis.results import CellKey
from analysis.throughput import rotation
from analysis.throughput.cost_model import PARAMETERS
from analysis.throughput.fit import STARTS_AS_UNIT, fit
from analysis.throughput.pipeline import analysed
from analysis.throughput.results import CellSummary, FitResult
from microbench.test_replication import QUICK, TODAY
from tests.support import run_directories as rd
from tests.support.fit_cells import summary
from tests.support.recorded_host import recorded_host
from workloads.limits import DISTURBED, DISTURBED_LEVEL
from workloads.schema import ANCHOR
from workloads.status import VerdictKind
from workloads.throughput.presets import DRAIN_S, PRESETS, ramp_s

#: (further filters, replication grade) of the replication experiment, as it has them for a few minutes and for a study;
#: `wide` has the filters beside which a cap leaves several replication grades uncapped.
GRIDS = {
    "quick": tuple(product(*QUICK.values())),
    "wide": rd.CELLS,
    "today": tuple(product(*TODAY.values())),
}


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a grid is measured: the cells in so many blocks, each with these anchors as well."""

    looks: tuple[int, ...]
    rounds: int
    blocks: int
    anchors: tuple[tuple[int, int], ...]

    @property
    def layouts(self) -> int:
        """Until the first look."""
        return self.looks[0]


_MINUTES = Scheme(PRESETS["quick"].looks, PRESETS["quick"].rounds, blocks=1, anchors=())
SCHEMES = {
    "quick": _MINUTES,
    "wide": _MINUTES,
    "today": Scheme(PRESETS["today"].looks, PRESETS["today"].rounds, blocks=4, anchors=((0, 1), (160, 5), (640, 10))),
}


@dataclass(frozen=True, slots=True)
class Spells:
    """A neighbour on the host: all costs grow by `slower` in spells; lengths of spells and gaps are exponential."""

    slower: float
    spell_s: float
    gap_s: float

    def drawn(self, rng: np.random.Generator, until_s: float) -> Iterator[tuple[float, float]]:
        """Begin and end of each, from a random instant on."""
        inside = rng.random() < self.spell_s / (self.spell_s + self.gap_s)
        at_s = 0.0
        while at_s < until_s:
            after_s = at_s + rng.exponential(self.spell_s if inside else self.gap_s)
            if inside:
                yield at_s, after_s
            at_s, inside = after_s, not inside


@dataclass(frozen=True, slots=True)
class Host:
    """Relative standard deviations, each run drawing evenly from the first: of a slice; of a cell in a layout, without
    filters and with most of them (in between with the root of their number); of a round."""

    slices: tuple[float, float]
    layouts: tuple[float, float]
    rounds: float = 0.0
    spells: Spells | None = None


#: As measured on a shared host (4 to 6 %, 1 to 8 %, 2 %), without its spells and with them, on a quiet one, and with
#: spells for half of the time, beside which a run may take the disturbed level for the undisturbed one.
HOSTS = {
    "quiet": Host((0.01, 0.03), (0.01, 0.04)),
    "noisy": Host((0.04, 0.06), (0.03, 0.08), 0.02),
    "spells": Host((0.04, 0.06), (0.03, 0.08), 0.02, Spells(0.30, 7, 28)),
    "half disturbed": Host((0.04, 0.06), (0.03, 0.08), 0.02, Spells(0.30, 14, 14)),
}

#: The name of the host that was recorded: its noise, drawn in stretches, is added to known cells.
RECORDED = "recorded"

#: Of the measured part of a slice, of the whole slice, and of connecting and warming a block, in s.
MEASURED_S = PRESETS["quick"].slice_s
SLICE_S, LAYING_OUT_S = MEASURED_S + ramp_s(MEASURED_S) + DRAIN_S, 7.0

#: Of the time, by pauses for young collections, at r = 1: less with more copies; and how long one is.
PAUSES, PAUSE_S = 0.04, 0.004

#: Lives of a broker differ by so much in each coefficient, drawn once per run.
LIVES = (0.02, 0.05)

#: t_sat / t_tx.
CAPS = (1.5, 2.0)

#: Runs per row: at a coverage of 95 % its standard error is then 0.6 %.
RUNS = 1500
FEW_RUNS = 300
DIRECTORIES = 15

#: What is asked of coverage, and of the mean estimate relative to the truth.
COVERAGE = (0.93, 0.97)
BIAS = 0.03

#: Share of the slices in disturbed rounds from which the limit has to be justified: with fewer, most are undisturbed.
OFTEN = 1 / 3

#: Share of the runs without a cap in which one may be seen.
FALSE_ALARMS = 0.01


@dataclass(frozen=True, slots=True)
class Calibration:
    """Runs of one kind against what they were simulated with; tuples have a value per parameter.

    covered: of the runs · bias: mean of estimate / true, less 1 · error: 95 % quantile of |estimate / true - 1| ·
    half_width: median of the intervals', relative to the truth · disturbed: of the runs, beyond the limit of
    `workloads.limits.DISTURBED` · saturated: fits that prefer the roofline · labelled: of these, those that name
    exactly the capped cells · invalid, unverified: verdicts · asked: whether the row decides the exit code.
    """

    what: str
    starts: int
    runs: int
    covered: tuple[float, ...]
    bias: tuple[float, ...]
    error: tuple[float, ...]
    half_width: tuple[float, ...]
    disturbed: float
    saturated: int
    labelled: int
    invalid: int
    unverified: int
    asked: bool

    @property
    def calibrated(self) -> bool:
        """Every coverage may be within the limits, given that so few runs show it within 3 standard errors only."""
        low, high = COVERAGE
        return all(
            low - 3 * np.sqrt(low * (1 - low) / self.runs) <= share <= high + 3 * np.sqrt(high * (1 - high) / self.runs)
            for share in self.covered
        ) and all(abs(each) <= BIAS for each in self.bias)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A fit, the parameters that it was to find, and the share of its slices in disturbed rounds."""

    result: FitResult
    truth: tuple[float, ...]
    disturbed: float
    #: at which the run ended, from 1
    look: int = 1


@lru_cache(maxsize=64)  # the first of the same runs, asked different questions
def simulated(seed: int, grid: str, starts: int, host: str = "noisy", cap: float | None = None) -> Simulated:
    """One simulated run: over up to 4 starts the truth is the mean of these lives, from 5 on that of all lives."""
    rng = np.random.default_rng([seed, starts])
    scatter = rng.uniform(*HOSTS[host].slices)
    deviation = rng.uniform(*LIVES) if starts > 1 else 0.0
    lives = np.array(rd.TIMES) * np.exp(deviation * rng.standard_normal((starts, 3)))
    measured = [
        one_start(rng, grid, number, tuple(life), HOSTS[host], scatter, (cap or 0.0) * rd.TIMES[2])
        for number, life in enumerate(lives, 1)
    ]
    return Simulated(
        result=fit([cell for cells, _ in measured for cell in cells]),
        truth=rd.TIMES if starts >= STARTS_AS_UNIT else tuple(map(float, lives.mean(axis=0))),
        disturbed=float(np.mean([disturbed for _, disturbed in measured])),
    )


def one_start(
    rng: np.random.Generator,
    grid: str,
    start: int,
    times: tuple[float, ...],
    host: Host,
    scatter: float,
    t_sat_s: float = 0.0,
) -> tuple[list[CellSummary], float]:
    """The cells of a start, and the share of its slices in disturbed rounds."""
    scheme = SCHEMES[grid]
    slices, settings = start_slices(rng, GRIDS[grid], scheme, start, times, host, scatter, t_sat_s)
    return _cells(slices, settings)


def _cells(
    slices: Sequence[rotation.MeasuredSlice], settings: Mapping[CellKey, tuple[int, int]], widening: float = 1.0
) -> tuple[list[CellSummary], float]:
    """The cells of slices, and the share of the slices in disturbed rounds."""
    estimated = rotation.estimate(slices, widening)
    beyond = {key for key, level in estimated.levels.items() if level > DISTURBED_LEVEL.limit}
    return (
        [summary(key, settings[key], estimated) for key in estimated.cells if key.experiment != ANCHOR],
        sum((each.layout, each.block, each.round) in beyond for each in slices) / len(slices),
    )


def stopped(seed: int, grid: str, host: str, widening: float | None = None) -> Simulated:
    """A run of one start that ends at the first look at which it may be believed, or at the last.

    host: of HOSTS, or RECORDED
    widening: of the intervals; None for that of the grid
    """
    rng = np.random.default_rng([seed, 77])
    scheme, most = SCHEMES[grid], SCHEMES[grid].looks[-1]
    factor = PRESETS[grid].widening if widening is None else widening
    if host == RECORDED:
        settings = {CellKey("run", "activemq", 1, "replication", rd.cell_name(*each)): each for each in GRIDS[grid]}
        keys = sorted(settings)
        x = np.array([(1, sum(settings[key]), settings[key][1]) for key in keys], dtype=float)
        slices = recorded_host().slices(rng, keys, list(x @ rd.TIMES), most)
    else:
        scatter = rng.uniform(*HOSTS[host].slices)
        slices, settings = start_slices(rng, GRIDS[grid], scheme, 1, rd.TIMES, HOSTS[host], scatter, layouts=most)
    for number, layouts in enumerate(scheme.looks, 1):
        cells, disturbed = _cells([each for each in slices if each.layout <= layouts], settings, factor)
        result = fit(cells)
        more = disturbed > DISTURBED.limit or any(finding.open_point for finding in result.findings)
        if not more or number == len(scheme.looks):
            return Simulated(result, rd.TIMES, disturbed, number)
    raise ValueError(f"grid {grid} has no look")


def stopped_runs(grid: str, host: str, runs: int, *, asked: bool = True) -> Calibration:
    """Runs that ended at one of their looks, over all of which the intervals must cover."""
    results = [stopped(seed, grid, host) for seed in range(runs)]
    ended = "/".join(str(sum(run.look == look for run in results)) for look in range(1, 1 + len(SCHEMES[grid].looks)))
    return calibration(f"{grid}, {host}, ended at look {ended}", results, asked=asked)


def start_slices(
    rng: np.random.Generator,
    grid: Sequence[tuple[int, int]],
    scheme: Scheme,
    start: int,
    times: tuple[float, ...],
    host: Host,
    scatter: float,
    t_sat_s: float = 0.0,
    layouts: int | None = None,
) -> tuple[list[rotation.MeasuredSlice], dict[CellKey, tuple[int, int]]]:
    """The slices of a start on a time axis of its own, and the setting of each cell.

    t_sat_s: what a copy takes at least.
    layouts: how many; None for those until the first look
    """
    layouts = scheme.layouts if layouts is None else layouts
    settings: dict[CellKey, tuple[int, int]] = {}
    blocks: list[list[CellKey]] = []
    for of_block in np.array_split(np.arange(len(grid)), scheme.blocks):
        named = [("replication", grid[place]) for place in of_block] + [(ANCHOR, anchor) for anchor in scheme.anchors]
        keys = [CellKey("run", "activemq", start, experiment, rd.cell_name(*each)) for experiment, each in named]
        settings |= dict(zip(keys, (each for _, each in named), strict=True))
        blocks.append(keys)
    most = max(further + r for further, r in grid)
    per_layout_s = sum(LAYING_OUT_S + scheme.rounds * len(keys) * SLICE_S for keys in blocks)
    drawn = list(host.spells.drawn(rng, layouts * per_layout_s)) if host.spells else []
    spells = np.array(drawn, dtype=float).reshape(-1, 2)
    slower = host.spells.slower if host.spells else 0.0
    made: list[rotation.MeasuredSlice] = []
    clock_s = 0.0
    for layout in range(1, 1 + layouts):
        for block, keys in enumerate(blocks):
            clock_s += LAYING_OUT_S
            further, r = np.array([settings[key] for key in keys], dtype=float).T
            b = np.maximum(np.column_stack([np.ones(len(r)), further + r, r]) @ times, r * t_sat_s)
            least, largest = host.layouts
            deviation = least + (largest - least) * np.sqrt((further + r) / most)
            pauses = PAUSES / np.sqrt(r)
            running = b * (1 - pauses) * np.exp(deviation * rng.standard_normal(len(r)))
            for number in range(1, 1 + scheme.rounds):
                order = rng.permutation(len(keys))
                begin_s = clock_s + SLICE_S * np.arange(len(keys))
                clock_s += SLICE_S * len(keys)
                overlap_s = np.minimum(spells[:, 1], begin_s[:, None] + MEASURED_S) - np.maximum(
                    spells[:, 0], begin_s[:, None]
                )
                hit = np.clip(overlap_s, 0, None).sum(axis=1) / MEASURED_S
                noise = scatter * rng.standard_normal(len(keys)) + host.rounds * rng.standard_normal()
                taken_s = running[order] * np.exp(noise) / (1 - hit + hit / (1 + slower))
                received = np.maximum(1, np.round(MEASURED_S * (1 - pauses[order]) / taken_s))
                number_of_pauses = rng.poisson(pauses[order] * b[order] * received / PAUSE_S)
                made += [
                    rotation.MeasuredSlice(
                        cell=keys[at],
                        layout=layout,
                        block=block,
                        round=number,
                        position=position,
                        taken_s=float(received[position] * taken_s[position] + number_of_pauses[position] * PAUSE_S),
                        messages=int(received[position]),
                        gc_pause_s=float(number_of_pauses[position] * PAUSE_S),
                        full_gc_pause_s=0.0,
                    )
                    for position, at in enumerate(order)
                ]
    return made, settings


def calibration(what: str, runs: Sequence[Simulated], capped: Sequence[str] = (), *, asked: bool = True) -> Calibration:
    """These fits against the parameters of the simulation, and the cells that are capped there."""
    results = [run.result for run in runs]
    truth = np.array([run.truth for run in runs])
    ends = np.array([[result.parameters[name].ci95 for name in PARAMETERS] for result in results])
    relative = np.array([[result.parameters[name].estimate for name in PARAMETERS] for result in results]) / truth - 1
    found = [result.roofline for result in results if result.roofline is not None and result.roofline.preferred]
    return Calibration(
        what=what,
        starts=results[0].starts,
        runs=len(results),
        covered=_floats(((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean(axis=0)),
        bias=_floats(relative.mean(axis=0)),
        error=_floats(np.quantile(np.abs(relative), 0.95, axis=0)),
        half_width=_floats(np.median((ends[..., 1] - ends[..., 0]) / 2 / truth, axis=0)),
        disturbed=float(np.mean([run.disturbed > DISTURBED.limit for run in runs])),
        saturated=len(found),
        labelled=sum(roofline.capped == tuple(sorted(capped)) for roofline in found),
        invalid=sum(result.verdict == VerdictKind.INVALID for result in results),
        unverified=sum(result.verdict == VerdictKind.UNVERIFIED for result in results),
        asked=asked,
    )


def _floats(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(float, values))


def coverage(grid: str, starts: int, host: str, runs: int, *, asked: bool = True) -> Calibration:
    """Runs without a cap; those that the verdict calls disturbed are counted like the others."""
    return calibration(f"{grid}, {host}", [simulated(seed, grid, starts, host) for seed in range(runs)], asked=asked)


def often_disturbed(runs: int) -> Calibration:
    """Those of so many runs of a host that is disturbed half of the time, in which between a third of the slices and
    the limit are in disturbed rounds."""
    results = [simulated(seed, "quick", 1, "half disturbed") for seed in range(runs)]
    seen = [run for run in results if OFTEN < run.disturbed <= DISTURBED.limit]
    return calibration("quick, half disturbed, of these seen 1/3 to limit", seen)


def with_cap(grid: str, cap: float, host: str, runs: int) -> Calibration:
    """Runs of one start in which the transmission of a copy takes at least `cap` t_tx."""
    results = [simulated(seed, grid, 1, host, cap) for seed in range(runs)]
    return calibration(f"{grid}, {host}, t_sat = {cap} t_tx", results, capped_cells(grid, cap), asked=False)


def capped_cells(grid: str, cap: float) -> list[str]:
    """The names of the cells that B = r t_sat holds for."""
    t_rcv, t_fltr, t_tx = rd.TIMES
    return [
        rd.cell_name(further, r)
        for further, r in GRIDS[grid]
        if r * cap * t_tx > t_rcv + (further + r) * t_fltr + r * t_tx
    ]


def from_directories(folder: Path, starts: int, runs: int, cap: float | None = None) -> Calibration:
    """The whole analysis of run directories, all in one call: Parquet, audit, slices, cells, fit.

    Starts do not differ here, since intervals over their layouts are for the mean of these starts, which a run
    directory does not tell.
    """
    grid = "quick" if cap is None else "wide"
    paths = []
    for seed in range(runs):
        run = rd.measured_run(
            GRIDS[grid],
            noise=0.05,
            layout_noise=0.04,
            starts=starts,
            layouts=SCHEMES[grid].layouts,
            rounds=SCHEMES[grid].rounds,
            seed=seed,
            messages=1,
        )
        if cap is not None:
            slow_down(run, cap * rd.TIMES[2])
        paths.append(run.write(folder / f"run{seed:03d}"))
    results = [result for run in analysed(paths, master="local[*]") for result in run.fits]
    return calibration(
        f"{grid}, run directories" + ("" if cap is None else f", t_sat = {cap} t_tx"),
        [Simulated(result, rd.TIMES, 0.0) for result in results],
        [] if cap is None else capped_cells(grid, cap),
        asked=False,
    )


def slow_down(run: rd.RunDirectory, t_sat_s: float) -> None:
    """Puts a cap on transmission into a run: in a capped cell fewer messages are received in the same slices."""
    t_rcv, t_fltr, t_tx = rd.TIMES
    for plan in run.plans:
        plane_s = t_rcv + plan["n_fltr"] * t_fltr + plan["replication"] * t_tx
        share = min(1.0, plane_s / (plan["replication"] * t_sat_s))
        for row in run.rows("windows", experiment=plan["experiment"], cell=plan["cell"]):
            row["received"] = round(row["received"] * share)
            row["expected"] = row["dispatched"] = round(row["received"] * plan["replication"])


#: Grid, starts, host, runs; the longest first, so that no process waits for the last one.
ROWS = (
    ("today", 5, "spells", RUNS),
    ("today", 1, "spells", RUNS),
    *(("quick", 5, host, RUNS) for host in ("spells", "noisy")),
    ("quick", 3, "spells", RUNS),
    *(("quick", 1, host, RUNS) for host in ("spells", "noisy", "quiet")),
)


#: Grids and hosts of the runs that end at one of several looks.
STOPPED = (
    *(("quick", host) for host in ("quiet", "noisy", "spells", RECORDED)),
    ("today", "spells"),
)


def main(runs: int | None = None, processes: int | None = None) -> int:
    """Prints the tables; 1 where a coverage or a mean is off, or where the roofline sees too often what is not there.

    runs: of each row, instead of its own number.
    """
    with ProcessPoolExecutor(processes or len(os.sched_getaffinity(0))) as pool:
        free = [pool.submit(coverage, grid, starts, host, runs or number) for grid, starts, host, number in ROWS]
        at_looks = [pool.submit(stopped_runs, grid, host, runs or RUNS) for grid, host in STOPPED]
        disturbed = [
            pool.submit(stopped_runs, "quick", "half disturbed", runs or FEW_RUNS, asked=False),
            pool.submit(coverage, "quick", 1, "half disturbed", runs or FEW_RUNS, asked=False),
            pool.submit(often_disturbed, runs or 2 * RUNS),
        ]
        capped = [
            pool.submit(with_cap, grid, cap, host, runs or FEW_RUNS)
            for grid in ("wide", "today")
            for cap in CAPS
            for host in ("quiet", "noisy")
        ]
        rows = [each.result() for each in (*reversed(free), *at_looks, *disturbed, *capped)]
    with tempfile.TemporaryDirectory() as folder:
        rows += [
            from_directories(Path(folder) / name, starts, DIRECTORIES // starts, cap)
            for name, starts, cap in (("one", 1, None), ("several", 3, None), ("capped", 1, CAPS[0]))
        ]
    print(
        "95 % intervals of the fit against what was simulated, t_rcv / t_fltr / t_tx in %; `off by` is the error that "
        "95 % of the runs stay below"
    )
    print(tabulate([_shown(row) for row in rows], _HEADERS))
    for what, without_stolen in (("as recorded", False), ("without the time stolen in their layouts", True)):
        scatter, most = recorded_host().scatter(without_stolen=without_stolen)
        print(f"slices of the recorded host, {what}: scatter {scatter:.1%}, 99th percentile {most:+.0%}")
    asked = [row for row in rows if row.asked]
    alarms = sum(row.saturated for row in asked) / sum(row.runs for row in asked)
    good = all(row.calibrated for row in asked) and alarms <= FALSE_ALARMS
    print(json.dumps({"calibrated": good, "false_alarms": alarms, "rows": [asdict(row) for row in rows]}))
    return int(not good)


_HEADERS = (
    "simulated",
    "starts",
    "runs",
    "covered",
    "mean off by",
    "off by",
    "half-width",
    "beyond limit",
    "saturated",
    "cells right",
    "invalid",
    "unverified",
)


def _shown(row: Calibration) -> tuple[object, ...]:
    shares = (
        " / ".join(f"{100 * share:{form}}" for share in of_row)
        for of_row, form in ((row.covered, ".1f"), (row.bias, "+.1f"), (row.error, ".1f"), (row.half_width, ".1f"))
    )
    verdicts = row.saturated, row.labelled, row.invalid, row.unverified
    return row.what, row.starts, row.runs, *shares, f"{row.disturbed:.0%}", *verdicts


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
