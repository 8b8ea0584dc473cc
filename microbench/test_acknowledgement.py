"""What is the cost of acknowledgement by subscribers?

None (auto), cumulative, individual, cumulative in transactions, or in two steps so that none comes twice
(exactly-once); the rest of the profile is unchanged.
"""

from dataclasses import replace

import pytest

from workloads.messaging import AckMode
from workloads.throughput.flow import Cell, Experiment, Flow, Profile, Subscription, Template, factorial, on_topic

LABEL = "{ack}-r{replication:02d}"
MODES = tuple(mode.value for mode in AckMode)

GRIDS = {
    "smoke": factorial(LABEL, ack=MODES, replication=(2,)),
    "quick": factorial(LABEL, ack=MODES, replication=(1,)),
    "today": factorial(LABEL, ack=MODES, replication=(1, 10)),
    "paper": factorial(LABEL, ack=MODES, replication=(1, 2, 5, 10, 20, 40)),
    "gate": factorial(LABEL, ack=MODES, replication=(1, 10)),
}


def flow(cell: Cell, destination: str) -> Flow:
    return on_topic(destination, (Template(),), (Subscription(),) * cell.number("replication"))


def _profile(cell: Cell, profile: Profile) -> Profile:
    return replace(profile, ack=AckMode(cell.factors["ack"]))


EXPERIMENT = Experiment(
    "acknowledgement",
    "beyond Henjes et al. 2006, which has explicit acknowledgement only",
    "what does it cost that subscribers acknowledge?",
    LABEL,
    GRIDS,
    flow,
    profile=_profile,
)


@pytest.mark.experiment(EXPERIMENT)
def test_acknowledgement(run):
    """In every acknowledgement mode, every message reaches every subscriber once and in order."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
