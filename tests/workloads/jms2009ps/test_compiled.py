"""The model for load and audit: addresses as in the supply chain, destinations and selectors as configured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import DataError
from tests.support.records import rebuilt, through_json
from tests.workloads.jms2009ps.configurations import BASES, configurations, uniform
from workloads.errors import WorkloadError
from workloads.jms2009ps import WORKLOAD
from workloads.jms2009ps.compiled import ConfiguredSupplyChain, check_selectors
from workloads.jms2009ps.configuration_record import configuration_digest
from workloads.jms2009ps.figures import count
from workloads.jms2009ps.parameters import DEFAULTS, MESSAGES, Configuration, SubscriptionType, TargetDestination
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.messaging import DestinationKind
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import vertical

SECOND, THIRD = (ConfiguredSupplyChain.configured(SCENARIOS[number], 5) for number in (2, 3))
FIRST = ConfiguredSupplyChain.configured(SCENARIOS[1], 5)


def test_the_first_scenario_is_the_supply_chain():
    """The same handlers, drivers, addresses and kinds of destinations; only names of destinations are its own."""
    published, own = SupplyChain(vertical(5)).scenario, FIRST.scenario

    assert own.drivers == published.drivers
    assert [replace(address, properties=()) for address in own.addresses] == list(published.addresses)
    assert {address.properties for address in own.addresses} == {()}
    assert own.handlers == published.handlers
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


@settings(deadline=None, max_examples=30)
@given(configuration=configurations(), base=st.sampled_from(BASES))
def test_any_configuration_compiles(configuration, base):
    """Selectors pass each message to its cast alone, which compiling checks; destinations are those that the figures
    count, and the copies that filters reject are those of the figures."""
    model = ConfiguredSupplyChain.configured(configuration, base)
    scenario, found = model.scenario, count(configuration, model.topology)

    assert [row.destination for row in found.destinations] == list(scenario.destinations)
    filters = [0] * len(scenario.destinations)
    for handler in scenario.handlers:
        for each in handler.subscriptions:
            filters[each.destination] += each.selector is not None
    assert filters == [row.filters for row in found.destinations]
    rates_per_s = model.address_rates_per_s
    rejected_per_s = sum(rate * number for rate, number in zip(rates_per_s, scenario.rejections, strict=True))
    assert rejected_per_s == found.filters.rejected_per_s
    assert len(scenario.handlers) == model.handlers
    assert scenario.fan_out == tuple(len(model.audience(address)) for address in model.addresses)


@settings(deadline=None, max_examples=20)
@given(configuration=configurations(), base=st.sampled_from(BASES))
def test_a_model_comes_back_from_json(configuration, base):
    """All values are in the two entries of plan.json, and the digest tells two configurations apart."""
    model = ConfiguredSupplyChain.configured(configuration, base)
    topology, values = through_json(model.record), through_json(model.configuration)

    assert rebuilt(WORKLOAD, topology, values) == model
    assert configuration_digest(replace(configuration, name="other")) == values["digest"]
    order = replace(
        configuration.parameters["order"], transactional=not configuration.parameters["order"].transactional
    )
    other = replace(configuration, parameters=dict(configuration.parameters) | {"order": order})
    assert configuration_digest(other) != values["digest"]


#: A change of the JSON of the second scenario, and how it is refused.
WRONG = {
    "no object": (lambda _: [], "configuration: expected `object`, got `array`"),
    "a key too few": (lambda record: record.pop("digest"), "configuration: digest is missing"),
    "a wrong digest": (lambda record: record.update(digest="0"), r"configuration.digest: expected the digest of"),
    "a wrong name": (lambda record: record.update(name=3), "configuration: name: expected `str`, got `int`"),
    "a wrong number": (
        lambda record: record.update(handlers_per_queue=True),
        "configuration: handlers_per_queue: expected `int`, got `bool`",
    ),
    "a wrong topology": (
        lambda record: record.update(topology="diagonal"),
        "scenario_2: topology: expected horizontal or vertical, got 'diagonal'",
    ),
    "a wrong value": (
        lambda record: record["parameters"]["order"].update(target_destination="central"),
        r"configuration: parameters\[\"order\"\].target_destination: invalid enum value 'central', expected one of ",
    ),
    "a missing value": (
        lambda record: record["parameters"]["order"].update(queue=None),
        "scenario_2: order: .*queue",
    ),
    "a value too many": (
        lambda record: record["parameters"]["priceUpdate"].update(queue=False),
        "scenario_2: priceUpdate: .*queue",
    ),
    "a message too few": (
        lambda record: record["parameters"].pop("order"),
        "scenario_2: .*order",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_json_is_refused(name):
    """What was not written by this suite is refused with its place."""
    change, why = WRONG[name]
    record = through_json(SECOND.configuration)
    changed = change(record)

    with pytest.raises((DataError, WorkloadError), match=why):
        rebuilt(WORKLOAD, through_json(SECOND.record), changed if name == "no object" else record)


def test_a_topology_of_another_configuration_is_refused():
    """The two entries of plan.json belong together."""
    with pytest.raises(WorkloadError, match="topology: expected that of configuration scenario_2 at its BASE"):
        rebuilt(WORKLOAD, vertical_json(), through_json(SECOND.configuration))


def vertical_json():
    """A topology with a message that no configuration of these delivers like this."""
    parameters = dict(SCENARIOS[2].parameters)
    parameters["order"] = replace(parameters["order"], persistent=False)
    return through_json(ConfiguredSupplyChain.configured(Configuration("own", parameters), 5).record)


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

    assert by_label["DC2 order"] == {"LocationType": "DC", "TargetLocationID": "DC2", "MessageType": "order"}
    assert by_label["HQ priceUpdate"] == {
        "LocationType": "HQ",
        "TargetLocationID": "HQ1",
        "MessageType": "priceUpdate",
    }
    assert by_label["PF7 callForOffers"] == {
        "LocationType": "HQ",
        "TargetLocationID": "HQ1",
        "MessageType": "callForOffers",
        "ProductFamily": "PF7",
    }


def test_several_consumers_compete_for_queues_only():
    """Each queue has several handlers, each subscription to a topic one."""
    model = ConfiguredSupplyChain.configured(replace(SCENARIOS[1], handlers_per_queue=3), 1)
    kinds = [model.scenario.destinations[each.destination].kind for each in model.scenario.addresses]
    groups = {kind: set() for kind in DestinationKind}
    for kind, address in zip(kinds, model.addresses, strict=True):
        groups[kind] |= {len(group) for group in model.audience(address)}

    assert (groups[DestinationKind.QUEUE], groups[DestinationKind.TOPIC]) == ({3}, {1})


def test_what_is_published():
    """The scenarios are; what else a file says is not."""
    other = Configuration("own", DEFAULTS | {"order": replace(DEFAULTS["order"], persistent=False)})

    assert [model.published for model in (FIRST, SECOND, THIRD)] == [True] * 3
    assert not ConfiguredSupplyChain.configured(other, 5).published
    assert dict(SECOND.facts)["configuration"].startswith("scenario_2, digest ")
    assert len(SECOND.steps) == len(MESSAGES)
