"""Results of faults, from a run directory with lives whose figures are known."""

import json
from dataclasses import fields, replace

import pytest

from analysis.faults import console, json_output, pipeline
from analysis.report import faults_page
from fixtures.brokers import registry as brokers
from fixtures.recording.parquet import slot_place
from fixtures.recording.run_directory import RunDirectory
from tests.support.fault_lives import S, life_of
from workloads.faults.accounting import Fate
from workloads.faults.faults import FaultPlan
from workloads.manifest import BrokerRecord, MissingCell, StartRecord
from workloads.schedule import Slot
from workloads.schema import FAULT_TABLES, FaultUsageRow, RunKind, RunOutcome
from workloads.status import VerdictKind

FAULT = 5 * S
OPTIONS = {"workers": 1, "load_cpus": [0], "grid": "quick", "repetitions": 2}


def written(folder, lives, *, missing=(), fault="kill"):
    """A run directory with these lives of a fault with durable subscriptions, by repetition."""
    row = brokers.prepare(brokers.parse("reference:store=file"))
    slots = [Slot("toy", number, "faults", f"{fault}-durable") for number in lives]
    directory = RunDirectory(folder, "faults", OPTIONS, RunKind.FAULTS, slots, missing)
    directory.add_plans([FaultPlan(experiment="faults", cell=f"{fault}-durable", fault=fault, way="durable")])
    known = dict.fromkeys(field.name for field in fields(BrokerRecord))
    known |= {
        "capabilities": row,
        "protocol": {"title": "a protocol"},
        "provider": "home",
        "options": {},
        "untested": (),
    }
    known |= {"product": "toy", "version": "1", "cpu_known": True}
    directory.note(
        brokers={"toy": BrokerRecord(**known)},
        starts=[StartRecord(broker="toy", start=number, idle_cpu=None, warm_up_s=4) for number in lives],
    )
    for slot, (messages, copies, life) in zip(slots, lives.values(), strict=True):
        usage = [FaultUsageRow(FAULT + step * S // 5, step * S // 10, (100 + step) << 20) for step in range(10)]
        rows = {"messages": messages, "copies": copies, "usage": usage, "lives": [life]}
        for table in FAULT_TABLES.keys() & rows.keys():
            keys = slot_place(slot, RunKind.FAULTS)
            directory.write_rows(table, keys, rows[table])
    directory.finish(RunOutcome.COMPLETE)
    return directory.path


@pytest.fixture
def kept(tmp_path):
    """Two repetitions, whose deliveries are away for 1 and for 2 s."""
    lives = {number: life_of(silent=(FAULT, FAULT + number * S), first_broken_ns=FAULT) for number in (1, 2)}
    missing = [MissingCell("toy", "faults", "open-transaction-stored", "no transactions")]
    return written(tmp_path, lives, missing=missing)


@pytest.fixture
def broken(tmp_path):
    """A repetition in which two confirmed messages never came, and the broker's other half is not back."""
    messages, copies, life = life_of(overdue="3 publishers not connected 60 s after the fault")
    return written(tmp_path, {1: (messages, copies[:-2], life)})


def test_a_row_has_median_and_range(kept):
    """Over the repetitions; what was not applicable is named with its reason."""
    text = console.summary(pipeline.analysed([kept]))

    (row,) = [line for line in text.splitlines() if line.startswith("kill-durable")]
    assert "0 of 2,000" in row
    assert "1.5 (1.0-2.0)" in row
    assert "open-transaction-stored: not applicable, no transactions (1 cell)" in text
    assert "verdict: kept every promise in 2 faults; 0 remarks" in text


def test_losses_are_named_and_invalid(broken):
    """By lane and number, with the page that promises otherwise; what is not back is said as well."""
    (result,) = pipeline.analysed([broken])
    text = console.summary([result])

    assert result.audit_failed
    assert result.verdict is VerdictKind.INVALID
    assert "2 lost of what was confirmed: lane 0 number 499 at +4.981 s, lane 1 number 499 at +4.991 s" in " ".join(
        text.split()
    )
    assert "fixtures/reference/store.py" in text
    assert "3 publishers not connected" in text
    assert "verdict: FAILED in 1 of 1 fault" in text


def test_what_breaks_no_promise_is_a_remark(tmp_path):
    """Messages that came only after the drain, which are not late either, a broker that ended at a full disk, and a
    message that was delivered though it was refused."""
    messages, copies, life = life_of()
    messages[0] = replace(messages[0], confirmed_ns=None, fate=Fate.REFUSED_UNCERTAIN.value)
    late = [replace(copy, at_ns=life.end_ns + S) for copy in copies[-2:]]
    ended = replace(life, ready_ns=FAULT + 2 * S)
    (result,) = pipeline.analysed([written(tmp_path, {1: (messages, copies[:-2] + late, ended)}, fault="disk-full")])
    (each,) = result.repetitions
    text = console.summary([result])

    assert not result.audit_failed
    assert (each.account.kept, each.account.lost, each.course.backlog_gone_s) == (2, 0, 0)
    assert "2 messages came only to consumers that connected anew" in text
    assert "the broker ended by itself in 1 of 1 repetitions" in text
    assert "1 of 1 refused messages were delivered" in text
    assert "verdict: kept every promise in 1 fault; 3 remarks" in text


def test_the_page_shows_each_time_line(kept):
    page = faults_page.html(pipeline.analysed([kept]))

    assert page.count("repetition 2") >= 1
    assert "SIGKILL of the broker" in page
    assert "<svg" in page


def test_json_has_every_repetition(kept):
    record = json.loads(json.dumps(json_output.summary_json(pipeline.analysed([kept])), allow_nan=False))
    (fault,) = record["faults"]

    assert [each["number"] for each in fault["repetitions"]] == [1, 2]
    assert fault["repetitions"][1]["course"]["away_s"] == pytest.approx(2.0, abs=0.02)
    assert fault["repetitions"][0]["broker_cpu"] == pytest.approx(0.5)
    assert fault["repetitions"][0]["broker_rss_bytes"] == 109 << 20
    assert fault["promise"]["source"] == "fixtures/reference/store.py"
    assert record["verdict"] == "valid"


def test_the_time_line_has_what_was_written_confirmed_and_delivered(kept):
    """100 messages/s: ten in each tenth of a second, none of them confirmed in the outage, and then all at once."""
    (result,) = pipeline.analysed([kept])
    tenths = {round(at.at_s, 1): at for at in result.faults[0].repetitions[0].tenths}

    assert (tenths[-1.0].written_per_s, tenths[-1.0].delivered_per_s) == (100, 100)
    assert (tenths[0.5].written_per_s, tenths[0.5].confirmed_per_s) == (100, 0)
    assert tenths[1.0].delivered_per_s == pytest.approx(1100, abs=100)
