"""Cells for the tests of the fit and of stability, without files and without Spark."""

import numpy as np

from analysis.intervals import jackknife
from analysis.results import CellKey, Interval
from analysis.throughput import rotation
from analysis.throughput.results import CellSummary
from tests.support.run_directories import CELLS, TIMES, cell_name
from workloads.schema import Window
from workloads.status import CellStatus

#: Messages in a slice: so many that the nanoseconds of its ends do not show in B.
MESSAGES = 10**6


def window(number, begin_ns, seconds, received, **changes):
    """A slice in which everything is right, with one copy per message; each in a layout of its own, from 1."""
    values = {
        "layout": 1 + number,
        "block": 0,
        "round": 1,
        "position": 0,
        "begin_ns": begin_ns,
        "end_ns": begin_ns + round(seconds * 1e9),
        "received": received,
        "expected": received,
        "dispatched": received,
        "in_flight": 1000,
        "planned_per_s": None,
        "broker_cpu_ns": round(0.985e9 * seconds),
        "compiler_cpu_ns": round(0.001e9 * seconds),
        "gc_pause_ns": round(0.02e9 * seconds),
        "gc_pauses": 4,
        "full_gc_pause_ns": 0,
        "stolen_ns": 0,
        "load_cpu_ns": round(0.4e9 * seconds),
        "idle_broker_cpu_ns": None,
        "owed": 0,
        "status": "ok",
    }
    return Window(**(values | changes))


def cell(further, replication, taken_s, *, begin_ns=0, rounds=1, **changes):
    """A cell whose slices took `taken_s` per message, back to back, so many `rounds` in each layout."""
    windows = []
    for number, seconds in enumerate(taken_s):
        place = {"layout": 1 + number // rounds, "round": 1 + number % rounds}
        windows.append(window(number, begin_ns, seconds * MESSAGES, MESSAGES, **place))
        begin_ns = windows[-1].end_ns
    (made,) = summaries({(further, replication): windows}, **changes)
    return made


def summaries(windows_of, *, start=1, experiment="replication", widening=1.0, **changes):
    """The cells of a start, estimated together from their slices: (further, replication) -> windows."""
    keys = {
        CellKey("run", "activemq", start, experiment, cell_name(*setting)): setting for setting in sorted(windows_of)
    }
    estimated = rotation.estimate(
        [rotation.MeasuredSlice.of(key, each) for key in keys for each in windows_of[keys[key]]], widening
    )
    return [
        summary(key, keys[key], estimated, windows=tuple(windows_of[keys[key]]), **changes) for key in estimated.cells
    ]


def summary(key, setting, estimated, **changes):
    """A cell in which everything is right, with what was estimated of its start."""
    further, replication = setting
    place = estimated.cells.index(key)
    replicates = estimated.replicates_s[:, place]
    rate = reciprocal(processing := jackknife(float(estimated.estimates_s[place]), replicates))
    values = {
        "factors": {"further": further, "replication": replication},
        "n_fltr": further + replication,
        "replication": float(replication),
        "received_per_s": rate,
        "dispatched_per_s": rate,
        "overall_per_s": rate,
        "processing_s": processing,
        "replicates_s": tuple(map(float, replicates)) if np.isfinite(replicates).all() else (),
        "mean_processing_s": processing.estimate,
        "layouts": len(estimated.layouts),
    }
    return cell_summary(key, **(values | changes))


def reciprocal(interval):
    return Interval(1 / interval.estimate, *(1 / end for end in reversed(interval.ci95 or [])))


def cell_summary(key, **values):
    """A cell in which everything is right; its numbers are given."""
    usual = {
        "profile": "today",
        "pace": None,
        "routed": False,
        "fits_model": True,
        "broker_cpu": 0.985,
        "gc_share": 0.02,
        "compiler_share": 0.001,
        "load_cpu": 0.4,
        "load_us_per_delivery": 3.0,
        "conservation": 1.0,
        "windows": (),
        "status": CellStatus.OK,
    }
    return CellSummary(key=key, **(usual | values))


def start_of(
    rng=None,
    *,
    cells=CELLS,
    times=TIMES,
    noise=0.0,
    layout_noise=0.0,
    cell_noise=0.0,
    layouts=8,
    rounds=2,
    start=1,
    factor=1.0,
    t_sat_s=0.0,
    **changes,
):
    """All cells of a start, in random order in every round: B from the model, times a start's factor and noise.

    noise: relative standard deviation of a slice · layout_noise: of a cell in a layout · cell_noise: of a cell, shared
    by all its slices, so that it lies off the plane · t_sat_s: what a copy takes at least.
    """
    rng = rng or np.random.default_rng(0)
    mean = np.array(
        [max(times[0] + times[1] * (further + r) + times[2] * r, r * t_sat_s) * factor for further, r in cells]
    )
    mean *= np.exp(cell_noise * rng.standard_normal(len(cells)))
    clock, windows_of = 0, {setting: [] for setting in cells}
    for layout in range(1, 1 + layouts):
        of_layout = mean * np.exp(layout_noise * rng.standard_normal(len(cells)))
        for number in range(1, 1 + rounds):
            for position, at in enumerate(rng.permutation(len(cells))):
                seconds = float(of_layout[at] * np.exp(noise * rng.standard_normal())) * MESSAGES
                place = {"layout": layout, "round": number, "position": position}
                windows_of[cells[at]].append(window(0, clock, seconds, MESSAGES, **place))
                clock = windows_of[cells[at]][-1].end_ns
    return summaries(windows_of, start=start, **changes)
