"""Send rules are values; what cannot be sent by is refused when it is described."""

from __future__ import annotations

import math
import pickle

import pytest

from workloads.arrivals import ArrivalProcess
from workloads.errors import WorkloadError
from workloads.throughput.load_shape import AtCapacity, ClosedLoop, OpenLoop, ShareOfCapacity, SyncPublishers


@pytest.mark.parametrize("in_flight", [0, -1])
def test_credit_needs_a_message_in_flight(in_flight):
    """With nothing in flight a closed loop never begins."""
    with pytest.raises(WorkloadError, match=f"at least 1, got {in_flight}"):
        ClosedLoop(in_flight)


@pytest.mark.parametrize("rate_per_s", [0.0, -1.0, 1e7, math.inf, math.nan])
def test_a_rate_is_positive_and_possible(rate_per_s):
    """A rate of nothing, of less, of no number, or beyond what a clock in ns can space is a mistake."""
    with pytest.raises(WorkloadError, match="rate: expected messages per second above 0 and below 1e7"):
        OpenLoop(rate_per_s)


@pytest.mark.parametrize(("rate_per_s", "gap_ns"), [(1.0, 1e9), (1000.0, 1e6), (0.5, 2e9), (3.0, 1e9 / 3)])
def test_a_rate_spaces_messages_evenly(rate_per_s, gap_ns):
    """Message i of the plan is due at i / rate."""
    assert OpenLoop(rate_per_s).gap_ns == pytest.approx(gap_ns, rel=1e-12)


def test_rules_are_values():
    """Equal rules are equal: a rule goes to another process and comes back the same."""
    assert ClosedLoop(1000) == ClosedLoop(1000) != ClosedLoop(1001)
    assert OpenLoop(5.0) == OpenLoop(5.0) != OpenLoop(6.0)
    assert OpenLoop(5.0) != OpenLoop(5.0, ArrivalProcess.POISSON) != OpenLoop(5.0, ArrivalProcess.POISSON, seed=1)
    assert pickle.loads(pickle.dumps(OpenLoop(5.0, ArrivalProcess.POISSON, 7))) == OpenLoop(
        5.0, ArrivalProcess.POISSON, 7
    )


@pytest.mark.parametrize("percent", [0, -5, 100, 150])
@pytest.mark.parametrize("arrivals", ArrivalProcess)
def test_a_share_of_the_capacity_is_below_it(percent, arrivals):
    """At the capacity a queue grows without end, and with no load there is no latency."""
    with pytest.raises(WorkloadError, match=f"utilisation: expected 1 to 99 % of the capacity, got {percent}"):
        ShareOfCapacity(percent, arrivals)


def test_a_pace_says_itself_in_words():
    """As the plan's record and the tables show it."""
    assert str(ShareOfCapacity(80, ArrivalProcess.POISSON)) == "80 % of capacity, poisson arrivals"
    assert str(SyncPublishers(1)) == "receipt, 1 in flight per publisher"
    assert str(AtCapacity()) == "capacity, sent singly"
