"""The model of a topology: its handlers and drivers are the tables' rows; what it says of itself for display."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given

from fixtures.load.scenario.loop import instants
from tests.workloads.supply_chain.topologies import own_topologies
from workloads.arrivals import ArrivalProcess
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.workload import AddressKey
from workloads.supply_chain import digests
from workloads.supply_chain.interactions import DeliveryOptions, Participant
from workloads.supply_chain.sizes import SizeDistribution
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Location, Topology, horizontal, vertical

VERTICAL = SupplyChain(vertical(1))
NAMES = [step.message for step in VERTICAL.steps]


@given(topology=own_topologies())
def test_rows_are_those_of_the_tables(topology):
    """Handlers and drivers are those of the locations; each handler subscribes to what its location consumes."""
    rows = SupplyChain(topology).scenario
    steps = {step.message: step for step in topology.steps}

    def destinations(step):
        names = topology.names_of(step.receiver)
        return [Destination(step.kind, f"bench.workload.{name}.{step.message}") for name in names]

    def consumed(step, place):
        if step.receiver is Participant.SUPPLIERS:
            return topology.families_of[place]
        return (0,) if step.receiver is Participant.SUPERMARKETS else (place,)

    assert list(rows.destinations) == [each for step in topology.steps for each in destinations(step)]
    assert Counter((each.place, rows.steps[each.step]) for each in rows.handlers) == {
        (str(location), step.message): 1 if step.receiver.plural else topology.handlers_per_queue
        for step in topology.steps
        for location in topology.at(step.receiver.role)
    }
    for handler in rows.handlers:
        step = steps[rows.steps[handler.step]]
        assert handler.place == str(Location(step.receiver.role, handler.sender))
        assert [rows.destinations[each.destination] for each in handler.subscriptions] == [
            destinations(step)[index] for index in consumed(step, handler.sender)
        ]
        assert [rows.addresses[number].destination for number in handler.addresses] == [
            each.destination for each in handler.subscriptions
        ]
    assert Counter((driver.place, rows.steps[driver.outgoing.step], driver.rate_per_s) for driver in rows.drivers) == {
        (
            str(location),
            interaction.script.steps[0].message,
            float(topology.started_per_s(number) / topology.locations[location.role]),
        ): 1
        for number, interaction in topology.interactions.items()
        for location in topology.at(interaction.starter.role)
    }
    assert {number for handler in rows.handlers for number in handler.addresses} == set(range(len(rows.addresses)))
    assert not rows.filtered
    assert set(rows.rejections) == {0}
    assert {address.properties for address in rows.addresses} == {()}


def test_statistics_leave_outside_the_transaction():
    """Table 1's T and NT: what is transacted of a handler's answers goes into its transaction, statistics do not."""
    handlers = {(handler.place, NAMES[handler.step]): handler for handler in VERTICAL.scenario.handlers}

    def transacted(place: str, message: str) -> dict[str, bool]:
        answers = handlers[place, message].answers
        return {NAMES[answer.outgoing.step]: answer.outgoing.transacted for answer in answers}

    assert transacted("DC1", "shipDep") == {"statInfoOrderDC": False, "shipInfo": True}
    assert transacted("DC2", "pShipInfo") == {"pShipConf": True, "statInfoShipDC": False}
    assert handlers["DC1", "shipDep"].transacted
    assert not handlers["HQ1", "statInfoSM"].transacted
    assert [handlers["SM3", name].durable for name in ("priceUpdate", "creditCardHL", "orderConf")] == [
        True,
        False,
        False,
    ]
    assert [len(handlers[f"SP{number}", "callForOffers"].subscriptions) for number in range(1, 6)] == [50] * 5


def test_planned_instants_are_exact():
    """The rows hold rates as floats: ten thousand starts on they are still exact to the nanosecond."""
    topology = vertical(790)
    for row in SupplyChain(topology).scenario.drivers:
        interaction = Execution.of(row.first_execution).interaction
        places = topology.locations[topology.interactions[interaction].starter.role]
        rate_per_s = topology.started_per_s(interaction) / places
        phase = Fraction(2 * row.sender + 1, 2 * places)
        planned = list(islice(instants(row, ArrivalProcess.CONSTANT, 0, 0), 10**4))
        for start in (0, 1, 999, 10**4 - 1):
            assert abs(planned[start] - round((start + phase) / rate_per_s * 10**9)) <= 1


def test_a_large_scenario_goes_to_other_processes():
    """It is pickled for every worker: some megabytes."""
    assert len(pickle.dumps(SupplyChain(horizontal(100)).scenario)) < 4_000_000


def test_places_have_names():
    """Of the receiving party, and of the location that starts an execution."""
    parties = [AddressKey(NAMES.index("order"), 1), AddressKey(NAMES.index("callForOffers"), 2)]

    assert list(map(VERTICAL.party, parties)) == ["DC2", "PF3"]
    assert VERTICAL.party(AddressKey(NAMES.index("priceUpdate"), 0)) == "HQ"
    assert VERTICAL.origin(Execution(1, 4, 0)) == "SM5"
    assert dict(VERTICAL.facts)["product families"] == "100, 50 of them at each supplier"


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
    """What is persistent, on queues and for durable subscriptions to topics; handlers compete for queues only."""
    mode = DeliveryOptions(persistent, transacted=False, durable=durable)
    model = SupplyChain(with_modes(vertical(1, handlers_per_queue=3), kind, mode))

    assert [(step.kind, step.kept) for step in model.steps] == [(kind, kept)]
    assert model.handlers == len(model.scenario.handlers) == (30 if kind is DestinationKind.QUEUE else 10)
    assert set(model.scenario.fan_out) == {1}


def test_the_digest_is_that_of_the_model(monkeypatch):
    """It is the same in every process, and another one when any of the tables says something else."""
    published = digests.digest()
    assert len(published) == 64

    for table, key, value in (
        ("SIZE_DISTRIBUTIONS", 1, SizeDistribution(x=(5, 100, 701))),
        ("VERTICAL_PER_S", 1, Fraction(1)),
        ("HORIZONTAL_PER_S", 1, Fraction(1)),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(digests, table, {**getattr(digests, table), key: value})
            assert digests.digest() != published
    assert digests.digest() == published
