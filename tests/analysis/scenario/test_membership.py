"""The recorded subscriptions of members, held against the laws of their populations."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import DataError
from analysis.scenario.churn_memory import envelope_slope, subscription_memory
from analysis.scenario.membership import NONE, arrays, departures, durations, failed_sessions, member_rows, standing
from tests.support import churn_runs as cr
from tests.support import scenario_runs as wr
from tests.support.run_directories import schema
from workloads.schema import WORKLOAD_TABLES

SECOND_NS = 10**9


@pytest.fixture
def run():
    """A run of one cell in which nothing is wrong; its rows may be changed."""
    found = wr.empty_run()
    cr.add_cell(found, "clean")
    return found


def rows_of(run):
    populations = cr.TrackerModel().scenario.populations
    load = run.rows("periods", period="warm-up")[0]["begin_ns"], run.rows("periods", period="measurement")[0]["end_ns"]
    table = pa.Table.from_pylist(run.tables["subscriptions"], schema(WORKLOAD_TABLES["subscriptions"]))
    return member_rows(populations, arrays(table), load, "clean")


def test_the_subscriptions_of_a_clean_run_are_those_of_the_plan(run):
    """Also if the processes of the load agreed on an instant a little before or after the first period."""
    assert departures(rows_of(run)) == (0, "")

    for row in run.tables["periods"]:
        row["begin_ns"] += SECOND_NS // 100
        row["end_ns"] += SECOND_NS // 100
    assert departures(rows_of(run)) == (0, "")


@pytest.mark.parametrize(
    ("column", "value"),
    [("member", 7), ("key", 2), ("second_key", 5), ("connection", 9), ("population", 1), ("place", 1)],
)
def test_a_subscription_that_is_not_the_planned_one_is_named(run, column, value):
    """With the first column that differs; the number of such subscriptions is counted."""
    run.rows("subscriptions", subscription=0)[0][column] = value

    number, words = departures(rows_of(run))

    assert number == 1
    assert words.startswith(f"first subscription 0: {column} is {value}, planned ")


def test_another_planned_instant_is_not_the_plan(run):
    """All other instants agree on the begin of the load."""
    row = next(row for row in run.tables["subscriptions"] if row["planned_join_ns"] is not None)
    row["planned_join_ns"] -= 1

    number, words = departures(rows_of(run))

    assert number == 1
    assert words.startswith(f"first subscription {row['subscription']}: planned_join_ns is ")


@pytest.mark.parametrize("gone", [0, 40])
def test_a_removed_row_is_refused(run, gone):
    """Subscriptions are numbered without a gap."""
    del run.tables["subscriptions"][gone]

    with pytest.raises(DataError, match=r"subscriptions of clean: the numbers of \d+ rows are not 0, 1, 2"):
        rows_of(run)


@pytest.mark.parametrize(
    ("column", "by_ns"),
    [("joined_ns", -SECOND_NS), ("left_ns", -SECOND_NS), ("subscribe_ns", -SECOND_NS), ("subscribe_ns", SECOND_NS)],
)
def test_a_moved_instant_is_refused(run, column, by_ns):
    """A receipt is not read before its frame was written, nor is anything written before it was planned."""
    row = next(row for row in run.tables["subscriptions"] if row["planned_join_ns"] is not None)
    row[column] += by_ns

    with pytest.raises(DataError, match=f"contradict each other, first of subscription {row['subscription']};"):
        rows_of(run)


def test_an_initial_subscription_stands_before_the_load(run):
    """A receipt that came later contradicts that."""
    run.tables["subscriptions"][0]["joined_ns"] = run.tables["periods"][0]["begin_ns"]

    with pytest.raises(DataError, match="first of subscription 0;"):
        rows_of(run)


@pytest.mark.parametrize(
    ("sent", "why", "unsent"), [(3, "", 0), (2, "2 of 3 messages sent", 1), (None, "it was not begun", 3)]
)
def test_what_a_failed_session_did_not_send_is_known(run, sent, why, unsent):
    """The last of its orders; all of them where it has no row."""
    session, law = 9, cr.TrackerModel().scenario.populations[-1].law
    rows = [row for row in run.tables["sessions"] if sent is not None or row["member"] != session]
    for row in rows:
        row["orders"] = sent if row["member"] == session else row["orders"]
    table = pa.Table.from_pylist(rows, schema(WORKLOAD_TABLES["sessions"]))

    (found,) = failed_sessions(rows_of(run), arrays(table)).values()

    assert (found.failed, found.why) == (int(bool(why)), why and f"first session {session}: {why}")
    orders = [order.execution for order in law.orders(session)]
    assert [execution for _, execution in found.unsent] == orders[len(orders) - unsent :]


INSTANTS = st.integers(0, 50)


@given(
    spans=st.lists(st.tuples(st.none() | INSTANTS, st.none() | INSTANTS), max_size=8),
    begin=INSTANTS,
    length=st.integers(1, 30),
)
def test_the_average_that_stands_is_that_of_every_instant(spans, begin, length):
    """Counted instant by instant; what never began does not stand, and what has no end stands to the last."""
    begins, ends = (
        np.array([NONE if instant is None else instant for instant in column], dtype=np.int64)
        for column in ([first for first, _ in spans], [last for _, last in spans])
    )
    at = range(begin, begin + length)
    counted = sum(
        first is not None and first <= now and (last is None or now < last) for first, last in spans for now in at
    )

    assert standing(begins, ends, (begin, begin + length)) == pytest.approx(counted / length)


def test_durations_are_exact():
    """In ms; none have a count only."""
    found = durations(np.array([1, 2, 3, 4, 90], dtype=np.int64) * 10**6)

    assert (found.count, found.p50_ms, found.max_ms, found.mean_ms) == (5, 3, 90, 20)
    assert durations(np.array([], dtype=np.int64)).p50_ms is None


def samples(kept_bytes, minutes=12):
    """A heap that fills and is collected, of a broker that keeps so much of each of 4 departures per second."""
    for second in range(60 * minutes):
        yield {
            "at_ns": second * SECOND_NS,
            "left": 4 * second,
            "broker_heap_after_gc_bytes": 50 * 2**20
            + 4 * second * kept_bytes
            + second % 17 * 2**18
            + second % 13 * 1000,
            "broker_rss_bytes": 10**9,
        }


SETUP = {
    "subscriptions": 1000,
    "broker_heap_before_bytes": 40 * 2**20,
    "broker_heap_after_bytes": 40 * 2**20 + 4_000_000,
    "broker_heap_left_bytes": 40 * 2**20,
    "broker_rss_before_bytes": 10**9,
    "broker_rss_after_bytes": 10**9,
    "broker_rss_left_bytes": 10**9,
}


@pytest.mark.parametrize("kept_bytes", [0, 1024])
def test_what_departed_subscriptions_leave_behind_is_the_slope_of_the_lower_envelope(kept_bytes):
    """The interval covers it, and excludes 0 where something is kept."""
    setup = SETUP | {"broker_heap_left_bytes": SETUP["broker_heap_before_bytes"] + 4000 * kept_bytes}
    found = subscription_memory(setup, list(samples(kept_bytes)), [(0, 720 * SECOND_NS)], 4000)

    assert found.bytes_per_subscription == 4000
    assert found.bytes_per_departed.low - 1 <= kept_bytes <= found.bytes_per_departed.high + 1
    assert (found.bytes_per_departed.low > 1) is bool(kept_bytes)
    assert (found.departed, found.left_per_departed) == (4000, kept_bytes)  # also those that left after the drain
    assert found.not_judged == ""


def test_a_short_run_does_not_judge_memory():
    """The slope is there, and why nothing follows from it; without a set-up a subscription's memory is unknown."""
    short = subscription_memory(SETUP, list(samples(1024, 2)), [(0, 120 * SECOND_NS)], 480)
    without = subscription_memory(None, list(samples(1024)), [(0, 720 * SECOND_NS)], 2880)

    assert short.bytes_per_departed is not None
    assert short.not_judged == "judged in runs of 600 s and more, measured 120 s"
    assert (without.bytes_per_subscription, without.not_judged) == (None, "the memory of a subscription is not known")


def test_without_departures_there_is_no_slope():
    """Nor with fewer values than parts."""
    assert envelope_slope([(0, 5)] * 30) == (None, "no subscription left")
    assert envelope_slope([(0, 5), (1, 6)]) == (None, "2 values")
