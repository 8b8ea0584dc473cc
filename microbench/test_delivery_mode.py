"""What does it cost that messages are persistent, and that they are stored?

A persistent message to a topic without durable subscribers need not be stored, and some brokers do not store it:
only the durable subscribers, which are owed the messages while they are away, make the broker write. Persistent
messages are sent with receipts, which stand for the synchronous send of JMS; of the rest of the profile nothing
changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from workloads.throughput.flow import (
    Cell,
    Destination,
    DestinationKind,
    Experiment,
    Flow,
    Profile,
    Subscription,
    Template,
    factorial,
)

PUBLISHERS = 20


@dataclass(frozen=True, slots=True)
class Mode:
    """Persistent messages are sent with receipts; durable subscribers outlive their connection."""

    persistent: bool
    durable: bool


MODES: Mapping[str, Mode] = {
    "transient": Mode(persistent=False, durable=False),
    "persistent": Mode(persistent=True, durable=False),
    "durable": Mode(persistent=True, durable=True),
}

LABEL = "{mode}-r{replication:02d}"

GRIDS = {
    "smoke": factorial(LABEL, mode=tuple(MODES), replication=(2,)),
    "quick": factorial(LABEL, mode=tuple(MODES), replication=(1,)),
    "today": factorial(LABEL, mode=tuple(MODES), replication=(1, 10)),
    "paper": factorial(LABEL, mode=tuple(MODES), replication=(1, 2, 5, 10, 20, 40)),
}


def _mode(cell: Cell) -> Mode:
    return MODES[str(cell.factors["mode"])]


def flow(cell: Cell, destination: str) -> Flow:
    return Flow(
        Destination(DestinationKind.TOPIC, destination),
        PUBLISHERS,
        (Template(),),
        (Subscription(durable=_mode(cell).durable),) * cell.number("replication"),
    )


def _profile(cell: Cell, profile: Profile) -> Profile:
    persistent = _mode(cell).persistent
    return replace(profile, persistent=persistent, receipts=persistent)


EXPERIMENT = Experiment(
    "delivery_mode",
    "beyond Henjes et al. 2006, which has persistent messages and non-durable subscribers only",
    "what does it cost that messages are persistent, and that they are stored?",
    LABEL,
    GRIDS,
    flow,
    profile=_profile,
)


@pytest.mark.experiment(EXPERIMENT)
def test_delivery_mode(run):
    """Subscribers that stay connected get every message once and in order, stored or not."""
    outcome = run()

    assert outcome.exact, outcome.explain()
