"""The Spark session of an analysis: what it shows, and its end."""

import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

from analysis import spark
from tests.conftest import ROOT


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


SAYS = """
from analysis import spark
with spark.session("local[1]") as session:
    session.range(3).count()
    session._jvm.java.lang.System.err.println("an error of the JVM")
"""


def test_spark_says_nothing_of_itself():
    """No remark on its modules, whatever Java says of them; what else the JVM writes to its standard error is shown."""
    done = subprocess.run(
        [sys.executable, "-c", SAYS], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.splitlines() == ["an error of the JVM"]
