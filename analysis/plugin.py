"""The analysing half of the pytest plugin: a last item, `verdict[run]`, the closing screen and the report.

Its only link to the measuring half is the plugin registered under the name `measurement`, whose `run_directory` is
the finished directory of this session, or None. Spark and statsmodels are imported when the item runs, after the last
broker has stopped; never during collection or measurement.
"""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from analysis.errors import DataError
from analysis.results import Finding, code_of, worst
from workloads.command_line import analysing
from workloads.exit_codes import ExitCode
from workloads.gate import CORRECTNESS
from workloads.schema import RunKind
from workloads.session_names import GROUP, GROUP_TEXT, MARKERS, MEASUREMENT, PLANNER
from workloads.status import VerdictKind

#: What the screen and the page of a run import.
_OF_A_PAGE = (
    "analysis.throughput.closing_screen",
    "analysis.report.throughput_page",
    "matplotlib.backends.backend_svg",
)

_TEXT = pytest.StashKey[str]()

_GATE = pytest.StashKey[Any]()

#: Set where the run could not be judged: an item has said so.
_REFUSED = pytest.StashKey[bool]()


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

    def __init__(self, reasons: str, exit_code: ExitCode) -> None:
        super().__init__(reasons)
        self.exit_code = exit_code


def not_judged(reason: str, *, follows: bool = False) -> Any:
    """There is no verdict: raised in an item's set-up, so that pytest counts an error and not a failure.

    follows: something else was an error before, and is the cause
    """
    error: Any = pytest.fail.Exception(reason, pytrace=False)
    error.follows = follows
    return error


def pytest_addoption(parser: pytest.Parser) -> None:
    """pytest's own --strict (and its ini key `strict`) includes the verdict; --strict-verdict is the verdict only."""
    group = parser.getgroup(GROUP, GROUP_TEXT)
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
    half = config.pluginmanager.get_plugin(MEASUREMENT)
    folder: Path | None = getattr(half, "run_directory", None)
    if folder is not None and _flag(config, "no_analysis") and not getattr(half, "cut_short", ""):
        audited = getattr(half, "audited", "")
        terminalreporter.write_line(f"recorded, not judged{audited and f': {audited}'}")
        terminalreporter.write_line(f"run directory: {_near(folder)}")


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on a run, as the last item needs it."""

    verdict: VerdictKind
    findings: tuple[Finding, ...]
    #: the exit code where the verdict fails its item
    code: ExitCode
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

    def note(self, verdict: object, folder: Path | None) -> None:
        """Adds the verdict and the run directory to the item's properties, for JUnit."""
        self.user_properties += [("verdict", str(verdict)), ("run_directory", str(folder))]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A verdict is shown by its message, without a traceback."""
        if isinstance(excinfo.value, VerdictError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def setup(self) -> None:
        """Analyses the run, once in a session; without a verdict it is an error of the item, which is said once."""
        stash = self.config.stash
        if reason := getattr(self.config.pluginmanager.get_plugin(MEASUREMENT), "cut_short", ""):
            reading = analysing(f"summary --partial {_near(self.folder) if self.folder else ''}")
            why = "no verdict, since the run is not complete; what is complete in it"
            stash[_TEXT] = f"{why}:\n  {_programs()}{reading}"
            raise not_judged(reason, follows=True)
        if _REFUSED in stash:
            raise not_judged("the run could not be judged", follows=True)
        try:
            self.judge()
        except DataError as error:
            kept = f"\nwhat was measured is kept in {_near(self.folder)}" if self.folder else ""
            raise not_judged(f"{error}{kept}") from None
        finally:
            if not self.judged:
                stash[_REFUSED] = True

    @abstractmethod
    def judge(self) -> None:
        """Analyses the run. Raises DataError where that is not possible."""

    @property
    @abstractmethod
    def judged(self) -> bool:
        """Whether there is a result."""

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class VerdictItem(RunItem):
    """Analyses the run directory of this session; fails where the audit of a workload failed, and with --strict on its
    verdict."""

    _found: RunVerdict | None = None

    @property
    def judged(self) -> bool:
        return self._found is not None

    def judge(self) -> None:
        if self.folder is None:
            pytest.skip("nothing was measured")
        self._found = _judged(self.folder, self.config.stash)

    def runtest(self) -> None:
        if self._found is None or self.folder is None:
            raise TypeError("the item was not set up")
        found = self._found
        self.note(found.verdict, self.folder)
        if found.failed or (self.strict and found.verdict != VerdictKind.VALID):
            raise VerdictError(_reasons(found, self.folder), found.code)


class GateItem(RunItem):
    """The judgement of a family of a gate, or of the correctness of all deliveries.

    The first of these items analyses the run.
    """

    @property
    def judged(self) -> bool:
        return _GATE in self.config.stash

    def judge(self) -> None:
        if self.folder is None:
            raise DataError("no pair of lives was measured: a gate that measured nothing has not passed")
        if not self.judged:
            _gate(self.folder, self.config)

    def runtest(self) -> None:
        result = self.config.stash[_GATE]
        self.note(result.verdict, self.folder)
        from analysis.gate import items, verdict  # noqa: PLC0415 - imported with the analysis

        family = self.name.removeprefix("gate[").removesuffix("]")
        if reason := result.not_applicable.get(family):
            pytest.skip(f"not applicable: {reason}")
        if why := items.failure(result, family, strict=self.strict):
            raise VerdictError(why, verdict.EXIT_CODES[result.verdict])


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
    """Judges a gate: puts the result and its text into the stash, and what a CI system asks for into its files.

    The result comes first, so that a file that cannot be written fails one item, and nothing is judged twice.
    """
    with _library_warnings():
        from analysis import spark  # noqa: PLC0415
        from analysis.gate import answers, calibration, ci_files, console, history  # noqa: PLC0415
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
        pages: list[Path] = []

        def page() -> Path:
            pages.append(gate_page.write(result, manifest, past))
            return pages[0]

        (report,) = _written(page)
        config.stash[_TEXT] += f"\nreport: {report}\nrun directory: {_near(folder)}"
        try:
            ci_files.write(result, pages[0] if pages else None)
        except OSError as error:
            config.stash[_TEXT] += f"\nfor the CI system: not written: {error}"


def _throughput(folder: Path, stash: pytest.Stash) -> RunVerdict:
    from analysis import spark  # noqa: PLC0415
    from analysis.run_description import LATEST  # noqa: PLC0415
    from analysis.throughput import answers  # noqa: PLC0415

    (result,) = answers.analysed([folder], master=spark.DEFAULT_MASTER, meanwhile=_OF_A_PAGE, tell=_unsaid)
    from analysis.report import throughput_page  # noqa: PLC0415
    from analysis.throughput import closing_screen  # noqa: PLC0415
    from analysis.throughput.overview import overview  # noqa: PLC0415

    shown, run = _near(folder), "" if LATEST.resolve() == folder.resolve() else _near(folder)
    screen = partial(closing_screen.text, overview(result), folder=shown, run=run, prefix=_programs())
    stash[_TEXT] = screen(report=None)
    (page,) = _written(lambda: throughput_page.write([result]))
    stash[_TEXT] = screen(report=page)
    code = code_of(result.verdict, audit_failed=result.audit_failed)
    return RunVerdict(result.verdict, tuple(result.every_finding), code)


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
    found, failed = worst(result.verdict for result in results), any(result.audit_failed for result in results)
    return RunVerdict(found, findings, code_of(found, audit_failed=failed), failed=failed)


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


def _faults(folder: Path, stash: pytest.Stash) -> RunVerdict:
    from analysis.faults import console, pipeline  # noqa: PLC0415
    from analysis.report import faults_page  # noqa: PLC0415

    results = pipeline.analysed([folder])
    stash[_TEXT] = console.summary(results)
    (page,) = _written(lambda: faults_page.write(results))
    stash[_TEXT] += f"\nreport: {page}\nrun directory: {_near(folder)}"
    findings = tuple(finding for result in results for finding in result.findings)
    found, failed = worst(result.verdict for result in results), any(result.audit_failed for result in results)
    return RunVerdict(found, findings, code_of(found, audit_failed=failed), failed=failed)


_KINDS = {RunKind.THROUGHPUT: _throughput, RunKind.WORKLOAD: _workload, RunKind.FAULTS: _faults}


def _reasons(judged: RunVerdict, folder: Path) -> str:
    serious = [finding for finding in judged.findings if finding.consequence != VerdictKind.VALID]
    lines = [f"- {finding.reason}" for finding in serious]
    return "\n".join([f"verdict: {judged.verdict}", *lines, f"run directory: {folder}"])
