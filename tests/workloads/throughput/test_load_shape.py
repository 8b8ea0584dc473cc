"""Send rules are values; what cannot be sent by is refused when it is described."""

from __future__ import annotations

import math
import pickle

import pytest

from workloads.arrivals import ArrivalProcess
from workloads.errors import WorkloadError
from workloads.throughput.load_shape import AtCapacity, ClosedLoop, OpenLoop, ShareOfCapacity, SyncPublishers


@pytest.mark.parametrize(
    ("made", "why"),
    [
        *((lambda many=many: ClosedLoop(many), f"at least 1, got {many}") for many in (0, -1)),
        (lambda: SyncPublishers(0), "messages in flight per publisher: expected at least 1, got 0"),
        *(
            (lambda rate=rate: OpenLoop(rate), "rate: expected messages per second above 0 and below 1e7")
            for rate in (0.0, -1.0, 1e7, math.inf, math.nan)
        ),
        (lambda: OpenLoop(1.0, seed=-1), "seed of the arrivals: expected 0 or more, got -1"),
        *(
            (lambda share=share: ShareOfCapacity(share, ArrivalProcess.POISSON), f"expected 1 to 99 % .*, got {share}")
            for share in (0, -5, 100)
        ),
    ],
)
def test_what_cannot_be_sent_by_is_refused(made, why):
    """With nothing in flight a closed loop never begins; a rate is one that a clock in ns can space; at the capacity a
    queue grows without end, and with no load there is no latency."""
    with pytest.raises(WorkloadError, match=why):
        made()


@pytest.mark.parametrize(("rate_per_s", "gap_ns"), [(1.0, 1e9), (1000.0, 1e6), (0.5, 2e9), (3.0, 1e9 / 3)])
def test_a_rate_spaces_messages_evenly(rate_per_s, gap_ns):
    """Message i of the plan is due at i / rate."""
    assert OpenLoop(rate_per_s).gap_ns == pytest.approx(gap_ns, rel=1e-12)


def test_rules_are_values():
    """Equal rules are equal: a rule goes to another process and comes back the same."""
    rule = OpenLoop(5.0, ArrivalProcess.POISSON, 7)

    assert pickle.loads(pickle.dumps(rule)) == rule != OpenLoop(5.0, ArrivalProcess.POISSON)


def test_a_pace_says_itself_in_words():
    """As the plan's record and the tables show it."""
    assert str(ShareOfCapacity(80, ArrivalProcess.POISSON)) == "80 % of capacity, poisson arrivals"
    assert str(SyncPublishers(1)) == "receipt, 1 in flight per publisher"
    assert str(AtCapacity()) == "capacity, sent singly"
