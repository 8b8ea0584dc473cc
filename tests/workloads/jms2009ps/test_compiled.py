"""The model for load and audit: addresses as in the supply chain, destinations and selectors as configured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.jms2009ps.configurations import BASES, configurations, uniform
from workloads.errors import WorkloadError
from workloads.jms2009ps.compiled import ConfiguredSupplyChain, check_selectors
from workloads.jms2009ps.digests import configuration_digest
from workloads.jms2009ps.figures import count
from workloads.jms2009ps.parameters import DEFAULTS, MESSAGES, Configuration, SubscriptionType, TargetDestination
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.messaging import DestinationKind
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import vertical

FIRST, SECOND, THIRD = (ConfiguredSupplyChain.configured(SCENARIOS[number], 5) for number in (1, 2, 3))


def test_the_first_scenario_is_the_supply_chain():
    """The same handlers, drivers, addresses and kinds of destinations; only names of destinations are its own."""
    published, own = SupplyChain(vertical(5)).scenario, FIRST.scenario

    assert (own.drivers, own.handlers, own.addresses) == (published.drivers, published.handlers, published.addresses)
    assert [each.kind for each in own.destinations] == [each.kind for each in published.destinations]


@pytest.mark.parametrize("model", [SECOND, THIRD], ids=["second", "third"])
def test_scenarios_differ_only_in_how_messages_travel(model):
    """Who sends what to whom, in transactions or not, at which rate and size is the same in all three."""
    assert model.scenario.drivers == FIRST.scenario.drivers
    assert [address.label for address in model.scenario.addresses] == [one.label for one in FIRST.scenario.addresses]
    for own, first in zip(model.scenario.handlers, FIRST.scenario.handlers, strict=True):
        assert replace(own, subscriptions=(), durable=False) == replace(first, subscriptions=(), durable=False)
    assert model.sent_per_s == FIRST.sent_per_s
    assert (model.handlers, model.connections) == (91, 126)


@settings(max_examples=12)
@given(configuration=configurations(), base=st.sampled_from(BASES))
def test_what_any_configuration_amounts_to(configuration, base):
    """Destinations, consumers and filters follow from the numbers of locations, by message, and are the scenario's; a
    message is received by what passes it: on a queue once, on a topic by each subscription that does not reject it."""
    model = ConfiguredSupplyChain.configured(configuration, base)
    scenario, topology, found = model.scenario, model.topology, count(model)
    queues, topics = found.of_kind(DestinationKind.QUEUE), found.of_kind(DestinationKind.TOPIC)
    places = {step.message: topology.locations[step.receiver.role] for step in MESSAGES.values()}
    on_topic = {message: row for message, row in configuration.parameters.items() if not row.queue}
    several = on_topic["callForOffers"].subscription_type in (SubscriptionType.SET, SubscriptionType.TOPIC)
    each = {"callForOffers": topology.families_per_supplier if several else 1}
    subscribed = {message: places[message] * each.get(message, 1) for message in on_topic}
    unfiltered = [
        message
        for message, row in on_topic.items()
        if row.target_destination is TargetDestination.LOCATION_ID_AND_MESSAGE_TYPE
        and row.subscription_type in (None, SubscriptionType.TOPIC)
    ]

    assert len(queues) == sum(places[message] for message in MESSAGES if message not in on_topic)
    assert sum(row.subscriptions for row in queues) == configuration.handlers_per_queue * len(queues)
    assert sum(row.subscriptions for row in topics) == sum(subscribed.values())
    assert sum(row.filters for row in topics) == sum(subscribed.values()) - sum(map(subscribed.get, unfiltered))
    assert sum(row.filters for row in queues) == 0
    assert model.handlers == sum(row.subscriptions for row in queues) + sum(map(places.get, on_topic))
    assert [row.destination for row in found.destinations] == list(scenario.destinations)

    rejected_per_s = sum(rate * each for rate, each in zip(model.address_rates_per_s, scenario.rejections, strict=True))
    assert rejected_per_s == found.filters.rejected_per_s
    assert sum(row.sent_per_s for row in found.destinations) == found.sent_per_s
    assert sum(row.filters * row.sent_per_s for row in found.destinations) == found.filters.evaluated_per_s
    copies_per_s = sum(row.sent_per_s * row.subscriptions for row in topics) + sum(row.sent_per_s for row in queues)
    assert copies_per_s - rejected_per_s == found.received_per_s
    assert found.filters.terms_per_s >= found.filters.evaluated_per_s
    assert found.filters.unmatched_durable_per_s <= rejected_per_s


def test_the_digest_is_that_of_the_values():
    """The name of a configuration is no part of it, any of its values is."""
    configuration = SCENARIOS[2]
    other = replace(configuration.parameters["order"], transactional=False)

    assert configuration_digest(replace(configuration, name="other")) == configuration_digest(configuration)
    for changed in (
        replace(configuration, parameters={**configuration.parameters, "order": other}),
        replace(configuration, topology="horizontal"),
        replace(SCENARIOS[1], handlers_per_queue=2),
    ):
        assert configuration_digest(changed) not in map(configuration_digest, SCENARIOS.values())


def broken(scenario, change):
    """The scenario with the subscriptions of its first handler changed."""
    first, *others = scenario.handlers
    return replace(scenario, handlers=(replace(first, subscriptions=change(first.subscriptions)), *others))


@pytest.mark.parametrize(
    "change",
    [
        lambda subscriptions: (replace(subscriptions[0], selector=None),),
        lambda subscriptions: subscriptions * 2,
        lambda subscriptions: (),
        lambda subscriptions: (replace(subscriptions[0], selector="MessageType = 'nothing'"),),
    ],
    ids=["no selector", "twice", "not at all", "another selector"],
)
def test_wrong_selectors_are_found_when_compiling(change):
    """A handler that would get a message of another, or one twice, or not at all, is named with the address."""
    with pytest.raises(WorkloadError, match=r"scenario_3, vertical, BASE 5: \S+ \w+: subscriptions of the handlers"):
        check_selectors(broken(THIRD.scenario, change))
    check_selectors(THIRD.scenario)


def test_headers_of_a_message():
    """Messages to an address have the properties that its target destination asks for, and calls their family."""
    model = ConfiguredSupplyChain.configured(uniform(TargetDestination.CENTRAL, SubscriptionType.SET, queue=False), 1)
    by_label = {address.label: dict(address.properties) for address in model.scenario.addresses}
    to_all = {"LocationType": "HQ", "TargetLocationID": "HQ1"}

    assert by_label["DC2 order"] == {"LocationType": "DC", "TargetLocationID": "DC2", "MessageType": "order"}
    assert by_label["HQ priceUpdate"] == to_all | {"MessageType": "priceUpdate"}
    assert by_label["PF7 callForOffers"] == to_all | {"MessageType": "callForOffers", "ProductFamily": "PF7"}


def test_what_is_published():
    """The scenarios are; what else a file says is not."""
    other = Configuration("own", DEFAULTS | {"order": replace(DEFAULTS["order"], persistent=False)})

    assert [model.published for model in (FIRST, SECOND, THIRD)] == [True] * 3
    assert not ConfiguredSupplyChain.configured(other, 5).published
    assert dict(SECOND.facts)["configuration"].startswith("scenario_2, digest ")
