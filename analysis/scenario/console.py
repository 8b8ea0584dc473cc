"""Results of a workload as text for a terminal: disclaimer first, verdict last. The tables are those of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import fill

from analysis.formats import count
from analysis.results import worst
from analysis.scenario import claims, tables
from analysis.scenario.churn_tables import churn_tables
from analysis.scenario.disclosure import withheld
from analysis.scenario.results import ONE_HOST, Warnings, WorkloadResult, disclaimers
from analysis.table import WIDTH, ascii_text, render_text
from analysis.text import cut, findings, headline, not_applicable, verdict_line
from workloads.schema import Severity
from workloads.status import VerdictKind

VERDICTS = {
    VerdictKind.VALID: "the whole audit passed: every message was followed, and the limits of the rules are kept",
    VerdictKind.UNVERIFIED: "no test failed, but not everything could be shown",
    VerdictKind.INVALID: "a test of the audit failed: there is no valid result at this BASE",
}

#: Maximum number of failed rows printed per test and period; further rows are only counted.
MOST_ROWS = 8

#: Maximum number of addresses with a backlog that the verdict names.
MOST_BACKLOGS = 3


def summary(results: Sequence[WorkloadResult]) -> str:
    """Audit, rates, times, findings and verdict of every cell; then configurations side by side, and claims."""
    return _all(results, lambda result: (*_audit(result), *_measured(result)), _side_by_side(results))


def audit(results: Sequence[WorkloadResult]) -> str:
    """Audit, findings, deviations from run rules if there are any, and verdict of every cell."""
    return _all(results, _audit)


def _all(
    results: Sequence[WorkloadResult], parts: Callable[[WorkloadResult], Iterable[str]], together: Iterable[str] = ()
) -> str:
    """Each result by itself, then the texts about all of them."""
    texts = [fill(text, WIDTH) for text in disclaimers(results)]
    texts += ["\n\n".join([*_header(result), *parts(result), *_closing(result)]) for result in results]
    texts += together
    if lines := not_applicable(dict.fromkeys(entry for result in results for entry in result.not_applicable)):
        texts.append("\n".join(cut(lines, "not applicable")))
    if len(results) > 1:
        texts.append(f"{len(results)} separate results: {worst(result.verdict for result in results)}")
    return "\n\n".join(texts)


def _side_by_side(results: Sequence[WorkloadResult]) -> Iterator[str]:
    yield from map(render_text, tables.configurations(results))
    yield from map(render_text, claims.tables(results))


def _header(result: WorkloadResult) -> Iterator[str]:
    yield headline(f"{result.key.cell} of {result.run}")
    reason = withheld(result)
    periods = ", ".join(f"{span.period} {span.seconds:.1f} s" for span in result.spans)
    yield "\n".join(
        [
            f"{result.key.broker}: {result.broker.title}, start {result.key.start}",
            f"{result.consumption} consumption, transactions {result.transactions}, {result.plan.arrivals} arrivals",
            f"store: {result.store}; memory for messages: {result.broker.message_memory or 'limit not known'}",
            periods,
            f"{result.figure_name}: {f'none, {reason}' if reason else result.figure}",
        ]
    )


def _audit(result: WorkloadResult) -> Iterator[str]:
    yield render_text(tables.audit(result, MOST_ROWS))


def _measured(result: WorkloadResult) -> Iterator[str]:
    if result.periods:
        yield render_text(tables.periods(result))
    for period in result.periods:
        yield from map(render_text, tables.interactions(period))
    if messages := tables.steps(result.periods):
        yield render_text(messages)
    if result.churn is not None:
        yield from map(render_text, churn_tables(result.churn, result.workload.flows(result.model)))


def _closing(result: WorkloadResult) -> Iterator[str]:
    yield from findings(result.findings)
    yield warnings(result.warnings)
    if result.deviations is None:
        yield f"limits: {result.workload.borrowed_limits}"
    else:
        yield "Deviations from the published rules\n" + "\n".join(
            f"- {each}" for each in result.deviations or ("none",)
        )
    yield f"{verdict(result)}\nrun directory: {result.path}"


def warnings(found: Warnings) -> str:
    """The warnings in one line; the report has the whole list."""
    if not found.messages:
        return "warnings: none" if found.logged else "warnings: none from the load; the broker's log is not known"
    counts = {severity: found.count(severity) for severity in reversed(Severity)}
    said = " and ".join(count(number, severity) for severity, number in counts.items() if number)
    more = f", {found.others:,} more not kept" if found.others else ""
    worst = max(found.messages, key=lambda message: (message.severity is Severity.ERROR, message.count))
    line = f"warnings: {said}{more}; {worst.source}: {worst.text}"
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."


def verdict(result: WorkloadResult) -> str:
    """The last lines: verdict, first failure, backlog, and whether the run complies with the rules if there are any."""
    lines = [verdict_line(result.verdict, VERDICTS)]
    if result.failed:
        first = result.failed[0]
        names = dict.fromkeys(row.rule.name for row in result.failed)
        others = f"; in all {len(result.failed)} rows of {', '.join(names)}" if len(result.failed) > 1 else ""
        why = first.why or ascii_text(tables.observed(first))
        lines.append(f"first to fail: {first.rule.name}, {first.scope}: {why}{others}")
        backlog = list(result.backlog_by_address.items())
        if result.measured and sum(result.backlog_by_address.values()) > result.measured.received_per_s:
            named = ", ".join(f"{number} for {name}" for name, number in backlog[:MOST_BACKLOGS])
            total = sum(result.backlog_by_address.values())
            lines.append(f"backlog at the end of the measurement: {total} copies, {named}")
    if result.deviations is not None:
        lines.append(f"compliant: {_compliance(result.deviations, result.compliant)}")
    return "\n".join(lines)


def _compliance(deviations: Sequence[str], compliant: bool | None) -> str:
    """Whether the run complies with the rules; if not, why."""
    number = len(deviations)
    if compliant:
        return "yes, except for one host" if number else "yes"
    if set(deviations) <= {ONE_HOST}:
        return "no, because the verdict is not valid"
    return f"no, {count(number, 'deviation')}"
