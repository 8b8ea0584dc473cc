"""What do bindings cost, where a broker routes instead of filtering?

All messages have the same key; r subscriptions have bindings that match every message, the further ones have
different bindings that match none. Bindings are by routing key, exact or with a wildcard, or by a header. They are not
filters: a broker looks bindings up and evaluates nothing per subscription, so the results are not compared with
experiments on filters and are excluded from the fit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from workloads.messaging import Destination, DestinationKind
from workloads.selectors import Equals, Like, Selector
from workloads.throughput.flow import PUBLISHERS, Cell, Experiment, Flow, Subscription, Template, factorial


@dataclass(frozen=True, slots=True)
class Way:
    """A way of routing."""

    kind: DestinationKind
    #: the binding for messages with this value
    binding: Callable[[str], Selector]


WAYS: Mapping[str, Way] = {
    "key": Way(DestinationKind.KEY, lambda value: Equals("PLACE", f"north.{value}")),
    "wildcard": Way(DestinationKind.KEY, lambda value: Like("PLACE", f"%.{value}")),
    "headers": Way(DestinationKind.HEADERS, lambda value: Equals("PLACE", f"north.{value}")),
}

LABEL = "{by}-b{further:04d}-r{replication:03d}"

GRIDS = {
    "smoke": factorial(LABEL, by=tuple(WAYS), further=(3,), replication=(2,)),
    "quick": factorial(LABEL, by=tuple(WAYS), further=(0, 640), replication=(1,)),
    "today": factorial(LABEL, by=tuple(WAYS), further=(0, 160, 640, 1280), replication=(1, 10)),
    "paper": factorial(LABEL, by=tuple(WAYS), further=(0, 5, 10, 20, 40, 80, 160), replication=(1, 10)),
    "gate": factorial(LABEL, by=tuple(WAYS), further=(640,), replication=(1,)),
}


def flow(cell: Cell, destination: str) -> Flow:
    way = WAYS[str(cell.factors["by"])]
    wanted = Subscription(way.binding("p0"))
    others = (Subscription(way.binding(f"p{number}")) for number in range(1, cell.number("further") + 1))
    return Flow(
        Destination(way.kind, destination),
        PUBLISHERS,
        (Template((("PLACE", "north.p0"),)),),
        (*(wanted,) * cell.number("replication"), *others),
    )


EXPERIMENT = Experiment(
    "routing",
    "beyond Henjes et al. 2006, which has filters",
    "what do bindings cost, where a broker routes instead of filtering?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_routing(run):
    """Every subscription whose binding matches gets every message once and in order, and no other gets any."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
