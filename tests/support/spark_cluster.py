"""A standalone Spark cluster from the PySpark package: a master and workers in the foreground."""

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
import pytest

from analysis.spark import SMALL, SMALL_JVM
from fixtures.brokers import reaper, session_token

SPARK_HOME = Path(pyspark.__file__).parent
LIMIT_S = 120.0

#: Of applications whose JVMs live for seconds, so that compiling is not worth what it takes.
QUICK = SMALL | {"spark.executor.extraJavaOptions": SMALL_JVM}

#: The class that an executor's command line names.
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"

_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")


@dataclass(frozen=True)
class SparkNode:
    """Where a worker of the cluster runs."""

    #: Its address.
    address: str = "127.0.0.1"
    #: Words before its command, such as `ip netns exec NAME`.
    prefix: Sequence[str] = ()


#: Two workers on this host.
TWO_NODES = (SparkNode(), SparkNode())


@dataclass(frozen=True)
class SparkCluster:
    """A running cluster; all its processes and their descendants carry `mark`."""

    #: Of its master.
    url: str
    mark: str
    #: Process ids of the workers.
    workers: tuple[int, ...]
    #: What its processes write.
    folder: Path

    def executors(self) -> list[psutil.Process]:
        """The executors of all applications that are alive. A worker has other children: what removes their folders."""
        return [child for pid in self.workers for child in psutil.Process(pid).children() if _is_executor(child)]


@contextmanager
def spark_cluster(
    folder: Path,
    nodes: Sequence[SparkNode] = TWO_NODES,
    *,
    address: str = "127.0.0.1",
    memory: str = "2g",
) -> Iterator[SparkCluster]:
    """A cluster until the context ends; nothing of it is left then.

    folder: for logs, scratch files and the executors' folders
    nodes: of the workers, each with one executor's core
    address: of the master
    memory: of each worker
    """
    mark = session_token.mark()
    variables = session_token.marked(
        {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_DIRS": str(folder / "scratch"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SMALL_JVM,
        },
        mark,
    )
    folder.mkdir(parents=True, exist_ok=True)
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        at: tuple[str, ...] = ("--host", address, "--port", "0")
        daemons.append(_daemon("master", at, folder / "master.log", variables))
        url = _said(daemons[-1], _MASTER, folder / "master.log").group(1)
        for number, node in enumerate(nodes):
            words = ("--host", node.address, "--cores", "1", "--memory", memory)
            words += ("--work-dir", str(folder / f"work-{number}"), url)
            daemons.append(_daemon("worker", words, folder / f"worker-{number}.log", variables, node.prefix))
        for number, worker in enumerate(daemons[1:]):
            _said(worker, _REGISTERED, folder / f"worker-{number}.log")
        yield SparkCluster(url, mark, tuple(worker.pid for worker in daemons[1:]), folder)
    finally:
        reaper.sweep(mark)
        for daemon in daemons:
            daemon.wait()


@contextmanager
def quick_applications(folder: Path) -> Iterator[None]:
    """Applications that are started until the context ends have QUICK settings, which are written to this folder."""
    folder.mkdir(parents=True)
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in QUICK.items()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(folder))
        yield


def _is_executor(process: psutil.Process) -> bool:
    try:
        return EXECUTOR in process.cmdline()
    except psutil.NoSuchProcess:  # also where it has ended and nobody has waited for it yet
        return False


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
