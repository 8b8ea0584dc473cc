"""The screen that closes a run: a `RunOverview` in LINES lines of SCREEN columns, truncated to fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tabulate import DataRow, TableFormat, tabulate

from analysis.table import Table, ascii_text
from analysis.text import SCREEN, wrapped
from analysis.throughput.overview import SOURCE, ExperimentOverview, ModelOverview, RunOverview
from analysis.throughput.tables import NEGLIGIBLE
from workloads.status import VerdictKind

LINES = 25


def text(shown: RunOverview, *, folder: str, report: str | None, run: str = "", prefix: str = "") -> str:
    """The screen: the result first where the run is valid, otherwise the verdict first.

    folder: the run directory
    report: path of the report; None where there is none (yet)
    run: argument to append to a command, where the run is not the newest one
    prefix: directory of the command's program, put before the command
    """
    closing, step = shown.closing, shown.closing.step
    measured = [line for said in shown.measured for line in wrapped(said, lines=2)]
    trust = [
        *wrapped(closing.line, lines=2),
        *wrapped(closing.reason, indent="  ", lines=2),
    ]
    ending = []
    if step is not None:
        ending += wrapped(f"next: {step.words}", lines=1)
        ending += _continued(prefix + step.command + (f" {run}" if run and step.of_run else ""))
    ending += [*([f"report: {report}"] if report else []), f"run directory: {folder}"]
    single = len(shown.models) == 1 and not shown.experiments
    result = _costs(shown.models[0]) if single else []
    judged = _judged(shown.models[0]) if single else []
    entries = list(_entries(shown, single=single))
    taken = [measured, trust, result, judged, ending]
    room = LINES - sum(map(len, taken)) - sum(map(bool, taken))
    more = _fitting(entries, room)
    result += [*([""] if result and more else []), *more]
    trust_first = closing.verdict != VerdictKind.VALID
    blocks = [trust, measured, result, judged] if trust_first else [measured, result, [*trust, *judged]]
    return "\n\n".join("\n".join(block) for block in [*blocks, ending] if block)


def _entries(shown: RunOverview, *, single: bool) -> Iterator[list[str]]:
    """The lines that may be left out for lack of room, in groups that are kept together.

    single: the only model is shown already
    """
    if shown.models and not single:
        rows = (row.values for model in shown.models for row in model.costs.rows)
        names = dict.fromkeys((name, meaning, paper) for name, meaning, *_, paper in rows)
        yield [
            *wrapped("; ".join(f"{name}: {meaning}" for name, meaning, _ in names), lines=1),
            *wrapped(f"paper: {', '.join(f'{name} {paper} us' for name, _, paper in names)} ({SOURCE})", lines=1),
        ]
        yield from map(_compact, shown.models)
    yield from (wrapped(line, lines=2) for line in shown.besides)
    alone = len(shown.experiments) == 1 and not shown.models
    for experiment in shown.experiments:
        yield [
            *wrapped(experiment.said, lines=2 if alone else 1),
            *(_rows(experiment) if alone else []),
        ]
    claims = shown.claims[:1] if shown.models else shown.claims
    yield from (wrapped(line, lines=1, indent="  " * (index > 0)) for index, line in enumerate(claims))


def _judged(model: ModelOverview) -> list[str]:
    """How well the model describes the cells, the cell with the largest deviation, and a bend."""
    return [*wrapped(model.description, lines=1), *wrapped(model.worst, lines=2, indent="  ")]


def _continued(command: str) -> list[str]:
    """A shell command, over several lines where it is long; an option is kept with its value."""
    lines = [""]
    for part in command.replace(" --", "\n--").splitlines():
        if lines[-1] and len(lines[-1]) + len(part) > SCREEN - 8:
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


def _costs(model: ModelOverview) -> list[str]:
    """The parameters as a table, and an example of what they mean."""
    return [
        *wrapped(model.formula, lines=1),
        *_columns(model.costs),
        *wrapped(model.note, lines=1),
        *(line for said in model.negligible for line in wrapped(ascii_text(f"{said}."), lines=2)),
        *wrapped(f"So {model.example}." if model.example else "", lines=2),
    ]


def _compact(model: ModelOverview) -> list[str]:
    rows = (map(ascii_text, row.values) for row in model.costs.rows)
    times = ", ".join(
        f"{name} {time} us{f' +-{half_width}' if half_width[0].isdigit() else ''}"
        + (f" ({NEGLIGIBLE}, 95 % {interval})" if half_width == NEGLIGIBLE else "")
        for name, _, time, interval, half_width, _ in rows
    )
    graded = model.description.partition(" - ")[0]
    worst = model.worst.partition(" (")[0]
    return [
        *wrapped(f"{model.title}; {graded}{f', {worst}' if worst else ''}", lines=1),
        *wrapped(times, lines=1, indent="  "),
        *wrapped(model.example, lines=1, indent="  "),
    ]


def _rows(experiment: ExperimentOverview) -> list[str]:
    lines = _columns(experiment.cells) if experiment.cells else []
    return [*lines, *([f"  {experiment.more}"] if experiment.more else [])]


def _columns(table: Table) -> list[str]:
    """Titles and rows with aligned columns, without lines between them."""
    rows = [[column.title for column in table.columns], *(row.values for row in table.rows)]
    align = ["right" if column.number else "left" for column in table.columns]
    texts = [[ascii_text(value) for value in row] for row in rows]
    return str(tabulate(texts, tablefmt=_INDENTED, disable_numparse=True, colalign=align)).splitlines()


_INDENTED = TableFormat(None, None, None, None, DataRow("  ", "   ", ""), DataRow("  ", "   ", ""), 0, None)
