"""A history of gates -> its page: what each changed, and all of them since the first baseline, drawn and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from analysis.gate.series import ComparedRelease, tables
from analysis.report.drawings import Drawings
from analysis.report.figures import Panel, Picture, PlotPoint, Series
from analysis.report.page import Chapter, Page, Section, write_text
from analysis.results import Interval
from analysis.text import alike

_ANCHOR = "series"

_LIMITS = Markup("""
<li>A ratio is that of two brokers that ran at the same time on the same CPUs. Chained ratios take the gates as
independent; each link widens the interval.</li>
<li>The time per message of one release says nothing of other loads, settings or machines.</li>
""")


def write(file: Path, compared: Sequence[ComparedRelease]) -> Path:
    """Writes the page beside the history; returns its path. Raises DataError where it fails."""
    return write_text(file.with_name(f"{file.name}.html"), html(file.name, compared))


def html(name: str, compared: Sequence[ComparedRelease]) -> str:
    drawings = Drawings()
    drawn = drawings.figures(_ANCHOR, chained(compared))
    section = Section(f"{_ANCHOR}-gates", "Gates", (*drawn, *tables(compared)))
    chapter = Chapter(_ANCHOR, name, (), tuple(alike(drawings.findings)), (section,))
    title = f"{len(compared)} gates since {compared[0].baseline}" if compared else "no gates"
    return Page(title, title, (chapter,), _LIMITS).html()


def chained(compared: Sequence[ComparedRelease]) -> Picture:
    """Each family over the gates, against the first baseline."""
    order = ", ".join(f"{number} {each.broker}" for number, each in enumerate(compared, start=1))
    return Picture(
        "series-figure",
        "Time per message against the first baseline",
        f"Chained ratios of the families with 95 % intervals; above 1 is slower. Candidates: {order}.",
        "Interval plot of the chained ratios of the gates, in their order.",
        (over_gates([each.chained for each in compared], "candidate / first baseline"),),
    )


def over_gates(ratios: Sequence[Mapping[str, Interval | None]], axis: str) -> Panel:
    """The ratios of the families, by name, of one gate after the other."""
    names = list(dict.fromkeys(name for of_gate in ratios for name in of_gate))
    series = tuple(
        Series(
            name,
            tuple(
                PlotPoint(number, ratio)
                for number, of_gate in enumerate(ratios, start=1)
                if (ratio := of_gate.get(name)) is not None
            ),
        )
        for name in names
    )
    return Panel("", "gate", axis, series, levels=(1.0,), even=True)
