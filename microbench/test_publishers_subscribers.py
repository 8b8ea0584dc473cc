"""How many publishers and subscribers does it take to load the broker? (section 4.1)

No filters, so that r is the number of subscribers. The publishers are synchronous, each with at most one message
without a receipt: with credit shared by all, a single publisher would load the broker and the question would be moot.
A broker CPU below its limit is therefore a result here, not a fault of the cell.
"""

from dataclasses import replace

import pytest

from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic
from workloads.throughput.load_shape import SyncPublishers

LABEL = "p{publishers:02d}-s{subscribers:03d}"

#: The third series, over the subscribers, intersects the other two at 20 publishers. Of the intermediate values, the
#: paper's text mentions 10 and 16 publishers and 10 subscribers.
GRIDS = {
    "smoke": factorial(LABEL, publishers=(1, 4), subscribers=(1,))
    + factorial(LABEL, publishers=(4,), subscribers=(3,)),
    "quick": factorial(LABEL, publishers=(1, 10, 20, 40), subscribers=(1,))
    + factorial(LABEL, publishers=(1, 2, 5, 10, 20, 40), subscribers=(10,))
    + factorial(LABEL, publishers=(20,), subscribers=(40, 320)),
    "today": factorial(LABEL, publishers=(1, 2, 5, 10, 16, 20, 30, 40), subscribers=(1, 10))
    + factorial(LABEL, publishers=(20,), subscribers=(2, 5, 20, 40, 80, 160, 320)),
    "paper": factorial(
        LABEL, publishers=(1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40), subscribers=(1, 10)
    )
    + factorial(LABEL, publishers=(20,), subscribers=(2, 5, 15, 20, 40, 60, 80, 120, 160, 240, 320)),
    "gate": factorial(LABEL, publishers=(1, 20), subscribers=(1, 10)),
}


def flow(cell: Cell, destination: str) -> Flow:
    return on_topic(
        destination,
        (Template(),),
        (Subscription(),) * cell.number("subscribers"),
        publishers=cell.number("publishers"),
    )


EXPERIMENT = Experiment(
    "publishers_subscribers",
    "Henjes et al. 2006, section 4.1",
    "how many publishers and subscribers load the broker?",
    LABEL,
    GRIDS,
    flow,
    profile=lambda _, profile: replace(profile, receipts=True),
    pace=lambda _: SyncPublishers(1),
    own_connections=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_publishers_subscribers(run):
    """Every subscriber gets every message of every synchronous publisher once and in order."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
