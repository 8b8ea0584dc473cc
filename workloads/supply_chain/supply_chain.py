"""The model of every workload on the supply chain's tables: a topology in the form that engine and audit need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from workloads.messaging import DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.model import Scenario, size_class
from workloads.scenario.workload import AddressKey, ExpectedMessage, InteractionModel, StepSpec
from workloads.supply_chain.characterization import by_interaction, sent_per_s_by_address, total
from workloads.supply_chain.compiling import compile_handlers, compile_scenario
from workloads.supply_chain.executions import assign, assignment_period, mean_counts, senders
from workloads.supply_chain.interactions import INTERACTIONS, MessageType
from workloads.supply_chain.topology import CONTROLLED, Location, Topology
from workloads.supply_chain.topology_record import TopologyRecord


@dataclass(frozen=True)
class SupplyChain:
    """A topology as a `workloads.scenario.workload.Model`."""

    topology: Topology

    @property
    def record(self) -> TopologyRecord:
        return TopologyRecord.of(self.topology)

    @property
    def configuration(self) -> Any:
        return None

    @property
    def name(self) -> str:
        return self.topology.name

    @property
    def base(self) -> int:
        return self.topology.base

    @cached_property
    def scenario(self) -> Scenario:
        return compile_scenario(self.topology)

    @property
    def handlers(self) -> int:
        return self.topology.handlers

    @property
    def connections(self) -> int:
        return self.topology.connections

    @property
    def sent_per_s(self) -> float:
        return float(total(by_interaction(self.topology)).sent_per_s)

    @cached_property
    def steps(self) -> tuple[StepSpec, ...]:
        return tuple(
            StepSpec(
                step.message,
                step.interaction,
                step.kind,
                step.mode.persistent,
                step.mode.transacted,
                step.mode.durable,
                self.topology.interactions[step.interaction].size_distribution.body_bytes(step.message),
            )
            for step in self.topology.steps
        )

    @cached_property
    def interactions(self) -> Mapping[int, InteractionModel]:
        topology = self.topology
        found = {}
        for number, interaction in topology.interactions.items():
            means = mean_counts(topology, number).values()
            found[number] = InteractionModel(
                interaction.script.title,
                topology.started_per_s(number),
                sum((mean.sent for mean in means), Fraction()),
                sum((mean.received for mean in means), Fraction()),
                assignment_period(topology, number),
                interaction.size_distribution.begins,
            )
        return found

    @cached_property
    def addresses(self) -> tuple[AddressKey, ...]:
        return tuple(
            AddressKey(number, party)
            for number, receivers in enumerate(self._receivers)
            for party in range(len(receivers))
        )

    @cached_property
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        rates_per_s = sent_per_s_by_address(self.topology)
        return tuple(rate for step in self.topology.steps for rate in rates_per_s[step.message])

    def expected(self, execution: Execution) -> tuple[ExpectedMessage, ...]:
        parties = assign(self.topology, execution)
        size = size_class(self.interactions[execution.interaction].size_class_bounds, execution.id)
        return tuple(
            ExpectedMessage(AddressKey(number, parties[step.receiver]), sender, self.steps[number].body_bytes[size])
            for number, step in self._steps_of[execution.interaction]
            for sender in senders(self.topology, step, parties)
        )

    def audience(self, address: AddressKey) -> tuple[tuple[int, ...], ...]:
        return self._audiences[address]

    def replies(self, execution: Execution, step: int, sender: int) -> tuple[int, ...]:
        message, parties = self.topology.steps[step].message, assign(self.topology, execution)
        return tuple(
            number
            for number, reply in self._steps_of[execution.interaction]
            if reply.after == message and (reply.after_from is None or parties[reply.after_from] == sender)
        )

    def party(self, address: AddressKey) -> str:
        return self._receivers[address.step][address.party]

    def origin(self, execution: Execution) -> str:
        return str(Location(INTERACTIONS[execution.interaction].starter.role, execution.origin))

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

    @cached_property
    def _steps_of(self) -> Mapping[int, tuple[tuple[int, MessageType], ...]]:
        """The numbered steps of each interaction."""
        numbered = tuple(enumerate(self.topology.steps))
        return {
            interaction: tuple(item for item in numbered if item[1].interaction == interaction)
            for interaction in self.topology.interactions
        }

    @cached_property
    def _receivers(self) -> tuple[tuple[str, ...], ...]:
        return tuple(map(self.topology.receivers, self.topology.steps))

    @cached_property
    def _audiences(self) -> Mapping[AddressKey, tuple[tuple[int, ...], ...]]:
        """Groups of handlers by address: each handler that hears a topic, and all consumers of a queue together."""
        consumers: dict[AddressKey, list[int]] = {address: [] for address in self.addresses}
        for handler in compile_handlers(self.topology):
            for number in handler.addresses:
                consumers[self.addresses[number]].append(handler.number)
        return {
            address: (tuple(handlers),)
            if self.steps[address.step].kind is DestinationKind.QUEUE
            else tuple((handler,) for handler in handlers)
            for address, handlers in consumers.items()
        }
