"""Figures are drawn one by one: what goes wrong in one of them is a finding, and nothing else."""

from __future__ import annotations

import warnings

from analysis.report import plot_svg
from analysis.report.drawings import Drawings, slug
from analysis.report.figures import Panel, Picture, PlotPoint, Series
from analysis.results import Interval
from workloads.status import VerdictKind


def picture(name, *values):
    points = tuple(PlotPoint(x, Interval(value)) for x, value in enumerate(values, 1))
    return Picture(name, f"Values of {name}", "", name, (Panel("", "x", "y", (Series("", points),)),))


def test_a_figure_that_can_be_drawn_has_no_finding():
    """Its anchor is unique on the page, its drawing an SVG element."""
    drawings = Drawings()

    drawn = drawings.figure("run-1", picture("b", 1.0, 2.0))

    assert drawn.anchor == slug("run-1-b")
    assert drawn.svg.startswith("<svg")
    assert drawings.findings == []


def test_an_error_leaves_the_others(monkeypatch):
    """The figure stays empty, and a remark has the reason."""
    drawings = Drawings()
    whole = plot_svg.svg
    monkeypatch.setattr(plot_svg, "svg", lambda shown, name: 1 / 0 if shown.name == "bad" else whole(shown, name))

    bad, good = drawings.figure("run-1", picture("bad", 1.0)), drawings.figure("run-1", picture("good", 1.0))

    assert (bad.svg, good.svg[:4]) == ("", "<svg")
    (finding,) = drawings.findings
    assert finding.consequence == VerdictKind.VALID
    assert (finding.what, finding.measured) == (
        "the figure `Values of bad` could not be drawn",
        "ZeroDivisionError: division by zero",
    )


def test_a_warning_of_the_library_is_told(monkeypatch):
    """And the figure is there."""
    drawings = Drawings()

    def warned(_picture, _name):
        warnings.warn("axes collapsed", UserWarning, stacklevel=1)
        return "<svg/>"

    monkeypatch.setattr(plot_svg, "svg", warned)

    assert drawings.figure("run-1", picture("b", 1.0)).svg == "<svg/>"
    (finding,) = drawings.findings
    assert (finding.what, finding.measured) == ("the figure `Values of b` may be hard to read", "axes collapsed")
