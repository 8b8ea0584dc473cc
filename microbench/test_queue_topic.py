"""What does it cost to divide messages among consumers, by a queue or by a topic with filters?

In both cases each message reaches one of the consumers: those of a queue compete for it; those of a topic each have a
filter for one of the ids that the publishers send in turn. Connections, messages, copies and each consumer's share are
therefore equal, and the cost of the topic's filters is part of its result.

Where a protocol has no queues and its filters are topics, as MQTT, the consumers of the queue are the members of one
shared subscription, and those of the topic have plain topics, one for each id: the experiment then says what it costs
to share a subscription among 1 to 100 members, at one copy of each message.
"""

import pytest

from workloads.messaging import Destination, DestinationKind
from workloads.selectors import Equals
from workloads.throughput.flow import PUBLISHERS, Cell, Experiment, Flow, Subscription, Template, factorial

LABEL = "{kind}-m{consumers:03d}"
KINDS = (DestinationKind.TOPIC.value, DestinationKind.QUEUE.value)

GRIDS = {
    "smoke": factorial(LABEL, kind=KINDS, consumers=(3,)),
    "quick": factorial(LABEL, kind=KINDS, consumers=(1, 20)),
    "today": factorial(LABEL, kind=KINDS, consumers=(1, 2, 5, 10, 20, 100)),
    "paper": factorial(LABEL, kind=KINDS, consumers=(1, 2, 3, 4, 5, 8, 10, 12, 16, 20, 50, 100)),
}


def flow(cell: Cell, destination: str) -> Flow:
    kind = DestinationKind(cell.factors["kind"])
    names = [f"#{number}" for number in range(cell.number("consumers"))]
    competing = kind is DestinationKind.QUEUE
    return Flow(
        Destination(kind, destination),
        PUBLISHERS,
        tuple(Template((("ID", name),)) for name in names),
        tuple(Subscription(None if competing else Equals("ID", name)) for name in names),
    )


EXPERIMENT = Experiment(
    "queue_topic",
    "beyond Henjes et al. 2006, which has topics only",
    "what does it cost to divide messages among consumers?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_queue_topic(run):
    """Each message reaches exactly one consumer: any of the competing ones, or the one whose filter matches."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
