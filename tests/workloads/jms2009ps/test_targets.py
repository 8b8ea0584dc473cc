"""Destinations, properties and selectors: verbatim for each target destination, and exact in any configuration."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.jms2009ps.configurations import BASES, COMBINATIONS, configurations, uniform
from workloads.errors import WorkloadError
from workloads.jms2009ps.figures import consumers_of
from workloads.jms2009ps.parameters import (
    DEFAULTS,
    MESSAGES,
    Configuration,
    SubscriptionType,
    TargetDestination,
    changed,
)
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.jms2009ps.targets import LOGICAL_HEADQUARTERS, bare_name, subscriptions, targets
from workloads.messaging import DestinationKind
from workloads.scenario.model import DESTINATION_PREFIX
from workloads.selectors import parse
from workloads.supply_chain.interactions import Participant, Role
from workloads.supply_chain.topology import Location, vertical

LM, MT, INTERACTION, LT, LI, CENTRAL = TargetDestination
IN, OR, SET, TOPIC = SubscriptionType

#: The second location of each role: the order at DC2, and so on.
CONSUMERS = {
    step.message: LOGICAL_HEADQUARTERS if step.receiver.plural or step.receiver is Participant.HQ else second
    for step in MESSAGES.values()
    for second in [Location(step.receiver.role, 1)]
}
LOCATIONS = {message: str(location) for message, location in CONSUMERS.items()}
ROLES = {message: location.role.value for message, location in CONSUMERS.items()}
CAPITALS = {message: message[0].upper() + message[1:] for message in MESSAGES}

#: By target destination: topic and selector of a message, in Python's words for the table of the specification.
EXPECTED = {
    LM: lambda m: (f"{LOCATIONS[m]}_{CAPITALS[m]}T", ""),
    MT: lambda m: (f"{ROLES[m]}_{CAPITALS[m]}T", f"TargetLocationID = '{LOCATIONS[m]}'"),
    INTERACTION: lambda m: (
        f"Interaction{MESSAGES[m].interaction}_T",
        f"TargetLocationID = '{LOCATIONS[m]}' AND MessageType = '{m}'",
    ),
    LT: lambda m: (f"{ROLES[m]}_T", f"TargetLocationID = '{LOCATIONS[m]}' AND MessageType = '{m}'"),
    LI: lambda m: (f"{LOCATIONS[m]}_T", f"MessageType = '{m}'"),
    CENTRAL: lambda m: (
        "T",
        f"LocationType = '{ROLES[m]}' AND TargetLocationID = '{LOCATIONS[m]}' AND MessageType = '{m}'",
    ),
}
#: Two of them, written out.
WRITTEN_OUT = [
    (LM, "order", "DC2_OrderT", ""),
    (MT, "order", "DC_OrderT", "TargetLocationID = 'DC2'"),
    (INTERACTION, "order", "Interaction1_T", "TargetLocationID = 'DC2' AND MessageType = 'order'"),
    (LT, "order", "DC_T", "TargetLocationID = 'DC2' AND MessageType = 'order'"),
    (LI, "order", "DC2_T", "MessageType = 'order'"),
    (CENTRAL, "order", "T", "LocationType = 'DC' AND TargetLocationID = 'DC2' AND MessageType = 'order'"),
    (LM, "priceUpdate", "HQ1_PriceUpdateT", ""),
    (MT, "priceUpdate", "HQ_PriceUpdateT", "TargetLocationID = 'HQ1'"),
    (INTERACTION, "priceUpdate", "Interaction3_T", "TargetLocationID = 'HQ1' AND MessageType = 'priceUpdate'"),
    (LT, "priceUpdate", "HQ_T", "TargetLocationID = 'HQ1' AND MessageType = 'priceUpdate'"),
    (LI, "priceUpdate", "HQ1_T", "MessageType = 'priceUpdate'"),
    (CENTRAL, "priceUpdate", "T", "LocationType = 'HQ' AND TargetLocationID = 'HQ1' AND MessageType = 'priceUpdate'"),
]


def subscribed(configuration, message, location):
    """Names and selectors of what a location subscribes to for a message."""
    found = subscriptions(configuration, configuration.at(1), MESSAGES[message], location)
    return [(bare_name(each.destination), "" if each.selector is None else str(each.selector)) for each in found]


@pytest.mark.parametrize("target", TargetDestination)
@pytest.mark.parametrize("message", [message for message in MESSAGES if message != "callForOffers"])
def test_one_consumer_of_each_message(target, message):
    """One subscription, to the topic and with the selector that the target destination stands for."""
    step, configuration = MESSAGES[message], uniform(target, IN, queue=False)
    consumer = Location(step.receiver.role, 0 if step.receiver is Participant.HQ else 1)

    assert subscribed(configuration, message, consumer) == [EXPECTED[target](message)]


@pytest.mark.parametrize(("target", "message", "topic", "selector"), WRITTEN_OUT)
def test_written_out(target, message, topic, selector):
    """What the table of all messages says is what stands here in full."""
    assert EXPECTED[target](message) == (topic, selector)


@pytest.mark.parametrize("message", MESSAGES)
def test_queues_have_neither_properties_nor_selectors(message):
    """A queue is that of one location and one message, whatever the target destination."""
    step = MESSAGES[message]
    configuration = uniform(CENTRAL, IN, queue=True)
    found = targets(configuration, configuration.at(1), step)
    if step.receiver.plural:
        assert {target.destination.kind for target in found} == {DestinationKind.TOPIC}
    else:
        assert [bare_name(target.destination) for target in found] == [
            f"{location}_{CAPITALS[message]}Q" for location in vertical(1).at(step.receiver.role)
        ]
        assert {target.properties for target in found} == {()}
        assert subscribed(configuration, message, Location(step.receiver.role, 0))[0][1] == ""


@pytest.mark.parametrize(("target", "subscription_type"), COMBINATIONS)
def test_calls_for_offers(target, subscription_type):
    """The target destination's terms come first, joined by AND; OR is in parentheses exactly if there are any."""
    configuration = uniform(target, subscription_type, queue=False)
    topic, base = EXPECTED[target]("callForOffers")
    families = [f"PF{number}" for number in range(51, 101)]  # the second supplier's
    each = [f"ProductFamily = '{family}'" for family in families]
    selectors = {
        IN: ["ProductFamily IN ({})".format(", ".join(f"'{family}'" for family in families))],
        OR: [f"({' OR '.join(each)})" if base else " OR ".join(each)],
        SET: each,
    }
    if subscription_type is TOPIC:
        expected = [(f"{family}_CallForOffersT", "") for family in families]
    else:
        expected = [
            (topic, f"{base} AND {selector}" if base else selector) for selector in selectors[subscription_type]
        ]

    assert subscribed(configuration, "callForOffers", Location(Role.SP, 1)) == expected


def test_lengths_of_selectors():
    """Of the longest texts, those of one topic for all messages; the families' names differ by one character."""
    lengths = {
        subscription_type: {
            len(text)
            for place in range(5)
            for _, text in subscribed(configuration, "callForOffers", Location(Role.SP, place))
        }
        for subscription_type in (IN, OR, SET)
        for configuration in [uniform(CENTRAL, subscription_type, queue=False)]
    }

    assert lengths == {IN: {495, 505}, OR: {1376, 1386}, SET: {108, 109, 110}}


@pytest.mark.parametrize("subscription_type", [IN, OR, SET])
def test_a_supplier_of_one_family(subscription_type):
    """A list of one and a disjunction of one are the comparison alone."""
    configuration = uniform(MT, subscription_type, queue=False, topology="horizontal")

    assert subscribed(configuration, "callForOffers", Location(Role.SP, 0)) == [
        ("HQ_CallForOffersT", "TargetLocationID = 'HQ1' AND ProductFamily = 'PF1'")
    ]


@pytest.mark.parametrize(("target", "subscription_type"), COMBINATIONS)
def test_selectors_are_read_back(target, subscription_type):
    """Each text is one that JMS allows, with single quotes and no hyphen in a name, and is parsed to its selector."""
    configuration = uniform(target, subscription_type, queue=False)
    for consumers in consumers_of(configuration, configuration.at(1)).values():
        for consumer in consumers:
            if consumer.subscription.selector is not None:
                text = str(consumer.subscription.selector)
                assert parse(text) == consumer.subscription.selector
                assert '"' not in text
                assert "-" not in re.sub(r"'[^']*'", "", text)


#: The 19 topics of MessageType.
OF_MESSAGE_TYPE = [
    "DC_OrderT",
    "SM_OrderConfT",
    "DC_ShipDepT",
    "HQ_StatInfoOrderDCT",
    "SM_ShipInfoT",
    "DC_ShipConfT",
    "HQ_CallForOffersT",
    "DC_OfferT",
    "SP_POrderT",
    "DC_POrderConfT",
    "HQ_InvoiceT",
    "DC_PShipInfoT",
    "SP_PShipConfT",
    "HQ_StatInfoShipDCT",
    "HQ_PriceUpdateT",
    "SM_InventoryInfoT",
    "HQ_StatInfoSMT",
    "HQ_ProductAnnouncementT",
    "HQ_CreditCardHLT",
]


def test_the_topics_of_message_types():
    """One for each message, with the kind of its location; on the broker below the prefix of all workloads."""
    configuration, topology = SCENARIOS[2], SCENARIOS[2].at(1)
    found = [targets(configuration, topology, step)[0].destination for step in topology.steps]

    assert [bare_name(destination) for destination in found] == OF_MESSAGE_TYPE
    assert [destination.name for destination in found] == [f"{DESTINATION_PREFIX}.{name}" for name in OF_MESSAGE_TYPE]


@pytest.mark.parametrize(("subscription_type", "most"), [(IN, 889), (OR, 297)])
def test_selectors_that_no_broker_takes_are_refused(subscription_type, most):
    """A header line is limited: from some number of families on, one selector cannot name them all."""
    configuration = uniform(CENTRAL, subscription_type, queue=False)
    step, supplier = MESSAGES["callForOffers"], Location(Role.SP, 0)
    fits, too_long = (replace(vertical(1), families=1000, families_per_supplier=each) for each in (most, most + 1))

    assert len(subscriptions(configuration, fits, step, supplier)) == 1
    with pytest.raises(
        WorkloadError, match=r'uniform: \[message.callForOffers\]: subscription_type: expected "SET" or "TOPIC"'
    ):
        subscriptions(configuration, too_long, step, supplier)


@settings(deadline=None, max_examples=30)
@given(configuration=configurations(), base=st.sampled_from(BASES))
def test_selectors_pass_each_message_to_its_receivers_alone(configuration, base):
    """For every address the consumers whose selectors match are those of the cast, each with one subscription: the
    receiving location, the suppliers of the product family, or all supermarkets."""
    topology = configuration.at(base)
    consumers = {}
    for step in topology.steps:
        for location in topology.at(step.receiver.role):
            for each in subscriptions(configuration, topology, step, location):
                consumers.setdefault(each.destination, []).append((step.message, location.index, each.selector))
    for step in topology.steps:
        for index, target in enumerate(targets(configuration, topology, step)):
            properties = dict(target.properties)
            matched = sorted(
                (message, place)
                for message, place, selector in consumers[target.destination]
                if selector is None or selector.matches(properties)
            )
            cast = {
                Participant.SUPPLIERS: lambda index=index: topology.suppliers_of[index],
                Participant.SUPERMARKETS: lambda: range(topology.locations[Role.SM]),
            }.get(step.receiver, lambda index=index: [index])()
            assert matched == [(step.message, place) for place in cast]


def test_a_message_shares_a_topic_only_with_messages_of_its_target_destination():
    """The names of the six options are disjoint, so that each topic's selectors have the same terms."""
    names = {}
    for target in TargetDestination:
        configuration = Configuration(
            "x", changed(DEFAULTS, queue=False, target_destination=target, subscription_type=IN), "horizontal"
        )
        topology = configuration.at(21)
        names[target] = {each.destination for step in topology.steps for each in targets(configuration, topology, step)}

    assert sum(map(len, names.values())) == len(set().union(*names.values()))
