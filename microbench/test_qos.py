"""What does it cost to deliver at most once, at least once or exactly once?

The level holds on the whole way. At most once: messages are transient, and neither they nor their copies are confirmed.
At least once: messages are persistent, the broker confirms each, and subscribers acknowledge each copy. Exactly once:
both are settled in two steps, so that none comes twice. Over MQTT these are QoS 0, 1 and 2 of publishers and
subscribers; over a protocol without the last one, it is not applicable. `delivery_mode` and `acknowledgement` change
one of these at a time.
"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from workloads.messaging import AckMode
from workloads.throughput.flow import Cell, Experiment, Flow, Profile, Subscription, Template, factorial, on_topic

#: Level -> whether messages are persistent and confirmed, and how subscribers acknowledge.
LEVELS: Mapping[str, tuple[bool, AckMode]] = {
    "at-most-once": (False, AckMode.AUTO),
    "at-least-once": (True, AckMode.CLIENT_INDIVIDUAL),
    "exactly-once": (True, AckMode.EXACTLY_ONCE),
}

#: Unlike the ids of `acknowledgement`, which has a level of this name.
LABEL = "{level}-x{replication:02d}"

GRIDS = {
    "smoke": factorial(LABEL, level=tuple(LEVELS), replication=(2,)),
    "quick": factorial(LABEL, level=tuple(LEVELS), replication=(1, 10)),
    "today": factorial(LABEL, level=tuple(LEVELS), replication=(1, 2, 5, 10, 40)),
    "paper": factorial(LABEL, level=tuple(LEVELS), replication=(1, 2, 5, 10, 20, 40)),
}


def flow(cell: Cell, destination: str) -> Flow:
    return on_topic(destination, (Template(),), (Subscription(),) * cell.number("replication"))


def _profile(cell: Cell, profile: Profile) -> Profile:
    kept, ack = LEVELS[str(cell.factors["level"])]
    return replace(profile, persistent=kept, receipts=kept, ack=ack)


EXPERIMENT = Experiment(
    "qos",
    "beyond Henjes et al. 2006, which has persistent messages with explicit acknowledgement only",
    "what does it cost to deliver at most once, at least once or exactly once?",
    LABEL,
    GRIDS,
    flow,
    profile=_profile,
)


@pytest.mark.experiment(EXPERIMENT)
def test_qos(run):
    """At every level, every message reaches every subscriber once and in order, as nothing fails."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
