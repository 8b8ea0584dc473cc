"""The command `brokerbench`, as it is in a checkout: what its words run, and what it refuses."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.__main__ import VERBS
from brokerbench import session
from tests.conftest import ROOT, read_json
from tests.support.sessions import environment, struck


def brokerbench(*words, folder):
    """In another folder than the checkout, where pytest has settings of its own and modules have the names of ours."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n", encoding="utf-8")
    for name in ("conftest", "analysis", "workloads"):
        (folder / f"{name}.py").write_text("raise RuntimeError('of the user')\n", encoding="utf-8")
    env = environment(PYTHONPATH=str(ROOT), PYTEST_ADDOPTS="--nonsense", PYTEST_PLUGINS="conftest")
    return subprocess.run(
        [sys.executable, "-m", "brokerbench", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_verb(tmp_path):
    ended = brokerbench("--help", folder=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert all(f"  {name}" in ended.stdout for name in ("microbench", "workloads", "describe", *VERBS))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["microbnch"], "unknown command 'microbnch'; expected microbench;"),
        (["sumary"], "unknown command 'sumary'; expected summary;"),
        (["summary"], "measure one with `python -m brokerbench microbench -k replication`"),
        (["predict"], "usage: python -m brokerbench predict"),
        (["describe", "missing.toml"], "missing.toml: cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_refused_names_what_can_be_typed(words, said, tmp_path):
    ended = brokerbench(*words, folder=tmp_path)

    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_settings_of_the_current_folder(tmp_path):
    """They are defaults of the options, so that the command line wins; ids are those of a checkout. A byte order mark
    is no fault."""
    (tmp_path / "brokerbench.toml").write_text('\ufeffbroker = ["activemq"]\ngrid = "smoke"\n', encoding="utf-8")
    ended = brokerbench("microbench/test_copies.py", "--co", "-q", "--broker", "reference", folder=tmp_path)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 cells x 1 layouts" in ended.stdout
    assert "\nmicrobench/test_copies.py::test_copies[reference-s1-all-r001]\n" in ended.stdout


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('brokr = "reference"', "unknown key 'brokr'; the nearest are broker,"),
        ('grid = ["smoke", "quick"]', "grid: expected one value,"),
        ('history = "file"', "history: give --history on the command line"),
        ('ladder = "activemq:5.17.6..6.1.7"', "ladder: give --ladder on the command line"),
        ("starts = {}", "starts: expected a text, a number, true or false, got {}"),
    ],
)
def test_settings_that_are_refused(settings, said, tmp_path, monkeypatch, capsys):
    """By the session that the command runs, here in this process: a second less each."""
    (tmp_path / "brokerbench.toml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = session.run(["microbench", "--co", "-q"])
    ended = capsys.readouterr()

    assert (code, f"brokerbench.toml: {said}" in ended.err) == (4, True), ended.out + ended.err


def test_an_interrupted_run_is_recorded_where_it_began(tmp_path):
    """In the current folder, which is not that of the tests."""
    ended = struck(
        *("microbench", "-k", "copies", "--broker", "reference"),
        results=Path("of-today"),
        number=signal.SIGINT,
        victim="pytest",
        program=(sys.executable, "-m", "brokerbench"),
        folder=tmp_path,
    )

    assert ended.code == pytest.ExitCode.INTERRUPTED, ended.output
    assert read_json(ended.run / "manifest.json")["outcome"] == "interrupted"
    assert "Traceback" not in ended.output
    assert f"run directory: of-today/{ended.run.name}" in ended.output
