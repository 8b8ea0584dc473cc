"""Compiles the tables to a scenario, which the load engine can run without any knowledge of supermarkets.

Fields of an execution are the parties, in their order; a party that an interaction does not assign is 0. Every address
has a destination of its own, and no subscription has a selector. Choices where the sources leave something open:

* An event handler consumes one message type at one location ("for every destination a class", section 2.4): a
  supplier's handler of calls for offers holds the subscriptions to all its product families. Vertical: 91 handlers,
  280 + 56 subscriptions.
* A handler consumes a transacted message and sends the transacted answers in one transaction. Statistics (not
  transacted) are sent outside the transaction, even in answer to a transacted message.
* The drivers of an interaction start staggered: driver i of n is offset by (2 i + 1) / 2n of a gap, so that the starts
  of all drivers are evenly spaced, and a window of one gap holds one start of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from workloads.scenario.execution import Execution
from workloads.scenario.message import MessageSpec
from workloads.scenario.model import Address, Driver, Handler, HandlerSubscription, Reply, Scenario
from workloads.supply_chain.executions import assign, assignment_period
from workloads.supply_chain.interactions import Participant, Role
from workloads.supply_chain.topology import Location, Topology

PARTIES = tuple(Participant)


def compile_scenario(topology: Topology) -> Scenario:
    """The scenario, with handlers and drivers in the order of roles and locations, and addresses in that of the steps;
    within a step, addresses are indexed by the receiving party.

    Raises WorkloadError if the topology exceeds the limits of a scenario.
    """
    messages = _messages(topology)
    locations = [location for role in Role for location in topology.at(role)]
    handlers = [handler for location in locations for handler in _handlers(topology, messages, location)]
    drivers = [driver for location in locations for driver in _drivers(topology, messages, location)]
    labels = (f"{receiver} {step.message}" for step in topology.steps for receiver in topology.receivers(step))
    return Scenario(
        f"{topology.name}, BASE {topology.base}",
        tuple(step.message for step in topology.steps),
        tuple(destination for step in topology.steps for destination in topology.destinations(step)),
        tuple(Address(label, number) for number, label in enumerate(labels)),
        tuple(replace(handler, number=number) for number, handler in enumerate(handlers)),
        tuple(replace(driver, number=number) for number, driver in enumerate(drivers, len(handlers))),
    )


def _messages(topology: Topology) -> Mapping[str, MessageSpec]:
    """The message specification of each step, by the name of the message."""
    found: dict[str, MessageSpec] = {}
    begin = 0
    for number, step in enumerate(topology.steps):
        end = begin + len(topology.receivers(step))
        found[step.message] = MessageSpec(
            number,
            PARTIES.index(step.receiver),
            tuple(range(begin, end)),
            topology.interactions[step.interaction].size_distribution.body_bytes(step.message),
            step.mode.persistent,
            step.mode.transacted,
        )
        begin = end
    return found


def _handlers(topology: Topology, messages: Mapping[str, MessageSpec], location: Location) -> Iterator[Handler]:
    for step in topology.steps:
        if step.receiver.role is not location.role:
            continue
        message = messages[step.message]
        answers = tuple(
            Reply(messages[answer.message], None if answer.after_from is None else PARTIES.index(answer.after_from))
            for answer in topology.steps
            if answer.after == step.message
        )
        addresses = tuple(message.addresses[index] for index in topology.consumed(step, location))
        handler = Handler(
            0,
            str(location),
            location.index,
            message.step,
            addresses,
            tuple(map(HandlerSubscription, addresses)),
            step.mode.transacted,
            step.mode.durable,
            answers,
        )
        yield from [handler] * topology.handlers_of(step)


def _drivers(topology: Topology, messages: Mapping[str, MessageSpec], location: Location) -> Iterator[Driver]:
    places = topology.locations[location.role]
    for number, interaction in topology.interactions.items():
        if interaction.starter.role is location.role:
            yield Driver(
                0,
                str(location),
                location.index,
                messages[interaction.script.steps[0].message],
                float(topology.started_per_s(number) / places),
                float(Fraction(2 * location.index + 1, 2 * places)),
                Execution(number, location.index, 0).id,
                tuple(_assignments(topology, number, location.index)),
                interaction.size_distribution.begins,
            )


def _assignments(topology: Topology, interaction: int, origin: int) -> Iterator[tuple[int, ...]]:
    for number in range(assignment_period(topology, interaction)):
        found = assign(topology, Execution(interaction, origin, number))
        yield tuple(found.get(party, 0) for party in PARTIES)
