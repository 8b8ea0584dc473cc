"""The results of faults as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.faults.results import BrokerFaults
from analysis.faults.tables import overview
from analysis.formats import count
from analysis.results import reasons
from analysis.table import grouped, render_text
from analysis.text import MOST_LINES, wrapped
from workloads.status import VerdictKind


def summary(results: Sequence[BrokerFaults]) -> str:
    """A row for each fault, then the verdict."""
    return "\n\n".join("\n".join(_of(result)) for result in results)


def _of(result: BrokerFaults) -> Iterator[str]:
    for text in result.disclaimers:
        yield from (*wrapped(text), "")
    yield render_text(overview(result))
    for cell, entries in grouped(result.not_applicable, lambda entry: entry.cell).items():
        yield f"{cell}: {reasons(entries)}"
    yield ""
    yield verdict_line(result)
    serious = [finding for finding in result.findings if finding.consequence != VerdictKind.VALID]
    others = [finding for finding in result.findings if finding.consequence == VerdictKind.VALID]
    for finding in [*serious, *others][:MOST_LINES]:
        yield from wrapped(finding.reason, indent="  ")
    if (more := len(result.findings) - MOST_LINES) > 0:
        yield f"  and {more} more in the report"


def verdict_line(result: BrokerFaults) -> str:
    """Whether every promise was kept, in a line."""
    lives = result.repetitions
    failed = sum(each.failed for each in lives)
    remarks = sum(finding.consequence == VerdictKind.VALID for finding in result.findings)
    of = count(len(lives), "fault")
    kept = f"kept every promise in {of}" if not failed else f"FAILED in {failed} of {of}"
    return f"verdict: {kept}; {count(remarks, 'remark')}"
