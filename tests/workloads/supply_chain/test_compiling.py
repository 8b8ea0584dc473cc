"""The compiled rows: an engine that knows nothing but them must come to what an execution's id promises."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict, deque
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given, settings

from fixtures.load.scenario.loop import instants
from tests.workloads.supply_chain.topologies import CONTROLLED, own_topologies
from workloads.scenario.model import Driver, Handler, MessageSpec, Scenario
from workloads.supply_chain.agents import agents
from workloads.supply_chain.characterization import by_interaction
from workloads.supply_chain.compiling import compile_scenario
from workloads.supply_chain.executions import Execution, assign, assignment_period, column, counts
from workloads.supply_chain.interactions import MessageType, Participant
from workloads.supply_chain.topology import Location, Topology, horizontal, vertical
from workloads.throughput.flow import DestinationKind
from workloads.throughput.load_shape import ArrivalProcess


class Engine:
    """Walks chains by a scenario's rows alone; handlers that share a queue take turns."""

    def __init__(self, rows: Scenario) -> None:
        self.rows = rows
        self.consumers: dict[int, list[Handler]] = defaultdict(list)
        for handler in rows.handlers:
            for number in handler.subscriptions:
                self.consumers[number].append(handler)
        self.turns = Counter()

    def run(self, driver: Driver, start: int) -> tuple[list, list]:
        """(step, place, destination, bytes) sent, and (step, place, destination) received."""
        fields, size = driver.fields[start % len(driver.fields)], driver.column(start)
        sent, received = [], []
        under_way: deque[tuple[MessageSpec, int]] = deque()

        def send(producer: Handler | Driver, outgoing: MessageSpec) -> None:
            destination = outgoing.destinations[fields[outgoing.field]]
            sent.append((outgoing.step, producer.place, destination, outgoing.body_bytes[size]))
            under_way.append((outgoing, producer.sender))

        send(driver, driver.outgoing)
        while under_way:
            outgoing, sender = under_way.popleft()
            destination = outgoing.destinations[fields[outgoing.field]]
            for handler in self.takers(destination):
                received.append((handler.step, handler.place, destination))
                assert handler.step == outgoing.step
                for answer in handler.answers:
                    if answer.only_from is None or fields[answer.only_from] == sender:
                        send(handler, answer.outgoing)
        return sent, received

    def takers(self, destination: int) -> list[Handler]:
        consumers = self.consumers[destination]
        if self.rows.destinations[destination].kind is DestinationKind.TOPIC:
            return consumers
        self.turns[destination] += 1
        return [consumers[self.turns[destination] % len(consumers)]]


def receivers(topology: Topology, step: MessageType, execution: Execution) -> list[str]:
    """The locations that get a message, from the model alone."""
    index = assign(topology, execution)[step.receiver]
    if step.receiver is Participant.SUPPLIERS:
        return [str(Location(step.receiver.role, supplier)) for supplier in topology.suppliers_of[index]]
    if step.receiver is Participant.SUPERMARKETS:
        return [str(one) for one in topology.at(step.receiver.role)]
    return [str(Location(step.receiver.role, index))]


def check_chains(topology: Topology, most: int) -> None:
    rows = compile_scenario(topology)
    engine = Engine(rows)
    for driver in rows.drivers:
        for start in (*range(most), len(driver.fields) - 1, len(driver.fields)):
            execution = Execution.of(driver.execution(start))
            promised = counts(topology, execution)
            size = column(topology, execution)
            law = topology.interactions[execution.interaction].size_law
            sent, received = engine.run(driver, start)

            assert driver.column(start) == size
            assert Counter(rows.steps[step] for step, *_ in sent) == {name: one.sent for name, one in promised.items()}
            for step in topology.interactions[execution.interaction].script.steps:
                number = rows.steps.index(step.message)
                places = Counter(place for got, place, _ in received if got == number)
                copies = promised[step.message].sent
                assert places == dict.fromkeys(receivers(topology, step, execution), copies)
                assert {octets for got, *_, octets in sent if got == number} == {law.body_bytes(step.message)[size]}
                where = topology.destinations(step)[assign(topology, execution)[step.receiver]]
                assert {rows.destinations[place] for got, _, place, _ in sent if got == number} == {where}


@settings(max_examples=50)
@given(topology=own_topologies())
def test_chains_run_as_their_ids_promise(topology):
    """In any topology: messages per step, who gets them, where, and how large, also where handlers share a queue."""
    check_chains(topology, 2)


@pytest.mark.parametrize(
    "topology", [one for one in CONTROLLED if one.base < 100], ids=lambda one: f"{one.name}-{one.base}"
)
def test_chains_of_the_published_topologies_run_as_their_ids_promise(topology):
    """Small and odd BASEs too."""
    check_chains(topology, 3)


@given(topology=own_topologies())
def test_rows_are_those_of_the_agents(topology):
    """Handlers, drivers, modes and rates are the model's; nothing consumes twice, nothing is without a consumer."""
    rows = compile_scenario(topology)
    everybody = agents(topology)
    steps = {step.message: step for step in topology.steps}

    assert rows.steps == tuple(steps)
    assert [(one.place, rows.steps[one.step], one.transacted, one.durable) for one in rows.handlers] == [
        (str(agent.location), handler.step.message, handler.transacted, handler.durable)
        for agent in everybody
        for handler in agent.handlers
    ]
    assert [tuple(rows.destinations[number] for number in one.subscriptions) for one in rows.handlers] == [
        handler.destinations for agent in everybody for handler in agent.handlers
    ]
    assert [(one.place, one.rate_per_s, one.phase) for one in rows.drivers] == [
        (str(agent.location), float(driver.rate_per_s), float(driver.phase))
        for agent in everybody
        for driver in agent.drivers
    ]
    for producer in (*rows.handlers, *rows.drivers):
        outgoing = (
            [answer.outgoing for answer in producer.answers] if isinstance(producer, Handler) else [producer.outgoing]
        )
        for one in outgoing:
            mode = steps[rows.steps[one.step]].mode
            assert (one.persistent, one.transacted) == (mode.persistent, mode.transacted)
    consumed = {number for handler in rows.handlers for number in handler.subscriptions}
    assert consumed == set(range(len(rows.destinations)))
    assert all(len(handler.subscriptions) == len(set(handler.subscriptions)) for handler in rows.handlers)


@given(topology=own_topologies())
def test_rates_and_copies_give_the_traffic_computed(topology):
    """Starts per second, over their casts, times copies: the received rates computed, to a float's digits."""
    rows = compile_scenario(topology)
    received: Counter[str] = Counter()
    for driver in rows.drivers:
        places = (driver.outgoing.destinations[fields[driver.outgoing.field]] for fields in driver.fields)
        copies = Fraction(sum(rows.copies[place] for place in places), len(driver.fields))
        received[rows.steps[driver.outgoing.step]] += Fraction(driver.rate_per_s) * copies
    expected = {row.step.message: row.volume.received_per_s for row in by_interaction(topology) if not row.step.after}

    assert {step: float(rate) for step, rate in received.items()} == {
        step: pytest.approx(float(rate), rel=1e-12) for step, rate in expected.items()
    }


@settings(max_examples=30)
@given(topology=own_topologies())
def test_casts_stand_for_all_starts(topology):
    """Start k has the cast of start k modulo the number of rows, far beyond them too."""
    for driver in compile_scenario(topology).drivers:
        for start in (0, len(driver.fields) + 1, 10**9 + 7):
            execution = Execution.of(driver.execution(start))
            parts = assign(topology, execution)
            assert driver.fields[start % len(driver.fields)] == tuple(parts.get(party, 0) for party in Participant)
            assert len(driver.fields) == assignment_period(topology, execution.interaction)


def test_planned_instants_are_the_agents():
    """The rows hold rates as floats: ten thousand starts on they are still exact to the nanosecond."""
    topology = vertical(790)
    exact = [driver for agent in agents(topology) for driver in agent.drivers]

    for row, driver in zip(compile_scenario(topology).drivers, exact, strict=True):
        planned = list(islice(instants(row, ArrivalProcess.CONSTANT, 0, 0), 10**4))
        for start in (0, 1, 999, 10**4 - 1):
            assert abs(planned[start] - driver.due_ns(start)) <= 1


def test_rows_go_to_other_processes():
    """A scenario is pickled for every worker, also a large one: in seconds and some megabytes."""
    rows = compile_scenario(horizontal(100))
    packed = pickle.dumps(rows)

    assert pickle.loads(packed) == rows
    assert len(packed) < 4_000_000
