"""The lane audit: counts what a subscriber, or the subscribers that share a queue, received of a lane.

A *run* is a stretch of consecutive sequence numbers in the order of arrival. An unbroken stream is a single run, so
the list of runs is complete: nothing is sampled, and the audit is interval arithmetic.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LaneAudit:
    """Copies at a subscriber, or at those that share a lane, or sums of them.

    `expected + duplicated + misdelivered == delivered + lost` always holds.
    """

    expected: int = 0
    #: all copies that arrived
    delivered: int = 0
    #: expected copies that did not arrive
    lost: int = 0
    #: further arrivals of a copy that had arrived before
    duplicated: int = 0
    #: copies that arrived after one with a higher number; each counts once here, and is neither lost nor duplicated
    reordered: int = 0
    #: copies that the subscriber should not have received, or that were never sent
    misdelivered: int = 0

    def __add__(self, other: LaneAudit) -> LaneAudit:
        return LaneAudit(*(getattr(self, name) + getattr(other, name) for name in LaneAudit.__slots__))

    @property
    def exact(self) -> bool:
        """Every expected copy arrived exactly once and in order, and no other copy arrived."""
        return not (self.lost or self.duplicated or self.reordered or self.misdelivered)

    @property
    def only_lost(self) -> bool:
        """Copies are missing, and what arrived is right."""
        return self.lost > 0 and not (self.duplicated or self.reordered or self.misdelivered)

    def as_promised(self, *, droppable: bool) -> bool:
        """Every copy arrived once and in order, or some were dropped where the protocol lets the broker do that."""
        return self.exact or (droppable and self.only_lost)


def audit_lane(runs: Iterable[tuple[int, int]], sent: int, expected: bool) -> LaneAudit:
    """The audit of a lane at a subscriber.

    runs: (first_seq, last_seq), both included, in the order of arrival
    sent: messages of the lane, numbered from 0, that were wholly written to the broker
    expected: whether the subscriber's filter matches the lane
    """
    delivered = duplicated = reordered = misdelivered = distinct = 0
    high = 0  # highest number seen + 1: a number below it that arrives for the first time is late
    starts: list[int] = []  # disjoint, sorted intervals of what was seen
    ends: list[int] = []
    for first, end in runs:
        delivered += end - first + 1
        if not expected:
            misdelivered += end - first + 1
            continue
        misdelivered += max(0, end - max(first, sent) + 1)
        last = min(end, sent - 1)
        if last < first:
            continue
        fresh, late = _insert(starts, ends, first, last, high)
        distinct += fresh
        duplicated += last - first + 1 - fresh
        reordered += late
        high = max(high, last + 1)
    total = sent if expected else 0
    return LaneAudit(total, delivered, total - distinct, duplicated, reordered, misdelivered)


def audit_shared_lane(handlers: Iterable[Iterable[tuple[int, int]]], sent: int) -> LaneAudit:
    """The audit of a lane of which each message goes to exactly one of several subscribers, no matter which.

    A message that reached none of them is lost; every copy beyond the first, over all of them, is duplicated. Order
    is checked within a subscriber only, since the order between subscribers is undefined; a second copy may therefore
    also count as reordered at its subscriber. Copies at a subscription that does not belong to the lane are not
    handled here, but by `audit_lane` with expected=False.

    handlers: the runs of each subscriber, as in `audit_lane`
    sent: as in `audit_lane`
    """
    alone = LaneAudit()
    runs: list[tuple[int, int]] = []
    for handler in handlers:
        of_handler = list(handler)
        alone += audit_lane(of_handler, sent, expected=True)
        runs += of_handler
    distinct = high = 0  # size of the union of all runs, swept in ascending order; high: its highest number + 1
    for first, end in sorted(runs):
        last = min(end, sent - 1)
        distinct += max(0, last - max(first, high) + 1)
        high = max(high, last + 1)
    duplicated = alone.delivered - alone.misdelivered - distinct
    return LaneAudit(sent, alone.delivered, sent - distinct, duplicated, alone.reordered, alone.misdelivered)


def _insert(starts: list[int], ends: list[int], first: int, last: int, high: int) -> tuple[int, int]:
    """Adds [first, last] to the seen intervals; returns how many numbers are new, and how many of these are late."""
    begin = bisect_left(ends, first)  # the first interval that reaches into [first, last]
    end = bisect_right(starts, last)  # index after the last such interval
    fresh = last - first + 1
    late = max(0, min(last, high - 1) - first + 1)
    for start, stop in zip(starts[begin:end], ends[begin:end], strict=True):
        known = min(stop, last) - max(start, first) + 1
        fresh -= known
        late -= known  # every seen number lies below high
    if begin < end:
        first, last = min(first, starts[begin]), max(last, ends[end - 1])
    if (
        end < len(starts) and starts[end] == last + 1
    ):  # join with the neighbours, so that order in time stays one interval
        last = ends[end]
        end += 1
    if begin > 0 and ends[begin - 1] == first - 1:
        first = starts[begin - 1]
        begin -= 1
    starts[begin:end] = [first]
    ends[begin:end] = [last]
    return fresh, late
