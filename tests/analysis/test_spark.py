"""The Spark session of an analysis: what it shows, and its end; and a command from its words to its exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from analysis import cluster, spark, spark_daemon
from tests.conftest import ROOT
from tests.support import run_directories as rd
from workloads.jvm_variables import JVM_VARIABLES

#: A JVM that ends at once, as one does that is told what it does not know.
REFUSING = """#!/bin/sh
echo "Error: Could not create the Java Virtual Machine." >&2
echo "seen: $_JAVA_OPTIONS$JDK_JAVA_OPTIONS$JAVA_TOOL_OPTIONS." >&2
exit 1
"""

#: An analysis by such a JVM, with the user's settings for others.
STARTING = """
import os
from analysis import spark
from analysis.errors import DataError
try:
    with spark.session("local[1]"):
        pass
except DataError as error:
    print(error)
print(os.environ["_JAVA_OPTIONS"])
"""


def test_a_jvm_that_does_not_start_is_quoted(tmp_path):
    """With its own words; it gets none of the options that the environment has for every JVM, which stay there."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(REFUSING)
    java.chmod(0o755)
    options = dict.fromkeys(JVM_VARIABLES, "-Xmx200m")
    done = subprocess.run(
        [sys.executable, "-c", STARTING],
        cwd=ROOT,
        env={**os.environ, "JAVA_HOME": str(tmp_path), **options},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    said, kept = done.stdout.splitlines()
    assert (
        "Spark does not start on local[1]: its JVM says: Error: Could not create the Java Virtual Machine.; seen: ."
        in (said)
    )
    assert kept == "-Xmx200m"


def test_what_spark_refuses_is_its_innermost_reason():
    """A JVM that runs and is too small: Py4J puts its own line before the reason."""
    text = (
        "An error occurred while calling None.JavaSparkContext.\n: org.Illegal: [INVALID_DRIVER_MEMORY] 200 MB\n\tat x"
    )

    assert "INVALID_DRIVER_MEMORY" in cluster.innermost(text.replace("org.Illegal", "org.IllegalException"))


class Gone:
    """A session whose JVM was ended from outside."""

    def stop(self):
        raise OSError("connection refused")


def test_what_ends_an_analysis_is_not_hidden_by_the_end_of_spark(monkeypatch):
    """A signal to all processes ends the JVM as well: the interruption is told, not that the JVM is gone."""
    monkeypatch.setattr(spark, "_start", lambda *_: Gone())
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)

    with pytest.raises(KeyboardInterrupt, match="SIGTERM"), spark.session():
        raise KeyboardInterrupt("SIGTERM")


def test_a_session_that_cannot_be_stopped_is_an_error(monkeypatch):
    monkeypatch.setattr(spark, "_start", lambda *_: Gone())
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)

    with pytest.raises(OSError, match="refused"), spark.session():
        pass


def test_spark_s_processes_use_what_is_compiled():
    """PySpark as it is installed, where Spark's archive is its own; the archive of another one stays."""
    home = Path(pyspark.__file__).parent
    archive = str(home / "python" / "lib" / spark_daemon.ARCHIVE)

    assert spark_daemon.without_archive([archive, *sys.path]) == sys.path
    for paths in (["/opt/spark/python/lib/pyspark.zip", *sys.path], [archive]):
        assert spark_daemon.without_archive(paths) == paths


#: A user's command, and beside it an error of the JVM.
PROGRAM = """
import sys
from pathlib import Path
from analysis import spark
from analysis.__main__ import main
with spark.session("local[1]", [file for file in Path(sys.argv[2]).rglob("*") if file.is_file()]) as session:
    session.conf.set("spark.sql.shuffle.partitions", "1")
    code = main(sys.argv[1:])
    session._jvm.java.lang.System.err.println("an error of the JVM")
sys.exit(code)
"""


def test_a_command_says_nothing_of_spark(tmp_path):
    """A verdict that is not valid is the exit code, the result is on standard output, and what Spark says of its
    modules and Java is nowhere; what else the JVM writes to its standard error is shown."""
    run = rd.measured_run([(0, 1), (0, 2)], layouts=1, rounds=1, anchors=0)
    run.tables["deliveries"][0]["last_seq"] -= 1
    arguments = ("audit", str(run.write(tmp_path / "run")), "--json", "--strict", "--recompute")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["messages"]["lost"] == 1
    assert done.stderr.splitlines()[1:] == ["an error of the JVM"]  # after that the analysis is computed anew
