"""Doubts about the ground: each becomes a finding with the right consequence, and a firm ground gives none."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.throughput import aggregate, rotation, run_checks
from analysis.throughput.results import HostUse
from analysis.throughput.run_checks import trend
from tests.support import run_directories as rd
from tests.support import without_spark
from tests.support.simulations import repetitions, slack
from workloads.schema import KEYS, WINDOWS, Window
from workloads.status import VerdictKind

FIELDS = [column.name for column in WINDOWS if column not in KEYS]

HOST = HostUse("run", "activemq", 1, 200.0, 2**30, 2**27, 2**33, 0, 1e6, 1e8)

#: Cells whose code is compiled last, in the tests of a broker that is not warm.
LATE = [rd.cell_name(2560, r) for r in (1, 2, 5, 10)]


@pytest.fixture
def run():
    return rd.measured_run(layouts=8, noise=0.01)


def doubts(run, folder, *, host=(), carry_over=None):
    """All findings; `carry_over` in the place of what the slices show."""
    read, windows = without_spark.read_back(run.write(folder))
    estimates = aggregate.estimated(read, windows)
    if carry_over is not None:
        estimates = {life: replace(each, carry_over=carry_over) for life, each in estimates.items()}
    levels = aggregate.round_levels(read, windows, estimates)
    return list(run_checks.findings(read, windows, estimates, levels, host))


def test_a_calm_run_has_no_doubts(tmp_path, run):
    """Idle and warm broker, rounds alike, no swap: nothing to say."""
    assert doubts(run, tmp_path / "run", host=[HOST]) == []


# Warm


def cold(run):
    run.manifest["starts"][0] |= {"warm": False, "contrast_change": 0.08, "compiler_share": 0.004}


def trending(run):
    """Cells with many filters were still 15 % slower in the first half of the layouts."""
    for layout in range(1, 5):
        for cell in LATE:
            rd.stretch(run, 1.15, cell=cell, layout=layout)


CUT_SHORT = "the warm-up of activemq ended before it was warm (start 1)"
CHANGED = "cells of activemq changed from layout to layout (start 1)"


@pytest.mark.parametrize(
    ("changes", "layouts", "said"),
    [
        ((cold,), 8, {CUT_SHORT: VerdictKind.VALID}),  # the measured layouts repeat themselves
        ((trending,), 8, {CHANGED: VerdictKind.VALID}),
        ((trending, cold), 8, {CUT_SHORT: VerdictKind.UNVERIFIED, CHANGED: VerdictKind.VALID}),
        ((), 3, {}),
        ((cold,), 3, {CUT_SHORT: VerdictKind.UNVERIFIED}),  # too few show no trend
    ],
)
def test_a_broker_that_is_not_warm_is_told(tmp_path, changes, layouts, said):
    """By its warm-up, and by a trend in the layouts; only where both say so, or the warm-up is the only witness, is the
    run unverified."""
    run = rd.measured_run(layouts=layouts, noise=0.01)
    for change in changes:
        change(run)

    found = doubts(run, tmp_path / "run")

    assert {doubt.what: doubt.consequence for doubt in found} == said
    for doubt in found:
        if doubt.what == CUT_SHORT:
            assert doubt.measured == "contrasts changed by 8.0%, compiler 0.4% of the broker's CPU, after 41 s"


def test_what_slows_all_cells_is_no_trend(tmp_path, run):
    """A host that was a quarter slower through the first half says nothing of the broker."""
    rd.stretch(run, 1.09, layout=1)
    rd.stretch(run, 1.09, layout=2)

    assert not [doubt for doubt in doubts(run, tmp_path / "run") if "layout to layout" in doubt.what]


def slices_of(rng, *, layouts=8, cells=16, layout_noise=None, change=0.0):
    """Slices by cell; the first half of the layouts differs in half the cells."""
    layout_noise = np.full(cells, 0.015) if layout_noise is None else layout_noise
    found = {}
    for cell in range(cells):
        windows = []
        for layout in range(1, layouts + 1):
            contrast = layout_noise[cell] * rng.standard_normal() + (
                change if cell % 2 and layout <= layouts // 2 else 0.0
            )
            for number in (1, 2):
                taken = 1e-4 * np.exp(contrast + 0.04 * rng.standard_normal())
                values = dict.fromkeys(FIELDS, 0) | dict.fromkeys(("received", "expected", "dispatched"), 1000)
                values |= {"layout": layout, "round": number, "planned_per_s": None, "status": "ok"}
                windows.append(Window(**values | {"end_ns": round(taken * 1e12)}))
        found[cell] = windows
    return found


def trends(count, **changes):
    levels = {(layout, 0, number): 0.0 for layout in range(1, 9) for number in (1, 2)}
    rng = np.random.default_rng(11)
    return [trend(slices_of(rng, **changes), levels).shown for _ in range(count)]


def test_chance_seldom_looks_like_a_trend():
    """Layouts of a real broker: cells with many filters scatter three times as much; false alarms are below 2 %."""
    uneven = np.array([0.012] * 12 + [0.05] * 4)

    runs = repetitions(60, 300)

    for layout_noise in (None, uneven):
        assert np.mean(trends(runs, layout_noise=layout_noise)) <= 0.02 + slack(0.02, runs)


def test_a_change_beyond_the_limit_is_seen():
    """Half the cells 12 % slower through the first half of the layouts: seen in 19 of 20 runs."""
    assert np.mean(trends(repetitions(40, 100), change=0.12)) >= 0.95


def test_the_size_of_a_trend_comes_back():
    """rms of the change less what the scatter explains: half the cells at +-d / 2 around the mean."""
    levels = {(layout, 0, number): 0.0 for layout in range(1, 9) for number in (1, 2)}
    rng, runs = np.random.default_rng(2), repetitions(60, 200)
    squares = [trend(slices_of(rng, change=0.1), levels).change ** 2 for _ in range(runs)]

    assert np.sqrt(np.mean(squares)) == pytest.approx(0.05 * np.sqrt(16 / 15), rel=0.7 / np.sqrt(runs))


def test_levels_are_taken_off_the_contrasts():
    """A cell that is missing from a layout, whatever its level, is left out; levels are not a trend."""
    rng = np.random.default_rng(3)
    levels = {(layout, 0, number): 0.3 * (layout < 4) for layout in range(1, 9) for number in (1, 2)}
    slices = {
        cell: [
            replace(each, end_ns=round(each.end_ns * (1 + levels[each.layout, 0, each.round])))
            for each in windows
            if cell != 5 or each.layout != 2
        ]
        for cell, windows in slices_of(rng).items()
    }

    assert not trend(slices, levels).shown
    assert trend({cell: slices[cell] for cell in (4, 5, 6)}, levels) is None


# The host


@pytest.mark.parametrize(
    ("rounds", "consequence"), [(1, VerdictKind.VALID), (9, VerdictKind.VALID), (10, VerdictKind.UNVERIFIED)]
)
def test_a_disturbed_host_is_described(tmp_path, run, rounds, consequence):
    """Rounds that were a quarter slower are counted by their slices; beyond the limit too few others are left."""
    for number in range(rounds):
        rd.stretch(run, 1.25, layout=1 + number % 8, round=1 + number // 8)

    (finding,) = [doubt for doubt in doubts(run, tmp_path / "run") if "disturbed" in doubt.what]

    assert finding.what == "the host was disturbed while activemq was measured"
    assert finding.measured.startswith(f"{rounds / 16:.0%} of the slices")
    worst = int(finding.measured.rsplit(" ", 1)[1].rstrip("%"))
    assert 23 <= worst <= 27
    assert finding.consequence == consequence


def test_more_starts_make_a_disturbance_no_worse(tmp_path):
    """One of three starts was disturbed for half of its rounds: a sixth of all slices."""
    run = rd.measured_run(starts=3, layouts=4)
    for layout in (1, 2, 4):
        rd.stretch(run, 1.25, start=2, layout=layout, round=1)

    (finding,) = doubts(run, tmp_path / "run")
    assert finding.measured.startswith(f"{3 / 24:.0%} of the slices")
    assert finding.consequence == VerdictKind.VALID


@pytest.mark.parametrize(
    ("carry_over", "said"),
    [
        (rotation.CarryOver(0.02, 0.001), True),
        (rotation.CarryOver(0.02, 0.02), False),
        (rotation.CarryOver(0.009, 0.0001), False),
    ],
)
def test_a_carry_over_is_told_where_it_is_sure_and_large(tmp_path, run, carry_over, said):
    """Significant at 1 % and more than 1 % of B: the ramp was too short."""
    found = doubts(run, tmp_path / "run", carry_over=carry_over)

    assert [each.consequence for each in found] == [VerdictKind.VALID] * said
    assert all("the ramp was too short" in each.advice and "2.0% of B" in each.measured for each in found)


def compiling(run, part):
    for row in run.tables["windows"]:
        row["compiler_cpu_ns"] = part and row["broker_cpu_ns"] // part


def idle(run, share, **broker):
    run.manifest["starts"][0]["idle_cpu"] = share
    run.manifest["brokers"]["activemq"] |= broker


def scheduled(run, policy):
    """A cost of copies that is not the broker's; one that nobody knows cannot be compared."""
    first = run.manifest["brokers"]["activemq"]
    run.manifest["brokers"] |= {"activemq": first | {"scheduling": "batch"}, "other": first | {"scheduling": policy}}


#: What a run shows -> how it comes about, what was measured, if anything is said, and what follows.
REMARKS = {
    "a compiler at work": (
        lambda run: compiling(run, 40),
        "2.5% of the broker's CPU in the median of the rounds, 2.5% at most",
        VerdictKind.VALID,
    ),
    "no compiler": (lambda run: compiling(run, None), "", None),
    "a busy broker before the load": (lambda run: idle(run, 0.05), "5.0% of its CPU set", VerdictKind.VALID),
    "a broker that was nearly idle": (lambda run: idle(run, 0.019), "", None),
    "no reading before the load": (
        lambda run: idle(run, None),
        "no CPU reading before the load",
        VerdictKind.UNVERIFIED,
    ),
    "no reading at all": (lambda run: idle(run, None, cpu_known=False, cpus=None), "", None),  # said elsewhere
    "brokers scheduled apart": (
        lambda run: scheduled(run, "normal"),
        "activemq batch, other normal",
        VerdictKind.VALID,
    ),
    "another session": (
        lambda run: run.manifest.update(shared_cpus=[0, 1]),
        "both at the same time",
        VerdictKind.UNVERIFIED,
    ),
    "brokers scheduled alike": (lambda run: scheduled(run, "batch"), "", None),
    "a broker of unknown policy": (lambda run: scheduled(run, None), "", None),
}


@pytest.mark.parametrize("what", REMARKS)
def test_what_a_run_shows_is_told(tmp_path, run, what):
    """Beyond its limit it is a finding with what was measured."""
    change, measured, consequence = REMARKS[what]
    change(run)

    found = [(finding.measured, finding.consequence) for finding in doubts(run, tmp_path / "run")]

    assert found == [(measured, consequence)] * bool(measured)


def test_swapping_is_a_finding(tmp_path, run):
    """Any growth of swap while the broker was loaded is named with its size."""
    (finding,) = doubts(run, tmp_path / "run", host=[replace(HOST, swap_growth_bytes=3 * 2**20)])

    assert "3.0 MiB" in finding.measured
