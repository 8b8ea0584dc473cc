"""The model that load and audit ask: the messages of an execution, and who gets a copy of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import DataError
from tests.support.oracles import column, counts
from tests.support.records import rebuilt, through_json
from tests.workloads.supply_chain.topologies import CONTROLLED, own_topologies, topologies
from workloads.messaging import DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.workload import AddressKey
from workloads.specjms2007 import WORKLOAD
from workloads.supply_chain.interactions import DeliveryOptions
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Topology, horizontal, vertical


def drawn_execution(topology: Topology, number: int, data) -> Execution:
    interaction = data.draw(st.sampled_from(sorted(topology.interactions)))
    places = topology.locations[topology.interactions[interaction].starter.role]
    return Execution(interaction, data.draw(st.integers(0, places - 1)), number)


@settings(max_examples=60)
@given(topologies() | st.sampled_from(CONTROLLED), st.integers(0, 1000), st.data())
def test_an_execution_has_as_many_messages_as_the_tables_say(topology, number, data):
    """Messages of each type, copies for their audience, and sizes are those of the execution."""
    model, execution = SupplyChain(topology), drawn_execution(topology, number, data)
    found = model.expected(execution)
    promised = counts(topology, execution)
    sent, received = Counter(), Counter()
    for each in found:
        step = model.steps[each.address.step]
        sent[step.message] += 1
        received[step.message] += len(model.audience(each.address))
        assert each.body_bytes == step.body_bytes[column(topology, execution)]

    assert len(set(found)) == len(found)
    assert sent == {message: each.sent for message, each in promised.items()}
    assert received == {message: each.received for message, each in promised.items()}


@settings(max_examples=60)
@given(topologies() | st.sampled_from(CONTROLLED), st.integers(0, 1000), st.data())
def test_messages_repeat_after_a_period(topology, number, data):
    """But for their sizes."""
    model, execution = SupplyChain(topology), drawn_execution(topology, number, data)
    later = Execution(
        execution.interaction, execution.origin, number + model.interactions[execution.interaction].period
    )

    def without_sizes(of: Execution) -> list[tuple[AddressKey, int]]:
        return [(each.address, each.sender) for each in model.expected(of)]

    assert without_sizes(execution) == without_sizes(later)


@settings(max_examples=30)
@given(own_topologies())
def test_the_model_is_that_of_its_scenario(topology):
    """Addresses, copies and numbers of connections are those that the engine has."""
    model = SupplyChain(topology)
    scenario = model.scenario

    labels = [f"{model.party(address)} {model.steps[address.step].message}" for address in model.addresses]
    assert labels == [address.label for address in scenario.addresses]
    assert [step.message for step in model.steps] == list(scenario.steps)
    assert tuple(len(model.audience(address)) for address in model.addresses) == scenario.fan_out
    assert (model.handlers, model.connections) == (len(scenario.handlers), scenario.connections)
    assert len(set(model.addresses)) == len(model.addresses)
    heard = {
        (handler, address) for address in model.addresses for group in model.audience(address) for handler in group
    }
    assert heard == {(each.number, model.addresses[to]) for each in scenario.handlers for to in each.addresses}


def test_a_reply_depends_on_the_sender_where_the_tables_say_so():
    """A distribution centre orders upon the offer of the supplier that is assigned, and upon no other."""
    model, execution = SupplyChain(vertical(1)), Execution(2, 0, 7)
    names = [step.message for step in model.steps]
    offers = [each.sender for each in model.expected(execution) if names[each.address.step] == "offer"]
    (winner,) = {each.sender for each in model.expected(execution) if names[each.address.step] == "invoice"}

    assert winner in offers
    for sender in offers:
        replies = model.replies(execution, names.index("offer"), sender)
        assert [names[step] for step in replies] == (["pOrder"] if sender == winner else [])
    assert [names[step] for step in model.replies(execution, names.index("pShipInfo"), winner)] == [
        "pShipConf",
        "statInfoShipDC",
    ]


def test_places_have_names():
    """Of the receiving party, and of the location that starts an execution."""
    model = SupplyChain(vertical(1))
    names = [step.message for step in model.steps]

    assert model.party(AddressKey(names.index("order"), 1)) == "DC2"
    assert model.party(AddressKey(names.index("callForOffers"), 2)) == "PF3"
    assert model.party(AddressKey(names.index("priceUpdate"), 0)) == "HQ"
    assert model.origin(Execution(1, 4, 0)) == "SM5"
    assert dict(model.facts)["product families"] == "100, 50 of them at each supplier"


def test_only_whole_controlled_topologies_have_a_figure():
    """An interaction alone and a user's own are not as published, and say why there is no figure."""
    for whole in (vertical(3), horizontal(5)):
        assert (SupplyChain(whole).without_figure, SupplyChain(whole).published) == ("", True)
    assert SupplyChain(vertical(3).only(4)).without_figure == "1 of 7 interactions ran"
    assert not SupplyChain(vertical(3).only(4)).published


def with_modes(topology: Topology, kind: DestinationKind, mode: DeliveryOptions) -> Topology:
    """Interaction 4 alone, whose message has a single receiver, sent in this way."""
    topology = topology.only(4)
    interaction = topology.interactions[4]
    (step,) = interaction.script.steps
    script = replace(interaction.script, steps=(replace(step, configured_kind=kind, mode=mode),))
    return replace(topology, interactions={4: replace(interaction, script=script)})


@pytest.mark.parametrize(
    ("kind", "persistent", "durable", "kept"),
    [
        (DestinationKind.QUEUE, True, False, True),
        (DestinationKind.QUEUE, False, False, False),
        (DestinationKind.TOPIC, True, True, True),
        (DestinationKind.TOPIC, True, False, False),
        (DestinationKind.TOPIC, False, True, False),
    ],
)
def test_what_a_broker_promises_to_keep(kind, persistent, durable, kept):
    """Persistent messages of queues and of durable subscriptions to topics; not what is on a topic while nobody is."""
    model = SupplyChain(with_modes(vertical(1), kind, DeliveryOptions(persistent, transacted=False, durable=durable)))

    assert [(step.kind, step.kept) for step in model.steps] == [(kind, kept)]


def test_competing_handlers_are_those_of_queues():
    """Where the message goes to a topic, each location has one handler, however many share a queue."""
    topology = replace(vertical(1), handlers_per_queue=3)
    plain = DeliveryOptions(persistent=False, transacted=False)

    for kind, each in ((DestinationKind.QUEUE, 3), (DestinationKind.TOPIC, 1)):
        model = SupplyChain(with_modes(topology, kind, plain))
        assert model.handlers == len(model.scenario.handlers) == 10 * each
        assert set(model.scenario.fan_out) == {1}


def test_this_model_has_no_configuration():
    """A record with one is of another workload."""
    model = SupplyChain(vertical(1))

    assert model.configuration is None
    with pytest.raises(DataError, match="configuration: expected `null`"):
        rebuilt(WORKLOAD, through_json(model.record), {})
