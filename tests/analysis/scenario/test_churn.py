"""Subscriptions that come and go: the audit finds what is put in, each fault in a row of its own, and nothing else."""

from __future__ import annotations

import json

import pytest

from analysis.errors import DataError
from analysis.scenario import pipeline
from analysis.scenario.json_output import audit_json, summary_json
from analysis.scenario.results import AuditVerdict
from tests.support import churn_runs as cr
from tests.support import scenario_runs as wr
from workloads.registry import WORKLOADS
from workloads.scenario import limits
from workloads.scenario.periods import Period
from workloads.status import VerdictKind

SECOND_NS = 10**9


def measured(run, cell):
    """Begin and end of the measurement."""
    (row,) = run.rows("periods", cell=cell, period="measurement")
    return row["begin_ns"], row["end_ns"]


def trackers(run, cell, step=cr.POSITION):
    """The subscriptions of trackers to a message type that leave in the second half of the measurement, by number."""
    begin, end = measured(run, cell)
    rows = run.rows("subscriptions", cell=cell, population=0, place=0 if step == cr.POSITION else 1)
    return [row for row in rows if (begin + end) / 2 < (row["planned_leave_ns"] or 0) < end - 3 * SECOND_NS]


def copies(run, cell, subscription, begin_ns, end_ns):
    """What a subscription got of the messages sent in between, in the order of sending."""
    rows = run.rows("received", cell=cell, subscription=subscription)
    return sorted((row for row in rows if begin_ns <= row["sent_ns"] < end_ns), key=lambda row: row["sent_ns"])


def lost(run, cell):
    """A subscription does not get a message that it must get."""
    row = trackers(run, cell)[0]
    begin, _ = measured(run, cell)
    run.tables["received"].remove(copies(run, cell, row["subscription"], begin, begin + 2 * SECOND_NS)[0])


def hole(run, cell):
    """The last but one message before a leave is missing, which may be, but the last one came."""
    row = trackers(run, cell)[0]
    until = row["unsubscribe_ns"]
    before, _ = copies(run, cell, row["subscription"], until - SECOND_NS, until)[-2:]
    run.tables["received"].remove(before)


def dropped(run, cell):
    """The last messages before a leave are missing, all of them: nothing is wrong."""
    row = trackers(run, cell)[0]
    until = row["unsubscribe_ns"]
    for copy in copies(run, cell, row["subscription"], until - SECOND_NS, until):
        run.tables["received"].remove(copy)


def behind(run, cell):
    """A copy comes after the receipt of UNSUBSCRIBE, of a message that was sent before: nothing is wrong."""
    row = trackers(run, cell)[0]
    last = copies(run, cell, row["subscription"], 0, row["unsubscribe_ns"])[-1]
    last["received_ns"] = last["settled_ns"] = row["left_ns"] + SECOND_NS


def extra(run, cell, row, copy_of, **changes):
    """A further delivery, as another subscription with the same key got it."""
    run.tables["received"].append({**copy_of, "subscription": row["subscription"], "arrival": 10**6, **changes})


def served(run, cell, from_ns, until_ns):
    """What the subscriptions that stay got of the same vehicle's messages, a copy of each message."""
    row = trackers(run, cell)[0]
    others = run.rows("subscriptions", cell=cell, population=0, place=0, key=row["key"], planned_leave_ns=None)
    return row, copies(run, cell, others[0]["subscription"], row["left_ns"] + from_ns, row["left_ns"] + until_ns)


def left(run, cell):
    """UNSUBSCRIBE is confirmed two seconds before it ends the subscription."""
    row, found = served(run, cell, 0, 2 * SECOND_NS)
    for copy in found:
        extra(run, cell, row, copy)


def joined(run, cell):
    """SUBSCRIBE is confirmed a second and a half before the subscription stands."""
    begin, end = measured(run, cell)
    rows = run.rows("subscriptions", cell=cell, population=0, place=0)
    row = next(row for row in rows if begin < (row["planned_join_ns"] or 0) < end - 4 * SECOND_NS)
    for copy in copies(run, cell, row["subscription"], row["joined_ns"], row["joined_ns"] + 3 * SECOND_NS // 2):
        run.tables["received"].remove(copy)


def doubled(run, cell):
    row = trackers(run, cell)[0]
    begin, _ = measured(run, cell)
    copy = copies(run, cell, row["subscription"], begin, begin + 2 * SECOND_NS)[0]
    extra(run, cell, row, copy, received_ns=copy["received_ns"] + 1000)


def misrouted(run, cell):
    """A tracker of the other vehicle gets a copy, and the one that should does not."""
    first, second = trackers(run, cell)[:2]
    assert first["key"] != second["key"]
    begin, _ = measured(run, cell)
    copies(run, cell, first["subscription"], begin, begin + 2 * SECOND_NS)[0]["subscription"] = second["subscription"]


def swapped(run, cell):
    row = trackers(run, cell)[0]
    begin, _ = measured(run, cell)
    copies(run, cell, row["subscription"], begin, begin + 2 * SECOND_NS)[0]["received_ns"] += 6 * SECOND_NS // 10


def swollen(run, cell):
    row = trackers(run, cell)[0]
    begin, _ = measured(run, cell)
    copies(run, cell, row["subscription"], begin, begin + 2 * SECOND_NS)[0]["body_bytes"] += 1


def late(run, cell):
    """Every copy of a message type comes six seconds late, in order."""
    for row in run.rows("received", cell=cell, step=cr.STATUS, handler=None):
        row["received_ns"] += 6 * SECOND_NS


def silent(run, cell):
    """The receipt of an UNSUBSCRIBE never comes."""
    trackers(run, cell)[0]["left_ns"] = None


def unconfirmed(run, cell):
    """The receipt of a SEND never comes."""
    begin, _ = measured(run, cell)
    next(row for row in run.rows("sent", cell=cell, step=cr.POSITION) if row["sent_ns"] > begin)["settled_ns"] = None


def replanned(run, cell):
    """A subscription is on another connection than planned."""
    trackers(run, cell)[0]["connection"] += 1


def forgotten(run, cell):
    """The last subscriptions, with all their copies, are not recorded."""
    numbers = sorted(row["subscription"] for row in run.rows("subscriptions", cell=cell))[-4:]
    for table in ("subscriptions", "received"):
        gone = [row for row in run.rows(table, cell=cell) if row["subscription"] in numbers]
        run.tables[table] = [row for row in run.tables[table] if row not in gone]


#: By the name of the cell: how it is recorded, what is done to it, and the only test that then fails, where.
CELLS = {
    "clean": ({}, None, None),
    "dropped": ({}, dropped, None),
    "behind": ({}, behind, None),
    "lost": ({}, lost, (limits.SERVED, "trackers")),
    "hole": ({}, hole, (limits.HOLES, "trackers")),
    "left": ({}, left, (limits.LEFT, "trackers")),
    "joined": ({}, joined, (limits.SERVED, "trackers")),
    "doubled": ({}, doubled, (limits.DUPLICATES, "trackers")),
    "misrouted": ({}, misrouted, (limits.WRONG_KEY, "trackers")),
    "swapped": ({}, swapped, (limits.ORDER, "trackers")),
    "swollen": ({}, swollen, (limits.CONTENT, "trackers")),
    "late": ({}, late, (limits.DELIVERY_TIME, "status to members")),
    "silent": ({}, silent, (limits.RECEIPTS, "UNSUBSCRIBE of trackers")),
    "unconfirmed": ({}, unconfirmed, (limits.RECEIPTS, "SEND of position")),
    "replanned": ({}, replanned, (limits.PLAN_KEPT, "subscriptions")),
    "forgotten": ({}, forgotten, (limits.PLAN_KEPT, "subscriptions")),
    "held-up": ({"lag_ns": 8 * SECOND_NS // 5}, None, (limits.CHURN_PACING, "trackers")),
    "refused": ({"refused": 9}, None, (limits.SESSIONS, "shoppers")),
}

FAULTS = {name: expected for name, (_, _, expected) in CELLS.items() if expected is not None}


@pytest.fixture(scope="module")
def registered():
    """The workload of these cells is known while the module's tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(WORKLOADS, cr.WORKLOAD, cr.workload())
        yield


@pytest.fixture(scope="module")
def recording(tmp_path_factory, registered):
    """A run directory with a cell for each of CELLS."""
    run = wr.empty_run()
    for name, (options, change, _) in CELLS.items():
        cr.add_cell(run, name, **options)
        if change is not None:
            change(run, name)
    return run.write(tmp_path_factory.mktemp("churn") / "run")


@pytest.fixture(scope="module")
def results(recording, spark):
    """What the analysis says of each cell, by its name."""
    return {result.key.cell: result for result in pipeline.analysed([recording], master="")}


def failures(result):
    return [(row.rule.name, row.scope, row.why) for row in result.failed]


@pytest.mark.parametrize("cell", ["clean", "dropped", "behind"])
def test_nothing_fails_where_nothing_is_wrong(results, cell):
    """A copy of a message that may come fails no test, whether it is dropped or comes behind the end."""
    assert failures(results[cell]) == []
    assert [row for row in results[cell].audit if row.verdict is AuditVerdict.NOT_JUDGED] == []


@pytest.mark.parametrize("cell", FAULTS)
def test_a_fault_fails_one_row_and_no_other(results, cell):
    """The row of the fault's rule, at the population or message type that it was done to."""
    (row,) = results[cell].failed

    assert (row.rule, row.scope) == FAULTS[cell], failures(results[cell])
    assert results[cell].verdict == VerdictKind.INVALID
