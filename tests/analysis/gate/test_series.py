"""Gates in a row: chained ratios against known ones, and the table for tools that search series for changes."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
from functools import partial
from math import log

import pytest

from analysis.__main__ import main
from analysis.gate import history
from analysis.gate.results import GATE_SCHEMA
from analysis.gate.series import csv_text, series, tables
from analysis.gate.verdict import GateVerdict
from analysis.table import render_text
from tests.support.gates import family, result


def gate(baseline, broker, ratio, reach=0.01, run="20261128T103000000Z-replication-gate"):
    """A gate of a history whose interval is `ratio` times or divided by `1 + reach`."""
    ends = None if ratio is None else [ratio / (1 + reach), ratio * (1 + reach)]
    of_family = {"ratio": ratio, "ci95": ends, "verdict": "pass"}
    return {"run": run, "baseline": baseline, "broker": broker, "verdict": "pass", "families": {"t_tx": of_family}}


def test_ratios_of_a_ladder_multiply():
    """1.1 and then 1.2 are 1.32 of the first version; half-widths of the logarithms add in squares: 3 and 4 make 5."""
    found = series([gate("a", "b", 1.1, 0.03), gate("b", "c", 1.2, 0.04)])

    assert [each.chained["t_tx"].estimate for each in found] == pytest.approx([1.1, 1.32])
    last = found[-1].chained["t_tx"]
    half = (log(1.03) ** 2 + log(1.04) ** 2) ** 0.5
    assert [log(last.high / 1.32), log(1.32 / last.low)] == pytest.approx([half, half])
    text = "\n".join(map(render_text, tables(found)))
    assert "against a, by chained ratios" in text
    assert "+32.0%" in text


def test_a_series_against_one_baseline_is_not_chained():
    """Each night's ratio is that of its gate, however often the same candidate was measured; there is one table."""
    found = series([gate("a", "nightly", 1.0), gate("a", "nightly", 1.05), gate("a", "nightly", 1.04)])

    assert [each.chained["t_tx"].estimate for each in found] == [1.0, 1.05, 1.04]
    assert len(list(tables(found))) == 1


def test_a_gap_in_a_ladder_is_not_bridged():
    """After a gate without a ratio, and for a baseline that no gate reached, nothing is known of the first version."""
    found = series([gate("a", "b", None), gate("b", "c", 1.2), gate("x", "y", 1.3), gate("a", "c", 1.5)])

    assert [each.chained["t_tx"] and each.chained["t_tx"].estimate for each in found] == [None, None, None, 1.5]


def test_the_table_beside_a_history(tmp_path):
    """Rewritten with each gate: time, names and a column per family, for tools that search series for changes."""
    path = tmp_path / "gates.jsonl"
    for ratio in (1.0, 1.25):
        history.append(path, result(GateVerdict.PASS, family("t_tx", GateVerdict.PASS, ratio)))

    text = (tmp_path / "gates.jsonl.csv").read_text()
    assert text == csv_text(series(history.read(path)))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["t_tx"] for row in rows] == ["1", "1.25"]
    told = csv_text(series([gate("a", "b", None)]))
    assert told.splitlines()[1] == "2026-11-28T10:30:00+00:00,20261128T103000000Z-replication-gate,a,b,"


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_a_history_as_its_command_shows_it(tmp_path, capsys, words):
    """The gates and the chained ratios, and a page that draws them, written beside the file."""
    path = tmp_path / "gates.jsonl"
    ladder = (gate("a", "b", 1.1) | {"schema": GATE_SCHEMA}, gate("b", "c", 1.2) | {"schema": GATE_SCHEMA})
    path.write_text("".join(json.dumps(each) + "\n" for each in ladder))

    assert main(["history", str(path), *words]) == 0
    said = capsys.readouterr().out
    page = (tmp_path / "gates.jsonl.html").read_text()
    if words:
        assert json.loads(said)["report"] == str(tmp_path / "gates.jsonl.html")
    else:
        assert "against a, by chained ratios" in said
    assert "+32.0%" in (page if words else said)
    assert "<svg" in page
    assert "against a, by chained ratios" in page


#: A series as Apache Otava reads it.
OTAVA = """\
tests:
  broker:
    type: csv
    file: {file}
    time_column: time
    attributes: [run, broker]
    metrics:
      t_tx: {{column: t_tx, direction: -1}}
"""


@pytest.mark.slow
def test_a_tool_that_searches_series_finds_a_planted_step(tmp_path):
    """Forty gates whose ratios scatter by 1 %, 5 % higher from the 26th on: Apache Otava, in an environment of its own
    because it needs other versions of what this suite uses, names that gate and the step."""
    noise = random.Random(7)
    gates = [
        gate(
            "a",
            "nightly",
            (1.05 if number >= 25 else 1) * noise.gauss(1, 0.01),
            run=f"202611{day + 1:02d}T{hour:02d}0000Z",
        )
        for number in range(40)
        for day, hour in (divmod(number, 24),)
    ]
    (tmp_path / "gates.csv").write_text(csv_text(series(gates)))
    (tmp_path / "otava.yaml").write_text(OTAVA.format(file=tmp_path / "gates.csv"))
    run = partial(subprocess.run, check=True, capture_output=True, text=True, timeout=600)
    run([sys.executable, "-m", "venv", tmp_path / "own"])
    run([tmp_path / "own/bin/pip", "install", "--quiet", "apache-otava"])

    found = run(
        [tmp_path / "own/bin/otava", "analyze", "broker", "--since", "2026-01-01"],
        env={**os.environ, "OTAVA_CONFIG": str(tmp_path / "otava.yaml")},
    )
    lines = found.stdout.splitlines()
    (step,) = (number for number, line in enumerate(lines) if "%" in line)
    assert 4 <= float(lines[step].strip(" +%")) <= 6
    assert "2026-11-02 01:00:00" in lines[step + 2]
