"""Selectors that stand for bindings: on every flow that is accepted, a binding does what its selector says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.selectors import And, Between, Equals, In, IsNull, Like, Or
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template
from workloads.throughput.routing import binding_key, conditions, routing_key

BY_KEY, BY_HEADERS = (Destination(kind, "d") for kind in (DestinationKind.KEY, DestinationKind.HEADERS))
WORDS = st.text("ab0-", min_size=1, max_size=2)


def key_flow(keys, selectors):
    return Flow(BY_KEY, 1, tuple(Template((("PLACE", key),)) for key in keys), tuple(map(Subscription, selectors)))


@st.composite
def key_flows(draw):
    """Keys of as many words each, or of that many and more, and exact or wildcard conditions on them."""
    words, more = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    keys = draw(st.lists(st.lists(WORDS, min_size=words, max_size=words + more).map(".".join), min_size=1, max_size=4))
    exact = st.one_of(st.sampled_from(keys), st.lists(WORDS, min_size=1, max_size=4).map(".".join))
    begun = st.sampled_from(keys).flatmap(
        lambda key: st.integers(0, words - 1).map(lambda kept: key.split(".")[:kept])
    ) | st.lists(WORDS, max_size=words - 1)
    patterns = begun.map(lambda kept: ".".join([*kept, "%%"]))
    if not more:
        patterns |= st.lists(st.one_of(WORDS, st.just("%")), min_size=words, max_size=words).map(".".join)
    selectors = st.one_of(exact.map(lambda key: Equals("PLACE", key)), patterns.map(lambda text: Like("PLACE", text)))
    return key_flow(keys, draw(st.lists(selectors, min_size=1, max_size=6)))


def routes(binding, key, least):
    """The rule of a topic exchange and of a topic filter: word by word, `*` stands for one, `#` at the end for `least`
    or more."""
    bound, sent = binding.split("."), key.split(".")
    if bound[-1] == "#":
        bound, more = bound[:-1], len(sent) - len(bound) + 1
        if more < least:
            return False
        sent = sent[: len(bound)]
    return len(bound) == len(sent) and all(word in ("*", other) for word, other in zip(bound, sent, strict=True))


@given(flow=key_flows())
def test_a_binding_key_matches_what_its_selector_matches(flow):
    """With these bindings each message reaches exactly the receivers of the plan: where `#` may stand for no word, as
    in RabbitMQ and MQTT, and where it stands for one at least, as in NATS."""
    for template, receivers in zip(flow.templates, flow.receivers, strict=True):
        key = routing_key(template.properties)
        bound = [binding_key(subscription.selector, "*", "#") for subscription in flow.subscriptions]

        for least in (0, 1):
            assert receivers == tuple(place for place, binding in enumerate(bound) if routes(binding, key, least))


VALUES = st.sampled_from(["", "a", "b", "a b"])
HEADERS = st.dictionaries(st.sampled_from("PQR"), VALUES, max_size=3)


@given(messages=st.lists(HEADERS, min_size=1), wanted=st.lists(HEADERS.filter(bool), min_size=1))
def test_conditions_on_headers_match_what_their_selector_matches(messages, wanted):
    """A message that has all the headers of a binding is one that its selector matches, and the other way round."""
    terms = [tuple(Equals(name, value) for name, value in headers.items()) for headers in wanted]
    selectors = [And(each) if len(each) > 1 else each[0] for each in terms]
    flow = Flow(
        BY_HEADERS,
        1,
        tuple(Template(tuple(headers.items())) for headers in messages),
        tuple(map(Subscription, selectors)),
    )

    assert [conditions(selector) for selector in selectors] == wanted
    for headers, receivers in zip(messages, flow.receivers, strict=True):
        assert receivers == tuple(place for place, binding in enumerate(wanted) if binding.items() <= headers.items())


def test_the_broker_says_how_any_word_is_written():
    """`%` and `%%` of the plan become the broker's own signs; other words stay."""
    assert binding_key(Like("PLACE", "%.north.%"), "*") == "*.north.*"
    assert binding_key(Like("PLACE", "%.north"), "+") == "+.north"
    assert binding_key(Like("PLACE", "a.north.%%"), "*", ">") == "a.north.>"
    assert binding_key(Like("PLACE", "%%"), "+", "#") == "#"
    assert binding_key(Equals("PLACE", "a.b"), "*") == "a.b"


def test_a_protocol_without_a_wildcard_for_several_words():
    """It is asked for less, or refuses: nothing else is subscribed instead."""
    with pytest.raises(WorkloadError, match=r"'a\.%%': the protocol has no wildcard for several words; use `%`"):
        binding_key(Like("PLACE", "a.%%"), "+")
    assert binding_key(Like("PLACE", "a.%"), "+") == "a.+"


@pytest.mark.parametrize(
    ("keys", "selector", "why"),
    [
        (["a"], None, "only `name = 'key'`"),
        (["a"], In("PLACE", ("a", "b")), "PLACE IN .*only `name = 'key'`"),
        (["a"], And((Equals("PLACE", "a"), Equals("PLACE", "b"))), "only `name = 'key'`"),
        (["a"], Equals("COLOUR", "a"), "expected a condition on PLACE"),
        (["a"], Equals("PLACE", "*"), "expected words joined by `.`"),
        (["a"], Equals("PLACE", "a."), "expected words joined by `.`"),
        (["#"], Equals("PLACE", "a"), "one property, whose value is words"),
        (["a b"], Equals("PLACE", "a"), "one property, whose value is words"),
        (["a.b"], Like("PLACE", "a%"), "`%` for a whole word"),
        (["a.b"], Like("PLACE", "a._"), "`%` for a whole word"),
        (["a.b"], Like("PLACE", "%"), "as many words as the keys"),
        (["a.b", "a"], Like("PLACE", "a.%"), "as many words as the keys"),
        (["a.b.c"], Like("PLACE", "a.%"), "as many words as the keys"),
        (["a.b.c"], Like("PLACE", "%.b.%%"), "no other wildcard"),
        (["a.b.c"], Like("PLACE", "a.%%.c"), "no other wildcard"),
        (["a.b.c"], Like("PLACE", "a.b%%"), "`%%` at the end"),
        (["a.b.c"], Like("PLACE", "a.%%%"), "`%%` at the end"),
        (["a.b.c"], Equals("PLACE", "a.%%"), "expected words joined by `.`"),
        (["a.b.c", "a"], Like("PLACE", "a.%%"), "no more words than the shortest key"),
    ],
)
def test_what_no_binding_key_can_say_is_refused(keys, selector, why):
    """Conditions that a topic exchange would understand otherwise than a selector are no plan."""
    with pytest.raises(WorkloadError, match=why):
        key_flow(keys, [selector])


def test_a_key_is_the_only_property():
    """With two of them nothing would say which one routes."""
    for properties in ((), (("PLACE", "a"), ("COLOUR", "b"))):
        with pytest.raises(WorkloadError, match="expected one property"):
            Flow(BY_KEY, 1, (Template(properties),), (Subscription(Equals("PLACE", "a")),))


@pytest.mark.parametrize(
    "selector",
    [
        None,
        Or((Equals("P", "a"), Equals("Q", "a"))),
        Like("P", "a%"),
        IsNull("P"),
        And((Equals("P", "a"), Between("Q", 1, 2))),
        And((Equals("P", "a"), Equals("P", "b"))),
    ],
    ids=str,
)
def test_what_no_headers_can_say_is_refused(selector):
    """A binding by headers knows equality of all of them, each named once, and nothing else."""
    with pytest.raises(WorkloadError, match="several of different names joined by AND"):
        Flow(BY_HEADERS, 1, (Template((("P", "a"),)),), (Subscription(selector),))


@pytest.mark.parametrize("destination", [BY_KEY, BY_HEADERS], ids=lambda one: one.kind)
def test_what_is_routed_is_neither_durable_nor_correlated(destination):
    """Bindings see no correlation id, and belong to a cell."""
    matching = Equals("P", "a")
    with pytest.raises(WorkloadError, match="no subscription is durable"):
        Flow(destination, 1, (Template((("P", "a"),)),), (Subscription(matching, durable=True),))
    with pytest.raises(WorkloadError, match="without a correlation id"):
        Flow(destination, 1, (Template((("P", "a"),), correlation_id="a"),), (Subscription(matching),))


@pytest.mark.parametrize("destination", [BY_KEY, BY_HEADERS], ids=lambda one: one.kind)
def test_bindings_are_no_filters(destination):
    """n_fltr counts what a broker evaluates; where it routes that is nothing."""
    wanted = tuple(Subscription(Equals("P", value)) for value in "aabc")
    plan = Plan("e", "c", PROFILES["today"], (Flow(destination, 1, (Template((("P", "a"),)),), wanted),))

    assert (plan.n_fltr, plan.replication) == (0, 2)
