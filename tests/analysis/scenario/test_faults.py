"""The audit finds what is put in: exactly the right test fails, and names the place."""

from collections import Counter

import pytest

from analysis.scenario.results import AuditVerdict
from tests.conftest import table_rows
from workloads.scenario import limits
from workloads.scenario.periods import Period
from workloads.status import VerdictKind

#: By the cell: the tests that fail, with their places, and words of the example.
EXPECTED = {
    "several": {
        (
            limits.DELIVERY,
            "DC1 order",
        ): "1 missing, first message 33 of the driver SM2 order, execution 33 of interaction 1 at SM2",
        (limits.DUPLICATES, "DC1 offer"): "first message",
        (limits.LOCATION, "SM1 orderConf"): "first message",
        (limits.ORDER, "SM2 inventoryInfo"): "first message",
        (limits.CONTENT, "HQ1 invoice"): "first message",
        (limits.CHAINS, "interaction 1"): "statInfoOrderDC was not sent",
        (limits.SURPLUS, "interaction 2"): "more messages than the model has",
        (limits.STARTS, "SM1 inventoryInfo"): "executions recorded",
    },
    "late": {
        (limits.DELIVERY_TIME, "SM1 orderConf"): "ms at the 90th percentile of",
        (limits.DELIVERY_TIME, "SM2 orderConf"): "ms at the 90th percentile of",
        (limits.PACING, "interaction 4"): "starts were more than one mean gap late",
    },
    "slow": {
        (rule, "interaction 4"): words
        for rule, words in (
            *((rule, ", where the model has ") for rule in (limits.INPUT_RATE, limits.SENT, limits.RECEIVED)),
            (limits.PACING, "starts were more than one mean gap late"),
        )
    },
    "leak": {(limits.LOCATION, "SM1 productAnnouncement"): "first message"},
}

#: Recorded runs in which nothing is wrong.
SOUND = ("perfect", "repeat", "shared", "filtered")


def failing(result):
    return {row.rule for row in result.failed}


@pytest.mark.parametrize("name", EXPECTED)
def test_exactly_the_right_tests_fail_and_name_the_place(results, name):
    """A fault of one kind fails the test for it and no other, at the place where it was put, with an example."""
    result = results[name]
    failed = {(row.rule, row.scope): row.why for row in result.failed}

    assert failed.keys() == EXPECTED[name].keys(), [(row.rule.name, row.scope, row.why) for row in result.failed]
    assert {place: EXPECTED[name][place] in why for place, why in failed.items()} == dict.fromkeys(failed, True)
    assert result.verdict == VerdictKind.INVALID
    assert result.audit_failed


def test_what_filters_had_to_reject_is_said(results):
    """It is the number of copies that a broker without filters would deliver in addition; without filters no word."""
    result = results["filtered"]
    plan = result.plan
    (row,) = (row for row in result.audit if row.scope == "filters")
    filters = sum(each.selector is not None for handler in plan.handlers for each in handler.subscriptions)
    sent = Counter(row["address"] for row in table_rows(result.path, "sent", cell="filtered"))
    topic = len(plan.destinations) - 1
    due = sum(
        number * (filters - address.copies)
        for address, number in ((plan.addresses[at], number) for at, number in sent.items())
        if address.destination == topic
    )

    assert due > 0
    assert (row.rule, row.verdict, row.why) == (
        limits.LOCATION, AuditVerdict.PASS, f"{due:,} copies that filters had to reject, 0 came",
    )  # fmt: skip
    assert "filters" not in {row.scope for row in results["perfect"].audit}


def test_a_leak_leaves_open_what_filters_had_to_reject(results):
    """One copy came that a filter rejects; how many did not is not said."""
    (row,) = results["leak"].failed

    assert row.observed == 1
    assert "filters" not in {row.scope for row in results["leak"].audit}


def test_where_filters_select_results_are_the_same(results):
    """Who gets what does not depend on the destinations: all counts and times are those without filters."""
    plain, filtered = results["perfect"].measured, results["filtered"].measured

    assert [step.received for step in filtered.steps] == [step.received for step in plain.steps]
    assert [handler.delivery for handler in filtered.handlers] == [handler.delivery for handler in plain.handlers]


def test_late_messages_are_as_late_as_they_were(results):
    """The percentile is each event handler's own; those of other messages pass."""
    late = [row for row in results["late"].failed if row.rule is limits.DELIVERY_TIME]

    assert [row.observed for row in late] == pytest.approx([6002, 6002], abs=5)


def test_a_slow_driver_is_named_by_its_rate_first(results):
    """Its messages are missing too, and its starts late; the first test to fail is the input rate."""
    result = results["slow"]

    assert result.first_failure == "input rate, interaction 4"
    assert result.failed[0].observed == pytest.approx(-0.2, abs=0.02)


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_run_passes(results, name):
    """Nothing fails, nothing is left unjudged, and every execution of the measurement is complete."""
    result = results[name]

    assert [(row.rule.name, row.scope, row.why) for row in result.audit if row.verdict is not AuditVerdict.PASS] == []
    assert result.verdict == VerdictKind.VALID
    for period in result.periods:
        assert all(one.completed == one.started for one in period.interactions)


def test_drawn_arrivals_are_judged_by_what_was_drawn(results):
    """A perfect run passes whatever the draw, its rate is judged; few bursts say nothing of the level."""
    result = results["poisson"]

    assert not result.audit_failed
    unjudged = {row.rule for row in result.audit if row.verdict is AuditVerdict.NOT_JUDGED}
    assert {limits.LEVEL} <= unjudged <= {limits.LEVEL, limits.SENT, limits.RECEIVED}
    assert any(row.rule == limits.INPUT_RATE and row.verdict is AuditVerdict.PASS for row in result.audit)
    assert any("drawn at random" in text for text in result.deviations)


def test_sound_does_not_mean_compliant(results):
    """Short lengths and a topology of one's own are deviations; one host is one always."""
    result = results["perfect"]

    assert not result.compliant
    words = " ".join(result.deviations)
    assert all(section in words for section in ("3.9", "3.1", "3.4", "1.6"))


def test_a_window_that_is_too_short_is_not_judged(results):
    """Neither passed nor failed by luck: the row says from which length on it is judged; the verdict is unverified."""
    result = results["short"]
    counts = [row for row in result.audit if row.rule in {limits.INPUT_RATE, limits.SENT, limits.RECEIVED}]

    assert {row.verdict for row in counts} == {AuditVerdict.NOT_JUDGED}
    assert "judged from 10 s on" in counts[0].why
    assert not result.audit_failed
    assert result.verdict == VerdictKind.UNVERIFIED


def test_what_nobody_confirmed_is_in_doubt(results):
    """It counts neither as sent nor as lost; where it stands is the backlog, address by address."""
    (found,) = (each for each in results["short"].findings if each.what == "transactions in doubt")

    assert found.measured == "2 messages of unconfirmed transactions were not received"
    assert found.consequence is VerdictKind.UNVERIFIED
    assert sorted(results["short"].backlog_by_address.values()) == [1, 1]


def test_a_repeat_is_audited_as_a_whole(results):
    """The further period has rows of its own for all tests of a period, and one that says whether it confirms."""
    audit = results["repeat"].audit
    first, again = (
        {row.rule for row in audit if row.period is period} for period in (Period.MEASUREMENT, Period.REPEAT)
    )

    assert again == first | {limits.REPEATED}


def test_a_broker_that_falls_behind_is_no_steady_state(results):
    """The backlog grows, the verdict names the first test that fails, and says where the backlog stands."""
    result = results["flooded"]

    assert limits.BACKLOG in failing(result)
    assert limits.DELIVERY not in failing(result)  # the drain was long enough
    assert sum(result.backlog_by_address.values()) == sum(result.backlog_by_destination.values()) > 20
    assert result.first_failure == "messages sent, interaction 1"
