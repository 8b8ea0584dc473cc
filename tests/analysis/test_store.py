"""Stored analyses: they answer as a new one would, only where they fit, and instantly."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from analysis import store
from analysis.__main__ import main
from analysis.gate import answers as gate_answers
from analysis.gate.results import RoleActivity
from analysis.gate.verdict import GateVerdict
from analysis.results import Interval
from analysis.scenario import answers as scenario_answers
from analysis.throughput import answers, pipeline
from tests.conftest import ROOT
from tests.support import gates, scenario_results, scenario_runs, study_runs, without_spark
from tests.support import run_directories as rd
from tests.support.gates import gate_directory
from workloads.arrivals import ArrivalProcess
from workloads.gate import GateRole
from workloads.throughput.presets import SMOKE

PREDICT = "predict --n-fltr 100 --replication 3 --rate 900"

#: What is asked of a run of the study.
ASKED = [f"{verb} {form}".strip() for verb in ("summary", "audit", "fit", PREDICT) for form in ("", "--json")]


@pytest.fixture
def computed(monkeypatch):
    """The runs that were computed, which takes no Spark here."""
    asked = []

    def analysed(paths, *, master, partial=False, **_):
        asked.extend(path.name for path in paths)
        return without_spark.analysed(paths, partial=partial)

    monkeypatch.setattr(pipeline, "analysed", analysed)
    return asked


@pytest.fixture(scope="module")
def analysed_run(tmp_path_factory):
    """A run whose analysis is stored, of which each test has a copy."""
    folder = rd.measured_run().write(tmp_path_factory.mktemp("analysed") / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "analysed", without_spark.analysed)
        answers.analysed([folder], master="", tell=lambda _: None)
    return folder


@pytest.fixture
def run(tmp_path, analysed_run, computed):
    """A run whose analysis is stored."""
    return shutil.copytree(analysed_run, tmp_path / "run")


def asked(capsys, words, *paths):
    """What is said to a question about these runs, and what of it is not the answer."""
    assert main([*words.split(), *map(str, paths)]) == 0
    return capsys.readouterr()


@pytest.mark.parametrize("made", ["valid", "invalid", "smoke", "two brokers", "open loop"])
def test_a_stored_analysis_answers_as_a_new_one(tmp_path, computed, made):
    """Of each kind of run: the same values, and therefore the same words and numbers."""
    run = {
        "smoke": lambda: rd.measured_run(options=rd.preset_options(SMOKE)),
        "two brokers": lambda: rd.measured_run(brokers=["activemq", "artemis"], starts=2),
    }.get(made, rd.measured_run)()
    if made == "invalid":
        run.tables["deliveries"][0]["last_seq"] -= 1
    if made == "open loop":
        rd.add_open_loop(run, rd.open_loop_plan(50, ArrivalProcess.POISSON), 50, slice_s=2.0)
    folder = run.write(tmp_path / "run")

    new = answers.analysed([folder], master="")

    assert answers.analysed([folder], master="") == new
    assert computed == ["run"]


@pytest.mark.parametrize("words", ASKED)
def test_every_verb_answers_from_it(run, computed, capsys, words):
    """It says so beside the answer, which is that of `--recompute`."""
    stored = asked(capsys, words, run)
    assert computed == []
    new = asked(capsys, f"{words} --recompute", run)

    assert stored.err == f"{run}: from the analysis stored with the run\n"
    assert new.err == f"{run}: computed anew: --recompute\n"
    assert stored.out == new.out
    assert computed == ["run"]


def other_content(folder):
    """A count of the record is another; the file has the length and the time that it had."""
    path = next((folder / "deliveries").glob("*.parquet"))
    before = path.stat()
    changed = bytearray(path.read_bytes())
    changed[8] ^= 1  # of the first column, behind the file's four letters and the page's header
    path.write_bytes(bytes(changed))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def other_manifest(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"quick"', '"today"'), encoding="utf-8")


def another_file(folder):
    path = next((folder / "windows").glob("*.parquet"))
    (folder / "windows" / "again.parquet").write_bytes(path.read_bytes())


def better_verdict(folder):
    """Someone edits the result."""
    path = folder / "analysis.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"estimate": ', '"estimate": 1', 1), encoding="utf-8")


def truncated(folder):
    os.truncate(folder / "analysis.json", (folder / "analysis.json").stat().st_size // 2)


def empty(folder):
    os.truncate(folder / "analysis.json", 0)


def something_else(folder):
    (folder / "analysis.json").write_text("{}", encoding="utf-8")


def gone(folder):
    (folder / "analysis.json").unlink()


FILES = "the files of the run have changed since it was analysed"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (other_content, FILES),
        (other_manifest, FILES),
        (another_file, FILES),
        (better_verdict, "analysis.json was changed after it was written"),
        (truncated, "analysis.json is damaged"),
        (empty, "analysis.json is damaged"),
        (something_else, "analysis.json is damaged"),
        (gone, "no analysis is stored with the run"),
    ],
)
def test_what_does_not_fit_is_not_believed(run, change, why):
    """It is computed anew, and the reason is said; what is then stored fits."""
    told, anew = [], []

    def compute(paths):
        anew.extend(paths)
        return results

    results = answers.analysed([run], master="", tell=lambda _: None)
    change(run)
    for _ in range(2):
        store.answered([run], answers.SHELF, compute, partial=False, tell=told.append)

    assert told == [f"{run}: computed anew: {why}", f"{run}: from the analysis stored with the run"]
    assert anew == [run]


def test_another_version_of_the_suite_does_not_answer(run, computed, monkeypatch, capsys):
    """Neither an older nor a newer source of the analysis: what it would say is not known."""
    monkeypatch.setattr(store, "_suite", lambda: "another")

    assert "computed anew: another version of the suite analysed it" in asked(capsys, "summary", run).err
    assert computed == ["run"]


def test_a_run_that_was_moved_answers_where_it_is(run, computed, tmp_path, capsys):
    """Under its name, which its results have, it is the same run; under another it is analysed again."""
    (tmp_path / "elsewhere").mkdir()
    moved = run.rename(tmp_path / "elsewhere" / run.name)

    found = asked(capsys, "summary", moved)
    assert found.err == f"{moved}: from the analysis stored with the run\n"
    assert f"run directory: {moved}\n" in found.out
    renamed = moved.rename(tmp_path / "renamed")
    assert "computed anew: the run was called run when it was analysed" in asked(capsys, "summary", renamed).err
    assert computed == ["renamed"]


def test_of_several_runs_only_the_missing_are_computed(run, computed, tmp_path, capsys):
    """They stand in the order in which they were named; two with the same name have another one there."""
    other = rd.measured_run().write(tmp_path / "other")

    found = asked(capsys, "summary --json", other, run)

    assert computed == ["other"]
    assert found.err.splitlines() == [
        f"{other}: computed anew: no analysis is stored with the run",
        f"{run}: from the analysis stored with the run",
    ]
    assert [each["run"] for each in json.loads(found.out)["runs"]] == ["other", "run"]
    namesake = rd.measured_run().write(tmp_path / "elsewhere" / "run")
    assert asked(capsys, "summary", run, namesake).err.count("computed anew") == 2


def test_complete_parts_do_not_answer_for_the_whole(tmp_path, computed, capsys):
    """A complete run answers a question about its complete parts, not the other way round."""
    run = rd.measured_run()
    del run.manifest["outcome"]
    folder = run.write(tmp_path / "killed")

    for _ in range(2):
        found = asked(capsys, "audit --partial", folder)
    assert found.err == f"{folder}: from the analysis stored with the run\n"
    assert main(["audit", str(folder)]) == 2
    assert computed == ["killed"] * 2


def test_a_directory_that_cannot_be_written_still_answers(tmp_path, computed, capsys):
    """The analysis is not stored, which is said."""
    folder = rd.measured_run().write(tmp_path / "run")
    (folder / "analysis.json").mkdir()

    found = asked(capsys, "fit", folder)

    assert "not stored: " in found.err
    assert "verdict: valid" in found.out


#: By kind: the shelf, a directory of a run, and results of it.
KINDS = {
    "study": (answers.SHELF, rd.measured_run, lambda: study_runs.study(brokers=("activemq", "artemis"), starts=2)),
    "workload": (scenario_answers.SHELF, scenario_runs.empty_run, lambda: scenario_results.result(repeat=True)),
    "gate": (
        gate_answers.SHELF,
        lambda: gate_directory(lambda *_: 1.0),
        lambda: gates.result(
            GateVerdict.REGRESSED,
            gates.family("t_tx", GateVerdict.REGRESSED),
            gates.family("t_fltr", GateVerdict.INCONCLUSIVE, ratio=None),
            activity={role: RoleActivity(0.01, None) for role in GateRole},
            order_effect=Interval(1.0),
        ),
    ),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """By kind: the directory, the results that were stored with it, and those that are read."""
    folder, found = tmp_path_factory.mktemp("kinds"), {}
    for name, (shelf, made, result) in KINDS.items():
        path = made().write(folder / name)
        results = (replace(result(), path=type(result().path)(path)),)
        store.answered([path], shelf, lambda _, results=results: results, partial=False, tell=lambda _: None)
        read = store.answered([path], shelf, lambda _: (), partial=False, tell=lambda _: None)
        found[name] = path, results, read
    return found


@pytest.mark.parametrize("name", KINDS)
def test_results_of_each_kind_are_read_as_they_were(stored, name):
    """With all that a study, a workload and a gate can have: latencies, claims, ratios, plans, families."""
    _, results, read = stored[name]

    assert read == results


#: Answers questions in a process of its own, and says what it has imported for it.
QUESTIONS = """
import sys
from analysis.__main__ import main
codes = [main(words.split()) for words in sys.argv[1:]]
heavy = {"pyspark", "statsmodels", "matplotlib", "pandas", "scipy", "pyarrow"}
print(*codes, sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def test_an_answer_imports_nothing_that_takes_long(stored):
    """Whatever is asked of a run of the study, a workload or a gate."""
    verbs = {"study": ("summary", "audit", "fit", PREDICT), "workload": ("summary", "audit"), "gate": ("gate",)}
    words = [f"{verb} {stored[name][0]}" for name, of_kind in verbs.items() for verb in of_kind]

    done = subprocess.run(
        [sys.executable, "-c", QUESTIONS, *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr.splitlines()[-1] == "0 0 0 0 0 0 0 []"
    assert done.stderr.count("from the analysis stored with the run") == len(words)
