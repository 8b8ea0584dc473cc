"""A standalone Spark cluster from the PySpark package: a master and workers in the foreground, on one address."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark

from fixtures.brokers import reaper, session_token

SPARK_HOME = Path(pyspark.__file__).parent
LIMIT_S = 120.0

_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")


@dataclass(frozen=True)
class SparkCluster:
    """A running cluster; all its processes and their descendants carry `mark`."""

    #: for --spark-master
    url: str
    mark: str
    #: process ids of the workers
    workers: tuple[int, ...]

    def executors(self) -> list[psutil.Process]:
        """The executors of all applications that are alive."""
        return [child for pid in self.workers for child in psutil.Process(pid).children()]


@contextmanager
def spark_cluster(
    folder: Path,
    *,
    workers: int = 2,
    cores: int = 1,
    memory: str = "2g",
    host: str = "127.0.0.1",
    prefixes: Mapping[int, Sequence[str]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[SparkCluster]:
    """A cluster until the context ends; nothing of it is left then.

    folder: for logs, scratch files and the executors' folders
    cores, memory: of each worker
    prefixes: by the number of a worker, words before its command, such as `unshare --mount`
    environment: further variables of all processes
    """
    mark = session_token.mark()
    variables = session_token.marked(
        {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_DIRS": str(folder / "scratch"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            **(environment or {}),
        },
        mark,
    )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _, found = _started("master", _MASTER, ("--host", host, "--port", "0"), folder, variables)
        url = found.group(1)
        pids = []
        for number in range(workers):
            words = ("--host", host, "--cores", str(cores), "--memory", memory)
            words += ("--work-dir", str(folder / f"work-{number}"), url)
            before = (prefixes or {}).get(number, ())
            pids.append(_started("worker", _REGISTERED, words, folder, variables, f"-{number}", before)[0])
        yield SparkCluster(url, mark, tuple(pids))
    finally:
        reaper.sweep(mark)


def _started(
    what: str,
    ready: re.Pattern[str],
    words: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    suffix: str = "",
    before: Sequence[str] = (),
) -> tuple[int, re.Match[str]]:
    """The process id of a daemon, and what its log says once it is ready."""
    log = folder / f"{what}{suffix}.log"
    name = f"org.apache.spark.deploy.{what}.{what.capitalize()}"
    command = (*before, str(SPARK_HOME / "bin" / "spark-class"), name, "--webui-port", "0", *words)
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        )
    end = time.monotonic() + LIMIT_S
    while not (found := ready.search(log.read_text(encoding="utf-8", errors="replace"))):
        if process.poll() is not None or time.monotonic() > end:
            sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
            raise RuntimeError(f"the {what} of Spark does not start, see its log above")
        time.sleep(0.05)
    return process.pid, found
