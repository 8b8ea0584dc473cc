"""Spark on a cluster: what its executors are given, and what they are asked before the first query.

They get the packages that run there in a zip, made at the start of a session and removed at its end. They must have the
driver's versions of Python and Spark, the packages of `requirements.txt`, and the recorded files under the driver's
paths. What is missing is a DataError with the reason, and every wait has a limit. Nothing here computes a result.
"""

from __future__ import annotations

import importlib
import platform
import re
import socket
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis.errors import DataError

#: The packages of this suite from which functions run on executors, and what those import of others.
CODE = ("analysis", "workloads")
NEEDED = ("numpy", "pyarrow")

#: Limits: until a master's port answers, until the first executor has registered, and until all have answered.
CONNECT_S = 5.0
REGISTER_S = 60.0
ANSWER_S = 60.0

#: Of the record, for each partition of what is shuffled: sorted in the memory of a core, and enough to be worth a task.
#: Spark's own 200 partitions made a small run take three times as long.
PARTITION_BYTES = 16 << 20

#: How long no further executor may register before those that have are asked.
SETTLED_S = 1.0

#: More files than these are counted, not named.
NAMED = 2

_LOCAL = re.compile(r"local(\[(\d+|\*)(, *\d+)?\])?")
_CLUSTER = re.compile(r"local-cluster\[\d+, *\d+, *\d+\]|spark://.*|k8s://.+|yarn")
_STANDALONE = "spark://"
_LOOPBACK = re.compile(r"(spark://(localhost|127\.[\d.]+|\[::1\]):\d+|local-cluster\[.*)")

#: Where the driver's JVM writes its log, below the session's folder.
LOG_FILE = "spark.log"

#: Spark tells why a cluster does not work in its log only, so that it is written to a file, from which refusals quote.
LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c{{1}}: %m%n%ex
"""

#: Host, version of Python, version of Spark, and the files that cannot be read with the reason.
_Report: TypeAlias = tuple[str, str, str, list[str]]


def is_cluster(master: str) -> bool:
    """Whether a master has executors of its own, which share neither the driver's code nor, maybe, its files."""
    return _LOCAL.fullmatch(master) is None


def options(master: str) -> dict[str, str]:
    """Settings for a cluster; memory, cores and security are those of the user's spark-defaults.conf."""
    if _LOOPBACK.fullmatch(master):
        return {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return {}


def check_master(master: str) -> None:
    """Raises DataError unless Spark knows such a master, and something listens at an address of a standalone one.

    Spark itself would answer with a stack trace, or try for a minute.
    """
    if not (_LOCAL.fullmatch(master) or _CLUSTER.fullmatch(master)):
        raise DataError(
            f"--spark-master {master}: expected local[N], spark://HOST:PORT, or another master that Spark knows "
            "(local-cluster[N,CORES,MEGABYTES], k8s://..., yarn)"
        )
    if not master.startswith(_STANDALONE):
        return
    refused = []
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or int(port) >= 1 << 16:
            raise DataError(f"--spark-master {master}: expected spark://HOST:PORT[,HOST:PORT ...]")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        except OSError as error:
            refused.append(f"{address}: {error}")
        else:
            return
    raise DataError(
        f"--spark-master {master}: no Spark master listens there ({'; '.join(refused)}); the address is the one that "
        "the master's log shows, docs/cluster.md says how to start one"
    )


def equip(spark: SparkSession, folder: Path, files: Iterable[Path]) -> None:
    """Makes the executors ready to analyse these files. Raises DataError where they cannot.

    folder: of the session, with the driver's log

    All executors are asked that have registered by then; one that comes later gets the same code, and fails when it
    reads a file that it does not see.
    """
    context = spark.sparkContext
    _await_executors(context, folder)
    context.addPyFile(str(pack(folder)))
    wanted = [(str(file), file.stat().st_size) for file in files]
    partitions = max(context.defaultParallelism, -(-sum(size for _, size in wanted) // PARTITION_BYTES))
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    for host, python, version, unseen in _reports(context, wanted):
        if version != pyspark.__version__:
            raise DataError(
                f"{context.master}: {host} has Spark {version}, this is {pyspark.__version__}; install the same "
                "requirements.txt there"
            )
        if python.rpartition(".")[0] != platform.python_version().rpartition(".")[0]:
            raise DataError(f"{context.master}: {host} has Python {python}, this is {platform.python_version()}")
        if unseen:
            more = f" and {len(unseen) - NAMED} more" if len(unseen) > NAMED else ""
            raise DataError(
                f"{context.master}: {host} does not see the record that this host sees: {'; '.join(unseen[:NAMED])}"
                f"{more}, of {len(wanted)} files; put the run directory into a folder that all hosts have under the "
                "same path, see docs/cluster.md"
            )


def pack(folder: Path) -> Path:
    """A zip with the packages that run on executors, in this folder."""
    root = Path(__file__).resolve().parents[1]
    path = folder / "brokerbench.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in CODE:
            for file in sorted((root / package).rglob("*.py")):
                packed.write(file, file.relative_to(root))
    return path


def logged(folder: Path) -> str:
    """What the driver's log says last, for a refusal: the innermost cause if it ends with an error; empty without."""
    try:
        lines = (folder / LOG_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    told = [line for line in lines if line and not line.startswith(("\t", " "))]
    causes = [line for line in told if _CAUSE.search(line)]
    return "; ".join(dict.fromkeys(line.strip()[:300] for line in (*causes[-1:], *told[-1:])))


_CAUSE = re.compile(r"^Caused by: |incompatible|unresponsive|removed our application")


def _await_executors(context: SparkContext, folder: Path) -> None:
    """Returns when executors have registered and no further one comes. Raises DataError where none does in time."""
    end = time.monotonic() + REGISTER_S
    found, since = 0, time.monotonic()
    while not found or time.monotonic() - since < SETTLED_S:
        try:
            scheduler = context._jsc.sc()  # noqa: SLF001 - PySpark has no other way to count executors
            stopped, now = scheduler.isStopped(), scheduler.getExecutorMemoryStatus().size() - 1
        except Py4JError:  # it was stopped just now
            stopped, now = True, 0
        if stopped:
            raise DataError(no_answer(str(context.master), folder))
        if now != found:
            found, since = now, time.monotonic()
        if time.monotonic() > end and not found:
            memory = context.getConf().get("spark.executor.memory", "1g")
            raise DataError(
                f"--spark-master {context.master}: no executor has registered within {REGISTER_S:.0f} s: no worker is "
                f"alive, has a free core and {memory} of memory, and reaches this host; Spark says: "
                f"{logged(folder) or 'nothing'}"
            )
        time.sleep(0.1)


def no_answer(master: str, folder: Path, error: str = "") -> str:
    """The text of a refusal where a master does not register this application; `error`: of Spark, if there is one."""
    return (
        f"--spark-master {master}: it does not take this application: it is no Spark master, or one of another version "
        f"than {pyspark.__version__}; Spark says: {logged(folder) or innermost(error) or 'nothing'}"
    )


def _reports(context: SparkContext, wanted: Sequence[tuple[str, int]]) -> list[_Report]:
    """A report for each of as many tasks as reach every core of every executor that is idle now."""
    tasks = 2 * context.defaultParallelism
    limit = threading.Timer(ANSWER_S, context.cancelAllJobs)
    limit.daemon = True
    limit.start()
    try:
        found: list[_Report] = context.parallelize(range(tasks), tasks).mapPartitions(_look(wanted)).collect()
    except (PySparkException, Py4JError) as error:
        raise DataError(
            f"--spark-master {context.master}: its executors cannot run this analysis, or not within {ANSWER_S:.0f} s: "
            f"{innermost(str(error))}; every host needs Spark {pyspark.__version__} and, as {context.pythonExec} (the "
            f"environment variable PYSPARK_PYTHON names another), Python {platform.python_version()} with the packages "
            "of requirements.txt"
        ) from error
    finally:
        limit.cancel()
    return found


def _look(wanted: Sequence[tuple[str, int]]) -> Callable[[Iterable[int]], Iterator[_Report]]:
    """For mapPartitions: what an executor has; `wanted`: paths and sizes in bytes."""

    def look(_: Iterable[int]) -> Iterator[_Report]:
        for name in NEEDED:
            importlib.import_module(name)
        unseen = [reason for path, size in wanted if (reason := unreadable(path, size))]
        yield platform.node(), platform.python_version(), pyspark.__version__, unseen

    return look


def unreadable(path: str, size: int) -> str:
    """Why a file cannot be read here as the one of this size; empty where it can."""
    try:
        with Path(path).open("rb") as file:
            here = file.seek(0, 2)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return "" if here == size else f"{path} has {here} bytes instead of {size}"


def innermost(text: str) -> str:
    """The line of a Spark error that tells its cause: the exception of a Python process, or of the first lost task."""
    lines = [line.strip().removeprefix(": ") for line in text.splitlines()]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line) and "SparkException" not in line]
    lost = [line for line in lines if "most recent failure" in line]
    return next((line for line in (*raised, *lost, *lines) if line), text)[-500:]


def log4j(folder: Path) -> str:
    """The log configuration of a session with this folder."""
    return LOG4J.format(file=folder / LOG_FILE)
