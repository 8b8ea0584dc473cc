"""The JSON objects as scripts rely on them: their keys, and that they are JSON."""

import json
from dataclasses import replace

import pytest

from analysis.results import (
    JSON_SCHEMA,
    CellDeviation,
    Description,
    Grade,
    HalfWidth,
    Interval,
    NotApplicable,
    audit_json,
    fit_json,
    summary_json,
)
from tests.support import study_runs


def written(record):
    """As a script reads it; a number that is none of JSON's is refused."""
    return json.loads(json.dumps(record, allow_nan=False))


@pytest.fixture(scope="module")
def whole():
    return study_runs.study(brokers=("activemq", "artemis"), starts=2)


def test_the_schema_is_named(whole):
    """Every object says by which version its keys are to be read."""
    objects = (summary_json([whole]), fit_json([whole]), audit_json([whole.audit]))

    assert {written(record)["schema"] for record in objects} == {JSON_SCHEMA} == {2}


def test_layouts_have_their_rounds(whole):
    """One record per broker, start and layout; each round with its level and what the JVM did meanwhile."""
    layouts = written(summary_json([whole]))["layouts"]

    places = [(layout["broker"], layout["start"], layout["layout"]) for layout in layouts]
    assert places == [
        (b, s, n) for b in ("activemq", "artemis") for s in (1, 2) for n in range(1, study_runs.LAYOUTS + 1)
    ]
    busy = next(layout for layout in layouts if layout["layout"] == 3)["rounds"][1]
    assert busy == {
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


def test_cells_count_layouts_and_slices(whole):
    """Robust and mean time, shares of garbage collection and compiler, how many layouts and slices they rest on."""
    cell = written(summary_json([whole]))["cells"][0]

    assert (cell["layouts"], cell["slices"]) == (study_runs.LAYOUTS, study_runs.LAYOUTS * study_runs.ROUNDS)
    assert cell["mean_processing_s"] == pytest.approx(1.03 * cell["processing_s"]["estimate_s"])
    assert cell["processing_s"]["ci95_s"][0] < cell["processing_s"]["estimate_s"] < cell["processing_s"]["ci95_s"][1]
    assert (cell["gc_share"], cell["compiler_share"]) == (0.021, 0.004)
    assert "windows" not in cell


def test_a_cell_that_is_not_applicable_has_the_same_keys():
    """And no number; it was in no layout."""
    none = NotApplicable(study_runs.RUN, "rabbitmq", "and_filters", "today", "s1-n01", "no filters")
    cells = written(summary_json([study_runs.small(not_applicable=(none,))]))["cells"]

    assert cells[0].keys() == cells[-1].keys()
    assert (cells[-1]["layouts"], cells[-1]["slices"], cells[-1]["processing_s"]) == (0, 0, None)


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
        "t_rcv": {"half_width": 0.065, "limit": 0.15, "holds": True},
        "t_fltr": {"half_width": None, "limit": 0.15, "holds": False},
    }
    assert fit["layouts"] == study_runs.LAYOUTS
    assert fit["variation"] == {"slices": 0.034, "layouts": 0.011, "between_starts": None, "reason": ""}
    assert fit["points"][0]["deviation"].keys() == {"estimate", "ci95"}


def test_without_a_description_the_grade_is_null():
    """The keys stay."""
    result = study_runs.small()
    (fit,) = fit_json([replace(result, fits=(replace(result.fits[0], description=None),))])["fits"]

    assert fit["description"] == {"grade": None, "worst": [], "rms": None}
