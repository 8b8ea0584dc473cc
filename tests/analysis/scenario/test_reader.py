"""Which run directories of a workload are read, and which are refused: with the reason and what to do."""

import shutil

import pytest

from analysis.__main__ import main
from analysis.errors import DataError
from analysis.scenario import pipeline
from analysis.scenario.reader import comparable, open_runs
from analysis.throughput.reader import open_runs as open_throughput
from tests.analysis.scenario.conftest import SMALL
from tests.support import run_directories as rd
from tests.support import scenario_runs as wr
from workloads.scenario.periods import Lengths
from workloads.supply_chain.topology import horizontal, vertical

TINY = Lengths(warm_up_s=0.2, measurement_s=1.2, drain_s=1)


def tiny(topology=SMALL, **changes):
    return wr.workload_run(topology, lengths=TINY, **changes)


def test_the_throughput_study_does_not_read_a_workload_nor_the_other_way_round(tmp_path):
    """Each refuses the other's run in a sentence that says what it is."""
    tiny().write(tmp_path / "workload")
    rd.measured_run([(0, 1)]).write(tmp_path / "study")

    with pytest.raises(DataError, match="a run of a business workload, expected one of the throughput study"):
        open_throughput([tmp_path / "workload"])
    with pytest.raises(DataError, match="a run of the throughput study, expected one of a business workload"):
        open_runs([tmp_path / "study"])


@pytest.mark.parametrize("verb", ["fit", "predict --n-fltr 10 --replication 1"])
def test_a_workload_has_no_model(tmp_path, capsys, verb):
    """`fit` and `predict` refuse with a sentence that names the verbs there are, before Spark starts."""
    tiny().write(tmp_path / "workload")

    assert main([*verb.split(), str(tmp_path / "workload")]) == 2
    assert "no model of broker times; its verbs are summary, audit, report" in capsys.readouterr().err


def test_runs_of_two_kinds_are_refused_side_by_side(tmp_path, capsys):
    """One answer is about one kind."""
    tiny().write(tmp_path / "workload")
    rd.measured_run([(0, 1)]).write(tmp_path / "study")

    assert main(["summary", str(tmp_path / "workload"), str(tmp_path / "study")]) == 2
    assert "cannot combine throughput and workload runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("other", "changes", "words"),
    [
        (horizontal(1), {}, "different topologies are never put side by side"),
        (vertical(1), {"consumption": "relaxed"}, "different consumptions are never put side by side"),
    ],
)
def test_what_must_not_be_compared_is_refused(tmp_path, other, changes, words):
    """Two topologies, or strict beside relaxed consumption: refused, also by the report."""
    tiny(vertical(1)).write(tmp_path / "one")
    tiny(other, **changes).write(tmp_path / "two")

    with pytest.raises(DataError, match=words):
        comparable(open_runs([tmp_path / "one", tmp_path / "two"]))
    assert main(["report", str(tmp_path / "one"), str(tmp_path / "two")]) == 2


def _renamed(record):
    record["addresses"][0]["label"] = "SM9 order"


def _mistyped(record):
    record["topology"]["base"] = "five"


def _listless(record):
    del record["handlers"][0]["number"]


def _foreign(record):
    del record["steps"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_renamed, "are not those of its topology"),
        (_mistyped, "topology: base: expected `int`, got `str`"),
        (_listless, r"handlers\[0\].number is missing"),
        (_foreign, "steps is missing"),
    ],
)
def test_a_plan_that_was_changed_is_refused(tmp_path, change, words):
    """The plan has to be that of its own topology."""
    run = tiny()
    change(run.plans[0])
    run.write(tmp_path / "run")

    with pytest.raises(DataError, match=words):
        open_runs([tmp_path / "run"])


@pytest.mark.parametrize("table", ["sent", "received", "periods"])
def test_missing_files_are_noticed(tmp_path, table):
    """The manifest has the number of rows of every table."""
    tiny().write(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / table)

    with pytest.raises(DataError, match=f"{table}/ holds 0 rows"):
        open_runs([tmp_path / "run"])


def test_a_run_that_was_interrupted_is_read_when_asked(tmp_path):
    """Without --partial it is refused, with the command that reads it; with it a finding says so."""
    run = tiny()
    run.manifest["outcome"] = "interrupted"
    run.manifest["schedule"].append({**run.manifest["schedule"][0], "cell": "never"})
    run.write(tmp_path / "run")

    with pytest.raises(DataError, match="--partial"):
        open_runs([tmp_path / "run"])
    (read,) = open_runs([tmp_path / "run"], partial=True)
    assert read.findings[0].what == "the run is not complete"


def _hole(run):
    run.tables["sent"].pop(len(run.tables["sent"]) // 2)


def _stranger(run):
    run.tables["received"][3]["handler"] = 99


def _cell(run):
    run.tables["received"][3]["cell"] = "elsewhere"


def _producer(run):
    run.tables["sent"][-1]["producer"] = 99


def _order(run):
    run.tables["periods"][1]["begin_ns"] -= 10**9


def _unplanned(run):
    next(row for row in run.tables["sent"] if row["planned_ns"] is not None)["planned_ns"] = None


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_hole, "0, 1, 2, ... without a gap"),
        (_stranger, "handler 99 is not in the plan"),
        (_cell, "match no planned cell"),
        (_producer, "a producer or an address that is not in the plan"),
        (_order, "does not follow the period before it"),
        (_unplanned, "starts without a planned instant"),
    ],
)
def test_rows_that_cannot_be_are_refused(tmp_path, change, words):
    """A record with a hole, or with rows of somebody else, supports no audit."""
    run = tiny()
    change(run)
    run.write(tmp_path / "run")

    with pytest.raises(DataError, match=words):
        pipeline.analysed([tmp_path / "run"], master="")
