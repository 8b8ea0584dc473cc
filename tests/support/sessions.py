"""pytest as a user runs it, in a process of its own or in this one, and the analysis behind it."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from analysis.__main__ import main
from fixtures.session import broker_start
from tests.conftest import ROOT
from tests.support.plugins_known import plugins_known
from workloads.schedule import Slot

#: Far more than anything here takes, also beside other work.
LIMIT_S = 900
PYTEST = (sys.executable, "-m", "pytest", "-p", "tests.support.quick_session")
#: Plugins that a session does not need, each as slow to load as all else together, or not without effect on this one.
WITHOUT = ("-p", "no:hypothesispytest")


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    output: str
    results: Path
    took_s: float

    @property
    def run(self) -> Path:
        """Its run directory, the only one."""
        (only,) = (path for path in self.results.iterdir() if path.name != "latest")
        return only


def environment(**changes: str | None) -> dict[str, str]:
    """Ours without what would change how pytest runs, and without a plugin that only developers have and that takes
    as long to load as all else.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    wanted = inherited | {"PYTEST_ADDOPTS": " ".join(WITHOUT)} | changes
    return {name: value for name, value in wanted.items() if value is not None}


def command(
    *words: str, env: dict[str, str] | None = None, results: Path | None = None, limit_s: float = LIMIT_S
) -> Ended:
    begin = time.monotonic()
    words = (*words, "--results", str(results)) if results else words
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=env or environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_s,
        check=False,
    )
    return Ended(done.returncode, done.stdout, results or ROOT, time.monotonic() - begin)


def within(*words: str, results: Path | None = None) -> Ended:
    """A session of pytest on this command line, with the suite's plugins, in this process, which stays as it was: a
    second less each.

    For what only collects, or is refused: whoever measures has a process of its own, or `measured_within`.
    """
    words = (*words, "--results", str(results)) if results else words
    begin, said, ended_by = time.monotonic(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    with plugins_known(), pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(ROOT)
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        try:
            code = pytest.main([*WITHOUT, "-p", "no:cacheprovider", "-p", "no:unraisableexception", *words])
        finally:
            signal.signal(signal.SIGTERM, ended_by)
    return Ended(int(code), said.getvalue(), results or ROOT, time.monotonic() - begin)


def measured_within(*words: str, results: Path) -> Ended:
    """Likewise one that measures, where it does not matter how long anything takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker_start, "IDLE_WINDOW_S", 0.1)
        return within(*words, results=results)


#: By these modules on its command line a child of pytest is known.
MODULES = {"worker": "fixtures.load.worker", "broker": "fixtures.reference"}
#: The connections of a load's worker, by which it is known to have begun.
LEAST_CONNECTIONS = 20


@dataclass(frozen=True)
class Struck(Ended):
    """A session in the middle of which a process got a signal; `pids` are its broker and its worker."""

    pids: tuple[int, ...]


def struck(
    *words: str,
    results: Path,
    number: int,
    victim: str,
    wait: Callable[[subprocess.Popen[str]], None] = lambda _process: None,
    program: Sequence[str] = PYTEST,
    folder: Path = ROOT,
) -> Struck:
    """Sends a signal to pytest, its broker or its worker, once it is under load and `wait` has returned.

    results: in `folder`, which is the current one, or absolute
    """
    begin = time.monotonic()
    with subprocess.Popen(
        (*program, *words, "--results", str(results)),
        cwd=folder,
        env=environment(PYTHONPATH=str(ROOT)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            family = _loading(process.pid)
            wait(process)
            os.kill(process.pid if victim == "pytest" else family[victim], number)
            said, _ = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    return Struck(process.returncode, said, folder / results, time.monotonic() - begin, tuple(family.values()))


def _loading(pid: int) -> dict[str, int]:
    """The processes of a session, once its worker has the connections of its load."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with suppress(psutil.NoSuchProcess):  # pytest-benchmark asks git, and a process may end just now
            children = psutil.Process(pid).children(recursive=True)
            family = {
                name: child for child in children for name, module in MODULES.items() if module in child.cmdline()
            }
            if "worker" in family and len(family["worker"].net_connections()) >= LEAST_CONNECTIONS:
                return {name: child.pid for name, child in family.items()}
        time.sleep(0.1)  # looking costs
    raise TimeoutError("the load did not begin")


def analysis(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """`python -m analysis` in this process, its two outputs apart: Spark's JVM, once started, serves all who ask."""
    arguments = [*map(str, words)]
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()) as refused:
        code = main(arguments)
    return subprocess.CompletedProcess(arguments, code, said.getvalue(), refused.getvalue())


def side_by_side(calls, at_a_time=2):
    """Independent commands: {name: call} -> {name: what it returned}."""
    with ThreadPoolExecutor(at_a_time) as pool:
        started = {name: pool.submit(call) for name, call in calls.items()}
        return {name: call.result() for name, call in started.items()}


class Config:
    """Options as pytest hands them over: from the command line, and as texts from the ini file."""

    def __init__(self, given: dict[str, object], ini: dict[str, str]) -> None:
        self._given, self._ini = given, ini

    @property
    def pluginmanager(self) -> SimpleNamespace:
        """With a plugin that never says anything of what must be measured."""
        return SimpleNamespace(get_plugin=lambda _name: SimpleNamespace(look=None))

    def getoption(self, key: str) -> object:
        return self._given.get(key)

    def getini(self, key: str) -> object:
        return self._ini.get(key, "")


@dataclass(frozen=True)
class MeasuredItem:
    """What is asked of a pytest item when a session is ordered: it has a slot, and the marker of its kind."""

    slot: Slot
    mark: pytest.Mark

    @property
    def callspec(self) -> SimpleNamespace:
        return SimpleNamespace(params={"slot": self.slot})

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.mark if name == self.mark.name else None

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        """Markers of its own are no matter here."""


def ordered(items: Any, mark: pytest.MarkDecorator) -> Any:
    """The items of a kind, all of whose slots with this marker were selected."""
    items.order([MeasuredItem(slot, mark.mark) for slot in items.slots(mark.mark)])
    return items
