"""The JSON objects as scripts rely on them: their keys, and that they are JSON."""

import json
from dataclasses import replace

import pytest

from analysis.results import JSON_SCHEMA, Interval
from analysis.throughput.json_output import fit_json, summary_json
from analysis.throughput.results import CellDeviation, Description, Grade, HalfWidth
from tests.support import study_runs

RATES = ("received_per_s", "dispatched_per_s", "overall_per_s")


def written(record):
    """As a script reads it; a number that is none of JSON's is refused."""
    return json.loads(json.dumps(record, allow_nan=False))


@pytest.fixture(scope="module")
def whole():
    return study_runs.study(brokers=("activemq", "artemis"), starts=2)


def test_layouts_have_their_rounds(whole):
    """One record per broker, start and layout; each round with its level and what the JVM did meanwhile."""
    record = written(summary_json([whole]))
    layouts = record["layouts"]

    assert record["schema"] == JSON_SCHEMA == 2
    places = [(layout["broker"], layout["start"], layout["layout"]) for layout in layouts]
    assert places == [
        (b, s, n) for b in ("activemq", "artemis") for s in (1, 2) for n in range(1, study_runs.LAYOUTS + 1)
    ]
    busy = next(layout for layout in layouts if layout["layout"] == 3)
    assert busy.keys() == {"run", "broker", "start", "layout", "stolen_share", "rounds"}
    assert busy["rounds"][1] == {
        "block": 0,
        "round": 2,
        "level": 0.24,
        "disturbed": True,
        "gc_share": pytest.approx(0.022),
        "compiler_share": 0.004,
    }
    assert {layout["run"] for layout in layouts} == {whole.run}


def test_blocks_of_a_layout_stand_in_one_record():
    """In the order in which they were measured."""
    result = study_runs.small()
    second = tuple(replace(each, block=1, begin_s=each.begin_s + 0.5) for each in result.rounds)
    layouts = summary_json([replace(result, rounds=second + result.rounds)])["layouts"]

    assert [(layout["round"], layout["block"]) for layout in layouts[0]["rounds"]] == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_cell_in_full():
    """Rates and times with their intervals, shares, and how many layouts and slices they rest on; nothing else."""
    cell, *_ = written(summary_json([study_runs.small()]))["cells"]
    of = study_runs.small().cells[0]

    assert cell == {
        **{name: getattr(of.key, name) for name in ("run", "broker", "start", "experiment", "cell")},
        **{name: {"estimate": getattr(of, name).estimate, "ci95": getattr(of, name).ci95} for name in RATES},
        **{
            name: getattr(of, name)
            for name in ("profile", "factors", "pace", "planned_per_s", "broker_cpu", "load_cpu")
        },
        "processing_s": {"estimate_s": of.processing_s.estimate, "ci95_s": of.processing_s.ci95},
        "mean_processing_s": pytest.approx(1.03 * of.processing_s.estimate),
        "load_us_per_delivery": of.load_us_per_delivery,
        "gc_share": 0.021,
        "compiler_share": 0.004,
        "layouts": study_runs.LAYOUTS,
        "slices": study_runs.LAYOUTS * study_runs.ROUNDS,
        "status": "ok",
        "reason": "",
    }


def test_a_latency_in_full():
    """With its cell, mean, and percentiles whose upper end may be unknown."""
    of = next(iter(study_runs.latencies()))
    first, *_ = written(summary_json([study_runs.small(latency=(of,))]))["latency"]

    assert first["mean"] == {"estimate_s": of.mean_s.estimate, "ci95_s": of.mean_s.ci95}
    assert first["percentiles"] == [
        {
            "rank": percentile.rank,
            "estimate_s": percentile.latency_s.estimate,
            "ci95_s": [percentile.latency_s.low, percentile.latency_s.high],
            "lateness_s": percentile.lateness_s,
            "greyed": bool(percentile.reason),
            "reason": percentile.reason,
        }
        for percentile in of.percentiles
    ]
    assert (first["cell"], first["capacity_per_s"]) == (of.key.cell, of.capacity_per_s)
    assert not {"key", "mean_s"} & first.keys()


def test_a_fit_is_described():
    """Grade, deciding cells with their intervals, rms; precision per parameter."""
    result = study_runs.small()
    found = Description(Grade.ROUGH, (CellDeviation("f2560-r001", Interval(0.1, 0.08, 0.12)),), 0.031)
    precision = {"t_rcv": HalfWidth(0.065, 0.15, holds=True), "t_fltr": HalfWidth(None, 0.15, holds=False)}
    model = replace(result.fits[0], description=found, precision=precision)
    (fit,) = written(fit_json([replace(result, fits=(model,))]))["fits"]

    assert fit["description"] == {
        "grade": "rough",
        "worst": [{"cell": "f2560-r001", "deviation": 0.1, "ci95": [0.08, 0.12]}],
        "rms": 0.031,
    }
    assert fit["precision"] == {
        "t_rcv": {"half_width": 0.065, "limit": 0.15, "holds": True, "negligible": None},
        "t_fltr": {"half_width": None, "limit": 0.15, "holds": False, "negligible": None},
    }
    assert fit["layouts"] == study_runs.LAYOUTS
    assert fit["variation"] == {"slices": 0.034, "layouts": 0.011, "between_starts": None, "reason": ""}
    assert fit["points"][0]["deviation"].keys() == {"estimate", "ci95"}


def test_without_a_description_the_grade_is_null():
    """The keys stay."""
    result = study_runs.small()
    (fit,) = fit_json([replace(result, fits=(replace(result.fits[0], description=None),))])["fits"]

    assert fit["description"] == {"grade": None, "worst": [], "rms": None}
