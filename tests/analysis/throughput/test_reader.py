"""What is no run directory, or not a whole one, is refused with what is missing and what to do."""

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.errors import DataError
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

    assert "pytest microbench -k replication" in refusal()


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
    """The message of every unfinished run, one that was killed included, says how its complete layouts are read. Files
    that workers wrote when it ended, so that nobody counted them, do not keep it from being read."""
    run.manifest["outcome"] = outcome
    run.manifest["rows"] = {table: len(rows) for table, rows in run.tables.items()}
    run.manifest["rows"]["deliveries"] -= 1
    folder = run.write(tmp_path / "one")

    said = refusal(folder)
    assert "--partial" in said
    assert "reads the complete layouts" in said
    assert open_runs([folder], partial=True)[0].cells


def keep(run, wanted, *tables):
    """Only the rows of these tables that are wanted; of all tables but layouts where none is named."""
    for table in tables or set(run.tables) - {"layouts"}:
        run.tables[table] = [row for row in run.tables[table] if wanted(row)]


def forget(entry, key):
    del entry[key]


#: What a run may lack or have too much of -> how it comes about, and the refusal.
UNFIT = {
    **{
        f"no {key} in the plan": (
            lambda run, key=key: forget(run.plans[0], key),
            rf"plan\.json: cells\[0\]: {key} is missing",
        )
        for key in ("n_fltr", "connections", "factors", "pace", "fits_model", "lanes")
    },
    "a lane that may be shared": (
        lambda run: forget(run.plans[0]["lanes"][0], "shared"),
        r"plan\.json: cells\[0\]: lanes\[0\]\.shared is missing",
    ),
    "a recorded cell without plan": (
        lambda run: forget(run.plans, 3),
        r"f0160-r002 \(start 1\) was recorded, but plan\.json has no plan",
    ),
    "a scheduled cell that was not measured": (
        lambda run: keep(run, lambda row: row["cell"] != "f0160-r001"),
        "1 scheduled cells have no windows, first replication f0160-r001",
    ),
    "a cell that only warmed up": (
        lambda run: [row.update(status="warm-up") for row in run.rows("windows", cell="f0160-r001")],
        "1 scheduled cells have no windows, first replication f0160-r001",
    ),
    "a pass without one of its cells": (
        lambda run: keep(run, lambda row: (row["cell"], row["layout"]) != ("f0160-r001", 3), "windows"),
        r"f0160-r001 \(start 1\) of activemq was not measured in layout 3 of 5",
    ),
    "a gap in the layouts": (
        lambda run: keep(run, lambda row: row["layout"] != 2, *run.tables),
        "was not measured in layout 2 of 5",
    ),
    **{
        f"{table} of a layout that was not completed": (
            lambda run, table=table: run.tables[table][-1].update(block=1),
            rf"{table}/\S+ has rows of layout 5, block 1 of activemq \(start 1\)",
        )
        for table in ("sends", "deliveries", "windows", "samples")
    },
    "a layout recorded twice": (
        lambda run: run.tables["layouts"].append(dict(run.tables["layouts"][2])),
        r"layout 2, block 0 of activemq \(start 1\) is recorded twice",
    ),
}


@pytest.mark.parametrize("by_layout", [True, False])
@pytest.mark.parametrize("what", UNFIT)
def test_what_does_not_belong_together_is_refused(run, tmp_path, what, by_layout):
    """By what is missing, whether each layout has a file of its own or its rows say which one they belong to."""
    change, said = UNFIT[what]
    change(run)

    assert re.search(said, refusal(run.write(tmp_path / "one", by_layout=by_layout)))


def cut(file, share):
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])


def spoil(file):
    """Damaged pages before an intact footer."""
    content = file.read_bytes()
    file.write_bytes(content[:4] + b"\xff" * 200 + content[204:])


def recast(file, column, kind):
    """A column of another type, or none."""
    table = pq.read_table(file)
    at = table.schema.get_field_index(column)
    pq.write_table(
        table.remove_column(at) if kind is None else table.set_column(at, column, table[column].cast(kind)), file
    )


ALL_TABLES = ("sends", "deliveries", "windows", "samples", "layouts", "latency")

#: What may happen to the first file of a table, or to another file -> the table or file, how, and the refusal.
DAMAGE = {
    **{f"no {table}": (table, Path.unlink, f"{table}/ holds") for table in ALL_TABLES},
    **{
        f"{share} of {table}": (table, lambda file, share=share: cut(file, share), rf"{table}/\S+ cannot be read")
        for table in ALL_TABLES
        for share in (0, 0.5)
    },
    **{f"damage in {table}": (table, spoil, "cannot be read") for table in ("windows", "layouts")},
    **{
        f"{column} is {kind}": (
            "deliveries",
            lambda file, column=column, kind=kind: recast(file, column, kind),
            f"column {column} is {kind or 'missing'}",
        )
        for column, kind in (("arrival", pa.int32()), ("lane", pa.string()), ("first_seq", None))
    },
    **{
        f"{name} is {text!a}": (name, lambda file, text=text: file.write_text(text, encoding="latin-1"), name)
        for name in ("manifest.json", "plan.json")
        for text in ("{", "[]", "\xff")
    },
    "no plan": ("plan.json", Path.unlink, "plan.json is missing"),
    "a plan of another version": (
        "plan.json",
        lambda file: file.write_text(json.dumps({"schema": 99, "cells": []})),
        "schema 99",
    ),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of every table, with a file per layout."""
    run = rd.measured_run(FOUR)
    rd.add_open_loop(run, rd.open_loop_plan(50, ArrivalProcess.POISSON), 50, slice_s=1.0)
    return run.write(tmp_path_factory.mktemp("whole") / "run", by_layout=True)


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named(whole, tmp_path, what):
    """JSON and tables that are damaged, cut short, gone or of another version are refused by name, not a crash; the
    manifest counts the rows of every table, so that no file can vanish."""
    place, damage, said = DAMAGE[what]
    folder = Path(shutil.copytree(whole, tmp_path / "run"))
    file = folder / place
    damage(file if file.is_file() else min(file.iterdir()))

    assert re.search(said, refusal(folder))
    assert re.search(said, refusal(folder, partial=True))  # which excuses a run that ended early, and nothing else


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


def of_two_starts_one(run):
    for layout in range(1, LAYOUTS + 1):
        without_layout(run, start=2, layout=layout)


#: What a run lost -> options of the run, how, and what of it is read.
PARTIAL = {
    "a layout": ({}, lambda run: without_layout(run, layout=5), "4 of 4 cells, 4 of 5 layouts"),
    "a block": ({"blocks": 2}, lambda run: without_layout(run, layout=5, block=1), "4 of 4 cells, 4 of 5 layouts"),
    "a start": ({"starts": 2}, of_two_starts_one, "4 of 8 cells, 5 of 10 layouts"),
    "a cell": ({}, lambda run: keep(run, lambda row: row["cell"] != "f0160-r001"), "3 of 4 cells"),
    "a cell of a layout": (
        {},
        lambda run: keep(run, lambda row: (row["cell"], row["layout"]) != ("f0160-r001", 3), "windows"),
        "4 of 4 cells, 4 of 5 layouts",
    ),
    "nothing but its end, with a capacity": (
        {},
        lambda run: rd.add_cell(
            run, rd.replication_plan(0, 1, experiment=CAPACITY, cell="latency-u30"), taken_s=[1e-4]
        ),
        "4 of 4 cells, 5 of 5 layouts",  # preparation is not counted
    ),
}


@pytest.mark.parametrize("what", PARTIAL)
def test_partial_reads_complete_layouts_and_says_so(tmp_path, what):
    """A layout is complete by itself, and its pass with all its blocks; of a start that was killed in its first layout
    no cell is there. The run can no longer be valid."""
    options, lose, said = PARTIAL[what]
    run = rd.measured_run(FOUR, **options)
    run.manifest["outcome"] = "interrupted"
    lose(run)

    (read,) = open_runs([run.write(tmp_path / "one")], partial=True)

    (finding,) = read.findings
    assert finding.measured.startswith(said)
    assert finding.measured.endswith(", outcome interrupted")
    assert finding.consequence == VerdictKind.UNVERIFIED
    assert {key.start for key in read.cells} == {1}


def test_nothing_complete_is_nothing_to_read(run, tmp_path):
    """A session killed in its first layout, or while it warmed up, has nothing, and that is said."""
    del run.manifest["outcome"]
    for layout in range(1, LAYOUTS + 1):
        without_layout(run, layout=layout)
    assert "no layout is complete" in refusal(run.write(tmp_path / "one"), partial=True)

    run.tables["layouts"] = []
    assert "no layout is complete" in refusal(run.write(tmp_path / "two"), partial=True)


def test_other_files_in_a_folder_are_not_data(run, tmp_path):
    """Files under a temporary name belong to a writer that has not finished."""
    folder = run.write(tmp_path / "one")
    Path(folder / "windows" / "half.parquet.tmp").write_bytes(b"half")

    assert open_runs([folder])
