"""The tables of a run as text: every field has its place, with its unit."""

from dataclasses import replace

from analysis.results import Finding, Interval
from analysis.table import WIDTH
from analysis.text import alike
from analysis.throughput import console, tables
from analysis.throughput.results import HalfWidth, Scope, Variation
from tests.support import study_runs
from tests.support.pages import screen
from workloads.status import VerdictKind


def test_a_summary_in_full():
    """Cells, rounds, audit, model and findings; the verdict stands last."""
    assert console.summary([study_runs.small()]) == screen("study-summary.txt")


def test_it_fits_a_terminal():
    """No table of a study is wider than 120 columns, however many columns it has, and all of it is ASCII."""
    text = console.summary([study_runs.study()])
    shown = text[: text.index("\nFindings\n")]

    assert max(map(len, shown.splitlines())) <= WIDTH == 120
    assert shown.isascii()


def test_a_broker_without_a_jvm_has_no_shares():
    """Not 0."""
    result = study_runs.small()
    unknown = dict.fromkeys(("gc_share", "compiler_share", "stolen_share"))
    bare = tuple(replace(each, **unknown) for each in result.rounds)
    cells = tuple(replace(cell, gc_share=None, compiler_share=None) for cell in result.cells)
    text = console.summary([replace(result, rounds=bare, cells=cells)])

    assert text[text.index("Rounds on") :].split("\n\n")[0].split()[-3:] == ["-", "-", "-"]
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
