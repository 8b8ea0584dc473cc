"""Blocks of text for a terminal that both kinds of runs print: headlines, tables, findings, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from analysis.results import (
    Finding,
)
from workloads.status import VerdictKind

#: Width of text columns by header; longer text is wrapped.
_WIDTHS = {"claim": 32, "published": 26, "measured": 40, "why": 60, "worst at": 32}


#: Largest number of lines of a kind that are printed; the others are counted.
MOST_LINES = 8


#: Smallest number of findings with the same limit and advice that are grouped.
ALIKE = 3


def headline(text: str) -> str:
    return f"{text}\n{'=' * len(text)}"


def table(rows: Sequence[Sequence[object]], headers: Sequence[str], left: int) -> str:
    """A table: the first `left` columns and text columns are left-aligned, numbers right-aligned."""
    words = {"status", "verdict", "conclusion", *_WIDTHS}
    align = ["left" if index < left or title in words else "right" for index, title in enumerate(headers)]
    widths = [_WIDTHS.get(title) for title in headers]
    return str(tabulate(rows, headers, disable_numparse=True, colalign=align, maxcolwidths=widths))


@dataclass(frozen=True, slots=True)
class Alike:
    """Findings with the same limit, advice and consequence."""

    limit: str
    advice: str
    consequence: VerdictKind
    #: what was measured, for each finding
    texts: tuple[str, ...]


def alike(all_findings: Iterable[Finding]) -> list[Alike]:
    """Findings in groups, ordered by the first finding of each; groups of fewer than ALIKE are split."""
    found: dict[tuple[str, str, VerdictKind], list[str]] = {}
    for finding in all_findings:
        texts = found.setdefault((finding.limit, finding.advice, finding.consequence), [])
        texts.append(f"{finding.what}: {finding.measured}")
    groups: list[Alike] = []
    for (limit, advice, consequence), texts in found.items():
        parts = [tuple(texts)] if len(texts) >= ALIKE else [(text,) for text in texts]
        groups += [Alike(limit, advice, consequence, part) for part in parts]
    return groups


def findings(all_findings: Iterable[Finding]) -> list[str]:
    """A line per finding; findings that differ only in what was measured are listed under their common part."""
    lines: list[str] = []
    for group in alike(all_findings):
        rest = f" (limit: {group.limit}). {capital(group.advice)}." + (
            "" if group.consequence == VerdictKind.VALID else f" [{group.consequence}]"
        )
        if len(group.texts) == 1:
            lines.append(f"- {group.texts[0]}{rest}")
        else:
            lines += [f"- {len(group.texts)} alike{rest}"]
            lines += cut([f"    {text}" for text in group.texts], "    findings")
    return ["Findings\n" + "\n".join(lines)] if lines else []


def cut(lines: list[str], what: str) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - MOST_LINES
    return lines if more < 1 else [*lines[:MOST_LINES], f"{what}: {more} more, which --json lists"]


def verdict_line(kind: VerdictKind, words: Mapping[VerdictKind, str]) -> str:
    return f"verdict: {kind} - {words[kind]}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
