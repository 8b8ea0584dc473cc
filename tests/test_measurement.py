"""Measurements as a user runs them: pytest on its command line, in a process of its own, and what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from fixtures import brokers, host
from fixtures.errors import BrokerError
from fixtures.options import WantedThroughput
from fixtures.start import Settings
from tests.conftest import ROOT, all_gone, in_words_of_a_truth, read_json, recorded_audit, row_counts, table_rows
from tests.experiments import EXPERIMENTS
from tests.sessions import LIMIT_S, PYTEST, Config, Ended, analysis, command, environment, side_by_side
from workloads.errors import WorkloadError
from workloads.lanes import LaneAudit
from workloads.levels import LEVELS
from workloads.records import SCHEMA_VERSION, TABLES

#: What a measurement must not load: it would take memory and time beside the load.
HEAVY = ("pyspark", "statsmodels", "pandas", "scipy")
REFERENCE = ("--broker", "reference", "--grid", "smoke", "--no-analysis")
CELLS = {name: {cell.id for cell in experiment.cells("smoke")} for name, experiment in EXPERIMENTS.items()}
ALL_CELLS = sum(map(len, CELLS.values()))


def measure(results: Path, *words: str, env: dict[str, str] | None = None) -> Ended:
    return command(*PYTEST, "microbench", *words, env=env, results=results)


def listed(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("microbench/") and "::" in line]


def item_of(slot: dict[str, object]) -> str:
    """The item that measures a slot of the schedule."""
    name = f"test_{slot['experiment']}"
    return f"microbench/{name}.py::{name}[{slot['broker']}-s{slot['start']}-{slot['cell']}]"


def check_complete(run: Path, *, cells: int) -> dict[str, object]:
    """A run directory from which nothing is missing; returns its manifest."""
    manifest = read_json(run / "manifest.json")
    assert manifest["schema"] == SCHEMA_VERSION
    assert manifest["outcome"] == "complete"
    assert manifest["error"] is None
    assert {"label", "created_utc", "ended_utc", "options", "host", "brokers", "starts"} <= set(manifest)
    assert manifest["rows"] == row_counts(run)
    assert list(run.rglob("*.partial")) == []
    assert (run.parent / "latest").resolve() == run.resolve()
    slots = manifest["schedule"]
    assert len(slots) == cells
    planned = {(plan["experiment"], plan["cell"]) for plan in read_json(run / "plan.json")["cells"]}
    assert {(slot["experiment"], slot["cell"]) for slot in slots} <= planned
    windows = manifest["options"]["windows"]
    for slot in slots:
        cut = table_rows(run, "windows", **slot)
        assert sum(row["status"] in ("ok", "contaminated") for row in cut) == windows
        open_loop = all(row["planned_per_s"] is not None for row in cut)
        assert {table for table in TABLES if table_rows(run, table, **slot)} == set(TABLES) - (
            set() if open_loop else {"latency"}
        )
    return manifest


def audits(run: Path) -> dict[str, tuple[LaneAudit, int]]:
    """Per scheduled item the audit of its files, and the messages sent."""
    plans = {(plan["experiment"], plan["cell"]): plan for plan in read_json(run / "plan.json")["cells"]}
    return {
        item_of(slot): recorded_audit(run, plans[slot["experiment"], slot["cell"]], **slot)
        for slot in read_json(run / "manifest.json")["schedule"]
    }


# --- collecting ----------------------------------------------------------------------------------------------------

SHOW_HEAVY = (
    "import sys, pytest; code = pytest.main(sys.argv[1:]);"
    f"print('loaded:', [name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
)


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """What `--co` lists, for several options."""
    results = tmp_path_factory.mktemp("collected") / "results"
    short = ("--co", "-q", "--broker", "reference", "--grid", "smoke")
    return side_by_side(
        {
            name: lambda words=words: command(*words, results=results)
            for name, words in {
                "seed 1": (*PYTEST, "microbench", *short, "--seed", "1"),
                "seed 1 again": (sys.executable, "-c", SHOW_HEAVY, "microbench", *short, "--seed", "1"),
                "seed 2": (*PYTEST, "microbench", *short, "--seed", "2"),
                "one experiment": (*PYTEST, "microbench", *short, "-k", "and_filters"),
                "one cell": (*PYTEST, "microbench", *short, "-k", "replication and f0005-r003"),
                "two starts": (*PYTEST, "microbench", *short, "--starts", "2", "--broker", "reference:lose=9"),
                "default": (*PYTEST, "microbench", "--co", "-q", "-k", "replication"),
            }.items()
        }
    )


def test_every_cell_is_an_item(collected):
    """An item per (broker, start, cell), named by them; the cells are those of the grid, and all are listed."""
    expected = {
        item_of({"experiment": experiment, "broker": "reference", "start": 1, "cell": cell})
        for experiment, cells in CELLS.items()
        for cell in cells
    }
    items = [item for item in listed(collected["seed 1"].output) if "verdict" not in item]

    assert collected["seed 1"].code == 0
    assert len(items) == len(set(items)) == ALL_CELLS
    assert set(items) == expected
    assert all("=" not in item for item in items)


def test_every_broker_and_start_has_items_of_its_own(collected):
    """Two brokers in two starts: four times the cells, the brokers forth and back, each start in one piece."""
    items = listed(collected["two starts"].output)
    lives = [re.search(r"\[(reference(?::lose=9)?)-s(\d)-", item).groups() for item in items]

    assert len(items) == len(set(items)) == 4 * ALL_CELLS
    assert list(dict.fromkeys(lives)) == [
        ("reference", "1"),
        ("reference:lose=9", "1"),
        ("reference:lose=9", "2"),
        ("reference", "2"),
    ]
    assert [life for life in dict.fromkeys(lives) for _ in range(ALL_CELLS)] == lives


def test_the_order_is_random_by_seed(collected):
    """The same seed gives the same order, another seed another one of the same items; neither is that of the grid."""
    one, same, other = (listed(collected[name].output) for name in ("seed 1", "seed 1 again", "seed 2"))

    assert one == same
    assert one != other
    assert sorted(one) == sorted(other)
    assert one != sorted(one)


def test_items_are_selected_by_experiment_and_cell(collected):
    """-k takes the name of an experiment, and the id of a cell."""
    assert len(listed(collected["one experiment"].output)) == len(CELLS["and_filters"])
    assert all("test_and_filters[" in item for item in listed(collected["one experiment"].output))
    assert listed(collected["one cell"].output) == [
        "microbench/test_replication.py::test_replication[reference-s1-f0005-r003]"
    ]


@pytest.mark.parametrize(
    ("name", "size", "minutes"),
    [
        (
            "seed 2",
            rf"{ALL_CELLS} cells x 1 windows of 0\.3 s x 1 starts of reference; profile today, order by seed 2",
            (1, 4),
        ),
        ("one cell", r"1 cells x 1 windows of 0\.3 s x 1 starts of reference;", (1, 1)),
        ("two starts", rf"{ALL_CELLS} cells x 1 windows of 0\.3 s x 2 starts of reference, reference:lose=9;", (5, 15)),
        ("default", r"16 cells x \d+ windows of [\d.]+ s x 1 starts of activemq; profile today", (3, 8)),
    ],
)
def test_collecting_estimates_the_time(collected, name, size, minutes):
    """--co says how much there is to measure and how long it will take, before anybody waits for it."""
    found = re.search(size + r".*about (\d+) min", collected[name].output)

    assert found, collected[name].output
    assert minutes[0] <= int(found[1]) <= minutes[1]


def test_collecting_starts_nothing(collected):
    """--co writes no results, and loads neither Spark nor a statistics library."""
    assert not collected["seed 1"].results.exists()
    assert "loaded: []" in collected["seed 1 again"].output


# --- a plain measurement -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The replication cells on the reference broker, two windows each, with the files of pytest-benchmark."""
    folder = tmp_path_factory.mktemp("plain")
    words = ("microbench", *REFERENCE, "-k", "replication", "--windows", "2", "--window-seconds", "0.1", "--seed", "5")
    saving = (f"--benchmark-json={folder / 'benchmark.json'}", f"--benchmark-storage=file://{folder / 'storage'}")
    return command(
        *(sys.executable, "-c", SHOW_HEAVY, *words, *saving, "--benchmark-save=first", "-v"), results=folder / "results"
    )


def test_a_measurement_is_complete_and_exact(plain):
    """Every cell passes; everything is recorded, in the scheduled order, and the files tell an exact audit."""
    assert plain.code == 0, plain.output
    assert "4 passed" in plain.output
    manifest = check_complete(plain.run, cells=4)

    assert {slot["cell"] for slot in manifest["schedule"]} == CELLS["replication"]
    assert manifest["options"]["seed"] == 5
    assert plain.run.name.endswith("-replication-smoke")
    audited = audits(plain.run)
    assert all(audit.exact and sent for audit, sent in audited.values())
    truth = read_json(plain.run / "brokers" / "reference-01" / "truth.json")["messages"]
    total = sum((audit for audit, _ in audited.values()), LaneAudit())
    assert in_words_of_a_truth(total, sum(sent for _, sent in audited.values())) == truth
    assert [line.split()[0] for line in plain.output.splitlines() if line.startswith("microbench/")] == list(audited)


def test_a_line_per_cell(plain):
    """Each cell has one line: its place, name, rates, CPU of both sides, broker and start."""
    rate = r"[\d,]+/s"
    for place, slot in enumerate(read_json(plain.run / "manifest.json")["schedule"], 1):
        line = (
            rf"\[{place}/4\] replication {slot['cell']} +received +{rate}  dispatched +{rate}  broker \d\.\d\d  load "
        )
        assert len(re.findall(line + r"\d\.\d\d  reference start 1", plain.output)) == 1


def test_a_measurement_loads_no_analysis(plain):
    """With --no-analysis neither Spark nor a statistics library is loaded, and nothing is judged.

    (pandas is loaded by pyarrow itself, wherever it finds it, when the first file is written.)
    """
    (loaded,) = re.findall(r"^loaded: \[(.*)\]$", plain.output, re.MULTILINE)
    assert loaded in ("", "'pandas'")
    assert "verdict" not in plain.output


def test_a_window_is_a_round_of_pytest_benchmark(plain):
    """Its JSON has a group per experiment and a round per window, whose seconds are the time per message B."""
    written = read_json(plain.run.parents[1] / "benchmark.json")["benchmarks"]

    assert {one["group"] for one in written} == {"replication"}
    assert len(written) == 4
    slots = {item_of(slot): slot for slot in read_json(plain.run / "manifest.json")["schedule"]}
    for one in written:
        slot = slots[one["fullname"]]
        times = [
            (row["end_ns"] - row["begin_ns"]) / 1e9 / row["received"]
            for row in sorted(table_rows(plain.run, "windows", **slot), key=lambda row: row["window"])
            if row["status"] in ("ok", "contaminated")
        ]
        assert one["stats"]["rounds"] == 2
        assert one["stats"]["data"] == pytest.approx(times, rel=1e-6)
        assert one["stats"]["ops"] == pytest.approx(2 / sum(times), rel=1e-6)


# --- the real broker -----------------------------------------------------------------------------------------------


def real(results: Path, *words: str) -> Ended:
    """Cells of the smoke grid on ActiveMQ, with their verdict."""
    try:
        brokers.prepare(brokers.parse("activemq"))
    except BrokerError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return measure(results, "--broker", "activemq", "--grid", "smoke", "--window-seconds", "0.1", *words)


#: Whose messages take different ways through a broker and the load, or none. The last cell of an experiment has most of
#: what is particular to it.
DIFFERENT = (
    "replication", "and_filters", "delivery_mode", "acknowledgement", "queue_topic", "latency",
    "subscriptions_per_connection", "routing",
)  # fmt: skip
LAST = {name: {EXPERIMENTS[name].cells("smoke")[-1].id} for name in DIFFERENT}


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        pytest.param(
            LAST,
            ("-k", " or ".join(f"(test_{name} and -{cell}])" for name, (cell,) in LAST.items())),
            id="one of each kind",
        ),
        pytest.param(CELLS, (), id="all", marks=pytest.mark.slow),
    ],
)
def test_the_real_broker(tmp_path, cells, words):
    """ActiveMQ delivers every message of an experiment once, in order, and to nobody else; the verdict says so.
    It filters and does not route."""
    ended = real(tmp_path / "results", *words)

    assert ended.code == 0, ended.output
    applicable = {(name, cell) for name, chosen in cells.items() for cell in chosen if name != "routing"}
    assert f"{len(applicable) + 1} passed, {len(cells['routing'])} skipped" in ended.output
    manifest = check_complete(ended.run, cells=len(applicable))

    assert {(slot["experiment"], slot["cell"]) for slot in manifest["schedule"]} == applicable
    assert {(one["experiment"], one["cell"]) for one in manifest["not_applicable"]} == {
        ("routing", cell) for cell in cells["routing"]
    }
    assert all(audit.exact and audit.delivered for audit, _ in audits(ended.run).values())
    broker = manifest["brokers"]["activemq"]
    assert (broker["product"], broker["version"], broker["provider"]) == ("activemq", "5.18.3", "jars")
    assert broker["cpu_known"]
    assert set(broker["cpus"]).isdisjoint(manifest["options"]["load_cpus"])
    assert all(row["broker_cpu_ns"] > 0 for row in table_rows(ended.run, "windows"))
    assert "INFO" in (ended.run / "brokers" / "activemq-01" / "broker.log").read_text()
    assert re.search(r"^verdict: valid", ended.output, re.MULTILINE)
    assert str(ended.run) in ended.output


# --- a broker that is wrong ----------------------------------------------------------------------------------------

FAULTY = ("reference:lose=97", "reference:duplicate=89,swap=83", "reference:lose=31,duplicate=37,swap=41,misroute=43")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """One cell on each of several brokers that are wrong in different ways."""
    chosen = [word for broker in FAULTY for word in ("--broker", broker)]
    words = (*REFERENCE[2:], "-k", "f0005-r003", "--window-seconds", "0.1")
    return measure(tmp_path_factory.mktemp("faulty") / "results", *chosen, *words)


def truth_of(run: Path, broker: str) -> dict[str, int]:
    name = re.sub(r"[^a-z0-9.-]", "_", broker)
    return read_json(run / "brokers" / f"{name}-01" / "truth.json")["messages"]


def test_a_wrong_broker_fails_its_items(faulty):
    """Exit code 1, each item with what went wrong in numbers; what was recorded is complete nevertheless."""
    assert faulty.code == 1
    assert f"{len(FAULTY)} failed" in faulty.output
    assert faulty.output.count("AUDIT FAILED") == len(FAULTY)
    check_complete(faulty.run, cells=len(FAULTY))
    for broker in FAULTY:
        truth = truth_of(faulty.run, broker)
        counts = ", ".join(f"{truth[word]} {word}" for word in ("lost", "duplicated", "reordered", "misdelivered"))
        assert f"f0005-r003 on {broker}, start 1: of {3 * truth['received']} copies {counts}" in faulty.output


def test_the_analysis_reports_what_the_broker_did(faulty):
    """`audit --json` has exactly the numbers of the brokers' own truth, per cell and in all, and the run is invalid.

    A process of its own, with its own Spark: JSON on standard output and nothing else there.
    """
    done = analysis("audit", faulty.run, "--json", "--spark-master", "local[2]")
    assert done.returncode == 0, done.stderr
    assert "WARN " not in done.stderr
    told = json.loads(done.stdout)

    cells = {cell["broker"]: cell for cell in told["cells"]}
    words = ("delivered", "lost", "duplicated", "reordered", "misdelivered")
    total = dict.fromkeys(("sent", "expected", *words), 0)
    for broker in FAULTY:
        truth = truth_of(faulty.run, broker)
        expected = {word: truth[word] for word in words}
        expected |= {"sent": truth["received"], "expected": 3 * truth["received"]}
        assert {word: cells[broker][word] for word in expected} == expected
        total = {word: total[word] + expected[word] for word in total}
    assert told["messages"] == total
    assert all(total[word] > 0 for word in words)
    assert told["verdict"] == "invalid"


# --- a broker that runs already ------------------------------------------------------------------------------------

SECRET = "ge@h:eim"
SECRETS = (SECRET, "ge%40h%3Aeim")


@pytest.fixture(scope="module")
def by_url(tmp_path_factory):
    """The same broker by its URL, its process unknown and known."""
    folder = tmp_path_factory.mktemp("url")
    running = brokers.start(brokers.parse("reference"), folder, host.available_cpus()[-1:])
    url = f"stomp://bench:{SECRETS[1]}@127.0.0.1:{running.endpoint.port}"
    words = ("--broker", url, *REFERENCE[2:], "-k", "f0000-r001", "--window-seconds", "0.1", "-v")
    try:
        return {
            "unknown": measure(folder / "unknown", *words, f"--benchmark-json={folder / 'benchmark.json'}"),
            "known": measure(folder / "known", *words, "--broker-pid", str(running.account.pid)),
            "running": running.returncode() is None,
            "label": f"stomp://127.0.0.1:{running.endpoint.port}",
        }
    finally:
        running.stop()


@pytest.mark.parametrize("pid", ["unknown", "known"])
def test_a_broker_that_runs_already(by_url, pid):
    """It is measured where it is, and left running; its CPU is known when its process is."""
    ended = by_url[pid]
    assert ended.code == 0, ended.output
    manifest = check_complete(ended.run, cells=1)

    assert by_url["running"]
    broker = manifest["brokers"][by_url["label"]]
    assert broker["cpu_known"] == (pid == "known")
    assert broker["cpus"] == (None if pid == "unknown" else [host.available_cpus()[-1]])
    cpu = [row["broker_cpu_ns"] for table in ("windows", "samples") for row in table_rows(ended.run, table)]
    assert all((one is not None) == (pid == "known") for one in cpu)
    assert [audit.exact for audit, _ in audits(ended.run).values()] == [True]


def test_a_secret_stays_secret(by_url):
    """The password of a URL is in no file of the run, and in no line on the screen."""
    for pid in ("unknown", "known"):
        ended = by_url[pid]
        files = [path for path in ended.results.parent.rglob("*") if path.is_file()]
        assert len(files) > 8
        for secret in SECRETS:
            assert secret not in ended.output
            assert not [path for path in files if secret.encode() in path.read_bytes()]


# --- refused before anything starts --------------------------------------------------------------------------------

TRACED = "import sys, pytest; sys.settrace(lambda *_: None); sys.exit(pytest.main(sys.argv[1:]))"
CPU = str(host.available_cpus()[0])
ONE = (*REFERENCE, "-k", "f0000-r001")

#: Options -> what the refusal must say: what was wrong, and what was expected or can be done.
REFUSED: dict[str, tuple[Sequence[str], str]] = {
    "a broker that nobody knows": (("--broker", "rabbit"), r"unknown broker 'rabbit': expected one of activemq"),
    "an unknown grid": (("--grid", "huge"), r"--grid: expected one of smoke, .* or a FILE.toml, got 'huge'"),
    "a broker that does not answer": (
        ("--broker", f"stomp://bench:{SECRETS[1]}@127.0.0.1:1"),
        r"127\.0\.0\.1:1: no connection: .*refused",
    ),
    "CPU sets that overlap": (
        (*ONE, "--broker-cpus", CPU, "--load-cpus", CPU),
        r"broker and load need CPUs of their own, .*--broker-cpus .*--load-cpus",
    ),
    "results that are a file": ((*ONE, "--results", "FILE"), r"FILE.* cannot be written: .*--results DIR"),
    "xdist": ((*ONE, "-n", "1"), r"ERROR: pytest-xdist would run cells beside each other: measure without -n"),
    "tracing": (ONE, r"coverage or a debugger traces the interpreter"),
    "benchmarks that are disabled": ((*ONE, "--benchmark-disable"), r"switched off.*drop --benchmark-disable"),
    "benchmarks that are skipped": ((*ONE, "--benchmark-skip"), r"switched off.*--benchmark-skip"),
    "no Java": (("--broker", "activemq", "--grid", "smoke"), r"no Java found: .*JAVA_HOME"),
    "too few descriptors": (ONE, r"21 connections are planned, .*hard limit is 250: raise it"),
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """All commands that must be refused."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "FILE").write_text("no directory")

    def call(name, words):
        results = folder / "results" / re.sub(r"\W", "_", name)
        words = [str(folder / word) if word == "FILE" else word for word in words]
        match name:
            case "tracing":
                start = (sys.executable, "-c", TRACED)
            case "too few descriptors":
                start = ("bash", "-c", 'ulimit -n 250 && exec "$@"', "bash", *PYTEST)
            case _:
                start = PYTEST
        env = environment(PATH=str(folder), JAVA_HOME=None) if name == "no Java" else environment()
        return command(*start, "microbench", *words, env=env, results=None if "--results" in words else results)

    ended = side_by_side({name: lambda n=name, w=words: call(n, w) for name, (words, _) in REFUSED.items()})
    return ended, folder


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_measured_is_refused(refused, name):
    """Exit code 4, at once, with what was expected; no broker was started and no results were written."""
    ended, folder = refused[0][name], refused[1]

    assert re.search(REFUSED[name][1], ended.output), ended.output
    assert ended.code == 4, ended.output
    assert "Traceback" not in ended.output
    assert not [path.name for path in (folder / "results").glob("*")]
    assert not any(secret in ended.output for secret in SECRETS)


#: An impossible option -> what the refusal must say.
IMPOSSIBLE = {
    "--broker-pid": ({"broker": ["reference"], "broker_pid": 1}, r"--broker-pid goes with a broker's URL"),
    "--starts": ({"starts": 0}, r"--starts: expected at least 1, got 0"),
    "--windows": ({"windows": 0}, r"--windows: expected at least 1, got 0"),
    "--window-seconds": ({"window_seconds": 0.05}, r"--window-seconds: expected .*0\.1.*, got 0\.05"),
    "--window-seconds inf": ({"window_seconds": float("inf")}, r"--window-seconds: expected .*, got inf"),
    "--window-seconds nan": ({"window_seconds": float("nan")}, r"--window-seconds: expected .*, got nan"),
    "--warmup-seconds": ({"warmup_seconds": -1.0}, r"--warmup-seconds: expected .*, got -1"),
    "--warmup-seconds inf": ({"warmup_seconds": float("inf")}, r"--warmup-seconds: expected .*, got inf"),
    "--in-flight": ({"in_flight": 0}, r"messages in flight: expected at least 1, got 0"),
    "--coalesce-us": ({"coalesce_us": -1}, r"--coalesce-us: expected 0 to \d+, got -1"),
    "--coalesce-us, too long": ({"coalesce_us": 10**9}, r"--coalesce-us: expected 0 to \d+, got 1000000000"),
    "--workers": ({"workers": 0}, r"--workers: expected 1 to \d+"),
    "--workers, too many": ({"workers": 999}, r"--workers: expected 1 to \d+, one per load CPU, got 999"),
    "--grid": ({"grid": "huge"}, r"--grid: expected one of smoke, .* or a FILE\.toml, got 'huge'"),
    "--loop": ({"loop": "receipt"}, r"--loop receipt: .*use --profile paper"),
    "--load-cpus": ({"load_cpus": "4711"}, r"not available here: 4711; expected some of \d"),
    "--broker-cpus": ({"broker_cpus": "one"}, r"expected numbers and ranges such as"),
    "--broker-cpus, all": (
        {"broker_cpus": ",".join(map(str, host.available_cpus()))},
        r"broker and load need CPUs of their own",
    ),
}


def checked(given: dict[str, object], ini: dict[str, str]) -> Settings:
    """All that is checked of options before the machine is looked at."""
    wanted = WantedThroughput(Config(given, ini))
    assert wanted.specs
    return wanted.settings()


@pytest.mark.parametrize(("given", "why"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
@pytest.mark.parametrize("source", ["command line", "ini file"])
def test_an_impossible_option_is_refused(given, why, source):
    """With its name, what was expected and what was given, wherever it was given."""
    ini = {key: str(value) for key, value in given.items() if key != "broker"}
    if source == "command line":
        assert checked({"broker": ["reference"]}, {})
        with pytest.raises(WorkloadError, match=why):
            checked(given, {})
    else:
        with pytest.raises(WorkloadError, match=why):
            checked({"broker": ["reference"]}, ini)


def test_a_word_for_a_number_is_refused():
    """In the ini file; on the command line pytest itself reads numbers."""
    with pytest.raises(WorkloadError, match="ini key windows: 'many'"):
        checked({"broker": ["reference"]}, {"windows": "many"})


def test_the_command_line_goes_before_the_ini_file():
    """An option that is given stands before its ini key of the same name, and that before the default."""
    ini = {"windows": "7", "window_seconds": "0.5", "seed": "3", "in_flight": "50"}

    assert checked({"broker": ["reference"]}, {}).options["windows"] == LEVELS["quick"].windows
    options = checked({"broker": ["reference"], "windows": 2, "seed": 0}, ini).options
    assert {name: options[name] for name in ini} == {"windows": 2, "window_seconds": 0.5, "seed": 0, "in_flight": 50}


# --- interrupted and broken ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Broken(Ended):
    """A measurement in the middle of which something was killed; `pids` are its broker and workers."""

    pids: tuple[int, ...]


def broken(results: Path, number: int, victim: str, *, cell: int, after_s: float, windows: int) -> Broken:
    """Sends a signal to pytest, the broker or the worker `after_s` into the load of a cell (of two, from 1)."""
    words = (*PYTEST, "microbench", *REFERENCE, "-k", "replication and f0000", "--windows", str(windows))
    words = (*words, "--window-seconds", "0.15", "--results", str(results))
    begin = time.monotonic()
    with subprocess.Popen(
        words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            said = ""
            while cell > 1 and "[1/2]" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            family = loading(process.pid)
            time.sleep(after_s)
            os.kill(process.pid if victim == "pytest" else family[victim], number)
            rest, _ = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    return Broken(process.returncode, said + rest, results, time.monotonic() - begin, tuple(family.values()))


#: By these modules on its command line a child of pytest is known.
MODULES = {"worker": "fixtures.load.worker", "broker": "fixtures.brokers.reference"}


def loading(pid: int) -> dict[str, int]:
    """The processes of a measurement, once its worker has all connections of a cell."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with suppress(psutil.NoSuchProcess):  # pytest-benchmark asks git, and a process may end just now
            children = psutil.Process(pid).children(recursive=True)
            family = {name: one for one in children for name, module in MODULES.items() if module in one.cmdline()}
            if "worker" in family and len(family["worker"].net_connections()) >= 20 + 1:
                return {name: one.pid for name, one in family.items()}
        time.sleep(0.02)
    raise TimeoutError("the load did not begin")


#: Signal, victim, cell, how long after its connections stand, windows of a cell. A cell settles for 0.3 to 0.9 s; one
#: that must not end before the signal comes has windows for half a minute.
BREAKS = {
    "Ctrl-C while a cell settles": (signal.SIGINT, "pytest", 2, 0.15, 20),
    "Ctrl-C while a window is measured": (signal.SIGINT, "pytest", 1, 1.4, 200),
    "SIGTERM": (signal.SIGTERM, "pytest", 1, 1.4, 200),
    "a killed broker": (signal.SIGKILL, "broker", 1, 0.15, 14),
    "a killed worker": (signal.SIGKILL, "worker", 1, 1.4, 14),
    "a killed pytest": (signal.SIGKILL, "pytest", 1, 1.4, 200),
}
INTERRUPTED = ("Ctrl-C while a cell settles", "Ctrl-C while a window is measured", "SIGTERM")


@pytest.fixture(scope="module")
def breaks(tmp_path_factory):
    """All broken measurements, and what the analysis said to each."""
    folder = tmp_path_factory.mktemp("broken")

    def call(name):
        number, victim, cell, after_s, windows = BREAKS[name]
        place = folder / name.replace(" ", "-")
        ended = broken(place, number, victim, cell=cell, after_s=after_s, windows=windows)
        return ended, analysis("audit", ended.run)

    return side_by_side({name: lambda n=name: call(n) for name in BREAKS}, at_a_time=3)


@pytest.mark.parametrize("name", BREAKS)
def test_nothing_is_left_of_a_broken_measurement(breaks, name):
    """Neither broker nor worker nor half a file; the exit code is not 0."""
    ended, _ = breaks[name]

    assert ended.code != 0
    assert len(ended.pids) == 2
    assert all_gone(ended.pids)


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_measurement_is_refused_by_the_analysis(breaks, name):
    """Exit code 2, with the reason, and how to read what is complete; the complete cells are kept."""
    ended, refusal = breaks[name]
    cell = BREAKS[name][2]

    assert refusal.returncode == 2, refusal.stderr
    assert str(ended.run) in refusal.stderr
    assert "--partial" in refusal.stderr
    assert "Traceback" not in refusal.stderr
    whole = {row["cell"] for row in table_rows(ended.run, "windows")}
    assert len(whole) == (1 if cell == 2 or name == "a killed worker" else 0)
    for kept in whole:
        assert all(table_rows(ended.run, table, cell=kept) for table in TABLES if table != "latency")


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupted_measurement(breaks, name):
    """pytest's own exit code for an interruption, a marked directory, and its place on the screen; nothing else."""
    ended, refusal = breaks[name]

    assert "KeyboardInterrupt" in ended.output
    assert "Traceback" not in ended.output
    assert "Error" not in ended.output.replace("KeyboardInterrupt", "")
    assert ended.code == pytest.ExitCode.INTERRUPTED
    manifest = read_json(ended.run / "manifest.json")
    assert manifest["outcome"] == "interrupted"
    left = 2 - (BREAKS[name][2] - 1)
    assert manifest["error"] == f"interrupted with {left} cells not measured"
    assert "interrupted" in refusal.stderr
    assert ended.run.name in ended.output


def test_a_broker_that_is_killed(breaks):
    """Its cell fails with the end of its log; the cells behind it are refused, with the reason."""
    ended, refusal = breaks["a killed broker"]

    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert re.search(rf"= 2 failed, {ALL_CELLS - 2} deselected in", ended.output)
    assert "the broker's process has ended" in ended.output
    assert re.search(r"The end of its log:\nlistening on 127\.0\.0\.1:\d+", ended.output)
    failures, *_ = ended.output.split("short test summary info")  # which repeats the message in full where CI is set
    assert failures.count("The end of its log:") == 1, ended.output  # said once
    assert "not measured: start 1 of reference is over: the broker's process has ended" in ended.output
    manifest = read_json(ended.run / "manifest.json")
    assert manifest["outcome"] == "failed"
    assert "the broker's process has ended" in manifest["error"]
    assert "the broker's process has ended" in refusal.stderr


def test_a_worker_that_is_killed(breaks):
    """Its cell fails, the next one gets a new worker and passes; the run is failed all the same."""
    ended, refusal = breaks["a killed worker"]

    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed" in ended.output
    assert "load worker 0 died in the middle of the load (exit code -9)" in ended.output
    manifest = read_json(ended.run / "manifest.json")
    assert manifest["outcome"] == "failed"
    assert "load worker 0 died" in manifest["error"]
    assert "load worker 0 died" in refusal.stderr


def test_a_pytest_that_is_killed(breaks):
    """It can say nothing any more: its directory has no outcome, and is known by that."""
    ended, refusal = breaks["a killed pytest"]

    assert ended.code == -signal.SIGKILL
    assert "outcome" not in read_json(ended.run / "manifest.json")
    assert "killed" in refusal.stderr


@pytest.fixture(scope="module")
def following(breaks, plain, tmp_path_factory):
    """A plain measurement in the results directory of one that was killed, compared with the plain one before."""
    folder = tmp_path_factory.mktemp("following")
    results = shutil.copytree(breaks["a killed pytest"][0].results, folder / "results", symlinks=True)
    before = set(results.iterdir())
    storage = plain.run.parents[1] / "storage"
    compare = (f"--benchmark-storage=file://{storage}", "--benchmark-compare=0001")
    return measure(results, *ONE, "--windows", "2", "--window-seconds", "0.1", *compare), before


def test_a_broken_measurement_does_not_disturb_the_next(following):
    """After a measurement that was killed, a plain one in the same results directory works, and is the latest."""
    ended, before = following

    assert ended.code == 0, ended.output
    (run,) = set(ended.results.iterdir()) - before
    check_complete(run, cells=1)


def test_a_run_is_compared_with_a_saved_one(following):
    """pytest-benchmark's own options: the same item of the saved run stands beside the new one."""
    table = following[0].output

    assert re.search(r"test_replication\[reference-s1-f0000-r001\] \(0001_first\)", table)
    assert re.search(r"test_replication\[reference-s1-f0000-r001\] \(NOW\)", table)


@pytest.mark.slow
def test_a_broker_that_stops_delivering(tmp_path):
    """Silence is the broker's failure once the progress limit has passed: said with its log, however short a window."""
    ended = broken(tmp_path / "results", signal.SIGSTOP, "broker", cell=1, after_s=1.8)

    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert re.search(r"delivered nothing for 10 s \(limit 10 s\)[^\n]*\nThe end of its log:", ended.output)
    assert all_gone(ended.pids)
