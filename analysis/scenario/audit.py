"""The rows of the audit: the observed counts against the model and the limits of `workloads.scenario.limits`.

Plain arithmetic; a row states what was observed, whether it is within the limit and, if not, the first example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from analysis.scenario import steady
from analysis.scenario.aggregates import Counts, times
from analysis.scenario.reader import CaseRecord
from analysis.scenario.results import AuditRow, AuditVerdict, Second
from workloads.arrivals import ArrivalProcess
from workloads.errors import WorkloadError
from workloads.limits import Rule
from workloads.scenario import limits
from workloads.scenario.execution import Execution
from workloads.scenario.periods import Period

#: If the last recorded start of a driver is more than this many mean gaps before the end of a period, the driver has
#: fallen behind its plan.
_SILENT_GAPS = 5
#: A driver without any start fails only if more than this many starts were planned for it.
_SURE_STARTS = 20

_MEASURED = (Period.MEASUREMENT, Period.REPEAT)


@dataclass(frozen=True, slots=True)
class InteractionCounts:
    """The counts of an interaction in a measured period, with those that the model predicts."""

    number: int
    #: Executions started.
    started: int
    expected_started: float
    #: Messages sent.
    sent: int
    expected_sent: float
    #: Messages received.
    received: int
    expected_received: float
    #: Starts that were more than one mean gap late.
    misses: int


@dataclass(frozen=True)
class AuditInput:
    """A cell with its aggregates."""

    cell: CaseRecord
    counts: Counts
    #: The row of each period in the table `periods`.
    periods: Mapping[Period, Mapping[str, Any]]
    seconds: Sequence[Second]

    def elapsed_s(self, period: Period) -> float:
        row = self.periods[period]
        return float(row["end_ns"] - row["begin_ns"]) / 1e9

    @property
    def poisson(self) -> bool:
        return bool(self.cell.plan["arrivals"] == ArrivalProcess.POISSON)

    @property
    def killed(self) -> bool:
        return bool(self.cell.plan["killed"])

    @property
    def measured(self) -> tuple[Period, ...]:
        """The measured periods; none if the broker was killed."""
        return () if self.killed else tuple(period for period in _MEASURED if period in self.periods)


def flow(material: AuditInput, number: int, period: Period) -> InteractionCounts:
    """The counts of an interaction in a period.

    The model predicts rate times duration executions, and messages as that number times the mean number of messages per
    recorded execution, which depends on the suppliers of its product family. For Poisson arrivals the plan as drawn is
    the model: the starts planned in the period and, if a driver fell behind its plan, its rate times the remaining
    time.
    """
    cell, counts = material.cell, material.counts
    seconds = material.elapsed_s(period)
    interaction = cell.model.interactions[number]
    expected = float(interaction.started_per_s) * seconds
    if material.poisson:
        expected = sum(_drawn(material, driver, period) for driver in _drivers(cell, number))
    row = counts.executions.get((period, number))
    if row is not None and row["started"]:
        each_sent, each_received = row["due"] / row["started"], row["copies"] / row["started"]
    else:
        each_sent, each_received = float(interaction.sent), float(interaction.received)
    mine = set(_steps(cell, number))
    pace = counts.pace.get((period, number))
    return InteractionCounts(
        number,
        0 if pace is None else pace.n,
        expected,
        sum(row["n"] for (at, to), row in counts.sent.items() if at is period and cell.destination_steps[to] in mine),
        expected * each_sent,
        sum(row["n"] for (at, step), row in counts.steps.items() if at is period and step in mine),
        expected * each_received,
        0 if pace is None else pace.misses,
    )


def audit(material: AuditInput, flows: Mapping[tuple[Period, int], InteractionCounts]) -> tuple[AuditRow, ...]:
    """All rows in the order of the rules: tests of the measurement, of the whole run, and of the repeat."""
    first, repeat = ([row for row in material.measured if (row is Period.REPEAT) == again] for again in (False, True))
    rows = [row for period in first for row in _published(material, flows, period)]
    rows += [*_delivered(material), *_beyond(material)]
    rows += [row for period in first for row in _steady(material, period)]
    again = [row for period in repeat for row in (*_published(material, flows, period), *_steady(material, period))]
    return (*rows, *again, *_repeated(again))


def _steps(cell: CaseRecord, interaction: int) -> list[int]:
    """The numbers of the message types of an interaction."""
    return [number for number, step in enumerate(cell.steps) if step.interaction == interaction]


def _drivers(cell: CaseRecord, interaction: int) -> list[Mapping[str, Any]]:
    return [driver for driver in cell.plan["drivers"] if cell.steps[driver["step"]].interaction == interaction]


def _drawn(material: AuditInput, driver: Mapping[str, Any], period: Period) -> float:
    drawn = material.counts.drawn.get((period, driver["number"]), 0)
    row = material.counts.drivers.get(driver["number"])
    span = material.periods[period]
    last_ns = span["begin_ns"] if row is None else max(row.last_planned_ns, span["begin_ns"])
    rest = max(0.0, (span["end_ns"] - last_ns) / 1e9) * driver["rate_per_s"]
    return drawn + (rest if rest > _SILENT_GAPS else 0.0)


def _published(
    material: AuditInput, flows: Mapping[tuple[Period, int], InteractionCounts], period: Period
) -> Iterator[AuditRow]:
    mine = [flows[period, number] for number in material.cell.model.interactions]
    for one in mine:
        yield _count(material, one, period, limits.INPUT_RATE, one.started, one.expected_started)
    for one in mine:
        yield _count(material, one, period, limits.SENT, one.sent, one.expected_sent)
    for one in mine:
        yield _count(material, one, period, limits.RECEIVED, one.received, one.expected_received)
    for one in mine:
        yield _pacing(one, period)
    for handler in material.cell.plan["handlers"]:
        yield _delivery_time(material, handler["number"], period)


def _count(
    material: AuditInput, one: InteractionCounts, period: Period, rule: Rule, observed: int, expected: float
) -> AuditRow:
    """The row of a count. Counts are whole numbers, so the limits are rounded outwards to whole numbers.

    Drivers are staggered: a period has up to one execution more or less than its share. If the messages of a chain
    follow each other, an edge of the period may also cut an execution in two.
    """
    scope = f"interaction {one.number}"
    edges = 2 if rule is not limits.INPUT_RATE and len(_steps(material.cell, one.number)) > 1 else 1
    deviation = observed / expected - 1 if expected else None
    if edges > rule.limit * one.expected_started:
        rate = float(material.cell.model.interactions[one.number].started_per_s)
        why = (
            f"too short: {one.expected_started:.1f} executions are expected, and the {edges} that the edges of the "
            f"period may cut are more than {rule.limit:.0%}; judged from {edges / rule.limit / rate:.0f} s on"
        )
        return AuditRow(rule, scope, deviation, AuditVerdict.NOT_JUDGED, expected, why, period)
    low, high = floor((1 - rule.limit) * expected), ceil((1 + rule.limit) * expected)
    if low <= observed <= high:
        return AuditRow(rule, scope, deviation, AuditVerdict.PASS, expected, period=period)
    why = f"{observed}, where the model has {expected:.1f}"
    return AuditRow(rule, scope, deviation, AuditVerdict.FAIL, expected, why, period)


def _pacing(one: InteractionCounts, period: Period) -> AuditRow:
    scope = f"interaction {one.number}"
    if not one.started:
        return AuditRow(limits.PACING, scope, None, AuditVerdict.NOT_JUDGED, why="nothing was started", period=period)
    share = one.misses / one.started
    if share <= limits.PACING.limit:
        return AuditRow(limits.PACING, scope, share, AuditVerdict.PASS, period=period)
    why = f"{one.misses} of {one.started} starts were more than one mean gap late"
    return AuditRow(limits.PACING, scope, share, AuditVerdict.FAIL, why=why, period=period)


def _delivery_time(material: AuditInput, handler: int, period: Period) -> AuditRow:
    rule, scope = limits.DELIVERY_TIME, material.cell.name(handler)
    found = times(material.counts.handlers.get((period, handler)))
    if found.p90_ms is None:
        return AuditRow(rule, scope, None, AuditVerdict.NOT_JUDGED, why="received nothing in the period", period=period)
    if found.p90_ms <= rule.limit:
        return AuditRow(rule, scope, found.p90_ms, AuditVerdict.PASS, period=period)
    why = f"{found.p90_ms:.0f} ms at the 90th percentile of {found.count} messages"
    return AuditRow(rule, scope, found.p90_ms, AuditVerdict.FAIL, why=why, period=period)


def _delivered(material: AuditInput) -> Iterator[AuditRow]:
    """One row per destination and subscriber; if the broker was killed, for persistent messages only."""
    cell, lost = material.cell, material.counts.lost
    for destination, audience in sorted({(to, audience) for (to, _), audience in cell.audiences.items()}):
        if material.killed and not cell.steps[cell.destination_steps[destination]].persistent:
            continue
        row = lost.get((destination, audience))
        missing = 0 if row is None else row["n"]
        why = "" if row is None else f"{missing} missing, first {_message(cell, row['example'])}"
        yield _none(limits.DELIVERY, cell.subscriber(destination, audience), missing, why)


def _beyond(material: AuditInput) -> Iterator[AuditRow]:
    cell, counts = material.cell, material.counts
    handlers = [one["number"] for one in cell.plan["handlers"]]
    persistent = {number for number, step in enumerate(cell.steps) if step.persistent}
    again: dict[int, tuple[int, Any]] = {}
    for (_, destination, audience), row in counts.heard.items():
        if row["again"] and not (material.killed and cell.destination_steps[destination] not in persistent):
            number, example = again.get(audience, (0, None))
            again[audience] = number + row["again"], min(filter(None, (example, row["example"])))
    for handler in handlers:
        number, example = again.get(handler, (0, None))
        yield _none(limits.DUPLICATES, cell.name(handler), number, f"first {_message(cell, example)}")
    for rule, rows, count, example_name in (
        (limits.ORDER, counts.disorder, ("n",), "example"),
        (limits.LOCATION, counts.amiss, ("strays",), "strays_example"),
        (limits.CONTENT, counts.amiss, ("altered", "strange"), "altered_example"),
    ):
        for handler in handlers:
            found = rows.get(handler)
            number = 0 if found is None else sum(found[name] for name in count)
            example = None if found is None or not number else found[example_name] or found["strange_example"]
            yield _none(rule, cell.name(handler), number, f"first {_message(cell, example)}")
    for number in cell.model.interactions:
        yield _of_executions(material, limits.CONTENT, number, "wrong_size", "wrong_example")
    for driver in cell.plan["drivers"]:
        yield _starts(material, driver)
    for number in cell.model.interactions:
        yield _of_executions(material, limits.CHAINS, number, "cut", "cut_example")
    for number in cell.model.interactions:
        yield _of_executions(material, limits.SURPLUS, number, "surplus", "surplus_example")
    yield _clock(material)


def _none(rule: Rule, scope: str, number: int, why: str) -> AuditRow:
    """The row of a count that must be zero."""
    if number <= rule.limit:
        return AuditRow(rule, scope, number, AuditVerdict.PASS)
    return AuditRow(rule, scope, number, AuditVerdict.FAIL, why=why)


def _of_executions(material: AuditInput, rule: Rule, interaction: int, count: str, example_name: str) -> AuditRow:
    rows = [row for (_, number), row in material.counts.executions.items() if number == interaction]
    number = sum(row[count] for row in rows)
    example = min((row[example_name] for row in rows if row[example_name]), default=None)
    why = ""
    if number and example is not None:
        words = {"cut": "{} was not sent", "surplus": "more messages than the tables have", "wrong_size": "{}"}[count]
        step = "" if example["step"] is None else material.cell.steps[example["step"]].message
        why = f"first {_execution(material.cell, example['execution'])}: {words.format(step)}"
    return _none(rule, f"interaction {interaction}", number, why)


def _starts(material: AuditInput, driver: Mapping[str, Any]) -> AuditRow:
    cell, scope = material.cell, material.cell.name(driver["number"])
    row = material.counts.drivers.get(driver["number"])
    if row is None:
        load_s = sum(
            material.elapsed_s(period) for period in material.periods if period in (*_MEASURED, Period.WARM_UP)
        )
        planned = load_s * driver["rate_per_s"]
        return _none(limits.STARTS, scope, floor(planned) if planned > _SURE_STARTS else 0, "it started nothing")
    first = Execution(cell.steps[driver["step"]].interaction, driver["sender"], 0).id
    missing = max(0, row.last - first + 1 - row.n)
    return _none(limits.STARTS, scope, missing, f"{row.n} of {row.last - first + 1} executions recorded")


def _clock(material: AuditInput) -> AuditRow:
    """All processes share a host's monotonic clock: no message may be received before it was sent."""
    rows = material.counts.overall.values()
    ahead_ms = max((-row["shortest"] / 1e6 for row in rows if row["shortest"] is not None), default=0.0)
    why = "all clients are on one host and share its CLOCK_MONOTONIC"
    if ahead_ms > 0:
        return AuditRow(
            limits.CLOCK,
            "run",
            ahead_ms,
            AuditVerdict.FAIL,
            why="a message was received before it was sent: clocks differ",
        )
    return AuditRow(limits.CLOCK, "run", 0, AuditVerdict.PASS, why=why)


def _steady(material: AuditInput, period: Period) -> Iterator[AuditRow]:
    overall = material.counts.overall.get(period)
    received_per_s = (0 if overall is None else overall["n"]) / material.elapsed_s(period)
    for rule, found in (
        (limits.LEVEL, _level(material, received_per_s)),
        (limits.BACKLOG, steady.backlog([one.backlog for one in _within(material, period)], received_per_s)),
    ):
        yield AuditRow(rule, "run", found.observed, found.verdict, why=found.why, period=period)


def _level(material: AuditInput, received_per_s: float) -> steady.CheckOutcome:
    if Period.WARM_UP not in material.periods:
        return steady.CheckOutcome(None, AuditVerdict.NOT_JUDGED, "there was no warm-up")
    warm_s = material.elapsed_s(Period.WARM_UP)
    last = [
        second.received
        for second in material.seconds
        if warm_s * (1 - limits.WARM_UP_SHARE) <= second.second <= warm_s - 1
    ]
    copies = {
        number: (float(one.started_per_s), float(one.received))
        for number, one in material.cell.model.interactions.items()
    }
    return steady.level(last, received_per_s, steady.granularity(copies, len(last), poisson=material.poisson))


def _within(material: AuditInput, period: Period) -> list[Second]:
    """The seconds that lie completely within a period."""
    load_ns = min(row["begin_ns"] for row in material.periods.values())
    begin, end = ((material.periods[period][name] - load_ns) / 1e9 for name in ("begin_ns", "end_ns"))
    return [second for second in material.seconds if begin <= second.second and second.second + 1 <= end]


def _repeated(rows: Sequence[AuditRow]) -> Iterator[AuditRow]:
    if rows:
        failed = [row for row in rows if row.verdict is AuditVerdict.FAIL]
        why = "" if not failed else f"first {failed[0].rule.name}, {failed[0].scope}"
        yield AuditRow(
            limits.REPEATED,
            "run",
            len(failed),
            AuditVerdict.FAIL if failed else AuditVerdict.PASS,
            why=why,
            period=Period.REPEAT,
        )


def _message(cell: CaseRecord, example: Any) -> str:
    if example is None:
        return ""
    return (
        f"message {example['position']} of {sender(cell, example['producer'])}, "
        f"{_execution(cell, example['execution'])}"
    )


def sender(cell: CaseRecord, producer: int) -> str:
    """A producer for display: its kind, place and message type."""
    if producer not in cell.producers:
        return f"producer {producer}"
    handler = producer < len(cell.plan["handlers"])
    return f"the {'handler' if handler else 'driver'} {cell.name(producer)}"


def _execution(cell: CaseRecord, number: int) -> str:
    """An execution for display: its number, interaction and starting location."""
    try:
        one = Execution.of(number)
    except WorkloadError:
        return f"execution {number:#x}"
    return f"execution {one.number} of interaction {one.interaction} at {cell.model.origin(one)}"
