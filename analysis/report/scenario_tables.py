"""Results of a workload -> tables as values: audit, interactions, messages, event handlers, periods, storage.

Long tables are cut to their worst rows and state the total number of rows; the disclosure has all rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analysis.report.tables import NOTHING, Table, TableColumn, TableRow
from analysis.scenario.disclosure import Storage
from analysis.scenario.results import (
    AuditRow,
    AuditVerdict,
    DeliveryTimes,
    HandlerResult,
    InteractionResult,
    PeriodResult,
    StepResult,
    Warnings,
    WorkloadResult,
)
from workloads.limits import Rule
from workloads.scenario.periods import Period
from workloads.schema import Severity

#: Maximum number of rows of a table; in the audit, of failed rows per test.
MOST = 50

_AUDIT_COLUMNS = (
    TableColumn("test", number=False),
    TableColumn("rule", number=False),
    TableColumn("where", number=False),
    TableColumn("observed"),
    TableColumn("expected", "count"),
    TableColumn("limit", number=False),
    TableColumn("verdict", number=False),
)


def warnings(found: Warnings) -> Table | None:
    """Every message that was kept, errors first; None if there are none."""
    if not found.messages:
        return None
    columns = (
        TableColumn("message", number=False),
        TableColumn("severity", number=False),
        TableColumn("times"),
        TableColumn("first", number=False),
        TableColumn("from", number=False),
    )
    ordered = sorted(found.messages, key=lambda one: one.severity is not Severity.ERROR)
    more = f"; {found.others:,} further distinct messages were not kept" if found.others else ""
    return Table(
        f"Warnings of this broker start, from all its cells; messages that differ only in numbers share a row{more}",
        columns,
        tuple(
            TableRow((one.text, one.severity, f"{one.count:,}", one.first or NOTHING, one.source)) for one in ordered
        ),
    )


_KINDS = {AuditVerdict.PASS: "", AuditVerdict.FAIL: "invalid", AuditVerdict.NOT_JUDGED: "greyed"}


def audit(result: WorkloadResult) -> Table:
    """Every test: one row for each failed place, and one row with the worst place for each of the other verdicts."""
    by_rule: dict[Rule, list[AuditRow]] = {}
    for row in result.audit:
        by_rule.setdefault(row.rule, []).append(row)
    return Table(
        "Every test of the audit; for passed tests the place closest to the limit, for failed tests every failed place",
        _AUDIT_COLUMNS,
        tuple(row for of_rule in by_rule.values() for row in _audit_rows(of_rule, result.workload.rules)),
    )


def _audit_rows(of_rule: Sequence[AuditRow], rules: str) -> Iterator[TableRow]:
    """The rows of one test, in the order of periods and places."""
    failed = [row for row in of_rule if row.verdict is AuditVerdict.FAIL]
    least = sorted(map(_severity, failed), reverse=True)[:MOST][-1] if failed else 0.0
    shown = [row for row in failed if _severity(row) >= least][:MOST]
    yield from (_audit_row(row, _place(row), rules) for row in shown)
    if len(failed) > len(shown):
        more = f"and {len(failed) - len(shown):,} more places; the disclosure has all"
        yield TableRow(("", "", more, "", "", "", str(AuditVerdict.FAIL)), _KINDS[AuditVerdict.FAIL])
    for verdict in (AuditVerdict.PASS, AuditVerdict.NOT_JUDGED):
        same = [row for row in of_rule if row.verdict is verdict]
        if same:
            worst = max(same, key=_severity)
            others = f" (and {len(same) - 1:,} more)" if len(same) > 1 else ""
            yield _audit_row(worst, f"{_place(worst)}{others}", rules)


def _severity(row: AuditRow) -> float:
    """The absolute observed value in the rule's unit; -1 without an observation, so that such rows sort last."""
    return -1.0 if row.observed is None else abs(row.observed)


def _place(row: AuditRow) -> str:
    return row.scope if row.period is None else f"{row.scope}, {row.period}"


def _audit_row(row: AuditRow, place: str, rules: str) -> TableRow:
    values = (
        row.rule.name,
        section(row.rule, rules),
        place,
        number(row.observed),
        number(row.expected),
        f"{row.rule.limit:,g} {row.rule.unit}",
        str(row.verdict),
    )
    return TableRow(values, _KINDS[row.verdict], row.why)


def section(rule: Rule, rules: str) -> str:
    """The source of a limit without its remark; `section 3.6.2` if it is the document with this title."""
    return re.split("[;:]", rule.source, maxsplit=1)[0].removeprefix(f"{rules}, ")


def periods(result: WorkloadResult) -> Table:
    columns = (
        TableColumn("period", number=False),
        TableColumn("length", "s"),
        TableColumn("sent", "messages/s"),
        TableColumn("received", "messages/s"),
        TableColumn("received", "KB/s"),
        TableColumn("broker CPU", "cores"),
        TableColumn("load CPU", "cores"),
        TableColumn("per message", "µs"),
        TableColumn("store", "KB/s"),
        TableColumn("late, p90", "ms"),
        TableColumn("longest", "ms"),
    )
    rows = tuple(
        TableRow(
            (
                str(period.period),
                number(period.seconds),
                number(period.sent_per_s),
                number(period.received_per_s),
                number(period.received_kb_per_s),
                _cores(period.broker_cpu),
                _cores(period.load_cpu),
                number(period.load_us_per_message),
                NOTHING if period.store_growth_bytes_per_s is None else number(period.store_growth_bytes_per_s / 1000),
                number(period.lateness.p90_ms),
                number(period.lateness.max_ms),
            )
        )
        for period in result.periods
    )
    return Table(
        "Measured periods; store: growth of the broker's files; late: delay of starts after their planned instants",
        columns,
        rows,
    )


_TIMES = (TableColumn("p50", "ms"), TableColumn("p90", "ms"), TableColumn("p99", "ms"), TableColumn("longest", "ms"))


def interactions(period: PeriodResult) -> Iterator[Table]:
    """Two tables: starts and messages compared with the plan, and the completion of chains."""
    planned = (
        TableColumn("interaction", number=False),
        TableColumn("planned", "starts/s"),
        TableColumn("achieved", "starts/s"),
        TableColumn("starts"),
        TableColumn("pacing misses"),
        TableColumn("sent"),
        TableColumn("of expected"),
        TableColumn("received"),
        TableColumn("of expected"),
    )
    yield Table(
        f"Interactions, {period.period}: starts and messages, compared with what topology and model predict",
        planned,
        tuple(
            TableRow(
                (
                    f"{one.number} {one.title}",
                    number(one.planned_per_s),
                    number(one.started_per_s),
                    f"{one.started:,}",
                    f"{one.pacing_misses:,}" + (f" ({one.pacing_misses / one.started:.1%})" if one.started else ""),
                    f"{one.sent:,}",
                    share(one.sent, one.expected_sent),
                    f"{one.received:,}",
                    share(one.received, one.expected_received),
                )
            )
            for one in period.interactions
        ),
    )
    ended = (
        TableColumn("interaction", number=False),
        TableColumn("started"),
        TableColumn("completed"),
        TableColumn("share"),
        *(TableColumn(f"end to end, {column.title}", column.unit) for column in _TIMES),
    )
    yield Table(
        f"Chains, {period.period}: from the sending of the first message to the receipt of the last; a chain counts in "
        "the period of its start",
        ended,
        tuple(map(_chains, period.interactions)),
    )


def _chains(one: InteractionResult) -> TableRow:
    values = (
        f"{one.number} {one.title}",
        f"{one.started:,}",
        f"{one.completed:,}",
        share(one.completed, one.started),
        *times(one.end_to_end),
    )
    return TableRow(values, "invalid" if one.completed < one.started else "")


def steps(periods: Sequence[PeriodResult], interaction: int) -> Table | None:
    """The messages of an interaction, one row for each period; None if nothing was measured."""
    columns = (
        TableColumn("message", number=False),
        TableColumn("period", number=False),
        TableColumn("sent"),
        TableColumn("received"),
        TableColumn("received", "KB"),
        *_TIMES,
    )
    found = [
        (place, number_of, period.period, step)
        for number_of, period in enumerate(periods)
        for place, step in enumerate(period.steps)
        if step.interaction == interaction
    ]
    rows = tuple(_step(period, step) for *_, period, step in sorted(found, key=lambda one: one[:2]))
    return Table("Messages, with delivery times from sent to received", columns, rows) if rows else None


def _step(period: Period, one: StepResult) -> TableRow:
    sizes = (f"{one.sent:,}", f"{one.received:,}", number(one.received_bytes / 1000))
    return TableRow((one.message, str(period), *sizes, *times(one.delivery)))


def handlers(period: PeriodResult) -> Table:
    """Event handlers, the slowest first; those that received nothing come last."""
    ordered = sorted(period.handlers, key=_slowness, reverse=True)
    columns = (
        TableColumn("event handler", number=False),
        TableColumn("message", number=False),
        TableColumn("received"),
        *_TIMES,
    )
    cut = f": the slowest {MOST} of {len(ordered):,}; the disclosure has all" if len(ordered) > MOST else ""
    return Table(
        f"Event handlers in the period: {period.period}{cut or f': all {len(ordered):,}, the slowest first'}",
        columns,
        tuple(
            TableRow(
                (one.place, one.message, f"{one.received:,}", *times(one.delivery)), "" if one.received else "greyed"
            )
            for one in ordered[:MOST]
        ),
    )


def _slowness(one: HandlerResult) -> tuple[float, int]:
    return -1.0 if one.delivery.p90_ms is None else one.delivery.p90_ms, -one.handler


def storage(found: Storage) -> Table:
    columns = (
        TableColumn("store", number=False),
        TableColumn("grew by", "KB/s"),
        TableColumn("in 24 hours", "GB"),
        TableColumn("free now", "GB"),
        TableColumn("meaning", number=False),
    )
    values = (
        found.store,
        NOTHING if found.growth_bytes_per_s is None else number(found.growth_bytes_per_s / 1e3),
        NOTHING if found.day_bytes is None else number(found.day_bytes / 1e9),
        NOTHING if found.free_bytes is None else number(found.free_bytes / 1e9),
        found.said,
    )
    return Table(
        "Non-volatile storage for 24 hours at this load: measured growth x 86400 s (rules, section 5.1)",
        columns,
        (TableRow(values),),
    )


def backlog(result: WorkloadResult) -> Table | None:
    """Destinations with the most copies in flight at the end of the measurement; None if there were none."""
    left = sorted(result.backlog_by_destination.items(), key=lambda item: (-item[1], item[0]))
    left = [(name, count) for name, count in left if count]
    if not left:
        return None
    cut = f": the {MOST} largest of {len(left):,}; the disclosure has all" if len(left) > MOST else ""
    rows = tuple(TableRow((name, f"{count:,}")) for name, count in left[:MOST])
    columns = (TableColumn("destination", number=False), TableColumn("copies"))
    return Table(f"Copies in flight at the end of the measurement, by destination{cut}", columns, rows)


def several(results: Sequence[WorkloadResult]) -> Table:
    """The overview at the top of a page with several results, all of one topology."""
    columns = (
        TableColumn("#"),
        TableColumn("cell", number=False),
        TableColumn("broker", number=False),
        TableColumn("BASE"),
        TableColumn("sent", "messages/s"),
        TableColumn("received", "messages/s"),
        TableColumn("broker CPU", "cores"),
        TableColumn("slowest p90", "ms"),
        TableColumn("first failed test", number=False),
        TableColumn("verdict", number=False),
    )
    rows = tuple(
        TableRow(
            (
                str(place),
                f"{result.key.cell}, start {result.key.start}",
                result.broker_title,
                str(result.base),
                *_rates(result.measured),
                number(result.p90_ms),
                result.failed[0].rule.name if result.failed else NOTHING,
                result.verdict,
            ),
            "" if not result.failed else "greyed",
        )
        for place, result in enumerate(results, 1)
    )
    return Table(f"Results of the {results[0].topology} topology", columns, rows)


def _rates(period: PeriodResult | None) -> tuple[str, ...]:
    if period is None:
        return (NOTHING,) * 3
    return number(period.sent_per_s), number(period.received_per_s), _cores(period.broker_cpu)


def times(of: DeliveryTimes) -> tuple[str, ...]:
    return tuple(map(number, (of.p50_ms, of.p90_ms, of.p99_ms, of.max_ms)))


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.4g} %" if whole else NOTHING


def _cores(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def number(value: float | None) -> str:
    """Four significant digits, and all digits before the decimal point."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
