"""What does the length of an AND filter cost, and does it matter which component rejects? (section 4.4)

Ten subscribers filter on n of the 25 properties that every message carries. A filter rejects a message
meant for another subscriber at its first component (series 1), in the middle (series 2) or at its last (series 3).

For even n, the specific component of subscribers j <= m / 2 has index n / 2, that of the others n / 2 + 1. The
paper prints j <= n / 2 for the condition; with that all subscribers would fall into the first case from
n = 20 on and only one for n = 2, which contradicts "half of the components".
"""

import pytest

from workloads.selectors import Equals, Selector, all_of
from workloads.throughput.flow import Cell, Experiment, Flow, Subscription, Template, factorial, on_topic

SUBSCRIBERS = 10
PROPERTIES = 25  # k: so that every message of every cell has the same length

LABEL = "s{series}-n{length:02d}"
SERIES = (1, 2, 3)

GRIDS = {
    "smoke": factorial(LABEL, series=SERIES, length=(1, 4, 25)),
    "quick": factorial(LABEL, series=SERIES, length=(1, 9, 17, 25)),
    "today": factorial(LABEL, series=SERIES, length=(1, 4, 7, 10, 13, 16, 19, 22, 25)),
    "paper": factorial(LABEL, series=SERIES, length=tuple(range(1, PROPERTIES + 1))),
    "gate": factorial(LABEL, series=SERIES, length=(1, 25)),
}


def own_index(series: int, length: int, subscriber: int) -> int:
    """The index, from 1, of the component whose value is specific to the subscriber."""
    if series == 1:
        return 1
    if series == 3:
        return length
    if length % 2:
        return (length + 1) // 2
    return length // 2 if subscriber <= SUBSCRIBERS / 2 else length // 2 + 1


def _selector(own: int, length: int, subscriber: int) -> Selector:
    return all_of(*(Equals(f"P{i}", f"#{subscriber if i == own else 0}") for i in range(1, length + 1)))


def _template(own: int, subscriber: int) -> Template:
    return Template(tuple((f"P{i}", f"#{subscriber if i == own else 0}") for i in range(1, PROPERTIES + 1)))


def flow(cell: Cell, destination: str) -> Flow:
    length = cell.number("length")
    own = [(j, own_index(cell.number("series"), length, j)) for j in range(1, SUBSCRIBERS + 1)]
    return on_topic(
        destination,
        tuple(_template(at, j) for j, at in own),
        tuple(Subscription(_selector(at, length, j)) for j, at in own),
    )


EXPERIMENT = Experiment(
    "and_filters",
    "Henjes et al. 2006, section 4.4",
    "what does the length of an AND filter cost?",
    LABEL,
    GRIDS,
    flow,
)


@pytest.mark.experiment(EXPERIMENT)
def test_and_filters(run):
    """Messages for ten filters, sent in turn, each reach exactly the subscriber that they are meant for."""
    outcome = run()

    assert outcome.as_promised, outcome.explain()
