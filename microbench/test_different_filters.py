"""Does it matter whether the filters that do not match are equal? (section 4.5)

The cells of `replication`, but every further subscriber filters for a different id: #1, #2, #3 and so on. Results
differ for a broker that indexes its filters, or evaluates equal filters only once.
"""

import pytest

from microbench.test_replication import variant_grids
from workloads.selectors import Equals
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, on_topic

LABEL = "unequal{further:04d}-r{replication:03d}"

GRIDS = variant_grids(LABEL)


def flow(cell: Cell, destination: str) -> Flow:
    others = (Subscription(Equals("ID", f"#{number}")) for number in range(1, cell.number("further") + 1))
    return on_topic(
        destination,
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

    assert outcome.as_promised, outcome.explain()
