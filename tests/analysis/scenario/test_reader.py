"""Which run directories of a workload are read, and which are refused: with the reason and what to do."""

import shutil
from types import SimpleNamespace

import pyarrow as pa
import pytest

from analysis.__main__ import main
from analysis.errors import DataError
from analysis.scenario import pipeline
from analysis.scenario.aggregates import check_handlers, instants
from analysis.scenario.message_join import check_written
from analysis.scenario.reader import cells, comparable, open_runs
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
    assert "cannot combine runs of different kinds" in capsys.readouterr().err


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
    record["request"]["base"] = "five"


def _other_base(record):
    record["request"]["base"] = 0


def _other_tables(record):
    record["request"]["tables"] = "0"


def _other_workload(record):
    record["workload"] = "specjms2013"


def _listless(record):
    del record["handlers"][0]["number"]


def _foreign(record):
    del record["steps"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_renamed, "are not those of its topology"),
        (_mistyped, "request.base: expected `int`, got `str`"),
        (_other_base, "request: BASE: expected a whole number from 1 on, got 0; the run directory was changed after"),
        (_other_tables, "request: the tables of specjms2007 are not those of this version; .*: measure again"),
        (_other_workload, "workload 'specjms2013', expected one of specjms2007, jms2009ps"),
        (_listless, r"handlers\[0\].number is missing"),
        (_foreign, "steps is missing"),
    ],
)
def test_a_plan_that_was_changed_is_refused(tmp_path, change, words):
    """The plan has to be that of its own request."""
    run = tiny(vertical(1))
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


@pytest.mark.usefixtures("spark")
def test_rows_of_no_cell_are_refused(tmp_path):
    """A record with rows of somebody else supports no audit."""
    run = tiny()
    run.tables["received"][3]["cell"] = "elsewhere"

    with pytest.raises(DataError, match="match no planned cell"):
        pipeline.analysed([run.write(tmp_path / "run")], master="")


@pytest.fixture
def read(tmp_path, spark):
    """A run, its cells, and Spark's frame of one of its tables, with further columns of the same values in all rows."""

    def opened(change):
        run = tiny()
        change(run)
        runs = open_runs([run.write(tmp_path / "run")])

        def frame(table, columns, **further):
            rows = [{name: row.get(name) for name in columns} | further for row in run.tables[table]]
            return spark.createDataFrame(pa.Table.from_pylist(rows, pa.schema(SPARK_TYPES | columns)))

        return cells(runs, runs[0].cells), frame

    return opened


#: Columns that both frames have, and those that each has besides.
SPARK_TYPES = {"cell_id": pa.int32()}
PERIODS = {"period": pa.string(), "begin_ns": pa.int64(), "end_ns": pa.int64()}
SENT = dict.fromkeys(("producer", "position", "execution", "planned_ns", "settled_ns", "sender", "copies"), pa.int64())


def _hole(run):
    run.tables["sent"].pop(len(run.tables["sent"]) // 2)


def _unplanned(run):
    next(row for row in run.tables["sent"] if row["planned_ns"] is not None)["planned_ns"] = None


@pytest.mark.parametrize(
    ("change", "sender", "words"),
    [
        (_hole, 0, "0, 1, 2, ... without a gap"),
        (_unplanned, 0, "starts without a planned instant"),
        (lambda _: None, None, "a producer or an address that is not in the plan"),
    ],
)
def test_messages_that_cannot_be_are_refused(read, change, sender, words):
    """The messages of a producer have no hole, what a driver sent was planned, and senders are those of the plan."""
    found, frame = read(change)
    sent = frame("sent", SENT, cell_id=0, sender=sender, copies=1)

    with pytest.raises(DataError, match=words):
        check_written(sent, sent, found)


def test_copies_of_a_handler_that_is_not_planned_are_refused(read):
    """A copy at such a handler is no misdelivery, but of another record."""
    found, _ = read(lambda _: None)

    with pytest.raises(DataError, match="handler 99 is not in the plan"):
        check_handlers([{"cell_id": 0, "handler": 99}], SimpleNamespace(keys=["the run"]), found)


def test_periods_follow_each_other(read):
    """One that begins within the one before is refused."""
    found, frame = read(lambda run: run.tables["periods"][1].update(begin_ns=run.tables["periods"][0]["begin_ns"] + 1))

    with pytest.raises(DataError, match="does not follow the period before it"):
        instants(SimpleNamespace(tables={"periods": frame("periods", PERIODS, cell_id=0)}), found)
