"""The Spark session of an analysis: nothing is left on disk, and of a local one nothing listens beyond loopback."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis import cluster
from analysis.errors import DataError
from analysis.frames import is_small
from workloads.jvm_variables import JVM_VARIABLES

DEFAULT_MASTER = "local[*]"

#: Rows per batch passed to Python; large, so that numpy is efficient.
BATCH_ROWS = 1_000_000

#: Log configuration for the JVM's start, to which Spark's log level does not apply yet.
LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""


#: A line that the JVM prints since Spark asks it for a module that is not final; it says nothing to a user.
REMARK = b"WARNING: Using incubator modules"

#: Of a JVM that does not start: how many lines of it are quoted, and how long they are awaited.
MOST_LINES, LAST_WORDS_S = 10, 1.0

#: For a small record: neither does Spark make classes of its queries, nor has the JVM its second compiler and its
#: threads that collect garbage; and it collects none only because it has loaded many classes.
SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m -XX:NewRatio=1"
SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.defaultJavaOptions": SMALL_JVM,
}


def options(folder: Path, log4j_text: str = LOG4J) -> dict[str, str]:
    """The settings of every session; scratch files are written to `folder`."""
    log4j = folder / "log4j2.properties"
    log4j.write_text(log4j_text, encoding="utf-8")
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
        # Adaptive re-planning costs more than it saves here: the queries are many, and what they shuffle is known.
        "spark.sql.adaptive.enabled": "false",
    }


def local_options(files: Iterable[Path]) -> dict[str, str]:
    """Settings for a local master only: a cluster must reach the driver, and has partitions for its size.

    files: what is to be read
    """
    return (SMALL if is_small(files) else {}) | {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        # Functions that run in Spark's Python processes are imported from the same place as this package.
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    }


@contextmanager
def session(
    master: str = DEFAULT_MASTER, files: Iterable[Path] = (), meanwhile: Iterable[str] = ()
) -> Iterator[SparkSession]:
    """A session on `master`, stopped at the end; one that is already active is used and left running.

    files: what is to be read; a small record is not worth compiling for, and a cluster whose executors do not see them
        is refused
    meanwhile: modules that are needed later, to be imported while Spark's JVM works and this process waits

    Raises DataError where Spark cannot be started, Java being the usual reason, or a cluster cannot do the analysis.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    # The interpreter of Spark's Python processes; the default is the first `python3` on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _imported(meanwhile), tempfile.TemporaryDirectory(prefix="analysis-", ignore_cleanup_errors=True) as folder:
        spark = _start(master, Path(folder), files)
        try:
            if cluster.is_cluster(master):
                cluster.equip(spark, Path(folder), files)
            yield spark
        except BaseException:
            # A signal to the process group, as of `timeout`, ends the JVM too: its stop must not hide that.
            with suppress(Exception):
                spark.stop()
            raise
        spark.stop()


@contextmanager
def _imported(modules: Iterable[str]) -> Iterator[None]:
    """Imports modules meanwhile; what is wrong with one is raised where it is imported next."""

    def load() -> None:
        for module in modules:
            with suppress(Exception):
                import_module(module)

    loading = Thread(target=load, daemon=True)
    loading.start()
    try:
        yield
    finally:
        loading.join()


@contextmanager
def _jvm_started() -> Iterator[Callable[[], str]]:
    """A JVM that is started meanwhile takes no options from the environment, and writes its standard error here without
    REMARK, as long as it lives.

    Yields a function that returns what it has said; of one that has ended, all of it, up to MOST_LINES.
    """
    reader, writer = os.pipe()
    own = os.dup(2)
    said: deque[str] = deque(maxlen=MOST_LINES)
    copying = Thread(target=_copied, args=(reader, own, said), daemon=True)
    copying.start()

    def words() -> str:
        copying.join(LAST_WORDS_S)
        return "; ".join(said)

    kept = {name: os.environ.pop(name) for name in JVM_VARIABLES if name in os.environ}
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield words
    finally:
        os.dup2(own, 2)
        os.environ.update(kept)


def _copied(reader: int, writer: int, said: deque[str]) -> None:
    """Copies lines until the other end is closed."""
    with open(reader, "rb") as lines, open(writer, "wb", buffering=0) as copy:
        for line in lines:
            if not line.startswith(REMARK):
                copy.write(line)
                said.append(line.decode(errors="replace").strip())


def _start(master: str, folder: Path, files: Iterable[Path]) -> SparkSession:
    cluster.check_master(master)
    if cluster.is_cluster(master):
        settings = options(folder, cluster.log4j(folder)) | cluster.options(master)
    else:
        settings = options(folder) | local_options(files)
    builder = SparkSession.builder.appName("analysis").master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    words: Callable[[], str] = str
    try:
        with _jvm_started() as words:
            return builder.getOrCreate()
    except Py4JError as error:  # of the JVM, which therefore runs
        if not cluster.is_cluster(master):
            raise DataError(f"Spark does not start on {master}: {cluster.innermost(str(error))}") from error
        raise DataError(cluster.no_answer(master, folder, str(error))) from error
    except (PySparkException, OSError) as error:
        why = f"its JVM says: {said}" if (said := words()) else f"{error}"
        raise DataError(
            f"Spark does not start on {master}: {why}. It needs Java 17 or newer, see `java -version` and JAVA_HOME"
        ) from error
