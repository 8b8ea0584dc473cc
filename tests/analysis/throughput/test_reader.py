"""What is no run directory, or not a whole one, is refused with what is missing and what to do."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.errors import DataError
from analysis.frames import STRANGER, frames
from analysis.throughput.reader import open_runs
from tests.support import run_directories as rd
from workloads.arrivals import ArrivalProcess
from workloads.schema import CAPACITY, SCHEMA_VERSION
from workloads.status import VerdictKind

FOUR = [(0, 1), (0, 2), (160, 1), (160, 2)]


#: Of a run of FOUR: with so few cells, its block is filled up to six.
ANCHORS = 2

LAYOUTS = 5


@pytest.fixture
def run():
    return rd.measured_run(FOUR)


def without_layout(run, **keys):
    """As if the recorder had been killed before it wrote the row that completes this layout."""
    for row in run.rows("layouts", **keys):
        run.tables["layouts"].remove(row)


def refusal(*paths, **options):
    with pytest.raises(DataError) as error:
        open_runs(list(paths), **options)
    return str(error.value)


def test_a_complete_run_is_read(run, tmp_path):
    """Options, brokers and starts come from the manifest; cells are those with counted slices, anchors included."""
    (read,) = open_runs([run.write(tmp_path / "one")])

    options = read.options
    assert (read.name, options.grid, options.profile, options.workers) == ("one", "quick", "today", 1)
    assert (options.layouts, options.precision) == (LAYOUTS, None)
    assert read.manifest.brokers["activemq"].cpu_count == 1
    assert len(read.cells) == len(FOUR) + ANCHORS
    assert [(each.layout, each.block, each.rounds) for each in read.laid_out] == [
        (0, 0, 1),
        *((layout, 0, 3) for layout in range(1, LAYOUTS + 1)),
    ]
    assert read.findings == ()


def test_a_start_says_how_it_became_warm(run, tmp_path):
    """What the warm-up ended with; what no JVM told is None."""
    run.manifest["starts"][0] |= {"warm": False, "contrast_change": None, "compiler_share": 0.02}

    (start,) = open_runs([run.write(tmp_path / "one")])[0].manifest.starts
    assert (start.warm, start.contrast_change, start.compiler_share) == (False, None, 0.02)
    assert (start.idle_cpu, start.warm_up_s) == (0.004, 41)


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
        ({"schema": 99}, f"schema 99, this analysis reads {SCHEMA_VERSION}"),
        ({"schema": None}, "schema None"),
        ({"schema": 1}, f"schema 1, this analysis reads {SCHEMA_VERSION}; an older version of the suite measured it"),
        ({"outcome": None}, "still running, or was killed"),
        ({"outcome": "interrupted"}, "was interrupted"),
        ({"outcome": "failed", "error": "broker died: OutOfMemoryError"}, "broker died: OutOfMemoryError"),
        ({"outcome": "great"}, "outcome: invalid enum value 'great', expected one of complete, interrupted, failed"),
        ({"rows": None}, "the manifest says nothing"),
        ({"rows": {"sends": "20"}}, 'rows["sends"]: expected `int`, got `str`'),
        ({"kind": "soak"}, "kind: invalid enum value 'soak', expected one of throughput, workload"),
        ({"starts": []}, "no such start"),
        ({"brokers": {}}, "no such start"),
        ({"brokers": {"activemq": {"cpus": [0]}}}, 'brokers["activemq"].product is missing'),
        ({"options": {"workers": 1}}, "options: load_cpus is missing"),
        (
            {"starts": [{"broker": "activemq", "start": 1, "idle_cpu": None, "warm_up_s": 9.0}]},
            "starts[0].warm is missing",
        ),
        ({"schedule": [{"broker": "activemq"}]}, "schedule[0].start is missing"),
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
    """The message of every unfinished run says how its complete layouts are read."""
    run.manifest["outcome"] = outcome

    said = refusal(run.write(tmp_path / "one"))
    assert "--partial" in said
    assert "reads the complete layouts" in said


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
    del run.plans[0][key]

    assert f"plan.json: cells[0]: {key} is missing" in refusal(run.write(tmp_path / "one"))


def test_a_lane_says_whether_it_is_shared(run, tmp_path):
    """Without it nobody knows whether one or all of its receivers should get a message."""
    del run.plans[0]["lanes"][0]["shared"]

    assert "plan.json: cells[0]: lanes[0].shared is missing" in refusal(run.write(tmp_path / "one"))


def test_a_run_without_open_loops_has_no_latency(run, tmp_path, spark):
    """The latency table may be without files, even without a folder; it is then empty."""
    folder = run.write(tmp_path / "one")
    (folder / "latency").rmdir()

    assert frames(spark, open_runs([folder])).tables["latency"].count() == 0


def test_latency_rows_are_counted_like_all_others(tmp_path):
    """A latency file that vanished is noticed by the manifest's count."""
    run = rd.measured_run(FOUR)
    rd.add_open_loop(run, rd.open_loop_plan(50, ArrivalProcess.POISSON), 50, slice_s=1.0)
    folder = run.write(tmp_path / "one")
    assert open_runs([folder])
    next((folder / "latency").iterdir()).unlink()

    assert "latency/ holds" in refusal(folder)


def test_preparation_is_not_counted_among_the_cells(run, tmp_path):
    """What is complete of an interrupted run is told in cells; capacities and anchors are none."""
    rd.add_cell(run, rd.replication_plan(0, 1, experiment=CAPACITY, cell="latency-u30"), taken_s=[1e-4])
    run.manifest["outcome"] = "interrupted"

    (finding,) = open_runs([run.write(tmp_path / "one")], partial=True)[0].findings
    assert finding.measured.startswith("4 of 4 cells")


def test_a_recorded_cell_without_plan(run, tmp_path):
    """Slices of a cell that no plan describes are refused by the cell's name."""
    del run.plans[3]

    assert "f0160-r002 (start 1) was recorded, but plan.json has no plan" in refusal(run.write(tmp_path / "one"))


@pytest.mark.parametrize("table", ["sends", "deliveries", "windows", "samples", "layouts"])
def test_a_missing_file_is_noticed(run, tmp_path, table):
    """The manifest counts the rows of every table, so that no file can vanish."""
    folder = run.write(tmp_path / "one")
    next((folder / table).iterdir()).unlink()

    assert f"{table}/ holds" in refusal(folder)


@pytest.mark.parametrize("outcome", ["interrupted", "failed"])
def test_files_of_what_was_cut_short_are_not_read(run, tmp_path, outcome):
    """Workers may have written them when the run ended, so that nobody counted them; --partial reads the rest."""
    run.manifest["outcome"] = outcome
    run.manifest["rows"] = {table: len(rows) for table, rows in run.tables.items()}
    run.manifest["rows"]["deliveries"] -= 1

    assert open_runs([run.write(tmp_path / "one")], partial=True)[0].cells


def test_rows_are_counted_even_for_a_partial_reading(run, tmp_path):
    """--partial excuses a run that ended early, not one that lost files afterwards."""
    folder = run.write(tmp_path / "one")
    next((folder / "deliveries").iterdir()).unlink()

    assert "deliveries/ holds" in refusal(folder, partial=True)


@pytest.mark.parametrize("table", ["sends", "deliveries", "windows", "samples", "layouts"])
@pytest.mark.parametrize("keep", [0, 0.5])
def test_a_truncated_file_is_named(run, tmp_path, table, keep):
    """A file that is cut short or empty is named with its table."""
    folder = run.write(tmp_path / "one")
    file = next((folder / table).iterdir())
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])

    assert f"{table}/{file.name} cannot be read" in refusal(folder)


@pytest.mark.parametrize("table", ["windows", "layouts"])
def test_damage_inside_a_small_file(run, tmp_path, table):
    """An intact footer with damaged pages is refused as well."""
    folder = run.write(tmp_path / "one")
    file = next((folder / table).iterdir())
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
    for table in set(run.tables) - {"layouts"}:
        run.tables[table] = [row for row in run.tables[table] if row["cell"] != "f0160-r001"]
    folder = run.write(tmp_path / "one")

    assert "1 scheduled cells have no windows, first replication f0160-r001" in refusal(folder)
    (finding,) = open_runs([folder], partial=True)[0].findings
    assert finding.measured.startswith("3 of 4 cells")


def test_a_cell_that_only_warmed_up_was_not_measured(run, tmp_path):
    """Slices that make the broker warm complete no cell."""
    for row in run.rows("windows", cell="f0160-r001"):
        row["status"] = "warm-up"

    assert "1 scheduled cells have no windows, first replication f0160-r001" in refusal(run.write(tmp_path / "one"))


def test_every_pass_has_every_cell(run, tmp_path):
    """A cell without a counted slice in one of the layouts was not measured as often as the others."""
    run.tables["windows"] = [row for row in run.tables["windows"] if (row["cell"], row["layout"]) != ("f0160-r001", 3)]
    folder = run.write(tmp_path / "one")

    assert "f0160-r001 (start 1) of activemq was not measured in layout 3 of 5" in refusal(folder)
    (read,) = open_runs([folder], partial=True)
    assert len(read.cells) == len(FOUR) + ANCHORS
    assert read.findings[0].measured == "4 of 4 cells, 4 of 5 layouts, outcome complete"


def test_the_first_layout_is_one_like_all(run, tmp_path):
    """Layouts are numbered from 1 without a gap: one that vanished with all its rows is missed."""
    for table in run.tables:
        run.tables[table] = [row for row in run.tables[table] if row["layout"] != 2]

    assert "was not measured in layout 2 of 5" in refusal(run.write(tmp_path / "one"))


def test_precision_may_ask_for_more_layouts(tmp_path):
    """More layouts than were asked for at first are no fault, as long as all cells have them."""
    run = rd.measured_run(FOUR, layouts=7, options={"layouts": 5, "precision": 0.05})

    (read,) = open_runs([run.write(tmp_path / "one")])
    assert (read.options.layouts, read.options.precision) == (5, 0.05)
    assert max(each.layout for each in read.laid_out) == 7

    without_layout(run, layout=7)
    del run.manifest["rows"]
    assert "has rows of layout 7" in refusal(run.write(tmp_path / "two"))


def test_all_blocks_of_a_pass_are_one(tmp_path):
    """Cells of a start may stand in several blocks; each is complete with its own layouts."""
    run = rd.measured_run(blocks=3)

    (read,) = open_runs([run.write(tmp_path / "one")])
    assert len(read.cells) == 16 + 3
    assert len(read.laid_out) == 3 * (1 + LAYOUTS)


@pytest.mark.parametrize("table", ["sends", "deliveries", "windows", "samples"])
def test_nothing_is_recorded_of_a_layout_that_was_not_completed(run, tmp_path, table):
    """In a complete run every row belongs to a layout that has its row; the table and the layout are named."""
    run.tables[table][-1]["block"] = 1

    assert re.search(
        rf"{table}/\S+ has rows of layout 5, block 1 of activemq \(start 1\)", refusal(run.write(tmp_path / "1"))
    )


def test_layouts_that_share_a_file_are_told_apart(run, tmp_path):
    """Where a file has several layouts, its rows say which."""
    folder = run.write(tmp_path / "one")
    files = sorted((folder / "sends").iterdir())
    pq.write_table(pa.concat_tables([pq.read_table(file) for file in files]), files[0])
    for file in files[1:]:
        file.unlink()
    assert open_runs([folder])

    next((folder / "layouts").glob("*-3-0.parquet")).unlink()
    run.manifest["rows"]["layouts"] -= 1
    (folder / "manifest.json").write_text(json.dumps(run.manifest))
    assert "has rows of layout 3, block 0" in refusal(folder)


def test_a_layout_is_recorded_once(run, tmp_path):
    """Two rows that complete one layout come from two runs."""
    run.tables["layouts"].append(dict(run.tables["layouts"][2]))

    assert "layout 2, block 0 of activemq (start 1) is recorded twice" in refusal(run.write(tmp_path / "one"))


def test_partial_reads_complete_layouts_and_says_so(run, tmp_path, spark):
    """Rows of a layout without its row are left out, of all tables, and the run can no longer be valid."""
    run.manifest |= {"outcome": "interrupted"}
    without_layout(run, layout=5)
    runs = open_runs([run.write(tmp_path / "one")], partial=True)
    data = frames(spark, runs)

    assert len(runs[0].cells) == len(FOUR) + ANCHORS
    for table in ("deliveries", "sends", "windows", "samples"):
        read = {row["layout"] for row in data.tables[table].select("layout").distinct().collect()}
        assert read == set(range(LAYOUTS)), table
    (finding,) = runs[0].findings
    assert finding.measured == "4 of 4 cells, 4 of 5 layouts, outcome interrupted"
    assert finding.consequence == VerdictKind.UNVERIFIED


def test_partial_reads_the_blocks_of_the_last_pass_that_are_complete(tmp_path, spark):
    """A layout is complete by itself; its pass is not counted as a whole one."""
    run = rd.measured_run(blocks=2)
    run.manifest["outcome"] = "interrupted"
    without_layout(run, layout=5, block=1)
    runs = open_runs([run.write(tmp_path / "one")], partial=True)

    rows = frames(spark, runs).tables["windows"].where("layout = 5").select("block").distinct().collect()
    assert [row["block"] for row in rows] == [0]
    assert runs[0].findings[0].measured == "16 of 16 cells, 4 of 5 layouts, outcome interrupted"


def test_a_start_without_a_counted_layout_is_missing(tmp_path, spark):
    """Of a life that was killed in its first layout no cell is there; its warm-up, which is complete, is read."""
    run = rd.measured_run(FOUR, starts=2)
    del run.manifest["outcome"], run.manifest["starts"][1]
    for layout in range(1, LAYOUTS + 1):
        without_layout(run, start=2, layout=layout)
    runs = open_runs([run.write(tmp_path / "one")], partial=True)
    data = frames(spark, runs)

    assert {key.start for key in runs[0].cells} == {1}
    rows = data.tables["sends"].where("start = 2").select("layout", "cell_id").distinct().collect()
    assert {row["layout"] for row in rows} == {0}
    assert STRANGER not in {row["cell_id"] for row in rows}
    assert runs[0].findings[0].measured == "4 of 8 cells, 5 of 10 layouts, outcome absent"


def test_nothing_complete_is_nothing_to_read(run, tmp_path):
    """A session killed in its first layout, or while it warmed up, has nothing, and that is said."""
    del run.manifest["outcome"]
    for layout in range(1, LAYOUTS + 1):
        without_layout(run, layout=layout)
    assert "no layout is complete" in refusal(run.write(tmp_path / "one"), partial=True)

    run.tables["layouts"] = []
    assert "no layout is complete" in refusal(run.write(tmp_path / "two"), partial=True)


def test_rows_carry_the_number_of_their_own_cell(run, tmp_path, spark):
    """Equal cells of two runs never get one number, and every row finds its own."""
    runs = open_runs([run.write(tmp_path / "one"), rd.measured_run(FOUR, starts=2).write(tmp_path / "two")])
    data = frames(spark, runs)

    rows = data.tables["windows"].select("cell_id", "run", *rd.KEYS).distinct().collect()
    assert len(rows) == 3 * (len(FOUR) + ANCHORS)
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
