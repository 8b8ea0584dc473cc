"""From the run directory of a gate to the exit code of pytest and of `python -m analysis gate`: faults come first."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module

import pytest

from analysis.errors import DataError
from analysis.gate import answers, history, pipeline
from analysis.gate.asked import options_of
from analysis.gate.ci_files import STEP_OUTPUT, STEP_SUMMARY
from analysis.gate.verdict import GateVerdict
from analysis.results import CellKey
from analysis.throughput.reader import open_runs
from analysis.throughput.results import AuditResult
from tests.support import run_directories as rd
from tests.support import without_spark
from tests.support.gates import NAMES, gate_directory
from tests.support.judging import judged_session
from workloads import command_line
from workloads.calibrations import CALIBRATIONS
from workloads.exit_codes import ExitCode
from workloads.gate import ALL_CELLS, CORRECTNESS, GateRole
from workloads.limits import IDLE_BROKER, LEFT_OUT
from workloads.schema import BY_URL
from workloads.throughput.families import COSTS

pytest_plugins = ["pytester"]

# A session inside this process forgets what it has imported, and a module of C is loaded once: these are here before.
main = import_module("analysis.__main__").main
import_module("analysis.report.gate_page")

FAMILIES = (*COSTS, ALL_CELLS)
ITEMS = [f"gate[{name}]" for name in (CORRECTNESS, *FAMILIES)]


def changed(cell, factors):
    """The ratio of a cell's cost with these factors to the one without."""
    further, copies = int(cell[1:5]), int(cell[-3:])
    costs = [cost * number for cost, number in zip(rd.TIMES, (1, further + copies, copies), strict=True)]
    return sum(cost * factor for cost, factor in zip(costs, factors, strict=True)) / sum(costs)


def steady(cell, pair, factors=(1.0, 1.0, 1.0)):
    """Pairs of lives that differ by a tenth of a per cent."""
    return changed(cell, factors) * (1 + 0.001 * (pair % 3 - 1))


def slower(cell, pair):
    """Each copy costs twice as much."""
    return steady(cell, pair, (1.0, 1.0, 2.0))


def dearer(cell, pair):
    """All costs are a fifth higher."""
    return 1.2 * steady(cell, pair)


def scattered(_cell, pair):
    """Pairs of lives that differ by a fifth."""
    return math.exp(0.2 * (pair % 3 - 1))


CALIBRATE = {"calibrate": True}


def _faster():
    run = gate_directory(lambda cell, pair: 0.8 * steady(cell, pair))
    run.manifest["brokers"][GateRole.BASELINE]["provider"] = BY_URL
    return run


def _unsaturated():
    """The candidate waits half of the time in one of the cells."""
    run = gate_directory(steady)
    for row in run.rows("windows", broker=GateRole.CANDIDATE, cell=NAMES[0]):
        row["broker_cpu_ns"] //= 2
    return run


def _trimmed():
    """Nobody knows the candidate's pauses, and in each pair of lives one of twelve slices takes twice as long."""
    run = gate_directory(steady, rounds=12)
    for row in run.rows("windows", broker=GateRole.CANDIDATE):
        row["gc_pause_ns"] = row["gc_pauses"] = row["full_gc_pause_ns"] = None
        if row["round"] == 2:
            row["end_ns"] += row["end_ns"] - row["begin_ns"]
            row["broker_cpu_ns"] *= 2
    return run


def _unknown():
    """Brokers by URL, of which nobody knows the CPU time."""
    run = gate_directory(steady)
    for row in run.rows("windows"):
        row["broker_cpu_ns"] = row["idle_broker_cpu_ns"] = None
    return run


def _lossy():
    run = gate_directory(lambda cell, pair: 0.5 * steady(cell, pair))
    run.rows("deliveries", broker=GateRole.BASELINE)[0]["last_seq"] -= 1
    return run


def _busy():
    """One busy slice of four leaves out half of them, more than may be."""
    assert LEFT_OUT.limit < 0.5
    run = gate_directory(steady, rounds=4)
    for row in run.rows("windows", broker=GateRole.CANDIDATE, round=1):
        row["idle_broker_cpu_ns"] = round(1.1 * IDLE_BROKER.limit * (row["end_ns"] - row["begin_ns"]))
    return run


def _shared():
    """Another session measured on one of the CPUs."""
    run = gate_directory(steady)
    run.manifest["shared_cpus"] = [1]
    return run


#: Runs that have a verdict: what makes them, the verdict, and the families that regressed.
JUDGED = {
    "passing": (lambda: gate_directory(steady), "pass", ()),
    "regressed": (lambda: gate_directory(slower), "regressed", ("t_tx", ALL_CELLS)),
    "faster": (_faster, "faster", ()),
    "inconclusive": (lambda: gate_directory(scattered), "inconclusive", ()),
    "calibration": (lambda: gate_directory(steady, options=CALIBRATE), "pass", ()),
    "spoilt calibration": (lambda: gate_directory(dearer, options=CALIBRATE), "contaminated", FAMILIES),
    "unsaturated": (_unsaturated, "contaminated", ()),
    "trimmed": (_trimmed, "contaminated", ()),
    "unknown": (_unknown, "pass", ()),
    "lossy": (_lossy, "failed", ()),
    "busy": (_busy, "contaminated", ()),
    "shared": (_shared, "contaminated", ()),
}

#: The one that is read by Spark; of the others the slices are those that were made.
READ = "lossy"


def _without_cell():
    """A cell of the candidate is nowhere in the last pair of lives, as if it had never been planned there."""
    run = gate_directory(steady)
    place = {"broker": "candidate", "start": 5, "experiment": "replication", "cell": "f0640-r010"}
    run.manifest["schedule"].remove(place)
    for table, rows in run.tables.items():
        run.tables[table] = [row for row in rows if not place.items() <= row.items()]
    for row in run.rows("layouts", broker=GateRole.CANDIDATE, start=5):
        row["cells"] -= 1
    return run


def _no_gate():
    run = gate_directory(steady, 1)
    del run.manifest["options"]["baseline"]
    return run


#: Runs that have none, and what is said instead.
REFUSED = {
    "candidate lacks a cell": (_without_cell, "the candidate lacks the cell replication f0640-r010 in pair of lives 5"),
    "too few pairs": (
        lambda: gate_directory(steady, options={"looks": [6]}),
        "the gate ended after 5 pairs of lives and needs 1 more",
    ),
    "no gate": (_no_gate, "not a regression gate; `pytest microbench"),
}


@pytest.fixture(scope="module")
def gates(tmp_path_factory):
    """All run directories."""
    folder = tmp_path_factory.mktemp("gates")
    for name, (made, *_) in (JUDGED | REFUSED).items():
        made().write(folder / name)
    return folder


@pytest.fixture(scope="module")
def results(gates, spark):
    """Those with a verdict, by name: Spark is asked once."""
    (read,) = pipeline.judged([gates / READ], master="local[2]")
    return {name: judged(gates / name, made()) for name, (made, *_) in JUDGED.items()} | {READ: read}


def judged(path, made, *, partial=False):
    """What a gate's slices say, if its deliveries are right."""
    (run,) = open_runs([path], partial=partial)
    windows = {key: [] for key in run.cells}
    for row in made.rows("windows"):
        windows[CellKey(run.name, *(row[name] for name in rd.KEYS))].append(rd.window_of(row))
    return pipeline.of_slices(run, options_of(run.manifest, path), windows, AuditResult(run.name, (), ()))


# Results


@pytest.mark.parametrize(("name", "verdict", "regressed"), [(name, *rest) for name, (_, *rest) in JUDGED.items()])
def test_the_verdict_of_a_run(results, name, verdict, regressed):
    """Of a directory as a gate records it: faults and conditions before all ratios, a slower cost by its name."""
    found = results[name]

    assert found.verdict is GateVerdict(verdict)
    assert {each.family for each in found.families if each.verdict is GateVerdict.REGRESSED} == {*regressed}
    assert [each.family for each in found.families] == list(FAMILIES)
    assert (found.pairs, len(found.cells)) == (5, 4)
    assert found.of_processes == (name == "faster")


def test_what_spark_reads_is_what_was_made(gates, results):
    """The slices of a run directory are its rows, in the order of their rounds; the audit has the last word."""
    made = judged(gates / READ, _lossy())

    assert made.verdict is GateVerdict.FASTER
    assert results[READ] == replace(made, findings=results[READ].findings, overriding=GateVerdict.FAILED)


def test_ratios_are_exact(results):
    """Twice the cost of a copy, in the family, in every cell and pair; nothing else has changed."""
    found = results["regressed"]
    ratios = {each.family: each.ratio.estimate for each in found.families}

    assert ratios["t_tx"] == pytest.approx(2, rel=0.002)
    assert [ratios["t_rcv"], ratios["t_fltr"]] == pytest.approx([1, 1], abs=0.005)
    for cell in found.cells:
        name = cell.cell.split()[1]
        assert cell.by_pair == pytest.approx([slower(name, pair) for pair in range(1, 6)], rel=1e-3)
    assert found.order_effect.estimate == pytest.approx(1, abs=0.001)
    assert found.activity[GateRole.CANDIDATE].gc_pauses == pytest.approx(0.02, abs=0.001)


def test_who_lost_a_message_is_named(results):
    """One copy is enough, also of the baseline, and however much faster the candidate is."""
    (finding,) = results["lossy"].findings

    assert (finding.what, finding.limit) == ("copies lost by baseline", "0")
    assert finding.measured.startswith("1 in replication f0000-r001 (start 1)")


def test_who_drops_copies_is_not_called_faster(tmp_path):
    """Also where the protocol lets it: the other one had the costs of all of them."""
    run = _lossy()
    run.manifest["brokers"][GateRole.BASELINE]["capabilities"]["drops"] = True
    run.write(tmp_path / "dropping")
    (found,) = without_spark.judged([tmp_path / "dropping"])
    (finding,) = found.findings

    assert found.verdict is GateVerdict.CONTAMINATED
    assert finding.what == "copies were dropped, as the protocol allows"
    assert finding.measured.startswith("1 of ")
    assert finding.measured.endswith(f"in replication {NAMES[0]} on the baseline")


@pytest.mark.parametrize(
    ("name", "what", "measured"),
    [
        ("spoilt calibration", "the baseline differs from itself", "t_rcv +20.0%, t_fltr +20.0%"),
        (
            "unsaturated",
            "1 of 8 cells did not measure the broker",
            "replication f0000-r001 on the candidate is not-saturated: broker CPU 0.",
        ),
        ("trimmed", "the ratio of the means is not the robust ratio", "it differs by +8.3%"),
        ("shared", "another session measured on CPU 1", "both at the same time"),
    ],
)
def test_a_comparison_that_does_not_hold_is_explained(results, name, what, measured):
    """The condition that was not met, with what was measured."""
    (finding,) = results[name].findings

    assert finding.what == what
    assert finding.measured.startswith(measured)


def test_what_nobody_knows_is_a_remark(results):
    """Without CPU times nothing says whether the brokers were saturated, or idle while the other was under load."""
    found = [finding.what for finding in results["unknown"].findings]

    assert found == [
        "CPU of baseline is not known",
        "CPU of candidate is not known",
        "nobody knows whether the baseline was idle while the candidate was under load",
        "nobody knows whether the candidate was idle while the baseline was under load",
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_a_run_without_a_verdict_is_refused(gates, name):
    """With the reason; nothing that is missing leads to a pass."""
    make, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        judged(gates / name, make())


def test_a_gate_that_is_not_complete_says_so(gates):
    """Read with --partial, it has a verdict on its pairs, and a remark how many are missing."""
    found = judged(gates / "too few pairs", REFUSED["too few pairs"][0](), partial=True)

    assert found.verdict is GateVerdict.INCONCLUSIVE
    assert [finding.what for finding in found.findings] == ["the gate is not complete: 5 pairs of lives, 1 more needed"]


# Items


@pytest.fixture
def judged_already(results, monkeypatch):
    """Tests that differ in what is made of a result do not ask Spark again."""

    def judged(paths, **_):
        (path,) = paths
        if path.name not in JUDGED:
            raise DataError(REFUSED[path.name][1])
        return (results[path.name],)

    monkeypatch.setattr(pipeline, "judged", judged)
    for name in (STEP_SUMMARY, STEP_OUTPUT):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def session(pytester, gates, judged_already):
    """pytest on a gate with the run directory of this name."""
    return judged_session(pytester, gates, FAMILIES)


def ended(result):
    """Names of the items of the gate by how they ended."""
    lines = [line for line in result.outlines if line.startswith("gate[") and line.rstrip().endswith("%]")]
    hows = ("PASSED", "FAILED", "ERROR")
    return {how: [line.rpartition(f" {how}")[0] for line in lines if f" {how}" in line] for how in hows}


OPEN = ["gate[t_tx]", "gate[all cells]"]


@pytest.mark.parametrize(
    ("name", "arguments", "failed", "code"),
    [
        ("passing", ["--strict"], [], ExitCode.OK),
        ("inconclusive", [], [], ExitCode.OK),
        ("inconclusive", ["--strict"], OPEN, ExitCode.CONTAMINATED),
        ("inconclusive", ["--strict-verdict"], OPEN, ExitCode.CONTAMINATED),
        ("regressed", [], OPEN, ExitCode.SHOWN),
        ("lossy", [], ["gate[correctness]"], ExitCode.SHOWN),
        ("busy", [], ["gate[correctness]"], ExitCode.CONTAMINATED),
    ],
)
def test_the_exit_code(session, name, arguments, failed, code):
    """That of the verdict where an item fails: what was shown is no retry, and the other way round."""
    result = session(name, *arguments)

    assert result.ret == code
    found = ended(result)
    assert found["FAILED"] == list(failed)
    assert found["PASSED"] == [item for item in ITEMS if item not in failed]
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize("name", ["candidate lacks a cell", None])
def test_a_gate_that_cannot_be_judged(session, name):
    """Every item is an error, the reason is said once, and the exit code is that of no measurement, also where no
    verdict counts."""
    for reports_only in (False, True):
        result = session(name, reports_only=reports_only)

        assert result.ret == ExitCode.UNMEASURED
        assert ended(result)["ERROR"] == ITEMS
        result.assert_outcomes(passed=3, errors=len(ITEMS))
        assert result.stdout.str().count("ERROR at setup of") == 1
        assert "Traceback" not in result.stdout.str()


def test_what_neither_broker_can_do_is_skipped(session, results, monkeypatch):
    """Its item says why; the others have their verdicts."""
    partly = replace(results["passing"], not_applicable={"t_rcv": "no transactions"})
    monkeypatch.setattr(answers, "judged", lambda *_, **__: (partly,))
    result = session("passing", "-rs")

    assert result.ret == ExitCode.OK
    result.assert_outcomes(passed=2 + len(ITEMS), skipped=1)
    result.stdout.fnmatch_lines(["*not applicable: no transactions*"])


@pytest.mark.parametrize(
    ("installed", "command"),
    [("", "python -m analysis"), ("brokerbench", "brokerbench")],
    ids=["checkout", "installed"],
)
def test_a_gate_that_was_cut_short(session, monkeypatch, installed, command):
    """It is not judged, and says how to read what is complete; the cause was an error before."""
    monkeypatch.setenv(command_line.VARIABLE, installed)
    result = session("passing", cut_short="2 cells were not measured")

    assert result.ret == ExitCode.UNMEASURED
    assert ended(result)["ERROR"] == ITEMS
    assert "ERROR at setup of" not in result.stdout.str()
    result.stdout.fnmatch_lines(["no verdict, since the run is not complete*", f"*{command} summary --partial *"])


@pytest.mark.parametrize("name", ["regressed", "lossy", "busy"])
def test_a_policy_that_only_reports(session, name):
    """The items fail as ever, for whoever reads reports, and the exit code is 0."""
    result = session(name, reports_only=True)

    assert ended(result)["FAILED"]
    assert result.ret == ExitCode.OK
    result.stdout.fnmatch_lines(["verdict: *", "report: *"])


def test_the_screen_and_the_reports(session, pytester, gates):
    """What was measured, the verdict, the report and the run directory close the session; in the report for JUnit every
    family is a test case, for whoever reads reports only."""
    result = session("regressed", "--junitxml=report.xml")

    assert ended(result)["FAILED"] == ["gate[t_tx]", "gate[all cells]"]
    result.stdout.fnmatch_lines(
        [
            "*regressed: t_tx of activemq:6.1.7 against activemq:5.18.3: +100.*",
            "*what was measured*",
            "Gate: activemq:6.1.7 against activemq:5.18.3, 4 cells of replication, 5 pairs of lives",
            "verdict: regressed - *",
            f"report: {gates / 'regressed' / 'report.html'}",
            f"run directory: {gates / 'regressed'}",
        ]
    )
    assert "<svg" in (gates / "regressed" / "report.html").read_text(encoding="utf-8")
    report = (pytester.path / "report.xml").read_text()
    assert all(f'name="{item}"' in report for item in ITEMS)
    assert report.count('<property name="verdict" value="regressed"') == len(ITEMS)
    assert f'<property name="run_directory" value="{gates / "regressed"}"' in report


def test_a_calibration_is_stored(session, gates, results):
    """Beside the run directories, where the next gate looks for it; gates store nothing, nor does a calibration that
    does not hold, nor one that is read again."""
    for name in ("passing", "spoilt calibration"):
        session(name)
    assert not (gates / CALIBRATIONS).exists()
    session("calibration")
    (entry,) = json.loads((gates / CALIBRATIONS).read_text())

    assert results["calibration"].rules.calibrate
    assert (entry["run"], entry["pairs"]) == ("calibration", 5)
    assert entry["cells"] == [f"replication {name}" for name in sorted(NAMES)]
    assert set(entry["smallest_margin"]) == set(FAMILIES)


def test_history_summary_and_outputs(session, pytester, gates, monkeypatch):
    """Each gate adds a line to the file of --history, its Markdown to the page that the CI system names, and to the
    outputs of the step its verdict, and where Markdown and report are."""
    page, file, outputs = (pytester.path / name for name in ("summary.md", "gates.jsonl", "outputs"))
    page.write_text("before\n")
    monkeypatch.setenv(STEP_SUMMARY, str(page))
    monkeypatch.setenv(STEP_OUTPUT, str(outputs))
    for name in ("passing", "regressed"):
        session(name, "--history", str(file))

    assert [entry["run"] for entry in history.read(file)] == ["passing", "regressed"]
    assert page.read_text().startswith("before\n### Gate: activemq:6.1.7 against")
    assert page.read_text().count("### Gate: ") == 2
    assert outputs.read_text().splitlines()[3:] == [
        "verdict=regressed",
        f"summary={gates / 'regressed' / 'summary.md'}",
        f"report={gates / 'regressed' / 'report.html'}",
    ]
    assert (gates / "regressed" / "summary.md").read_text() in page.read_text()


def test_a_history_that_cannot_be_read_is_an_error_of_one_item(session, pytester):
    """The gate is judged and appended once; the other items have their verdicts, and the screen is shown."""
    file = pytester.path / "gates.jsonl"
    file.write_text("something else\n")
    result = session("passing", "--history", str(file))

    assert ended(result)["ERROR"] == ["gate[correctness]"]
    assert len(file.read_text().splitlines()) == 2
    result.stdout.fnmatch_lines(["*gates.jsonl, line 1: not a line of a gate's history*", "verdict: pass*"])


@pytest.mark.usefixtures("judged_already")
def test_the_verb(gates, capsys):
    """`python -m analysis gate`: text, JSON and Markdown of the same; --strict has the exit code."""
    path = str(gates / "regressed")

    assert main(["gate", path, "--json", "--strict"]) == ExitCode.SHOWN
    assert json.loads(capsys.readouterr().out)["verdict"] == "regressed"
    assert main(["gate", path, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("### Gate: ")
    for name in ("busy", "inconclusive"):
        assert main(["gate", str(gates / name), "--strict"]) == ExitCode.CONTAMINATED
        assert main(["gate", str(gates / name)]) == ExitCode.OK
    capsys.readouterr()
    assert main(["gate", str(gates / "no gate")]) == 2
    assert "not a regression gate" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["gate", path, "--json", "--markdown"])
    assert ended.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err


@pytest.mark.usefixtures("judged_already")
def test_the_report_of_a_gate(gates, capsys):
    """`python -m analysis report` writes the page of a gate."""
    folder = gates / "regressed"

    assert main(["report", str(folder), "--json", "--strict"]) == 1
    record = json.loads(capsys.readouterr().out)

    assert record == {"reports": [f"{folder}/report.html"]}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Gate: " in page
    assert DRAWN_OVER_TIME not in page


#: What the picture of a history says.
DRAWN_OVER_TIME = "Ratios of the families in the gates of the history file"


@pytest.mark.usefixtures("judged_already")
def test_the_report_of_a_gate_with_its_history(gates, results, tmp_path, capsys):
    """What --history has collected is drawn again where the file is named; a run that is no gate has none."""
    past, page = tmp_path / "gates.jsonl", tmp_path / "page.html"
    for name in ("passing", "regressed"):
        history.append(past, results[name])

    assert main(["report", str(gates / "regressed"), "--history", str(past), "--output", str(page)]) == 0
    assert DRAWN_OVER_TIME in page.read_text(encoding="utf-8")

    capsys.readouterr()
    for run, file, text in (("regressed", "none.jsonl", "cannot be read"), ("no gate", past.name, "name the run of a")):
        assert main(["report", str(gates / run), "--history", str(tmp_path / file), "--output", str(page)]) == 2
        assert text in capsys.readouterr().err
