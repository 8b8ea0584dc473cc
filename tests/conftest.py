"""What tests of several parts share: which of them share a process, and how to read a run directory without the
analysis.
"""

from __future__ import annotations

import gc
import json
import re
import signal
import time
from collections.abc import Sequence
from functools import lru_cache, reduce
from io import BytesIO
from operator import add
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, settings

from fixtures.load.group.job import Client
from fixtures.session import measuring_marks
from tests.support import quick_jvms
from tests.support.oracles import expected_pairs
from workloads.schema import TABLES
from workloads.throughput.lanes import LaneAudit, audit_lane, audit_shared_lane

ROOT = Path(__file__).parents[1]

#: What a layout of the throughput study is known by.
LAYOUT = ("broker", "start", "layout", "block")

#: What needs Spark: these have one process, which starts it once. A start takes as long as all its questions.
ON_SPARK = (
    "tests/analysis/gate/test_gate_items.py",
    *(
        f"tests/analysis/scenario/test_{name}.py"
        for name in (
            *("any_topology", "churn", "copy_classes", "failed_audit", "faults", "figures"),
            *("grouped_times", "partitions", "reader", "transactions"),
        )
    ),
    "tests/analysis/test_spark.py",
    "tests/analysis/throughput/test_audit.py",
    "tests/analysis/throughput/test_frames.py",
)

#: A product's tests of these have one process, which starts each broker once. Its name is the first of the parameters.
CONTRACTS = tuple(f"tests/fixtures/brokers/test_{name}_contract.py" for name in ("stomp", "protocol_broker"))

#: What takes longest, in which order it begins: files, or single tests that share nothing with the rest of their file
#: and have a process each.
LONGEST = (
    "test_faulty_brokers.py",
    "test_stomp_contract.py",
    "test_workload_faults.py",
    "test_broken_runs.py",
    "test_action.py::test_the_gate_of_the_action",
    "test_throughput_run.py::test_the_real_broker",
    "test_own.py::test_the_highest_base_is_searched",
    "test_own.py",
    "test_cluster.py",
    "test_hosts.py",
    "test_blocks_load.py",
    "test_load.py",
    "test_installed.py",
    "test_release_gates.py",
    "test_lifecycle.py",
    "test_wrong_brokers.py",
    "test_container.py",
    "test_rabbitmq.py",
    "test_products.py",
    "test_case_run.py",
    "test_throughput_start.py",
    "test_scenario_run.py",
    "test_every_page.py",
    "test_fit.py",
    "test_throughput_run.py",
    "test_docs.py",
    "test_gate_run.py",
)

# Examples may take as long as a busy host makes them. `make test-all` has more of them, by --hypothesis-profile.
BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", BUSY, max_examples=30)
settings.register_profile("thorough", BUSY, max_examples=100)
settings.load_profile("quick")


#: Parameters of tests and their further values; `make test` has the first ones, `make test-brokers` these.
FURTHER = {"workers": 3, "client": Client.STOMP_PY}

#: What a file says some of whose tests have a marker. Only such files are imported where a process runs no others: it
#: collects those of hosts with 4 s of CPU time, those of brokers with 6, and all with 16.
SAYS = {
    "brokers": re.compile(r'mark\.brokers|broker_matrix|parametrize\("(workers|client)"'),
    "hosts": re.compile(r"mark\.hosts"),
}


#: The markers of all tests of a file.
OF_A_FILE = re.compile(r"^pytestmark = .*$", re.MULTILINE)

# What is imported and collected stays: looking through it for garbage took a third of that time, in each process.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """In tests a warning is an error, unlike in a user's session, and brokers start quickly. Sessions that tests
    interrupt must not inherit that SIGINT is ignored, as a shell's background jobs do."""
    config.addinivalue_line("filterwarnings", "error")
    quick_jvms.use()
    measuring_marks.FOLDER = "/dev/null/none"  # tests run side by side, on the same CPUs
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m "hosts and not slow"`: a file without such tests, most of which takes its time to be imported."""
    terms = str(config.getoption("markexpr")).split(" and ")
    if collection_path.suffix != ".py" or any(not re.fullmatch(r"(not )?\w+", term) for term in terms):
        return None
    text = collection_path.read_text(encoding="utf-8")
    found = OF_A_FILE.search(text)
    of_all = re.findall(r"mark\.(\w+)", found[0]) if found else []
    without = any(term.removeprefix("not ") in of_all for term in terms if term.startswith("not "))
    return without or any(term in SAYS and not SAYS[term].search(text) for term in terms) or None


@pytest.hookimpl(tryfirst=True)  # before -m is applied
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no worker of xdist is left with it at the end."""
    for item in items:
        varied = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        further = [varied[name] == value for name, value in FURTHER.items() if name in varied]
        if any(further):  # of two such parameters, both vary together
            item.add_marker(pytest.mark.brokers if all(further) else pytest.mark.slow)
    for path, marker in {(item.path, marker) for item in items for marker in SAYS if item.get_closest_marker(marker)}:
        if not SAYS[marker].search(path.read_text(encoding="utf-8")):
            raise pytest.UsageError(f"{path}: has tests marked {marker}, and does not say {SAYS[marker].pattern}")
    items.sort(key=lambda item: rank_of(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With xdist a group stays in one process: a file, a long test, or all that needs Spark, which is started once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            """A process begins a test when it knows the next one: behind a long group waits a short one, the last."""
            begun = [group for group, tests in self.assigned_work[node].items() if not all(tests.values())]
            if any(rank_of(group) < len(LONGEST) for group in begun):
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    return ByGroup(config, log)


def group_of(nodeid: str) -> str:
    """What stays in one process with this test, by the begin of its id."""
    file = nodeid.partition("::")[0]
    if file in ON_SPARK:
        return ON_SPARK[0]
    test, _, parameters = nodeid.partition("[")
    if file in CONTRACTS:
        return f"{CONTRACTS[0]}[{re.split('[-:]', parameters)[0]}"
    return test if _by_name(test) in LONGEST else file


def rank_of(nodeid: str) -> int:
    """When a test's group begins: those on Spark first, the LONGEST in their order, then all others."""
    group = group_of(nodeid)
    if group in ON_SPARK:
        return -1
    return LONGEST.index(name) if (name := _by_name(group)) in LONGEST else len(LONGEST)


def _by_name(nodeid: str) -> str:
    """Without its folder, and without a product."""
    file, separator, test = nodeid.partition("[")[0].partition("::")
    return file.rpartition("/")[2] + separator + test


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def table_rows(run: Path, table: str, **keys: Any) -> list[dict[str, Any]]:
    """All rows of a table, or those with these values, in the order of their files."""
    rows = [row for path in sorted((run / table).glob("*.parquet")) for row in _read(path, path.stat().st_mtime_ns)]
    return [row.copy() for row in rows if all(row[key] == value for key, value in keys.items())]


@lru_cache(maxsize=256)  # an audit asks for the same files cell by cell
def _read(path: Path, changed_ns: int) -> list[dict[str, Any]]:
    """Through memory: pyarrow's own threads may hold a file open for a while after they have read it."""
    rows: list[dict[str, Any]] = pq.read_table(BytesIO(path.read_bytes())).to_pylist()
    return rows


def row_counts(run: Path) -> dict[str, int]:
    return {table: len(table_rows(run, table)) for table in TABLES}


def recorded_audit(run: Path, plan: dict[str, Any], **keys: Any) -> tuple[LaneAudit, int]:
    """The lane audit of one cell from its files, and how many messages were sent; `plan` is its entry of plan.json.

    Lanes begin anew in every layout of a block, so that each is an audit of its own.
    """
    sends, deliveries = (_by_layout(table_rows(run, table, **keys)) for table in ("sends", "deliveries"))
    found = [layout_audit(plan, sends.get(at, []), deliveries.get(at, [])) for at in sends.keys() | deliveries.keys()]
    return sum((audit for audit, _ in found), LaneAudit()), sum(sent for _, sent in found)


def _by_layout(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Rows by (broker, start, layout, block)."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in LAYOUT), []).append(row)
    return found


def layout_audit(
    plan: dict[str, Any], sends: list[dict[str, Any]], deliveries: list[dict[str, Any]]
) -> tuple[LaneAudit, int]:
    """The audit of a cell in one layout from its rows, and how many messages were sent."""
    sent = {row["lane"]: row["last_seq"] + 1 for row in sends}
    pairs = set(expected_pairs(plan))
    runs: dict[tuple[int, int], list[tuple[int, int]]] = {pair: [] for pair in pairs}
    for row in sorted(deliveries, key=lambda row: row["arrival"]):
        runs.setdefault((row["lane"], row["subscription"]), []).append((row["first_seq"], row["last_seq"]))
    shared = {lane for lane, _ in expected_pairs({"lanes": [group for group in plan["lanes"] if group["shared"]]})}
    audits = [
        audit_lane(of_pair, sent.get(pair[0], 0), expected=pair in pairs)
        for pair, of_pair in runs.items()
        if pair not in pairs or pair[0] not in shared
    ]
    audits += [
        audit_shared_lane([runs[pair] for pair in pairs if pair[0] == lane], sent.get(lane, 0)) for lane in shared
    ]
    return reduce(add, audits, LaneAudit()), sum(sent.values())


def in_words_of_a_truth(audit: LaneAudit, sent: int) -> dict[str, int]:
    """An audit as the reference broker states what it did."""
    names = ("delivered", "lost", "duplicated", "reordered", "misdelivered")
    return {"received": sent} | {name: getattr(audit, name) for name in names}


def all_gone(pids: Sequence[int], limit_s: float = 60.0) -> bool:
    """Whether these processes have ended, or do within the limit."""
    end = time.monotonic() + limit_s
    while not (gone := all(map(is_gone, pids))) and time.monotonic() < end:
        time.sleep(0.02)
    return gone


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
