"""Plans: who sends what to whom, told once and numbered once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.messaging import MOST_BODY_BYTES, AckMode, Destination, DestinationKind
from workloads.selectors import And, Equals, IsNull, Or
from workloads.throughput.flow import (
    CORRELATION_ID,
    PROFILES,
    Cell,
    Experiment,
    Flow,
    Plan,
    Subscription,
    Template,
    factorial,
)
from workloads.throughput.load_shape import SyncPublishers

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
QUEUE = Destination(DestinationKind.QUEUE, "queue")
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


@given(described=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12), st.booleans()), min_size=1, max_size=4))
def test_subscriptions_share_connections_within_their_flow(described):
    """Every subscription is on one connection, in order; each is full but the last of its flow, and none spans two."""
    flows = tuple(
        Flow(QUEUE if is_queue else destination(n), 2, (Template(),), (Subscription(),) * (count + 1), per_connection)
        for n, (count, per_connection, is_queue) in enumerate(described)
    )
    plan = Plan("e", "c", TODAY, flows)

    expected, first = [], 0
    for count, per_connection, _ in described:
        numbers = list(range(first, first + count + 1))
        while numbers:
            expected.append(numbers[:per_connection])
            numbers = numbers[per_connection:]
        first += count + 1
    assert [list(session) for session in plan.sessions] == expected
    assert plan.connections == 2 * len(flows) + len(expected)


def test_of_a_queue_each_message_goes_to_one():
    """Its lanes may reach every subscription, with one copy in all; beside it a topic's copies go to each."""
    queue = Flow(QUEUE, 2, tuple(TEMPLATES[:2]), (Subscription(),) * 5)
    topic = flow(1, 1, TEMPLATES[:1], [Subscription()] * 4)
    plan = Plan("e", "c", TODAY, (queue, topic))

    assert [(lane.receivers, lane.shared, lane.copies) for lane in plan.lanes] == [
        *[(tuple(range(5)), True, 1)] * 4,
        (tuple(range(5, 9)), False, 4),
    ]
    assert plan.replication == pytest.approx((4 * 1 + 4) / 5)
    assert plan.n_fltr == 0


TOPIC = Destination(DestinationKind.TOPIC, "flow.0")

#: What cannot be described, and how it is refused.
REFUSED = [
    (lambda: Flow(TOPIC, 1, (Template(),), (Subscription(),), 0), "subscriptions per connection: .* least 1, got 0"),
    (lambda: Flow(QUEUE, 1, (Template(),), (Subscription(Equals("P", "a")),)), "queue queue: its .* have no filter"),
    (
        lambda: Flow(QUEUE, 1, (Template(),), (Subscription(), Subscription(durable=True))),
        "queue queue: .* not durable",
    ),
    (
        lambda: Flow(TOPIC, 0, (Template(),), (Subscription(),)),
        r"flow\.0: needs at least one publisher and one template",
    ),
    (
        lambda: Flow(TOPIC, 1, (), (Subscription(),)),
        r"flow\.0: needs at least one publisher and one template, got 1 and 0",
    ),
    (lambda: Template(body_bytes=-1), "body: expected 0 to 65536 bytes, got -1"),
    (lambda: Template(body_bytes=MOST_BODY_BYTES + 1), "body: expected 0 to 65536 bytes, got 65537"),
    (lambda: Template((("P", "a~"),)), "'~', which marks the load's stamps"),
    (lambda: Template((("~P", "a"),)), "'~', which marks the load's stamps"),
    (lambda: Template(correlation_id="~"), "'~', which marks the load's stamps"),
    (
        lambda: Plan(
            "e", "c", TODAY, (flow(1, 1, TEMPLATES, [Subscription()]), flow(0, 1, TEMPLATES[1:3], [FILTERS[1][0]]))
        ),
        r"e c: no subscription of flow\.0 matches \{'Q': 'a'\}; r = 0",
    ),
    (lambda: EXPERIMENT.cells("huge"), "study has no grid 'huge'; it has smoke"),
]


@pytest.mark.parametrize(("made", "why"), REFUSED)
def test_what_cannot_be_is_refused(made, why):
    """With what was expected: a connection has a subscription, a queue no filter, a template receivers (else there is
    no delivery to give credit for), a body a possible size; and the mark by which stamps are found is in no message."""
    with pytest.raises(WorkloadError, match=why):
        made()


def test_a_selector_sees_properties_and_correlation_id():
    """The header has the name that selectors use; a message without one has none, also not an empty one."""
    assert Template((("P", "a"),), correlation_id="#1").selectable == {"P": "a", "JMSCorrelationID": "#1"}
    assert Template((("P", "a"),)).selectable == {"P": "a"}
    assert Template(correlation_id="").selectable == {"JMSCorrelationID": ""}
    wanted = (Subscription(Equals(CORRELATION_ID, "#1")), Subscription(IsNull(CORRELATION_ID)))
    made = Flow(destination(0), 1, (Template(correlation_id="#1"), Template()), wanted)
    assert made.receivers == ((0,), (1,))


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
    return Flow(Destination(DestinationKind.TOPIC, name), cell.number("p"), (Template(),), (Subscription(),))


EXPERIMENT = Experiment("study", "source", "question?", "p{p}", {"smoke": factorial("p{p}", p=(1, 2))}, one_cell)


def test_each_cell_has_a_destination_of_its_own():
    """What is left of one cell cannot reach another; the destination can be given."""
    plans = [EXPERIMENT.plan(cell, TODAY) for cell in EXPERIMENT.cells("smoke")]

    assert len({plan.lanes[0].destination.name for plan in plans}) == len(plans) == 2
    assert [(plan.experiment, plan.cell, plan.publishers) for plan in plans] == [("study", "p1", 1), ("study", "p2", 2)]
    assert EXPERIMENT.plan(EXPERIMENT.cells("smoke")[0], TODAY, "mine").lanes[0].destination.name == "mine"


def described_by(cell: Cell, name: str) -> Flow:
    kind = DestinationKind(cell.factors["kind"])
    return Flow(Destination(kind, name), cell.number("p"), (Template(),), (Subscription(),))


WORDS = Experiment(
    "words",
    "source",
    "question?",
    "{kind}-p{p:02d}",
    {"smoke": factorial("x", kind=("topic",), p=(1,)), "quick": factorial("x", kind=("topic", "queue"), p=(1, 5))},
    described_by,
)


def test_an_own_grid_is_every_combination():
    """A user's levels, also such as the experiment's own grids do not have; words are those of all its grids."""
    cells = WORDS.grid_of({"p": [3, 0], "kind": ["queue", "topic"]})

    assert [cell.id for cell in cells] == ["queue-p03", "queue-p00", "topic-p03", "topic-p00"]
    assert dict(cells[0].factors) == {"kind": "queue", "p": 3}
    assert WORDS.plan(cells[0], TODAY).publishers == 3


@pytest.mark.parametrize(
    ("levels", "why"),
    [
        ({"kind": ["topic"], "p": [1], "r": [1]}, r"\[words\]: unknown key 'r'; its factors are kind, p"),
        ({"kind": ["topic"]}, r"\[words\]: 'p' is missing; its factors are kind, p"),
        ({"kind": ["topic"], "p": []}, r"\[words\] p: expected a list of different levels, got \[\]"),
        ({"kind": "topic", "p": [3]}, r"\[words\] kind: expected a list of different levels, got 'topic'"),
        ({"kind": ["topic"], "p": [3, 4, 3]}, r"\[words\] p: expected a list of different levels"),
        ({"kind": ["durable"], "p": [3]}, r"\[words\] kind: expected one of topic, queue, got 'durable'"),
        ({"kind": ["topic"], "p": [3.0]}, r"\[words\] p: expected a whole number from 0 on, got 3.0"),
        ({"kind": ["topic"], "p": [True]}, r"\[words\] p: expected a whole number from 0 on, got True"),
        ({"kind": ["topic"], "p": [-1]}, r"\[words\] p: expected a whole number from 0 on, got -1"),
    ],
)
def test_an_own_grid_that_is_wrong_is_refused(levels, why):
    """The error names the experiment, the factor, what was expected and what was given."""
    with pytest.raises(WorkloadError, match=why):
        WORDS.grid_of(levels)


def test_a_cell_may_change_its_profile_and_ask_for_a_pace():
    """Where that is the question; else the run's own profile and closed loop."""
    experiment = replace(
        EXPERIMENT,
        profile=lambda cell, profile: replace(profile, receipts=cell.number("p") == 2),
        pace=lambda cell: SyncPublishers(7) if cell.number("p") == 2 else None,
    )
    cells = experiment.cells("smoke")

    assert [experiment.plan(cell, TODAY).profile.receipts for cell in cells] == [False, True]
    assert [experiment.pace(cell) for cell in cells] == [None, SyncPublishers(7)]
    assert EXPERIMENT.pace(cells[0]) is None
    assert EXPERIMENT.plan(cells[0], TODAY).profile == TODAY
    with pytest.raises(WorkloadError, match="a profile that has them"):
        replace(EXPERIMENT, pace=lambda _: SyncPublishers(1)).plan(cells[0], TODAY)
