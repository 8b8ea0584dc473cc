"""How do the number of filters and the replication grade contribute to the cost of a message? (section 4.5)

All messages carry ID #0; r subscribers filter for #0 and get every message, the further subscribers
filter for #1 and get none. t_rcv, t_fltr and t_tx are fitted to these cells.
"""

import pytest

from workloads.selectors import Equals
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic

LABEL = "f{further:04d}-r{replication:03d}"

#: Filters have become so cheap that t_fltr is not measurable with the paper's 200: hence up to n_fltr = 5000. What
#: thousands of filters occupy exceeds a cache of some CPUs, so that each of them costs more: QUICK stays below that,
#: where one t_fltr holds.
QUICK = {"further": (0, 160, 640), "replication": (1, 2, 5, 10)}
TODAY = {"further": (0, 160, 640, 2560, 4960), "replication": (1, 2, 5, 10, 20, 40)}
PAPER = {"further": (5, 10, 20, 40, 60, 80, 160), "replication": (1, 2, 5, 10, 20, 40)}

GRIDS = {
    "smoke": factorial(LABEL, further=(0, 5), replication=(1, 3)),
    "quick": factorial(LABEL, **QUICK),
    "today": factorial(LABEL, **TODAY),
    "paper": factorial(LABEL, **PAPER),
    "gate": factorial(LABEL, further=(0, 1280), replication=(1, 2, 10)),
}


def variant_grids(label: str) -> dict[str, tuple[Cell, ...]]:
    """Grids of an experiment whose cells are each compared with the same setting of this experiment, by level."""
    return {
        "smoke": factorial(label, further=(5,), replication=(1, 3)),
        "quick": factorial(label, further=(160, 640), replication=(1, 10))
        + factorial(label, further=(160,), replication=(5,)),
        "today": factorial(label, **TODAY),
        "paper": factorial(label, **PAPER),
        "gate": factorial(label, further=(0, 1280), replication=(1, 2, 10)),
    }


def flow(cell: Cell, destination: str) -> Flow:
    matching, other = Subscription(Equals("ID", "#0")), Subscription(Equals("ID", "#1"))
    return on_topic(
        destination,
        (Template((("ID", "#0"),)),),
        (matching,) * cell.number("replication") + (other,) * cell.number("further"),
    )


EXPERIMENT = Experiment(
    "replication",
    "Henjes et al. 2006, section 4.5",
    "what do one filter and one copy cost?",
    LABEL,
    GRIDS,
    flow,
    fits_model=True,
)


@pytest.mark.experiment(EXPERIMENT)
def test_replication(run):
    """Every matching subscriber gets every message once and in order, and no other subscriber gets any."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
