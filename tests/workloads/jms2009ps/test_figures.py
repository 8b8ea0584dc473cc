"""The counts: those of the published scenarios and of every target destination, and formulas in any configuration."""

from __future__ import annotations

import pytest

from tests.workloads.jms2009ps.configurations import COMBINATIONS, uniform
from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.configuration import read
from workloads.jms2009ps.figures import count, evaluate, figures_json
from workloads.jms2009ps.parameters import MESSAGES, SubscriptionType, TargetDestination
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.jms2009ps.targets import bare_name
from workloads.selectors import parse
from workloads.supply_chain.interactions import Participant, Role

LM, MT, INTERACTION, LT, LI, CENTRAL = TargetDestination
IN, OR, SET, TOPIC = SubscriptionType

#: The tables are printed with four decimals.
PRINTED = 5e-5

#: Vertical, no queues: topics, subscriptions, filters, most on a topic; filters, rejected and terms per message sent
#: (terms of OR apart); share of the busiest topic; unmatched durable per second and BASE. Computed by hand from the
#: tables, independently of this suite's code.
VERTICAL = {
    (LM, TOPIC): (159, 336, 0, 10, 0, 0, 0, None, 40.4, "HQ1_StatInfoSMT", 0),
    (LM, IN): (60, 91, 5, 10, 0.0747, 0.0373, 0.0747, 2.8185, 40.4, "HQ1_StatInfoSMT", 0.53),
    (LM, SET): (60, 336, 250, 250, 3.7331, 3.6958, 3.7331, None, 40.4, "HQ1_StatInfoSMT", 52.8),
    (MT, IN): (19, 91, 91, 10, 3.5736, 2.3655, 3.6483, 6.3921, 40.4, "HQ_StatInfoSMT", 33.8),
    (MT, SET): (19, 336, 336, 250, 7.2321, 6.0239, 10.9652, None, 40.4, "HQ_StatInfoSMT", 86.1),
    (INTERACTION, IN): (7, 91, 91, 27, 13.6477, 12.4395, 15.7678, 18.5116, 40.4, "Interaction5_T", 147.6),
    (INTERACTION, SET): (7, 336, 336, 268, 48.4029, 47.1947, 65.1567, None, 40.4, "Interaction5_T", 591.9),
    (LT, IN): (4, 91, 91, 39, 30.0184, 28.8102, 52.5649, 55.3088, 52.3, "HQ_T", 137.1),
    (LT, SET): (4, 336, 336, 284, 158.1002, 156.8920, 312.3869, None, 52.3, "HQ_T", 253.9),
    (LI, IN): (18, 91, 91, 39, 22.4719, 21.2637, 22.5465, 25.2904, 52.3, "HQ1_T", 29.3),
    (LI, SET): (18, 336, 336, 284, 150.5537, 149.3455, 154.2868, None, 52.3, "HQ1_T", 146.1),
    (CENTRAL, IN): (1, 91, 91, 91, 91, 89.7918, 143.5649, 146.3088, 100, "T", 488.0),
    (CENTRAL, SET): (1, 336, 336, 336, 336, 334.7918, 648.3869, None, 100, "T", 2275),
}


@pytest.mark.parametrize(("target", "subscription_type"), COMBINATIONS)
def test_the_vertical_topology_without_queues(target, subscription_type):
    """Each target destination with each subscription type; OR is IN but for the terms."""
    row = VERTICAL[target, IN if subscription_type is OR else subscription_type]
    topics, subscribed, filters, most, evaluated, rejected, terms, terms_of_or, percent, busiest, unmatched = row
    found = figures_json(uniform(target, subscription_type, queue=False), 1)

    assert (found["queues"], found["topics"], found["topic_subscriptions"]) == (0, topics, subscribed)
    assert (found["filters"], found["most_subscriptions_per_topic"]) == (filters, most)
    assert found["filters_per_message"] == pytest.approx(evaluated, abs=PRINTED)
    assert found["rejected_per_message"] == pytest.approx(rejected, abs=PRINTED)
    assert found["terms_per_message"] == pytest.approx(terms_of_or if subscription_type is OR else terms, abs=PRINTED)
    assert found["busiest_topic"]["messages_percent"] == pytest.approx(percent, abs=0.05)
    assert found["busiest_topic"]["name"] == busiest
    assert found["unmatched_durable_per_s"] == pytest.approx(unmatched, rel=2e-3, abs=5e-3)


#: Vertical, queues wherever there is one consumer: filters per message sent.
WITH_QUEUES = {
    (LM, TOPIC): 0,
    (LM, IN): 0.0747,
    (MT, IN): 0.2811,
    (MT, SET): 3.9395,
    (INTERACTION, IN): 0.2811,
    (INTERACTION, SET): 3.9395,
    (LT, IN): 1.2450,
    (LT, SET): 9.9603,
    (LI, IN): 1.2450,
    (LI, SET): 9.9603,
    (CENTRAL, IN): 1.2450,
    (CENTRAL, SET): 9.9603,
}


@pytest.mark.parametrize(("target", "subscription_type"), WITH_QUEUES)
def test_the_vertical_topology_with_queues(target, subscription_type):
    """Filters are on the topics that remain: calls for offers and the three messages to all supermarkets."""
    found = figures_json(uniform(target, subscription_type, queue=True), 1)
    topics = {LM: 103 if subscription_type is TOPIC else 4, MT: 4, INTERACTION: 4, LT: 1, LI: 1, CENTRAL: 1}

    assert (found["queues"], found["queue_consumers"], found["topics"]) == (56, 56, topics[target])
    assert found["topic_subscriptions"] == (35 if subscription_type is IN else 280)
    assert found["filters_per_message"] == pytest.approx(WITH_QUEUES[target, subscription_type], abs=PRINTED)


#: By BASE: subscriptions with IN and with SET; filters per message sent with IN, for three target destinations.
HORIZONTAL = {
    5: (46, 54, {MT: 2.4525, LI: 14.1784, CENTRAL: 46}),
    10: (88, 104, {MT: 4.0082, LI: 23.0262, CENTRAL: 88}),
    100: (860, 1020, {LI: 46.0231, CENTRAL: 860}),
}


@pytest.mark.parametrize("base", HORIZONTAL)
def test_the_horizontal_topology(base):
    """Subscriptions, and filters per message, grow with the number of locations."""
    of_in, of_set, evaluated = HORIZONTAL[base]
    for target, expected in evaluated.items():
        found = figures_json(uniform(target, IN, queue=False, topology="horizontal"), base)
        assert found["topic_subscriptions"] == of_in
        assert found["filters_per_message"] == pytest.approx(expected, abs=PRINTED)
    of_sets = uniform(MT, SET, queue=False, topology="horizontal")
    assert figures_json(of_sets, base)["topic_subscriptions"] == of_set


#: Table 5 of Sachs et al. 2009, and the same where what was point-to-point is publish/subscribe.
MIXES = {
    1: {"a": 14.19, "b": 5.99, "c": 39.09, "d": 40.74},
    2: {"a": 53.28, "b": 46.72, "c": 0, "d": 0},
    3: {"a": 53.28, "b": 46.72, "c": 0, "d": 0},
}

#: By scenario: queues, topics, subscriptions to topics, filters; filters per message, and per second at BASE 5 and 100.
OF_SCENARIOS = {
    1: (56, 103, 280, 0, 0, 0, 0),
    2: (0, 19, 91, 91, 3.5736, 255.28, 5105.5),
    3: (0, 1, 91, 91, 91, 6500.40, 130008.1),
}


@pytest.mark.parametrize("number", SCENARIOS)
def test_scenarios(number):
    """Handlers, drivers and messages are the same in all three; BASE changes the rates only."""
    queues, topics, subscribed, filters, evaluated, *evaluated_per_s = OF_SCENARIOS[number]
    for base, filters_per_s in zip((5, 100), evaluated_per_s, strict=True):
        found = figures_json(SCENARIOS[number], base)
        assert (found["queues"], found["topics"], found["topic_subscriptions"]) == (queues, topics, subscribed)
        assert found["filters"] == filters
        assert found["filters_per_message"] == pytest.approx(evaluated, abs=PRINTED)
        assert found["filters_per_s"] == pytest.approx(filters_per_s, abs=0.05)
        assert (found["event_handlers"], found["drivers"], found["connections"]) == (91, 35, 126)
        assert found["sent_per_s"] == pytest.approx(71.4330 * base / 5, abs=PRINTED * base)
        assert found["received_per_s"] == pytest.approx(86.3026 * base / 5, abs=PRINTED * base)
        assert found["message_mix_percent"] == pytest.approx(MIXES[number], abs=0.01)


MIXED = """
[interaction_1]
queue = false
target_destination = "Interaction"
"""


def test_a_mixed_configuration():
    """One interaction on a topic of its own, everything else as in the first scenario."""
    found = figures_json(read(MIXED, "mixed.toml"), 1)

    assert (found["queues"], found["topics"], found["topic_subscriptions"], found["filters"]) == (29, 104, 307, 27)
    assert found["filters_per_message"] == pytest.approx(8.6395, abs=PRINTED)
    assert found["messages"]["order"] == {
        "destinations": ["Interaction1_T"],
        "properties": ["TargetLocationID", "MessageType"],
        "selectors": ["TargetLocationID = 'DC1' AND MessageType = 'order'"],
    }
    assert found["messages"]["invoice"] == {"destinations": ["HQ1_InvoiceQ"], "properties": [], "selectors": []}


def test_messages_of_a_configuration():
    """Where each message goes, what its producer sets, and the selectors of the first consumer."""
    found = figures_json(uniform(MT, SET, queue=False), 1)["messages"]

    assert found["callForOffers"]["destinations"] == ["HQ_CallForOffersT"]
    assert found["callForOffers"]["properties"] == ["TargetLocationID", "ProductFamily"]
    assert len(found["callForOffers"]["selectors"]) == 50
    assert found["callForOffers"]["selectors"][0] == "TargetLocationID = 'HQ1' AND ProductFamily = 'PF1'"
    assert list(found) == list(MESSAGES)
    assert len(figures_json(SCENARIOS[1], 1)["messages"]["callForOffers"]["destinations"]) == 100


#: A selector, properties, and the comparisons until the verdict.
COMPARISONS = [
    ("a = '1'", {"a": "1"}, (True, 1)),
    ("a = '1' AND b = '2'", {}, (False, 1)),
    ("a = '1' AND b = '2'", {"a": "1"}, (False, 2)),
    ("a = '1' OR a = '2' OR a = '3'", {"a": "2"}, (True, 2)),
    ("a IN ('1', '2', '3')", {"a": "3"}, (True, 1)),
    ("a = '1' AND (b = '1' OR b = '2')", {"a": "1", "b": "2"}, (True, 3)),
    ("a = '1' AND (b = '1' OR b = '2')", {"a": "1", "b": "3"}, (False, 3)),
]


@pytest.mark.parametrize(("text", "properties", "expected"), COMPARISONS)
def test_terms_until_the_verdict(text, properties, expected):
    """From left to right, to the first that decides; a list is one."""
    assert evaluate(parse(text), properties) == expected


def test_the_headquarters_as_a_whole_have_the_name_of_the_first():
    """With several instances, what all supermarkets receive is on the topic of the first, and each has its own."""
    configuration = uniform(LI, IN, queue=False, topology="horizontal")
    model = ConfiguredSupplyChain.configured(configuration, 21)
    topology = model.topology
    found = {bare_name(row.destination): row.subscriptions for row in count(model).destinations}
    to_headquarters = sum(step.receiver is Participant.HQ for step in MESSAGES.values())

    assert topology.locations[Role.HQ] == 2
    assert found["HQ2_T"] == to_headquarters == 4
    assert found["HQ1_T"] == to_headquarters + topology.locations[Role.SP] + 3 * topology.locations[Role.SM]
