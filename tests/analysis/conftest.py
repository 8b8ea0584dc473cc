"""One Spark session for all tests of the analysis; whatever asks for a session then gets this one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.spark import session
from tests.support import run_directories as rd


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session("local[2]") as spark:
        yield spark


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A folder with a valid run, one that lost a message, and one that was killed."""
    folder = tmp_path_factory.mktemp("runs")
    rd.measured_run().write(folder / "valid")
    lossy = rd.measured_run()
    lossy.tables["deliveries"][0]["last_seq"] -= 1
    lossy.write(folder / "invalid")
    killed = rd.measured_run()
    del killed.manifest["outcome"]
    killed.write(folder / "killed")
    return folder
