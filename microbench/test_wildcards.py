"""What do wildcards cost, where subscriptions name keys or topics?

All messages have the same key of five words. r subscriptions match it and the further ones do not, all with a filter of
the same kind: the key itself, or with a wildcard for its last word, for a word inside, or for everything below. Those
that do not match differ in the third word, which follows the wildcard inside, so that a broker has to look behind it.
The words are joined as the protocol does it: an MQTT broker gets `+` and `#` between slashes. As in the experiment
`routing`, nothing is evaluated per subscription: the results are not compared with those on filters.
"""

from collections.abc import Callable, Mapping

import pytest

from workloads.messaging import Destination, DestinationKind
from workloads.selectors import Equals, Like, Selector
from workloads.throughput.flow import PUBLISHERS, Cell, Experiment, Flow, Subscription, Template, factorial

#: Kind of the filter -> the filter for messages with this third word.
FILTERS: Mapping[str, Callable[[str], Selector]] = {
    "literal": lambda word: Equals("PLACE", f"works.north.{word}.motor.heat"),
    "last": lambda word: Like("PLACE", f"works.north.{word}.motor.%"),
    "inside": lambda word: Like("PLACE", f"works.%.{word}.motor.heat"),
    "rest": lambda word: Like("PLACE", f"works.north.{word}.%%"),
}

LABEL = "{filter}-w{further:04d}-r{replication:03d}"

GRIDS = {
    "smoke": factorial(LABEL, filter=tuple(FILTERS), further=(3,), replication=(2,)),
    "quick": factorial(LABEL, filter=tuple(FILTERS), further=(0, 640), replication=(1,)),
    "today": factorial(LABEL, filter=tuple(FILTERS), further=(0, 640, 2560), replication=(1, 10)),
    "paper": factorial(LABEL, filter=tuple(FILTERS), further=(0, 5, 10, 20, 40, 80, 160), replication=(1, 10)),
    "gate": factorial(LABEL, filter=tuple(FILTERS), further=(640,), replication=(1,)),
}


def flow(cell: Cell, destination: str) -> Flow:
    filter_for = FILTERS[str(cell.factors["filter"])]
    matching = Subscription(filter_for("p0"))
    others = (Subscription(filter_for(f"p{number}")) for number in range(1, cell.number("further") + 1))
    return Flow(
        Destination(DestinationKind.KEY, destination),
        PUBLISHERS,
        (Template((("PLACE", "works.north.p0.motor.heat"),)),),
        (*(matching,) * cell.number("replication"), *others),
    )


EXPERIMENT = Experiment(
    "wildcards",
    "beyond Henjes et al. 2006, which has filters",
    "what do wildcards in keys or topics cost, where they match and where they do not?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_wildcards(run):
    """Every subscription whose wildcard covers the key gets every message once and in order, and no other gets any."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
