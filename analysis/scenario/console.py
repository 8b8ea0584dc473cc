"""Results of a workload as text for a terminal: the disclaimer first, the verdict last. Only formats numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import fill

from analysis.results import NotApplicable, reasons, worst
from analysis.scenario.disclosure import withheld
from analysis.scenario.results import (
    AuditCheck,
    AuditRow,
    AuditVerdict,
    DeliveryTimes,
    PeriodResult,
    Warnings,
    WorkloadResult,
    disclaimers,
)
from analysis.text import cut, findings, headline, table, verdict_line
from workloads.scenario import limits
from workloads.schema import Severity
from workloads.status import VerdictKind

VERDICTS = {
    VerdictKind.VALID: "the whole audit passed: every message was followed, and the limits of the rules are kept",
    VerdictKind.UNVERIFIED: "no test failed, but some could not be judged",
    VerdictKind.INVALID: "a test of the audit failed: there is no valid result at this BASE",
}

#: Maximum number of failed rows printed per test; further rows are only counted.
MOST_ROWS = 8

#: Maximum number of destinations with a backlog that the verdict names.
MOST_BACKLOGS = 3

_WIDTH = 118


def summary(results: Sequence[WorkloadResult]) -> str:
    """Audit, rates, times, findings, deviations and verdict of every cell."""
    return _all(results, lambda result: (*_audit(result), *_figures(result)))


def audit(results: Sequence[WorkloadResult]) -> str:
    """Audit, findings, deviations and verdict of every cell."""
    return _all(results, _audit)


def _all(results: Sequence[WorkloadResult], parts: Callable[[WorkloadResult], Iterable[str]]) -> str:
    texts = [fill(text, _WIDTH) for text in disclaimers(results)]
    texts += ["\n\n".join([*_header(result), *parts(result), *_closing(result)]) for result in results]
    texts += _nowhere(dict.fromkeys(one for result in results for one in result.not_applicable))
    if len(results) > 1:
        texts.append(f"{len(results)} separate results: {worst(result.verdict for result in results)}")
    return "\n\n".join(texts)


def _header(result: WorkloadResult) -> Iterator[str]:
    yield headline(f"{result.key.cell} of {result.run}")
    reason = withheld(result)
    periods = ", ".join(f"{span.period} {span.seconds:.1f} s" for span in result.spans)
    yield "\n".join(
        [
            f"{result.key.broker}: {result.broker_title}, start {result.key.start}",
            f"{result.consumption} consumption, transactions {result.transactions}, {result.plan['arrivals']} arrivals",
            f"store: {result.store}",
            periods,
            f"{result.figure_name}: {f'none, {reason}' if reason else result.base}",
        ]
    )


def _audit(result: WorkloadResult) -> tuple[str, ...]:
    title = "Audit: one line per test with its worst row; then every failed row"
    headers = ("test", "section", "period", "worst at", "observed", "limit", "rows", "not judged", "verdict")
    lines = table([_test(test, result.workload.rules) for test in result.tests], headers, left=4)
    return "\n".join([title, lines, *_failing(result)]), *_recovery(result)


def _test(test: AuditCheck, rules: str) -> list[str]:
    row = test.worst
    verdict = {AuditVerdict.PASS: "PASS", AuditVerdict.FAIL: "FAIL", AuditVerdict.NOT_JUDGED: "not judged"}[row.verdict]
    return [
        row.rule.name,
        section(row, rules),
        row.period or "whole run",
        row.scope,
        observed(row),
        limit(row),
        str(test.rows),
        str(test.not_judged) if test.not_judged else "",
        verdict if test.failed < 2 else f"{verdict} ({test.failed})",
    ]


def section(row: AuditRow, rules: str) -> str:
    """The section of the rules with this title; "-" if the limit has another source."""
    found = re.match(re.escape(rules) + r", section (\d[\d.]*\d)", row.rule.source)
    return found.group(1) if found else "-"


def observed(row: AuditRow) -> str:
    return "-" if row.observed is None else _number(row, row.observed, "+" if row.rule in _RELATIVE else "")


def limit(row: AuditRow) -> str:
    return ("+-" if row.rule in _RELATIVE else "") + _number(row, row.rule.limit, "")


_RELATIVE = (limits.INPUT_RATE, limits.SENT, limits.RECEIVED, limits.LEVEL)
_SHARES = (*_RELATIVE, limits.PACING, limits.BACKLOG)
_UNITS = {limits.DELIVERY_TIME: " ms", limits.CLOCK: " ms", limits.RECOVERY: " s"}


def _number(row: AuditRow, value: float, sign: str) -> str:
    if row.rule in _SHARES:
        return f"{value:{sign}.1%}"
    digits = 1 if row.rule in _UNITS and value < 100 and value != int(value) else 0
    return f"{value:.{digits}f}{_UNITS.get(row.rule, '')}"


def _failing(result: WorkloadResult) -> Iterator[str]:
    for test in result.tests:
        if test.failed:
            mine = [row for row in result.failed if (row.rule, row.period) == (test.worst.rule, test.worst.period)]
            lines = [f"- {row.rule.name}, {row.scope}: {row.why or observed(row)}" for row in mine]
            yield from lines[:MOST_ROWS]
            if len(lines) > MOST_ROWS:
                yield f"- {test.worst.rule.name}: {len(lines) - MOST_ROWS} more rows, listed by --json"


def _recovery(result: WorkloadResult) -> Iterator[str]:
    if result.recovery is not None:
        one = result.recovery
        yield (
            f"Recovery: {one.seconds_to_recovery:.1f} s from the kill to the last stored message; "
            f"{one.stored_at_the_kill} copies received after the kill, {one.redelivered} of them redelivered; "
            f"{one.in_doubt} transactions with unknown outcome; store {result.store}"
        )


def _figures(result: WorkloadResult) -> Iterator[str]:
    for period in result.periods:
        yield _period(period)
        yield _interactions(period)
        yield _steps(period)


def _period(period: PeriodResult) -> str:
    cpu = "unknown" if period.broker_cpu is None else f"{period.broker_cpu:.2f} cores"
    each = "" if period.load_us_per_message is None else f" ({period.load_us_per_message:.1f} us per message)"
    store = (
        "" if period.store_growth_bytes_per_s is None else f"; store {period.store_growth_bytes_per_s / 1e6:+.2f} MB/s"
    )
    return (
        f"The {period.period}, {period.seconds:.1f} s: {period.sent_per_s:.1f} sent/s, {period.received_per_s:.1f} "
        f"received/s, {period.received_kb_per_s:.1f} KB/s received{store};\n"
        f"broker {cpu}, load {period.load_cpu:.2f} cores{each}; starts late p90/p99 {_two(period.lateness)} ms"
    )


def _two(times: DeliveryTimes) -> str:
    return "-" if times.p90_ms is None or times.p99_ms is None else f"{times.p90_ms:.2f}/{times.p99_ms:.2f}"


def _interactions(period: PeriodResult) -> str:
    headers = (
        "interaction",
        "planned/s",
        "started/s",
        "sent",
        "model",
        "received",
        "model",
        "misses",
        "complete",
        "end to end p50",
        "p90",
        "p99",
        "max",
    )
    rows = [
        [
            f"{one.number} {one.title}",
            f"{one.planned_per_s:.3f}",
            f"{one.started_per_s:.3f}",
            str(one.sent),
            f"{one.expected_sent:.0f}",
            str(one.received),
            f"{one.expected_received:.0f}",
            str(one.pacing_misses),
            f"{one.completed}/{one.started}",
            *_times(one.end_to_end),
        ]
        for one in period.interactions
    ]
    return f"Interactions in the {period.period}; times in ms from the first sending to the last receipt\n" + table(
        rows, headers, left=1
    )


def _steps(period: PeriodResult) -> str:
    """One line per message type, with the handler that has the largest 90th percentile."""
    slowest: dict[str, tuple[float, str]] = {}
    for one in period.handlers:
        if one.delivery.p90_ms is not None:
            slowest[one.message] = max(slowest.get(one.message, (0.0, "")), (one.delivery.p90_ms, one.place))
    headers = ("message", "I", "sent", "received", "KB", "p50", "p90", "p99", "max", "slowest handler's p90")
    rows = [
        [
            one.message,
            str(one.interaction),
            str(one.sent),
            str(one.received),
            f"{one.received_bytes / 1000:.0f}",
            *_times(one.delivery),
            "{1} {0:.1f}".format(*slowest[one.message]) if one.message in slowest else "-",
        ]
        for one in period.steps
    ]
    return f"Delivery time in the {period.period}: ms from sending to receipt\n" + table(rows, headers, left=1)


def _times(times: DeliveryTimes) -> list[str]:
    values = (times.p50_ms, times.p90_ms, times.p99_ms, times.max_ms)
    return ["-" if value is None else f"{value:.1f}" for value in values]


def _closing(result: WorkloadResult) -> Iterator[str]:
    yield from findings(result.findings)
    yield warnings(result.warnings)
    yield "Deviations from the published rules\n" + "\n".join(f"- {text}" for text in result.deviations or ("none",))
    yield f"{verdict(result)}\nrun directory: {result.path}"


def warnings(found: Warnings) -> str:
    """The warnings in one line; the report has the whole list."""
    if not found.messages:
        return "warnings: none" if found.logged else "warnings: none from the load; the broker's log is not known"
    counts = {severity: found.count(severity) for severity in reversed(Severity)}
    said = " and ".join(f"{count:,} {severity}{'s' * (count > 1)}" for severity, count in counts.items() if count)
    more = f", {found.others:,} more not kept" if found.others else ""
    worst = max(found.messages, key=lambda one: (one.severity is Severity.ERROR, one.count))
    line = f"warnings: {said}{more}; {worst.source}: {worst.text}"
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 4]} ..."


def verdict(result: WorkloadResult) -> str:
    """The last lines: the verdict, the first failure, the backlog, and whether the run complies with the rules."""
    lines = [verdict_line(result.verdict, VERDICTS)]
    if result.failed:
        first = result.failed[0]
        names = dict.fromkeys(row.rule.name for row in result.failed)
        others = f"; in all {len(result.failed)} rows of {', '.join(names)}" if len(result.failed) > 1 else ""
        lines.append(f"first to fail: {first.rule.name}, {first.scope}: {first.why or observed(first)}{others}")
        backlog = list(result.backlog_by_destination.items())
        if result.measured and sum(result.backlog_by_destination.values()) > result.measured.received_per_s:
            named = ", ".join(f"{number} for {name}" for name, number in backlog[:MOST_BACKLOGS])
            total = sum(result.backlog_by_destination.values())
            lines.append(f"backlog at the end of the measurement: {total} copies, {named}")
    deviating = f"no, {len(result.deviations)} deviations" if len(result.deviations) > 1 else "no"
    compliant = "yes, except for one host" if result.deviations else "yes"
    lines.append(f"compliant: {compliant if result.compliant else deviating}")
    return "\n".join(lines)


def _nowhere(entries: Iterable[NotApplicable]) -> list[str]:
    groups: dict[tuple[str, str], list[NotApplicable]] = {}
    for one in entries:
        groups.setdefault((one.experiment, one.broker), []).append(one)
    lines = [f"{experiment} on {broker}: {reasons(group)}" for (experiment, broker), group in groups.items()]
    return ["\n".join(cut(lines, "not applicable"))] if lines else []
