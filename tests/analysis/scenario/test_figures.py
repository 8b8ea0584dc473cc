"""What a result says in numbers, against numpy on the very rows."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from analysis.scenario import aggregates, console, json_output, timeline
from tests.conftest import read_json, table_rows
from tests.support import scenario_results as wr
from tests.support.pages import screen
from tests.support.records import through_json
from workloads.scenario.periods import Period
from workloads.specjms2007 import DISCLAIMER


@pytest.fixture(scope="module")
def rows(recording):
    return {name: table_rows(recording, name, cell="perfect") for name in ("sent", "received", "periods", "samples")}


@pytest.fixture(scope="module")
def span(rows):
    (row,) = (row for row in rows["periods"] if row["period"] == Period.MEASUREMENT)
    return row["begin_ns"], row["end_ns"]


def test_percentiles_are_those_of_numpy(results, rows, span):
    """Of what was received in the period, interpolated linearly between the two nearest."""
    for handler in results["perfect"].measured.handlers:
        took_ns = [
            row["received_ns"] - row["sent_ns"]
            for row in rows["received"]
            if row["handler"] == handler.handler and span[0] <= row["received_ns"] < span[1]
        ]
        took = [number / 1e6 for number in took_ns]
        assert handler.delivery.count == len(took)
        assert handler.delivery.mean_ms == sum(took_ns) / len(took_ns) / 1e6
        assert (handler.delivery.p50_ms, handler.delivery.p90_ms, handler.delivery.p99_ms) == pytest.approx(
            tuple(np.percentile(took, [50, 90, 99]))
        )
        assert handler.delivery.max_ms == pytest.approx(max(took))


def test_rates_and_cpu_are_those_of_the_period(results, rows, span):
    """Messages by the instant of sending and of receipt; CPU time in cores, and per message."""
    period = results["perfect"].measured
    sent = sum(span[0] <= row["sent_ns"] < span[1] for row in rows["sent"])
    received = sum(span[0] <= row["received_ns"] < span[1] for row in rows["received"])

    assert (period.sent_per_s, period.received_per_s) == pytest.approx((sent / 25, received / 25))
    assert period.load_us_per_message == pytest.approx(20, rel=0.01)
    assert period.broker_cpu == pytest.approx((sent + received) * 50e-6 / 25, rel=0.01)
    assert period.store_growth_bytes_per_s == pytest.approx(sent * 100 / 25, rel=0.02)


def test_an_execution_lasts_from_its_first_sending_to_its_last_receipt(results, rows, span):
    """End-to-end times are of executions that were started in the period and were complete in the end."""
    first, last = {}, {}
    for row in rows["sent"]:
        first[row["execution"]] = min(first.get(row["execution"], row["sent_ns"]), row["sent_ns"])
    for row in rows["received"]:
        last[row["execution"]] = max(last.get(row["execution"], 0), row["received_ns"])
    (second,) = (one for one in results["perfect"].measured.interactions if one.number == 2)
    took = [
        (last[execution] - begin) / 1e6
        for execution, begin in first.items()
        if execution >> 60 == 2 and span[0] <= begin < span[1]
    ]

    assert second.end_to_end.count == len(took) == second.completed
    assert second.end_to_end.p90_ms == pytest.approx(np.percentile(took, 90))


def test_the_course_of_the_run_adds_up(results, rows):
    """Every message is in one second; the backlog ends at 0 and is never negative."""
    seconds = results["perfect"].seconds

    assert sum(one.sent for one in seconds) == len(rows["sent"])
    assert sum(one.received for one in seconds) == len(rows["received"])
    assert [one.second for one in seconds] == list(range(len(seconds)))
    assert seconds[-1].backlog == 0
    assert min(one.backlog for one in seconds) >= 0
    by_step = results["perfect"].seconds_by_step.values()
    assert sum(one.received for course in by_step for one in course) == len(rows["received"])


def test_what_was_sent_before_the_first_period_is_in_the_backlog():
    """Copies under way when the clock of the periods starts are missing in no second: it never goes below 0."""
    sent = [{"second": second, "n": copies, "copies": copies} for second, copies in ((-1, 5), (0, 10), (1, 10))]
    heard = [{"second": second, "n": 0, "copies": copies, "of_members": 0} for second, copies in ((0, 12), (1, 13))]
    found = timeline.seconds(sent, heard, {})

    assert [(at.second, at.sent, at.backlog) for at in found] == [(0, 10, 3), (1, 10, 0)]


def test_what_each_address_delivered_over_time(results, rows):
    """Every copy is in the slice in which it came, with the percentile that numpy finds among those of its
    address.
    """
    result = results["perfect"]
    labels = [one.label for one in result.plan.addresses]
    begin_ns = min(row["begin_ns"] for row in rows["periods"])
    sent = {(row["producer"], row["position"]): row["address"] for row in rows["sent"]}
    took = defaultdict(list)
    for row in rows["received"]:
        place = (row["received_ns"] - begin_ns) // (result.slice_s * 10**9) * result.slice_s
        label = labels[sent[row["producer"], row["position"]]]
        took[label, place].append((row["received_ns"] - row["sent_ns"]) / 1e6)

    assert len({begin for _, begin in took}) <= aggregates.SLICES
    assert {(one.address, one.begin_s): one.p90_ms for one in result.slices} == {
        key: pytest.approx(np.percentile(of, 90)) for key, of in took.items()
    }


def test_the_disclaimer_stands_before_every_result(results):
    """In words and as JSON, whatever is asked."""
    mine = [results["perfect"]]

    for text in (console.summary(mine), console.audit(mine)):
        assert " ".join(text.split()).startswith(DISCLAIMER)
    for said in (json_output.summary_json(mine), json_output.audit_json(mine)):
        assert list(said)[:2] == ["schema", "disclaimer"]


def test_json_has_what_scripts_rely_on(results):
    """One object for all cells, with plain numbers and no NaN; the search for a capacity reads the cells of `audit`."""
    both = [results["perfect"], results["flooded"]]
    audit = json.loads(json.dumps(json_output.audit_json(both), allow_nan=False))
    summary = json.loads(json.dumps(json_output.summary_json(both), allow_nan=False))

    assert [cell["passes"] for cell in audit["cells"]] == [True, False]
    for record in (audit, summary):
        assert {run["brokers"]["activemq"] for run in record["runs"]} == {"ActiveMQ Classic 5.18.3, jars, STOMP"}
    assert audit["kind"] == "workload"
    assert audit["cells"][0]["first_failure"] is None
    assert audit["cells"][1]["first_failure"].startswith("messages sent")
    assert {"p90_ms", "broker_cpu", "load_cpu", "sent_per_s", "received_per_s", "rows"} <= set(audit["cells"][0])
    assert audit["verdict"] == summary["verdict"] == "invalid"
    assert {"periods", "tests", "deviations", "backlog_at_end"} <= set(summary["cells"][0])


def test_delivery_times_by_destination(results, recording):
    """Of all that came through a destination in the period, as numpy has them, whichever addresses share it."""
    result = results["filtered"]
    rows = {name: table_rows(recording, name, cell="filtered") for name in ("sent", "received", "periods")}
    (period,) = (row for row in rows["periods"] if row["period"] == Period.MEASUREMENT)
    address = {(row["producer"], row["position"]): row["address"] for row in rows["sent"]}
    took_ms = defaultdict(list)
    for row in rows["received"]:
        if period["begin_ns"] <= row["received_ns"] < period["end_ns"]:
            to = result.plan.addresses[address[row["producer"], row["position"]]].destination
            took_ms[to].append((row["received_ns"] - row["sent_ns"]) / 1e6)

    found = result.measured.destinations
    assert [one.name for one in found] == [one.name for one in result.plan.destinations]
    assert {one.destination: one.received for one in found if one.received} == {
        to: len(of) for to, of in took_ms.items()
    }
    assert len(took_ms) < len(set(address.values()))
    for one in found:
        if one.received:
            assert one.delivery.mean_ms == pytest.approx(np.mean(took_ms[one.destination]))
            assert (one.delivery.p50_ms, one.delivery.p90_ms) == pytest.approx(
                np.percentile(took_ms[one.destination], [50, 90])
            )


def test_the_result_is_of_the_recorded_plan(results, recording):
    """Plan and manifest are carried along as they were written, for the disclosure."""
    result = results["perfect"]

    assert through_json(result.plan) == read_json(recording / "plan.json")["cells"][0]
    assert result.store == "store=kahadb, sync=always: synced"
    assert [span.period for span in result.spans] == [Period.WARM_UP, Period.MEASUREMENT, Period.DRAIN]


def test_a_summary_in_full():
    """Disclaimer first; every test of the audit, all that was measured, and how the run deviates from the rules. The
    closing lines suffice: what failed first, where messages pile up, whether the rules were kept."""
    failed = replace(wr.failed(), backlog_by_address={"SM1 inventoryInfo": 4711, "SM2 inventoryInfo": 12})

    assert console.summary([failed]) == screen("workload-summary.txt")
