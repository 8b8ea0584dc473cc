"""What does each kind of condition cost?

The filter of one subscriber matches every message, those of the further subscribers match none; all are of the same
kind, so that cells with the same number of filters differ only in the kind. Every message carries the same three
properties.
"""

from collections.abc import Mapping

import pytest

from workloads.selectors import And, Between, Equals, In, IsNull, Like, Or, Selector
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic

MESSAGE = Template((("ID", "#0"), ("REGION", "north"), ("SIZE", "15")))

#: Kind -> a filter that matches the message, and one that does not. A list or tree of conditions is rejected by its
#: last part, so that it cannot be decided early.
KINDS: Mapping[str, tuple[Selector, Selector]] = {
    "equals": (Equals("ID", "#0"), Equals("ID", "#1")),
    "in": (In("ID", ("#1", "#2", "#3", "#4", "#0")), In("ID", ("#1", "#2", "#3", "#4", "#5"))),
    "like": (Like("REGION", "nor%"), Like("REGION", "nor%n")),
    "between": (Between("SIZE", 10, 20), Between("SIZE", 16, 20)),
    "null": (IsNull("COLOUR"), IsNull("ID")),
    "nested": (
        And((Or((Equals("ID", "#1"), Equals("ID", "#0"))), Or((Like("REGION", "s%"), Between("SIZE", 10, 20))))),
        And((Or((Equals("ID", "#1"), Equals("ID", "#0"))), Or((Like("REGION", "s%"), Between("SIZE", 16, 20))))),
    ),
}

LABEL = "{kind}-f{further:04d}"

GRIDS = {
    "smoke": factorial(LABEL, kind=tuple(KINDS), further=(3,)),
    "quick": factorial(LABEL, kind=tuple(KINDS), further=(640,)),
    "today": factorial(LABEL, kind=tuple(KINDS), further=(160, 640, 2560)),
    "paper": factorial(LABEL, kind=tuple(KINDS), further=(5, 10, 20, 40, 60, 80, 160)),
}


def flow(cell: Cell, destination: str) -> Flow:
    matching, other = KINDS[str(cell.factors["kind"])]
    return on_topic(destination, (MESSAGE,), (Subscription(matching), *(Subscription(other),) * cell.number("further")))


EXPERIMENT = Experiment(
    "selector_kinds",
    "beyond Henjes et al. 2006, section 4.5, which has equality only",
    "what does each kind of condition cost?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_selector_kinds(run):
    """Each kind of condition lets every message through to the one subscriber, and none to the others."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
