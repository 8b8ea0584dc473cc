"""The recorded subscriptions and sessions of members, held against the laws of their populations: plain arrays.

Row n of every array of subscriptions belongs to the one with number n, recorded and planned alike, so that they are
compared element by element. Instants are in ns on the clock of the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.errors import DataError
from analysis.scenario.results import ChurnSecond, DeliveryTimes, JoinSlice
from workloads.scenario.population import MembershipLaw, Population, enrolments

Longs: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

#: In place of null: what did not happen, or is not there.
NONE = int(np.iinfo(np.int64).min)

SECOND_NS = 1_000_000_000

#: The first period of a load begins at most this much before or after the instant that its processes agreed on.
_BEGIN_NS = 2 * SECOND_NS

#: What was planned for this long before the end of the load may not have been begun.
_EDGE_NS = SECOND_NS

#: The columns of `subscriptions` that a plan has.
_PLANNED = (
    "population",
    "member",
    "place",
    "key",
    "second_key",
    "connection",
    "planned_join_ns",
    "planned_leave_ns",
)


@dataclass(frozen=True, slots=True, eq=False)
class MemberRows:
    """The subscriptions of a cell's members, in the order of their numbers."""

    #: By number.
    populations: tuple[Population, ...]
    #: The columns of `subscriptions`; NONE for null.
    recorded: Mapping[str, Longs]
    #: The same columns as planned, `joins_ns` and `leaves_ns`; they may have further rows at the end.
    planned: Mapping[str, Longs]
    #: Begin of the first period, and end of the last one under load.
    load_ns: tuple[int, int]
    #: The instant to which the laws' instants are relative.
    origin_ns: int


def arrays(table: pa.Table) -> dict[str, Longs]:
    """The columns of whole numbers; NONE for null."""
    return {
        field.name: table[field.name].cast(pa.int64()).fill_null(NONE).to_numpy()
        for field in table.schema
        if pa.types.is_integer(field.type)
    }


def member_rows(
    populations: Sequence[Population], recorded: Mapping[str, Longs], load_ns: tuple[int, int], place: str
) -> MemberRows:
    """The rows of a cell, with their plan.

    recorded: the rows in any order
    place: the cell for messages

    Raises DataError if subscriptions are not numbered 0, 1, 2, ..., if the instants of one contradict each other, if it
    joined before its planned instant, or after the begin of the load if it is to stand before.
    """
    order = np.argsort(recorded["subscription"], kind="stable")
    rows = {name: column[order] for name, column in recorded.items()}
    if not np.array_equal(rows["subscription"], np.arange(len(order))):
        raise DataError(
            f"subscriptions of {place}: the numbers of {len(order)} rows are not 0, 1, 2, ... without a gap; the "
            "record is incomplete: measure again"
        )
    wrong = _contradictory(rows, load_ns[0])
    if wrong.any():
        raise DataError(
            f"subscriptions of {place}: the instants of {wrong.sum()} rows contradict each other, first of "
            f"subscription {np.flatnonzero(wrong)[0]}; the run directory was changed after it was written: measure "
            "again"
        )
    plan = _plan(populations, len(order), load_ns[1] - load_ns[0])
    origin_ns = _origin(rows["planned_join_ns"], plan["joins_ns"], load_ns[0])
    initial, begun_in = plan["joins_ns"] < 0, load_ns[1] - origin_ns
    plan["planned_join_ns"] = np.where(initial, NONE, plan["joins_ns"] + origin_ns)
    plan["planned_leave_ns"] = np.where(plan["leaves_ns"] < begun_in, plan["leaves_ns"] + origin_ns, NONE)
    plan["joins_ns"] = plan["joins_ns"] + origin_ns
    plan["leaves_ns"] = plan["leaves_ns"] + origin_ns
    return MemberRows(tuple(populations), rows, plan, load_ns, origin_ns)


def _contradictory(rows: Mapping[str, Longs], begin_ns: int) -> Flags:
    join, joined, leave, left = (rows[name] for name in ("subscribe_ns", "joined_ns", "unsubscribe_ns", "left_ns"))
    wrong: Flags = (rows["planned_join_ns"] == NONE) & (joined >= begin_ns)
    for before, after in (
        (rows["planned_join_ns"], join),
        (rows["planned_leave_ns"], leave),
        (join, joined),
        (join, leave),
        (leave, left),
    ):
        wrong |= (before != NONE) & (after != NONE) & (before > after)
    for needed, instant in ((join, joined), (join, leave), (leave, left)):
        wrong |= (instant != NONE) & (needed == NONE)
    return wrong


def _plan(populations: Sequence[Population], recorded: int, until_ns: int) -> dict[str, Longs]:
    """The plan of as many subscriptions as are recorded, and of all that join until then; instants as in the laws."""
    names = ("population", "member", "place", "key", "second_key", "connection", "joins_ns", "leaves_ns")
    rows: list[tuple[int, ...]] = []
    for enrolled in enrolments(populations):
        member = enrolled.member
        if enrolled.first >= recorded and member.joins_ns >= until_ns:
            break
        rows += (
            (
                enrolled.population,
                member.number,
                place,
                keys[0],
                keys[1] if len(keys) > 1 else NONE,
                0 if populations[enrolled.population].sessions else member.connection,
                member.joins_ns,
                member.leaves_ns,
            )
            for _, place, keys in enrolled.numbered()
        )
    return dict(zip(names, np.array(rows, dtype=np.int64).reshape(-1, len(names)).T, strict=True))


def _origin(planned_ns: Longs, joins_ns: Longs, begin_ns: int) -> int:
    """Where the recorded plan has the origin of the laws; the begin of the load if that is not near it."""
    known = min(len(planned_ns), len(joins_ns))
    offsets = (planned_ns[:known] - joins_ns[:known])[planned_ns[:known] != NONE]
    origin_ns = int(np.median(offsets)) if len(offsets) else begin_ns
    return origin_ns if abs(origin_ns - begin_ns) <= _BEGIN_NS else begin_ns


def departures(rows: MemberRows) -> tuple[int, str]:
    """The number of subscriptions that are not those of the plan, and the first of them in words.

    A subscription that should have joined, and was never written, is one of them; that of a session is not, as its
    connection may have failed (see `failed_sessions`).
    """
    recorded, planned = rows.recorded, rows.planned
    number, until_ns = len(recorded["subscription"]), rows.load_ns[1] - _EDGE_NS
    wrong = np.zeros(number, dtype=bool)
    said: list[tuple[int, str]] = []
    of_sessions = [number for number, population in enumerate(rows.populations) if population.sessions]
    sessions = np.isin(recorded["population"], of_sessions)
    never_made = recorded["subscribe_ns"] == NONE
    for name in _PLANNED:
        differs = recorded[name] != planned[name][:number]
        if name == "planned_leave_ns":  # the load and the analysis may disagree about the last instant
            differs &= planned["leaves_ns"][:number] < until_ns
            differs &= ~(sessions & never_made)  # a session without a connection does not come to its leave
        said += [
            (int(at), f"{name} is {_words(recorded[name][at])}, planned {_words(planned[name][at])}")
            for at in np.flatnonzero(differs)[:1]
        ]
        wrong |= differs
    unwritten = never_made & (planned["joins_ns"][:number] < until_ns) & ~sessions
    said += [(int(at), "it was never made") for at in np.flatnonzero(unwritten & ~wrong)[:1]]
    missing = int((planned["joins_ns"][number:] < until_ns).sum())
    if missing:
        said.append((number, "it is not recorded"))
    example = min(said, default=None)
    words = "" if example is None else f"first subscription {example[0]}: {example[1]}"
    return int((wrong | unwritten).sum()) + missing, words


def _words(value: int) -> str:
    return "absent" if value == NONE else str(value)


def durations(took_ns: Longs) -> DeliveryTimes:
    """Percentiles (interpolated), maximum and mean of durations in ns."""
    if not len(took_ns):
        return DeliveryTimes(0)
    p50, p90, p99 = np.percentile(took_ns, (50, 90, 99)) / 1e6
    return DeliveryTimes(
        len(took_ns), float(p50), float(p90), float(p99), float(took_ns.max() / 1e6), float(took_ns.mean() / 1e6)
    )


def between(instants: Longs, span_ns: tuple[int, int]) -> Flags:
    """Which instants are within a span; NONE is in none."""
    return (instants >= span_ns[0]) & (instants < span_ns[1])


def standing(begins_ns: Longs, ends_ns: Longs, span_ns: tuple[int, int]) -> float:
    """The time average of how many stand; one that has not begun is NONE, and so is the end of one that stays."""
    begun = begins_ns != NONE
    begins = np.clip(begins_ns[begun], *span_ns)
    ends = np.clip(np.where(ends_ns[begun] == NONE, span_ns[1], ends_ns[begun]), *span_ns)
    return float(np.maximum(ends - begins, 0).sum()) / (span_ns[1] - span_ns[0])


def seconds(rows: MemberRows, last: int) -> tuple[ChurnSecond, ...]:
    """Every second of the load up to the last one: what stands at its end, and joins and leaves in it."""
    begin_ns = rows.load_ns[0]
    joined, left = (
        np.sort(column[column != NONE]) for column in (rows.recorded["joined_ns"], rows.recorded["unsubscribe_ns"])
    )
    edges = begin_ns + SECOND_NS * np.arange(last + 2)
    joins, leaves = np.searchsorted(joined, edges), np.searchsorted(left, edges)
    return tuple(
        ChurnSecond(
            at, int(joins[at + 1] - leaves[at + 1]), int(joins[at + 1] - joins[at]), int(leaves[at + 1] - leaves[at])
        )
        for at in range(last + 1)
    )


def slices(rows: MemberRows, slice_s: int) -> tuple[JoinSlice, ...]:
    """The latency of joins over time: from SUBSCRIBE to its receipt, by the slice in which SUBSCRIBE was written."""
    recorded = rows.recorded
    known = (recorded["planned_join_ns"] != NONE) & (recorded["joined_ns"] != NONE)
    took_ns = recorded["joined_ns"][known] - recorded["subscribe_ns"][known]
    at = (recorded["subscribe_ns"][known] - rows.load_ns[0]) // (slice_s * SECOND_NS)
    found = []
    for number in np.unique(at):
        times = durations(took_ns[at == number])
        found.append(JoinSlice(float(number * slice_s), times.p50_ms or 0.0, times.p90_ms or 0.0))
    return tuple(found)


def chosen(rows: Mapping[str, Longs], which: Flags) -> dict[str, Longs]:
    """Some of the rows."""
    return {name: column[which] for name, column in rows.items()}


@dataclass(frozen=True, slots=True)
class SessionFaults:
    """The sessions of a population that failed."""

    #: Those that should have begun.
    planned: int
    failed: int
    #: The first that failed, in words; empty if none did.
    why: str
    #: Instants planned for the messages that they did not send, and the executions that these would have started.
    unsent: tuple[tuple[int, int], ...]


def failed_sessions(rows: MemberRows, sessions: Mapping[str, Longs]) -> Mapping[int, SessionFaults]:
    """By the population's number, which sessions failed.

    sessions: the columns of the table

    A session fails that does not connect, is not confirmed as subscribed, or does not send what was planned before the
    end of the load.
    """
    return {
        number: _failed(rows, chosen(sessions, sessions["population"] == number), population.law)
        for number, population in enumerate(rows.populations)
        if population.sessions
    }


def _failed(rows: MemberRows, sessions: Mapping[str, Longs], law: MembershipLaw) -> SessionFaults:
    until_ns, planned, failed, why = rows.load_ns[1] - _EDGE_NS, 0, 0, ""
    unsent: list[tuple[int, int]] = []
    at = {member: place for place, member in enumerate(sessions["member"].tolist())}
    while (member := law.member(planned)).joins_ns + rows.origin_ns < until_ns:
        place = at.get(planned)
        orders = [(order.planned_ns + rows.origin_ns, order.execution) for order in law.orders(planned)]
        due = sum(planned_ns < until_ns for planned_ns, _ in orders)
        if place is None:
            sent, reason = 0, "it was not begun"
        else:
            sent = int(sessions["orders"][place])
            reason = _failure(sessions, place) or (f"{sent} of {due} messages sent" if sent < due else "")
        if reason:
            failed, why = failed + 1, why or f"first session {member.number}: {reason}"
            unsent += orders[sent:]
        planned += 1
    return SessionFaults(planned, failed, why, tuple(unsent))


def _failure(sessions: Mapping[str, Longs], place: int) -> str:
    """Why a session could not send; empty if it could."""
    if sessions["connected_ns"][place] == NONE:
        return "no connection"
    return "no receipt of SUBSCRIBE" if sessions["joined_ns"][place] == NONE else ""
