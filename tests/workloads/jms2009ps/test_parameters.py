"""The parameters by message, and the scenarios of the paper."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from workloads.errors import WorkloadError
from workloads.jms2009ps.parameters import (
    DEFAULTS,
    MESSAGES,
    PARAMETER_COUNTS,
    PARAMETERS,
    Configuration,
    MessageParameters,
    SubscriptionType,
    TargetDestination,
)
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.supply_chain.topology import horizontal, vertical

#: Messages that several locations receive.
TO_MANY = {"callForOffers", "priceUpdate", "productAnnouncement", "creditCardHL"}
#: Sent outside transactions and not persistent, as in Table 1 of Sachs et al. 2009.
PLAIN = {"statInfoOrderDC", "statInfoShipDC", "statInfoSM", "productAnnouncement", "creditCardHL"}


def test_there_are_92_parameters():
    """Of 19 messages; a queue where there is one consumer, a subscription type for calls for offers."""
    assert len(MESSAGES) == 19
    assert PARAMETER_COUNTS == {"T": 19, "P": 19, "D": 19, "Q": 15, "TD": 19, "ST": 1}
    assert sum(PARAMETER_COUNTS.values()) == 92
    assert [field.name for field in fields(MessageParameters)] == list(PARAMETERS)


def test_defaults_are_those_of_specjms2007():
    """Safe messages are durable on a topic as well, each single consumer has a queue, each product family a topic."""
    assert {
        message: MessageParameters(
            transactional=message not in PLAIN,
            persistent=message not in PLAIN,
            durable=message not in PLAIN,
            queue=None if message in TO_MANY else True,
            target_destination=TargetDestination.LOCATION_ID_AND_MESSAGE_TYPE,
            subscription_type=SubscriptionType.TOPIC if message == "callForOffers" else None,
        )
        for message in MESSAGES
    } == DEFAULTS


@pytest.mark.parametrize(("number", "target"), [(2, TargetDestination.MESSAGE_TYPE), (3, TargetDestination.CENTRAL)])
def test_scenarios_of_topics(number, target):
    """The second and the third have no queues; everything else but the topics is as in the first."""
    for message, parameters in SCENARIOS[number].parameters.items():
        first = SCENARIOS[1].parameters[message]
        assert parameters == replace(
            first,
            queue=None if message in TO_MANY else False,
            target_destination=target,
            subscription_type=SubscriptionType.IN if message == "callForOffers" else None,
        )


@pytest.mark.parametrize("topology", [vertical, horizontal])
def test_the_first_scenario_is_specjms2007(topology):
    """Locations, rates, sizes and delivery of all messages are those of the supply chain as published."""
    assert replace(SCENARIOS[1], topology=topology.__name__).at(7) == topology(7)


def test_delivery_follows_the_parameters():
    """Persistence, transactions and durability of each message are those of its values; a queue is never durable."""
    order = replace(DEFAULTS["order"], transactional=False, queue=False)
    steps = {step.message: step for step in Configuration("own", DEFAULTS | {"order": order}).at(1).steps}

    assert (steps["order"].mode.persistent, steps["order"].mode.transacted, steps["order"].mode.durable) == (
        True,
        False,
        True,
    )
    assert steps["orderConf"].mode.durable is False


WITH_QUEUE = replace(DEFAULTS["priceUpdate"], queue=True)
WITHOUT_QUEUE = replace(DEFAULTS["order"], queue=None)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"topology": "freeform"}, "own: topology: expected horizontal or vertical, got 'freeform'"),
        ({"parameters": {"order": DEFAULTS["order"]}}, "own: expected values for order, orderConf, "),
        ({"parameters": DEFAULTS | {"priceUpdate": WITH_QUEUE}}, "own: priceUpdate: queue: expected none, got True"),
        ({"parameters": DEFAULTS | {"order": WITHOUT_QUEUE}}, "own: order: queue: expected true or false, got None"),
        (
            {"parameters": SCENARIOS[2].parameters, "handlers_per_queue": 2},
            "own: handlers_per_queue: expected 1, as no message has a queue that several could share, got 2",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(values, why):
    """Values that are missing or too many, another topology, several consumers without a queue."""
    with pytest.raises(WorkloadError) as refused:
        Configuration(**{"name": "own", "parameters": DEFAULTS} | values)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize("target", list(TargetDestination)[1:])
def test_a_topic_per_family_belongs_to_one_target_destination(target):
    """Elsewhere the topics are those of the target destination, of which a family is no part."""
    with pytest.raises(WorkloadError, match=f'subscription_type: expected "IN", "OR" or "SET" with .* "{target}"'):
        replace(DEFAULTS["callForOffers"], target_destination=target)
