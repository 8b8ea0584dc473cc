"""One Spark session for all tests of the analysis; whatever asks for a session then gets this one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.spark import session
from analysis.throughput import pipeline
from tests.support import run_directories as rd


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session("local[2]") as spark:
        yield spark


@pytest.fixture(scope="module")
def analysed_once(spark) -> Iterator[None]:
    """Each run directory is analysed once: the tests of a module differ in what is made of the answer."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("analysed", "audited"):
            patch.setattr(pipeline, name, _remembered(getattr(pipeline, name)))
        yield


def _remembered(analyse: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which asks Spark once per question; a refusal is asked for anew."""
    said: dict[object, Any] = {}

    def ask(paths: list[Path], **reading: Any) -> Any:
        question = (*(path.resolve() for path in paths), *reading.items())
        if question not in said:
            said[question] = analyse(paths, **reading)
        return said[question]

    return ask


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
