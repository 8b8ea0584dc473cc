"""What decides a verdict and a look beside the models: stolen time, and the cells of experiments without a model."""

from __future__ import annotations

import re

import pytest

from analysis import planning
from analysis.throughput import judgement
from tests.support import run_directories as rd
from tests.support import without_spark
from workloads.errors import WorkloadError
from workloads.limits import BROKER_CPU, CELL_PRECISION, STOLEN
from workloads.status import CellStatus, VerdictKind

CELLS = [(0, 1), (0, 5), (160, 1), (160, 5), (640, 1), (640, 5)]


def judged(run, folder):
    """Estimates of a run as written, and the doubts about it; every copy was exact."""
    read, windows = without_spark.read_back(run.write(folder))
    found = judgement.estimated(read, windows, set(read.cells))
    return found, list(judgement.doubts(read, windows, found))


def steal(run, share, **keys):
    """The hypervisor takes the CPU for a share of these slices: they last longer, for the same messages and CPU."""
    for row in run.rows("windows", **keys):
        taken_ns = row["end_ns"] - row["begin_ns"]
        row["end_ns"] += round(taken_ns * share / (1 - share))
        row["stolen_ns"] = row["end_ns"] - row["begin_ns"] - taken_ns


@pytest.mark.parametrize("known", [True, False])
def test_stolen_time_is_no_cost_of_the_broker(tmp_path, known):
    """Half of the layouts lost a fifth of the CPU. Where that is known, times and saturation are as without it; where
    it is not, the broker looks slow and idle."""
    plain, _ = judged(rd.measured_run(CELLS, layouts=8), tmp_path / "plain")
    run = rd.measured_run(CELLS, layouts=8)
    for layout in range(1, 9, 2):
        steal(run, 0.2, layout=layout)
    if not known:
        for row in run.tables["windows"]:
            row["stolen_ns"] = None

    found, doubts = judged(run, tmp_path / "stolen")

    for cell, before in zip(found.cells, plain.cells, strict=True):
        assert (cell.status == CellStatus.OK) == known, cell.reason
        assert (cell.broker_cpu >= BROKER_CPU.limit) == known
        if known:
            assert cell.processing_s.estimate == pytest.approx(before.processing_s.estimate, rel=1e-6)
            assert cell.mean_processing_s == pytest.approx(before.mean_processing_s, rel=1e-6)
    shares = {level.layout: level.stolen_share for level in found.rounds}
    assert shares == pytest.approx({n: 0.2 * (n % 2) for n in range(1, 9)}) if known else set(shares.values()) == {None}
    remarks = [doubt for doubt in doubts if "to other machines" in doubt.what]
    assert len(remarks) == known
    for remark in remarks:
        assert remark.consequence == VerdictKind.VALID
        assert remark.measured == "10.0% of the time of its CPUs was stolen, in the worst layout 20%"


@pytest.mark.parametrize(("share", "told"), [(STOLEN.limit - 0.001, False), (STOLEN.limit + 0.001, True)])
def test_stolen_time_is_told_from_its_limit_on(tmp_path, share, told):
    """A few per cent are usual on a shared host."""
    run = rd.measured_run(CELLS, layouts=4)
    steal(run, share)

    _, doubts = judged(run, tmp_path / "run")

    assert any("to other machines" in doubt.what for doubt in doubts) == told


@pytest.mark.parametrize(("noise", "wide"), [(0.005, False), (0.3, True)])
def test_cells_without_a_model_have_a_limit_of_their_own(tmp_path, noise, wide):
    """The half-width of each cell's interval; the widest is named, and it is a point that more layouts mend."""
    run = rd.measured_run(CELLS, layouts=6, layout_noise=noise, fits_model=False, experiment="body_size")

    found, doubts = judged(run, tmp_path / "run")

    half_widths = {
        cell.key.cell: (cell.processing_s.high - cell.processing_s.low) / 2 / cell.processing_s.estimate
        for cell in found.cells
    }
    beyond = {cell: half for cell, half in half_widths.items() if half > CELL_PRECISION.limit}
    assert bool(beyond) == wide
    told = [doubt for doubt in doubts if "are too wide" in doubt.what]
    assert len(told) == wide
    for doubt in told:
        worst = max(beyond, key=beyond.get)
        assert doubt.what == f"body_size: intervals of {len(beyond)} cells are too wide"
        assert doubt.consequence == VerdictKind.UNVERIFIED
        assert doubt.open_point == f"body_size {worst} +-{beyond[worst]:.0%} (limit 10%)"


def test_a_look_at_slices_that_cannot_be_judged_is_refused(tmp_path):
    """With a text for people: it ends a measurement."""
    folder = rd.measured_run(CELLS).write(tmp_path / "run")
    (folder / "plan.json").unlink()

    with pytest.raises(WorkloadError, match=r"a look at start 1 of activemq: .*plan.json is missing"):
        planning.look(folder, "activemq", 1, {("replication", "f0000-r001"): []}, set())


def looked_at(run, folder):
    """What a look at the run's start says; every copy was exact."""
    windows = {}
    for row in run.rows("windows", status="ok"):
        windows.setdefault((row["experiment"], row["cell"]), []).append(rd.window_of(row))
    return planning.look(run.write(folder), "activemq", 1, windows, set(windows))


def test_what_is_open_is_named(tmp_path):
    """Each coefficient whose interval is too wide, with its half-width and its limit, in a line."""
    more, said = looked_at(rd.measured_run(CELLS, layouts=4, layout_noise=0.4), tmp_path / "run")

    assert more
    assert re.fullmatch(r"t_rcv \+-[\d.]+% \(limit 15%\), t_fltr \+-\d+% .*, t_tx \+-\d+% \(limit 15%\)(, .*)?", said)


@pytest.mark.parametrize("t_fltr", [0.0, 2e-10, -2e-10])
def test_a_subscription_that_costs_nothing_ends_a_start_at_its_first_look(tmp_path, t_fltr):
    """A broker that looks topics up: the relative half-width of t_fltr is no open point, whatever it is."""
    run = rd.measured_run(CELLS, times=(4e-6, t_fltr, 4e-6), layouts=16, layout_noise=0.02)

    assert looked_at(run, tmp_path / "run") == (False, "enough, every interval is within its limit")
