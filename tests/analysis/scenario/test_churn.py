"""Subscriptions that come and go: the audit finds what is put in, each fault in a row of its own, and nothing else."""

from __future__ import annotations

import json

import pytest

from analysis.errors import DataError
from analysis.report import scenario_page
from analysis.scenario import console, pipeline
from analysis.scenario.json_output import audit_json, summary_json
from analysis.scenario.reader import comparable, open_runs
from analysis.scenario.results import AuditVerdict
from tests.support import churn_runs as cr
from tests.support import scenario_runs as wr
from workloads.registry import WORKLOADS
from workloads.scenario import limits
from workloads.scenario.periods import Period
from workloads.status import VerdictKind

#: Analyses of further workloads, each the first of its kind in a Spark session.
pytestmark = pytest.mark.brokers

SECOND_NS = 10**9


def measured(run, cell):
    """Begin and end of the measurement."""
    (row,) = run.rows("periods", cell=cell, period="measurement")
    return row["begin_ns"], row["end_ns"]


def trackers(run, cell, step=cr.POSITION):
    """The subscriptions of trackers to a message type that leave in the last two thirds of the measurement."""
    begin, end = measured(run, cell)
    rows = run.rows("subscriptions", cell=cell, population=0, place=0 if step == cr.POSITION else 1)
    return [row for row in rows if begin + 10 * SECOND_NS < (row["planned_leave_ns"] or 0) < end - 3 * SECOND_NS]


def copies(run, cell, subscription, begin_ns, end_ns):
    """What a subscription got of the messages sent in between, in the order of sending."""
    rows = run.rows("received", cell=cell, subscription=subscription)
    return sorted((row for row in rows if begin_ns <= row["sent_ns"] < end_ns), key=lambda row: row["sent_ns"])


def of_next(run, cell, row):
    """The first copy that a subscription got of the messages sent in the measurement."""
    begin, _ = measured(run, cell)
    return copies(run, cell, row["subscription"], begin, begin + 2 * SECOND_NS)[0]


def lost(run, cell, row):
    """A subscription does not get a message that it must get."""
    run.tables["received"].remove(of_next(run, cell, row))


def hole(run, cell, row):
    """The last but one message before a leave is missing, which may be, but the last one came."""
    until = row["unsubscribe_ns"]
    before, _ = copies(run, cell, row["subscription"], until - SECOND_NS, until)[-2:]
    run.tables["received"].remove(before)


def dropped(run, cell, row):
    """The last messages before a leave are missing, all of them: nothing is wrong."""
    until = row["unsubscribe_ns"]
    for copy in copies(run, cell, row["subscription"], until - SECOND_NS, until):
        run.tables["received"].remove(copy)


def behind(run, cell, row):
    """A copy comes after the receipt of UNSUBSCRIBE, of a message that was sent before: nothing is wrong."""
    last = copies(run, cell, row["subscription"], 0, row["unsubscribe_ns"])[-1]
    last["received_ns"] = last["settled_ns"] = row["left_ns"] + SECOND_NS


def left(run, cell, row):
    """UNSUBSCRIBE is confirmed two seconds before it ends the subscription: it gets what others with its key get."""
    others = run.rows("subscriptions", cell=cell, population=0, place=0, key=row["key"], planned_leave_ns=None)
    for copy in copies(run, cell, others[0]["subscription"], row["left_ns"], row["left_ns"] + 2 * SECOND_NS):
        run.tables["received"].append({**copy, "subscription": row["subscription"]})


def doubled(run, cell, row):
    copy = of_next(run, cell, row)
    run.tables["received"].append({**copy, "arrival": 10**6, "received_ns": copy["received_ns"] + 1000})


def misrouted(run, cell, row):
    """A tracker of the other vehicle gets a copy, and the one that should does not."""
    others = run.rows("subscriptions", cell=cell, population=0, place=0, key=3 - row["key"], planned_leave_ns=None)
    copies(run, cell, row["subscription"], *measured(run, cell))[9]["subscription"] = others[0]["subscription"]
    return others[0]


def swapped(run, cell, row):
    of_next(run, cell, row)["received_ns"] += 6 * SECOND_NS // 10


def swollen(run, cell, row):
    of_next(run, cell, row)["body_bytes"] += 1


def silent(run, cell, row):
    """The receipt of an UNSUBSCRIBE never comes."""
    row["left_ns"] = None


def replanned(run, cell, row):
    """A subscription is on another connection than planned."""
    row["connection"] += 1


def joined(run, cell, _):
    """SUBSCRIBE is confirmed a second and a half before the subscription stands."""
    begin, end = measured(run, cell)
    rows = run.rows("subscriptions", cell=cell, population=0, place=0)
    row = next(row for row in rows if begin < (row["planned_join_ns"] or 0) < end - 4 * SECOND_NS)
    for copy in copies(run, cell, row["subscription"], row["joined_ns"], row["joined_ns"] + 3 * SECOND_NS // 2):
        run.tables["received"].remove(copy)
    return row


def late(run, cell, _):
    """Every copy of a message type comes six seconds late, in order."""
    for row in run.rows("received", cell=cell, step=cr.STATUS, handler=None):
        row["received_ns"] += 6 * SECOND_NS


def unconfirmed(run, cell, _):
    """The receipt of a SEND never comes."""
    begin, _ = measured(run, cell)
    next(row for row in run.rows("sent", cell=cell, step=cr.POSITION) if row["sent_ns"] > begin)["settled_ns"] = None


def forgotten(run, cell, _):
    """The last subscriptions, with all their copies, are not recorded."""
    numbers = sorted(row["subscription"] for row in run.rows("subscriptions", cell=cell))[-2:]
    for table in ("subscriptions", "received"):
        gone = run.rows(table, cell=cell)
        gone = [row for row in gone if row["subscription"] in numbers]
        run.tables[table] = [row for row in run.tables[table] if row not in gone]


#: By the name of the cell: how it is recorded, and what is done to it, with the test that must fail, where. Each of
#: several is done to another subscription. A cell has one fault of a kind.
CELLS = {
    "clean": ({}, ()),
    "tolerated": ({}, ((dropped, None, None), (behind, None, None))),
    "several": (
        {},
        (
            (lost, limits.SERVED, "trackers"),
            (hole, limits.HOLES, "trackers"),
            (left, limits.LEFT, "trackers"),
            (doubled, limits.DUPLICATES, "trackers"),
            (misrouted, limits.WRONG_KEY, "trackers"),
            (swapped, limits.ORDER, "trackers"),
            (swollen, limits.CONTENT, "trackers"),
            (silent, limits.RECEIPTS, "UNSUBSCRIBE of trackers"),
            (replanned, limits.PLAN_KEPT, "subscriptions"),
        ),
    ),
    "further": (
        {},
        (
            (joined, limits.SERVED, "trackers"),
            (late, limits.DELIVERY_TIME, "status to members"),
            (unconfirmed, limits.RECEIPTS, "SEND of position"),
            (forgotten, limits.PLAN_KEPT, "subscriptions"),
        ),
    ),
    "held-up": ({"lag_ns": 8 * SECOND_NS // 5}, ((None, limits.CHURN_PACING, "trackers"),)),
    "refused": ({"refused": 9}, ((None, limits.SESSIONS, "shoppers"),)),
}


@pytest.fixture(scope="module")
def registered():
    """The workload of these cells is known while the module's tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(WORKLOADS, cr.WORKLOAD, cr.workload())
        yield


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, registered):
    """A run directory with a cell for each of CELLS; and by cell and fault, the subscription that it was done to."""
    run, numbers = wr.empty_run(), {}
    for cell, (options, faults) in CELLS.items():
        cr.add_cell(run, cell, **options)
        chosen = trackers(run, cell)
        for row, (change, *_) in zip(chosen, faults, strict=False):
            if change is not None:
                numbers[cell, change] = (change(run, cell, row) or row)["subscription"]
        assert len(chosen) >= len(faults)
    return run.write(tmp_path_factory.mktemp("churn") / "run"), numbers


@pytest.fixture(scope="module")
def results(recorded, spark):
    """What the analysis says of each cell, by its name."""
    return {result.key.cell: result for result in pipeline.analysed([recorded[0]], master="")}


def failures(result):
    return [(row.rule.name, row.scope, row.why) for row in result.failed]


@pytest.mark.parametrize("cell", ["clean", "tolerated"])
def test_nothing_fails_where_nothing_is_wrong(results, cell):
    """A copy of a message that may come fails no test, whether it is dropped or comes behind the end."""
    assert failures(results[cell]) == []
    unjudged = {row.rule for row in results[cell].audit if row.verdict is AuditVerdict.NOT_JUDGED}
    assert unjudged <= {limits.LEVEL}, "the warm-up is short"


@pytest.mark.parametrize("cell", [cell for cell, (_, faults) in CELLS.items() if faults and cell != "tolerated"])
def test_a_fault_fails_a_row_of_its_own_and_no_other(results, cell):
    """The row of each fault's rule, at the population or message type that it was done to."""
    failed = {(row.rule, row.scope) for row in results[cell].failed}

    assert failed == {(rule, scope) for _, rule, scope in CELLS[cell][1]}, failures(results[cell])
    assert results[cell].verdict == VerdictKind.INVALID


@pytest.mark.parametrize("fault", [fault for fault, *_ in CELLS["several"][1]])
def test_a_failed_row_names_the_subscription(results, recorded, fault):
    """The first example is the message and the subscription that the fault was done to."""
    rule = next(rule for change, rule, _ in CELLS["several"][1] if change is fault)
    (row,) = (row for row in results["several"].failed if row.rule is rule)

    assert f"subscription {recorded[1]['several', fault]}" in row.why


def test_copies_are_counted_by_what_had_to_come(results):
    """Every copy of a clean run is one that must or may come; what is behind the receipt is counted apart."""
    clean, tolerated = ({of.message: of for of in results[cell].churn.copies} for cell in ("clean", "tolerated"))

    assert all(of.must == of.must_received for of in clean.values())
    assert all(of.must_not == 0 for of in (*clean.values(), *tolerated.values()))
    position = tolerated["position"]
    assert position.may == clean["position"].may
    assert position.may_received < clean["position"].may_received
    assert position.must_received == clean["position"].must
    assert sum(of.must_received + of.may_received for of in clean.values()) == sum(
        step.received for step in results["clean"].measured.steps
    ) + early(results["clean"])


def early(result):
    """Copies received before or after the measurement."""
    measured_s = next(span for span in result.spans if span.period is Period.MEASUREMENT)
    end_s = measured_s.begin_s + measured_s.seconds
    return sum(at.received for at in result.seconds if not measured_s.begin_s <= at.second < end_s)


def test_a_run_is_put_beside_the_published_table(results):
    """Rates, subscriptions standing, publishers, joins and copies per message are those of the model."""
    for flow in results["clean"].churn.flows:
        assert flow.sent == pytest.approx(float(flow.published.published), rel=0.01)
        assert flow.subscriptions == pytest.approx(float(flow.published.subscriptions), rel=0.02)
        assert flow.publishers == pytest.approx(float(flow.published.publishers), rel=0.02)
        assert flow.joins == pytest.approx(float(flow.published.joins), abs=1.5 / 30)
        assert flow.publisher_joins == pytest.approx(float(flow.published.publisher_joins), abs=0.05)
        assert flow.factor == pytest.approx(float(flow.published.factor), rel=0.05)


def test_copies_that_are_older_than_the_next_message_are_a_remark(results):
    """Six seconds late, where each sender sends twice a second: no test of the audit, but nothing to be kept quiet."""
    what = "copies of status arrive when the next one has been sent"
    (found,) = [finding for finding in results["further"].findings if finding.what == what]

    assert found.consequence is VerdictKind.VALID
    assert found.measured.startswith("90th percentile of the delivery time 6,")
    assert found.limit == "500 ms between two messages of the same sender"
    assert what not in {finding.what for finding in results["clean"].findings}


def test_latencies_are_those_of_the_receipts(results):
    """A receipt is read 3 ms after its frame was written; trackers begin 1 ms late; the bracket contains the effect."""
    (found,) = (of for of in results["clean"].churn.populations if of.label == "trackers")

    assert (found.join.p50_ms, found.join_planned.p50_ms, found.leave.p90_ms) == (3, 4, 3)
    assert found.effect_after.max_ms < cr.EFFECT_NS / cr.MS_NS < found.effect_before.p50_ms
    assert found.standing == pytest.approx(found.planned_standing, rel=0.001)


def test_memory_and_set_up_are_measured(results):
    """A subscription takes 2 KB of the heap, and leaves nothing behind; a run of half a minute is not judged."""
    churn = results["clean"].churn

    assert churn.memory.bytes_per_subscription == 2048
    assert churn.memory.left_per_departed == 0
    assert "600 s" in churn.memory.not_judged
    assert churn.setup.per_s == churn.setup.subscriptions / 2


def test_scripts_get_the_copies_by_class(results):
    """`audit --json` has must, may and must not of each message type, `summary --json` all but the seconds."""
    audited, summarized = (
        json.loads(json.dumps(record([results["several"]])))["cells"][0] for record in (audit_json, summary_json)
    )

    position = next(of for of in audited["copies"] if of["message"] == "position")
    assert position["must_received"] == position["must"] - 2, "one lost, one misrouted"
    assert position["must_not"] == 4
    assert summarized["subscriptions"]["copies"] == audited["copies"]
    assert summarized["subscriptions"]["flows"][0]["sent"]["model"] == 1.5


def test_the_screen_and_the_page_show_what_came_and_went(results):
    """Populations, copies, memory and the published table are tables of both; the page has figures over time."""
    text, page = console.summary([results["clean"]]), scenario_page.html([results["clean"]])

    for words in ("Subscriptions of populations", "Latency of joins", "Copies in the whole run", "beside the model"):
        assert words in text
        assert words in page
    assert "Subscriptions that come and go" in page


def test_what_must_not_be_compared_is_refused(results, recorded, registered, tmp_path):
    """Runs that differ in a quantity that keeps results apart are not analysed together."""
    other = wr.empty_run()
    cr.add_cell(other, "clean", factor=2)
    other.write(tmp_path / "other")

    with pytest.raises(DataError, match="different values of factor are never put side by side"):
        comparable(open_runs([recorded[0], tmp_path / "other"]))
