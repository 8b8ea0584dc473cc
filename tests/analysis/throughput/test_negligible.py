"""A coefficient that can matter less than a cell may deviate: which is one, what ends a run, what is said of it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from analysis.formats import us
from analysis.report import plot_svg, throughput_page
from analysis.results import Interval
from analysis.throughput import broker_comparison, closing_screen, console, predict, tables
from analysis.throughput.fit import bend, fit, fits
from analysis.throughput.json_output import fit_json, summary_json
from analysis.throughput.overview import overview
from analysis.throughput.results import HalfWidth, Negligible
from tests.bench_fit import GRIDS
from tests.support import study_runs
from tests.support.fit_cells import start_of
from tests.support.pages import Page
from tests.support.simulations import repetitions
from workloads.status import VerdictKind

VALID, UNVERIFIED, INVALID = VerdictKind.VALID, VerdictKind.UNVERIFIED, VerdictKind.INVALID

#: A broker that looks topics up, in us: 640 further subscriptions cost it nothing.
LOOKED_UP = {"t_rcv": 4.0, "t_fltr": 0.0, "t_tx": 4.0}

#: Most filters of a cell with a single copy: the further ones of the grid, and the one that matches.
MOST = 641


def cells_of(*, seed=3, noise=0.02, layouts=16, **times):
    """The quick grid on such a broker; times in us."""
    seconds = tuple(time * 1e-6 for time in (LOOKED_UP | times).values())
    return start_of(
        np.random.default_rng(seed),
        cells=GRIDS["quick"],
        times=seconds,
        noise=noise,
        layout_noise=noise,
        layouts=layouts,
    )


def run_of(model):
    """The small study with this model."""
    return replace(study_runs.small(), fits=(model,))


def screen(result):
    shown = closing_screen.text(overview(result), folder="run", report=None)
    assert len(shown.splitlines()) <= closing_screen.LINES
    return " ".join(shown.split())


# The rule


@pytest.mark.parametrize(
    ("name", "changes", "where", "negligible", "verdict"),
    [
        ("t_fltr", {}, "covers 0", True, VALID),
        ("t_fltr", {"t_fltr": 0.0003}, "above 0", True, VALID),  # 2.4 % of B with 641, known to a third of it
        ("t_fltr", {"t_fltr": -0.0003}, "below 0", True, VALID),
        ("t_fltr", {"t_fltr": -0.001}, "below 0", False, INVALID),
        ("t_fltr", {"t_fltr": 0.002}, "above 0", False, VALID),
        ("t_fltr", {"t_fltr": 0.001, "noise": 0.04}, "above 0", False, UNVERIFIED),
        ("t_fltr", {"noise": 0.1}, "covers 0", False, VALID),  # within 15 % of B, as before
        ("t_fltr", {"noise": 0.6}, "covers 0", False, UNVERIFIED),
        ("t_rcv", {"t_rcv": 0.0, "noise": 0.01}, "covers 0", True, VALID),
        ("t_rcv", {"t_rcv": 0.0, "noise": 0.2, "seed": 8}, "covers 0", False, VALID),
        ("t_tx", {"t_tx": 0.0, "noise": 0.01}, "covers 0", True, VALID),
    ],
)
def test_what_is_negligible(name, changes, where, negligible, verdict):
    """By the end of the interval farther up, or down where all of it is below 0, times the most that a cell has."""
    result = fit(cells_of(**changes))
    interval, precision = result.parameters[name], result.precision[name]

    covers = interval.low <= 0 <= interval.high
    assert ("covers 0" if covers else "above 0" if interval.low > 0 else "below 0") == where
    times = {
        point.cell: {"t_rcv": 1, "t_fltr": point.n_fltr, "t_tx": point.replication}[name] for point in result.points
    }
    end = -interval.low if interval.high < 0 else interval.high
    share = max(end * times[point.cell] / point.measured_s.estimate for point in result.points)
    assert (share < 0.05) == negligible
    assert (precision.negligible is not None) == negligible
    if negligible:
        assert precision.negligible.share == pytest.approx(share)
        assert precision.negligible.times == {"t_rcv": 1, "t_fltr": MOST, "t_tx": 10}[name]
        assert precision.holds
        assert not [finding for finding in result.findings if name in finding.what]
    assert result.verdict == verdict


def test_nothing_is_clamped():
    """A negative estimate stays one, with the interval that the layouts give it."""
    result = fit(cells_of(t_fltr=-0.0003))
    interval = result.parameters["t_fltr"]
    half = result.t_quantile * np.sqrt(result.covariance[1][1])

    assert interval.estimate < 0
    assert interval.ci95 == pytest.approx([interval.estimate - half, interval.estimate + half])
    assert result.per_start[1][1] == interval.estimate


@pytest.mark.parametrize("t_fltr", [0.0, 0.0002])
def test_no_further_look_is_asked_for_it(t_fltr):
    """Whatever its relative half-width, in every run; a precision that was asked for is one of the other costs."""
    for seed in range(repetitions(10, 100)):
        cells = cells_of(seed=seed, t_fltr=t_fltr)
        result, asked = fit(cells), fit(cells, precision=0.01)

        assert result.verdict == VALID
        assert not [finding.open_point for finding in result.findings if finding.open_point]
        assert not [finding.open_point for finding in asked.findings if "t_fltr" in finding.open_point]


def test_without_an_interval_nothing_is_negligible():
    """What three layouts say of a cost of 0 is not known."""
    precision = fit(cells_of(layouts=3)).precision["t_fltr"]

    assert (precision.half_width, precision.holds, precision.negligible) == (None, False, None)


def test_scatter_of_cells_is_no_bend():
    """The first filters cost nothing, the last ones a little more: both are less than the error of a cell."""
    points = [
        replace(point, measured_s=Interval(8e-6 + added))
        for point, added in zip(
            sorted(fit(cells_of()).points, key=lambda point: (point.replication, point.n_fltr))[:3],
            (0.0, 1e-9, 2.5e-7),
            strict=True,
        )
    ]

    assert bend(points) == ""
    assert bend([*points[:2], replace(points[2], measured_s=Interval(9e-6))]).startswith("a filter costs ")


# What is said


def negligible(name, interval, times, share):
    """The small study, one coefficient of which is negligible."""
    model = study_runs.small().fits[0]
    found = HalfWidth(0.4, 0.15, holds=True, negligible=Negligible(times, share))
    return run_of(
        replace(
            model,
            parameters={**model.parameters, name: interval},
            precision={**model.precision, name: found},
        )
    )


@pytest.mark.parametrize(
    ("name", "interval", "times", "share", "said"),
    [
        (
            *("t_fltr", Interval(1e-10, -2e-10, 4e-10), 641.0, 0.0312),
            "filter installed costs nothing measurable: at most 0.0004 us, so 641 of them less than 3.2%",
        ),
        (
            *("t_fltr", Interval(-1e-10, -3e-10, 1e-10), 4961.0, 0.012),
            "filter installed costs nothing measurable: at most 0.0001 us, so 4,961 of them less than 1.3%",
        ),
        (
            *("t_fltr", Interval(3e-10, 2e-10, 4e-10), 641.0, 0.0312),
            "filter installed costs next to nothing: at most 0.0004 us, so 641 of them less than 3.2%",
        ),
        (
            *("t_fltr", Interval(-3e-10, -4e-10, -2e-10), 641.0, 0.0312),
            "filter installed costs nothing measurable: its interval ends below 0, with 641 of them by less than 3.2%",
        ),
        (
            *("t_rcv", Interval(0.0, -1e-7, 1e-7), 1.0, 0.0499),
            "message received costs nothing measurable: at most 0.1 us, less than 5.0%",
        ),
        (
            *("t_tx", Interval(0.0, 0.0, 0.0), 10.0, 0.0),
            "copy delivered costs nothing measurable: at most 0 us, so 10 of them less than 0.1%",
        ),
    ],
)
def test_it_is_said_plainly(name, interval, times, share, said, monkeypatch):
    """On the screen, in the tables of the terminal and in the report; estimate and interval are shown as they are."""
    monkeypatch.setattr(plot_svg, "svg", lambda _picture, _salt: "")
    said = f"one {said} of a message's time"
    result = negligible(name, interval, times, share)
    shown = screen(result)

    assert f"{said}." in shown
    assert "verdict: valid" in shown
    assert "every interval is within +-15%, or its cost negligible" in shown
    (row,) = [row for row in tables.parameters(result.fits[0]).rows if row.values[0] == name]
    assert row.values[2] == us(interval.estimate)
    assert row.values[4] == "negligible"
    assert f"negligible: {said}\n" in console.model([result])
    first = Page(throughput_page.html([result]).partition("<nav")[0]).text
    assert f"{said[1:]}.".replace(" us", " \N{MICRO SIGN}s") in first


def test_beside_other_models_it_is_said_in_brackets():
    """Where there is no room for a table."""
    result = negligible("t_fltr", Interval(1e-10, -2e-10, 4e-10), 641, 0.0312)

    shown = screen(replace(result, fits=(*result.fits, study_runs.small().fits[0])))

    assert "t_fltr 0.0001 us (negligible, 95 % -0.0002 to 0.0004), t_tx 9.02 us +-3.8%" in shown


def test_scripts_can_read_it():
    """A key that is null where a coefficient is not negligible."""
    (model,) = fit_json([run_of(fit(cells_of()))])["fits"]

    assert model["verdict"] == "valid"
    assert {name: each["negligible"] for name, each in model["precision"].items() if name != "t_fltr"} == {
        "t_rcv": None,
        "t_tx": None,
    }
    assert model["precision"]["t_fltr"]["negligible"].keys() == {"times", "share"}
    assert summary_json([run_of(fit(cells_of()))])["verdict"] == "valid"


# What is computed from it


@pytest.mark.parametrize("t_fltr", [0.0, 0.0003, -0.0003])
def test_a_prediction_uses_the_estimate_as_it_is(t_fltr):
    """B at the most filters is the plane's, and its interval has the truth in it."""
    model = fit(cells_of(t_fltr=t_fltr))

    (answer,) = predict.predictions([run_of(model)], predict.Question(640, 1, rate_per_s=50_000))
    (found,) = answer.predicted

    t_rcv, filter_s, t_tx = (interval.estimate for interval in model.parameters.values())
    assert found.processing_s.estimate == pytest.approx(t_rcv + 640 * filter_s + t_tx)
    assert found.processing_s.low < (8 + 640 * t_fltr) * 1e-6 < found.processing_s.high
    assert found.utilisation.estimate == pytest.approx(50_000 * found.processing_s.estimate)
    assert "verdict of the model: valid" in predict.text([answer])


@pytest.mark.parametrize(
    ("against", "words", "reason"),
    [
        ({"t_fltr": 0.012}, r"faster by 9\d\.\d% or more", ""),
        ({}, "", "not determinable: the interval of the denominator covers 0"),
    ],
)
def test_a_comparison_says_what_it_can(against, words, reason, monkeypatch):
    """No cost is more than 100 % below another; the ratio and its interval stay as they are. The report draws it."""
    monkeypatch.setattr(plot_svg, "svg", lambda _picture, _salt: "")
    brokers = {"first": cells_of(seed=1, **against), "second": cells_of(seed=2)}
    cells = [replace(c, key=replace(c.key, broker=label)) for label, of_label in brokers.items() for c in of_label]
    models, refused = fits(cells)
    (compared,) = broker_comparison.compare(list(brokers), cells, models, ())
    (row,) = [row for row in compared.coefficients if (row.what, row.broker) == ("t_fltr", "second")]

    assert refused == {}
    assert row.reason == reason
    assert re.fullmatch(words, row.words)
    if words:
        assert row.ratio.low < 0 < row.ratio.high < 0.1
        assert row.value_s == models[1].parameters["t_fltr"]
    result = replace(study_runs.study(brokers=tuple(brokers)), fits=models, comparisons=(compared,), cells=tuple(cells))
    assert "Times relative to first" in Page(throughput_page.html([result])).text
    said = screen(result)
    assert "verdict: " in said
    assert f"t_fltr {row.words}," in said if words else "t_fltr faster" not in said
