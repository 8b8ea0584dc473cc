"""Does it matter whether the filters that do not match are equal? (section 4.5)

The cells of `replication`, but every further subscriber filters for an id of its own: #1, #2, #3 and so on. A
broker that indexes its filters, or evaluates equal ones once, tells the two apart.
"""

import pytest

from microbench.test_replication import PUBLISHERS
from workloads.model import Cell, Destination, DestinationKind, Experiment, Flow, Subscription, Template, factorial
from workloads.selectors import Equals

LABEL = "unequal{further:04d}-r{replication:03d}"

#: Each is also a setting of `replication` at the same level, to be compared with it.
GRIDS = {
    "smoke": factorial(LABEL, further=(5,), replication=(1, 3)),
    "quick": factorial(LABEL, further=(640, 2560), replication=(1, 10))
    + factorial(LABEL, further=(160,), replication=(5,)),
    "today": factorial(LABEL, further=(0, 160, 640, 2560, 4960), replication=(1, 2, 5, 10, 20, 40)),
    "paper": factorial(LABEL, further=(5, 10, 20, 40, 60, 80, 160), replication=(1, 2, 5, 10, 20, 40)),
}


def flow(cell: Cell, destination: str) -> Flow:
    others = (Subscription(Equals("ID", f"#{number}")) for number in range(1, cell.number("further") + 1))
    return Flow(
        Destination(DestinationKind.TOPIC, destination),
        PUBLISHERS,
        (Template((("ID", "#0"),)),),
        (Subscription(Equals("ID", "#0")),) * cell.number("replication") + tuple(others),
    )


EXPERIMENT = Experiment(
    "different_filters",
    "Henjes et al. 2006, section 4.5",
    "do different filters that do not match cost more than equal ones?",
    LABEL,
    GRIDS,
    flow,
    fits_model=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_different_filters(run):
    """Every matching subscriber gets every message once and in order; none of the many others gets any."""
    outcome = run()

    assert outcome.exact, outcome.explain()
