"""The supply chain as a business: the tables of a topology in the language of `workloads.scenario.business`.

Everything about an execution follows from its id, so that drivers, event handlers and the audit agree without
communication. Who takes part, where the sources leave it open:

* Calls for offers go through the product families in turn; each distribution centre starts at a different family.
* The supplier that gets the order rotates, so that each of a family's suppliers wins the same number of calls, with
  exactly one order per call. (Drawing with 1 / zeta per offer would give some calls no order and others several.)
* Messages to the headquarters go to its instances in turn, by execution number and starting location.
* An event handler consumes one message type at one location ("for every destination a class", section 2.4): a
  supplier's handler of calls for offers holds the subscriptions to all its product families. Vertical: 91 handlers,
  280 + 56 subscriptions.
* Statistics (not transacted) are sent outside the transaction, even in answer to a transacted message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm

from workloads.scenario.business import (
    AssignmentLaw,
    Business,
    BusinessInteraction,
    BusinessMessage,
    BusinessRole,
    Party,
    in_turn,
)
from workloads.scenario.business_model import BusinessModel, check_connections, connections
from workloads.supply_chain.interactions import INTERACTIONS, TITLES, Participant, Role
from workloads.supply_chain.topology import CONTROLLED, Interaction, Topology


@dataclass(frozen=True)
class SupplyChain(BusinessModel):
    """A topology as a `workloads.scenario.workload.Model`. Raises WorkloadError if it needs too many connections."""

    topology: Topology

    def __post_init__(self) -> None:
        roles, steps = _roles(self.topology), self.topology.steps
        starting = (roles[each.starter.role] for each in self.topology.interactions.values())
        number = connections(((roles[step.receiver.role], step.kind) for step in steps), starting)
        check_connections(self.topology.name, number)

    @cached_property
    def business(self) -> Business:
        topology = self.topology
        return Business(
            topology.name,
            topology.base,
            _roles(topology),
            _parties(topology),
            {number: _interaction(topology, number, each) for number, each in topology.interactions.items()},
        )

    @property
    def without_figure(self) -> str:
        if self.topology.name not in CONTROLLED:
            return f"the {self.topology.name} topology has no figure"
        if len(self.topology.interactions) < len(INTERACTIONS):
            return f"{len(self.topology.interactions)} of {len(INTERACTIONS)} interactions ran"
        return ""

    @property
    def published(self) -> bool:
        controlled = CONTROLLED.get(self.topology.name)
        return controlled is not None and self == SupplyChain(controlled(self.base, self.topology.handlers_per_queue))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        topology = self.topology
        facts = {"locations": ", ".join(f"{number} {role}" for role, number in topology.locations.items())}
        if topology.families:
            each = topology.families_per_supplier
            facts["product families"] = f"{topology.families}, {each} of them at each supplier"
        facts["interactions"] = ", ".join(map(str, topology.interactions))
        return tuple(facts.items())


def _roles(topology: Topology) -> Mapping[str, BusinessRole]:
    handlers = topology.handlers_per_queue
    return {role: BusinessRole(role, topology.locations[role], handlers, title=TITLES[role]) for role in Role}


def _parties(topology: Topology) -> Mapping[str, Party]:
    """The parties in the order of their fields."""
    roles, families = _roles(topology), topology.families
    winners = families * lcm(*map(len, topology.suppliers_of))

    def family(origin: int, number: int) -> int:
        return (number + origin * families // topology.locations[Role.DC]) % families

    def winner(origin: int, number: int) -> int:
        called = family(origin, number)
        suppliers = topology.suppliers_of[called]
        calls_before = number // families  # of this family, by this distribution centre
        return suppliers[(calls_before + called + origin) % len(suppliers)]

    found = {
        Participant.SM: Party.one(roles[Role.SM]),
        Participant.DC: Party.one(roles[Role.DC]),
        Participant.SP: Party.one(roles[Role.SP], lambda _: AssignmentLaw(winners, winner)),
        Participant.HQ: Party.one(roles[Role.HQ], in_turn),
        Participant.SUPPLIERS: Party("", Role.SP, topology.suppliers_of, (), AssignmentLaw(families, family)),
        Participant.SUPERMARKETS: Party.everyone(roles[Role.SM]),
    }
    return {
        participant: replace(found[participant], name=participant, labels=topology.names_of(participant))
        for participant in Participant
    }


def _interaction(topology: Topology, number: int, interaction: Interaction) -> BusinessInteraction:
    sizes = interaction.size_distribution
    return BusinessInteraction(
        interaction.script.title,
        tuple(
            BusinessMessage(
                step.message,
                step.sender,
                step.receiver,
                sizes.body_bytes(step.message),
                step.kind,
                step.mode.persistent,
                step.mode.transacted,
                step.mode.durable,
                step.after,
                step.after_from,
            )
            for step in interaction.script.steps
        ),
        topology.started_per_s(number),
        sizes.begins,
    )
