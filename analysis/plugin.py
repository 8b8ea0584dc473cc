"""The analysing half of the pytest plugin: a last item, `verdict[run]`, the closing screen and the report.

Its only link to the measuring half is the plugin registered under the name `measurement`, whose `run_directory` is
the finished directory of this session, or None. Spark and statsmodels are imported when the item runs, after the last
broker has stopped; never during collection or measurement.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from analysis.errors import DataError
from analysis.results import Finding, worst
from workloads.gate import CORRECTNESS
from workloads.schema import RunKind
from workloads.status import VerdictKind

#: Group of `--help` for the options of both halves.
GROUP = "brokerbench"

#: The name under which the measuring half is registered.
MEASUREMENT = "measurement"

#: The name under which the measuring half finds the plugin that says how much must be measured.
PLANNER = "planner"

#: Markers of the items that measure: throughput study and business workloads.
MARKERS = ("experiment", "workload")

#: Environment variable in which GitHub Actions names a file for Markdown.
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"

_TEXT = pytest.StashKey[str]()

_GATE = pytest.StashKey[Any]()


class Planner:
    """Says how much must be measured; called by the measuring half. What computes it is imported on the first call."""

    def look(self, *args: Any, **kwargs: Any) -> tuple[bool, str]:
        """Whether a start needs more layouts, as in `analysis.planning`."""
        from analysis import planning  # noqa: PLC0415 - numpy and scipy, in no other session

        return planning.look(*args, **kwargs)

    def pairs_needed(self, *args: Any, **kwargs: Any) -> tuple[int, str]:
        """The number of further pairs of lives of a gate, as in `analysis.planning`."""
        from analysis import planning  # noqa: PLC0415 - numpy and scipy, in no other session

        return planning.pairs_needed(*args, **kwargs)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Planner(), PLANNER)


class VerdictError(Exception):
    """A verdict that fails its item; the message has the reasons."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """pytest's own --strict (and its ini key `strict`) includes the verdict; --strict-verdict is the verdict only."""
    group = parser.getgroup(GROUP, "message broker benchmarks")
    for name, text in (
        ("strict-verdict", "fail the last item where the run's verdict is not `valid`; --strict includes it"),
        ("no-analysis", "record only: no verdict, no Spark"),
    ):
        group.addoption(f"--{name}", action="store_true", default=None, help=text)
        parser.addini(name.replace("-", "_"), text, type="bool", default=None)
    text = "gate: FILE.jsonl to which the ratios are appended, one line per gate; the report draws them over time"
    group.addoption("--history", metavar="FILE", type=Path, default=None, help=text)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Appends the verdict after all other plugins have selected and ordered items, so that -k does not affect it."""
    yield
    measured = any(item.get_closest_marker(name) for item in items for name in MARKERS)
    families = getattr(config.pluginmanager.get_plugin(MEASUREMENT), "families", ())
    if measured and families:
        items += [
            GateItem.from_parent(session, name=f"gate[{name}]", nodeid=f"gate[{name}]")
            for name in (CORRECTNESS, *families)
        ]
    elif measured and not _flag(config, "no_analysis"):
        items.append(VerdictItem.from_parent(session, name="verdict[run]", nodeid="verdict[run]"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuses a gate without its verdict; here, since pytest calls this hook after an error of the one above as well,
    and the measuring half begins in it."""
    if any(isinstance(item, GateItem) for item in session.items) and _flag(session.config, "no_analysis"):
        raise pytest.UsageError("--no-analysis: a gate is its verdict; drop --baseline to record only")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _TEXT in config.stash and not config.option.collectonly:
        terminalreporter.section("what was measured")
        terminalreporter.write_line(config.stash[_TEXT])


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on a run, as the last item needs it."""

    verdict: VerdictKind
    findings: tuple[Finding, ...]
    #: a test of a workload's audit failed, which is a failure with any options
    failed: bool = False


class RunItem(pytest.Item):
    """An item about the run of this session, after the last broker has stopped."""

    @property
    def folder(self) -> Path | None:
        """The finished run directory; None if nothing was measured."""
        found: Path | None = getattr(self.config.pluginmanager.get_plugin(MEASUREMENT), "run_directory", None)
        return found

    @property
    def strict(self) -> bool:
        """Whether a verdict that is no failure by itself fails the item."""
        return _flag(self.config, "strict_verdict") or _flag(self.config, "strict")

    def note(self, verdict: object, folder: Path) -> None:
        """Adds the verdict and the run directory to the item's properties, for JUnit."""
        self.user_properties += [("verdict", str(verdict)), ("run_directory", str(folder))]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A refusal or a verdict is shown by its message, without a traceback."""
        if isinstance(excinfo.value, (DataError, VerdictError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class VerdictItem(RunItem):
    """Analyses the run directory of this session; fails where it cannot be read, where the audit of a workload failed,
    and with --strict on its verdict."""

    def runtest(self) -> None:
        folder = self.folder
        if folder is None:
            pytest.skip("nothing was measured")
        judged = _judged(folder, self.config.stash)
        self.note(judged.verdict, folder)
        if judged.failed or (self.strict and judged.verdict != VerdictKind.VALID):
            raise VerdictError(_reasons(judged, folder))


class GateItem(RunItem):
    """The judgement of a family of a gate, or of the correctness of all deliveries.

    The first of these items analyses the run.
    """

    def runtest(self) -> None:
        folder = self.folder
        if folder is None:
            raise VerdictError("no pair of lives was measured: a gate that measured nothing has not passed")
        if _GATE not in self.config.stash:
            _gate(folder, self.config)
        result = self.config.stash[_GATE]
        self.note(result.verdict, folder)
        from analysis.gate import items  # noqa: PLC0415 - imported with the analysis

        family = self.name.removeprefix("gate[").removesuffix("]")
        if why := items.failure(result, family, strict=self.strict):
            raise VerdictError(why)


def _flag(config: pytest.Config, name: str) -> bool:
    given = getattr(config.option, name, None)
    return bool(config.getini(name) if given is None else given)


def _judged(folder: Path, stash: pytest.Stash) -> RunVerdict:
    """Analyses the run. The text is put into the stash before the report is written, and once more with its path."""
    with _library_warnings():
        # Spark and matplotlib: imported only after all measurements.
        from analysis.run_description import kind_of  # noqa: PLC0415

        return _KINDS[kind_of([folder])](folder, stash)


@contextmanager
def _library_warnings() -> Iterator[None]:
    """Warnings of libraries are shown by pytest, whatever the filters of the session, and never fail an analysis;
    deprecations do not concern the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def _written(write: Callable[[], Path | tuple[Path, ...]]) -> tuple[str, ...]:
    """The pages written, or the reason why none was: the result does not depend on it."""
    try:
        written = write()
    except Exception as error:  # noqa: BLE001 - a page that fails must not cost the verdict
        reason = error if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        return (f"not written: {reason}",)
    return tuple(map(_near, written if isinstance(written, tuple) else (written,)))


def _gate(folder: Path, config: pytest.Config) -> None:
    """Judges a gate: puts the result and its text into the stash, its Markdown where the CI system asks for it.

    The result comes first, so that a file that cannot be written fails one item, and nothing is judged twice.
    """
    with _library_warnings():
        from analysis import spark  # noqa: PLC0415
        from analysis.gate import answers, calibration, console, history  # noqa: PLC0415
        from analysis.report import gate_page  # noqa: PLC0415
        from analysis.run_description import manifests  # noqa: PLC0415

        (result,) = answers.judged([folder], master=spark.DEFAULT_MASTER, tell=_unsaid)
        config.stash[_GATE], config.stash[_TEXT] = result, console.text([result])
        file = config.getoption("history")
        if file is not None:
            history.append(file, result)
        ((manifest, _),) = manifests([folder])
        if result.rules.calibrate and not result.overriding:
            calibration.calibrated(result, manifest, folder.parent)
        past = history.read(file) if file is not None else ()
        (report,) = _written(lambda: gate_page.write(result, manifest, past))
        config.stash[_TEXT] += f"\nreport: {report}\nrun directory: {_near(folder)}"
        if summary := os.environ.get(STEP_SUMMARY):
            with Path(summary).open("a", encoding="utf-8") as page:
                page.write(console.markdown([result]) + "\n")


def _throughput(folder: Path, stash: pytest.Stash) -> RunVerdict:
    from analysis import spark  # noqa: PLC0415
    from analysis.report import throughput_page  # noqa: PLC0415
    from analysis.run_description import LATEST  # noqa: PLC0415
    from analysis.throughput import answers, closing_screen  # noqa: PLC0415
    from analysis.throughput.overview import overview  # noqa: PLC0415

    (result,) = answers.analysed([folder], master=spark.DEFAULT_MASTER, tell=_unsaid)
    shown, run = _near(folder), "" if LATEST.resolve() == folder.resolve() else _near(folder)
    screen = partial(closing_screen.text, overview(result), folder=shown, run=run, prefix=_programs())
    stash[_TEXT] = screen(report=None)
    (page,) = _written(lambda: throughput_page.write([result]))
    stash[_TEXT] = screen(report=page)
    return RunVerdict(result.verdict, tuple(result.every_finding))


def _workload(folder: Path, stash: pytest.Stash) -> RunVerdict:
    from analysis import spark  # noqa: PLC0415
    from analysis.report import scenario_page  # noqa: PLC0415
    from analysis.scenario import answers, console, disclosure  # noqa: PLC0415

    results = answers.analysed([folder], master=spark.DEFAULT_MASTER, tell=_unsaid)
    stash[_TEXT] = console.summary(results)
    pages = {"report": lambda: scenario_page.write(results), "disclosure": lambda: disclosure.write(results)}
    for name, write in pages.items():
        stash[_TEXT] += "".join(f"\n{name}: {page}" for page in _written(write))
    findings = tuple(finding for result in results for finding in result.findings)
    return RunVerdict(
        worst(result.verdict for result in results), findings, failed=any(not result.passes for result in results)
    )


def _unsaid(_line: str) -> None:
    """Nobody asks whether the analysis of the session itself is new."""


def _near(path: Path) -> str:
    """The path relative to the working directory, where it is below it."""
    return str(path.resolve().relative_to(Path.cwd()) if path.resolve().is_relative_to(Path.cwd()) else path)


def _programs() -> str:
    """Prefix of `python` and `pytest` in a command: the directory of this interpreter, where it is below the working
    directory."""
    folder = Path(sys.executable).parent
    return f"{folder.relative_to(Path.cwd())}/" if folder.is_relative_to(Path.cwd()) else ""


_KINDS = {RunKind.THROUGHPUT: _throughput, RunKind.WORKLOAD: _workload}


def _reasons(judged: RunVerdict, folder: Path) -> str:
    serious = [finding for finding in judged.findings if finding.consequence != VerdictKind.VALID]
    lines = [f"- {finding.reason}" for finding in serious]
    return "\n".join([f"verdict: {judged.verdict}", *lines, f"run directory: {folder}"])
