"""Is one subscriber with an OR filter cheaper than several with a simple filter each? (section 4.3)

The publishers send the ids #1 to #n in turn. Either each id has a separate subscriber, or five subscribers share the
ids, with n / 5 alternatives in each filter; in both cases r = 1. If n were not a multiple of 5, no subscriber would
match the last ids.
"""

import pytest

from microbench.ids import FILTERS, message
from workloads.errors import WorkloadError
from workloads.selectors import Equals, Or, Selector
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, factorial, on_topic

OR_SUBSCRIBERS = 5

LABEL = "{kind}-{filter}-n{ids:03d}"
KINDS = ("simple", "or")

#: The paper's text gives no range for n.
GRIDS = {
    "smoke": factorial(LABEL, kind=KINDS, filter=tuple(FILTERS), ids=(10,)),
    "quick": factorial(LABEL, kind=KINDS, filter=tuple(FILTERS), ids=(20, 100)),
    "today": factorial(LABEL, kind=KINDS, filter=tuple(FILTERS), ids=(5, 20, 50, 100, 200)),
    "paper": factorial(LABEL, kind=KINDS, filter=tuple(FILTERS), ids=(5, 10, 20, 40, 60, 80, 100, 120, 160, 200)),
    "gate": factorial(LABEL, kind=KINDS, filter=tuple(FILTERS), ids=(20,)),
}


def _one_of(filters: list[Equals]) -> Selector:
    return filters[0] if len(filters) == 1 else Or(tuple(filters))


def flow(cell: Cell, destination: str) -> Flow:
    """Raises WorkloadError where the number of ids is not a multiple of OR_SUBSCRIBERS."""
    count = cell.number("ids")
    if count < 1 or count % OR_SUBSCRIBERS:
        raise WorkloadError(f"[or_filters] ids: expected a multiple of {OR_SUBSCRIBERS} above 0, got {count}")
    share = count // OR_SUBSCRIBERS if cell.factors["kind"] == "or" else 1
    filters = [Equals(FILTERS[str(cell.factors["filter"])], f"#{number}") for number in range(1, count + 1)]
    return on_topic(
        destination,
        tuple(message(condition.value) for condition in filters),
        tuple(Subscription(_one_of(filters[first : first + share])) for first in range(0, count, share)),
    )


EXPERIMENT = Experiment(
    "or_filters",
    "Henjes et al. 2006, section 4.3",
    "is an OR filter cheaper than as many simple filters?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_or_filters(run):
    """Each id reaches exactly the one subscriber whose filter has it, alone or among others."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
