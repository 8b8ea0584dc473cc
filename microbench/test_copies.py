"""What do one message and one copy cost, without any filter?

Each of r subscribers receives all messages. On brokers without filters, t_rcv and t_tx are fitted to these cells; on
others, a comparison with the same r in `replication` shows the cost of a filter that always matches.
"""

import pytest

from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic

LABEL = "all-r{replication:03d}"

GRIDS = {
    "smoke": factorial(LABEL, replication=(1, 3)),
    "quick": factorial(LABEL, replication=(1, 2, 5, 10)),
    "today": factorial(LABEL, replication=(1, 2, 5, 10, 20, 40)),
}


def flow(cell: Cell, destination: str) -> Flow:
    return on_topic(destination, (Template((("ID", "#0"),)),), (Subscription(),) * cell.number("replication"))


EXPERIMENT = Experiment(
    "copies",
    "beyond Henjes et al. 2006, section 4.5, where every subscriber has a filter",
    "what do one message and one copy cost, without any filter?",
    LABEL,
    GRIDS,
    flow,
    fits_model=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_copies(run):
    """Every subscriber gets every message once and in order."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
