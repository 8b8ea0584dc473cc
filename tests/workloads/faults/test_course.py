"""How long a fault was felt, of a load whose instants are known."""

from dataclasses import replace

import pytest

from tests.support.fault_lives import MS, S, life_of
from workloads.faults.accounting import Fate
from workloads.faults.course import course

FAULT = 5 * S


def test_an_outage():
    """Deliveries stop 0.1 s after the fault and begin again 2 s after it; what was due meanwhile comes in a burst."""
    messages, copies, life = life_of(silent=(FAULT + 100 * MS, FAULT + 2 * S), first_broken_ns=FAULT + 20 * MS)
    found = course(messages, copies, life)

    assert found.noticed_s == pytest.approx(0.02)
    assert found.ready_s is None
    assert found.away_s == pytest.approx(1.9, abs=0.02)
    assert found.delivered_s == pytest.approx(2.0, abs=0.02)
    assert found.confirmed_s == pytest.approx(2.0, abs=0.02)
    assert found.back_s == pytest.approx(2.0, abs=0.02)
    assert found.backlog_gone_s == pytest.approx(2.0, abs=0.02)
    assert found.confirmation_ms == pytest.approx(1)


def test_a_slow_return():
    """Every second message comes two seconds late: throughput is back with the first second that has their burst."""
    messages, copies, life = life_of(halved=(FAULT, FAULT + 2 * S))
    found = course(messages, copies, life)

    assert found.delivered_s == 0
    assert found.back_s == pytest.approx(1.0, abs=0.05)
    assert found.backlog_gone_s == pytest.approx(2.0, abs=0.02)


def test_a_refused_message_is_not_silent():
    """It was answered, which is noticed when it is; those who write the record say when."""
    messages, copies, life = life_of(first_broken_ns=FAULT + 20 * MS)
    refused = [replace(message, confirmed_ns=None, fate=Fate.REFUSED_UNCERTAIN.value) for message in messages]

    assert course(refused, copies, life).noticed_s == pytest.approx(0.02)
    assert course(refused, copies, replace(life, first_broken_ns=None)).noticed_s is None


def test_a_silent_operation_is_noticed_after_a_second():
    """No connection breaks; the first message that waits was written right before the fault."""
    messages, copies, life = life_of(silent=(FAULT, FAULT + 3 * S))

    assert course(messages, copies, life).noticed_s == pytest.approx(1.0, abs=0.02)


def test_nothing_happens():
    """A fault that nobody feels: nothing is noticed or late."""
    messages, copies, life = life_of()
    found = course(messages, copies, life)

    assert found.noticed_s is None
    assert found.away_s == pytest.approx(0.01, abs=0.001)
    assert found.backlog_gone_s == 0


def test_a_broker_that_never_comes_back():
    messages, copies, life = life_of(silent=(FAULT, 60 * S))
    found = course(messages, copies, life)

    assert (found.confirmed_s, found.delivered_s, found.back_s, found.backlog_gone_s) == (None,) * 4
    assert found.noticed_s == pytest.approx(1.0, abs=0.02)


def test_an_outage_that_begins_later_and_never_ends():
    """What was delivered between the fault and the outage is no sign that the broker is back."""
    messages, copies, life = life_of(silent=(FAULT + 2 * S, 60 * S))
    found = course(messages, copies, life)

    assert (found.confirmed_s, found.delivered_s, found.away_s, found.back_s, found.backlog_gone_s) == (None,) * 5


def test_a_consumer_that_the_fault_stalls_is_left_out():
    """The copies of the other one show no gap."""
    messages, copies, life = life_of(silent=(FAULT, FAULT + 3 * S), of_lane=0)

    assert course(messages, copies, life).away_s == pytest.approx(0.02, abs=0.002)
    assert course(messages, copies, life, apart=[0]).away_s == pytest.approx(0.02, abs=0.002)
    assert course(messages, copies, life, apart=[1]).away_s == pytest.approx(3.0, abs=0.03)
