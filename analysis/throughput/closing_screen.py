"""The screen that closes a run: a `Glance` in LINES lines of WIDTH columns, truncated to fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from tabulate import DataRow, TableFormat, tabulate

from analysis.table import Table, ascii_text
from analysis.text import verdict_line
from analysis.throughput.glance import SOURCE, ExperimentGlance, Glance, ModelGlance
from workloads.status import VerdictKind

LINES, WIDTH = 25, 100


def text(shown: Glance, *, folder: str, report: str | None, run: str = "", prefix: str = "") -> str:
    """The screen: the result first where the run is valid, otherwise the verdict first.

    folder: the run directory
    report: path of the report; None where there is none (yet)
    run: argument to append to a command, where the run is not the newest one
    prefix: directory of the command's program, put before the command
    """
    measured = [line for said in shown.measured for line in _wrapped(said, lines=2)]
    trust = [
        *_wrapped(verdict_line(shown.verdict, {shown.verdict: shown.meaning}), lines=2),
        *_wrapped(shown.reason, indent="  ", lines=2),
    ]
    command = shown.step.command + (f" {run}" if run and shown.step.of_run else "")
    closing = [*_wrapped(f"next: {shown.step.words}", lines=1), *_continued(prefix + command)]
    closing += [*([f"report: {report}"] if report else []), f"run directory: {folder}"]
    single = len(shown.models) == 1 and not shown.experiments
    result = _costs(shown.models[0]) if single else []
    judged = _judged(shown.models[0]) if single else []
    entries = list(_entries(shown, single=single))
    taken = [measured, trust, result, judged, closing]
    room = LINES - sum(map(len, taken)) - sum(map(bool, taken))
    more = _fitting(entries, room)
    result += [*([""] if result and more else []), *more]
    trust_first = shown.verdict != VerdictKind.VALID
    blocks = [trust, measured, result, judged] if trust_first else [measured, result, [*trust, *judged]]
    return "\n\n".join("\n".join(block) for block in [*blocks, closing] if block)


def _entries(shown: Glance, *, single: bool) -> Iterator[list[str]]:
    """The lines that may be left out for lack of room, in groups that are kept together.

    single: the only model is shown already
    """
    if shown.models and not single:
        rows = (row.values for model in shown.models for row in model.costs.rows)
        names = dict.fromkeys((name, meaning, paper) for name, meaning, *_, paper in rows)
        yield [
            *_wrapped("; ".join(f"{name}: {meaning}" for name, meaning, _ in names), lines=1),
            *_wrapped(f"paper: {', '.join(f'{name} {paper} us' for name, _, paper in names)} ({SOURCE})", lines=1),
        ]
        yield from map(_compact, shown.models)
    yield from (_wrapped(line, lines=2) for line in shown.besides)
    alone = len(shown.experiments) == 1 and not shown.models
    for experiment in shown.experiments:
        yield [
            *_wrapped(experiment.said, lines=2 if alone else 1),
            *(_rows(experiment) if alone else []),
        ]
    claims = shown.claims[:1] if shown.models else shown.claims
    yield from (_wrapped(line, lines=1, indent="  " * (index > 0)) for index, line in enumerate(claims))


def _judged(model: ModelGlance) -> list[str]:
    """How well the model describes the cells, the cell with the largest deviation, and a bend."""
    return [*_wrapped(model.description, lines=1), *_wrapped(model.worst, lines=2, indent="  ")]


def _continued(command: str) -> list[str]:
    """A shell command, over several lines where it is long; an option is kept with its value."""
    lines = [""]
    for part in command.replace(" --", "\n--").splitlines():
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH - 8:
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return "  {}".format(" \\\n    ".join(lines)).splitlines()


def _fitting(entries: Sequence[list[str]], room: int) -> list[str]:
    """As many entries as fit, and the number of the others; nothing where not even that fits."""
    if room < 1:
        return []
    if sum(map(len, entries)) <= room:
        return [line for entry in entries for line in entry]
    lines: list[str] = []
    for index, entry in enumerate(entries):
        if len(lines) + len(entry) > room - 1:
            return [*lines, f"... and {len(entries) - index} more in the report"]
        lines += entry
    return lines


def _wrapped(said: str, *, lines: int, indent: str = "") -> list[str]:
    """At most `lines` lines of WIDTH columns."""
    return wrap(
        said,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        max_lines=lines,
        placeholder=" ...",
        break_on_hyphens=False,
    )


def _costs(model: ModelGlance) -> list[str]:
    """The parameters as a table, and an example of what they mean."""
    return [
        *_wrapped(model.formula, lines=1),
        *_columns(model.costs),
        *_wrapped(model.note, lines=1),
        *_wrapped(f"So {model.example}." if model.example else "", lines=2),
    ]


def _compact(model: ModelGlance) -> list[str]:
    rows = (map(ascii_text, row.values) for row in model.costs.rows)
    times = ", ".join(
        f"{name} {time} us{f' +-{half_width}' if half_width[0].isdigit() else ''}"
        for name, _, time, _, half_width, _ in rows
    )
    graded = model.description.partition(" - ")[0]
    worst = model.worst.partition(" (")[0]
    return [
        *_wrapped(f"{model.title}; {graded}{f', {worst}' if worst else ''}", lines=1),
        *_wrapped(times, lines=1, indent="  "),
        *_wrapped(model.example, lines=1, indent="  "),
    ]


def _rows(experiment: ExperimentGlance) -> list[str]:
    lines = _columns(experiment.cells) if experiment.cells else []
    return [*lines, *([f"  {experiment.more}"] if experiment.more else [])]


def _columns(table: Table) -> list[str]:
    """Titles and rows with aligned columns, without lines between them."""
    rows = [[column.title for column in table.columns], *(row.values for row in table.rows)]
    align = ["right" if column.number else "left" for column in table.columns]
    texts = [[ascii_text(value) for value in row] for row in rows]
    return str(tabulate(texts, tablefmt=_INDENTED, disable_numparse=True, colalign=align)).splitlines()


_INDENTED = TableFormat(None, None, None, None, DataRow("  ", "   ", ""), DataRow("  ", "   ", ""), 0, None)
