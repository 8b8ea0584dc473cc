"""`python -m workloads.jms2009ps`: what it prints, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from workloads.jms2009ps import DISCLAIMER
from workloads.jms2009ps.__main__ import main
from workloads.jms2009ps.configuration import NONDURABLE


def test_the_module_runs_as_a_command():
    """The command of the documentation prints one JSON object, and nothing beside it."""
    command = [sys.executable, "-m", "workloads.jms2009ps", "--scenario", "3", "--base", "5", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )  # the paths are ours
    record = json.loads(done.stdout)

    assert done.stderr == ""
    assert record["filters_per_s"] == pytest.approx(6500.40, abs=0.01)
    assert record["parameters"]["order"] == {
        "transactional": True,
        "persistent": True,
        "durable": True,
        "queue": False,
        "target_destination": "Central",
        "subscription_type": None,
    }


def test_the_text_shows_the_tables(capsys):
    """The disclaimer first, then sums, parameters, messages and destinations, one row each."""
    assert main(["--scenario", "2", "--base", "5"]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()

    assert text.startswith(DISCLAIMER)
    assert "scenario_2, vertical, BASE 5: 10 SM, 5 SP, 2 DC, 1 HQ" in lines
    assert any("3.5736 per message sent, of which 2.3655 reject it" in line for line in lines)
    assert any(line.split() == ["order", "true", "true", "true", "false", "MessageType", "-"] for line in lines)
    assert any(line.endswith("TargetLocationID = 'DC1'") for line in lines)
    assert any(line.split() == ["topic", "DC_OrderT", "2", "2", "3.81"] for line in lines)


def test_destinations_that_are_alike_share_a_row(capsys):
    """The hundred topics of product families are two rows, those with three suppliers and those with two."""
    assert main(["--scenario", "1", "--base", "10"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]

    assert [line for line in lines if line[:1] == ["topic"] and "_CallForOffersT" in line[1]] == [
        ["topic", "PF1_CallForOffersT", "and", "49", "alike", "3", "0", "0.02"],
        ["topic", "PF51_CallForOffersT", "and", "49", "alike", "2", "0", "0.02"],
    ]


def test_a_file(capsys):
    """BASE is 1 unless it is given; the topology is vertical unless file or option say otherwise."""
    assert main(["--configuration", str(NONDURABLE), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)

    assert (record["configuration"], record["topology"], record["base"]) == ("nondurable.toml", "vertical", 1)
    assert record["unmatched_durable_per_s"] == 0


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("[all]\nqueues = true", [], "own.toml: [all]: unknown key 'queues'"),
        ('topology = "vertical"', ["--topology", "horizontal"], "own.toml: topology: expected 'horizontal'"),
        ('topology = "horizontal"', ["--base", "1000000"], "connections; expected at most 1048576"),
        (None, [], "own.toml: cannot be read: "),
    ],
)
def test_what_cannot_be_configured_is_refused(text, arguments, words, tmp_path, capsys):
    """A message on standard error, nothing on standard output, exit code 2."""
    file = tmp_path / "own.toml"
    if text is not None:
        file.write_text(text, encoding="utf-8")

    assert main(["--configuration", str(file), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("workloads.jms2009ps: ")
    assert words in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of the arguments --scenario --configuration is required"),
        (["--scenario", "1", "--configuration", "own.toml"], "not allowed with argument"),
        (["--scenario", "4"], "invalid choice"),
        (["--scenario", "1", "--base", "0"], "expected a whole number from 1 on, got '0'"),
        (["--scenario", "1", "--base", "1:5"], "expected a whole number from 1 on, got '1:5'"),
        (["--scenario", "1", "--topology", "freeform"], "invalid choice"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments, words, capsys):
    """Scenario or file, one of the two; exit code 2 as well."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
