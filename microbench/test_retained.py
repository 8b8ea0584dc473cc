"""What does it cost to replay n retained messages to a new subscription?

A connection has the broker retain n messages, under topics that one filter with a wildcard covers. Then it subscribes,
gets all n, unsubscribes and subscribes again, as soon as the last has come; 20 connections do that, each with messages
of its own. A message of the plan is such a replay, and its copies are the n retained messages. So the audit follows, as
anywhere, for each retained message in which replays it came: once in each, marked as retained, and nowhere else. The
model's t_rcv is what a subscription takes with its end, and t_tx what a retained message takes. Below ten messages most
of a replay is asking for it, which costs the load more than the broker.
"""

import pytest

from workloads.messaging import Destination, DestinationKind
from workloads.throughput.flow import PUBLISHERS, Cell, Experiment, Flow, Subscription, Template, factorial

LABEL = "replay{number:04d}"

GRIDS = {
    "smoke": factorial(LABEL, number=(2, 10)),
    "quick": factorial(LABEL, number=(10, 20, 40, 80, 160)),
    "today": factorial(LABEL, number=(10, 20, 40, 60, 80, 120, 160)),
    "gate": factorial(LABEL, number=(10, 40, 80, 160)),
}


def flow(cell: Cell, destination: str) -> tuple[Flow, ...]:
    topic, subscriptions = Destination(DestinationKind.TOPIC, destination), (Subscription(),) * cell.number("number")
    each = Flow(topic, 1, (Template(),), subscriptions, per_connection=len(subscriptions), replayed=True)
    return (each,) * PUBLISHERS


EXPERIMENT = Experiment(
    "retained",
    "beyond Henjes et al. 2006, whose messages are not kept for those who come later",
    "what does it cost to replay n retained messages to a new subscription?",
    LABEL,
    GRIDS,
    flow,
    fits_model=True,
    own_connections=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_retained(run):
    """Every replay has every retained message once, and nothing else."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
