"""What is the latency of a message at a given load?

An open loop at a share of the capacity that the same flow has in the same start: every message has a planned
instant, independent of the broker. The flow is that of section 4.5 with one copy per message and no filter, which
every broker supports; the fitted model gives its mean service time.
"""

import pytest

from workloads.arrivals import ArrivalProcess
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic
from workloads.throughput.load_shape import ShareOfCapacity

LABEL = "u{percent:02d}-{arrivals}"
ARRIVALS = tuple(process.value for process in ArrivalProcess)

GRIDS = {
    "smoke": factorial(LABEL, percent=(20,), arrivals=ARRIVALS),
    "quick": factorial(LABEL, percent=(30, 70, 90), arrivals=ARRIVALS),
    "today": factorial(LABEL, percent=(10, 30, 50, 70, 80, 90, 95), arrivals=ARRIVALS),
    "gate": (),  # a gate compares rates that the broker sets
}


def flow(_cell: Cell, destination: str) -> Flow:
    return on_topic(destination, (Template((("ID", "#0"),)),), (Subscription(),))


def _open_loop(cell: Cell) -> ShareOfCapacity:
    return ShareOfCapacity(cell.number("percent"), ArrivalProcess(cell.factors["arrivals"]))


EXPERIMENT = Experiment(
    "latency",
    "beyond Henjes et al. 2006, which measures throughput only",
    "how long does a message take at a given load?",
    LABEL,
    GRIDS,
    flow,
    pace=_open_loop,
    own_connections=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_latency(run):
    """At every load below the capacity, the subscriber gets every message once and in order."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
