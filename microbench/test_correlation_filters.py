"""Do filters and copies cost the same where the filters are on the correlation id? (section 4.5)

The cells of `replication` with the id in the correlation-id header instead of a property: in both, a message has one
header in addition to its fixed ones.
"""

import pytest

from microbench.test_replication import variant_grids
from workloads.selectors import Equals
from workloads.throughput.flow import CORRELATION_ID, Cell, Experiment, Flow, Subscription, Template, on_topic

LABEL = "header{further:04d}-r{replication:03d}"

GRIDS = variant_grids(LABEL)


def flow(cell: Cell, destination: str) -> Flow:
    matching, other = (Subscription(Equals(CORRELATION_ID, name)) for name in ("#0", "#1"))
    return on_topic(
        destination,
        (Template(correlation_id="#0"),),
        (matching,) * cell.number("replication") + (other,) * cell.number("further"),
    )


EXPERIMENT = Experiment(
    "correlation_filters",
    "Henjes et al. 2006, section 4.5",
    "do filters on the correlation id cost what filters on a property cost?",
    LABEL,
    GRIDS,
    flow,
    fits_model=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_correlation_filters(run):
    """Every subscriber that filters for the messages' correlation id gets each message once, and no other gets any."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
