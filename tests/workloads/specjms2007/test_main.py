"""`python -m workloads.specjms2007`: what it prints, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from workloads.specjms2007 import DISCLAIMER
from workloads.specjms2007.__main__ import main
from workloads.supply_chain.freeform import EXAMPLE

EXAMPLE_FILE = str(ROOT.joinpath("workloads", "supply_chain", EXAMPLE))


def test_the_module_runs_as_a_command():
    """The command of the README prints one JSON object, and nothing beside it."""
    command = [sys.executable, "-m", "workloads.specjms2007", "--topology", "vertical", "--base", "5", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )  # the paths are ours
    record = json.loads(done.stdout)

    assert done.stderr == ""
    assert record["message_mix_percent"]["a"] == pytest.approx(14.19, abs=0.01)  # Table 5(b)
    assert (record["queues"], record["topics"], record["topic_subscriptions"]) == (
        56,
        103,
        280,
    )  # Table 1 and section 3.3
    assert record["sent_per_s"] == pytest.approx(5 * 14.28660, abs=5e-5)  # xi over the rules' Table 2
    assert record["received_per_s"] == pytest.approx(5 * 17.26051, abs=5e-5)
    assert record["received_kb_per_s"] == pytest.approx(5 * 50.74, abs=0.03)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--topology", "horizontal", "--base", "13"],
        ["--topology", "vertical"],
        ["--topology", "vertical", "--base", "1:9:4"],
        ["--topology", "freeform", "--file", EXAMPLE_FILE, "--base", "4"],
        ["--topology", "freeform", "--file", EXAMPLE_FILE, "--base", "10:50:10"],
    ],
    ids=" ".join,
)
def test_the_text_begins_with_the_disclaimer(arguments, capsys):
    """The rules want it before the results (section 2.2.2); nowhere is a SPEC metric named as ours."""
    assert main(arguments) == 0
    text = capsys.readouterr().out

    assert text.startswith(DISCLAIMER)
    assert "SPECjms2007@" not in text


def test_the_text_shows_the_tables(capsys):
    """Groups, interactions, messages and locations of a topology, one row each."""
    assert main(["--topology", "vertical", "--base", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert "56 queues, 103 topics with 280 subscriptions; 91 event handlers and 35 drivers on 126 connections" in lines
    assert any(line.split()[:5] == ["a", "publish/subscribe,", "not", "persistent", "14.19"] for line in lines)
    assert any(line.split()[:3] == ["5", "statInfoSM", "supermarket"] for line in lines)
    assert any(line.startswith("SM1 and 9 alike") for line in lines)


def test_several_bases_are_rows_of_the_figures(capsys):
    """FIRST:LAST:STEP includes both ends."""
    assert main(["--topology", "horizontal", "--base", "5:15:5", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)

    assert record["disclaimer"] == DISCLAIMER
    assert [row["base"] for row in record["figures"]] == [5, 10, 15]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--topology", "freeform"], "--topology freeform needs --file FILE.toml, such as "),
        (["--topology", "freeform", "--file", "no such file.toml"], "--file no such file.toml: cannot be read: "),
        (["--topology", "vertical", "--file", EXAMPLE_FILE], "--file describes a freeform topology; vertical has none"),
        (
            ["--topology", "horizontal", "--base", "1000000"],
            "connections; expected at most 1048576: choose a lower BASE",
        ),
    ],
)
def test_what_cannot_be_described_is_refused(arguments, words, capsys):
    """A message on standard error, nothing on standard output, exit code 2."""
    assert main(arguments) == 2
    printed = capsys.readouterr()

    assert printed.err.startswith("workloads.specjms2007: ")
    assert words in printed.err
    assert printed.out == ""


def test_a_bad_file_is_named(tmp_path, capsys):
    """The file, the table and the key stand in the message."""
    file = tmp_path / "mine.toml"
    file.write_text("[interaction_6]\nrate = 3\n", encoding="utf-8")

    assert main(["--topology", "freeform", "--file", str(file)]) == 2
    assert (
        "mine.toml: [interaction_6]: unknown key 'rate'; expected enabled, rate_per_s, size, messages"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("base", ["0", "-1", "five", "5:1:1", "1:5", "1:5:0", "1:2:3:4", ""])
def test_a_bad_base_is_a_usage_error(base, capsys):
    """argparse's own exit code is 2 as well; the message says what was expected."""
    with pytest.raises(SystemExit) as ended:
        main(["--topology", "vertical", f"--base={base}"])
    assert ended.value.code == 2
    assert "expected a whole number from 1 on, or FIRST:LAST:STEP" in capsys.readouterr().err
