"""The result of a gate as text for a terminal, at most 15 lines, and as Markdown for a page of a CI system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from analysis.gate.results import GateResult
from analysis.gate.verdict import FamilyVerdict, GateVerdict, smallest_margin
from analysis.results import Interval
from workloads.gate import LOOKS, Policy

#: What each verdict says of the candidate.
MEANING = {
    GateVerdict.PASS: "the candidate is not slower by the margin",
    GateVerdict.FASTER: "the candidate is faster by more than the margin",
    GateVerdict.REGRESSED: "the candidate is slower by more than the margin",
    GateVerdict.INCONCLUSIVE: "the pairs of lives differ too much to say",
    GateVerdict.CONTAMINATED: "the conditions of the comparison were not met",
    GateVerdict.FAILED: "messages were lost, duplicated, reordered or misdelivered",
}

#: Findings that are printed.
MOST_FINDINGS = 2

_HEADERS = ("family", "candidate / baseline", "95 % interval", "margin", "smallest detectable", "verdict")


def text(results: Sequence[GateResult]) -> str:
    """Every gate, one below the other."""
    return "\n\n".join("\n".join(_lines(result)) for result in results)


def markdown(results: Sequence[GateResult]) -> str:
    """The same for a page of a CI system."""
    return "\n\n".join("\n".join(_markdown(result)) for result in results)


def change(ratio: float) -> str:
    """A ratio as a relative change."""
    return f"{ratio - 1:+.1%}"


def changes(interval: Interval) -> str:
    """The interval of a ratio as relative changes; empty without one."""
    if interval.low is None or interval.high is None:
        return ""
    return f"{change(interval.low)} to {change(interval.high)}"


def headline(result: GateResult) -> str:
    """What was compared with what."""
    these = " of these processes" if result.of_processes else ""
    if result.rules.calibrate:
        return f"Calibration: {result.baseline} against itself, {result.what}, {result.pairs} pairs{these}"
    unit = f"{result.pairs} pairs of {'layouts' + these if result.of_processes else 'lives'}"
    return f"Gate: {result.broker} against {result.baseline}, {result.what}, {unit}"


def verdict(result: GateResult) -> str:
    """The verdict with its meaning."""
    these = " (of these processes)" if result.of_processes else ""
    return f"{result.verdict} - {MEANING[result.verdict]}{these}"


def reason(result: GateResult) -> str:
    """Why the verdict is what it is."""
    if result.overriding:
        finding = result.findings[0]
        return f"{finding.what}: {finding.measured} (limit: {finding.limit})"
    named = [family for family in result.families if family.verdict == result.verdict and family.ratio]
    if result.verdict is GateVerdict.INCONCLUSIVE:
        return "; ".join(
            f"{family.family} changed by {changes(family.ratio)}, and the margin is {family.margin:.1%}"
            for family in named
            if family.ratio is not None
        )
    return "; ".join(f"{family.family} {change(family.ratio.estimate)}" for family in named if family.ratio is not None)


def next_step(result: GateResult) -> str:
    """What to do now; empty where nothing is to be done."""
    if result.verdict is GateVerdict.INCONCLUSIVE:
        if result.pairs < LOOKS[-1]:
            return f"more pairs of lives narrow the intervals: --pairs {2 * result.pairs}"
        return "a larger --margin, or a quieter host"
    if result.verdict is GateVerdict.REGRESSED:
        return "the report has the ratio of each cell and pair"
    return result.findings[0].advice if result.overriding else ""


def _lines(result: GateResult) -> Iterator[str]:
    yield headline(result)
    yield from (f"  {role}: {title}" for role, title in result.titles.items())
    yield str(
        tabulate(
            [_row(family) for family in result.families],
            _HEADERS,
            disable_numparse=True,
            colalign=("left", *["right"] * 4, "left"),
        )
    )
    yield f"verdict: {verdict(result)}"
    if why := reason(result):
        yield f"  because {why}"
    if result.rules.calibrate:
        yield f"  {_calibrated(result)}"
    if step := next_step(result):
        yield f"next: {step}"


def _calibrated(result: GateResult) -> str:
    known = [family for family in result.families if family.scatter is not None]
    margins = ", ".join(f"{family.family} {smallest_margin(family.scatter or 0.0):.1%}" for family in known)
    return f"smallest margin that a gate can have here: {margins or 'unknown'}"


def _row(family: FamilyVerdict) -> tuple[str, ...]:
    if family.ratio is None:
        return family.family, "not above 0", "", f"{family.margin:.1%}", "", str(family.verdict)
    detectable = "" if family.smallest_detectable is None else f"{family.smallest_detectable:.1%}"
    return (
        family.family,
        change(family.ratio.estimate),
        changes(family.ratio),
        f"{family.margin:.1%}",
        detectable,
        str(family.verdict),
    )


def _markdown(result: GateResult) -> Iterator[str]:
    yield f"### {headline(result)}"
    yield ""
    yield f"**{result.verdict}**: {MEANING[result.verdict]}. {reason(result)}"
    yield ""
    yield str(
        tabulate([_row(family) for family in result.families], _HEADERS, tablefmt="github", disable_numparse=True)
    )
    yield ""
    yield "; ".join(f"{role}: {title}" for role, title in result.titles.items())
    for role, activity in (result.activity or {}).items():
        if activity.gc_pauses is not None:
            yield f"; pauses for garbage collection, {role}: {activity.gc_pauses:.1%} of the time"
    if result.rules.policy is Policy.NON_INFERIORITY:
        yield "; policy non-inferiority: only a candidate that was shown not to be slower passes"
