"""What does a byte of the body cost?

A single subscriber without a filter, so that the broker reads and writes each message once. The paper does not state
the size of its messages; all other experiments send empty bodies.
"""

import pytest

from workloads.messaging import MOST_BODY_BYTES
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic

LABEL = "b{body_bytes:05d}"

GRIDS = {
    "smoke": factorial(LABEL, body_bytes=(0, MOST_BODY_BYTES)),
    "quick": factorial(LABEL, body_bytes=(0, 1024, 16384, MOST_BODY_BYTES)),
    "today": factorial(LABEL, body_bytes=(0, 64, 256, 1024, 4096, 16384, MOST_BODY_BYTES)),
    "paper": factorial(LABEL, body_bytes=(0, *(1 << power for power in range(4, 17)))),
}


def flow(cell: Cell, destination: str) -> Flow:
    return on_topic(destination, (Template(body_bytes=cell.number("body_bytes")),), (Subscription(),))


EXPERIMENT = Experiment(
    "body_size",
    "beyond Henjes et al. 2006, which leaves it open",
    "what does a byte of the body cost?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_body_size(run):
    """Messages of every size arrive once and in order."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
