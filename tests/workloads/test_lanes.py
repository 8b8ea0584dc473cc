"""The lane audit against one that looks at every message by itself."""

from __future__ import annotations

from functools import reduce
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.lanes import LaneAudit, classify

PROPERTY = settings(deadline=None, max_examples=300)

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
    """Interval arithmetic over runs gives the numbers that counting message by message gives."""
    assert classify(runs, sent, expected) == message_by_message(arrivals(runs), sent, expected=expected)


@PROPERTY
@given(runs=RUNS, sent=st.integers(0, 40), expected=st.booleans())
def test_copies_are_conserved(runs, sent, expected):
    """expected + duplicated + misdelivered = delivered + lost, whatever arrived."""
    audit = classify(runs, sent, expected)

    assert audit.expected + audit.duplicated + audit.misdelivered == audit.delivered + audit.lost
    assert min(audit.lost, audit.duplicated, audit.reordered, audit.misdelivered) >= 0


@PROPERTY
@given(runs=RUNS, sent=st.integers(0, 40), data=st.data())
def test_where_a_run_is_cut_does_not_matter(runs, sent, data):
    """Two blocks that a worker read, or single events, are audited as the run that they make up."""
    cut = []
    for first, last in runs:
        middle = data.draw(st.integers(first, last))
        cut += [(first, middle), (middle + 1, last)] if middle < last else [(first, last)]

    assert classify(cut, sent, expected=True) == classify(runs, sent, expected=True)


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
    assert classify(runs, 10, expected=True) == audit
    assert audit.exact == (runs == [(0, 9)])


def test_a_lane_that_should_not_come():
    """At a subscriber whose filter does not match, nothing is expected and every copy is misdelivered."""
    assert classify([], 10, expected=False) == LaneAudit()
    assert classify([(0, 2), (2, 2)], 10, expected=False) == LaneAudit(delivered=4, misdelivered=4)


def test_a_long_orderly_stream_is_cheap():
    """Runs that join into one stream are one interval all the way: no work grows with what was seen."""
    count = 200_000

    audit = classify(((number, number) for number in range(count)), count, expected=True)

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
