"""What does it cost that subscribers filter at all, by correlation id or by property? (section 4.2)

All messages carry #0 and all filters match it: each of m subscribers gets every message, with or without a filter.
"""

import pytest

from microbench.ids import FILTERS, message
from workloads.selectors import Equals
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, factorial, on_topic

LABEL = "{filter}-m{subscribers:03d}"
SERIES = ("none", *FILTERS)

#: The paper's curve is flat from 300 filters on; its text gives no values in between.
GRIDS = {
    "smoke": factorial(LABEL, filter=SERIES, subscribers=(3,)),
    "quick": factorial(LABEL, filter=SERIES, subscribers=(10, 320, 500)),
    "today": factorial(LABEL, filter=SERIES, subscribers=(1, 10, 40, 160, 320, 400, 500)),
    "paper": factorial(LABEL, filter=SERIES, subscribers=(1, 2, 5, 10, 20, 40, 80, 160, 240, 320, 360, 400, 450, 500)),
    "gate": factorial(LABEL, filter=SERIES, subscribers=(10, 320)),
}


def flow(cell: Cell, destination: str) -> Flow:
    name = FILTERS.get(str(cell.factors["filter"]))
    subscription = Subscription(Equals(name, "#0") if name else None)
    return on_topic(destination, (message("#0"),), (subscription,) * cell.number("subscribers"))


EXPERIMENT = Experiment(
    "filter_activation",
    "Henjes et al. 2006, section 4.2",
    "what does it cost that subscribers filter at all?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_filter_activation(run):
    """Filters that match all messages withhold none: every subscriber gets every message once and in order."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
