"""The rows of the audit for subscriptions that come and go. Plain arithmetic, as in `analysis.scenario.audit`.

Each kind of fault has a row of its own for each population, with the first example: the message and the number of the
subscription.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.scenario.aggregates import times
from analysis.scenario.audit import AuditInput, first_message
from analysis.scenario.audit_rows import Counted, deviation, judged, near, percentile, share, summed, unjudged, zero
from analysis.scenario.churn_counts import ChurnCounts
from analysis.scenario.copy_classes import CopyClass
from analysis.scenario.membership import NONE, Longs, MemberRows, SessionFaults, departures
from analysis.scenario.reader import CaseRecord
from analysis.scenario.results import AuditRow, CopyCounts, PopulationResult
from workloads.limits import Rule
from workloads.scenario import limits
from workloads.scenario.periods import Period
from workloads.scenario.population import Population


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """What is recorded and planned of the members of a cell's populations."""

    counts: ChurnCounts
    rows: MemberRows
    #: The columns of `sessions`.
    sessions: Mapping[str, Longs]
    #: By number of the population.
    failed_sessions: Mapping[int, SessionFaults]
    #: The row of `setup`; None if it was not recorded.
    setup: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ChurnInput:
    """A cell with populations."""

    audit: AuditInput
    members: MemberRecord

    @property
    def cell(self) -> CaseRecord:
        return self.audit.cell

    @property
    def counts(self) -> ChurnCounts:
        return self.members.counts

    @property
    def populations(self) -> tuple[Population, ...]:
        return self.members.rows.populations

    def span_ns(self, period: Period) -> tuple[int, int]:
        row = self.audit.periods[period]
        return row["begin_ns"], row["end_ns"]


def churn_audit(
    material: ChurnInput, populations: Sequence[PopulationResult], copies: Sequence[CopyCounts]
) -> tuple[AuditRow, ...]:
    """All rows: of the measured periods, then of the whole run."""
    rows: list[AuditRow] = []
    for period in material.audit.measured:
        mine = [found for found in populations if found.period is period]
        for found in mine:
            if not material.populations[found.number].sessions:
                rows += _changes(found)
        rows.append(_standing(mine, period))
        rows += [row for found in mine for row in _latency(found)]
        rows += _delivery_times(material, period)
    rows += _copies(material, copies)
    labels = {number: population.label for number, population in enumerate(material.populations)}
    for rule, counted in _ZERO_CHECKS:
        rows += zero(rule, labels, counted(material))
    rows += _receipts(material)
    rows += _sessions(material)
    rows.append(judged(limits.PLAN_KEPT, "subscriptions", *departures(material.members.rows)))
    return tuple(rows)


def _changes(of: PopulationResult) -> Iterator[AuditRow]:
    for rule, observed, planned in (
        (limits.JOINS, of.joins, of.planned_joins),
        (limits.LEAVES, of.leaves, of.planned_leaves),
    ):
        if planned < limits.FEWEST_CHANGES:
            why = f"too short: {planned} are planned, judged from {limits.FEWEST_CHANGES} on"
            off = deviation(observed, planned)
            yield unjudged(rule, of.label, why, observed=off, expected=planned, period=of.period)
        else:
            why = f"{observed}, where the plan has {planned}"
            yield near(rule, of.label, observed, planned, why, of.period)
    words = "joins and leaves were more than one mean gap late"
    yield share(limits.CHURN_PACING, of.label, of.late, of.due, words, "none was due", of.period)


def _standing(populations: Sequence[PopulationResult], period: Period) -> AuditRow:
    observed, planned = (sum(getattr(of, name) for of in populations) for name in ("standing", "planned_standing"))
    off = deviation(observed, planned)
    if off is None:
        return unjudged(limits.STANDING, "run", "none is planned", period=period)
    why = f"{observed:.1f} on average, where the plan has {planned:.1f}"
    passes = abs(off) <= limits.STANDING.limit
    return judged(limits.STANDING, "run", off, why, passes=passes, expected=planned, period=period)


def _latency(of: PopulationResult) -> Iterator[AuditRow]:
    for name, found in (("joins", of.join), ("leaves", of.leave)):
        yield percentile(limits.JOIN_TIME, f"{name} of {of.label}", found, of.period, _NONE_IN_PERIOD)


def _delivery_times(material: ChurnInput, period: Period) -> Iterator[AuditRow]:
    found = {row["step"]: row for row in material.counts.times if row["period"] == period}
    for step in _heard_steps(material.populations):
        scope = f"{material.cell.steps[step].message} to members"
        yield percentile(limits.DELIVERY_TIME, scope, times(found.get(step)), period, _NONE_IN_PERIOD)


_NONE_IN_PERIOD = "none in the period"


def _heard_steps(populations: Sequence[Population]) -> list[int]:
    """The message types that members hear."""
    return sorted({step for population in populations for each in population.subscriptions for step in each.steps})


def _copies(material: ChurnInput, copies: Sequence[CopyCounts]) -> Iterator[AuditRow]:
    """Whether each delivery is one that must or may come, or is counted by another test."""
    counted = Counter({row["step"]: 0 for row in material.counts.anomalies})
    for row in material.counts.served:
        counted[row["step"]] += row["deliveries"]
    delivered: Counter[int] = Counter()
    for row in material.counts.anomalies:
        delivered[row["step"]] += row["n"] - row["misdelivered"] - row["unsent"]
    by_name = {of.message: of for of in copies}
    # A session does not leave before the answers to its messages came: none of them can have been dropped at its end.
    answers = set(_heard_steps([population for population in material.populations if population.sessions]))
    answers -= set(_heard_steps([population for population in material.populations if not population.sessions]))
    for step in _heard_steps(material.populations):
        of = by_name[material.cell.steps[step].message]
        rest, due = abs(delivered[step] - counted[step]), of.must + of.may
        said = f"{of.must:,} copies must come, {of.may:,} may"
        if rest:
            why = f"{rest:,} deliveries are of another message type than their message; {said}"
            yield judged(limits.COPIES, of.message, rest, why, expected=of.must)
        elif of.may > limits.MOST_UNCERTAIN * due and step not in answers:
            why = f"{said}: more than {limits.MOST_UNCERTAIN:.0%} are uncertain"
            yield unjudged(limits.COPIES, of.message, why, observed=0, expected=of.must)
        else:
            yield replace(judged(limits.COPIES, of.message, 0, "", expected=of.must), why=said)


def _missing(kind: str) -> Callable[[ChurnInput], Counted]:
    return lambda material: {
        row["population"]: (row["n"], first_message(material.cell, row["example"]))
        for row in material.counts.missing
        if row["kind"] == kind
    }


def _of(table: str, **columns: str) -> Callable[[ChurnInput], Counted]:
    """Sums columns of a table by population, with the first of the examples in the other columns.

    columns: column with a number -> column with its example
    """

    def counted(material: ChurnInput) -> Counted:
        found = summed(
            (row["population"], sum(row[name] for name in columns), [row[name] for name in columns.values()])
            for row in getattr(material.counts, table)
        )
        return {place: (number, first_message(material.cell, example)) for place, (number, example) in found.items()}

    return counted


#: The tests of the whole run by a count that must be zero, for each population.
_ZERO_CHECKS: tuple[tuple[Rule, Callable[[ChurnInput], Counted]], ...] = (
    (limits.SERVED, _missing("lost")),
    (limits.HOLES, _missing("hole")),
    (limits.LEFT, _of("served", too_long="too_long_example")),
    (limits.DUPLICATES, _of("served", again="again_example")),
    (limits.WRONG_KEY, _of("anomalies", misdelivered="misdelivered_example")),
    (limits.ORDER, _of("disorder", n="example")),
    (limits.CONTENT, _of("anomalies", unsent="unsent_example", altered="altered_example")),
)


def _receipts(material: ChurnInput) -> Iterator[AuditRow]:
    recorded = material.members.rows.recorded
    for number, population in enumerate(material.populations):
        for verb, written, read in (
            ("SUBSCRIBE", "subscribe_ns", "joined_ns"),
            ("UNSUBSCRIBE", "unsubscribe_ns", "left_ns"),
        ):
            lacking = np.flatnonzero(
                (recorded["population"] == number) & (recorded[written] != NONE) & (recorded[read] == NONE)
            )
            why = f"first of subscription {lacking[0]}" if len(lacking) else ""
            yield judged(limits.RECEIPTS, f"{verb} of {population.label}", len(lacking), why)
    unconfirmed = {row["step"]: row for row in material.counts.unconfirmed}
    for step, message in sorted(material.cell.model.scenario.messages.items()):
        if message.receipt:
            row = unconfirmed.get(step)
            found = (0, "") if row is None else (row["n"], first_message(material.cell, row["example"]))
            yield judged(limits.RECEIPTS, f"SEND of {material.cell.steps[step].message}", *found)


def _sessions(material: ChurnInput) -> Iterator[AuditRow]:
    for number, found in material.members.failed_sessions.items():
        label = material.populations[number].label
        yield judged(limits.SESSIONS, label, found.failed, found.why, expected=found.planned)


def copy_counts(material: ChurnInput) -> tuple[CopyCounts, ...]:
    """The copies of every message type; event handlers' copies must come."""
    cell, counts = material.cell, material.audit.counts
    due: Counter[tuple[int, str, bool]] = Counter()
    for row in material.counts.due:
        due[row["step"], row["class"], row["got"] == 1] += row["n"]
    found = []
    for number, step in enumerate(cell.steps):
        sent: Counter[int] = Counter()
        for (_, address), row in counts.sent.items():
            sent[address] += row["n"] if cell.address_steps[address] == number else 0
        static = sum(messages * cell.plan.addresses[address].copies for address, messages in sent.items())
        heard = sum(row["n"] for (_, address, _), row in counts.heard.items() if cell.address_steps[address] == number)
        must, may = ([due[number, str(kind), got] for got in (True, False)] for kind in (CopyClass.MUST, CopyClass.MAY))
        served = [row for row in material.counts.served if row["step"] == number]
        found.append(
            CopyCounts(
                message=step.message,
                sent=sum(sent.values()),
                must=sum(must) + static,
                must_received=must[0] + heard,
                may=sum(may),
                may_received=may[0],
                must_not=sum(row["too_long"] for row in served),
                behind=sum(row["behind"] for row in served),
                closing=sum(row["closing"] for row in served),
            )
        )
    return tuple(found)
