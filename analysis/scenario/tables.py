"""The tables of a workload's result as values; the terminal and the report render the same ones.

Long tables are cut to their worst rows and state the total number of rows; the disclosure has all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from analysis.formats import NOTHING, decimals, number, share_of
from analysis.results import worst
from analysis.scenario.disclosure import Storage
from analysis.scenario.planned_destinations import PlannedDestination, planned_destinations
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
from analysis.table import Table, TableColumn, grouped
from workloads.limits import Rule
from workloads.scenario import limits
from workloads.scenario.workload import Model
from workloads.schema import Severity
from workloads.status import VerdictKind

#: Maximum number of rows of a table; in the audit, of failed rows per test and period.
MOST = 50

_Item = TypeVar("_Item")


def warnings(found: Warnings) -> Table | None:
    """Every message that was kept, errors first; None if there are none."""
    if not found.messages:
        return None
    more = f"; {found.others:,} further distinct messages were not kept" if found.others else ""
    return Table.of(
        f"Warnings of this broker start, from all its cells; messages that differ only in numbers share a row{more}",
        sorted(found.messages, key=lambda message: message.severity is not Severity.ERROR),
        TableColumn("message", lambda message: message.text, number=False),
        TableColumn("severity", lambda message: message.severity, number=False),
        TableColumn("times", lambda message: f"{message.count:,}"),
        TableColumn("first", lambda message: message.first or NOTHING, number=False),
        TableColumn("from", lambda message: message.source, number=False),
    )


_KINDS = {AuditVerdict.PASS: "", AuditVerdict.FAIL: "invalid", AuditVerdict.NOT_JUDGED: "greyed"}


@dataclass(frozen=True, slots=True)
class _ShownRow:
    """A row of the audit with the words for its place; without one, it counts further failed places."""

    place: str
    verdict: AuditVerdict
    row: AuditRow | None = None

    def of(self, text: Callable[[AuditRow], str]) -> str:
        return "" if self.row is None else text(self.row)


def audit(result: WorkloadResult, most: int = MOST) -> Table:
    """Every test in every period: the failed places, the worst `most` of them, and one row for each other verdict."""
    return Table.of(
        "Every test of the audit; for passed tests the place closest to the limit, for failed tests every failed place",
        [
            row
            for of_rule in grouped(result.audit, lambda row: row.rule).values()
            for of_period in grouped(of_rule, lambda row: row.period).values()
            for row in _audit_rows(of_period, most)
        ],
        TableColumn("test", lambda shown: shown.of(lambda row: row.rule.name), number=False),
        TableColumn("rule", lambda shown: shown.of(lambda row: section(row.rule, result.workload.rules)), number=False),
        TableColumn("period", lambda shown: shown.of(lambda row: row.period or "whole run"), number=False),
        TableColumn("where", lambda shown: shown.place, number=False),
        TableColumn("observed", lambda shown: shown.of(observed)),
        TableColumn("expected", lambda shown: shown.of(lambda row: number(row.expected)), "count"),
        TableColumn("limit", lambda shown: shown.of(_limit)),
        TableColumn("of what", lambda shown: shown.of(lambda row: row.rule.unit), number=False, report_only=True),
        TableColumn("verdict", lambda shown: shown.verdict, number=False),
        kind=lambda shown: _KINDS[shown.verdict],
        note=lambda shown: shown.of(lambda row: row.why),
        keys=4,
    )


def _audit_rows(of_test: Sequence[AuditRow], most: int) -> Iterator[_ShownRow]:
    """The rows of one test in one period, in the order of the places."""
    failed = [row for row in of_test if row.verdict is AuditVerdict.FAIL]
    worst_first = sorted(range(len(failed)), key=lambda place: -_severity(failed[place]))
    shown = [failed[place] for place in sorted(worst_first[:most])]
    yield from (_ShownRow(row.scope, row.verdict, row) for row in shown)
    if len(failed) > len(shown):
        more = f"and {len(failed) - len(shown):,} more places; the disclosure has all"
        yield _ShownRow(more, AuditVerdict.FAIL)
    for verdict in (AuditVerdict.PASS, AuditVerdict.NOT_JUDGED):
        same = [row for row in of_test if row.verdict is verdict]
        if same:
            worst = max(same, key=_severity)
            others = f" (and {len(same) - 1:,} more)" if len(same) > 1 else ""
            yield _ShownRow(f"{worst.scope}{others}", verdict, worst)


def _severity(row: AuditRow) -> float:
    """The absolute observed value in the rule's unit; -1 without an observation, so that such rows sort last."""
    return -1.0 if row.observed is None else abs(row.observed)


def _limit(row: AuditRow) -> str:
    return f"{'± ' if row.rule in _RELATIVE else ''}{_measure(row.rule, row.rule.limit)}"


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
_UNITS = {limits.DELIVERY_TIME: " ms", limits.JOIN_TIME: " ms", limits.CLOCK: " ms"}


def section(rule: Rule, rules: str) -> str:
    """The source of a limit without its remark; `section 3.6.2` if it is the document with this title."""
    return re.split("[;:]", rule.source, maxsplit=1)[0].removeprefix(f"{rules}, ")


def periods(result: WorkloadResult) -> Table:
    return Table.of(
        "Measured periods; store: growth of the broker's files; late: delay of starts after their planned instants",
        result.periods,
        TableColumn("period", lambda of: of.period, number=False),
        TableColumn("length", lambda of: number(of.seconds), "s"),
        TableColumn("sent", lambda of: number(of.sent_per_s), "messages/s"),
        TableColumn("received", lambda of: number(of.received_per_s), "messages/s"),
        TableColumn("received", lambda of: number(of.received_kb_per_s), "KB/s"),
        TableColumn("broker CPU", lambda of: decimals(of.broker_cpu, 3), "cores"),
        TableColumn("load CPU", lambda of: decimals(of.load_cpu, 3), "cores"),
        TableColumn("per message", lambda of: number(of.load_us_per_message), "µs"),
        TableColumn("store", lambda of: _in(of.store_growth_bytes_per_s, 1e3), "KB/s"),
        TableColumn("delivery, mean", lambda of: number(of.delivery.mean_ms), "ms"),
        TableColumn("late, p90", lambda of: number(of.lateness.p90_ms), "ms"),
        TableColumn("late, p99", lambda of: number(of.lateness.p99_ms), "ms"),
        TableColumn("late, longest", lambda of: number(of.lateness.max_ms), "ms"),
    )


def times(of: Callable[[_Item], DeliveryTimes | None], begin: str = "") -> tuple[TableColumn[_Item], ...]:
    """The columns of the percentiles of a duration; the titles begin with `begin`."""

    def column(title: str, value: Callable[[DeliveryTimes], float | None]) -> TableColumn[_Item]:
        def text(item: _Item) -> str:
            found = of(item)
            return NOTHING if found is None else number(value(found))

        return TableColumn(f"{begin}{title}", text, "ms")

    return (
        column("p50", lambda found: found.p50_ms),
        column("p90", lambda found: found.p90_ms),
        column("p99", lambda found: found.p99_ms),
        column("longest", lambda found: found.max_ms),
    )


def interactions(period: PeriodResult) -> Iterator[Table]:
    """Two tables: starts and messages compared with the plan, and the completion of chains; none without either."""
    if not period.interactions:
        return
    yield Table.of(
        f"Interactions, {period.period}: starts and messages, compared with what the model predicts",
        period.interactions,
        TableColumn("interaction", lambda of: f"{of.number} {of.title}", number=False),
        TableColumn("planned", lambda of: number(of.planned_per_s), "starts/s"),
        TableColumn("achieved", lambda of: number(of.started_per_s), "starts/s"),
        TableColumn("starts", lambda of: f"{of.started:,}"),
        TableColumn("pacing misses", _pacing_misses),
        TableColumn("sent", lambda of: f"{of.sent:,}"),
        TableColumn("of expected", lambda of: _of_expected(of.sent, of.expected_sent)),
        TableColumn("received", lambda of: f"{of.received:,}"),
        TableColumn("of expected", lambda of: _of_expected(of.received, of.expected_received)),
    )
    yield Table.of(
        f"Chains, {period.period}: from the sending of the first message to the receipt of the last; a chain counts in "
        "the period of its start",
        period.interactions,
        TableColumn("interaction", lambda of: f"{of.number} {of.title}", number=False),
        TableColumn("started", lambda of: f"{of.started:,}"),
        TableColumn("completed", lambda of: f"{of.completed:,}"),
        TableColumn("share", lambda of: share_of(of.completed, of.started)),
        *times(lambda of: of.end_to_end, "end to end, "),
        kind=lambda of: "invalid" if of.completed < of.started else "",
    )


def _pacing_misses(of: InteractionResult) -> str:
    return f"{of.pacing_misses:,}" + (f" ({of.pacing_misses / of.started:.1%})" if of.started else "")


def _of_expected(found: int, expected: float) -> str:
    return f"{expected:,.0f}" + (f" ({share_of(found, expected)})" if expected else "")


def steps(periods: Sequence[PeriodResult], interaction: int | None = None) -> Table | None:
    """The messages of one interaction, or of all, one row for each period; None if nothing was measured."""
    found = [
        (place, order, period, step)
        for order, period in enumerate(periods)
        for place, step in enumerate(period.steps)
        if interaction in {None, step.interaction}
    ]
    if not found:
        return None
    return Table.of(
        "Messages, with delivery times from sent to received",
        [(period, step) for *_, period, step in sorted(found, key=lambda entry: entry[:2])],
        TableColumn("message", lambda of: of[1].message, number=False),
        TableColumn("interaction", lambda of: str(of[1].interaction)),
        TableColumn("period", lambda of: of[0].period, number=False),
        TableColumn("sent", lambda of: f"{of[1].sent:,}"),
        TableColumn("received", lambda of: f"{of[1].received:,}"),
        TableColumn("received", lambda of: number(of[1].received_bytes / 1000), "KB"),
        *times(lambda of: of[1].delivery),
        TableColumn("slowest handler, p90", lambda of: _slowest(*of), "ms"),
    )


def _slowest(period: PeriodResult, step: StepResult) -> str:
    """The slowest event handler of a message."""
    handlers = [handler for handler in period.handlers if handler.message == step.message]
    slowest = max(handlers, key=_slowness, default=None)
    if slowest is None or slowest.delivery.p90_ms is None:
        return NOTHING
    return f"{slowest.place}: {number(slowest.delivery.p90_ms)}"


def handlers(period: PeriodResult) -> Table:
    """Event handlers, the slowest first; those that received nothing come last."""
    ordered = sorted(period.handlers, key=_slowness, reverse=True)
    cut = f": the slowest {MOST} of {len(ordered):,}; the disclosure has all" if len(ordered) > MOST else ""
    return Table.of(
        f"Event handlers in the period: {period.period}{cut or f': all {len(ordered):,}, the slowest first'}",
        ordered[:MOST],
        TableColumn("event handler", lambda handler: handler.place, number=False),
        TableColumn("message", lambda handler: handler.message, number=False),
        TableColumn("received", lambda handler: f"{handler.received:,}"),
        *times(lambda handler: handler.delivery),
        kind=lambda handler: "" if handler.received else "greyed",
    )


def _slowness(handler: HandlerResult) -> tuple[float, int]:
    return -1.0 if handler.delivery.p90_ms is None else handler.delivery.p90_ms, -handler.handler


def destinations(result: WorkloadResult, model: Model) -> Table:
    """Every destination with its subscriptions, filters and delivery times, the busiest first.

    model: that of the result
    """
    planned = planned_destinations(result, model)
    of_period = () if result.measured is None else result.measured.destinations
    measured = {found.destination: found.delivery for found in of_period}
    ordered = sorted(range(len(planned)), key=lambda place: (-planned[place].sent_per_s, place))
    everything = (
        PlannedDestination("all", "", *(sum(getattr(row, name) for row in planned) for name in _SUMS)),
        None if result.measured is None else result.measured.delivery,
    )
    cut = f"; the busiest {MOST} of {len(planned):,}" if len(planned) > MOST else ""
    return Table.of(
        "Destinations of the broker: filters are subscriptions with a selector, each evaluated for each message on its "
        f"topic; these rates follow from the tables. Received in the measurement, with delivery times{cut}",
        [*((planned[place], measured.get(place)) for place in ordered[:MOST]), everything],
        TableColumn("destination", lambda of: of[0].name, number=False),
        TableColumn("kind", lambda of: of[0].kind, number=False),
        TableColumn("subscriptions", lambda of: f"{of[0].subscriptions:,}"),
        TableColumn("filters", lambda of: f"{of[0].filters:,}"),
        TableColumn("sent by the tables", lambda of: number(of[0].sent_per_s), "messages/s"),
        TableColumn("filters evaluated by the tables", lambda of: number(of[0].evaluated_per_s), "per s"),
        TableColumn("rejecting", lambda of: number(of[0].rejected_per_s), "per s"),
        TableColumn("received", lambda of: NOTHING if of[1] is None else f"{of[1].count:,}"),
        TableColumn("mean", lambda of: NOTHING if of[1] is None else number(of[1].mean_ms), "ms"),
        *times(lambda of: of[1]),
        kind=lambda of: "sum" if of is everything else "",
    )


_SUMS = ("subscriptions", "filters", "sent_per_s", "evaluated_per_s", "rejected_per_s")


def configurations(results: Sequence[WorkloadResult]) -> Iterator[Table]:
    """Configurations of a workload side by side: a table per broker, topology and consumption with several of them.

    Values are means over the starts; those of a cell whose audit failed somewhere are greyed.
    """
    configured = [result for result in results if result.workload.configuration is not None]
    runs = {result.run for result in configured}
    run: TableColumn[_Configuration] = TableColumn("run", lambda of: of.first.run, number=False)
    kinds = grouped(configured, lambda result: (result.workload.name, result.key.broker, *kind(result)))
    for (_, broker, topology, consumption, *_), of_kind in kinds.items():
        ordered = sorted(of_kind, key=lambda result: result.key.cell)  # measured in random order
        cells = grouped(ordered, lambda result: (result.run, result.key.cell))
        if len(cells) > 1:
            yield Table.of(
                f"Configurations side by side on {broker}, {topology} topology, {consumption} consumption: means over "
                "the starts; CPU per message sent or received; filters by the tables, per message sent",
                map(_Configuration, cells.values()),
                TableColumn("cell", lambda of: of.first.key.cell, number=False),
                *([run] if len(runs) > 1 else []),
                TableColumn("starts", lambda of: str(len(of.starts))),
                TableColumn("sent", lambda of: of.mean(lambda period: period.sent_per_s), "messages/s"),
                TableColumn("received", lambda of: of.mean(lambda period: period.received_per_s), "messages/s"),
                TableColumn("broker CPU", lambda of: of.mean(lambda period: period.broker_cpu), "cores"),
                TableColumn("broker CPU per message", lambda of: of.mean(_broker_us), "µs"),
                TableColumn("delivery, mean", lambda of: of.mean(lambda period: period.delivery.mean_ms), "ms"),
                TableColumn("filters per message", lambda of: of.per_message(lambda row: row.evaluated_per_s)),
                TableColumn("rejecting, per message", lambda of: of.per_message(lambda row: row.rejected_per_s)),
                TableColumn("verdict", lambda of: of.verdict, number=False),
                kind=lambda of: "greyed" if of.verdict == VerdictKind.INVALID else "",
            )


def kind(result: WorkloadResult) -> tuple[str, ...]:
    """Topology, consumption, and what else keeps results apart: those that differ in it are never side by side."""
    apart = (f"{name} {value}" for name, value in result.workload.apart(result.model).items())
    return result.topology, result.consumption, *apart


@dataclass(frozen=True, slots=True)
class _Configuration:
    """A cell with its starts."""

    starts: Sequence[WorkloadResult]

    @property
    def first(self) -> WorkloadResult:
        return self.starts[0]

    @property
    def verdict(self) -> VerdictKind:
        return worst(result.verdict for result in self.starts)

    def mean(self, value: Callable[[PeriodResult], float | None]) -> str:
        """The mean over the measurements; nothing where a value is not known."""
        values = [value(result.measured) for result in self.starts if result.measured is not None]
        known = [value for value in values if value is not None]
        return number(sum(known) / len(known)) if known and len(known) == len(values) else NOTHING

    def per_message(self, rate: Callable[[PlannedDestination], float]) -> str:
        """What the tables say of a message, by its rate at each destination."""
        planned = planned_destinations(self.first, self.first.model)
        return number(sum(map(rate, planned)) / sum(row.sent_per_s for row in planned))


def _broker_us(period: PeriodResult) -> float | None:
    return None if period.broker_s_per_message is None else 1e6 * period.broker_s_per_message


def storage(found: Storage) -> Table:
    return Table.of(
        "Non-volatile storage for 24 hours at this load: measured growth x 86400 s (rules, section 5.1)",
        [found],
        TableColumn("store", lambda of: of.store, number=False),
        TableColumn("grew by", lambda of: _in(of.growth_bytes_per_s, 1e3), "KB/s"),
        TableColumn("in 24 hours", lambda of: _in(of.day_bytes, 1e9), "GB"),
        TableColumn("free now", lambda of: _in(of.free_bytes, 1e9), "GB"),
        TableColumn("meaning", lambda of: of.said, number=False),
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
    to = {address.label: result.plan.destinations[address.destination].name for address in result.plan.addresses}
    return Table.of(
        f"Copies in flight at the end of the measurement, by address{cut}",
        left[:MOST],
        TableColumn("address", lambda of: of[0], number=False),
        TableColumn("copies", lambda of: f"{of[1]:,}"),
        TableColumn("destination", lambda of: to[of[0]], number=False),
        TableColumn("copies of all its addresses", lambda of: f"{result.backlog_by_destination[to[of[0]]]:,}"),
    )


def several(results: Sequence[WorkloadResult]) -> Table:
    """The overview at the top of a page with several results, all of one topology."""
    return Table.of(
        f"Results of {results[0].topology}",
        list(enumerate(results, 1)),
        TableColumn("#", lambda of: str(of[0])),
        TableColumn("cell", lambda of: f"{of[1].key.cell}, start {of[1].key.start}", number=False),
        TableColumn("broker", lambda of: of[1].broker.title, number=False),
        TableColumn("BASE", lambda of: str(of[1].base)),
        TableColumn("sent", lambda of: number(getattr(of[1].measured, "sent_per_s", None)), "messages/s"),
        TableColumn("received", lambda of: number(getattr(of[1].measured, "received_per_s", None)), "messages/s"),
        TableColumn("broker CPU", lambda of: decimals(getattr(of[1].measured, "broker_cpu", None), 3), "cores"),
        TableColumn("slowest p90", lambda of: number(of[1].p90_ms), "ms"),
        TableColumn("first failed test", lambda of: _first_failed(of[1]), number=False),
        TableColumn("verdict", lambda of: of[1].verdict, number=False),
        kind=lambda of: "greyed" if of[1].failed else "",
    )


def _first_failed(result: WorkloadResult) -> str:
    return result.failed[0].rule.name if result.failed else NOTHING


def _in(value: float | None, unit: float) -> str:
    return NOTHING if value is None else number(value / unit)
