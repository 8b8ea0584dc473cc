"""A gate -> its page: verdict, families, the ratio of each cell and pair of lives, conditions, past gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from analysis.gate import console, tables
from analysis.gate.results import PASSING, GateResult
from analysis.gate.series import ratios_of
from analysis.gate.verdict import GateVerdict
from analysis.report import manifest_facts
from analysis.report.drawings import Drawings
from analysis.report.figures import Panel, Picture, PlotPoint, Series
from analysis.report.page import NAME, Chapter, Listing, Page, Part, Section, VerdictBox, write_text
from analysis.report.series_page import over_gates
from analysis.results import Interval
from analysis.text import alike, capital
from workloads.manifest import Manifest

#: Colour of the box of a verdict.
_TONES = {GateVerdict.INCONCLUSIVE: "unverified", **dict.fromkeys(PASSING, "valid")}

_ANCHOR = "gate"

#: Cells drawn over the pairs of lives, one per colour; the table has all.
MOST_DRAWN = 7

_LIMITS = Markup("""
<li>A ratio is that of two brokers that were loaded in turn on the same CPUs. It says nothing of other machines, other
loads or other settings.</li>
<li>The unit is the pair of lives: what differs between two starts of the same broker widens the intervals. Brokers
that were not started by the suite have pairs of layouts, and the result is about these processes only.</li>
<li><em>Detectable</em> is the smallest change that these pairs would have shown with a probability of 80 %. A gate
that passes does not say that nothing below it has changed.</li>
""")


def write(
    result: GateResult,
    manifest: Manifest,
    history: Sequence[Mapping[str, Any]] = (),
    output: Path | None = None,
) -> Path:
    """Writes the report of a gate; returns its path. Raises DataError where it fails.

    result: of the gate
    manifest: of its run
    history: past gates, oldest first
    output: the file; None for the one in the run directory
    """
    return write_text(output or Path(result.path) / NAME, html(result, manifest, history))


def html(result: GateResult, manifest: Manifest, history: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page."""
    drawings = Drawings()
    title = console.headline(result)
    sections = tuple(_sections(result, manifest, history, drawings))
    findings = tuple(alike([*result.findings, *drawings.findings]))
    chapter = Chapter(_ANCHOR, result.run, tuple(_top(result, manifest)), findings, sections)
    return Page(title, f"{title}: {result.verdict}", (chapter,), _LIMITS).html()


def _top(result: GateResult, manifest: Manifest) -> Iterator[Part]:
    roles = (f"{role}: {title}" for role, title in result.titles.items())
    yield Listing((*roles, *manifest_facts.title_lines(manifest)), style="ran")
    closing = console.closing(result)
    yield VerdictBox(closing.verdict, closing.meaning, tone=_TONES.get(result.verdict, "invalid"))
    if closing.reason:
        yield f"{capital(closing.reason)}."
    yield tables.families(result)
    if closing.step:
        yield closing.step


def _sections(
    result: GateResult, manifest: Manifest, history: Sequence[Mapping[str, Any]], drawings: Drawings
) -> Iterator[Section]:
    drawn = drawings.figures(_ANCHOR, _ratios(result), _pairs(result))
    yield Section(f"{_ANCHOR}-ratios", "Ratios", (*drawn, tables.cells(result)))
    yield Section(f"{_ANCHOR}-conditions", "Conditions", (tables.conditions(result),))
    if history:
        yield Section(f"{_ANCHOR}-history", "History", drawings.figures(_ANCHOR, _history(history)))
    yield manifest_facts.system(_ANCHOR, result.path, manifest, manifest.brokers)


def _ratios(result: GateResult) -> Picture:
    known = [(family.family, family.ratio) for family in result.families if family.ratio is not None]
    judged = {family.family for family in result.families}
    known += [(cell.cell, cell.ratio) for cell in result.cells if cell.cell not in judged]
    series = Series("candidate", tuple(PlotPoint(row, ratio) for row, (_, ratio) in enumerate(known)))
    return Picture(
        "ratios-figure",
        f"{capital(result.words.figure)} of the candidate relative to the baseline",
        "Families and cells with 95 % intervals over pairs of lives; right of 1 is slower.",
        "Interval plot of the ratios of families and cells; the tables have the numbers.",
        (Panel("", "", "candidate / baseline", (series,), rows=tuple(name for name, _ in known), ratios=True),),
        missing=tuple(family.family for family in result.families if family.ratio is None),
    )


def _pairs(result: GateResult) -> Picture:
    series = tuple(
        Series(
            cell.cell,
            tuple(PlotPoint(number, Interval(100 * (ratio - 1))) for number, ratio in enumerate(cell.by_pair, start=1)),
            joined=True,
        )
        for cell in result.cells[:MOST_DRAWN]
    )
    rest = f" Of {len(result.cells)} cells the first {MOST_DRAWN}." if len(result.cells) > MOST_DRAWN else ""
    return Picture(
        "pairs",
        "Change of each cell in each pair of lives",
        f"A broker's start differs from the next by some per cent in all cells; a bad start stands out here.{rest}",
        "Line plot of the changes of the cells over pairs of lives.",
        (Panel("", "pair of lives", "change in %", series, levels=(0.0,), even=True),),
        low=True,
    )


def _history(history: Sequence[Mapping[str, Any]]) -> Picture:
    return Picture(
        "history-figure",
        "Past gates",
        "Ratios of the families in the gates of the history file, the last one on the right; above 1 is slower.",
        "Interval plot of the ratios of past gates in the order of time.",
        (over_gates([ratios_of(gate) for gate in history], "candidate / baseline"),),
    )
