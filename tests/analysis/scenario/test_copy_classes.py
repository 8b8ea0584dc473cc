"""Which copies a subscription must, may and must not get, from the instants before frames and of their receipts."""

from itertools import product

import pyarrow as pa
import pytest

from analysis.scenario.copy_classes import CopyClass, copy_class
from workloads.scenario.limits import LEAVE_MARGIN_NS

#: A unit of time is half the margin before a leave.
UNIT_NS = LEAVE_MARGIN_NS // 2

#: SUBSCRIBE at 20, its receipt at 22; UNSUBSCRIBE at 40, its receipt at 42: what is confirmed up to 38 must come.
SUBSCRIPTION = (20, 22, 40, 42)

#: A message before, across, between and behind these instants: (before its SEND, its receipt) -> class.
MESSAGES = {
    "before SUBSCRIBE": ((17, 19), CopyClass.MUST_NOT),
    "across SUBSCRIBE": ((19, 21), CopyClass.MAY),
    "across the whole of SUBSCRIBE": ((19, 23), CopyClass.MAY),
    "within SUBSCRIBE": ((20, 21), CopyClass.MAY),
    "across the receipt of SUBSCRIBE": ((21, 23), CopyClass.MAY),
    "standing": ((22, 38), CopyClass.MUST),
    "across the margin": ((37, 39), CopyClass.MAY),
    "within the margin": ((39, 40), CopyClass.MAY),
    "across UNSUBSCRIBE": ((39, 41), CopyClass.MAY),
    "within UNSUBSCRIBE": ((40, 42), CopyClass.MAY),
    "across the receipt of UNSUBSCRIBE": ((41, 44), CopyClass.MAY),
    "behind the receipt of UNSUBSCRIBE": ((43, 44), CopyClass.MUST_NOT),
}

NULLS = ("sent_ns", "settled_ns", "subscribe_ns", "joined_ns", "unsubscribe_ns", "left_ns")


def expected(sent, settled, subscribe, joined, unsubscribe, left):
    """The table of classes, with a receipt that never came infinitely late."""
    infinite = 10**9
    if subscribe is None:
        return CopyClass.MUST_NOT
    before_end = settled is not None and settled <= (infinite if unsubscribe is None else unsubscribe) - 2
    if joined is not None and sent >= joined and before_end:
        return CopyClass.MUST
    if (infinite if settled is None else settled) < subscribe or (left is not None and sent > left):
        return CopyClass.MUST_NOT
    return CopyClass.MAY


def classes(spark, rows):
    columns = {
        name: pa.array([None if value is None else value * UNIT_NS for value in column], pa.int64())
        for name, column in zip(NULLS, zip(*rows, strict=True), strict=True)
    }
    frame = spark.createDataFrame(pa.table(columns))
    return [row["class"] for row in frame.select(copy_class().alias("class")).collect()]


def test_a_message_before_across_between_and_behind_the_instants_of_a_subscription(spark):
    """Only what was sent after the receipt of SUBSCRIBE, and confirmed a margin before UNSUBSCRIBE, must come."""
    found = classes(spark, [(*message, *SUBSCRIPTION) for message, _ in MESSAGES.values()])

    assert dict(zip(MESSAGES, found, strict=True)) == {name: str(of) for name, (_, of) in MESSAGES.items()}


@pytest.fixture(scope="module")
def instants():
    """Messages and subscriptions in every order of their instants, with receipts that never came."""
    times = range(0, 10, 3)
    return [
        (sent, settled, subscribe, joined, unsubscribe, left)
        for sent, subscribe in product(times, times)
        for settled in (None, *range(sent, 10, 2))
        for joined in (None, *range(subscribe, 10, 2))
        for unsubscribe in (None, *range(subscribe, 10, 4))
        for left in ((None,) if unsubscribe is None else (None, unsubscribe, unsubscribe + 1))
    ] + [(1, 2, None, None, None, None)]


def test_a_receipt_that_never_came_is_infinitely_late(spark, instants):
    """For every order of instants the class is that of the table: without a receipt nothing must come or may not."""
    found = classes(spark, instants)

    assert found == [str(expected(*row)) for row in instants]
    assert set(found) == set(map(str, CopyClass))
