"""Results of a workload -> tables as values: audit, interactions, messages, event handlers, periods, storage.

What is wide is cut to its worst rows, and says how many there are: the disclosure beside the report has them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from analysis.report.sheets import NOTHING, Column, Row, Table
from analysis.workload.disclosure import Storage
from analysis.workload.results import (
    AuditRow,
    HandlerResult,
    InteractionResult,
    Judgement,
    PeriodResult,
    StepResult,
    Times,
    WorkloadResult,
)
from workloads.rules import Rule

#: Rows of one kind that are shown; of an audit's failures, per test.
MOST = 50

_RULES = "run and reporting rules of SPECjms2007, "

_KINDS = {Judgement.PASS: "", Judgement.FAIL: "invalid", Judgement.NOT_JUDGED: "greyed"}


def audit(result: WorkloadResult) -> Table:
    """Every test: what fails row by row, what passes or was not judged in one row with the worst of its places."""
    columns = (
        Column("test", number=False),
        Column("rule", number=False),
        Column("where", number=False),
        Column("observed"),
        Column("expected"),
        Column("limit"),
        Column("verdict", number=False),
    )
    rows = [row for _, of_rule in groupby(result.audit, lambda row: row.rule) for row in _audit_rows(list(of_rule))]
    return Table(
        "Every test of the audit; of what passes the place that is closest to the limit, of what fails every place",
        columns,
        tuple(rows),
    )


def _audit_rows(of_rule: Sequence[AuditRow]) -> Iterator[Row]:
    failed = sorted((row for row in of_rule if row.judgement is Judgement.FAIL), key=_severity, reverse=True)
    shown = failed[:MOST]
    for row in of_rule:  # in the order in which they stand: by period, then by place
        if row in shown:
            yield _audit_row(row, _place(row), row.why)
    if len(failed) > len(shown):
        yield Row(("", "", f"and {len(failed) - len(shown):,} more places that fail", "", "", "", "fail"), "invalid")
    for judgement in (Judgement.PASS, Judgement.NOT_JUDGED):
        same = [row for row in of_rule if row.judgement is judgement]
        if same:
            worst = max(same, key=_severity)
            more = f"; the worst of {len(same):,}" if len(same) > 1 and judgement is Judgement.PASS else ""
            more = f" and {len(same) - 1:,} more" if len(same) > 1 and not more else more
            why = "; ".join(dict.fromkeys(row.why for row in same if row.why)) if not more else worst.why
            yield _audit_row(worst, f"{_place(worst)}{more}", why)


def _severity(row: AuditRow) -> float:
    """How far a place is off what it should be; what has no number comes last."""
    if row.observed is None:
        return -1.0
    return abs(row.observed / row.expected - 1) if row.expected else abs(row.observed)


def _place(row: AuditRow) -> str:
    return row.scope if row.period is None else f"{row.scope}, {row.period}"


def _audit_row(row: AuditRow, place: str, why: str) -> Row:
    values = (
        row.rule.name,
        section(row.rule),
        place,
        number(row.observed),
        number(row.expected),
        f"{row.rule.limit:,g}",
        str(row.judgement),
    )
    return Row(values, _KINDS[row.judgement], "; ".join(filter(None, (why, f"limit in {row.rule.unit}"))))


def section(rule: Rule) -> str:
    """`section 3.6.2` of the rules that all are named after, else where the limit comes from."""
    return rule.source.partition(";")[0].removeprefix(_RULES)


def periods(result: WorkloadResult) -> Table:
    columns = (
        Column("period", number=False),
        Column("length", "s"),
        Column("sent", "messages/s"),
        Column("received", "messages/s"),
        Column("received", "KB/s"),
        Column("broker CPU", "cores"),
        Column("load CPU", "cores"),
        Column("load per message", "µs"),
        Column("store grew by", "KB/s"),
        Column("starts late by, p90", "ms"),
        Column("at most", "ms"),
    )
    rows = tuple(
        Row(
            (
                str(one.period),
                number(one.seconds),
                number(one.sent_per_s),
                number(one.received_per_s),
                number(one.received_kb_per_s),
                number(one.broker_cpu),
                number(one.load_cpu),
                number(one.load_us_per_message),
                NOTHING if one.store_growth_bytes_per_s is None else number(one.store_growth_bytes_per_s / 1000),
                number(one.lateness.p90_ms),
                number(one.lateness.max_ms),
            )
        )
        for one in result.periods
    )
    return Table("Measured periods", columns, rows)


_TIMES = (Column("p50", "ms"), Column("p90", "ms"), Column("p99", "ms"), Column("longest", "ms"))


def interactions(period: PeriodResult) -> Table:
    columns = (
        Column("interaction", number=False),
        Column("planned", "starts/s"),
        Column("achieved", "starts/s"),
        Column("starts"),
        Column("pacing misses"),
        Column("sent"),
        Column("of expected"),
        Column("received"),
        Column("of expected"),
        Column("chains completed"),
        *(Column(f"end to end, {column.title}", column.unit) for column in _TIMES),
    )
    return Table(
        f"Interactions in the period: {period.period}; a chain counts in the period of its start",
        columns,
        tuple(map(_interaction, period.interactions)),
    )


def _interaction(one: InteractionResult) -> Row:
    return Row(
        (
            f"{one.number} {one.title}",
            number(one.planned_per_s),
            number(one.started_per_s),
            f"{one.started:,}",
            f"{one.pacing_misses:,}" + (f" ({one.pacing_misses / one.started:.1%})" if one.pacing_misses else ""),
            f"{one.sent:,}",
            share(one.sent, one.expected_sent),
            f"{one.received:,}",
            share(one.received, one.expected_received),
            share(one.completed, one.started, one.completed),
            *times(one.end_to_end),
        ),
        "invalid" if one.completed < one.started else "",
    )


def steps(period: PeriodResult, chosen: Iterable[StepResult] | None = None) -> Table:
    columns = (
        Column("message", number=False),
        Column("interaction"),
        Column("sent"),
        Column("received"),
        Column("received", "KB"),
        *_TIMES,
    )
    rows = tuple(
        Row(
            (
                one.message,
                str(one.interaction),
                f"{one.sent:,}",
                f"{one.received:,}",
                number(one.received_bytes / 1000),
                *times(one.delivery),
            )
        )
        for one in (period.steps if chosen is None else chosen)
    )
    return Table(f"Messages in the period: {period.period}; delivery times from sent to received", columns, rows)


def handlers(period: PeriodResult) -> Table:
    """The slowest first; those that got nothing last."""
    ordered = sorted(period.handlers, key=_slowness, reverse=True)
    columns = (
        Column("event handler", number=False),
        Column("message", number=False),
        Column("received"),
        *_TIMES,
    )
    cut = f": the slowest {MOST} of {len(ordered):,}; the disclosure has all" if len(ordered) > MOST else ""
    return Table(
        f"Event handlers in the period: {period.period}{cut or f': all {len(ordered):,}, the slowest first'}",
        columns,
        tuple(
            Row((one.place, one.message, f"{one.received:,}", *times(one.delivery)), "" if one.received else "greyed")
            for one in ordered[:MOST]
        ),
    )


def _slowness(one: HandlerResult) -> tuple[float, int]:
    return -1.0 if one.delivery.p90_ms is None else one.delivery.p90_ms, -one.handler


def storage(found: Storage) -> Table:
    columns = (
        Column("storage for 24 hours", number=False),
        Column("grew by", "KB/s"),
        Column("in 24 hours", "GB"),
        Column("free now", "GB"),
        Column("what it says", number=False),
    )
    values = (
        "measured growth x 86400 s",
        NOTHING if found.growth_bytes_per_s is None else number(found.growth_bytes_per_s / 1e3),
        NOTHING if found.day_bytes is None else number(found.day_bytes / 1e9),
        NOTHING if found.free_bytes is None else number(found.free_bytes / 1e9),
        found.said,
    )
    return Table("Non-volatile storage at this load (run and reporting rules, section 5.1)", columns, (Row(values),))


def backlog(result: WorkloadResult) -> Table | None:
    """Destinations with messages that nobody received in the end; None where there is none."""
    left = sorted(result.backlog_by_destination.items(), key=lambda item: (-item[1], item[0]))
    left = [(name, count) for name, count in left if count]
    if not left:
        return None
    cut = f": the {MOST} largest of {len(left):,}; the disclosure has all" if len(left) > MOST else ""
    rows = tuple(Row((name, f"{count:,}"), "invalid") for name, count in left[:MOST])
    columns = (Column("destination", number=False), Column("copies"))
    return Table(f"Not received at the end of the drain, by destination{cut}", columns, rows)


def several(results: Sequence[WorkloadResult]) -> Table:
    """What a page with several results begins with; all of one topology."""
    columns = (
        Column("#"),
        Column("cell", number=False),
        Column("broker", number=False),
        Column("BASE"),
        Column("sent", "messages/s"),
        Column("received", "messages/s"),
        Column("broker CPU", "cores"),
        Column("slowest p90", "ms"),
        Column("first test that fails", number=False),
        Column("verdict", number=False),
    )
    rows = tuple(
        Row(
            (
                str(place),
                f"{result.key.cell}, start {result.key.start}",
                result.broker_title,
                str(result.base),
                *_rates(result.measured),
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
        return (NOTHING,) * 4
    slowest = slowest_p90_ms(period)
    return number(period.sent_per_s), number(period.received_per_s), number(period.broker_cpu), number(slowest)


def slowest_p90_ms(period: PeriodResult) -> float | None:
    """Of all event handlers, as rule 3.6.2 has it; None where nothing was received."""
    return max((one.delivery.p90_ms for one in period.handlers if one.delivery.p90_ms is not None), default=None)


def times(of: Times) -> tuple[str, ...]:
    return tuple(map(number, (of.p50_ms, of.p90_ms, of.p99_ms, of.max_ms)))


def share(part: float, whole: float, count: float | None = None) -> str:
    """`99.8 %`, with the count before it where one is given."""
    if not whole:
        return NOTHING if count is None else f"{count:,.0f}"
    return ("" if count is None else f"{count:,.0f} of {whole:,.0f}, ") + f"{100 * part / whole:.4g} %"


def number(value: float | None) -> str:
    """Four digits, and all digits before the point."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
