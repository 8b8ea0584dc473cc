"""The model of every workload on the supply chain's tables: a topology in the form that engine and audit need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from workloads.scenario.derived_model import DerivedModel
from workloads.scenario.execution import Execution
from workloads.scenario.model import Scenario
from workloads.scenario.workload import InteractionModel
from workloads.supply_chain.characterization import sent_per_s_by_address
from workloads.supply_chain.compiling import compile_scenario
from workloads.supply_chain.executions import assignment_period, mean_counts
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.topology import CONTROLLED, Location, Topology
from workloads.supply_chain.topology_record import TopologyRecord


@dataclass(frozen=True)
class SupplyChain(DerivedModel):
    """A topology as a `workloads.scenario.workload.Model`."""

    topology: Topology

    @property
    def record(self) -> TopologyRecord:
        return TopologyRecord.of(self.topology)

    @property
    def name(self) -> str:
        return self.topology.name

    @property
    def base(self) -> int:
        return self.topology.base

    @cached_property
    def rows(self) -> Scenario:
        return compile_scenario(self.topology)

    @property
    def scenario(self) -> Scenario:
        return self.rows

    @property
    def handlers(self) -> int:
        return self.topology.handlers

    @property
    def connections(self) -> int:
        return self.topology.connections

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
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        rates_per_s = sent_per_s_by_address(self.topology)
        return tuple(rate for step in self.topology.steps for rate in rates_per_s[step.message])

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
