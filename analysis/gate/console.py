"""The result of a gate as text for a terminal, and as Markdown for a page of a CI system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import shorten

from tabulate import tabulate

from analysis.gate import tables
from analysis.gate.results import GateResult
from analysis.gate.tables import change, changes
from analysis.gate.verdict import GateVerdict, smallest_margin
from analysis.table import render_text
from analysis.text import SCREEN, Closing, NextStep, wrapped
from workloads.gate import LOOKS, Policy
from workloads.status import VerdictKind

#: Families that are named with a verdict.
_NAMED = 5


def text(results: Sequence[GateResult]) -> str:
    """Every gate, one below the other."""
    return "\n\n".join("\n".join(_lines(result)) for result in results)


def markdown(results: Sequence[GateResult]) -> str:
    """The same for a page of a CI system."""
    return "\n\n".join("\n".join(_markdown(result)) for result in results)


def headline(result: GateResult) -> str:
    """What was compared with what."""
    these = " of these processes" if result.of_processes else ""
    if result.rules.calibrate:
        return f"Calibration: {result.baseline} against itself, {result.what}, {result.pairs} pairs{these}"
    unit = f"{result.pairs} pairs of {'layouts' + these if result.of_processes else 'lives'}"
    return f"Gate: {result.broker} against {result.baseline}, {result.what}, {unit}"


def closing(result: GateResult) -> Closing:
    """The verdict with its meaning, what it rests on, and what to do now."""
    these = " (of these processes)" if result.of_processes else ""
    step = _advice(result)
    return Closing(result.verdict, f"{result.meaning}{these}", _reason(result), NextStep(step) if step else None)


def _reason(result: GateResult) -> str:
    if result.overriding:
        return result.findings[0].reason
    named = [family for family in result.families if family.verdict == result.verdict and family.ratio]
    if result.verdict is GateVerdict.INCONCLUSIVE:
        open_ones = [family for family in named if family in result.deciding] or named
        return _first(f"{family.family} {changes(family.ratio)}, margin {family.margin:.1%}" for family in open_ones)
    return _first(f"{family.family} {change(family.ratio.estimate)}" for family in named if family.ratio is not None)


def _first(parts: Iterable[str]) -> str:
    some = list(parts)
    return "; ".join([*some[:_NAMED], *([f"and {len(some) - _NAMED} more"] if len(some) > _NAMED else [])])


def _advice(result: GateResult) -> str:
    """What to do now; empty where nothing is to be done."""
    if result.rules.calibrate and not result.overriding:
        return ""
    if result.verdict is GateVerdict.INCONCLUSIVE:
        if all(family.ratio is None for family in result.deciding):
            return "the report has what was measured of each cell"
        if result.pairs < LOOKS[-1]:
            return f"more pairs of lives narrow the intervals: {result.words.pairs} {2 * result.pairs}"
        return "a larger --margin, or a quieter host"
    if result.verdict is GateVerdict.REGRESSED:
        return "the report has the ratio of each cell and pair"
    return result.findings[0].advice if result.overriding else ""


def _lines(result: GateResult) -> Iterator[str]:
    shown = closing(result)
    yield from wrapped(headline(result))
    yield from (f"  {role}: {title}" for role, title in result.titles.items())
    yield from render_text(tables.families(result)).splitlines()[1:]
    yield shown.line
    if shown.reason:
        yield from wrapped(f"because {shown.reason}", indent="  ")
    if result.rules.calibrate:
        yield from wrapped(_calibrated(result), indent="  ")
    yield from remarks(result)
    if shown.step:
        yield from wrapped(f"next: {shown.step.words}")


def remarks(result: GateResult) -> list[str]:
    """The findings that do not override the verdict, in a line; none without them."""
    found = [finding.what for finding in result.findings if finding.consequence == VerdictKind.VALID]
    return [shorten(f"remarks: {'; '.join(found)}", SCREEN, placeholder=" ...")] if found else []


def _calibrated(result: GateResult) -> str:
    known = [family for family in result.families if family.scatter_of_pairs is not None]
    margins = ", ".join(f"{family.family} {smallest_margin(family.scatter_of_pairs or 0.0):.1%}" for family in known)
    return f"smallest margin that a gate can have here: {margins or 'unknown'}"


def _markdown(result: GateResult) -> Iterator[str]:
    shown = closing(result)
    yield f"### {headline(result)}"
    yield ""
    yield f"**{shown.verdict}**: {shown.meaning}. {shown.reason}"
    yield ""
    families = tables.families(result)
    titles = [column.title for column in families.columns]
    yield str(tabulate([row.values for row in families.rows], titles, tablefmt="github", disable_numparse=True))
    yield ""
    yield "; ".join(f"{role}: {title}" for role, title in result.titles.items())
    yield ""
    for role, activity in (result.activity or {}).items():
        if activity.gc_pauses is not None:
            yield f"* pauses for garbage collection, {role}: {activity.gc_pauses:.1%} of the time"
    yield from (f"* {line}" for line in remarks(result))
    if result.rules.policy is Policy.NON_INFERIORITY:
        yield "* policy non-inferiority: only a candidate that was shown not to be slower passes"
