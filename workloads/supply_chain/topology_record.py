"""A topology as plan.json has it: the numbers from which an equal one is built again, also one defined by a user.

The messages of an interaction follow from its number, and only their delivery is stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Self

from workloads.errors import WorkloadError
from workloads.json_value import digest_of
from workloads.supply_chain.interactions import INTERACTIONS, DeliveryOptions, Role
from workloads.supply_chain.sizes import COEFFICIENTS, PROBABILITIES, SIZE_DISTRIBUTIONS, SizeDistribution
from workloads.supply_chain.topology import HORIZONTAL_PER_S, VERTICAL_PER_S, Interaction, Topology


@dataclass(frozen=True, slots=True)
class InteractionRecord:
    """An interaction of a topology."""

    number: int
    rate_per_s: Fraction
    size: SizeDistribution
    #: By message.
    modes: Mapping[str, DeliveryOptions]

    def rebuilt(self) -> Interaction:
        """The interaction. Raises WorkloadError with the key of an invalid value."""
        if self.number not in INTERACTIONS:
            raise WorkloadError(f"number: expected one of {', '.join(map(str, INTERACTIONS))}, got {self.number}")
        script = INTERACTIONS[self.number]
        messages = [step.message for step in script.steps]
        if self.modes.keys() != set(messages):
            raise WorkloadError(f"modes: expected the keys {', '.join(messages)}, got {', '.join(self.modes)}")
        negative = any(value < 0 for value in (*self.size.x, *self.size.y, *self.size.probabilities))
        if sum(self.size.probabilities) != 1 or negative:
            raise WorkloadError("size: expected numbers from 0 on, and three fractions with the sum 1")
        for message in messages:
            self.size.body_bytes(message)
        steps = tuple(replace(step, mode=self.modes[step.message]) for step in script.steps)
        return Interaction(replace(script, steps=steps), self.rate_per_s, self.size)


@dataclass(frozen=True, slots=True)
class TopologyRecord:
    """A topology; fields as of `workloads.supply_chain.topology.Topology`."""

    name: str
    base: int
    locations: Mapping[Role, int]
    families: int
    families_per_supplier: int
    handlers_per_queue: int
    interactions: tuple[InteractionRecord, ...]

    @classmethod
    def of(cls, topology: Topology) -> Self:
        return cls(
            topology.name,
            topology.base,
            {role: topology.locations[role] for role in Role},
            topology.families,
            topology.families_per_supplier,
            topology.handlers_per_queue,
            tuple(
                InteractionRecord(
                    number,
                    interaction.rate_per_s,
                    interaction.size_distribution,
                    {step.message: step.mode for step in interaction.script.steps},
                )
                for number, interaction in topology.interactions.items()
            ),
        )

    def rebuilt(self) -> Topology:
        """The topology. Raises WorkloadError with the key of an invalid value."""
        if self.base < 1:
            raise WorkloadError(f"topology.base: expected a whole number from 1 on, got {self.base}")
        if self.locations.keys() != set(Role) or min(self.locations.values()) < 0:
            raise WorkloadError(f"topology.locations: expected a whole number from 0 on of each of {', '.join(Role)}")
        interactions: dict[int, Interaction] = {}
        for index, each in enumerate(self.interactions):
            if each.number in interactions:
                raise WorkloadError(
                    f"topology.interactions[{index}].number: expected each interaction once, got {each.number}"
                )
            try:
                interactions[each.number] = each.rebuilt()
            except WorkloadError as error:
                raise WorkloadError(f"topology.interactions[{index}].{error}") from None
        return Topology(
            self.name,
            self.base,
            {role: self.locations[role] for role in Role},
            interactions,
            self.families,
            self.families_per_supplier,
            self.handlers_per_queue,
        )


def tables() -> dict[str, Any]:
    """The published tables as this package has them: steps, coefficients, sizing parameters, rates, probabilities."""
    steps = [step for script in INTERACTIONS.values() for step in script.steps]
    return {
        "steps": [{name: value for name, value in asdict(step).items() if name != "configured_kind"} for step in steps],
        "coefficients_bytes": COEFFICIENTS,
        "sizing_parameters": SIZE_DISTRIBUTIONS,
        "horizontal_per_s": HORIZONTAL_PER_S,
        "vertical_per_s": VERTICAL_PER_S,
        "probabilities": PROBABILITIES,
    }


def digest() -> str:
    """SHA-256 of the tables: runs with the same digest had the same model."""
    return digest_of(tables())
