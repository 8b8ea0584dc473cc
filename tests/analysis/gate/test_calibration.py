"""What a calibration leaves for later gates: written by the analysis, read by the measuring half."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from analysis.errors import DataError
from analysis.gate.calibration import calibrated
from analysis.gate.verdict import GateVerdict, smallest_margin
from fixtures.host.cpus import available_cpus
from fixtures.session.options import ThroughputOptions
from tests.support.gates import family, result
from tests.support.run_directories import study_manifest
from tests.support.sessions import Config
from workloads.calibrations import (
    CALIBRATIONS,
    calibrations_in,
    key_of,
    of_another_model,
    require_margin,
    smallest_margins,
)
from workloads.errors import WorkloadError
from workloads.gate import ALL_CELLS

CPUS = available_cpus()

#: A calibration on the command line, and gates after it.
CALIBRATE = {"baseline": "reference", "calibrate": True}
GATE = {"baseline": "reference", "broker": ["reference:t_tx=1us"]}

CELLS = {"a c1", "b c1"}
MODEL = "this model"

NOISY = family("t_tx", GateVerdict.PASS)
UNKNOWN = family("t_rcv", GateVerdict.INCONCLUSIVE, None)


def options(given):
    """As the manifest has them."""
    return json.loads(json.dumps(ThroughputOptions(Config(given, {})).settings().options))


def store(folder, run="first", scatter=NOISY.scatter_of_pairs, given=CALIBRATE):
    """A calibration with this scatter between pairs of lives."""
    done = result(
        GateVerdict.PASS,
        replace(NOISY, scatter_of_pairs=scatter),
        UNKNOWN,
        run=run,
        baseline="reference",
        cells=tuple(replace(cell, cell=name) for cell in result(GateVerdict.PASS).cells for name in ("b c1", "a c1")),
        slice_scatter=0.07,
    )
    manifest = study_manifest()
    host = replace(manifest.host, cpu_model=MODEL)
    calibrated(done, replace(manifest, options=options(given), host=host), folder)


def margins(folder, given, cells=CELLS, model=MODEL):
    """What a gate finds."""
    return smallest_margins(calibrations_in(folder), key_of(options(given), cells, model))


def test_a_calibration_of_another_model_does_not_count(tmp_path):
    """Nor does one from before models were noted; the remark has both. Without any there is nothing to remark on."""
    store(tmp_path)
    entries = calibrations_in(tmp_path)
    here, there = (key_of(options(GATE), CELLS, model) for model in (MODEL, "another model"))
    old = [{key: value for key, value in entries[0].items() if key != "cpu_model"}]

    assert smallest_margins(entries, there) == {}
    assert of_another_model(entries, there) == (
        f"no calibration counts: that of this baseline is of {MODEL}, and this is another model"
    )
    assert of_another_model(entries, here) == of_another_model([], here) == ""
    (tmp_path / CALIBRATIONS).write_text(json.dumps(old))
    assert margins(tmp_path, GATE) == {}
    assert "a CPU model that is not known" in of_another_model(calibrations_in(tmp_path), here)


def test_a_gate_reads_what_a_calibration_wrote(tmp_path):
    """The smallest margin of every family with a ratio, for the same baseline, cells, rounds and CPUs."""
    store(tmp_path)

    assert margins(tmp_path, GATE, CELLS) == {"t_tx": smallest_margin(NOISY.scatter_of_pairs)}
    (entry,) = calibrations_in(tmp_path)
    assert (entry["run"], entry["pairs"], entry["slice_scatter"]) == ("first", 8, 0.07)
    assert entry["scatter"] == {"t_tx": NOISY.scatter_of_pairs, "t_rcv": None}


@pytest.mark.parametrize(
    ("given", "cells"),
    [
        ({**GATE, "baseline": "reference:t_tx=1us", "broker": ["reference"]}, CELLS),
        (GATE, {"a c1"}),
        (GATE, {"a c1", "b c2"}),
        ({**GATE, "layouts": 7}, CELLS),
        ({**GATE, "rounds": 4}, CELLS),
        ({**GATE, "slice_seconds": 0.3}, CELLS),
        ({**GATE, "profile": "paper"}, CELLS),
        ({**GATE, "client": "stomp.py"}, CELLS),
        ({**GATE, "in_flight": 50}, CELLS),
        ({**GATE, "coalesce_us": 1000}, CELLS),
        ({**GATE, "broker_cpus": str(CPUS[0]), "load_cpus": str(CPUS[-1])}, CELLS),
    ],
)
def test_a_calibration_of_something_else_does_not_count(tmp_path, given, cells):
    """Another baseline, other cells, load, layouts, rounds, slices or CPUs have a noise of their own."""
    store(tmp_path)

    assert margins(tmp_path, given, cells) == {}


def test_a_loop_closed_by_receipts_does_not_count_for_one_closed_by_deliveries(tmp_path):
    """The same profile, so that nothing but the loop differs."""
    paper = {"profile": "paper"}
    store(tmp_path, given={**CALIBRATE, **paper})

    assert margins(tmp_path, {**GATE, **paper}, CELLS)
    assert margins(tmp_path, {**GATE, **paper, "loop": "receipt"}, CELLS) == {}


def test_the_last_calibration_counts(tmp_path):
    """A second one is added behind the first; the same run analysed again replaces itself."""
    store(tmp_path, "first", 0.01)
    store(tmp_path, "second", 0.02)
    store(tmp_path, "second", 0.03)

    assert [entry["run"] for entry in calibrations_in(tmp_path)] == ["first", "second"]
    assert margins(tmp_path, GATE, CELLS) == {"t_tx": smallest_margin(0.03)}
    assert list(tmp_path.iterdir()) == [tmp_path / CALIBRATIONS]


@pytest.mark.parametrize("margin", [0.0101, 0.0449, 0.0451])
def test_a_margin_below_the_noise_is_refused(margin):
    """Only families that decide count; the margin that the refusal names is one that is accepted."""
    smallest = {"t_tx": 0.04512, ALL_CELLS: 0.02, "t_rcv": 0.3}
    with pytest.raises(
        WorkloadError, match=r"below the noise.*allows 4\.6% for t_tx.*--margin 4\.6% or more"
    ) as refused:
        require_margin(margin, smallest, {"t_tx", ALL_CELLS})

    assert "--ignore-calibration" in str(refused.value)
    require_margin(0.046, smallest, {"t_tx", ALL_CELLS})
    require_margin(0.02, smallest, {ALL_CELLS})
    require_margin(margin, {}, {"t_tx", ALL_CELLS})


@pytest.mark.parametrize("text", ["no JSON", "[{}]", "[1]", "1", '{"run": 1}'])
def test_a_file_that_is_none_is_refused(tmp_path, text):
    """By both halves, with what to do."""
    (tmp_path / CALIBRATIONS).write_text(text)

    with pytest.raises(
        WorkloadError, match=r"calibrations\.json: cannot be read \(.*\); delete it, and calibrate again"
    ):
        calibrations_in(tmp_path)
    with pytest.raises(DataError, match=r"calibrations\.json: cannot be read \(.*\); delete it, and calibrate again"):
        store(tmp_path)


def test_the_smallest_margin_lets_an_unchanged_broker_pass():
    """2 % of scatter per start allow a margin of 3.1 %."""
    assert smallest_margin(math.sqrt(2) * 0.02) == pytest.approx(0.0306, abs=1e-4)
