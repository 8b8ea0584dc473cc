"""The compiled rows: an engine that knows nothing but them must come to what an execution's id promises."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict, deque
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings

from fixtures.load.scenario.loop import instants
from tests.support.oracles import column, counts
from tests.workloads.supply_chain.topologies import CONTROLLED, own_topologies, topologies
from workloads.arrivals import ArrivalProcess
from workloads.messaging import DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.message import MessageSpec
from workloads.scenario.model import Driver, Handler, Scenario
from workloads.supply_chain.characterization import by_interaction, by_location
from workloads.supply_chain.compiling import compile_scenario
from workloads.supply_chain.executions import assign, assignment_period
from workloads.supply_chain.interactions import DeliveryOptions, MessageType, Participant, Role
from workloads.supply_chain.topology import Interaction, Location, Topology, horizontal, vertical


class Engine:
    """Walks chains by a scenario's rows alone; handlers that share a queue take turns."""

    def __init__(self, rows: Scenario) -> None:
        self.rows = rows
        self.consumers: dict[int, list[Handler]] = defaultdict(list)
        for handler in rows.handlers:
            for number in handler.addresses:
                self.consumers[number].append(handler)
        self.turns = Counter()

    def run(self, driver: Driver, start: int) -> tuple[list, list]:
        """(step, place, address, bytes) sent, and (step, place, address) received."""
        fields, size = driver.fields[start % len(driver.fields)], driver.column(start)
        sent, received = [], []
        under_way: deque[tuple[MessageSpec, int]] = deque()

        def send(producer: Handler | Driver, outgoing: MessageSpec) -> None:
            address = outgoing.addresses[fields[outgoing.field]]
            sent.append((outgoing.step, producer.place, address, outgoing.body_bytes[size]))
            under_way.append((outgoing, producer.sender))

        send(driver, driver.outgoing)
        while under_way:
            outgoing, sender = under_way.popleft()
            address = outgoing.addresses[fields[outgoing.field]]
            for handler in self.takers(address):
                received.append((handler.step, handler.place, address))
                assert handler.step == outgoing.step
                for answer in handler.answers:
                    if answer.only_from is None or fields[answer.only_from] == sender:
                        send(handler, answer.outgoing)
        return sent, received

    def takers(self, address: int) -> list[Handler]:
        consumers = self.consumers[address]
        if self.rows.destinations[self.rows.addresses[address].destination].kind is DestinationKind.TOPIC:
            return consumers
        self.turns[address] += 1
        return [consumers[self.turns[address] % len(consumers)]]


def receivers(topology: Topology, step: MessageType, execution: Execution) -> list[str]:
    """The locations that get a message, from the model alone."""
    index = assign(topology, execution)[step.receiver]
    if step.receiver is Participant.SUPPLIERS:
        return [str(Location(step.receiver.role, supplier)) for supplier in topology.suppliers_of[index]]
    if step.receiver is Participant.SUPERMARKETS:
        return [str(each) for each in topology.at(step.receiver.role)]
    return [str(Location(step.receiver.role, index))]


def check_chains(topology: Topology, most: int) -> None:
    rows = compile_scenario(topology)
    engine = Engine(rows)
    for driver in rows.drivers:
        for start in (*range(most), len(driver.fields) - 1, len(driver.fields)):
            execution = Execution.of(driver.execution(start))
            promised = counts(topology, execution)
            size = column(topology, execution)
            sizes = topology.interactions[execution.interaction].size_distribution
            sent, received = engine.run(driver, start)

            assert driver.column(start) == size
            assert Counter(rows.steps[step] for step, *_ in sent) == {
                name: each.sent for name, each in promised.items()
            }
            for step in topology.interactions[execution.interaction].script.steps:
                number = rows.steps.index(step.message)
                places = Counter(place for got, place, _ in received if got == number)
                copies = promised[step.message].sent
                assert places == dict.fromkeys(receivers(topology, step, execution), copies)
                assert {octets for got, *_, octets in sent if got == number} == {sizes.body_bytes(step.message)[size]}
                where = topology.destinations(step)[assign(topology, execution)[step.receiver]]
                found = {rows.addresses[place].destination for got, _, place, _ in sent if got == number}
                assert {rows.destinations[place] for place in found} == {where}


@settings(max_examples=50)
@given(topology=own_topologies())
def test_chains_run_as_their_ids_promise(topology):
    """In any topology: messages per step, who gets them, where, and how large, also where handlers share a queue."""
    check_chains(topology, 2)


@pytest.mark.parametrize(
    "topology", [each for each in CONTROLLED if each.base < 100], ids=lambda one: f"{one.name}-{one.base}"
)
def test_chains_of_the_published_topologies_run_as_their_ids_promise(topology):
    """Small and odd BASEs too."""
    check_chains(topology, 3)


@given(topology=own_topologies())
def test_rows_are_those_of_the_tables(topology):
    """Handlers, drivers, modes and rates are the model's; nothing consumes twice, nothing is without a consumer."""
    rows = compile_scenario(topology)
    steps = {step.message: step for step in topology.steps}

    assert rows.steps == tuple(steps)
    assert Counter((each.place, rows.steps[each.step]) for each in rows.handlers) == {
        (str(location), step.message): 1 if step.receiver.plural else topology.handlers_per_queue
        for step in topology.steps
        for location in topology.at(step.receiver.role)
    }
    for another in rows.handlers:
        step = steps[rows.steps[another.step]]
        location = Location(step.receiver.role, another.sender)
        consumed = [topology.destinations(step)[index] for index in topology.consumed(step, location)]
        assert (another.place, another.transacted, another.durable) == (
            str(location),
            step.mode.transacted,
            step.mode.durable,
        )
        assert [rows.destinations[each.destination] for each in another.subscriptions] == consumed
        assert [rows.addresses[number].destination for number in another.addresses] == [
            each.destination for each in another.subscriptions
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
    assert (len(rows.handlers), len(rows.drivers)) == (topology.handlers, topology.drivers)
    assert rows.connections == topology.connections
    for producer in (*rows.handlers, *rows.drivers):
        outgoing = (
            [answer.outgoing for answer in producer.answers] if isinstance(producer, Handler) else [producer.outgoing]
        )
        for each in outgoing:
            mode = steps[rows.steps[each.step]].mode
            assert (each.persistent, each.transacted) == (mode.persistent, mode.transacted)
    consumed = {number for handler in rows.handlers for number in handler.addresses}
    assert consumed == set(range(len(rows.addresses))) == set(range(len(rows.destinations)))
    assert all(len(handler.addresses) == len(set(handler.addresses)) for handler in rows.handlers)
    assert not rows.filtered
    assert set(rows.rejections) == {0}
    assert {address.properties for address in rows.addresses} == {()}


def check_rates(topology: Topology) -> None:
    """Over a period every location sends and receives what the arithmetic says, to the last message."""
    rows = compile_scenario(topology)
    engine = Engine(rows)
    observed: dict[tuple[str, str], list[Fraction]] = defaultdict(lambda: [Fraction(), Fraction()])
    for driver in rows.drivers:
        interaction = Execution.of(driver.first_execution).interaction
        starters = topology.locations[topology.interactions[interaction].starter.role]
        each = topology.started_per_s(interaction) / starters / len(driver.fields)
        for start in range(len(driver.fields)):
            for way, messages in enumerate(engine.run(driver, start)):
                for step, place, *_ in messages:
                    observed[rows.steps[step], place][way] += each
    expected = {
        (row.step.message, str(row.location)): [row.volume.sent_per_s, row.volume.received_per_s]
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
    """chi of each location, simulated: dispatch and assignments agree with the arithmetic exactly."""
    check_rates(topology)


@settings(max_examples=30)
@given(topology=topologies())
def test_every_location_has_the_traffic_computed_for_it_anywhere(topology):
    """The same in any topology."""
    check_rates(topology)


def test_statistics_leave_outside_the_transaction():
    """Table 1's T and NT: what is transacted of a handler's answers goes into its transaction, statistics do not."""
    rows = compile_scenario(vertical(1))
    handlers = {(handler.place, rows.steps[handler.step]): handler for handler in rows.handlers}

    def transacted(place: str, message: str) -> dict[str, bool]:
        answers = handlers[place, message].answers
        return {rows.steps[answer.outgoing.step]: answer.outgoing.transacted for answer in answers}

    assert transacted("DC1", "shipDep") == {"statInfoOrderDC": False, "shipInfo": True}
    assert transacted("DC2", "pShipInfo") == {"pShipConf": True, "statInfoShipDC": False}
    assert handlers["DC1", "shipDep"].transacted
    assert not handlers["HQ1", "statInfoSM"].transacted
    assert handlers["SM3", "priceUpdate"].durable
    assert not handlers["SM3", "creditCardHL"].durable
    assert not handlers["SM3", "orderConf"].durable


def test_a_handler_may_answer_in_transactions_of_their_own():
    """Where a freeform file takes the trigger's transaction away, its answers keep theirs."""
    topology = vertical(1)
    script = topology.interactions[1].script
    first = replace(script.steps[0], mode=DeliveryOptions(persistent=True, transacted=False))
    loosened = Interaction(
        replace(script, steps=(first, *script.steps[1:])),
        topology.interactions[1].rate_per_s,
        topology.interactions[1].size_distribution,
    )
    rows = compile_scenario(replace(topology, interactions={1: loosened}))
    handler = next(each for each in rows.handlers if rows.steps[each.step] == "order")

    assert not handler.transacted
    assert [answer.outgoing.transacted for answer in handler.answers] == [True, True]


def test_a_supplier_hears_calls_for_all_its_families_in_one_handler():
    """Its handler holds the fifty subscriptions (section 3.1: every supplier subscribes to rho |families|)."""
    rows = compile_scenario(vertical(1))
    calls = [each for each in rows.handlers if rows.steps[each.step] == "callForOffers"]

    assert [len(handler.subscriptions) for handler in calls] == [50] * vertical(1).locations[Role.SP]


@given(topology=topologies())
def test_drivers_are_staggered_evenly(topology):
    """The starts of an interaction at all its locations are evenly spaced, and at the rate of the whole system."""
    drivers = compile_scenario(topology).drivers
    for number in topology.interactions:
        mine = [driver for driver in drivers if Execution.of(driver.first_execution).interaction == number]
        gap_s = 1 / float(topology.started_per_s(number))
        due_s = sorted((start + each.offset) / each.rate_per_s for each in mine for start in range(3))

        assert sum(each.rate_per_s for each in mine) == pytest.approx(float(topology.started_per_s(number)))
        assert due_s[0] == pytest.approx(gap_s / 2)
        assert all(later - earlier == pytest.approx(gap_s) for earlier, later in pairwise(due_s))


@given(topology=own_topologies())
def test_rates_and_copies_give_the_traffic_computed(topology):
    """Starts per second, over their casts, times copies: the received rates computed, to a float's digits."""
    rows = compile_scenario(topology)
    received: Counter[str] = Counter()
    for driver in rows.drivers:
        places = (driver.outgoing.addresses[fields[driver.outgoing.field]] for fields in driver.fields)
        copies = Fraction(sum(rows.fan_out[place] for place in places), len(driver.fields))
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


def test_planned_instants_are_exact():
    """The rows hold rates as floats: ten thousand starts on they are still exact to the nanosecond."""
    topology = vertical(790)
    for row in compile_scenario(topology).drivers:
        interaction = Execution.of(row.first_execution).interaction
        places = topology.locations[topology.interactions[interaction].starter.role]
        rate_per_s = topology.started_per_s(interaction) / places
        phase = Fraction(2 * row.sender + 1, 2 * places)
        planned = list(islice(instants(row, ArrivalProcess.CONSTANT, 0, 0), 10**4))
        for start in (0, 1, 999, 10**4 - 1):
            assert abs(planned[start] - round((start + phase) / rate_per_s * 10**9)) <= 1


def test_rows_go_to_other_processes():
    """A scenario is pickled for every worker, also a large one: in seconds and some megabytes."""
    rows = compile_scenario(horizontal(100))
    packed = pickle.dumps(rows)

    assert pickle.loads(packed) == rows
    assert len(packed) < 4_000_000
