"""The Spark session of an analysis: what it shows, and its end; and a command from its words to its exit code."""

import json
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


#: A user's command, and beside it an error of the JVM.
PROGRAM = """
import sys
from analysis import spark
from analysis.__main__ import main
with spark.session("local[1]") as session:
    code = main(sys.argv[1:])
    session._jvm.java.lang.System.err.println("an error of the JVM")
sys.exit(code)
"""


def test_a_command_says_nothing_of_spark(runs):
    """A verdict that is not valid is the exit code, the result is on standard output, and what Spark says of its
    modules and Java is nowhere; what else the JVM writes to its standard error is shown."""
    run = str(runs / "invalid")
    arguments = ("audit", run, "--json", "--strict", "--recompute")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["messages"]["lost"] == 1
    assert sorted(done.stderr.splitlines()) == sorted([f"{run}: computed anew: --recompute", "an error of the JVM"])
