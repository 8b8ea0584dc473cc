"""The file of past gates: a line each, with ratios only."""

from __future__ import annotations

import json

import pytest

from analysis.errors import DataError
from analysis.gate import history
from analysis.gate.verdict import GateVerdict
from tests.support.gates import family, result


def test_gates_are_appended_and_read_in_their_order(tmp_path):
    """A line per gate, in a folder that is made for it; the next gate leaves those before it as they are."""
    path = tmp_path / "of" / "gates.jsonl"
    history.append(
        path, result(GateVerdict.PASS, family("t_tx", GateVerdict.PASS, 1.0), family("t_rcv", GateVerdict.PASS, None))
    )
    first = path.read_text()
    history.append(path, result(GateVerdict.REGRESSED, family("t_tx", GateVerdict.REGRESSED, 1.25), run="second"))

    assert path.read_text().startswith(first)
    entries = history.read(path)
    assert [entry["verdict"] for entry in entries] == ["pass", "regressed"]
    assert entries[1] == {
        "schema": 1,
        "run": "second",
        "baseline": "activemq:5.18.3",
        "broker": "activemq:6.1.7",
        "what": "6 cells of replication",
        "pairs": 8,
        "verdict": "regressed",
        "families": {"t_tx": {"ratio": 1.25, "ci95": [1.2, 1.3], "verdict": "regressed"}},
    }
    assert entries[0]["families"]["t_rcv"] == {"ratio": None, "ci95": None, "verdict": "pass"}


@pytest.mark.parametrize(
    "line",
    ["no JSON", "{}", "[1]", json.dumps({"schema": 0, "families": {}}), json.dumps({"schema": 1, "families": []})],
)
def test_a_line_that_is_none_is_refused(tmp_path, line):
    """With the number of the line; a file that is something else is not drawn."""
    path = tmp_path / "gates.jsonl"
    history.append(path, result(GateVerdict.PASS, family("t_tx", GateVerdict.PASS)))
    with path.open("a") as file:
        file.write(line + "\n")

    with pytest.raises(DataError, match=r"gates\.jsonl, line 2: not a line of a gate's history, schema 1"):
        history.read(path)


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    """With the option and the reason."""
    with pytest.raises(DataError, match=f"--history {tmp_path}: cannot be written: Is a directory"):
        history.append(tmp_path, result(GateVerdict.PASS, family("t_tx", GateVerdict.PASS)))
