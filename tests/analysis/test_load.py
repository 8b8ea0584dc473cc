"""What is no run directory, or not a whole one, is refused with what is missing and what to do."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.directory import STRANGER, frames
from analysis.errors import DataError
from analysis.load import open_runs
from tests import run_directories as rd
from workloads.records import CAPACITY
from workloads.rules import VerdictKind
from workloads.sendrules import Arrivals

FOUR = [(0, 1), (0, 2), (160, 1), (160, 2)]


@pytest.fixture
def run():
    return rd.measured_run(FOUR)


def refusal(*paths, **options):
    with pytest.raises(DataError) as error:
        open_runs(list(paths), **options)
    return str(error.value)


def test_a_complete_run_is_read(run, tmp_path):
    """Options, brokers and starts come from the manifest; complete cells are those with windows, warm-up included."""
    (read,) = open_runs([run.write(tmp_path / "one")])

    assert (read.name, read.grid, read.profile, read.workers) == ("one", "quick", "today", 1)
    assert read.brokers["activemq"].cpus == 1
    assert len(read.cells) == len(FOUR) + 1
    assert read.findings == ()


def test_the_newest_run_is_the_default(run, tmp_path, monkeypatch):
    """Without a name results/latest is read, also where it is a symbolic link."""
    run.write(tmp_path / "results" / "one")
    (tmp_path / "results" / "latest").symlink_to("one")
    monkeypatch.chdir(tmp_path)

    assert [read.name for read in open_runs([])] == ["one"]


def test_no_run_at_all_says_how_to_get_one(tmp_path, monkeypatch):
    """A newcomer who asks before measuring is told the command that measures."""
    monkeypatch.chdir(tmp_path)

    assert "make bench" in refusal()


def test_a_folder_without_manifest_is_no_run(tmp_path):
    """Any other folder is refused by what it lacks."""
    assert "manifest.json" in refusal(tmp_path)


def test_a_run_is_named_once(run, tmp_path):
    """The same directory under two names would count twice."""
    folder = run.write(tmp_path / "one")
    (tmp_path / "latest").symlink_to("one")

    assert "twice" in refusal(folder, tmp_path / "latest")


def test_two_runs_of_one_name_stay_apart(run, tmp_path):
    """Runs are told apart by their whole path where their folders have one name."""
    first, second = run.write(tmp_path / "a" / "run"), run.write(tmp_path / "b" / "run")

    assert {read.name for read in open_runs([first, second])} == {str(first), str(second)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 99}, "schema 99, this analysis reads 3"),
        ({"schema": None}, "schema None"),
        ({"schema": 1}, "schema 1, this analysis reads 3; an older version of the suite measured it"),
        ({"outcome": None}, "still runs, or was killed"),
        ({"outcome": "interrupted"}, "was interrupted"),
        ({"outcome": "failed", "error": "broker died: OutOfMemoryError"}, "broker died: OutOfMemoryError"),
        ({"outcome": "great"}, "'great' is none of"),
        ({"rows": None}, "'rows' is None"),
        ({"starts": []}, "no such start"),
        ({"brokers": {}}, "no such start"),
        ({"brokers": {"activemq": {"cpus": [0]}}}, "'cpu_known' is missing"),
        ({"options": {}}, "'grid' is missing"),
    ],
)
def test_a_manifest_that_cannot_support_an_analysis(run, tmp_path, change, said):
    """Each refusal names the value and what was expected."""
    folder = run.write(tmp_path / "one")
    run.manifest.update(change)
    (folder / "manifest.json").write_text(json.dumps(run.manifest))

    assert said in refusal(folder)


@pytest.mark.parametrize("outcome", [None, "interrupted", "failed"])
def test_an_unfinished_run_names_the_next_command(run, tmp_path, outcome):
    """The message of every unfinished run says how its complete cells are read."""
    run.manifest["outcome"] = outcome

    assert "--partial" in refusal(run.write(tmp_path / "one"))


def test_an_absent_outcome_is_a_killed_run(run, tmp_path):
    """A killed session leaves no outcome and no row counts: refused, and read as far as it went with --partial."""
    del run.manifest["outcome"]
    folder = run.write(tmp_path / "one")

    assert "killed" in refusal(folder)
    assert open_runs([folder], partial=True)[0].cells


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_damaged_manifest(run, tmp_path, text):
    """JSON that is cut short or something else is refused, not a crash."""
    folder = run.write(tmp_path / "one")
    (folder / "manifest.json").write_text(text, encoding="latin-1")

    assert "manifest.json" in refusal(folder)


def test_a_run_without_its_plan(run, tmp_path):
    """Without the plan nobody knows what should have happened."""
    folder = run.write(tmp_path / "one")
    (folder / "plan.json").unlink()

    assert "plan.json is missing" in refusal(folder)


def test_a_plan_of_another_version(run, tmp_path):
    """The plan has a schema of its own, and its entries have declared keys."""
    folder = run.write(tmp_path / "one")
    (folder / "plan.json").write_text(json.dumps({"schema": 99, "cells": []}))
    assert "schema 99" in refusal(folder)


@pytest.mark.parametrize("key", ["n_fltr", "connections", "factors", "pace", "fits_model", "lanes"])
def test_an_entry_of_the_plan_is_whole(run, tmp_path, key):
    """What the analysis needs of a cell's plan is refused by name where it is missing."""
    del run.plans[1][key]

    assert f"plan.json: {key!r} is missing" in refusal(run.write(tmp_path / "one"))


def test_a_lane_says_whether_it_is_shared(run, tmp_path):
    """Without it nobody knows whether one or all of its receivers should get a message."""
    del run.plans[1]["lanes"][0]["shared"]

    assert "lanes of replication f0000-r001: 'shared' is missing" in refusal(run.write(tmp_path / "one"))


def test_a_run_without_open_loops_has_no_latency(run, tmp_path, spark):
    """The latency table may be without files, even without a folder; it is then empty."""
    folder = run.write(tmp_path / "one")
    (folder / "latency").rmdir()

    assert frames(spark, open_runs([folder])).tables["latency"].count() == 0


def test_latency_rows_are_counted_like_all_others(tmp_path):
    """A latency file that vanished is noticed by the manifest's count."""
    run = rd.measured_run(FOUR)
    rd.add_open_loop(run, rd.open_loop_plan(50, Arrivals.POISSON), 50, window_s=1.0)
    folder = run.write(tmp_path / "one")
    assert open_runs([folder])
    next((folder / "latency").iterdir()).unlink()

    assert "latency/ holds 0 rows" in refusal(folder)


def test_preparation_is_not_counted_among_the_cells(run, tmp_path):
    """What is complete of an interrupted run is told in cells; capacities and warm-ups are none."""
    rd.add_cell(run, rd.replication_plan(0, 1, experiment=CAPACITY, cell="latency-u30"), taken_s=[1e-4])
    run.manifest["outcome"] = "interrupted"

    (finding,) = open_runs([run.write(tmp_path / "one")], partial=True)[0].findings
    assert finding.measured.startswith("4 of 4 cells")


def test_a_recorded_cell_without_plan(run, tmp_path):
    """Windows of a cell that no plan describes are refused by the cell's name."""
    run.plans.pop()

    assert "f0160-r002 (start 1) was recorded, but plan.json has no plan" in refusal(run.write(tmp_path / "one"))


@pytest.mark.parametrize("table", ["sends", "deliveries", "windows", "samples"])
def test_a_missing_file_is_noticed(run, tmp_path, table):
    """The manifest counts the rows of every table, so that no file can vanish."""
    folder = run.write(tmp_path / "one")
    next((folder / table).iterdir()).unlink()

    assert f"{table}/ holds" in refusal(folder)


def test_rows_are_counted_even_for_a_partial_reading(run, tmp_path):
    """--partial excuses a run that ended early, not one that lost files afterwards."""
    folder = run.write(tmp_path / "one")
    next((folder / "deliveries").iterdir()).unlink()

    assert "deliveries/ holds" in refusal(folder, partial=True)


@pytest.mark.parametrize("table", ["sends", "deliveries", "windows", "samples"])
@pytest.mark.parametrize("keep", [0, 0.5])
def test_a_truncated_file_is_named(run, tmp_path, table, keep):
    """A file that is cut short or empty is named with its table."""
    folder = run.write(tmp_path / "one")
    file = next((folder / table).iterdir())
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])

    assert f"{table}/{file.name} cannot be read" in refusal(folder)


def test_damage_inside_a_windows_file(run, tmp_path):
    """An intact footer with damaged pages is refused as well."""
    folder = run.write(tmp_path / "one")
    file = next((folder / "windows").iterdir())
    content = file.read_bytes()
    file.write_bytes(content[:4] + b"\xff" * 200 + content[204:])

    assert "cannot be read" in refusal(folder)


@pytest.mark.parametrize(("column", "kind"), [("arrival", pa.int32()), ("lane", pa.string()), ("first_seq", None)])
def test_columns_are_those_declared(run, tmp_path, column, kind):
    """A column of another type, or none, is refused by name: nothing is filled with nulls."""
    folder = run.write(tmp_path / "one")
    file = next((folder / "deliveries").iterdir())
    table = pq.read_table(file)
    at = table.schema.get_field_index(column)
    table = table.remove_column(at) if kind is None else table.set_column(at, column, table[column].cast(kind))
    pq.write_table(table, file)

    assert f"column {column} is {kind or 'missing'}" in refusal(folder)


def test_a_scheduled_cell_that_was_not_measured(run, tmp_path):
    """A run that calls itself complete without all its cells is refused; --partial says what is missing."""
    for table in run.tables:
        run.tables[table] = [row for row in run.tables[table] if row["cell"] != "f0160-r001"]
    folder = run.write(tmp_path / "one")

    assert "1 scheduled cells have no windows, first replication f0160-r001" in refusal(folder)
    (finding,) = open_runs([folder], partial=True)[0].findings
    assert finding.measured.startswith("3 of 4 cells")


def test_partial_reads_complete_cells_and_says_so(run, tmp_path, spark):
    """Rows of a cell without windows are left out, and the run can no longer be valid."""
    run.manifest |= {"outcome": "interrupted"}
    run.tables["windows"] = [row for row in run.tables["windows"] if row["cell"] != "f0160-r001"]
    runs = open_runs([run.write(tmp_path / "one")], partial=True)
    data = frames(spark, runs)

    cells = {key.cell for key in data.keys}
    assert "f0160-r001" not in cells
    assert len(cells) == len(FOUR)
    read = {row["cell"] for row in data.tables["deliveries"].select("cell").distinct().collect()}
    assert read == cells
    assert runs[0].findings[0].consequence == VerdictKind.UNVERIFIED


def test_nothing_complete_is_nothing_to_read(run, tmp_path):
    """A session killed in its first cell has nothing, and that is said."""
    del run.manifest["outcome"]
    run.tables["windows"] = []

    assert "no cell is complete" in refusal(run.write(tmp_path / "one"), partial=True)


def test_rows_carry_the_number_of_their_own_cell(run, tmp_path, spark):
    """Equal cells of two runs never get one number, and every row finds its own."""
    runs = open_runs([run.write(tmp_path / "one"), rd.measured_run(FOUR, starts=2).write(tmp_path / "two")])
    data = frames(spark, runs)

    rows = data.tables["windows"].select("cell_id", "run", *rd.KEYS).distinct().collect()
    assert len(rows) == 5 + 2 * 5
    assert all((data.keys[row[0]].run, data.keys[row[0]].cell) == (row["run"], row["cell"]) for row in rows)
    assert len({row[0] for row in rows}) == len(rows)


@pytest.mark.parametrize("name", ["a+b %20 #1", "[x] {y,z} *?", "run:1,2"])
def test_any_folder_name_will_do(run, tmp_path, spark, name):
    """Names with blanks, signs of URIs and signs of patterns are names, not something to expand."""
    folder = run.write(tmp_path / name)
    data = frames(spark, open_runs([folder]))

    assert data.tables["windows"].count() == len(run.tables["windows"])


def test_rows_without_a_plan_are_strangers(run, tmp_path, spark):
    """A delivery of a cell that nobody planned is kept, and marked; the audit refuses it."""
    run.tables["deliveries"][0]["cell"] = "elsewhere"
    data = frames(spark, open_runs([run.write(tmp_path / "one")]))

    assert [row["cell_id"] for row in data.tables["deliveries"].where("cell = 'elsewhere'").collect()] == [STRANGER]


def test_other_files_in_a_folder_are_not_data(run, tmp_path):
    """Files under a temporary name belong to a writer that has not finished."""
    folder = run.write(tmp_path / "one")
    Path(folder / "windows" / "half.parquet.tmp").write_bytes(b"half")

    assert open_runs([folder])
