"""The tables of a run as text: every field has its place, with its unit."""

from dataclasses import replace

import pytest

from analysis.results import Finding, HalfWidth, Interval, Scope, Variation
from analysis.table import WIDTH, ascii_text, grouped
from analysis.text import alike
from analysis.throughput import console, tables
from tests.support import study_runs
from workloads.status import VerdictKind


@pytest.fixture(scope="module")
def text():
    return console.summary([study_runs.study()])


def section(text, begin):
    """The paragraph that begins so."""
    (found,) = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith(begin)]
    return found


def rows_of(text, caption):
    """The lines of each row of a table, by its name: one for each block of columns."""
    blocks = text[text.index(caption) :].split("\n\n")
    rows = {}
    for block in blocks[:2]:
        for line in block.splitlines():
            rows.setdefault(line.split(" ")[0], []).append(line)
    return rows


def test_cells_have_both_means_and_their_shares(text):
    """B at the median undisturbed round and over all slices; GC, compiler, layouts and slices."""
    assert "95 % intervals over the layouts of a start" in " ".join(text.split())
    times, shares = (line.split() for line in rows_of(text, "Cells of replication on activemq")["f0640-r005"])

    values = times[4:] + shares[2:]

    assert times[2:4] == ["645", "5"]
    assert times[1] == shares[1] == "1"
    assert values[7].startswith("+-")
    assert float(values[8]) == pytest.approx(1.03 * float(values[6]), rel=1e-3)
    assert values[9:] == ["99%", "2.1%", "0.4%", "31%", "2.90", "8", "16", "ok"]


def test_rounds_of_each_start(text):
    """A line for each layout, disturbed rounds marked, and how many there are."""
    lines = section(text, "Rounds on activemq, start 1").splitlines()

    assert lines[0].endswith("16 rounds, 2 of them disturbed (!), 10% or more slower than the median undisturbed round")
    layouts = [line.split() for line in lines if line.split()[0].isdigit()]
    assert [int(row[0]) for row in layouts] == list(range(1, study_runs.LAYOUTS + 1))
    assert any("+24.0%!" in value for value in layouts[2])
    assert layouts[2][-3:] == ["2.2%", "0.4%", "0.2%"]


def test_it_fits_a_terminal(text):
    """No table is wider than 120 columns, however many columns it has."""
    shown = text[: text.index("\nFindings\n")]

    assert max(map(len, shown.splitlines())) <= WIDTH == 120
    assert shown.isascii()


def test_the_report_shows_the_same(text):
    """Every value of the report's tables of cells, rounds, claims, latency and host stands on the terminal."""
    result = study_runs.study()
    shown = " ".join(text.split())
    both = [
        tables.host(result.host),
        tables.latency(result.latency),
        *tables.claims(result.claims),
        *(tables.rounds(of_start) for of_start in tables.by_start(result.rounds).values()),
        *(tables.cells(of_unit, ()) for of_unit in grouped(result.cells, tables.unit).values()),
    ]

    for table in both:
        for row in table.rows:
            for words in (*row.values, row.note):
                assert all(ascii_text(word) in shown for word in words.replace("± ", "±").split())


def test_a_broker_without_a_jvm_has_no_shares():
    """Not 0."""
    result = study_runs.small()
    unknown = dict.fromkeys(("gc_share", "compiler_share", "stolen_share"))
    bare = tuple(replace(each, **unknown) for each in result.rounds)
    cells = tuple(replace(cell, gc_share=None, compiler_share=None) for cell in result.cells)
    text = console.summary([replace(result, rounds=bare, cells=cells)])

    assert section(text, "Rounds on").splitlines()[-1].split()[-3:] == ["-", "-", "-"]
    assert "0.4%" not in text


def test_a_model_has_precision_and_description():
    """Half-width beside its limit where that does not hold, grade with the worst cell, scatter by its sources."""
    result = study_runs.small()
    fit = replace(
        result.fits[0],
        parameters={**result.fits[0].parameters, "t_fltr": Interval(2e-8, 1.6e-8, 2.4e-8)},
        precision={**result.fits[0].precision, "t_fltr": HalfWidth(0.2, 0.15, holds=False)},
        variation=Variation(0.034, 0.011, 0.018),
        scope=Scope.BETWEEN_STARTS,
    )
    text = console.model([replace(result, fits=(fit,))])

    assert "95 % interval between starts" in {column.title for column in tables.parameters(fit).columns}
    assert "20.0% (limit 15%)" in text
    assert "based on: 16 cells, 8 layouts, 1 start\n" in text
    assert "largest residual: 2.3%\n" in text
    assert (
        "description: good - no cell is known to be more than 5% off; rms 1.3%; f0000-r002 +2.3% (95 % +0.8% to" in text
    )
    assert "slices of a layout 3.4%, layouts beyond that 1.1%, starts beyond that 1.8%" in text


def test_without_a_description_nothing_is_said_of_it():
    """Nor of a scatter that is not known."""
    result = study_runs.small()
    fit = replace(result.fits[0], description=None, variation=Variation(None, None, None, "one start"))
    text = console.model([replace(result, fits=(fit,))])

    assert "description" not in text
    assert "scatter" not in text


def test_alike_findings_stand_together():
    """Three that differ in what was measured only are one group, two are two; the order is that of the first."""

    def finding(number, limit):
        return Finding(f"cell {number}", f"{number}%", limit, "measure again", VerdictKind.UNVERIFIED)

    groups = alike([finding(1, "a"), finding(2, "b"), finding(3, "a"), finding(4, "b"), finding(5, "a")])

    assert [group.texts for group in groups] == [
        ("cell 1: 1%", "cell 3: 3%", "cell 5: 5%"),
        ("cell 2: 2%",),
        ("cell 4: 4%",),
    ]


def test_the_verdict_stands_last(text):
    """Findings before it, behind the results."""
    assert text.splitlines()[-2].startswith("verdict: unverified - ")
    assert text.index("Model of replication") < text.index("\nFindings\n") < text.index("\nverdict: unverified")
