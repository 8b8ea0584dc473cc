"""What does a fault cost: which messages are lost or come twice, and how long is the broker away?

Load runs at a share of the capacity while the broker is killed, stopped or frozen, or connections to it are reset, cut
off, stalled or left in the middle of a transaction. Every message is accounted for. Each fault has a broker of its own.
"""

import pytest

from workloads.faults.faults import FAULTS, WAYS, FaultStudy, crossed

#: Messages are persistent and confirmed, and wait in a queue, or for a durable subscription where there is no queue.
STORED = ("stored",)

GRIDS = {
    "smoke": crossed(("kill", "freeze-03s", "reset"), STORED),
    "quick": crossed(tuple(FAULTS), STORED),
    "today": crossed(tuple(FAULTS), tuple(WAYS)),
}

STUDY = FaultStudy("faults", "what is lost, what comes twice, and for how long is the broker away?", GRIDS)


@pytest.mark.fault(STUDY)
def test_faults(endure):
    """The broker keeps what it promises, and comes back."""
    outcome = endure()

    assert outcome.passed, outcome.explain()
