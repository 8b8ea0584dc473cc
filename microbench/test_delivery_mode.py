"""What is the cost of persistent messages, and of storing them?

A persistent message to a topic without durable subscribers need not be stored, and some brokers do not store it:
only durable subscribers, which must receive messages sent while they are disconnected, force the broker to write.
Persistent messages are sent with receipts, which correspond to the synchronous send of JMS; the rest of the profile is
unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from workloads.throughput.flow import Cell, Experiment, Flow, Profile, Subscription, Template, factorial, on_topic


@dataclass(frozen=True, slots=True)
class Mode:
    """A combination of persistence and durability.

    Persistent messages are sent with receipts; durable subscriptions survive their connection.
    """

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
    return on_topic(
        destination, (Template(),), (Subscription(durable=_mode(cell).durable),) * cell.number("replication")
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

    assert outcome.as_promised, outcome.explain()
