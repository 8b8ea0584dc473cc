"""Results of faults -> the page: a row for each fault, a time line of each, and what was promised by whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from analysis.faults import tables
from analysis.faults.console import verdict_line
from analysis.faults.results import BrokerFaults, FaultRepetition, FaultResult, Tenth
from analysis.formats import count
from analysis.report import manifest_facts
from analysis.report.drawings import Drawings, slug
from analysis.report.figures import Panel, Picture, Series
from analysis.report.page import NAME, Chapter, Listing, Page, Part, Section, VerdictBox, write_text
from analysis.results import reasons, worst
from analysis.table import grouped
from analysis.text import alike

_LIMITS = Markup("""
<li>Times hold for this broker as configured here, on this host, at this load; compare ratios within one run.</li>
<li>A killed process loses its memory, and not what the operating system has yet to write: only a machine that fails
shows whether a store was synced.</li>
<li>A promise without a source is not one: what is lost then is reported, and breaks nothing.</li>
""")


def write(results: Sequence[BrokerFaults], output: Path | None = None) -> Path:
    """Writes the page of these results. Raises DataError if it cannot be written."""
    return write_text(output or Path(results[0].path) / NAME, html(results))


def html(results: Sequence[BrokerFaults]) -> str:
    """The page."""
    drawings = Drawings()
    runs = list(dict.fromkeys(result.run for result in results))
    title = f"Run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs side by side"
    page = Page(
        title=title,
        window=title,
        subject="faults under load",
        disclaimer=" ".join(dict.fromkeys(text for result in results for text in result.disclaimers)),
        top=(VerdictBox(worst(result.verdict for result in results), count(len(results), "broker")),),
        chapters=tuple(_chapter(f"broker-{number}", result, drawings) for number, result in enumerate(results, 1)),
        limits=_LIMITS,
    )
    return page.html()


def _chapter(anchor: str, result: BrokerFaults, drawings: Drawings) -> Chapter:
    top = (
        Listing((result.title, *manifest_facts.title_lines(result.manifest)), style="ran"),
        VerdictBox(result.verdict, verdict_line(result).removeprefix("verdict: "), f"verdict of {result.broker}"),
    )
    sections = tuple(_sections(anchor, result, drawings))
    findings = alike([*result.findings, *drawings.findings])
    return Chapter(anchor, result.broker, top, tuple(findings), sections)


def _sections(anchor: str, result: BrokerFaults, drawings: Drawings) -> Iterator[Section]:
    left_out = grouped(result.not_applicable, lambda entry: entry.cell)
    not_applicable = Listing(tuple(f"{cell}: {reasons(entries)}" for cell, entries in left_out.items()))
    shown: tuple[Part, ...] = (tables.overview(result), not_applicable, tables.details(result))
    yield Section(f"{anchor}-faults", "Faults", shown)
    lines = tuple(drawings.figure(anchor, time_line(fault)) for fault in result.faults)
    yield Section(f"{anchor}-times", "Time lines", lines)
    yield Section(f"{anchor}-promises", "Promises", (tables.promises(result),))
    yield manifest_facts.system(
        anchor, result.path, result.manifest, {result.broker: result.manifest.brokers[result.broker]}
    )


def time_line(fault: FaultResult) -> Picture:
    """Messages per tenth of a second around the fault, a panel for each repetition."""
    first = fault.repetitions[0].course
    away = "no gap" if first.away_s is None else f"a gap of {first.away_s:.1f} s"
    return Picture(
        slug(f"time-line-{fault.cell.id}"),
        fault.cell.id,
        f"{fault.cell.fault.how}. Messages per second written, confirmed and delivered, in each tenth of a second. "
        "Dotted: the fault, and the end of what was done.",
        f"Lines of messages written, confirmed and delivered over time; {away} in deliveries in the first repetition.",
        tuple(_panel(each) for each in fault.repetitions),
        low=True,
    )


def _panel(each: FaultRepetition) -> Panel:
    lines: tuple[tuple[str, Callable[[Tenth], float]], ...] = (
        ("written", lambda at: at.written_per_s),
        ("confirmed", lambda at: at.confirmed_per_s),
        ("delivered", lambda at: at.delivered_per_s),
    )
    life = each.life
    over = () if life.over_ns is None else (((life.over_ns - life.fault_ns) / 1e9, "over"),)
    return Panel(
        f"repetition {each.number}",
        "s from the fault",
        "messages/s",
        tuple(Series(label, line=tuple((at.at_s, of(at)) for at in each.tenths)) for label, of in lines),
        even=True,
        level=True,
        borders=((0.0, "fault"), *over),
    )
