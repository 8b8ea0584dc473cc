"""Destinations, properties and selectors: verbatim for each target destination, and exact in any configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.workloads.jms2009ps.configurations import COMBINATIONS, uniform
from workloads.errors import WorkloadError
from workloads.jms2009ps.parameters import (
    DEFAULTS,
    MESSAGES,
    Configuration,
    SubscriptionType,
    TargetDestination,
    changed,
)
from workloads.jms2009ps.targets import bare_name, subscriptions, targets
from workloads.messaging import DestinationKind
from workloads.supply_chain.interactions import Role
from workloads.supply_chain.topology import Location, vertical

LM, MT, INTERACTION, LT, LI, CENTRAL = TargetDestination
IN, OR, SET, TOPIC = SubscriptionType

#: By target destination and message: topic and selector of the second location of the receiving role, or of the
#: headquarters as a whole.
EXPECTED = [
    (LM, "order", "DC2_OrderT", ""),
    (MT, "order", "DC_OrderT", "TargetLocationID = 'DC2'"),
    (INTERACTION, "order", "Interaction1_T", "TargetLocationID = 'DC2' AND MessageType = 'order'"),
    (LT, "order", "DC_T", "TargetLocationID = 'DC2' AND MessageType = 'order'"),
    (LI, "order", "DC2_T", "MessageType = 'order'"),
    (CENTRAL, "order", "T", "LocationType = 'DC' AND TargetLocationID = 'DC2' AND MessageType = 'order'"),
    (MT, "statInfoSM", "HQ_StatInfoSMT", "TargetLocationID = 'HQ2'"),
    (LM, "priceUpdate", "HQ1_PriceUpdateT", ""),
    (MT, "priceUpdate", "HQ_PriceUpdateT", "TargetLocationID = 'HQ1'"),
    (INTERACTION, "priceUpdate", "Interaction3_T", "TargetLocationID = 'HQ1' AND MessageType = 'priceUpdate'"),
    (LT, "priceUpdate", "HQ_T", "TargetLocationID = 'HQ1' AND MessageType = 'priceUpdate'"),
    (LI, "priceUpdate", "HQ1_T", "MessageType = 'priceUpdate'"),
    (CENTRAL, "priceUpdate", "T", "LocationType = 'HQ' AND TargetLocationID = 'HQ1' AND MessageType = 'priceUpdate'"),
]

#: The same for calls for offers, without the product families.
CALLS = {
    LM: ("HQ1_CallForOffersT", ""),
    MT: ("HQ_CallForOffersT", "TargetLocationID = 'HQ1'"),
    INTERACTION: ("Interaction2_T", "TargetLocationID = 'HQ1' AND MessageType = 'callForOffers'"),
    LT: ("HQ_T", "TargetLocationID = 'HQ1' AND MessageType = 'callForOffers'"),
    LI: ("HQ1_T", "MessageType = 'callForOffers'"),
    CENTRAL: ("T", "LocationType = 'HQ' AND TargetLocationID = 'HQ1' AND MessageType = 'callForOffers'"),
}


def subscribed(configuration, message, location):
    """Names and selectors of what a location subscribes to for a message."""
    found = subscriptions(configuration, configuration.at(1), MESSAGES[message], location)
    return [(bare_name(each.destination), "" if each.selector is None else str(each.selector)) for each in found]


@pytest.mark.parametrize(("target", "message", "topic", "selector"), EXPECTED)
def test_one_consumer_of_a_message(target, message, topic, selector):
    """One subscription, to the topic and with the selector that the target destination stands for."""
    consumer = Location(MESSAGES[message].receiver.role, 1)

    assert subscribed(uniform(target, IN, queue=False), message, consumer) == [(topic, selector)]


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
            f"{location}_{message[0].upper()}{message[1:]}Q" for location in vertical(1).at(step.receiver.role)
        ]
        assert {target.properties for target in found} == {()}
        assert subscribed(configuration, message, Location(step.receiver.role, 0))[0][1] == ""


@pytest.mark.parametrize(("target", "subscription_type"), COMBINATIONS)
def test_calls_for_offers(target, subscription_type):
    """The target destination's terms come first, joined by AND; OR is in parentheses exactly if there are any."""
    configuration = uniform(target, subscription_type, queue=False)
    topic, base = CALLS[target]
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


@pytest.mark.parametrize("subscription_type", [IN, OR, SET])
def test_a_supplier_of_one_family(subscription_type):
    """A list of one and a disjunction of one are the comparison alone."""
    configuration = uniform(MT, subscription_type, queue=False, topology="horizontal")

    assert subscribed(configuration, "callForOffers", Location(Role.SP, 0)) == [
        ("HQ_CallForOffersT", "TargetLocationID = 'HQ1' AND ProductFamily = 'PF1'")
    ]


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
