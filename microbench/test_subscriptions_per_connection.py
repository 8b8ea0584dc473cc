"""Does it matter how many connections the subscriptions are spread over?

A hundred subscriptions, of which every tenth matches: r = 10 and n_fltr = 100 in every cell. The matching ones
are evenly spaced, so that with up to ten connections each has an equal share of the copies.
"""

import pytest

from workloads.selectors import Equals
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic

SUBSCRIPTIONS = 100
REPLICATION = 10

LABEL = "c{per_connection:03d}"

#: Divisors of the number of subscriptions, so that all connections have the same number.
GRIDS = {
    "smoke": factorial(LABEL, per_connection=(10, 100)),
    "quick": factorial(LABEL, per_connection=(1, 10, 100)),
    "today": factorial(LABEL, per_connection=(1, 2, 5, 10, 20, 50, 100)),
    "paper": factorial(LABEL, per_connection=(1, 2, 4, 5, 10, 20, 25, 50, 100)),
    "gate": factorial(LABEL, per_connection=(1, 100)),
}


def flow(cell: Cell, destination: str) -> Flow:
    apart = SUBSCRIPTIONS // REPLICATION
    return on_topic(
        destination,
        (Template((("ID", "#0"),)),),
        tuple(Subscription(Equals("ID", "#1" if number % apart else "#0")) for number in range(SUBSCRIPTIONS)),
        per_connection=cell.number("per_connection"),
    )


EXPERIMENT = Experiment(
    "subscriptions_per_connection",
    "beyond Henjes et al. 2006, where every subscriber has a connection of its own (section 3.1)",
    "does it matter how many connections the subscriptions are spread over?",
    LABEL,
    GRIDS,
    flow,
    own_connections=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_subscriptions_per_connection(run):
    """Each matching subscription gets every message once and in order, independent of others on its connection."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
