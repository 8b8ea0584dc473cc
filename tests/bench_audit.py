"""`make bench-audit`: the audit of many recorded deliveries on a cluster, its time and its memory by their number.

Never a test: it takes most of an hour, and some 30 bytes of disk per delivery. The deliveries are recorded one by one
and interleaved, with known faults in every row group; the cluster is a master and two workers of one core and 2 GB. The
last line is one JSON object. Other sizes, in millions: `python -m tests.bench_audit 1 3`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import psutil
from tabulate import tabulate

from tests.conftest import ROOT
from tests.support.run_directories import write_events
from tests.support.sessions import environment
from tests.support.spark_cluster import SparkCluster, spark_cluster

MILLIONS = (10, 30, 100)
#: Size of the first audit, which is not counted.
FIRST_MILLIONS = 1.0
SUBSCRIPTIONS = 40
#: What an executor may have, with its Python processes: the heap is half of it.
LIMIT_GB = 2.0
#: How much longer a further row may take among many rows than among few.
LINEAR = 1.25
SAMPLE_S = 0.5


@dataclass(frozen=True, slots=True)
class Audited:
    """The audit of one record."""

    rows: int
    megabytes: float
    seconds: float
    #: the most that an executor had with its Python processes
    executor_gb: float
    #: the same of the analysis itself, which is the driver
    driver_gb: float


def audited(folder: Path, millions: float, cluster: SparkCluster) -> Audited:
    """Records deliveries and audits them. Ends the program where the audit does not find just what was planted."""
    path, truth = write_events(folder / "run", round(millions * 1e6), subscriptions=SUBSCRIPTIONS, faulty=True)
    size = sum(file.stat().st_size for file in (path / "deliveries").iterdir())
    executor = driver = 0
    begin = time.monotonic()
    words = [sys.executable, "-m", "analysis", "audit", str(path), "--json", "--spark-master", cluster.url]
    with (
        (folder / "answer.json").open("wb") as answer,
        subprocess.Popen(words, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=answer) as process,
    ):
        while process.poll() is None:
            executor = max(executor, *(map(resident_bytes, cluster.executors())), 0)
            driver = max(driver, resident_bytes(psutil.Process(process.pid)))
            time.sleep(SAMPLE_S)
    seconds = time.monotonic() - begin
    found = json.loads((folder / "answer.json").read_text(encoding="utf-8"))["messages"]
    del found["sent"]
    if found != asdict(truth):
        raise SystemExit(f"{millions} M: the audit found {found}, planted was {asdict(truth)}")
    return Audited(truth.delivered, size / 1e6, seconds, executor / 1e9, driver / 1e9)


def resident_bytes(process: psutil.Process) -> int:
    """Memory of a process and its descendants; pages that they share count once (PSS)."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += each.memory_full_info().pss
    return total


def main(millions: list[float]) -> None:
    seen: list[Audited] = []
    with tempfile.TemporaryDirectory() as name, spark_cluster(Path(name) / "cluster") as cluster:
        # Not counted: the first audit of all reads Spark and Python from disk, which is no cost of its rows.
        with tempfile.TemporaryDirectory(dir=name) as folder:
            audited(Path(folder), FIRST_MILLIONS, cluster)
        for number in sorted(millions):
            with tempfile.TemporaryDirectory(dir=name) as folder:
                seen.append(audited(Path(folder), number, cluster))
                print(seen[-1], flush=True)
    print(tabulate([asdict(each) for each in seen], headers="keys", floatfmt=",.2f"))
    # Of a further row, so that the start of Spark does not count.
    slopes = [(after.seconds - before.seconds) / (after.rows - before.rows) * 1e6 for before, after in pairwise(seen)]
    most = max(each.executor_gb for each in seen)
    print(f"seconds per further million rows: {', '.join(f'{slope:.2f}' for slope in slopes) or 'one size only'}")
    print(f"memory of an executor at most {most:.2f} GB: {'holds' if most <= LIMIT_GB else f'ABOVE {LIMIT_GB:g}'}")
    growth = slopes[-1] / slopes[0] if len(slopes) > 1 else None
    if growth is not None:
        print(f"linear: the last over the first {growth:.2f}: {'holds' if growth <= LINEAR else f'ABOVE {LINEAR:g}'}")
    print(json.dumps({"rows": [asdict(each) for each in seen], "executor_gb": most, "growth": growth}))


if __name__ == "__main__":
    main([float(word) for word in sys.argv[1:]] or list(MILLIONS))
