"""The report: what stands on the page, in which order, and what a real browser makes of it."""

import re
import shutil
from dataclasses import replace

import pytest

from analysis.report import figures, throughput_page
from analysis.results import Finding
from tests.support import run_directories as rd
from tests.support import study_runs
from tests.support.pages import Page
from workloads.status import CellStatus

CHROMIUM = shutil.which("chromium")

MANIFEST = replace(
    rd.study_manifest(brokers={"activemq": rd.broker_facts(flags=["-Xmx1024m"])}),
    host=replace(rd.HOST, cpu_model="AMD EPYC"),
)


def html(*results):
    broker = MANIFEST.brokers["activemq"]
    manifests = [replace(MANIFEST, brokers=dict.fromkeys(result.manifest.brokers, broker)) for result in results]
    return throughput_page.html(
        [replace(result, manifest=manifest) for result, manifest in zip(results, manifests, strict=True)]
    )


def test_an_unknown_experiment_has_its_cells():
    """No picture, no refusal: a table."""
    other = study_runs.cell("own_experiment", "x1", {"x": 1}, 1, 1, 1e-4, windows=())
    result = replace(study_runs.study(), cells=(other,), fits=(), claims=(), latency=(), rounds=())

    parsed = Page(html(result))

    assert "svg" not in {tag for tag, _ in parsed.tags}
    assert "own_experiment on activemq" in parsed.text
    assert "No model was fitted" in parsed.text


@pytest.mark.usefixtures("undrawn")
def test_what_is_left_out_is_greyed_with_its_reason():
    """A cell that missed a limit keeps its row and numbers, and is named below the figure."""
    whole = html(study_runs.study())
    for (further, r), (status, reason) in study_runs.DOUBTFUL.items():
        name = study_runs.name_of(further, r)
        row = re.search(
            rf'<tr class="greyed noted"><th scope="row">{name}</th>.*?</tr>\s*<tr.*?</tr>', whole, re.DOTALL
        )
        assert row
        assert reason.replace("'", "&#39;") in row[0]
        assert re.search(r"\d,\d{3} ± \d", row[0])
        assert f"{name} (start 1): {status}" in whole


def test_doubtful_points_are_hollow_and_none_is_lost():
    """Figure 8 shows every cell in every panel; those that are not ok, and only those, are hollow."""
    (group,) = [g for g in figures.groups(study_runs.study()) if g.experiment == "replication"]
    (picture,) = figures.of_group(group)

    assert len(picture.panels) == 4
    for panel in picture.panels:
        points = [point for series in panel.series for point in series.points]
        assert len(points) == len(study_runs.FURTHER) * len(study_runs.REPLICATION)
        assert sum(point.hollow for point in points) == len(study_runs.DOUBTFUL)


def test_the_line_is_the_model():
    """Each line passes its measured points as far off as the fit says the farthest cell is."""
    result = study_runs.study()
    (group,) = [g for g in figures.groups(result) if g.experiment == "replication"]
    (picture,) = figures.of_group(group)
    limit = 1.01 * group.fit.lack_of_fit.max_relative_deviation

    for panel in picture.panels:
        for series in panel.series:
            ends = {series.model[0][0]: series.model[0][1], series.model[-1][0]: series.model[-1][1]}
            for point in series.points:
                near = [y for x, y in ends.items() if x == pytest.approx(point.x)]
                assert point.hollow or not near or point.y.estimate / near[0] == pytest.approx(1, abs=limit)


def test_a_cap_bends_the_line():
    """Where the roofline describes the cells better, its line cannot rise above what the cap lets through."""
    result = study_runs.study()
    cap = replace(
        result.fits[0].roofline, preferred=True, t_sat_s=replace(result.fits[0].roofline.t_sat_s, estimate=5e-5)
    )
    result = replace(result, fits=(replace(result.fits[0], roofline=cap),))
    (group,) = [g for g in figures.groups(result) if g.experiment == "replication"]
    (picture,) = figures.of_group(group)

    received = picture.panels[2].series[0]
    assert received.model[-1] == pytest.approx((40, 1 / (40 * 5e-5)))
    assert "cap on transmission" in picture.caption


def test_a_grid_may_begin_at_nothing():
    """A user's grid with replication grade 0 or no filter at all is drawn like any other."""
    result = study_runs.study()
    (group,) = [g for g in figures.groups(result) if g.experiment == "replication"]
    none = study_runs.cell("replication", "f0000-r000", {"further": 0, "replication": 0}, 0, 0, 3e-5)

    (picture,) = figures.of_group(replace(group, cells=(none, *group.cells)))

    assert picture.panels[2].series[0].model[0] == pytest.approx((0, 1 / study_runs.TIMES[0]), rel=0.05)


def test_every_cell_stands_against_the_model():
    """Its deviation with its interval in %, in the bands of the grades, a row for each cell that was used."""
    (fit,) = study_runs.small().fits
    (panel,) = figures.against_plane(fit).panels
    (series,) = panel.series

    assert panel.bands == (5.0, 15.0)
    assert len(panel.rows) == 16
    for row, point in zip(panel.rows, series.points, strict=True):
        (of_cell,) = [one.deviation for one in fit.points if one.cell == row]
        assert (point.y.low, point.y.estimate, point.y.high) == pytest.approx(
            tuple(100 * end for end in (of_cell.low, of_cell.estimate, of_cell.high))
        )


@pytest.mark.usefixtures("undrawn")
def test_findings_are_grouped():
    """Those that differ in what was measured only stand under what they have in common."""
    alike = [Finding(f"cell {n}", f"{n}0%", "5%", "measure again") for n in range(4)]
    html_ = html(study_runs.small(findings=tuple(alike)))
    text = Page(html_[html_.index("<h3>Findings") :]).text

    assert "4 similar findings (limit: 5%) . Measure again." in text
    assert text.count("Measure again.") == 1
    assert "cell 3: 30%" in text


@pytest.mark.usefixtures("undrawn")
def test_a_cell_without_a_number_is_named():
    """What cannot be drawn is listed below the picture and has its row."""
    result = study_runs.study()
    name = study_runs.name_of(160, 5)
    nothing = dict.fromkeys(("received_per_s", "dispatched_per_s", "overall_per_s", "processing_s"))
    cells = tuple(
        replace(one, **nothing, status=CellStatus.AUDIT_FAILED, reason="3 copies lost") if one.key.cell == name else one
        for one in result.cells
    )

    text = Page(html(replace(result, cells=cells, latency=()))).text

    assert f"Without a number to draw: {name} (start 1): audit-failed" in text
    assert "3 copies lost" in text


@pytest.mark.usefixtures("undrawn")
def test_runs_stand_side_by_side():
    """Every run has its chapter and its verdict, every model its row and interval, under a warning."""
    first, second = study_runs.study(), study_runs.study(run="other", brokers=("activemq", "artemis"), starts=2, seed=2)
    second = replace(second, cells=tuple(cell for cell in second.cells if cell.key.experiment == "replication"))
    text = html(*(replace(one, latency=()) for one in (first, second)))
    picture = figures.coefficients([first, second])

    assert "Absolute values of two runs are not comparable; ratios within a run are." in text
    assert text.count('<section class="verdict') == 3
    assert [len(panel.series[0].points) for panel in picture.panels] == [3, 3, 3]
    assert picture.panels[0].rows == (
        "run 1: activemq, replication, today",
        "run 2: activemq, replication, today",
        "run 2: artemis, replication, today",
    )
    assert len(Page(text).ids) == len(set(Page(text).ids))
    assert figures.coefficients([first]) is None


def test_drawings_of_several_runs_share_no_identifier():
    """The same picture of two runs stands on one page."""
    first = study_runs.small(rounds=(), fits=())
    parsed = Page(html(first, replace(first, run="other")))

    assert sum(tag == "svg" for tag, _ in parsed.tags) > 1
    assert len(parsed.ids) == len(set(parsed.ids))


def test_a_smoke_grid_is_not_drawn():
    """Its rates mean nothing: tables and audit only, and it says so."""
    text = html(replace(study_runs.study(), measures=False, fits=(), claims=(), latency=()))

    assert "<svg" not in text
    assert "its rates mean nothing" in text
