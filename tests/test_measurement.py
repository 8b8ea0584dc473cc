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
from collections import Counter
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
from tests.conftest import (
    LAYOUT,
    ROOT,
    all_gone,
    in_words_of_a_truth,
    read_json,
    recorded_audit,
    row_counts,
    table_rows,
)
from tests.experiments import EXPERIMENTS
from tests.sessions import LIMIT_S, PYTEST, Config, Ended, analysis, command, environment, side_by_side
from workloads.blocks import FEWEST_CELLS
from workloads.errors import WorkloadError
from workloads.lanes import LaneAudit
from workloads.levels import LEVELS
from workloads.records import PREPARATION, SCHEMA_VERSION, WARM_UP_LAYOUT, WARMING_ROUND

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
    windows = check_layouts(run)
    lives = {(slot["broker"], slot["start"]) for slot in slots}
    assert {(one["broker"], one["start"]) for one in manifest["starts"]} == lives
    assert {(row["broker"], row["start"]) for row in windows} == lives
    layouts, rounds = manifest["options"]["layouts"], manifest["options"]["rounds"]
    by_cell = {}
    for row in windows:
        by_cell.setdefault(tuple(row[key] for key in slots[0]), []).append(row)
    for slot in slots:
        counted = Counter(row["layout"] for row in by_cell[tuple(slot.values())] if row["status"] == "ok")
        assert set(counted) == set(range(1, layouts + 1))
        (number,) = set(counted.values())
        assert number == (max(1, round(rounds / 2)) if slot["experiment"] in PACED else rounds)
    for table in ("sends", "deliveries"):
        assert {tuple(row[key] for key in slots[0]) for row in table_rows(run, table)} >= set(map(tuple, by_cell))
    open_loops = {(row["experiment"], row["cell"]) for row in windows if row["planned_per_s"] is not None}
    assert {(row["experiment"], row["cell"]) for row in table_rows(run, "latency")} == open_loops
    assert open_loops == {(slot["experiment"], slot["cell"]) for slot in slots if slot["experiment"] == "latency"}
    return manifest


#: Experiments whose cells have connections of their own, and half of the rounds.
PACED = {name for name, experiment in EXPERIMENTS.items() if experiment.own_connections}


def check_layouts(run: Path) -> list[dict[str, object]]:
    """Every layout that has its row is whole; returns the windows of all that have.

    In every round each cell of the block has one slice, and all are in turn. What was sent came, and is recorded.
    """
    windows = table_rows(run, "windows")
    plans = {(plan["experiment"], plan["cell"]): plan for plan in read_json(run / "plan.json")["cells"]}
    whole = []
    for layout in table_rows(run, "layouts"):
        at = {key: layout[key] for key in LAYOUT}
        slices = [row for row in windows if at.items() <= row.items()]
        whole += slices
        cells = {(row["experiment"], row["cell"]) for row in slices}
        warm_up = layout["layout"] == WARM_UP_LAYOUT
        assert len(cells) == layout["cells"] or (warm_up and len(cells) < layout["cells"])
        by_round = {}
        for row in slices:
            by_round.setdefault(row["round"], []).append(row)
        assert len(by_round) == layout["rounds"]
        for number, of_round in by_round.items():
            in_order = sorted(of_round, key=lambda row: row["position"])
            assert [row["position"] for row in in_order] == list(range(len(in_order)))
            assert len({(row["experiment"], row["cell"]) for row in in_order}) == len(in_order)
            assert warm_up or len(in_order) == len(cells)
            status = "warm-up" if warm_up or number <= WARMING_ROUND else "ok"
            assert {row["status"] for row in in_order} == {status}
            instants = [row[edge] for row in in_order for edge in ("begin_ns", "end_ns")]
            assert sorted(instants) == instants
        instants = [row[edge] for row in slices for edge in ("begin_ns", "end_ns")]
        assert layout["begin_ns"] < layout["connected_ns"] < min(instants) < max(instants) < layout["end_ns"]
        for experiment, cell in cells:
            audit, sent = recorded_audit(run, plans[experiment, cell], **at, experiment=experiment, cell=cell)
            own = [row for row in slices if (row["experiment"], row["cell"]) == (experiment, cell)]
            assert sent >= sum(row["received"] for row in own)
            assert audit.expected
    return whole


def audits(run: Path) -> dict[str, tuple[LaneAudit, int]]:
    """Per scheduled item the audit of its files, and the messages sent."""
    plans = {(plan["experiment"], plan["cell"]): plan for plan in read_json(run / "plan.json")["cells"]}
    return {
        item_of(slot): recorded_audit(run, plans[slot["experiment"], slot["cell"]], **slot)
        for slot in read_json(run / "manifest.json")["schedule"]
    }


def whole_audit(run: Path, broker: str) -> dict[str, int]:
    """The audit of all that a broker was sent, the anchors and the warm-up included, in the words of its truth."""
    of_cells = [
        recorded_audit(run, plan, broker=broker, experiment=plan["experiment"], cell=plan["cell"])
        for plan in read_json(run / "plan.json")["cells"]
    ]
    total = sum((audit for audit, _ in of_cells), LaneAudit())
    return in_words_of_a_truth(total, sum(sent for _, sent in of_cells))


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


SMOKE = r"x 1 layouts x 1 rounds, slices of 0\.1 s, x"


@pytest.mark.parametrize(
    ("name", "size", "minutes"),
    [
        ("seed 2", rf"{ALL_CELLS} cells {SMOKE} 1 starts of reference; profile today, order by seed 2", (1, 2)),
        ("one cell", rf"1 cells {SMOKE} 1 starts of reference;", (1, 1)),
        ("two starts", rf"{ALL_CELLS} cells {SMOKE} 2 starts of reference, reference:lose=9;", (1, 4)),
        (
            "default",
            r"16 cells x 8 layouts x 2 rounds, slices of 0\.4 s, x 1 starts of activemq; profile",
            (3, 5),
        ),
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
    """The replication cells on the reference broker, two layouts of two rounds, with the files of pytest-benchmark."""
    folder = tmp_path_factory.mktemp("plain")
    words = ("microbench", *REFERENCE, "-k", "replication", "--layouts", "2", "--rounds", "2", "--seed", "5")
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
    assert whole_audit(plain.run, "reference") == truth_of(plain.run, "reference")
    assert [line.split()[0] for line in plain.output.splitlines() if line.startswith("microbench/")] == list(audited)


def test_the_cells_of_a_start_are_laid_out_together(plain):
    """One block, filled up with anchors; their slices take turns, in another order in each round."""
    rows = table_rows(plain.run, "windows")
    planned = {(plan["experiment"], plan["cell"]) for plan in read_json(plain.run / "plan.json")["cells"]}
    chosen = {("replication", cell) for cell in CELLS["replication"]}
    anchors = {(row["experiment"], row["cell"]) for row in rows} - chosen

    assert {(row["layout"], row["block"]) for row in table_rows(plain.run, "layouts")} == {(1, 0), (2, 0)}
    assert len(anchors) == FEWEST_CELLS - 4
    assert {experiment for experiment, _ in anchors} <= set(PREPARATION)
    assert anchors < planned
    orders = {}
    for row in sorted(rows, key=lambda row: row["position"]):
        orders.setdefault((row["layout"], row["round"]), []).append((row["experiment"], row["cell"]))
    assert len(orders) == 4
    assert len({tuple(order) for order in orders.values()}) == 4


def test_a_measurement_loads_no_analysis(plain):
    """With --no-analysis neither Spark nor a statistics library is loaded, and nothing is judged.

    (pandas is loaded by pyarrow itself, wherever it finds it, when the first file is written.)
    """
    (loaded,) = re.findall(r"^loaded: \[(.*)\]$", plain.output, re.MULTILINE)
    assert loaded in ("", "'pandas'")
    assert "verdict" not in plain.output


def test_a_slice_is_a_round_of_pytest_benchmark(plain):
    """Its JSON has a group per experiment and a round per counted slice, whose seconds are the time per message B."""
    written = read_json(plain.run.parents[1] / "benchmark.json")["benchmarks"]

    assert {one["group"] for one in written} == {"replication"}
    assert len(written) == 4
    slots = {item_of(slot): slot for slot in read_json(plain.run / "manifest.json")["schedule"]}
    for one in written:
        slot = slots[one["fullname"]]
        times = [
            (row["end_ns"] - row["begin_ns"]) / 1e9 / row["received"]
            for row in sorted(table_rows(plain.run, "windows", **slot), key=lambda row: (row["layout"], row["round"]))
            if row["status"] == "ok"
        ]
        assert one["stats"]["rounds"] == len(times) == 4
        assert one["stats"]["data"] == pytest.approx(times, rel=1e-6)
        assert one["stats"]["ops"] == pytest.approx(4 / sum(times), rel=1e-6)


# --- as many layouts as a precision takes ---------------------------------------------------------------------------

#: Costs that are large enough for short slices, and cells that tell them apart.
PRECISE = """
rounds = 1
slice_seconds = 0.1
warmup_seconds = 0

[replication]
further = [0, 40]
replication = [1, 6]
"""
COSTS = ("--broker", "reference:t_rcv=1ms,t_fltr=50us,t_tx=300us,noise=2%", "--no-analysis")


@pytest.fixture(scope="module")
def precise(tmp_path_factory):
    """One that its pilot is enough for, one that would need more than it may."""
    folder = tmp_path_factory.mktemp("precise")
    (folder / "precise.toml").write_text(PRECISE)
    words = (*COSTS, "--grid", str(folder / "precise.toml"), "-k", "replication")
    return {
        text: measure(folder / text, *words, "--precision", text, "--max-layouts", "7", "--starts", "2")
        for text in ("50%", "0.1%")
    }


@pytest.mark.parametrize(("text", "layouts"), [("50%", 5), ("0.1%", 7)])
def test_layouts_until_the_precision(precise, text, layouts):
    """The pilot of five, and as many more as it says, at most so many; the run says so, and is complete."""
    ended = precise[text]
    assert ended.code == 0, ended.output
    manifest = read_json(ended.run / "manifest.json")
    rows = table_rows(ended.run, "layouts")

    assert manifest["outcome"] == "complete"
    assert manifest["options"]["precision"] == pytest.approx(float(text.rstrip("%")) / 100)
    for start in (1, 2):
        assert [row["layout"] for row in rows if row["start"] == start] == list(range(1, layouts + 1))
        assert re.search(rf"start {start}: \+-{float(text[:-1])}% takes \d+ layouts", ended.output), ended.output
    assert ("7 are allowed (--max-layouts)" in ended.output) == (text == "0.1%")
    check_layouts(ended.run)
    read = analysis("audit", ended.run)
    assert read.returncode == 0, read.stderr


# --- the real broker -----------------------------------------------------------------------------------------------


def real(results: Path, *words: str) -> Ended:
    """Cells of the smoke grid on ActiveMQ, with their verdict."""
    try:
        brokers.prepare(brokers.parse("activemq"))
    except BrokerError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return measure(results, "--broker", "activemq", "--grid", "smoke", *words)


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

FAULTY = (
    "reference:lose=97",
    "reference:duplicate=89,swap=83",
    "reference:stray=29",
    "reference:lose=31,duplicate=37,swap=41,misroute=43",
)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """One cell on each of several brokers that are wrong in different ways."""
    chosen = [word for broker in FAULTY for word in ("--broker", broker)]
    words = (*REFERENCE[2:], "-k", "f0005-r003", "--layouts", "2")
    return measure(tmp_path_factory.mktemp("faulty") / "results", *chosen, *words)


def truth_of(run: Path, broker: str) -> dict[str, int]:
    name = re.sub(r"[^a-z0-9.-]", "_", broker)
    return read_json(run / "brokers" / f"{name}-01" / "truth.json")["messages"]


def test_a_wrong_broker_fails_its_items(faulty):
    """Exit code 1, each item with what went wrong in numbers; what was recorded is complete nevertheless."""
    assert faulty.code == 1
    assert f"{len(FAULTY)} failed" in faulty.output
    check_complete(faulty.run, cells=len(FAULTY))
    audited = audits(faulty.run)
    for broker in FAULTY:
        slot = {"experiment": "replication", "broker": broker, "start": 1, "cell": "f0005-r003"}
        audit, sent = audited[item_of(slot)]
        counts = ", ".join(
            f"{getattr(audit, word)} {word}" for word in ("lost", "duplicated", "reordered", "misdelivered")
        )
        assert not audit.exact
        assert f"f0005-r003 on {broker}, start 1: of {3 * sent} copies {counts}" in faulty.output


def test_every_fault_is_counted(faulty):
    """The files tell what each broker did, to the message: across cells, rounds and layouts, the anchors included."""
    for broker in FAULTY:
        truth = truth_of(faulty.run, broker)
        assert whole_audit(faulty.run, broker) == truth
        assert truth["lost"] + truth["duplicated"] > 20
    assert truth_of(faulty.run, "reference:stray=29")["misdelivered"] > 20


def test_the_analysis_reports_what_the_broker_did(faulty):
    """`audit --json` has exactly the numbers of the brokers' own truth, anchors included, and the run is invalid.

    A process of its own, with its own Spark: JSON on standard output and nothing else there.
    """
    done = analysis("audit", faulty.run, "--json", "--spark-master", "local[2]")
    assert done.returncode == 0, done.stderr
    assert "WARN " not in done.stderr
    told = json.loads(done.stdout)

    plans = {(plan["experiment"], plan["cell"]): plan for plan in read_json(faulty.run / "plan.json")["cells"]}
    words = ("sent", "delivered", "lost", "duplicated", "reordered", "misdelivered")
    by_broker = {broker: dict.fromkeys(words, 0) for broker in FAULTY}
    for cell in told["cells"]:
        keys = {key: cell[key] for key in ("broker", "start", "experiment", "cell")}
        audit, sent = recorded_audit(faulty.run, plans[cell["experiment"], cell["cell"]], **keys)
        assert (cell["sent"], cell["expected"]) == (sent, audit.expected)
        assert all(cell[word] == getattr(audit, word) for word in words[1:])
        for word in words:
            by_broker[cell["broker"]][word] += cell[word]
    assert len(told["cells"]) == len(FAULTY) * len(plans)
    for broker in FAULTY:
        truth = truth_of(faulty.run, broker)
        assert by_broker[broker] == {"sent": truth["received"]} | {word: truth[word] for word in words[1:]}
    for word in words:
        assert told["messages"][word] == sum(of_broker[word] for of_broker in by_broker.values()) > 0
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
    words = ("--broker", url, *REFERENCE[2:], "-k", "f0000-r001", "-v")
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
    "two numbers of layouts": (
        (*ONE, "--layouts", "8", "--precision", "5%"),
        r"--layouts and --precision: the one says how many layouts, the other asks the data",
    ),
    "the precision of nothing": (
        (*REFERENCE, "-k", "queue_topic", "--precision", "5%"),
        r"--precision: no experiment here fits a model",
    ),
    "an option that was": ((*ONE, "--windows", "3"), r"unrecognized arguments: --windows 3"),
    "another one": ((*ONE, "--window-seconds", "2"), r"unrecognized arguments: --window-seconds 2"),
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
    "too few descriptors": (ONE, r"\d+ connections are planned, .*hard limit is 250: raise it"),
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
    "--layouts": ({"layouts": 0}, r"--layouts: expected at least 1, got 0"),
    "--rounds": ({"rounds": 0}, r"--rounds: expected at least 1, got 0"),
    "--slice-seconds": ({"slice_seconds": 0.01}, r"--slice-seconds: expected .*0\.05.*, got 0\.01"),
    "--slice-seconds inf": ({"slice_seconds": float("inf")}, r"--slice-seconds: expected .*, got inf"),
    "--slice-seconds nan": ({"slice_seconds": float("nan")}, r"--slice-seconds: expected .*, got nan"),
    "--precision": ({"precision": "0%"}, r"--precision: expected 0\.1% to 50%, as in 5%, got 0%"),
    "--precision 60%": ({"precision": "60%"}, r"--precision: expected 0\.1% to 50%, .*got 60%"),
    "--precision of 5": ({"precision": "5"}, r"--precision: expected 0\.1% to 50%, .*got 5"),
    "--precision, in words": ({"precision": "high"}, r"--precision: expected 0\.1% to 50%, .*got high"),
    "--max-layouts": ({"max_layouts": 4}, r"--max-layouts: expected at least 5, got 4"),
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
    with pytest.raises(WorkloadError, match="ini key layouts: 'many'"):
        checked({"broker": ["reference"]}, {"layouts": "many"})


def test_the_command_line_goes_before_the_ini_file():
    """An option that is given stands before its ini key of the same name, and that before the grid's."""
    ini = {"layouts": "7", "rounds": "3", "slice_seconds": "0.5", "seed": "3", "in_flight": "50"}
    quick = LEVELS["quick"]

    options = checked({"broker": ["reference"]}, {}).options
    assert (options["layouts"], options["rounds"], options["slice_seconds"]) == (
        quick.layouts,
        quick.rounds,
        quick.slice_s,
    )
    options = checked({"broker": ["reference"], "layouts": 2, "seed": 0}, ini).options
    assert {name: options[name] for name in ini} == {
        "layouts": 2,
        "rounds": 3,
        "slice_seconds": 0.5,
        "seed": 0,
        "in_flight": 50,
    }


#: A user's own grid -> what is in effect of it, or what the refusal must say.
OWN = "[replication]\nfurther = [0]\nreplication = [1]\n"
OWN_GRIDS = {
    "nothing said": (OWN, {"layouts": LEVELS["quick"].layouts, "warmup_seconds": LEVELS["quick"].warm_up_s}),
    "all said": (
        f"layouts = 5\nrounds = 4\nslice_seconds = 1\nwarmup_seconds = 0\n{OWN}",
        {"layouts": 5, "rounds": 4, "slice_seconds": 1, "warmup_seconds": 0},
    ),
    "windows": (f"windows = 3\n{OWN}", r"unknown key 'windows'; expected layouts, rounds, slice_seconds"),
    "window_seconds": (f"window_seconds = 3\n{OWN}", r"unknown key 'window_seconds'"),
    "half a layout": (f"layouts = 1.5\n{OWN}", r"layouts: expected a .*number, got 1\.5"),
    "no layout": (f"layouts = 0\n{OWN}", r"--layouts: expected at least 1, got 0"),
    "a word": (f"rounds = 'many'\n{OWN}", r"rounds: expected a .*number, got 'many'"),
    "true": (f"layouts = true\n{OWN}", r"layouts: expected a .*number, got True"),
    "nothing to measure": ("layouts = 5\n", r"no experiment; expected a table such as \[replication\]"),
}


@pytest.mark.parametrize(("text", "expected"), OWN_GRIDS.values(), ids=OWN_GRIDS)
def test_a_grid_of_ones_own(tmp_path, text, expected):
    """Its numbers stand instead of those of `quick`; what is unknown or no number is refused with its name."""
    grid = tmp_path / "own.toml"
    grid.write_text(text)
    if isinstance(expected, str):
        with pytest.raises(WorkloadError, match=expected):
            checked({"broker": ["reference"], "grid": str(grid)}, {})
    else:
        settings = checked({"broker": ["reference"], "grid": str(grid)}, {})
        assert expected.items() <= settings.options.items()
        assert (settings.level.warm_up_limit_s == 0) == (settings.level.warm_up_s == 0)
        options = checked({"broker": ["reference"], "grid": str(grid), "layouts": 9}, {}).options
        assert options["layouts"] == 9


# --- interrupted and broken ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Broken(Ended):
    """A measurement in the middle of which something was killed; `pids` are its broker and workers."""

    pids: tuple[int, ...]


@dataclass(frozen=True)
class Break:
    """A signal to pytest, the broker or the worker, `after_s` behind the end of so many layouts.

    Two cells in so many layouts and starts: one that must not end before the signal comes has layouts for a minute.
    """

    number: int
    victim: str
    behind: int
    after_s: float
    layouts: int = 60
    starts: int = 1

    def made(self, results: Path) -> Broken:
        words = (*PYTEST, "microbench", *REFERENCE, "-k", "replication and f0000", "--layouts", str(self.layouts))
        words = (*words, "--starts", str(self.starts), "--results", str(results))
        begin = time.monotonic()
        with subprocess.Popen(
            words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                family = loading(process.pid)
                while sum(1 for _ in results.glob("latest/layouts/*.parquet")) < self.behind:
                    assert process.poll() is None, process.stdout.read()
                    time.sleep(0.005)
                time.sleep(self.after_s)
                os.kill(process.pid if self.victim == "pytest" else family[self.victim], self.number)
                said, _ = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()
        return Broken(process.returncode, said, results, time.monotonic() - begin, tuple(family.values()))


#: By these modules on its command line a child of pytest is known.
MODULES = {"worker": "fixtures.load.worker", "broker": "fixtures.brokers.reference"}


def loading(pid: int) -> dict[str, int]:
    """The processes of a measurement, once its worker has all publishers' connections."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with suppress(psutil.NoSuchProcess):  # pytest-benchmark asks git, and a process may end just now
            children = psutil.Process(pid).children(recursive=True)
            family = {name: one for one in children for name, module in MODULES.items() if module in one.cmdline()}
            if "worker" in family and len(family["worker"].net_connections()) >= 20 + 1:
                return {name: one.pid for name, one in family.items()}
        time.sleep(0.02)
    raise TimeoutError("the load did not begin")


#: A layout takes a second or two, most of it slices; it begins with the connections.
BREAKS = {
    "Ctrl-C in the first layout": Break(signal.SIGINT, "pytest", 0, 0.3),
    "Ctrl-C between two layouts": Break(signal.SIGINT, "pytest", 2, 0.0),
    "SIGTERM": Break(signal.SIGTERM, "pytest", 2, 0.7),
    "a killed broker": Break(signal.SIGKILL, "broker", 1, 0.5, layouts=3, starts=2),
    "a killed worker": Break(signal.SIGKILL, "worker", 1, 0.5, layouts=3, starts=2),
    "a killed pytest": Break(signal.SIGKILL, "pytest", 2, 0.5),
}
INTERRUPTED = ("Ctrl-C in the first layout", "Ctrl-C between two layouts", "SIGTERM")


@pytest.fixture(scope="module")
def breaks(tmp_path_factory):
    """All broken measurements."""
    folder = tmp_path_factory.mktemp("broken")
    return side_by_side(
        {name: lambda n=name: BREAKS[n].made(folder / n.replace(" ", "-")) for name in BREAKS}, at_a_time=3
    )


#: Whose complete layouts are analysed.
PARTIAL = ("SIGTERM", "a killed broker", "a killed pytest")


@pytest.fixture(scope="module")
def judged(breaks):
    """What the analysis says to each of them as it is, and of what is complete."""
    asked = [(name,) for name in BREAKS] + [(name, "--partial", "--json") for name in PARTIAL]
    return side_by_side({one: lambda o=one: analysis("audit", breaks[o[0]].run, *o[1:]) for one in asked})


@pytest.mark.parametrize("name", BREAKS)
def test_nothing_is_left_of_a_broken_measurement(breaks, name):
    """Neither broker nor worker; the exit code is not 0."""
    assert breaks[name].code != 0
    assert len(breaks[name].pids) == 2
    assert all_gone(breaks[name].pids)


@pytest.mark.parametrize("name", BREAKS)
def test_complete_layouts_are_kept(breaks, name):
    """All layouts that had ended before are whole, whatever came in the middle of the next; nothing of it was lost."""
    ended, way = breaks[name], BREAKS[name]
    check_layouts(ended.run)
    layouts = [row["layout"] for row in table_rows(ended.run, "layouts", start=1)]

    assert layouts == list(range(1, len(layouts) + 1))
    assert way.behind <= len(layouts) <= way.behind + 1
    plans = read_json(ended.run / "plan.json")["cells"]
    for layout in layouts:
        for plan in plans:
            keys = {"start": 1, "layout": layout, "experiment": plan["experiment"], "cell": plan["cell"]}
            audit, sent = recorded_audit(ended.run, plan, **keys)
            assert sent
            assert audit.exact


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_measurement_is_refused_by_the_analysis(breaks, judged, name):
    """Exit code 2, with the reason, and how to read what is complete."""
    ended, refusal = breaks[name], judged[name,]

    assert refusal.returncode == 2, refusal.stderr
    assert str(ended.run) in refusal.stderr
    assert "--partial" in refusal.stderr
    assert "Traceback" not in refusal.stderr


@pytest.mark.parametrize("name", PARTIAL)
def test_complete_layouts_are_read(breaks, judged, name):
    """With --partial the audit is of these, and of nothing else."""
    ended, partial = breaks[name], judged[name, "--partial", "--json"]
    of_layouts = [
        recorded_audit(
            ended.run, plan, **{key: row[key] for key in LAYOUT}, experiment=plan["experiment"], cell=plan["cell"]
        )
        for row in table_rows(ended.run, "layouts")
        for plan in read_json(ended.run / "plan.json")["cells"]
    ]

    assert partial.returncode == 0, partial.stderr
    told = json.loads(partial.stdout)["messages"]
    assert told["sent"] == sum(sent for _, sent in of_layouts)
    assert told["delivered"] == told["expected"] == sum(audit.expected for audit, _ in of_layouts)


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupted_measurement(breaks, judged, name):
    """pytest's own exit code for an interruption, a marked directory, and its place on the screen; nothing else."""
    ended, refusal = breaks[name], judged[name,]

    assert "KeyboardInterrupt" in ended.output
    assert "Traceback" not in ended.output
    assert "Error" not in ended.output.replace("KeyboardInterrupt", "")
    assert ended.code == pytest.ExitCode.INTERRUPTED
    manifest = read_json(ended.run / "manifest.json")
    assert manifest["outcome"] == "interrupted"
    assert manifest["error"] == "interrupted with 2 cells not measured"
    assert "interrupted" in refusal.stderr
    assert ended.run.name in ended.output


def test_a_broker_that_is_killed(breaks, judged):
    """The cells of its start fail, one with the end of its log, all with the reason; the next start is measured."""
    ended, refusal = breaks["a killed broker"], judged["a killed broker",]

    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert re.search(r"= 2 failed, 2 passed, \d+ deselected in", ended.output)
    assert "the broker's process has ended" in ended.output
    assert re.search(r"The end of its log:\nlistening on 127\.0\.0\.1:\d+", ended.output)
    failures, *_ = ended.output.split("short test summary info")  # which repeats the message in full where CI is set
    assert failures.count("The end of its log:") == 1, ended.output  # said once
    assert "not measured: start 1 of reference is over: the broker's process has ended" in ended.output
    manifest = read_json(ended.run / "manifest.json")
    assert manifest["outcome"] == "failed"
    assert "the broker's process has ended" in manifest["error"]
    assert "the broker's process has ended" in refusal.stderr
    assert {row["layout"] for row in table_rows(ended.run, "layouts", start=2)} == {1, 2, 3}


def test_a_worker_that_is_killed(breaks, judged):
    """The cells of its start fail; the next start has a new worker, and is measured. The run is failed all the same."""
    ended, refusal = breaks["a killed worker"], judged["a killed worker",]

    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert re.search(r"= 2 failed, 2 passed, \d+ deselected in", ended.output)
    assert "load worker 0 died in the middle of the load (exit code -9)" in ended.output
    assert "not measured: start 1 of reference is over: load worker 0 died" in ended.output
    manifest = read_json(ended.run / "manifest.json")
    assert manifest["outcome"] == "failed"
    assert "load worker 0 died" in manifest["error"]
    assert "load worker 0 died" in refusal.stderr
    assert {row["layout"] for row in table_rows(ended.run, "layouts", start=2)} == {1, 2, 3}


def test_a_pytest_that_is_killed(breaks, judged):
    """It can say nothing any more: its directory has no outcome, and is known by that."""
    ended, refusal = breaks["a killed pytest"], judged["a killed pytest",]

    assert ended.code == -signal.SIGKILL
    assert "outcome" not in read_json(ended.run / "manifest.json")
    assert "killed" in refusal.stderr


@pytest.fixture(scope="module")
def following(breaks, plain, tmp_path_factory):
    """A plain measurement in the results directory of one that was killed, compared with the plain one before."""
    folder = tmp_path_factory.mktemp("following")
    results = shutil.copytree(breaks["a killed pytest"].results, folder / "results", symlinks=True)
    before = set(results.iterdir())
    storage = plain.run.parents[1] / "storage"
    compare = (f"--benchmark-storage=file://{storage}", "--benchmark-compare=0001")
    return measure(results, *ONE, "--layouts", "2", "--rounds", "2", *compare), before


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
    """Silence is the broker's failure once the progress limit has passed: said with its log, however short a slice."""
    ended = Break(signal.SIGSTOP, "broker", 1, 0.5).made(tmp_path / "results")

    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert re.search(r"delivered nothing for 10 s \(limit 10 s\)[^\n]*\nThe end of its log:", ended.output)
    assert all_gone(ended.pids)
    assert {row["layout"] for row in table_rows(ended.run, "layouts")} == {1}


# --- a cell that is refused ----------------------------------------------------------------------------------------

#: An experiment of a user's own: the filter of its second cell is none.
WRONG_FILTER = """
import pytest
from workloads.model import Destination, DestinationKind, Experiment, Flow, Subscription, Template, factorial
from workloads.selectors import Equals

class Broken(Equals):
    def __str__(self):
        return "ID =="

def flow(cell, destination):
    wanted = Broken("ID", "#0") if cell.number("broken") else Equals("ID", "#0")
    topic = Destination(DestinationKind.TOPIC, destination)
    return Flow(topic, 2, (Template((("ID", "#0"),)),), (Subscription(wanted),))

LABEL = "c{number}-b{broken}"
CELLS = factorial(LABEL, number=(1, 2), broken=(0,)) + factorial(LABEL, number=(3,), broken=(1,))
EXPERIMENT = Experiment("filters", "source", "question?", LABEL, {"smoke": CELLS}, flow)

@pytest.mark.experiment(EXPERIMENT)
def test_filters(run):
    outcome = run()
    assert outcome.exact, outcome.explain()
"""
PLUGINS = [word for name in ("throughput_plugin", "workload_plugin", "plugin") for word in ("-p", f"fixtures.{name}")]


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """A measurement in which the broker refuses one of three cells; and one of that cell alone."""
    folder = tmp_path_factory.mktemp("refusing")
    (folder / "test_filters.py").write_text(WRONG_FILTER)
    words = (*PYTEST, "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), *PLUGINS, "-p", "analysis.plugin")
    words = (*words, str(folder), *REFERENCE, "--layouts", "2", "--rounds", "2")
    env = environment(PYTHONPATH=str(folder))  # the load's processes have to know the filter's class
    return {
        "of three": command(*words, env=env, results=folder / "three"),
        "alone": command(*words, "-k", "b1", env=env, results=folder / "alone"),
    }


def test_a_cell_that_is_refused(refusing):
    """It fails its item, with what the broker said; the others are measured, and the run is not complete."""
    ended = refusing["of three"]

    assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
    assert re.search(r"= 1 failed, 2 passed in", ended.output), ended.output
    assert "with selector ID == the broker answered ERROR" in ended.output
    assert "Traceback" not in ended.output
    check_layouts(ended.run)
    counted = Counter(row["cell"] for row in table_rows(ended.run, "windows", experiment="filters", status="ok"))
    assert counted == {"c1-b0": 4, "c2-b0": 4}
    manifest = read_json(ended.run / "manifest.json")
    assert manifest["outcome"] == "failed"
    assert "with selector ID ==" in manifest["error"]


def test_a_cell_that_is_refused_alone(refusing):
    """Nothing is measured for it, and no anchor in its place."""
    ended = refusing["alone"]

    assert ended.code == pytest.ExitCode.TESTS_FAILED, ended.output
    assert "with selector ID == the broker answered ERROR" in ended.output
    assert not table_rows(ended.run, "layouts")
