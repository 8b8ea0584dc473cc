"""Results as text for a terminal: readable without the paper, verdict last. The tables are those of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.results import NotApplicable
from analysis.table import ascii_text, grouped, render_text
from analysis.text import cut, findings, headline, not_applicable, verdict_line
from analysis.throughput import tables
from analysis.throughput.results import AuditResult, BrokerComparison, CellSummary, FitResult, RunResult
from analysis.throughput.tables import by_start, unit
from workloads.status import VerdictKind

VERDICTS = {
    VerdictKind.VALID: "the numbers may be believed, within their intervals",
    VerdictKind.UNVERIFIED: "the numbers may be right, but a check is missing or an interval too wide",
    VerdictKind.INVALID: "the numbers must not be used",
}

#: The same for the audit alone.
AUDIT_VERDICTS = {
    VerdictKind.VALID: "every copy arrived once, in order, at the right subscriber",
    VerdictKind.UNVERIFIED: "nothing is known to be wrong, but not all traffic could be followed",
    VerdictKind.INVALID: "messages were lost, duplicated, reordered or misdelivered",
}


def summary(results: Sequence[RunResult]) -> str:
    """Cells, latencies, audit, models, claims, host, findings, verdict and directory of each run."""
    return _side_by_side(results, cells=True)


def model(results: Sequence[RunResult]) -> str:
    """The models of each run, with their findings."""
    return _side_by_side(results, cells=False)


def audit(results: Sequence[AuditResult]) -> str:
    """Every cell's messages, then findings and verdict of the audit."""
    return "\n\n".join(
        "\n\n".join(
            [
                headline(f"Delivery audit of {result.run}"),
                render_text(tables.audit(result, every_cell=True)),
                *findings(result.findings),
                verdict_line(result.verdict, AUDIT_VERDICTS),
            ]
        )
        for result in results
    )


def _side_by_side(results: Sequence[RunResult], *, cells: bool) -> str:
    several = ["Several runs: nothing is averaged or fitted over runs."] if len(results) > 1 else []
    return "\n\n".join([*several, *(_run(result, cells=cells) for result in results)])


def _run(result: RunResult, *, cells: bool) -> str:
    parts = [headline(f"Run {result.run}"), "\n".join(result.title)]
    if cells:
        parts += _measured(result)
    parts += [_model(fit) for fit in result.fits]
    parts += [table for comparison in result.comparisons for table in _compared(comparison, cells=cells)]
    if cells:
        parts += map(render_text, tables.claims(result.claims))
    if cells and result.host:
        parts.append(render_text(tables.host(result.host)))
    words = VERDICTS if result.measures else AUDIT_VERDICTS
    parts += [*findings(result.every_finding), f"{verdict_line(result.verdict, words)}\nrun directory: {result.path}"]
    return "\n\n".join(parts)


def _measured(result: RunResult) -> Iterator[str]:
    """Cells, latencies, rounds and audit."""
    for _, of_unit in sorted(grouped(result.cells, unit).items()):
        yield render_text(tables.cells(sorted(of_unit, key=lambda cell: cell.key), result.not_applicable))
    if lines := nowhere(result.cells, result.not_applicable):
        yield "\n".join(lines)
    for of_broker in grouped(result.latency, lambda cell: (cell.key.broker, cell.profile)).values():
        yield render_text(tables.latency(of_broker))
    for of_start in by_start(result.rounds).values():
        yield render_text(tables.rounds(of_start))
    yield render_text(tables.audit(result.audit))


def nowhere(cells: Sequence[CellSummary], every: Sequence[NotApplicable]) -> list[str]:
    """A line for each experiment without any cell applicable to the broker."""
    measured = set(map(unit, cells))
    return not_applicable(entry for entry in every if (entry.experiment, entry.broker, entry.profile) not in measured)


def _model(fit: FitResult) -> str:
    lines = [
        f"Model of {fit.experiment} on {fit.broker}, profile {fit.profile}",
        render_text(tables.parameters(fit)),
        *(ascii_text(f"{name}: {value}") for name, value in tables.model_facts(fit)),
        *cut([f"left out: {cell.cell} (start {cell.start}): {cell.reason}" for cell in fit.cells_excluded], "left out"),
        f"verdict of this model: {fit.verdict}",
    ]
    return "\n".join(lines)


def _compared(comparison: BrokerComparison, *, cells: bool) -> Iterator[str]:
    if coefficients := tables.compared_coefficients(comparison):
        yield render_text(coefficients)
    if cells:
        yield render_text(tables.compared_cells(comparison))
