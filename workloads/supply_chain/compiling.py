"""The tables as a scenario: what an engine needs of them, and nothing that it would have to know of supermarkets.

Fields of a chain are the parties, in their order; a party that an interaction does not cast is 0. The execution's id is
that of `executions.Execution`, so that whoever reads a record can cast it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workloads.scenario.model import Driver, Handler, MessageSpec, Reply, Scenario
from workloads.supply_chain import agents
from workloads.supply_chain.executions import Execution, assign, assignment_period
from workloads.supply_chain.interactions import MessageType, Participant
from workloads.supply_chain.topology import Topology
from workloads.throughput.flow import Destination

PARTIES = tuple(Participant)


def compile_scenario(topology: Topology) -> Scenario:
    """Handlers and drivers in the order of the agents; raises WorkloadError where there are more than fit."""
    steps = [step.message for step in topology.steps]
    first: dict[str, int] = {}
    destinations: list[Destination] = []
    sending: dict[str, MessageSpec] = {}
    for number, step in enumerate(topology.steps):
        begin = first[step.message] = len(destinations)
        destinations += topology.destinations(step)
        sending[step.message] = MessageSpec(
            number,
            PARTIES.index(step.receiver),
            tuple(range(begin, len(destinations))),
            topology.interactions[step.interaction].size_law.body_bytes(step.message),
            step.mode.persistent,
            step.mode.transacted,
        )

    def answer(one: agents.AgentReply) -> Reply:
        only_from = None if one.only_from is None else PARTIES.index(one.only_from)
        return Reply(sending[one.message.step.message], only_from)

    everybody = agents.agents(topology)
    handlers = [
        Handler(
            0,
            str(agent.location),
            agent.location.index,
            steps.index(handler.step.message),
            tuple(first[handler.step.message] + index for index in topology.consumed(handler.step, agent.location)),
            handler.transacted,
            handler.durable,
            tuple(map(answer, handler.answers)),
        )
        for agent in everybody
        for handler in agent.handlers
    ]
    drivers = [
        Driver(
            0,
            str(agent.location),
            agent.location.index,
            sending[driver.message.step.message],
            float(driver.rate_per_s),
            float(driver.phase),
            driver.execution(0).id,
            tuple(_casts(topology, driver.message.step, agent.location.index)),
            topology.interactions[driver.message.step.interaction].size_law.begins,
        )
        for agent in everybody
        for driver in agent.drivers
    ]
    return Scenario(
        f"specjms2007 {topology.name}, BASE {topology.base}",
        tuple(steps),
        tuple(destinations),
        tuple(replace(one, number=number) for number, one in enumerate(handlers)),
        tuple(replace(one, number=number) for number, one in enumerate(drivers, len(handlers))),
    )


def _casts(topology: Topology, step: MessageType, origin: int) -> Iterator[tuple[int, ...]]:
    for number in range(assignment_period(topology, step.interaction)):
        found = assign(topology, Execution(step.interaction, origin, number))
        yield tuple(found.get(party, 0) for party in PARTIES)
