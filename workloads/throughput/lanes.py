"""The lane audit: what one subscriber, or the subscribers that share a queue, got of one lane, told from its runs.

A *run* is a stretch of consecutive sequence numbers in the order of arrival. An unbroken stream is one
run, so the runs say everything: nothing is sampled, and the audit is interval arithmetic.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LaneAudit:
    """Copies at one subscriber, or at those that share a lane, or sums of them.

    `expected + duplicated + misdelivered == delivered + lost` always holds. A late arrival counts once in
    `reordered` and is neither lost nor duplicated.
    """

    expected: int = 0
    delivered: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    misdelivered: int = 0

    def __add__(self, other: LaneAudit) -> LaneAudit:
        return LaneAudit(
            self.expected + other.expected,
            self.delivered + other.delivered,
            self.lost + other.lost,
            self.duplicated + other.duplicated,
            self.reordered + other.reordered,
            self.misdelivered + other.misdelivered,
        )

    @property
    def exact(self) -> bool:
        """Every expected copy came, once, in order, and no other copy came."""
        return not (self.lost or self.duplicated or self.reordered or self.misdelivered)


def audit_lane(runs: Iterable[tuple[int, int]], sent: int, expected: bool) -> LaneAudit:
    """What became of one lane at one subscriber.

    `runs` are (first_seq, last_seq), both included, in the order of arrival; `sent` messages of the lane,
    numbered from 0, were wholly written to the broker; `expected` says whether the subscriber's filter
    matches the lane. A copy that the subscriber should not have, or that nobody sent, is misdelivered.
    """
    delivered = duplicated = reordered = misdelivered = distinct = 0
    high = 0  # one more than the highest number seen: what arrives below it, for the first time, is late
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
    """What became of a lane of which each message goes to exactly one of several subscribers, whichever it is.

    `handlers` are the runs of each of them, as `audit_lane` takes them; `sent` as there. Lost is what came to none,
    duplicated every copy beyond the first over all of them. Order is judged within a subscriber only: nothing says
    in which order two of them are served, so that a second copy may be late at its subscriber as well. Copies at a
    subscription that is not among those of the lane are not this function's: they are `audit_lane`'s, unexpected.
    """
    alone = LaneAudit()
    runs: list[tuple[int, int]] = []
    for handler in handlers:
        of_handler = list(handler)
        alone += audit_lane(of_handler, sent, expected=True)
        runs += of_handler
    distinct = high = 0  # the union of all runs, swept from below; high is one more than what it holds
    for first, end in sorted(runs):
        last = min(end, sent - 1)
        distinct += max(0, last - max(first, high) + 1)
        high = max(high, last + 1)
    duplicated = alone.delivered - alone.misdelivered - distinct
    return LaneAudit(sent, alone.delivered, sent - distinct, duplicated, alone.reordered, alone.misdelivered)


def _insert(starts: list[int], ends: list[int], first: int, last: int, high: int) -> tuple[int, int]:
    """Adds [first, last] to the seen intervals; returns how many of it are new, and how many of these are late."""
    begin = bisect_left(ends, first)  # the first interval that reaches into [first, last]
    end = bisect_right(starts, last)  # one past the last
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
