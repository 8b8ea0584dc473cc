"""The tables of a workload's result as values; the terminal and the report render the same ones.

Long tables are cut to their worst rows and state the total number of rows; the disclosure has all rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analysis.formats import NOTHING, number, share_of
from analysis.results import worst
from analysis.scenario.disclosure import Storage
from analysis.scenario.planned_destinations import PlannedDestination, planned_destinations
from analysis.scenario.results import (
    AuditRow,
    AuditVerdict,
    DeliveryTimes,
    DestinationResult,
    HandlerResult,
    InteractionResult,
    PeriodResult,
    StepResult,
    Warnings,
    WorkloadResult,
)
from analysis.table import Table, TableColumn, TableRow, grouped
from workloads.limits import Rule
from workloads.scenario import limits
from workloads.scenario.workload import Model
from workloads.schema import Severity
from workloads.status import VerdictKind

#: Maximum number of rows of a table; in the audit, of failed rows per test and period.
MOST = 50


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
    ordered = sorted(found.messages, key=lambda message: message.severity is not Severity.ERROR)
    more = f"; {found.others:,} further distinct messages were not kept" if found.others else ""
    return Table(
        f"Warnings of this broker start, from all its cells; messages that differ only in numbers share a row{more}",
        columns,
        tuple(
            TableRow((message.text, message.severity, f"{message.count:,}", message.first or NOTHING, message.source))
            for message in ordered
        ),
    )


_KINDS = {AuditVerdict.PASS: "", AuditVerdict.FAIL: "invalid", AuditVerdict.NOT_JUDGED: "greyed"}

_AUDIT_COLUMNS = (
    TableColumn("test", number=False),
    TableColumn("rule", number=False),
    TableColumn("period", number=False),
    TableColumn("where", number=False),
    TableColumn("observed"),
    TableColumn("expected", "count"),
    TableColumn("limit"),
    TableColumn("of what", number=False, report_only=True),
    TableColumn("verdict", number=False),
)


def audit(result: WorkloadResult, most: int = MOST) -> Table:
    """Every test in every period: the failed places, the worst `most` of them, and one row for each other verdict."""
    rows = [
        row
        for of_rule in grouped(result.audit, lambda row: row.rule).values()
        for of_period in grouped(of_rule, lambda row: row.period).values()
        for row in _audit_rows(of_period, result.workload.rules, most)
    ]
    return Table(
        "Every test of the audit; for passed tests the place closest to the limit, for failed tests every failed place",
        _AUDIT_COLUMNS,
        tuple(rows),
        keys=4,
    )


def _audit_rows(of_test: Sequence[AuditRow], rules: str, most: int) -> Iterator[TableRow]:
    """The rows of one test in one period, in the order of the places."""
    failed = [row for row in of_test if row.verdict is AuditVerdict.FAIL]
    worst_first = sorted(range(len(failed)), key=lambda place: -_severity(failed[place]))
    shown = [failed[place] for place in sorted(worst_first[:most])]
    yield from (_audit_row(row, row.scope, rules) for row in shown)
    if len(failed) > len(shown):
        more = f"and {len(failed) - len(shown):,} more places; the disclosure has all"
        yield TableRow(("", "", "", more, "", "", "", "", str(AuditVerdict.FAIL)), _KINDS[AuditVerdict.FAIL])
    for verdict in (AuditVerdict.PASS, AuditVerdict.NOT_JUDGED):
        same = [row for row in of_test if row.verdict is verdict]
        if same:
            worst = max(same, key=_severity)
            others = f" (and {len(same) - 1:,} more)" if len(same) > 1 else ""
            yield _audit_row(worst, f"{worst.scope}{others}", rules)


def _severity(row: AuditRow) -> float:
    """The absolute observed value in the rule's unit; -1 without an observation, so that such rows sort last."""
    return -1.0 if row.observed is None else abs(row.observed)


def _audit_row(row: AuditRow, place: str, rules: str) -> TableRow:
    sign = "± " if row.rule in _RELATIVE else ""
    values = (
        row.rule.name,
        section(row.rule, rules),
        row.period or "whole run",
        place,
        observed(row),
        number(row.expected),
        f"{sign}{_measure(row.rule, row.rule.limit)}",
        row.rule.unit,
        str(row.verdict),
    )
    return TableRow(values, _KINDS[row.verdict], row.why)


def observed(row: AuditRow) -> str:
    """The observed value with its unit; a relative deviation has a sign."""
    if row.observed is None:
        return NOTHING
    return _measure(row.rule, row.observed, "+" if row.rule in _RELATIVE else "")


def _measure(rule: Rule, value: float, sign: str = "") -> str:
    return f"{value:{sign}.1%}" if rule in _SHARES else f"{number(value)}{_UNITS.get(rule, '')}"


_RELATIVE = (
    limits.INPUT_RATE,
    limits.SENT,
    limits.RECEIVED,
    limits.LEVEL,
    limits.JOINS,
    limits.LEAVES,
    limits.STANDING,
)
_SHARES = (*_RELATIVE, limits.PACING, limits.CHURN_PACING, limits.BACKLOG)
_UNITS = {limits.DELIVERY_TIME: " ms", limits.JOIN_TIME: " ms", limits.CLOCK: " ms", limits.RECOVERY: " s"}


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
        TableColumn("delivery, mean", "ms"),
        TableColumn("late, p90", "ms"),
        TableColumn("late, p99", "ms"),
        TableColumn("late, longest", "ms"),
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
                number(period.delivery.mean_ms),
                number(period.lateness.p90_ms),
                number(period.lateness.p99_ms),
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


#: The columns of `times`.
TIMES = (TableColumn("p50", "ms"), TableColumn("p90", "ms"), TableColumn("p99", "ms"), TableColumn("longest", "ms"))


def interactions(period: PeriodResult) -> Iterator[Table]:
    """Two tables: starts and messages compared with the plan, and the completion of chains; none without either."""
    if not period.interactions:
        return
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
        tuple(map(_starts, period.interactions)),
    )
    ended = (
        TableColumn("interaction", number=False),
        TableColumn("started"),
        TableColumn("completed"),
        TableColumn("share"),
        *(TableColumn(f"end to end, {column.title}", column.unit) for column in TIMES),
    )
    yield Table(
        f"Chains, {period.period}: from the sending of the first message to the receipt of the last; a chain counts in "
        "the period of its start",
        ended,
        tuple(map(_chains, period.interactions)),
    )


def _starts(of: InteractionResult) -> TableRow:
    return TableRow(
        (
            f"{of.number} {of.title}",
            number(of.planned_per_s),
            number(of.started_per_s),
            f"{of.started:,}",
            f"{of.pacing_misses:,}" + (f" ({of.pacing_misses / of.started:.1%})" if of.started else ""),
            f"{of.sent:,}",
            _of_expected(of.sent, of.expected_sent),
            f"{of.received:,}",
            _of_expected(of.received, of.expected_received),
        )
    )


def _of_expected(found: int, expected: float) -> str:
    return f"{expected:,.0f}" + (f" ({share_of(found, expected)})" if expected else "")


def _chains(of: InteractionResult) -> TableRow:
    values = (
        f"{of.number} {of.title}",
        f"{of.started:,}",
        f"{of.completed:,}",
        share_of(of.completed, of.started),
        *times(of.end_to_end),
    )
    return TableRow(values, "invalid" if of.completed < of.started else "")


def steps(periods: Sequence[PeriodResult], interaction: int | None = None) -> Table | None:
    """The messages of one interaction, or of all, one row for each period; None if nothing was measured."""
    columns = (
        TableColumn("message", number=False),
        TableColumn("interaction"),
        TableColumn("period", number=False),
        TableColumn("sent"),
        TableColumn("received"),
        TableColumn("received", "KB"),
        *TIMES,
        TableColumn("slowest handler, p90", "ms"),
    )
    found = [
        (place, order, period, step)
        for order, period in enumerate(periods)
        for place, step in enumerate(period.steps)
        if interaction in {None, step.interaction}
    ]
    rows = tuple(_step(period, step) for *_, period, step in sorted(found, key=lambda entry: entry[:2]))
    return Table("Messages, with delivery times from sent to received", columns, rows) if rows else None


def _step(period: PeriodResult, step: StepResult) -> TableRow:
    handlers = [handler for handler in period.handlers if handler.message == step.message]
    slowest = max(handlers, key=_slowness, default=None)
    return TableRow(
        (
            step.message,
            str(step.interaction),
            str(period.period),
            f"{step.sent:,}",
            f"{step.received:,}",
            number(step.received_bytes / 1000),
            *times(step.delivery),
            NOTHING
            if slowest is None or slowest.delivery.p90_ms is None
            else f"{slowest.place}: {number(slowest.delivery.p90_ms)}",
        )
    )


def handlers(period: PeriodResult) -> Table:
    """Event handlers, the slowest first; those that received nothing come last."""
    ordered = sorted(period.handlers, key=_slowness, reverse=True)
    columns = (
        TableColumn("event handler", number=False),
        TableColumn("message", number=False),
        TableColumn("received"),
        *TIMES,
    )
    cut = f": the slowest {MOST} of {len(ordered):,}; the disclosure has all" if len(ordered) > MOST else ""
    return Table(
        f"Event handlers in the period: {period.period}{cut or f': all {len(ordered):,}, the slowest first'}",
        columns,
        tuple(
            TableRow(
                (handler.place, handler.message, f"{handler.received:,}", *times(handler.delivery)),
                "" if handler.received else "greyed",
            )
            for handler in ordered[:MOST]
        ),
    )


def _slowness(handler: HandlerResult) -> tuple[float, int]:
    return -1.0 if handler.delivery.p90_ms is None else handler.delivery.p90_ms, -handler.handler


def destinations(result: WorkloadResult, model: Model) -> Table:
    """Every destination with its subscriptions, filters and delivery times, the busiest first.

    model: that of the result
    """
    columns = (
        TableColumn("destination", number=False),
        TableColumn("kind", number=False),
        TableColumn("subscriptions"),
        TableColumn("filters"),
        TableColumn("sent by the tables", "messages/s"),
        TableColumn("filters evaluated by the tables", "per s"),
        TableColumn("rejecting", "per s"),
        TableColumn("received"),
        TableColumn("mean", "ms"),
        *TIMES,
    )
    planned = planned_destinations(result, model)
    of_period = () if result.measured is None else result.measured.destinations
    measured = {found.destination: found for found in of_period}
    ordered = sorted(range(len(planned)), key=lambda place: (-planned[place].sent_per_s, place))
    rows = [_destination(planned[place], measured.get(place)) for place in ordered[:MOST]]
    sums = [sum(getattr(row, name) for row in planned) for name in _SUMS]
    overall = None if result.measured is None else result.measured.delivery
    total = ("all", "", f"{sums[0]:,}", f"{sums[1]:,}", *map(number, sums[2:]), *_received(overall))
    cut = f"; the busiest {MOST} of {len(planned):,}" if len(planned) > MOST else ""
    return Table(
        "Destinations of the broker: filters are subscriptions with a selector, each evaluated for each message on its "
        f"topic; these rates follow from the tables. Received in the measurement, with delivery times{cut}",
        columns,
        (*rows, TableRow(total, "sum")),
    )


_SUMS = ("subscriptions", "filters", "sent_per_s", "evaluated_per_s", "rejected_per_s")


def _destination(planned: PlannedDestination, measured: DestinationResult | None) -> TableRow:
    return TableRow(
        (
            planned.name,
            planned.kind,
            f"{planned.subscriptions:,}",
            f"{planned.filters:,}",
            number(planned.sent_per_s),
            number(planned.evaluated_per_s),
            number(planned.rejected_per_s),
            *_received(None if measured is None else measured.delivery),
        )
    )


def _received(delivery: DeliveryTimes | None) -> tuple[str, ...]:
    """The number of copies, the mean and the percentiles."""
    if delivery is None:
        return (NOTHING,) * (2 + len(TIMES))
    return f"{delivery.count:,}", number(delivery.mean_ms), *times(delivery)


def configurations(results: Sequence[WorkloadResult]) -> Iterator[Table]:
    """Configurations of a workload side by side: a table per broker, topology and consumption with several of them.

    Values are means over the starts; those of a cell whose audit failed somewhere are greyed.
    """
    configured = [result for result in results if result.plan.configuration is not None]
    runs = {result.run for result in configured}
    columns = (
        TableColumn("cell", number=False),
        *((TableColumn("run", number=False),) if len(runs) > 1 else ()),
        TableColumn("starts"),
        TableColumn("sent", "messages/s"),
        TableColumn("received", "messages/s"),
        TableColumn("broker CPU", "cores"),
        TableColumn("broker CPU per message", "µs"),
        TableColumn("delivery, mean", "ms"),
        TableColumn("filters per message"),
        TableColumn("rejecting, per message"),
        TableColumn("verdict", number=False),
    )
    kinds = grouped(configured, lambda result: (result.workload.name, result.key.broker, *kind(result)))
    for (_, broker, topology, consumption, *_), of_kind in kinds.items():
        ordered = sorted(of_kind, key=lambda result: result.key.cell)  # measured in random order
        cells = grouped(ordered, lambda result: (result.run, result.key.cell))
        if len(cells) > 1:
            yield Table(
                f"Configurations side by side on {broker}, {topology} topology, {consumption} consumption: means over "
                "the starts; CPU per message sent or received; filters by the tables, per message sent",
                columns,
                tuple(_configuration(starts, several_runs=len(runs) > 1) for starts in cells.values()),
            )


def kind(result: WorkloadResult) -> tuple[str, ...]:
    """Topology, consumption, and what else keeps results apart: those that differ in it are never side by side."""
    apart = (f"{name} {value}" for name, value in result.workload.apart(result.model).items())
    return result.topology, result.consumption, *apart


def _configuration(starts: Sequence[WorkloadResult], *, several_runs: bool) -> TableRow:
    first = starts[0]
    planned = planned_destinations(first, first.model)
    sent_per_s, evaluated, rejected = (sum(getattr(row, name) for row in planned) for name in _SUMS[2:])
    periods = [result.measured for result in starts if result.measured is not None]
    values: tuple[list[float | None], ...] = (
        [period.sent_per_s for period in periods],
        [period.received_per_s for period in periods],
        [period.broker_cpu for period in periods],
        [_us(period.broker_s_per_message) for period in periods],
        [period.delivery.mean_ms for period in periods],
    )
    verdict = worst(result.verdict for result in starts)
    return TableRow(
        (
            first.key.cell,
            *((first.run,) if several_runs else ()),
            str(len(starts)),
            *map(_mean, values),
            number(evaluated / sent_per_s),
            number(rejected / sent_per_s),
            verdict,
        ),
        "greyed" if verdict == VerdictKind.INVALID else "",
    )


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else 1e6 * seconds


def _mean(values: Sequence[float | None]) -> str:
    """The mean; nothing where a value is not known."""
    known = [value for value in values if value is not None]
    return number(sum(known) / len(known)) if known and len(known) == len(values) else NOTHING


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
    """Addresses with the most copies in flight at the end of the measurement, and the sum of each destination.

    None if there were none.
    """
    left = sorted(result.backlog_by_address.items(), key=lambda item: (-item[1], item[0]))
    left = [(label, count) for label, count in left if count]
    if not left:
        return None
    cut = f": the {MOST} largest of {len(left):,}; the disclosure has all" if len(left) > MOST else ""
    names = {address.label: result.plan.destinations[address.destination].name for address in result.plan.addresses}
    rows = tuple(
        TableRow((label, f"{count:,}", names[label], f"{result.backlog_by_destination[names[label]]:,}"))
        for label, count in left[:MOST]
    )
    columns = (
        TableColumn("address", number=False),
        TableColumn("copies"),
        TableColumn("destination", number=False),
        TableColumn("copies of all its addresses"),
    )
    return Table(f"Copies in flight at the end of the measurement, by address{cut}", columns, rows)


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


def _cores(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
