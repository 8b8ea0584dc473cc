"""Heat maps: which values stand where, in which shade, and what is left out; then the drawing of one."""

from dataclasses import replace
from math import isnan

import pytest

from analysis.report import figures, scenario_figures
from analysis.report.figures import MOST_ROWS, Heat, Panel, Picture, Shade, ShadeTone
from tests.support import scenario_results as wr
from tests.support import study_runs
from workloads.supply_chain.topology import horizontal, vertical


def panel_of(picture):
    (panel,) = picture.panels
    return panel


def test_every_slice_has_its_place():
    """A row for each cell, a column for each round in the order of time, with the deviation from the cell's B; where a
    layout begins there is a line with its number."""
    picture = figures.slices(study_runs.small().cells)
    panel = panel_of(picture)
    rounds = [
        (layout, number) for layout in range(1, study_runs.LAYOUTS + 1) for number in range(1, study_runs.ROUNDS + 1)
    ]

    assert len(panel.rows) == len(panel.heat.values) == 16
    assert panel.heat.edges == tuple(range(len(rounds) + 1))
    for row in panel.heat.values:
        assert row == pytest.approx([study_runs.level(*key) for key in rounds], abs=0.005)
    assert panel.borders == tuple((study_runs.ROUNDS * (n - 1), str(n)) for n in range(1, study_runs.LAYOUTS + 1))
    assert "Grid of 16 cells by 16 rounds" in picture.alt
    assert "+27%" in picture.alt


def test_a_busy_host_colours_whole_rounds():
    """Every cell of such a round, and of no other."""
    panel = panel_of(figures.slices(study_runs.small().cells))
    tones = {tuple(panel.heat.shades[int(place)].tone for place in row) for row in panel.heat.places}

    (row,) = tones
    busy = [(layout - 1) * study_runs.ROUNDS + number - 1 for layout, number in study_runs.BUSY]
    assert [at for at, tone in enumerate(row) if tone is ShadeTone.HIGH] == busy
    assert set(row) == {ShadeTone.HIGH, ShadeTone.USUAL}


def test_the_cells_that_scatter_most():
    """Where there are too many rows, and it says so."""
    cells = study_runs.study().cells
    wild = replace(cells[40], processing_s=study_runs.around(cells[40].processing_s.estimate / 2, 0.01))
    picture = figures.slices([*cells[:40], wild, *cells[41:]])

    assert picture.caption.endswith(f" Of {len(cells)} cells the {MOST_ROWS} that scatter most.")
    assert f"{wild.key.experiment} {wild.key.cell}" in panel_of(picture).rows


def test_many_rounds_share_columns(monkeypatch):
    """A column shows the slowest of its rounds."""
    monkeypatch.setattr(figures, "MOST_COLUMNS", 4)
    picture = figures.slices(study_runs.small().cells)

    assert picture.caption.endswith(" Each column is the slowest of 4 rounds in a row.")
    assert panel_of(picture).heat.edges == (0, 1, 2, 3, 4)
    assert panel_of(picture).heat.values[0][1] == pytest.approx(0.27, abs=0.005)


def test_an_open_loop_has_no_time_of_its_own():
    """It takes what it is sent; a cell without a number has nothing to compare with either."""
    cell = study_runs.small().cells[0]
    paced = tuple(replace(window, planned_per_s=100.0) for window in cell.windows)

    for cells in ([replace(cell, windows=paced)], [replace(cell, processing_s=None)], []):
        assert figures.slices(cells) is None


def test_delivery_times_of_each_address():
    """A row for each address, the slowest first, a column for each slice; one above the limit stands out."""
    of = wr.result(vertical(5).only(4))
    slow, *others = of.slices
    picture = scenario_figures.addresses(replace(of, slices=(replace(slow, p90_ms=5001.0), *others)), 4, [slow.message])
    panel = panel_of(picture)
    usual = {name: max(part.p90_ms for part in others if part.address == name) for name in panel.rows}

    assert panel.rows[0] == slow.address
    assert list(panel.rows[1:]) == sorted(panel.rows[1:], key=lambda name: usual[name], reverse=True)
    assert panel.heat.values[0][0] == 5001.0
    assert panel.heat.edges[:2] == (0, wr.SLICE_S)
    wrong = [
        (row, column)
        for row, places in enumerate(panel.heat.places)
        for column, place in enumerate(places)
        if panel.heat.shades[int(place)].tone is ShadeTone.WRONG
    ]
    assert wrong == [(0, 0)]
    assert picture.alt.endswith(f"the slowest is {slow.address} with 5,001.0 ms as its highest 90th percentile.")


def test_more_addresses_than_a_picture_holds():
    """The slowest are shown, and how many there are is said; of messages that nobody received there is no picture."""
    of = wr.result(horizontal(60).only(4))
    (message,) = {one.message for one in of.slices}
    picture = scenario_figures.addresses(of, 4, [message])

    assert len(panel_of(picture).rows) == MOST_ROWS == 40
    assert picture.caption.endswith(" The 40 slowest of 60 addresses.")
    assert scenario_figures.addresses(of, 4, ["nobody's"]) is None


def test_a_heat_map_is_drawn(drawn_once):
    """Each value in the colour of its shade, none without a value; rows, borders and shades have their names."""
    shades = (
        Shade("low", 1.0, ShadeTone.LOW, 0.5),
        Shade("high", 2.0, ShadeTone.HIGH, 1.0),
        Shade("bad", 9.0, ShadeTone.WRONG, 1.0),
    )
    heat = Heat.of((0, 1, 2, 3), [[(0, 1.0), (1, 1.5), (1, 1.1)], [(2, 3.0)]], shades)
    panel = Panel("", "of time", "", (), rows=("first", "second"), borders=((1.0, "layout 7"),), heat=heat)
    svg = drawn_once(Picture("heat", "Heat", "", "words", (panel,), low=True), "heat")

    assert heat.values == ((1.0, 1.5, None), (None, None, 3.0))
    assert isnan(heat.places[1][0])
    for name in ("first", "second", "layout 7", "of time", "low", "high", "bad"):
        assert f">{name}</text>" in svg
    drawn = [svg.count(f"fill: var(--{tone})") for tone in ("series-1", "series-2", "invalid")]
    assert drawn == [2, 2, 2]  # the value, and the patch of the legend
