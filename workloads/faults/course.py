"""How long a fault was felt: figures of one repetition, from the instants at which the load wrote and read.

A gap in deliveries, or confirmations, is the time between two of them. What was still on its way when the fault began
arrives after it, so the end of an outage is not the first delivery after the fault, but the end of the longest gap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_high

from workloads.faults.accounting import REFUSALS
from workloads.schema import FaultCopyRow, FaultLifeRow, FaultMessageRow

#: A confirmation that takes longer makes its operation silent; deliveries that end longer before the load are away.
SILENT_NS = 1_000_000_000
#: Throughput is back when this share of that before the fault is delivered in as long a time.
BACK_SHARE, BACK_NS = 0.9, 1_000_000_000
#: A message is late if it takes longer than this, or this many times longer than 99 % of those before the fault.
LATE_NS, LATE_FACTOR = 100_000_000, 2
#: How long before the fault its rates and times are taken from, ns.
BEFORE_NS = 1_500_000_000


@dataclass(frozen=True, slots=True)
class Course:
    """Seconds from the instant of the fault, None for what did not happen."""

    #: Until a connection broke, a message was refused, or an operation had been silent for a second.
    noticed_s: float | None
    #: Until the broker answered a login again; of restarts only.
    ready_s: float | None
    #: Until messages were confirmed and delivered again: the ends of the longest gaps.
    confirmed_s: float | None
    delivered_s: float | None
    #: Longest gap between two deliveries; not from the instant of the fault.
    away_s: float | None
    #: Until as much was delivered as before.
    back_s: float | None
    #: Until no message was late any more.
    backlog_gone_s: float | None
    #: Median time from writing to confirmation before the fault, ms.
    confirmation_ms: float | None


def course(
    messages: Sequence[FaultMessageRow], copies: Iterable[FaultCopyRow], life: FaultLifeRow, apart: Iterable[int] = ()
) -> Course:
    """The figures of a repetition.

    apart: subscriptions that the fault itself holds up
    """
    fault, end, aside = life.fault_ns, life.load_end_ns, set(apart)
    first: dict[tuple[int, int], int] = {}
    seen: list[int] = []
    for copy in sorted(copies, key=lambda copy: copy.at_ns):
        if copy.subscription not in aside and copy.at_ns < life.end_ns:  # later ones are kept, and not delivered
            seen.append(copy.at_ns)
            first.setdefault((copy.lane, copy.seq), copy.at_ns)
    confirmed = sorted(message.confirmed_ns for message in messages if message.confirmed_ns is not None)
    away = _longest_gap(seen, fault, end)
    confirming = _longest_gap(confirmed, fault, end)
    delays = [
        (at, at - message.planned_ns)
        for message in messages
        if (at := first.get((message.lane, message.seq))) is not None
    ]
    waits = [
        message.confirmed_ns - message.written_ns
        for message in messages
        if message.confirmed_ns is not None and message.written_ns is not None and message.confirmed_ns < fault
    ]
    return Course(
        noticed_s=_since(fault, _noticed(messages, life)),
        ready_s=_since(fault, life.ready_ns),
        confirmed_s=_since(fault, _end_of(confirming, fault)),
        delivered_s=_since(fault, _end_of(away, fault)),
        away_s=None if away is None else (away[1] - away[0]) / 1e9,
        back_s=_since(fault, _back(seen, fault, _end_of(away, fault), end)),
        backlog_gone_s=None if away is None else _since(fault, _backlog_gone(delays, fault)),
        confirmation_ms=median_high(waits) / 1e6 if waits else None,
    )


def _since(fault_ns: int, at_ns: int | None) -> float | None:
    return None if at_ns is None else max(0.0, (at_ns - fault_ns) / 1e9)


def _longest_gap(instants: Sequence[int], fault_ns: int, end_ns: int) -> tuple[int, int] | None:
    """The longest gap between instants that ends after the fault; None if nothing came after it, or it never ended."""
    begin = max(0, bisect_right(instants, fault_ns) - 1)
    found = [pair for pair in pairwise(instants[begin:]) if fault_ns < pair[1] <= end_ns]
    longest = max(found, key=lambda pair: pair[1] - pair[0], default=None)
    if longest is not None and end_ns - found[-1][1] > max(SILENT_NS, longest[1] - longest[0]):
        return None
    return longest


def _end_of(gap: tuple[int, int] | None, fault_ns: int) -> int | None:
    """The end of an outage, which is the fault itself where no gap is long."""
    if gap is None:
        return None
    return gap[1] if gap[1] - gap[0] > LATE_NS else fault_ns


def _noticed(messages: Iterable[FaultMessageRow], life: FaultLifeRow) -> int | None:
    """When the load first saw that something was wrong."""
    broke = [] if life.first_broken_ns is None else [life.first_broken_ns]
    silent = [
        message.written_ns + SILENT_NS
        for message in messages
        if message.written_ns is not None
        and message.fate not in REFUSALS  # answered: the first of them is noticed like a connection that breaks
        and message.written_ns + SILENT_NS > life.fault_ns
        and (message.confirmed_ns or life.first_broken_ns or life.end_ns) - message.written_ns > SILENT_NS
    ]
    return min((*silent, *broke), default=None)


def _back(seen: Sequence[int], fault_ns: int, from_ns: int | None, end_ns: int) -> int | None:
    """The begin of the first second after the outage in which as much was delivered as before the fault."""
    if from_ns is None:
        return None
    count = bisect_left(seen, fault_ns) - bisect_left(seen, fault_ns - BEFORE_NS)
    wanted = BACK_SHARE * count * BACK_NS / BEFORE_NS
    for index in range(bisect_left(seen, from_ns), len(seen)):
        at = seen[index]
        if at + BACK_NS > end_ns:
            return None
        if bisect_left(seen, at + BACK_NS) - index >= wanted:
            return at
    return None


def _backlog_gone(delays: Iterable[tuple[int, int]], fault_ns: int) -> int | None:
    """When the last late message was delivered: the fault itself if none was late; None if nothing came after it."""
    found = sorted(delays)
    before = sorted(delay for at, delay in found if fault_ns - BEFORE_NS <= at < fault_ns)
    usual = before[int(0.99 * (len(before) - 1))] if before else 0
    after = [(at, delay) for at, delay in found if at >= fault_ns]
    late = (at for at, delay in after if delay > max(LATE_NS, LATE_FACTOR * usual))
    return max(late, default=fault_ns) if after else None
