"""What every kind of result ends with, as a value for terminal and page; and its blocks of text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from analysis.results import Finding, NotApplicable, reasons
from workloads.status import VerdictKind

#: Largest number of lines of a kind that are printed; the others are counted.
MOST_LINES = 8

#: Smallest number of findings with the same limit and advice that are grouped.
ALIKE = 3

#: Columns of a closing screen.
SCREEN = 100


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next, and the command for it, if there is one."""

    words: str
    command: str = ""
    #: the command takes the run directory as an argument, where it is not the newest one
    of_run: bool = False


@dataclass(frozen=True, slots=True)
class Closing:
    """What a result ends with: its verdict, and what follows from it."""

    verdict: str
    #: what the verdict means
    meaning: str
    #: what it rests on, may be empty
    reason: str
    #: None where nothing is to be done
    step: NextStep | None

    @property
    def line(self) -> str:
        return f"verdict: {self.verdict} - {self.meaning}"


def wrapped(said: str, *, indent: str = "", lines: int | None = None) -> list[str]:
    """Lines of a closing screen, `lines` at most; all but the first are indented further."""
    return wrap(
        said,
        SCREEN,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        max_lines=lines,
        placeholder=" ...",
        break_on_hyphens=False,
    )


def headline(text: str) -> str:
    return f"{text}\n{'=' * len(text)}"


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


def not_applicable(entries: Iterable[NotApplicable]) -> list[str]:
    """A line for each experiment and broker, with the reasons and numbers of cells."""
    groups: dict[tuple[str, str], list[NotApplicable]] = {}
    for entry in entries:
        groups.setdefault((entry.experiment, entry.broker), []).append(entry)
    return [f"{experiment} on {broker}: {reasons(group)}" for (experiment, broker), group in groups.items()]


def counted_verdicts(kinds: Sequence[VerdictKind], what: str) -> str:
    """What the verdict over several results means: that it is the worst of them."""
    number = ", ".join(f"{kinds.count(kind)} {kind}" for kind in VerdictKind if kind in kinds)
    return f"the worst of {len(kinds)} {what} ({number}); each has its own verdict below"


def verdict_line(kind: VerdictKind, words: Mapping[VerdictKind, str]) -> str:
    return f"verdict: {kind} - {words[kind]}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
