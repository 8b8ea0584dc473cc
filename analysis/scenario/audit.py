"""The rows of the audit: the observed counts against the model and the limits of `workloads.scenario.limits`.

Plain arithmetic; a row states what was observed, whether it is within the limit and, if not, the first example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import Any

from pyspark.sql import Row

from analysis.scenario import steady
from analysis.scenario.aggregates import Counts, times
from analysis.scenario.audit_rows import Counted, deviation, judged, near, percentile, share, summed, unjudged, zero
from analysis.scenario.reader import CaseRecord
from analysis.scenario.results import AuditRow, AuditVerdict, InteractionResult, Second
from workloads.arrivals import ArrivalProcess
from workloads.errors import WorkloadError
from workloads.limits import Rule
from workloads.scenario import limits
from workloads.scenario.execution import Execution
from workloads.scenario.periods import Period
from workloads.scenario.scenario_plan import PlannedDriver

#: If the last recorded start of a driver is more than this many mean gaps before the end of a period, the driver has
#: fallen behind its plan.
_SILENT_GAPS = 5
#: A driver without any start fails only if more than this many starts were planned for it.
_SURE_STARTS = 20

_MEASURED = (Period.MEASUREMENT, Period.REPEAT)


@dataclass(frozen=True)
class AuditInput:
    """A cell with its aggregates."""

    cell: CaseRecord
    counts: Counts
    #: The row of each period in the table `periods`.
    periods: Mapping[Period, Mapping[str, Any]]
    seconds: Sequence[Second]
    #: Starts that failed sessions did not make, by period and interaction; a test of its own counts the sessions.
    unsent: Mapping[tuple[Period, int], int] = field(default_factory=dict)

    def elapsed_s(self, period: Period) -> float:
        row = self.periods[period]
        return float(row["end_ns"] - row["begin_ns"]) / 1e9

    @property
    def poisson(self) -> bool:
        return self.cell.plan.arrivals is ArrivalProcess.POISSON

    @property
    def measured(self) -> tuple[Period, ...]:
        return tuple(period for period in _MEASURED if period in self.periods)


def flow(material: AuditInput, number: int, period: Period) -> InteractionResult:
    """The counts and times of an interaction in a period.

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
    expected -= material.unsent.get((period, number), 0)
    row = counts.executions.get((period, number))
    if row is not None and row["started"]:
        each_sent, each_received = row["due"] / row["started"], row["copies"] / row["started"]
    else:
        each_sent, each_received = float(interaction.sent), float(interaction.received)
    mine = set(_steps(cell, number))
    pace = counts.pace.get((period, number))
    started = 0 if pace is None else pace["starts"]
    return InteractionResult(
        number=number,
        title=interaction.title,
        planned_per_s=float(interaction.started_per_s),
        started=started,
        expected_started=expected,
        started_per_s=started / seconds,
        sent=sum(row["n"] for (at, to), row in counts.sent.items() if at is period and cell.address_steps[to] in mine),
        expected_sent=expected * each_sent,
        received=sum(
            row["n"] - row["of_members"] for (at, step), row in counts.steps.items() if at is period and step in mine
        ),
        expected_received=expected * each_received,
        pacing_misses=0 if pace is None else pace["misses"],
        completed=0 if row is None else row["complete"],
        end_to_end=times(row),
    )


def audit(material: AuditInput, flows: Mapping[tuple[Period, int], InteractionResult]) -> tuple[AuditRow, ...]:
    """All rows in the order of the rules: tests of the measurement, of the whole run, and of the repeat."""
    first, repeat = ([row for row in material.measured if (row is Period.REPEAT) == again] for again in (False, True))
    rows = [row for period in first for row in _published(material, flows, period)]
    for rule, places, counted in _ZERO_CHECKS:
        found = counted(material)
        if rule is limits.LOCATION:
            rows += _filters(material)
        rows += zero(rule, places(material), found)
    rows.append(_clock(material))
    rows += [row for period in first for row in _steady(material, period)]
    again = [row for period in repeat for row in (*_published(material, flows, period), *_steady(material, period))]
    return (*rows, *again, *_repeated(again))


def _steps(cell: CaseRecord, interaction: int) -> list[int]:
    """The numbers of the message types of an interaction."""
    return [number for number, step in enumerate(cell.steps) if step.interaction == interaction]


def _drivers(cell: CaseRecord, interaction: int) -> list[PlannedDriver]:
    return [driver for driver in cell.plan.drivers if cell.steps[driver.step].interaction == interaction]


def _drawn(material: AuditInput, driver: PlannedDriver, period: Period) -> float:
    drawn = material.counts.drawn.get((period, driver.number), 0)
    row = material.counts.drivers.get(driver.number)
    span = material.periods[period]
    last_ns = span["begin_ns"] if row is None else max(row["last_planned_ns"], span["begin_ns"])
    rest = max(0.0, (span["end_ns"] - last_ns) / 1e9) * driver.rate_per_s
    return drawn + (rest if rest > _SILENT_GAPS else 0.0)


def _published(
    material: AuditInput, flows: Mapping[tuple[Period, int], InteractionResult], period: Period
) -> Iterator[AuditRow]:
    mine = [flows[period, number] for number in material.cell.model.interactions]
    for rule, observed, expected in _COUNTS:
        for of in mine:
            yield _count(material, of, period, rule, getattr(of, observed), getattr(of, expected))
    for of in mine:
        yield share(
            limits.PACING,
            f"interaction {of.number}",
            of.pacing_misses,
            of.started,
            "starts were more than one mean gap late",
            "nothing was started",
            period,
        )
    for handler in material.cell.plan.handlers:
        found = times(material.counts.handlers.get((period, handler.number)))
        scope, nothing = material.cell.name(handler.number), "received nothing in the period"
        yield percentile(limits.DELIVERY_TIME, scope, found, period, nothing, " messages")


#: A rule for the counts of an interaction, and the fields of `InteractionResult` that it compares.
_COUNTS = (
    (limits.INPUT_RATE, "started", "expected_started"),
    (limits.SENT, "sent", "expected_sent"),
    (limits.RECEIVED, "received", "expected_received"),
)


def _count(
    material: AuditInput, entry: InteractionResult, period: Period, rule: Rule, observed: int, expected: float
) -> AuditRow:
    """The row of a count.

    Drivers are staggered: a period has up to one execution more or less than its share. If the messages of a chain
    follow each other, an edge of the period may also cut an execution in two. Executions that start together count as
    one that is so many times as large.
    """
    scope = f"interaction {entry.number}"
    edges = 2 if rule is not limits.INPUT_RATE and len(_steps(material.cell, entry.number)) > 1 else 1
    edges *= material.cell.model.interactions[entry.number].together
    if edges > rule.limit * entry.expected_started:
        least_s = ceil(edges / rule.limit / float(material.cell.model.interactions[entry.number].started_per_s))
        why = (
            f"too short: {entry.expected_started:.1f} executions are expected, and the {edges} that the edges of the "
            f"period may cut are more than {rule.limit:.0%}; judged from {least_s} s on"
        )
        off = deviation(observed, expected)
        return unjudged(rule, scope, why, observed=off, expected=expected, period=period, suffices_s=least_s)
    return near(rule, scope, observed, expected, f"{observed}, where the model has {expected:.1f}", period)


def _audiences(material: AuditInput) -> dict[Any, str]:
    """By (address, audience)."""
    cell = material.cell
    places = sorted({(to, audience) for (to, _), audience in cell.audiences.items()})
    return {place: cell.audience_name(*place) for place in places}


def _handlers(material: AuditInput) -> dict[Any, str]:
    return {handler.number: material.cell.name(handler.number) for handler in material.cell.plan.handlers}


def _starters(material: AuditInput) -> dict[Any, str]:
    return {driver.number: material.cell.name(driver.number) for driver in material.cell.plan.drivers}


def _interactions(material: AuditInput) -> dict[Any, str]:
    return {number: f"interaction {number}" for number in material.cell.model.interactions}


def _lost(material: AuditInput) -> Counted:
    return {
        place: (row["n"], f"{row['n']} missing, {first_message(material.cell, row['example'])}")
        for place, row in material.counts.lost.items()
    }


def _named(cell: CaseRecord, found: Iterable[tuple[Any, int, Iterable[Any]]]) -> Counted:
    """Sums of counts by place, see `summed`, whose examples are messages."""
    return {place: (number, first_message(cell, example)) for place, (number, example) in summed(found).items()}


def _again(material: AuditInput) -> Counted:
    rows = material.counts.heard.items()
    return _named(
        material.cell,
        ((audience, row["again"], [row["example"]]) for (_, _, audience), row in rows),
    )


def _disordered(material: AuditInput) -> Counted:
    rows = material.counts.disorder.items()
    return _named(material.cell, ((handler, row["n"], [row["example"]]) for handler, row in rows))


def _anomalies(*columns: str) -> Callable[[AuditInput], Counted]:
    """Counts columns of the anomalies; the example is one of the first column that has one."""

    def counted(material: AuditInput) -> Counted:
        return {
            handler: (
                sum(row[column] for column in columns),
                first_message(
                    material.cell, next(filter(None, (row[f"{column}_example"] for column in columns)), None)
                ),
            )
            for handler, row in material.counts.anomalies.items()
        }

    return counted


def _filters(material: AuditInput) -> Iterator[AuditRow]:
    """What filters were put to: the number of copies that they had to reject, if none of these came.

    A copy that came all the same fails at its handler. No row if no subscription rejects anything.
    """
    plan = material.cell.plan
    due = sum(row["n"] * plan.addresses[to].rejections for (_, to), row in material.counts.sent.items())
    filtered = {
        handler.number
        for handler in plan.handlers
        if any(subscription.selector is not None for subscription in handler.subscriptions)
    }
    anomalies = material.counts.anomalies
    if due and not any(row["misdelivered"] for handler, row in anomalies.items() if handler in filtered):
        why = f"{due:,} copies that filters had to reject, 0 came"
        yield AuditRow(limits.LOCATION, "filters", 0, AuditVerdict.PASS, why=why)


def _not_started(material: AuditInput) -> Counted:
    cell, found = material.cell, {}
    load_s = sum(material.elapsed_s(period) for period in material.periods if period in {*_MEASURED, Period.WARM_UP})
    for driver in cell.plan.drivers:
        row, planned = material.counts.drivers.get(driver.number), load_s * driver.rate_per_s
        if row is not None:
            due, n = row["last"] - cell.first_execution(driver) + 1, row["starts"]
            found[driver.number] = max(0, due - n), f"{n} of {due} executions recorded"
        elif planned > _SURE_STARTS:
            found[driver.number] = floor(planned), "it started nothing"
    return found


def _of_executions(column: str, words: str) -> Callable[[AuditInput], Counted]:
    """Counts a column of the executions; `words`: with the example's message type in place of {}."""

    def counted(material: AuditInput) -> Counted:
        rows = material.counts.executions.items()
        found = summed((interaction, row[column], [row[f"{column}_example"]]) for (_, interaction), row in rows)
        return {place: (number, _at_fault(material.cell, words, first)) for place, (number, first) in found.items()}

    return counted


def _at_fault(cell: CaseRecord, words: str, example: Any) -> str:
    if example is None:
        return ""
    step = "" if example["step"] is None else cell.steps[example["step"]].message
    return f"first {execution_text(cell, example['execution'])}: {words.format(step)}"


#: The tests of the whole run by a count that must be zero: rule, places with their names, and the counts.
_ZERO_CHECKS: tuple[tuple[Rule, Callable[[AuditInput], dict[Any, str]], Callable[[AuditInput], Counted]], ...] = (
    (limits.DELIVERY, _audiences, _lost),
    (limits.DUPLICATES, _handlers, _again),
    (limits.ORDER, _handlers, _disordered),
    (limits.LOCATION, _handlers, _anomalies("misdelivered")),
    (limits.CONTENT, _handlers, _anomalies("altered", "unsent")),
    (limits.CONTENT, _interactions, _of_executions("wrong", "{}")),
    (limits.STARTS, _starters, _not_started),
    (limits.CHAINS, _interactions, _of_executions("cut", "{} was not sent")),
    (limits.SURPLUS, _interactions, _of_executions("surplus", "more messages than the model has")),
)


def _clock(material: AuditInput) -> AuditRow:
    """No message may be received before it was sent.

    On a single host all processes share a monotonic clock. On several hosts a time between two of them may be wrong by
    the bound of their clocks, which is the difference that the rules limit.
    """
    bound_ms = material.cell.run.manifest.clock_bound_ns / 1e6
    rows = material.counts.overall.values()
    ahead_ms = max((-row["shortest"] / 1e6 for row in rows if row["shortest"] is not None), default=0.0)
    if ahead_ms > bound_ms:
        why = "a message was received before it was sent: clocks differ"
        return judged(limits.CLOCK, "run", ahead_ms, why, passes=False)
    why = "all clients are on one host and share its CLOCK_MONOTONIC"
    if bound_ms:
        why = (
            "the clocks of the load's hosts were compared before and after; each delivery time may be wrong by as much"
        )
    return replace(judged(limits.CLOCK, "run", bound_ms or 0, why), why=why)


def _steady(material: AuditInput, period: Period) -> Iterator[AuditRow]:
    overall = material.counts.overall.get(period)
    received_per_s = (0 if overall is None else overall["n"]) / material.elapsed_s(period)
    yield _level(material, received_per_s, period)
    yield steady.backlog([entry.backlog for entry in _within(material, period)], received_per_s, period)


def _level(material: AuditInput, received_per_s: float, period: Period) -> AuditRow:
    copies = {
        number: (float(entry.started_per_s), float(entry.received))
        for number, entry in material.cell.model.interactions.items()
    }
    suffices_s = steady.warm_up_s(copies, poisson=material.poisson)
    if Period.WARM_UP not in material.periods:
        return unjudged(limits.LEVEL, "run", "there was no warm-up", period=period, suffices_s=suffices_s)
    warm_s = material.elapsed_s(Period.WARM_UP)
    last = [
        second.received
        for second in material.seconds
        if warm_s * (1 - limits.WARM_UP_SHARE) <= second.second <= warm_s - 1
    ]
    chance_per_s = steady.granularity(copies, len(last), poisson=material.poisson)
    return steady.level(last, received_per_s, chance_per_s, period, suffices_s)


def _within(material: AuditInput, period: Period) -> list[Second]:
    """The seconds that lie completely within a period."""
    load_ns = min(row["begin_ns"] for row in material.periods.values())
    begin, end = ((material.periods[period][name] - load_ns) / 1e9 for name in ("begin_ns", "end_ns"))
    return [second for second in material.seconds if begin <= second.second and second.second + 1 <= end]


def _repeated(rows: Sequence[AuditRow]) -> Iterator[AuditRow]:
    if rows:
        failed = [row for row in rows if row.verdict is AuditVerdict.FAIL]
        why = f"first {failed[0].rule.name}, {failed[0].scope}" if failed else ""
        yield judged(limits.REPEATED, "run", len(failed), why, period=Period.REPEAT)


def first_message(cell: CaseRecord, example: Row | None) -> str:
    """The first example of a failure for display; empty if there is none."""
    if example is None:
        return ""
    row = example.asDict()
    where = "" if row.get("subscription") is None else f" at subscription {row['subscription']}"
    return (
        f"first message {row['position']} of {sender(cell, row['producer'])}, "
        f"{execution_text(cell, row['execution'])}{where}"
    )


def sender(cell: CaseRecord, producer: int) -> str:
    """A producer for display: its kind, place and message type."""
    if cell.producer(producer) is None:
        return cell.name(producer)
    handler = producer < len(cell.plan.handlers)
    kind = "handler" if handler else "driver" if producer in cell.producers else "session"
    return f"the {kind} {cell.name(producer)}"


def execution_text(cell: CaseRecord, number: int) -> str:
    """An execution for display: its number, interaction and starting location."""
    try:
        execution = Execution.of(number)
    except WorkloadError:
        return f"execution {number:#x}"
    return f"execution {execution.number} of interaction {execution.interaction} at {cell.model.origin(execution)}"
