"""Every slice over time: which places there are, how they are shaded, and what is left out."""

import re
from dataclasses import replace

import pytest

from analysis.report.rounds_figure import MOST_ROWS, heat
from analysis.report.svg import WIDTH
from tests.support import study_runs

TITLE = re.compile(r"<title>(\S+), layout (\d+) round (\d+), (\d+) s: ([+-][\d.]+)%, ([\d.]+) us</title>")


def places(svg):
    """(cell, layout, round) -> (x, shade, deviation in %)."""
    found = re.findall(r'<rect x="([\d.]+)"[^>]*fill: ([^;]+); fill-opacity: ([\d.]+)"><title>([^<]*)', svg)
    said = [(float(x), tone, TITLE.match(f"<title>{title}</title>")) for x, tone, _, title in found]
    return {(match[1], int(match[2]), int(match[3])): (x, tone, float(match[5])) for x, tone, match in said if match}


def test_a_place_for_every_slice():
    """In the order of time from left to right, within the width, with its deviation from its cell."""
    result = study_runs.small()
    svg, said = heat(result.cells)
    found = places(svg)

    assert said == ""
    assert len(found) == 16 * study_runs.LAYOUTS * study_runs.ROUNDS
    row = sorted((x, layout, number) for (cell, layout, number), (x, *_) in found.items() if cell == "f0000-r001")
    assert [place[1:] for place in row] == sorted(place[1:] for place in row)
    assert len({x for x, *_ in row}) == len(row)
    assert 0 < row[0][0] < row[-1][0] < WIDTH
    for (_, layout, number), (*_, deviation) in found.items():
        assert deviation == pytest.approx(100 * study_runs.level(layout, number), abs=0.5)


def test_a_busy_host_colours_whole_rounds():
    """Every cell of such a round, and of no other."""
    found = places(heat(study_runs.small().cells)[0])
    usual = {tone for key, (_, tone, _) in found.items() if key[1:] not in study_runs.BUSY}
    busy = {tone for key, (_, tone, _) in found.items() if key[1:] in study_runs.BUSY}

    assert (usual, busy) == ({"var(--rule)"}, {"var(--series-2)"})


def test_the_cells_that_scatter_most():
    """Where there are too many rows, and it says so."""
    cells = study_runs.study().cells
    wild = replace(cells[40], processing_s=study_runs.around(cells[40].processing_s.estimate / 2, 0.01))
    svg, said = heat([*cells[:40], wild, *cells[41:]])

    assert said == f"Of {len(cells)} cells the {MOST_ROWS} that scatter most."
    assert f"{wild.key.experiment} {wild.key.cell}" in svg


def test_an_open_loop_has_no_time_of_its_own():
    """It takes what it is sent; a cell without a number has nothing to compare with either."""
    result = study_runs.small()
    paced = tuple(replace(window, planned_per_s=100.0) for window in result.cells[0].windows)

    assert heat([replace(result.cells[0], windows=paced)]) == ("", "")
    assert heat([replace(result.cells[0], processing_s=None)]) == ("", "")
    assert heat([]) == ("", "")


def test_it_is_said_in_words():
    """For who does not see it: how many cells and rounds, and the slowest slice."""
    svg, _ = heat(study_runs.small().cells)

    assert 'role="img"' in svg
    assert "Grid of 16 cells by 16 rounds" in svg
    assert "+27%" in svg.partition(">")[0]
