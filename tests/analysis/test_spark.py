"""The Spark session of an analysis, at its end."""

import pytest
from pyspark.sql import SparkSession

from analysis import spark


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
