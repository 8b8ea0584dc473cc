"""Doubts about the ground: each becomes a finding with the right consequence, and a firm ground gives none."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from analysis import fit
from analysis.directory import Broker, Start
from analysis.results import CellKey, HostUse
from analysis.stability import drift, findings
from tests.analysis.cells import cell, start_of, window
from workloads.rules import VerdictKind

CALM = Start("activemq", 1, idle_cpu=0.004, stationary=True, largest_change=0.01)

HOST = HostUse("run", "activemq", 1, 200.0, 2**30, 2**27, 2**33, 0, 1e6, 1e8)


def doubts(cells=(), *, start=CALM, windows=(), host=(), cpus=1):
    run = SimpleNamespace(starts=(start,), brokers={"activemq": Broker("activemq", "ActiveMQ", cpus, certified=True)})
    fits, _ = fit.fits(cells)
    return list(findings(run, windows, cells, fits, host))


def test_a_calm_run_has_no_doubts():
    """Idle broker, stationary warm-up, no drift, steady host, no swap: nothing to say."""
    windows = [(one.key, one.windows) for one in start_of(noise=0.005)]

    assert doubts(start_of(noise=0.005), windows=windows, host=[HOST]) == []


@pytest.mark.parametrize("per_minute", [0.0, 0.05, -0.08])
def test_drift_comes_back(per_minute):
    """A drift put into all windows of a start is estimated beside the plane, although cells differ tenfold."""
    cells = start_of(np.random.default_rng(4), noise=0.003, drift_per_minute=per_minute)
    results, _ = fit.fits(cells)

    slope = drift(cells, results)

    relative_to_the_middle = per_minute / (1 + 1.6 * per_minute)
    assert slope.estimate == pytest.approx(relative_to_the_middle, abs=0.005)
    assert slope.high - slope.low < 0.03


def test_drift_intervals_cover_the_truth():
    """The 95 % interval of the slope holds the drift that was put in, in 19 of 20 runs (3 sigma of 200)."""
    covered = 0
    for seed in range(200):
        cells = start_of(np.random.default_rng(seed), cell_noise=0.01, drift_per_minute=0.01)
        slope = drift(cells, fit.fits(cells)[0])
        covered += slope.low <= 0.01 / 1.016 <= slope.high  # relative to the middle of the start, 1.6 min in

    assert covered / 200 == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 200))


def test_without_a_model_each_cell_is_its_own_reference():
    """Where nothing was fitted, windows stand against their own cell's mean: levels of cells are no drift."""
    steady = [cell(0, r, [r * 1e-5] * 4, begin_ns=r * 60 * 10**9, fits_model=False) for r in (1, 2, 5, 10)]
    falling = [
        cell(0, r, [r * 1e-5 * (1 - 0.001 * i) for i in range(4)], begin_ns=r * 60 * 10**9, fits_model=False)
        for r in (1, 2, 5, 10)
    ]

    assert drift(steady, ()).estimate == pytest.approx(0, abs=1e-9)
    assert drift(falling, ()).high < 0


def test_an_open_loop_shows_no_drift():
    """Its B is what was planned: it would call any broker steady."""
    steady = cell(0, 1, [1e-5] * 4, fits_model=False)
    planned = replace(steady, windows=tuple(replace(one, planned_per_s=1e5) for one in steady.windows))

    assert drift([steady], ()) is not None
    assert drift([planned], ()) is None


def test_drift_beyond_the_limit_makes_the_run_invalid():
    """A broker that still gets faster by 8 % per minute has not been warm."""
    (finding,) = doubts(start_of(noise=0.003, drift_per_minute=-0.08))

    assert finding.what == "activemq drifts (start 1)"
    assert finding.consequence == VerdictKind.INVALID


def test_a_measurement_too_short_leans_on_its_warm_up():
    """Where the windows cannot exclude a drift, the stationary warm-up stands for it, and a finding says so."""
    few = [cell(0, 1, [1e-5, 1.01e-5, 0.99e-5], fits_model=False)]

    (finding,) = doubts(few)
    assert "cannot be excluded" in finding.what
    assert finding.consequence == VerdictKind.VALID

    cold = replace(CALM, stationary=False, largest_change=0.2)
    assert {finding.consequence for finding in doubts(few, start=cold)} == {VerdictKind.UNVERIFIED}


def test_a_warm_up_that_did_not_settle_is_made_good_by_the_measurement_only():
    """An unsettled warm-up is a finding; what follows depends on whether the measurement itself excludes a drift."""
    cold = replace(CALM, stationary=False, largest_change=None)

    (finding,) = doubts(start_of(noise=0.003), start=cold)
    assert "did not become stationary" in finding.what
    assert finding.consequence == VerdictKind.VALID


def test_a_significant_drift_near_the_limit_is_not_waved_through():
    """An interval that excludes 0 and reaches beyond the limit outweighs the stationary warm-up."""
    found = doubts(start_of(np.random.default_rng(11), cell_noise=0.01, drift_per_minute=0.02))

    assert [finding.consequence for finding in found if "perhaps" in finding.what] == [VerdictKind.UNVERIFIED]


@pytest.mark.parametrize(("idle", "expected"), [(0.004, 0), (0.019, 0), (0.05, 1)])
def test_a_busy_idle_broker_is_a_finding(idle, expected):
    """Above 2 % of its CPU set before any load, something else uses the broker."""
    found = [one for one in doubts(start=replace(CALM, idle_cpu=idle)) if "before the load" in one.what]

    assert len(found) == expected


def test_an_idle_check_that_was_not_made():
    """Without a reading nobody knows; where the broker's CPU is not known at all, that is said once, elsewhere."""
    unwatched = replace(CALM, idle_cpu=None)

    (finding,) = doubts(start=unwatched)
    assert finding.consequence == VerdictKind.UNVERIFIED
    assert doubts(start=unwatched, cpus=None) == []


def test_host_speed_findings_count_what_was_repeated_and_what_was_used():
    """Repeated, contaminated and used-but-deviating windows are each counted against the run's median."""
    key = CellKey("run", "activemq", 1, "replication", "f0000-r001")
    usual = [window(i, 0, 1, 1000) for i in range(9)]
    odd = [
        window(9, 0, 1, 1000, status="repeated", host_speed_ns=6_000_000),
        window(10, 0, 1, 1000, status="contaminated", host_speed_ns=6_000_000),
        window(11, 0, 1, 1000, host_speed_ns=5_600_000),
    ]

    assert doubts(windows=[(key, usual)]) == []
    (finding,) = doubts(windows=[(key, usual + odd)])
    assert finding.measured.startswith("1 windows repeated, 1 contaminated, 1 used")
    assert "12.0%" in finding.measured


def test_swapping_is_a_finding():
    """Any growth of swap while the broker was loaded is named with its size."""
    (finding,) = doubts(host=[replace(HOST, swap_growth_bytes=3 * 2**20)])

    assert "3.0 MiB" in finding.measured
