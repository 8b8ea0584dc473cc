"""What is measured of subscriptions that come and go: populations, sessions, ranks of copies, flows, memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.results import Finding
from analysis.scenario import membership
from analysis.scenario.aggregates import times
from analysis.scenario.churn_audit import ChurnInput
from analysis.scenario.churn_counts import RANKS
from analysis.scenario.churn_memory import subscription_memory
from analysis.scenario.membership import NONE, Flags, Longs, between, chosen, durations
from analysis.scenario.results import (
    ChurnResult,
    CopyCounts,
    DeliveryTimes,
    FlowResult,
    PopulationResult,
    RankTimes,
    SessionResult,
    SetupResult,
    SubscriptionMemory,
)
from workloads.scenario import limits
from workloads.scenario.execution import NUMBER_BITS
from workloads.scenario.periods import Period
from workloads.scenario.published_flows import PublishedFlow


def churn_result(
    material: ChurnInput, populations: Sequence[PopulationResult], copies: Sequence[CopyCounts]
) -> ChurnResult:
    """Everything about the subscriptions of a cell but the rows of the audit."""
    cell, rows = material.cell, material.members.rows
    measured = [material.span_ns(period) for period in material.audit.measured]
    last = max((second.second for second in material.audit.seconds), default=-1)
    return ChurnResult(
        populations=tuple(populations),
        sessions=tuple(_sessions(material)),
        copies=tuple(copies),
        ranks=tuple(
            RankTimes(cell.steps[row["step"]].message, Period(row["period"]), RANKS[row["rank"]][0], times(row))
            for row in sorted(material.counts.ranks, key=lambda row: (row["period"], row["step"], row["rank"]))
            if row["period"] in material.audit.measured
        ),
        setup=_setup(material),
        memory=subscription_memory(
            material.members.setup,
            material.audit.counts.samples,
            measured,
            int((rows.recorded["left_ns"] != NONE).sum()),
        ),
        flows=tuple(_flows(material)),
        seconds=membership.seconds(rows, last),
        slices=membership.slices(rows, material.audit.counts.slice_s),
    )


def _setup(material: ChurnInput) -> SetupResult | None:
    row = material.members.setup
    if row is None or row["end_ns"] <= row["begin_ns"]:
        return None
    seconds = (row["end_ns"] - row["begin_ns"]) / 1e9
    return SetupResult(seconds, row["subscriptions"], row["subscriptions"] / seconds)


def population_results(material: ChurnInput) -> tuple[PopulationResult, ...]:
    """The measured periods of every population."""
    return tuple(
        _population(material, number, period)
        for period in material.audit.measured
        for number in range(len(material.populations))
    )


def _population(material: ChurnInput, number: int, period: Period) -> PopulationResult:
    rows, span_ns = material.members.rows, material.span_ns(period)
    recorded, planned = _mine(rows.recorded, number), _mine(rows.planned, number)
    due_joins, due_leaves = (between(planned[name], span_ns) for name in ("joins_ns", "leaves_ns"))
    # Every recorded instant in the load is one that was planned: the ends after the drain are not leaves.
    joins = between(recorded["subscribe_ns"], span_ns) & (recorded["planned_join_ns"] != NONE)
    leaves = between(recorded["unsubscribe_ns"], span_ns) & (recorded["planned_leave_ns"] != NONE)
    members = len(np.unique(planned["member"][due_joins]))
    gap_ns = (span_ns[1] - span_ns[0]) / members if members else 0.0
    late = _late(recorded["planned_join_ns"], recorded["subscribe_ns"], span_ns, gap_ns)
    late += _late(recorded["planned_leave_ns"], recorded["unsubscribe_ns"], span_ns, gap_ns)
    confirmed, gone = joins & (recorded["joined_ns"] != NONE), leaves & (recorded["left_ns"] != NONE)
    after, before = _effect(material, chosen(recorded, confirmed))
    return PopulationResult(
        number=number,
        label=material.populations[number].label,
        period=period,
        joins=int(joins.sum()),
        planned_joins=int(due_joins.sum()),
        leaves=int(leaves.sum()),
        planned_leaves=int(due_leaves.sum()),
        due=int(sum(between(recorded[name], span_ns).sum() for name in ("planned_join_ns", "planned_leave_ns"))),
        late=late,
        standing=membership.standing(recorded["joined_ns"], recorded["unsubscribe_ns"], span_ns),
        planned_standing=membership.standing(planned["joins_ns"], planned["leaves_ns"], span_ns),
        join=_took(recorded, "subscribe_ns", "joined_ns", confirmed),
        join_planned=_took(recorded, "planned_join_ns", "joined_ns", confirmed),
        effect_after=durations(after),
        effect_before=durations(before),
        leave=_took(recorded, "unsubscribe_ns", "left_ns", gone),
    )


def _mine(rows: Mapping[str, Longs], number: int) -> dict[str, Longs]:
    return chosen(rows, rows["population"] == number)


def _late(planned_ns: Longs, begun_ns: Longs, span_ns: tuple[int, int], gap_ns: float) -> int:
    """What was planned in a span and begun more than a gap later, or never."""
    due = between(planned_ns, span_ns)
    return int((due & ((begun_ns == NONE) | (begun_ns - planned_ns > gap_ns))).sum())


def _took(rows: Mapping[str, Longs], begin: str, end: str, which: Flags) -> DeliveryTimes:
    return durations(rows[end][which] - rows[begin][which])


def _effect(material: ChurnInput, recorded: Mapping[str, Longs]) -> tuple[Longs, Longs]:
    """From SUBSCRIBE to the last message not got, and to the receipt of the first that was got."""
    begun = dict(zip(recorded["subscription"].tolist(), recorded["subscribe_ns"].tolist(), strict=True))
    found = [(row, begun[row["subscription"]]) for row in material.counts.brackets if row["subscription"] in begun]
    after = [row["missed_ns"] - join_ns for row, join_ns in found if row["missed_ns"] is not None]
    before = [row["got_ns"] - join_ns for row, join_ns in found if row["got_ns"] is not None]
    return np.array(after, dtype=np.int64), np.array(before, dtype=np.int64)


def _sessions(material: ChurnInput) -> Iterator[SessionResult]:
    for number, found in material.members.failed_sessions.items():
        mine = _mine(material.members.sessions, number)
        yield SessionResult(
            material.populations[number].label,
            found.planned,
            found.failed,
            *(
                _took(mine, begin, end, (mine[begin] != NONE) & (mine[end] != NONE))
                for begin, end in (
                    ("connect_ns", "connected_ns"),
                    ("connect_ns", "joined_ns"),
                    ("leave_ns", "left_ns"),
                )
            ),
        )


def _flows(material: ChurnInput) -> Iterator[FlowResult]:
    """The measurement period beside the published table."""
    table = material.cell.workload.flows(material.cell.model)
    if table is None or Period.MEASUREMENT not in material.audit.periods:
        return
    span_ns = material.span_ns(Period.MEASUREMENT)
    unit = float(table.unit_s) / ((span_ns[1] - span_ns[0]) / 1e9)
    for row in table.rows:
        yield _flow(material, row, span_ns, unit)


def _flow(material: ChurnInput, row: PublishedFlow, span_ns: tuple[int, int], unit: float) -> FlowResult:
    """unit: units of time of the table in the span, reciprocal"""
    cell, counts = material.cell, material.audit.counts
    of_step = [
        sent for sent in material.counts.sent if sent["period"] == Period.MEASUREMENT and sent["step"] == row.step
    ]
    mine = [sent for sent in of_step if row.senders is None or sent["sender"] in row.senders]
    messages = sum(sent["n"] for sent in mine)
    copies = sum(
        due["n"]
        for due in material.counts.due
        if due["period"] == Period.MEASUREMENT
        and (due["step"], due["got"]) == (row.step, 1)
        and (row.senders is None or due["sender"] in row.senders)
    )
    heard = sum(
        found["n"]
        for (period, address, _), found in counts.heard.items()
        if period is Period.MEASUREMENT and cell.address_steps[address] == row.step
    )
    if messages:
        copies += heard * messages / sum(sent["n"] for sent in of_step)
    stands = sum(handler.step == row.step for handler in cell.plan.handlers) + 0.0
    joins = leaves = 0
    if row.hearing is not None:
        population, subscribed = row.hearing
        recorded = _mine(material.members.rows.recorded, population)
        recorded = chosen(recorded, np.isin(recorded["place"], subscribed))
        stands += membership.standing(recorded["joined_ns"], recorded["unsubscribe_ns"], span_ns)
        joins = int((between(recorded["subscribe_ns"], span_ns) & (recorded["planned_join_ns"] != NONE)).sum())
        leaves = int((between(recorded["unsubscribe_ns"], span_ns) & (recorded["planned_leave_ns"] != NONE)).sum())
    places = {driver.sender: driver.place for driver in cell.plan.drivers if driver.step == row.step}
    publishers, publisher_joins = float(len({places.get(sent["sender"], sent["sender"]) for sent in mine})), 0
    for number, each in enumerate(material.populations):
        if each.outgoing is not None and each.outgoing.step == row.step:
            sessions = _mine(material.members.sessions, number)
            publishers = membership.standing(sessions["connected_ns"], sessions["left_ns"], span_ns)
            publisher_joins = int(between(sessions["connect_ns"], span_ns).sum())
    return FlowResult(
        published=row,
        sent=messages * unit,
        subscriptions=stands,
        publishers=publishers,
        joins=joins * unit,
        leaves=leaves * unit,
        publisher_joins=publisher_joins * unit,
        factor=copies / messages if messages else None,
    )


def churn_findings(material: ChurnInput, memory: SubscriptionMemory) -> Iterator[Finding]:
    """Remarks on members that were announced too late, on messages that arrived when the next one was sent already,
    and on memory that departed subscriptions leave behind."""
    broker = material.cell.key.broker
    yield from _late_announcements(material)
    yield from _replaced(material)
    slope, each = memory.bytes_per_departed, memory.bytes_per_subscription
    if memory.not_judged or slope is None or slope.low is None or not each:
        return
    if slope.low > 0 and slope.estimate > limits.LEFT_BEHIND.limit * each:
        yield Finding(
            limits.LEFT_BEHIND.name,
            f"{slope.estimate:,.0f} bytes for each subscription that left, 95 % interval {slope.low:,.0f} to "
            f"{slope.high:,.0f}; a subscription takes {each:,.0f} bytes ({memory.source})",
            f"{limits.LEFT_BEHIND.limit:g} {limits.LEFT_BEHIND.unit}; {limits.LEFT_BEHIND.source}",
            "the broker keeps something for each subscription that has gone: it runs out of memory some time",
            broker=broker,
        )


def _replaced(material: ChurnInput) -> Iterator[Finding]:
    """Messages of which one in ten arrives later than its sender sends the next: what they say is no longer true."""
    cell = material.cell
    for step, gap_s in cell.workload.replaced_after_s(cell.model).items():
        for period in material.audit.measured:
            row = material.audit.counts.steps.get((period, step))
            p90_ms = None if row is None else times(row).p90_ms
            if p90_ms is not None and p90_ms > 1e3 * gap_s:
                yield Finding(
                    f"copies of {cell.steps[step].message} arrive when the next one has been sent",
                    f"90th percentile of the delivery time {p90_ms:,.0f} ms in the {period}",
                    f"{1e3 * gap_s:,.0f} ms between two messages of the same sender",
                    "a smaller --compression: it shortens this gap, and not what a delivery takes",
                    broker=cell.key.broker,
                )


def _late_announcements(material: ChurnInput) -> Iterator[Finding]:
    """Members that subscribed before the message that announces them was received."""
    recorded = material.members.rows.recorded
    for population, step in material.cell.workload.announced(material.cell.model).items():
        announced_ns = {
            row["execution"] & (1 << NUMBER_BITS) - 1: row["received_ns"]
            for row in material.counts.announcements
            if row["step"] == step
        }
        mine = (recorded["population"] == population) & (recorded["subscribe_ns"] != NONE)
        early = [
            member
            for member, subscribe_ns in zip(
                recorded["member"][mine].tolist(), recorded["subscribe_ns"][mine].tolist(), strict=True
            )
            if announced_ns.get(member, subscribe_ns) > subscribe_ns
        ]
        if early:
            message = material.cell.steps[step].message
            label = material.populations[population].label
            yield Finding(
                f"{label} that subscribed before their {message} came",
                f"{len(set(early))}, first member {min(early)}",
                f"0: {message} is sent before its member joins",
                "the broker took longer for it than the time in between",
                broker=material.cell.key.broker,
            )
