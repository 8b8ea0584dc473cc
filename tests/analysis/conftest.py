"""One Spark session for all tests of the analysis that need one; whatever asks for a session then gets this one.

What is analysed or drawn is so once, where tests differ in what is made of it only, and without Spark, which takes
seconds for a run; a page takes a second or more for its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.report import plot_svg
from analysis.report.figures import Picture
from analysis.spark import session
from analysis.throughput import pipeline
from tests.support import run_directories as rd
from tests.support import scenario_runs, without_spark
from tests.support.jvm_errors import JvmErrors, standard_error_to
from workloads.registry import WORKLOADS


@pytest.fixture(scope="session")
def jvm_errors(tmp_path_factory) -> JvmErrors:
    """What the JVM of `spark` writes to the standard error of a user's command."""
    return JvmErrors(tmp_path_factory.mktemp("jvm") / "stderr")


@pytest.fixture(scope="session")
def spark(jvm_errors) -> Iterator[SparkSession]:
    """A session that cuts nothing in parts, as most tables have a few rows; test_audit.py and test_partitions.py do.
    Neither its start nor its end is seen by a user."""
    with ExitStack() as stack:
        with standard_error_to(jvm_errors.file):
            spark = stack.enter_context(session("local[2]"))
        jvm = spark._jvm
        assert jvm_errors.lines(jvm) == []
        for name in ("spark.sql.shuffle.partitions", "spark.sql.files.minPartitionNum"):
            spark.conf.set(name, "1")
        yield spark
        jvm_errors.lines(jvm)  # of tests
    assert jvm_errors.lines(jvm) == []


@pytest.fixture(scope="session", autouse=True)
def _made_models() -> Iterator[None]:
    """The models of recorded runs are found again, also those that no case makes."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("specjms2007", "jms2009ps"):
            patch.setitem(WORKLOADS, name, scenario_runs.with_made_models(WORKLOADS[name]))
        yield


@pytest.fixture
def undrawn(monkeypatch) -> None:
    """Figures are left out of pages of which only the text is looked at."""
    monkeypatch.setattr(plot_svg, "svg", lambda _picture, _salt: "")


class Answers:
    """The results of run directories that were analysed: of those that were not, all in one question."""

    def __init__(self, analyse: Callable[..., tuple[Any, ...]]) -> None:
        self._analyse, self._known = analyse, {}

    def __call__(self, paths: list[Path], *, master: str, partial: bool = False, **_: Any) -> tuple[Any, ...]:
        questions = [(path.resolve(), partial) for path in paths]
        new = [path for path, question in zip(paths, questions, strict=True) if question not in self._known]
        if new:
            found = self._analyse(new, master=master, partial=partial)
            self._known |= {(path.resolve(), partial): result for path, result in zip(new, found, strict=True)}
        return tuple(self._known[question] for question in questions)


@pytest.fixture(scope="session")
def _answers() -> Answers:
    return Answers(without_spark.analysed)


@pytest.fixture
def analysed_once(_answers, monkeypatch) -> None:
    """Each run directory is analysed once, without Spark: the tests differ in what is made of the answer."""
    monkeypatch.setattr(pipeline, "analysed", _answers)


@pytest.fixture(scope="session")
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


@pytest.fixture(autouse=True, scope="session")
def drawn_once() -> Iterator[Callable[..., str]]:
    """A figure that stands on several pages is drawn for the first of them; what draws it always is given."""
    draw, drawn = plot_svg.svg, {}

    def once(picture: Picture, salt: str) -> str:
        key = repr(picture), salt
        if key not in drawn:
            drawn[key] = draw(picture, salt)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plot_svg, "svg", once)
        yield draw
