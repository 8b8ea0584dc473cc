"""Cells for the tests of the fit and of stability, without files and without Spark."""

from dataclasses import replace

import numpy as np

from analysis.intervals import ratio_interval
from analysis.results import CellKey, CellSummary
from tests.run_directories import CELLS, TIMES, cell_name
from workloads.records import Window
from workloads.rules import Status


def window(number, begin_ns, seconds, received, **changes):
    """A window in which everything is right, with one copy per message."""
    values = {
        "window": number,
        "begin_ns": begin_ns,
        "end_ns": begin_ns + round(seconds * 1e9),
        "received": received,
        "expected": received,
        "dispatched": received,
        "in_flight": 1000,
        "planned_per_s": None,
        "broker_cpu_ns": round(0.985e9 * seconds),
        "gc_pause_ns": round(0.02e9 * seconds),
        "load_cpu_ns": round(0.4e9 * seconds),
        "host_speed_ns": 5_000_000,
        "status": "ok",
    }
    return Window(**(values | changes))


def cell(further, replication, taken_s, *, begin_ns=0, start=1, experiment="replication", fits_model=True, **changes):
    """A cell whose windows took `taken_s` per message, a million messages each, back to back."""
    windows = []
    for number, seconds in enumerate(taken_s):
        windows.append(window(number, begin_ns, seconds * 1e6, 10**6))
        begin_ns = windows[-1].end_ns
    elapsed, received = [w.elapsed_s for w in windows], [w.received for w in windows]
    rate = ratio_interval(received, elapsed)
    values = {
        "key": CellKey("run", "activemq", start, experiment, cell_name(further, replication)),
        "profile": "today",
        "factors": {"further": further, "replication": replication},
        "pace": None,
        "connections": 20 + further + replication,
        "n_fltr": further + replication,
        "routed": False,
        "replication": float(replication),
        "fits_model": fits_model,
        "received_per_s": rate,
        "dispatched_per_s": rate,
        "overall_per_s": rate,
        "processing_s": ratio_interval(elapsed, received),
        "broker_cpu": 0.985,
        "gc_share": 0.02,
        "load_cpu": 0.4,
        "load_us_per_delivery": 3.0,
        "conservation": 1.0,
        "windows": tuple(windows),
        "contaminated": 0,
        "status": Status.OK,
    }
    return CellSummary(**(values | changes))


def start_of(
    rng=None,
    *,
    cells=CELLS,
    times=TIMES,
    noise=0.0,
    cell_noise=0.0,
    windows=3,
    start=1,
    drift_per_minute=0.0,
    factor=1.0,
    t_sat_s=0.0,
):
    """All cells of a start in random order, 12 s apart: B from the model, times a start's factor, drift and noise.

    noise: relative standard deviation of a window · cell_noise: of a cell, shared by its windows · t_sat_s: what a
    copy takes at least.
    """
    rng = rng or np.random.default_rng(0)
    made, clock = [], 0
    for at in rng.permutation(len(cells)):
        further, replication = cells[at]
        mean = max(times[0] + times[1] * (further + replication) + times[2] * replication, replication * t_sat_s)
        mean *= factor
        mean *= (1 + drift_per_minute * clock / 60e9) * np.exp(cell_noise * rng.standard_normal())
        taken = mean * np.exp(noise * rng.standard_normal(windows))
        one = cell(further, replication, [float(t) for t in taken], start=start)
        begin = clock
        spread = tuple(
            replace(w, begin_ns=begin + i * 3 * 10**9, end_ns=begin + i * 3 * 10**9 + w.end_ns - w.begin_ns)
            for i, w in enumerate(one.windows)
        )
        made.append(replace(one, windows=spread))
        clock += 12 * 10**9
    return made
