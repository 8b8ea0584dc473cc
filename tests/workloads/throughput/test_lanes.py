"""The lane audit against one that looks at every message by itself."""

from __future__ import annotations

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import examples
from workloads.throughput.lanes import LaneAudit, audit_lane, audit_shared_lane

PROPERTY = examples(150)

RUNS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 8)).map(lambda run: (run[0], run[0] + run[1])), max_size=14
)


def arrivals(runs: list[tuple[int, int]]) -> list[int]:
    return [number for first, last in runs for number in range(first, last + 1)]


def message_by_message(numbers: list[int], sent: int, *, expected: bool) -> LaneAudit:
    seen: set[int] = set()
    audit = LaneAudit(expected=sent if expected else 0, delivered=len(numbers))
    for number in numbers:
        if not expected or number >= sent:
            audit += LaneAudit(misdelivered=1)
        elif number in seen:
            audit += LaneAudit(duplicated=1)
        else:
            audit += LaneAudit(reordered=int(any(number < other for other in seen)))
            seen.add(number)
    return audit + LaneAudit(lost=audit.expected - len(seen))


@PROPERTY
@given(runs=RUNS, sent=st.integers(0, 40), expected=st.booleans())
def test_runs_tell_what_messages_tell(runs, sent, expected):
    """Interval arithmetic over runs gives the numbers that counting message by message gives; copies are conserved."""
    audit = audit_lane(runs, sent, expected)

    assert audit == message_by_message(arrivals(runs), sent, expected=expected)
    assert audit.expected + audit.duplicated + audit.misdelivered == audit.delivered + audit.lost


@PROPERTY
@given(runs=RUNS, sent=st.integers(0, 40), data=st.data())
def test_where_a_run_is_cut_does_not_matter(runs, sent, data):
    """Two blocks that a worker read, or single events, are audited as the run that they make up."""
    cut = []
    for first, last in runs:
        middle = data.draw(st.integers(first, last))
        cut += [(first, middle), (middle + 1, last)] if middle < last else [(first, last)]

    assert audit_lane(cut, sent, expected=True) == audit_lane(runs, sent, expected=True)


def copy_by_copy(handlers: list[list[int]], sent: int) -> LaneAudit:
    """Every copy of a shared lane by itself: how often each number came in all, and its order at its handler."""
    audit = LaneAudit(expected=sent, delivered=sum(map(len, handlers)))
    everywhere = [number for numbers in handlers for number in numbers]
    for number in range(sent):
        copies = everywhere.count(number)
        audit += LaneAudit(lost=int(copies == 0), duplicated=max(0, copies - 1))
    for numbers in handlers:
        for place, number in enumerate(numbers):
            if number >= sent:
                audit += LaneAudit(misdelivered=1)
            elif number not in numbers[:place]:
                audit += LaneAudit(reordered=int(any(number < other < sent for other in numbers[:place])))
    return audit


HANDLERS = st.lists(RUNS, max_size=4)


@PROPERTY
@given(handlers=HANDLERS, sent=st.integers(0, 40))
def test_a_shared_lane_counts_each_message_once_over_all_its_handlers(handlers, sent):
    """Lost is what no handler got, duplicated what came again at any, late what came late at its own handler."""
    audit = audit_shared_lane(handlers, sent)

    assert audit == copy_by_copy([arrivals(runs) for runs in handlers], sent)
    assert audit.expected + audit.duplicated + audit.misdelivered == audit.delivered + audit.lost


#: What two handlers got of ten messages, in words, and what is wrong with it.
SHARED_CASES = {
    "in turn": ([range(0, 10, 2), range(1, 10, 2)], LaneAudit(10, 10)),
    "one takes all": ([range(10), []], LaneAudit(10, 10)),
    "both get all, as of a topic": ([range(10), range(10)], LaneAudit(10, 20, duplicated=10)),
    "one is lost": ([[0, 2, 4, 8], [1, 3, 5, 7, 9]], LaneAudit(10, 9, lost=1)),
    "one again at the other": ([[0, 2, 4, 6, 8], [1, 3, 5, 6, 7, 9]], LaneAudit(10, 11, duplicated=1)),
    "late at its handler": ([[0, 2, 6, 4, 8], [1, 3, 5, 7, 9]], LaneAudit(10, 10, reordered=1)),
    "what nobody sent": ([[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9]], LaneAudit(10, 11, misdelivered=1)),
}


@pytest.mark.parametrize(("handlers", "audit"), SHARED_CASES.values(), ids=SHARED_CASES)
def test_what_became_of_ten_shared_messages(handlers, audit):
    """Whoever gets a message, it comes once; which of two handlers is faster is no disorder."""
    assert audit_shared_lane([[(n, n) for n in numbers] for numbers in handlers], 10) == audit


def test_a_long_shared_stream_is_cheap():
    """Numbers that go round over many handlers never join into one interval, and still cost no quadratic work."""
    count, handlers = 100_000, 5

    audit = audit_shared_lane(([(n, n) for n in range(each, count, handlers)] for each in range(handlers)), count)

    assert audit == LaneAudit(count, count)


#: What arrived of ten messages, in words, and what is wrong with it.
CASES = {
    "all in order": ([(0, 9)], LaneAudit(10, 10)),
    "nothing": ([], LaneAudit(10, 0, lost=10)),
    "a gap": ([(0, 3), (6, 9)], LaneAudit(10, 8, lost=2)),
    "the end is missing": ([(0, 6)], LaneAudit(10, 7, lost=3)),
    "the begin is missing": ([(3, 9)], LaneAudit(10, 7, lost=3)),
    "one twice": ([(0, 4), (4, 9)], LaneAudit(10, 11, duplicated=1)),
    "all twice": ([(0, 9), (0, 9)], LaneAudit(10, 20, duplicated=10)),
    "two exchanged: one late arrival": ([(0, 3), (5, 5), (4, 4), (6, 9)], LaneAudit(10, 10, reordered=1)),
    "one far too late": ([(0, 3), (5, 9), (4, 4)], LaneAudit(10, 10, reordered=1)),
    "late, and then once more": ([(0, 3), (5, 9), (4, 4), (4, 4)], LaneAudit(10, 11, duplicated=1, reordered=1)),
    "backwards": ([(n, n) for n in range(9, -1, -1)], LaneAudit(10, 10, reordered=9)),
    "more than was sent": ([(0, 12)], LaneAudit(10, 13, misdelivered=3)),
    "what nobody sent, alone": ([(0, 9), (20, 21)], LaneAudit(10, 12, misdelivered=2)),
}


@pytest.mark.parametrize(("runs", "audit"), CASES.values(), ids=CASES)
def test_what_became_of_ten_messages(runs, audit):
    """A late arrival is neither lost nor duplicated; a copy that nobody sent is misdelivered."""
    assert audit_lane(runs, 10, expected=True) == audit
    assert audit.exact == (runs == [(0, 9)])


def test_a_lane_that_should_not_come():
    """At a subscriber whose filter does not match, nothing is expected and every copy is misdelivered."""
    assert audit_lane([], 10, expected=False) == LaneAudit()
    assert audit_lane([(0, 2), (2, 2)], 10, expected=False) == LaneAudit(delivered=4, misdelivered=4)


def test_a_long_orderly_stream_is_cheap():
    """Runs that join into one stream are one interval all the way: no work grows with what was seen."""
    count = 100_000

    audit = audit_lane(((number, number) for number in range(count)), count, expected=True)

    assert audit == LaneAudit(count, count)


@PROPERTY
@given(audits=st.lists(st.builds(LaneAudit, *[st.integers(0, 9)] * 6), max_size=5))
def test_audits_add_up(audits):
    """The audit of a cell is the sum over lanes and subscribers; it is exact when each of them is."""
    total = reduce(add, audits, LaneAudit())

    assert total.lost == sum(audit.lost for audit in audits)
    assert total.expected == sum(audit.expected for audit in audits)
    assert total.delivered == sum(audit.delivered for audit in audits)
    assert total.exact == all(audit.exact for audit in audits)
