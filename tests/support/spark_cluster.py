"""A standalone Spark cluster from the PySpark package: a master and workers in the foreground, on one address."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark

from fixtures.brokers import reaper, session_token
from tests.conftest import is_gone

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
        return [child for pid in self.workers for child in psutil.Process(pid).children() if not is_gone(child.pid)]


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
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        words: tuple[str, ...] = ("--host", host, "--port", "0")
        daemons.append(_daemon("master", words, folder / "master.log", variables))
        url = _said(daemons[-1], _MASTER, folder / "master.log").group(1)
        for number in range(workers):
            words = ("--host", host, "--cores", str(cores), "--memory", memory)
            words += ("--work-dir", str(folder / f"work-{number}"), url)
            before = (prefixes or {}).get(number, ())
            daemons.append(_daemon("worker", words, folder / f"worker-{number}.log", variables, before))
        for number, worker in enumerate(daemons[1:]):
            _said(worker, _REGISTERED, folder / f"worker-{number}.log")
        yield SparkCluster(url, mark, tuple(worker.pid for worker in daemons[1:]))
    finally:
        reaper.sweep(mark)
        for daemon in daemons:
            daemon.wait()


def _daemon(
    what: str, words: Sequence[str], log: Path, variables: Mapping[str, str], before: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """A daemon in the foreground, whose output is its log."""
    name = f"org.apache.spark.deploy.{what}.{what.capitalize()}"
    command = (*before, str(SPARK_HOME / "bin" / "spark-class"), name, "--webui-port", "0", *words)
    with log.open("wb") as said:
        return subprocess.Popen(
            command, cwd=log.parent, env=variables, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        )


def _said(daemon: subprocess.Popen[bytes], ready: re.Pattern[str], log: Path) -> re.Match[str]:
    """What the log of a daemon says once it is ready. Raises RuntimeError with the log if it is not in time."""
    end = time.monotonic() + LIMIT_S
    while not (found := ready.search(text := log.read_text(encoding="utf-8", errors="replace"))):
        if daemon.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"a daemon of Spark does not start: {text}")
        time.sleep(0.05)
    return found
