"""Analysis on a cluster: a real one has the tables of `local[2]`, and what it lacks is refused with the reason.

The cluster is a master and two workers on loopback; for the second one the folder `hidden` is empty.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from analysis import cluster
from analysis.errors import DataError
from fixtures.brokers import reaper, session_token
from tests.conftest import ROOT
from tests.support import run_directories as rd
from tests.support import scenario_runs as wr
from tests.support.requirements import not_here
from tests.support.scenario_runs import Fault, Planted
from tests.support.sessions import LIMIT_S, Ended, environment
from tests.support.spark_cluster import SparkCluster, SparkNode, quick_applications, spark_cluster
from workloads.scenario.periods import Lengths
from workloads.supply_chain.topology import vertical

#: What a user gives, but for several commands in one session, and with limits that a test may change.
PROGRAM = """
import json, sys
from analysis import cluster
from analysis.__main__ import main
from analysis.scenario import aggregates
from analysis.spark import session

limits, master, *runs = sys.argv[1:]
for module in (cluster, aggregates):
    for name, value in json.loads(limits).items():
        if hasattr(module, name):
            setattr(module, name, value)
if len(runs) == 1:
    sys.exit(main(["summary", *runs, "--json", "--recompute", "--spark-master", master]))
with session(master):
    codes = [main(["summary", run, "--json", "--recompute", "--spark-master", master]) for run in runs]
sys.exit(max(codes))
"""

#: Of scenario times both ways of computing a percentile are wanted, of which few deliveries have one only.
ROUNDED, EXACT = {"EXACT_ROWS": 0}, {}

#: How long what ends of itself may take: an executor notices that its driver is gone.
GONE_S = 60.0


def analysed(*runs: Path, master: str, limits: dict[str, float] = EXACT, **changes: str) -> tuple[Ended, str]:
    """The command, its output and what it says of errors; it must leave no process behind."""
    mark = session_token.mark()
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(limits), master, *map(str, runs)],
        cwd=ROOT,
        env=session_token.marked(environment(**changes), mark),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    took_s = time.monotonic() - begin
    assert no_carrier(mark)
    return Ended(done.returncode, done.stdout, ROOT, took_s), done.stderr


def no_carrier(mark: str) -> bool:
    """Whether no process with this mark is left, or none is after a while."""
    end = time.monotonic() + GONE_S
    while any(reaper.carries(mark, int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the runs are, and what the cluster writes."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def study(folder) -> Path:
    """A run of the study with two brokers, one of which lost a message."""
    run = rd.measured_run(brokers=("activemq", "artemis"), round_noise=0.02)
    run.rows("deliveries", broker="artemis")[0]["last_seq"] -= 1
    return run.write(folder / "seen" / "study")


@pytest.fixture(scope="module")
def workload(folder) -> Path:
    """A run of a workload, and one with a lost message."""
    run = wr.empty_run()
    wr.add_cell(run, vertical(5), cell="lossy", planted=[Planted(Fault.LOSE, "order", 1)], lengths=Lengths(5, 10, 20))
    wr.add_cell(run, vertical(5), cell="slow", delivery_ms=lambda _at_s: 400.0, lengths=Lengths(5, 10, 20))
    return run.write(folder / "seen" / "workload")


@pytest.fixture(scope="module")
def standalone(folder) -> SparkCluster:
    hidden = folder / "hidden"
    hidden.mkdir()
    unseen = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden))
    nodes = (SparkNode(), SparkNode(prefix=unseen if os.geteuid() == 0 else ()))
    with quick_applications(folder / "conf"), spark_cluster(folder / "cluster", nodes) as running:
        yield running


@pytest.mark.parametrize(
    ("master", "has_executors"),
    [
        ("local", False),
        ("local[2]", False),
        ("local[*, 3]", False),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("yarn", True),
    ],
)
def test_which_master_is_a_cluster(master, has_executors):
    """What runs in this process alone gets no zip, and is asked nothing."""
    assert cluster.is_cluster(master) is has_executors


@pytest.mark.parametrize(
    ("master", "inside"),
    [("spark://localhost:7077", True), ("spark://10.0.0.1:7077", False), ("spark://127.0.0.1:7,10.0.0.1:7", False)],
)
def test_the_driver_stays_on_loopback_only_with_its_master(master, inside):
    """A master of other hosts must reach the driver."""
    assert ("spark.driver.host" in cluster.options(master)) is inside


def test_the_code_is_that_of_two_packages(tmp_path):
    """The zip has the modules that run on executors; no test, and nothing that Python or an editor left beside them."""
    with zipfile.ZipFile(cluster.pack(tmp_path)) as packed:
        names = packed.namelist()

    assert {name.partition("/")[0] for name in names} == {"analysis", "workloads"}
    assert {"analysis/throughput/audit.py", "workloads/throughput/lanes.py"} <= set(names)
    assert {Path(name).suffix for name in names} == {".py"}


def test_a_master_that_does_not_listen_is_refused_at_once():
    """Without a JVM, and long before Spark would give up."""
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        with pytest.raises(DataError, match=rf"no Spark master listens there \(127\.0\.0\.1:{port}: .*refused"):
            cluster.check_master(f"spark://127.0.0.1:{port}")


def test_one_of_several_masters_is_enough(unused_tcp_port_pair):
    """A standby need not answer."""
    silent, listening = unused_tcp_port_pair
    cluster.check_master(f"spark://127.0.0.1:{silent},127.0.0.1:{listening}")


@pytest.fixture
def unused_tcp_port_pair():
    """A port at which nothing listens, and one at which something does."""
    with socket.socket() as silent, socket.create_server(("127.0.0.1", 0)) as listening:
        silent.bind(("127.0.0.1", 0))
        yield silent.getsockname()[1], listening.getsockname()[1]


@pytest.mark.parametrize(
    "master",
    ["spark://", "spark://host", "spark://host:port", "spark://host:70000", "local[x]", "local-cluster[2]", "guess"],
)
def test_what_is_no_address_of_a_master_is_refused(master):
    """Before a JVM is started, which would answer with a stack trace."""
    with pytest.raises(DataError, match=r"expected .*spark://HOST:PORT"):
        cluster.check_master(master)


def test_a_file_is_the_same_only_with_its_size(tmp_path):
    """A copy that is not complete is no better than none."""
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"1234")

    assert cluster.unreadable(str(file), 4) == ""
    assert cluster.unreadable(str(file), 5).endswith("has 4 bytes instead of 5")
    assert cluster.unreadable(str(tmp_path / "none"), 4).endswith("No such file or directory")


@pytest.mark.hosts
def test_tables_are_those_of_one_machine(standalone, study, workload):
    """To the last digit, of both kinds of runs, with percentiles of all times and of rounded ones."""
    on_cluster = analysed(study, workload, master=standalone.url, limits=ROUNDED)
    alone = analysed(study, workload, master="local[2]", limits=ROUNDED)

    assert "Traceback" not in on_cluster[1]
    assert on_cluster[0].code == alone[0].code == 0
    assert on_cluster[0].output == alone[0].output
    assert '"audit-failed"' in alone[0].output
    assert '"slow"' in alone[0].output


@pytest.mark.hosts
def test_a_folder_that_an_executor_does_not_see_is_refused(standalone, folder):
    """The reason names host and file; the one executor that sees the folder does not begin."""
    if os.geteuid() != 0:
        not_here("a worker that sees other files than the driver needs root")
    run = rd.measured_run([(0, 1)], layouts=1, rounds=1).write(folder / "hidden" / "run")

    done, said = analysed(run, master=standalone.url)

    assert done.code == 2
    assert "does not see the record that this host sees" in said
    assert f"{run}/" in said
    assert "No such file or directory" in said
    assert "Traceback" not in said


@pytest.mark.hosts
def test_an_interpreter_that_executors_lack_is_refused(standalone, study):
    """Where Python is elsewhere on a worker, the reason says which path was tried, and which variable names another."""
    done, said = analysed(study, master=standalone.url, PYSPARK_PYTHON="/nowhere/python")

    assert done.code == 2
    assert '"/nowhere/python"' in said
    assert "PYSPARK_PYTHON" in said
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.hosts
def test_workers_without_enough_memory_are_refused(standalone, study, tmp_path):
    """Spark would wait for a worker with enough of it for ever."""
    (tmp_path / "spark-defaults.conf").write_text("spark.executor.memory 100g\n", encoding="utf-8")

    done, said = analysed(study, master=standalone.url, limits={"REGISTER_S": 4.0}, SPARK_CONF_DIR=str(tmp_path))

    assert done.code == 2
    assert "no executor has registered within 4 s" in said
    assert "100g of memory" in said
    assert "Traceback" not in said


@pytest.mark.hosts
def test_executors_end_with_a_killed_analysis(standalone, study):
    """No executor outlives an analysis that could not say goodbye."""
    mark = session_token.mark()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "{}", standalone.url, str(study)],
        cwd=ROOT,
        env=session_token.marked(environment(), mark),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        end = time.monotonic() + LIMIT_S
        while not standalone.executors():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)

    assert no_carrier(mark)
    end = time.monotonic() + GONE_S
    while standalone.executors() and time.monotonic() < end:
        time.sleep(0.1)
    assert standalone.executors() == []


@pytest.mark.slow
def test_what_is_no_spark_master_is_refused(study):
    """Something else that listens at the address: Spark gives up after a minute, and the reason is in one line."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        done, said = analysed(study, master=f"spark://127.0.0.1:{other.getsockname()[1]}")

    assert done.code == 2
    assert "it does not take this application" in said
    assert "Traceback" not in said
    assert done.took_s < 150
