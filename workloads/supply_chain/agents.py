"""Agents: what each location consumes, answers and starts; as plain rows for the engine, derived from the tables.

Choices where the sources leave something open:

* An event handler stands for one message at one location ("for every destination a class", section 2.4): a supplier's
  handler of calls for offers holds the subscriptions to all its product families. Vertical: 91 handlers, 280 + 56
  subscriptions.
* A transacted message is consumed, and what is transacted of the answers sent, in one transaction of the handler.
  Statistics (not transacted) leave outside it, also where they answer a transacted message.
* The drivers of an interaction start staggered: driver i of n is (2 i + 1) / 2n of a gap late, so that their sum is
  evenly spaced, and a window of one gap holds one message of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from workloads.supply_chain.executions import Execution
from workloads.supply_chain.interactions import MessageType, Participant, Role
from workloads.supply_chain.sizes import ThreeSizes
from workloads.supply_chain.topology import Location, Topology
from workloads.throughput.flow import Destination


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A step with its destinations, at the index that the receiving party is cast with, and its body size by column."""

    step: MessageType
    destinations: tuple[Destination, ...]
    body_bytes: ThreeSizes


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What an event handler sends for a message; `only_from`: only if the message's sender is cast as this party.

    in_transaction: in the handler's own, with the acknowledgement. A transacted answer to a message that is not (which
    only a freeform file can ask for) is a transaction of its own.
    """

    message: SentMessage
    only_from: Participant | None
    in_transaction: bool


@dataclass(frozen=True, slots=True)
class EventHandler:
    """Consumes one message at one location, on one connection; `instance` counts those that share a queue.

    transacted: acknowledges in a transaction; otherwise each message before the next is delivered (rule 4.2.1).
    durable: its subscriptions outlive its connection.
    """

    location: Location
    step: MessageType
    instance: int
    destinations: tuple[Destination, ...]
    answers: tuple[AgentReply, ...]

    @property
    def transacted(self) -> bool:
        return self.step.mode.transacted

    @property
    def durable(self) -> bool:
        return self.step.mode.durable


@dataclass(frozen=True, slots=True)
class AgentDriver:
    """Starts an interaction at one location, at a constant rate; `phase` is the first start in gaps, 0 to 1."""

    location: Location
    message: SentMessage
    rate_per_s: Fraction
    phase: Fraction

    def due_ns(self, number: int) -> int:
        """The planned instant of an execution, from the start of the load."""
        return round((number + self.phase) / self.rate_per_s * 10**9)

    def execution(self, number: int) -> Execution:
        return Execution(self.message.step.interaction, self.location.index, number)


@dataclass(frozen=True, slots=True)
class Agent:
    """All event handlers and drivers of a location."""

    location: Location
    handlers: tuple[EventHandler, ...]
    drivers: tuple[AgentDriver, ...]


def agents(topology: Topology) -> tuple[Agent, ...]:
    """One for each location that takes part in what runs, in the order of the roles."""
    messages = {
        step.message: SentMessage(step, topology.destinations(step), interaction.size_law.body_bytes(step.message))
        for interaction in topology.interactions.values()
        for step in interaction.script.steps
    }
    answers = {
        step.message: tuple(
            AgentReply(messages[answer.message], answer.after_from, step.mode.transacted and answer.mode.transacted)
            for answer in topology.steps
            if answer.after == step.message
        )
        for step in topology.steps
    }
    found: list[Agent] = []
    for role in Role:
        number = topology.locations[role]
        consumed = [step for step in topology.steps if step.receiver.role is role]
        started = [
            (messages[one.script.steps[0].message], topology.started_per_s(interaction) / number)
            for interaction, one in topology.interactions.items()
            if one.starter.role is role
        ]
        for location in topology.at(role) if consumed or started else ():
            handlers = tuple(
                EventHandler(
                    location,
                    step,
                    instance,
                    tuple(messages[step.message].destinations[index] for index in topology.consumed(step, location)),
                    answers[step.message],
                )
                for step in consumed
                for instance in range(1 if step.receiver.plural else topology.handlers_per_queue)
            )
            phase = Fraction(2 * location.index + 1, 2 * number)
            drivers = tuple(AgentDriver(location, message, rate_per_s, phase) for message, rate_per_s in started)
            found.append(Agent(location, handlers, drivers))
    return tuple(found)
