"""Agents: an engine that only looks up must come to the model's own counts."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.supply_chain.topologies import CONTROLLED, topologies
from workloads.supply_chain.agents import AgentDriver, EventHandler, SentMessage, agents
from workloads.supply_chain.characterization import by_location
from workloads.supply_chain.executions import Cast, Execution, assign, assignment_period, column, counts
from workloads.supply_chain.interactions import DeliveryOptions, Participant
from workloads.supply_chain.topology import Interaction, Location, Topology, horizontal, vertical
from workloads.throughput.flow import Destination


@dataclass(frozen=True)
class Frame:
    """A message on its way: what its header fields hold."""

    execution_id: int
    message: str
    parts: Cast
    sender: int
    destination: Destination
    body_bytes: int


class Engine:
    """Runs executions by the agents' tables alone, as the package's docstring tells an engine to."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.consumers: dict[Destination, list[EventHandler]] = defaultdict(list)
        self.drivers: list[AgentDriver] = []
        for agent in agents(topology):
            self.drivers += agent.drivers
            for handler in agent.handlers:
                for destination in handler.destinations if not handler.instance else ():
                    self.consumers[destination].append(handler)

    def run(
        self, driver: AgentDriver, number: int
    ) -> tuple[list[tuple[Location, Frame]], list[tuple[Location, Frame]]]:
        """What was sent and received, by whom, until the chain ended."""
        execution = driver.execution(number)
        parts, size = assign(self.topology, execution), column(self.topology, execution)
        sent: list[tuple[Location, Frame]] = []
        received: list[tuple[Location, Frame]] = []
        under_way: deque[Frame] = deque()

        def send(location: Location, message: SentMessage, before: Cast) -> None:
            destination = message.destinations[before[message.step.receiver]]
            frame = Frame(
                execution.id, message.step.message, before, location.index, destination, message.body_bytes[size]
            )
            sent.append((location, frame))
            under_way.append(frame)

        send(driver.location, driver.message, parts)
        while under_way:
            frame = under_way.popleft()
            for handler in self.consumers[frame.destination]:
                received.append((handler.location, frame))
                for answer in handler.answers:
                    if answer.only_from is None or frame.parts[answer.only_from] == frame.sender:
                        send(handler.location, answer.message, frame.parts)
        return sent, received


def check_chains(topology: Topology, most: int) -> None:
    """Each of the first executions of every driver has the messages that its id promises, all of one column."""
    engine = Engine(topology)
    for driver in engine.drivers:
        interaction = driver.message.step.interaction
        law = topology.interactions[interaction].size_law
        for number in range(most):
            sent, received = engine.run(driver, number)
            execution = Execution(interaction, driver.location.index, number)
            promised = counts(topology, execution)
            size = column(topology, execution)

            assert Counter(frame.message for _, frame in sent) == {name: one.sent for name, one in promised.items()}
            assert Counter(frame.message for _, frame in received) == {
                name: one.received for name, one in promised.items()
            }
            assert all(frame.body_bytes == law.body_bytes(frame.message)[size] for _, frame in sent)
            if interaction == 2:
                assert [location.index for location, frame in sent if frame.message == "pOrderConf"] == [
                    assign(topology, execution)[Participant.SP]
                ]


@pytest.mark.parametrize(
    "topology", [one for one in CONTROLLED if one.base < 100], ids=lambda one: f"{one.name}-{one.base}"
)
def test_look_ups_run_every_chain_to_its_end(topology):
    """Handlers that copy the cast and look up destinations send exactly what the execution's id says."""
    check_chains(topology, 5)


@given(topology=topologies())
def test_look_ups_run_every_chain_to_its_end_anywhere(topology):
    """The same in any topology, with any interactions switched on."""
    check_chains(topology, 3)


def check_rates(topology: Topology) -> None:
    """Over a period of casts every location sends and receives what the arithmetic says, to the last message."""
    engine = Engine(topology)
    observed: dict[tuple[str, Location], list[Fraction]] = defaultdict(lambda: [Fraction(), Fraction()])
    for driver in engine.drivers:
        period = assignment_period(topology, driver.message.step.interaction)
        for number in range(period):
            for place, frames in enumerate(engine.run(driver, number)):
                for location, frame in frames:
                    observed[frame.message, location][place] += driver.rate_per_s / period
    expected = {
        (row.step.message, row.location): [row.volume.sent_per_s, row.volume.received_per_s]
        for row in by_location(topology)
    }

    assert {key: rates for key, rates in observed.items() if any(rates)} == {
        key: rates for key, rates in expected.items() if any(rates)
    }


@pytest.mark.parametrize(
    "topology",
    [horizontal(1), horizontal(4), horizontal(7), horizontal(13), horizontal(21), vertical(1)],
    ids=lambda one: f"{one.name}-{one.base}",
)
def test_every_location_has_the_traffic_computed_for_it(topology):
    """chi of each location, simulated: dispatch and casts agree with the arithmetic exactly."""
    check_rates(topology)


@settings(max_examples=30)
@given(topology=topologies())
def test_every_location_has_the_traffic_computed_for_it_anywhere(topology):
    """The same in any topology."""
    check_rates(topology)


def test_statistics_leave_outside_the_transaction():
    """Table 1's T and NT: what is transacted of a handler's answers goes into its transaction, statistics do not."""
    handlers = {
        (str(handler.location), handler.step.message): handler
        for agent in agents(vertical(1))
        for handler in agent.handlers
    }
    at_departure = {answer.message.step.message: answer.in_transaction for answer in handlers["DC1", "shipDep"].answers}
    at_arrival = {answer.message.step.message: answer.in_transaction for answer in handlers["DC2", "pShipInfo"].answers}

    assert at_departure == {"statInfoOrderDC": False, "shipInfo": True}
    assert at_arrival == {"pShipConf": True, "statInfoShipDC": False}
    assert handlers["DC1", "shipDep"].transacted
    assert not handlers["HQ1", "statInfoSM"].transacted
    assert handlers["SM3", "priceUpdate"].durable
    assert not handlers["SM3", "creditCardHL"].durable
    assert not handlers["SM3", "orderConf"].durable


def test_a_handler_without_a_transaction_has_none_for_its_answers():
    """Where a freeform file takes the trigger's transaction away, answers cannot be in it."""
    topology = vertical(1)
    script = topology.interactions[1].script
    first = replace(script.steps[0], mode=DeliveryOptions(persistent=True, transacted=False))
    loosened = Interaction(
        replace(script, steps=(first, *script.steps[1:])),
        topology.interactions[1].rate_per_s,
        topology.interactions[1].size_law,
    )
    handler = next(
        handler
        for agent in agents(replace(topology, interactions={1: loosened}))
        for handler in agent.handlers
        if handler.step.message == "order"
    )

    assert not handler.transacted
    assert [answer.in_transaction for answer in handler.answers] == [False, False]


def test_a_supplier_hears_calls_for_all_its_families_in_one_handler():
    """Its handler holds the fifty subscriptions (section 3.1: every supplier subscribes to rho |families|)."""
    calls = [
        handler
        for agent in agents(vertical(1))
        for handler in agent.handlers
        if handler.step.message == "callForOffers"
    ]

    assert [len(handler.destinations) for handler in calls] == [50] * 5


@given(topology=topologies())
def test_numbers_of_handlers_and_drivers_are_those_listed(topology):
    """The arithmetic that refuses too many connections counts what is there."""
    listed = agents(topology)

    assert sum(len(agent.handlers) for agent in listed) == topology.handlers
    assert sum(len(agent.drivers) for agent in listed) == topology.drivers
    assert topology.connections == topology.handlers + topology.drivers


@given(topology=topologies(), window=st.integers(0, 20))
def test_drivers_are_staggered_evenly(topology, window):
    """The starts of an interaction at all its locations are evenly spaced, and at the rate of the whole system."""
    for number in topology.interactions:
        drivers = [
            driver
            for agent in agents(topology)
            for driver in agent.drivers
            if driver.message.step.interaction == number
        ]
        gap_ns = Fraction(10**9) / topology.started_per_s(number)
        due = sorted(driver.due_ns(window + place) for driver in drivers for place in range(3))

        assert sum(driver.rate_per_s for driver in drivers) == topology.started_per_s(number)
        assert due[0] == pytest.approx(gap_ns * (window * len(drivers) + Fraction(1, 2)), abs=1)
        assert all(abs(later - earlier - gap_ns) <= 1 for earlier, later in pairwise(due))
