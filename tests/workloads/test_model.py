"""Plans: who sends what to whom, told once and numbered once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.model import (
    PROFILES,
    AckMode,
    Cell,
    Destination,
    DestinationKind,
    Experiment,
    Flow,
    Plan,
    Subscription,
    Template,
    factorial,
)
from workloads.selectors import And, Equals, Or

TODAY = PROFILES["today"]

#: Filters beside what they should say of a message, written down a second time.
FILTERS: list[tuple[Subscription, Callable[[dict[str, str]], bool]]] = [
    (Subscription(), lambda _: True),
    (Subscription(Equals("P", "a")), lambda message: message.get("P") == "a"),
    (Subscription(Equals("P", "b")), lambda message: message.get("P") == "b"),
    (Subscription(And((Equals("P", "a"), Equals("Q", "a")))), lambda message: message == {"P": "a", "Q": "a"}),
    (Subscription(Or((Equals("P", "a"), Equals("Q", "a")))), lambda message: "a" in message.values()),
]
TEMPLATES = [
    Template(tuple(properties.items()), body_bytes)
    for body_bytes, properties in enumerate(({}, {"P": "a"}, {"Q": "a"}, {"P": "a", "Q": "a"}, {"P": "b", "Q": "a"}))
]
FLOWS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=4),
        st.lists(st.sampled_from(FILTERS), max_size=6),
    ),
    min_size=1,
    max_size=3,
)


def destination(number: int) -> Destination:
    return Destination(DestinationKind.TOPIC, f"flow.{number}")


def flow(number: int, publishers: int, templates: list[Template], subscriptions: list[Subscription]) -> Flow:
    return Flow(destination(number), publishers, tuple(templates), tuple(subscriptions))


@settings(deadline=None)
@given(described=FLOWS)
def test_a_flow_knows_its_receivers(described):
    """Of each template the receivers are all subscriptions whose filter says yes, in their order, and no other."""
    for publishers, templates, filters in described:
        receivers = flow(0, publishers, templates, [subscription for subscription, _ in filters]).receivers

        assert receivers == tuple(
            tuple(place for place, (_, says) in enumerate(filters) if says(dict(template.properties)))
            for template in templates
        )


@settings(deadline=None)
@given(described=FLOWS)
def test_a_plan_numbers_through_all_its_flows(described):
    """Publishers, subscriptions and lanes count from 0 through the flows; a lane is a publisher and a template."""
    everybody = (Subscription(), lambda _: True)
    described = [(publishers, templates, [*filters, everybody]) for publishers, templates, filters in described]
    plan = Plan("e", "c", TODAY, tuple(flow(n, p, t, [s for s, _ in f]) for n, (p, t, f) in enumerate(described)))

    lanes, subscriptions, publisher = [], [], 0
    for number, (publishers, templates, filters) in enumerate(described):
        for _ in range(publishers):
            for template in templates:
                message = dict(template.properties)
                receivers = [len(subscriptions) + place for place, (_, says) in enumerate(filters) if says(message)]
                lanes.append((len(lanes), publisher, template, destination(number), tuple(receivers)))
            publisher += 1
        subscriptions += [(destination(number), subscription) for subscription, _ in filters]

    assert [(x.number, x.publisher, x.template, x.destination, x.receivers) for x in plan.lanes] == lanes
    assert list(plan.subscriptions) == subscriptions
    assert plan.publishers == publisher
    assert plan.connections == publisher + len(subscriptions)
    assert plan.n_fltr == len([subscription for _, subscription in subscriptions if subscription.selector])
    assert plan.replication == pytest.approx(float(Fraction(sum(len(lane[-1]) for lane in lanes), len(lanes))))


def test_a_template_that_reaches_nobody_is_refused():
    """With r = 0 there is no delivery to give credit for; the error names cell, destination and properties."""
    whole = flow(0, 1, TEMPLATES[1:3], [FILTERS[1][0]])
    with pytest.raises(WorkloadError, match=r"e c: no subscription of flow\.0 matches \{'Q': 'a'\}; r = 0"):
        Plan("e", "c", TODAY, (flow(1, 1, TEMPLATES, [Subscription()]), whole))


@pytest.mark.parametrize(("publishers", "templates"), [(0, TEMPLATES), (-1, TEMPLATES), (1, [])])
def test_a_flow_without_messages_is_refused(publishers, templates):
    """A flow has at least one publisher and one template."""
    with pytest.raises(WorkloadError, match=r"flow\.0: needs at least one publisher and one template"):
        flow(0, publishers, templates, [Subscription()])


def test_the_profiles_say_how_messages_travel():
    """`today`: no receipts, ack auto; `paper`: persistent with receipts, client acknowledgement."""
    said = {name: (profile.persistent, profile.receipts, profile.ack) for name, profile in PROFILES.items()}

    assert said == {"today": (False, False, AckMode.AUTO), "paper": (True, True, AckMode.CLIENT)}
    assert all(profile.name == name for name, profile in PROFILES.items())


def test_a_factorial_has_every_combination_once():
    """The cells are the product of the levels, each with an id made of them."""
    cells = factorial("a{a:02d}-b{b}", a=(1, 20), b=(3, 4, 5))

    assert [cell.id for cell in cells] == ["a01-b3", "a01-b4", "a01-b5", "a20-b3", "a20-b4", "a20-b5"]
    assert [(cell.factors["a"], cell.factors["b"]) for cell in cells] == [(a, b) for a in (1, 20) for b in (3, 4, 5)]


def one_cell(cell: Cell, name: str) -> Flow:
    return Flow(Destination(DestinationKind.TOPIC, name), cell.factors["p"], (Template(),), (Subscription(),))


EXPERIMENT = Experiment("study", "source", "question?", "p{p}", {"smoke": factorial("p{p}", p=(1, 2))}, one_cell)


def test_each_cell_has_a_destination_of_its_own():
    """What is left of one cell cannot reach another; the destination can be given."""
    plans = [EXPERIMENT.plan(cell, TODAY) for cell in EXPERIMENT.cells("smoke")]

    assert len({plan.lanes[0].destination.name for plan in plans}) == len(plans) == 2
    assert [(plan.experiment, plan.cell, plan.publishers) for plan in plans] == [("study", "p1", 1), ("study", "p2", 2)]
    assert EXPERIMENT.plan(EXPERIMENT.cells("smoke")[0], TODAY, "mine").lanes[0].destination.name == "mine"


def test_an_unknown_grid_is_refused():
    """The error names the grids that there are."""
    with pytest.raises(WorkloadError, match="study has no grid 'huge'; it has smoke"):
        EXPERIMENT.cells("huge")
