"""Topologies: how many locations there are, what they offer, how often each interaction is started; and all names.

Source: Sachs et al. 2009, sections 3.1 (parameters), 3.2 (horizontal) and 3.3 (vertical); rates of the run and
reporting rules, section 3.6.1, which are those of the whole system.

Choices where the sources leave something open:

* Product families are assigned to the suppliers round robin: each supplier offers the same number of families, and
  those of supplier i start after the last one of supplier i - 1. Every family then has a supplier, and the numbers of
  suppliers of two families differ by one at most; with families drawn at random, vertical calls would find no supplier
  in 3 % of the cases.
* Horizontal: rho = 5 / |families| is larger than 1 below BASE 5. There each supplier offers all families. zeta is 2
  exactly where 0.4 BASE is whole, and the published mix holds where BASE is a multiple of 5.
* Supermarket i is supplied by distribution centre i modulo their number.
* The headquarters are one location with several instances: each has its own queues, the three topics to all
  supermarkets exist once. The rates of interactions 3, 6 and 7 are those of all instances together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

from workloads.errors import WorkloadError
from workloads.scenario.model import MOST_CONNECTIONS
from workloads.supply_chain.interactions import INTERACTIONS, InteractionSpec, MessageType, Participant, Role
from workloads.supply_chain.sizes import SIZE_DISTRIBUTIONS, SizeDistribution


@dataclass(frozen=True, slots=True)
class Location:
    """A location; `index` counts from 0 within a role, names count from 1 (SM1, ...)."""

    role: Role
    index: int

    def __str__(self) -> str:
        return f"{self.role}{self.index + 1}"


@dataclass(frozen=True, slots=True)
class Interaction:
    """An interaction of a topology, with its rate and message sizes."""

    script: InteractionSpec
    #: Executions per second, the paper's lambda: per starting location, or of all headquarters instances together.
    rate_per_s: Fraction
    size_distribution: SizeDistribution

    @property
    def starter(self) -> Participant:
        return self.script.starter


@dataclass(frozen=True)
class Topology:
    """The locations of the supply chain, and the interactions between them.

    Raises WorkloadError if a party of an interaction has no location, or a product family has no supplier.
    """

    name: str
    #: Scale of the workload.
    base: int
    #: Number of locations of each role.
    locations: Mapping[Role, int]
    #: By number.
    interactions: Mapping[int, Interaction]
    #: Number of product families.
    families: int = 0
    #: rho |families|
    families_per_supplier: int = 0
    #: Event handlers that compete for the messages of a queue; a subscription to a topic has one.
    handlers_per_queue: int = 1

    def __post_init__(self) -> None:
        if not self.interactions:
            raise WorkloadError(f"{self.name}: no interaction runs; expected at least one of {_one_of(INTERACTIONS)}")
        if self.handlers_per_queue < 1:
            raise WorkloadError(f"{self.name}: handlers per queue: expected at least 1, got {self.handlers_per_queue}")
        for number, interaction in self.interactions.items():
            if interaction.rate_per_s <= 0:
                raise WorkloadError(
                    f"{self.name}: interaction {number}: expected a rate above 0, got {interaction.rate_per_s}"
                )
            for step in interaction.script.steps:
                for party in (step.sender, step.receiver):
                    if self.locations[party.role] < 1:
                        raise WorkloadError(
                            f"{self.name}: interaction {number} needs at least one {party.role}, "
                            f"got {self.locations[party.role]}"
                        )
        if any(step.receiver is Participant.SUPPLIERS for step in self.steps):
            self._check_families()
        if (most := max(self.locations.values())) > MOST_CONNECTIONS:
            raise WorkloadError(
                f"{self.name}: {most} locations; expected at most {MOST_CONNECTIONS} of each role: choose a lower BASE"
            )

    def _check_families(self) -> None:
        if not 1 <= self.families <= MOST_CONNECTIONS:
            raise WorkloadError(f"{self.name}: product families: expected 1 to {MOST_CONNECTIONS}, got {self.families}")
        if not 1 <= self.families_per_supplier <= self.families:
            raise WorkloadError(
                f"{self.name}: product families per supplier: expected 1 to {self.families}, "
                f"got {self.families_per_supplier}"
            )
        offered = self.locations[Role.SP] * self.families_per_supplier
        if offered < self.families:
            raise WorkloadError(
                f"{self.name}: {self.locations[Role.SP]} suppliers with {self.families_per_supplier} product families "
                f"each leave some of the {self.families} without a supplier; expected suppliers x families per "
                f"supplier >= {self.families}, got {offered}"
            )

    def only(self, *numbers: int) -> Topology:
        """The same locations with only these interactions. Raises WorkloadError if one does not exist here."""
        for number in numbers:
            if number not in self.interactions:
                raise WorkloadError(
                    f"{self.name} has no interaction {number}; expected one of {_one_of(self.interactions)}"
                )
        return replace(self, interactions={number: self.interactions[number] for number in sorted(numbers)})

    @property
    def rho(self) -> Fraction:
        """Share of the product families that a supplier offers."""
        return Fraction(self.families_per_supplier, self.families)

    @property
    def zeta(self) -> Fraction:
        """Average number of suppliers of a product family."""
        return self.rho * self.locations[Role.SP]

    @property
    def delta(self) -> Fraction:
        """Average number of supermarkets of a distribution centre."""
        return Fraction(self.locations[Role.SM], self.locations[Role.DC])

    @cached_property
    def steps(self) -> tuple[MessageType, ...]:
        """The message types of all interactions of this topology, in the order of the interactions."""
        return tuple(step for interaction in self.interactions.values() for step in interaction.script.steps)

    @cached_property
    def families_of(self) -> tuple[tuple[int, ...], ...]:
        """The product families that each supplier offers."""
        each, families = self.families_per_supplier, self.families
        return tuple(
            tuple(sorted((supplier * each + index) % families for index in range(each)))
            for supplier in range(self.locations[Role.SP])
        )

    @cached_property
    def suppliers_of(self) -> tuple[tuple[int, ...], ...]:
        """The suppliers that offer each product family."""
        suppliers: list[list[int]] = [[] for _ in range(self.families)]
        for supplier, families in enumerate(self.families_of):
            for family in families:
                suppliers[family].append(supplier)
        return tuple(map(tuple, suppliers))

    def started_per_s(self, number: int) -> Fraction:
        """Executions per second of an interaction in the whole system."""
        interaction = self.interactions[number]
        starters = 1 if interaction.starter is Participant.HQ else self.locations[interaction.starter.role]
        return interaction.rate_per_s * starters

    def names_of(self, party: Participant) -> tuple[str, ...]:
        """The names of a party by its value: of locations, of product families, or of all supermarkets together."""
        names: Mapping[Participant, tuple[str, ...]] = {
            Participant.SUPPLIERS: tuple(f"PF{family + 1}" for family in range(self.families)),
            Participant.SUPERMARKETS: (Role.HQ.value,),
        }
        return names[party] if party in names else tuple(map(str, self.at(party.role)))

    def at(self, role: Role) -> tuple[Location, ...]:
        return tuple(Location(role, index) for index in range(self.locations[role]))


def _one_of(numbers: Mapping[int, object]) -> str:
    return ", ".join(map(str, numbers))


#: Executions per second and starting location (headquarters: of all instances), from Table 1 of section 3.6.1; the
#: exact values of its rounded decimals.
HORIZONTAL_PER_S: Mapping[int, Fraction] = {
    1: Fraction(3200, 2079),
    2: Fraction(32, 15),
    3: Fraction(6),
    4: Fraction(125, 37),
    5: Fraction(8000, 693),
    6: Fraction(6000, 527),
    7: Fraction(120, 13),
}

#: Executions per second and BASE in the whole system, from Table 2 of section 3.6.1; the exact values of its rounded
#: decimals.
VERTICAL_PER_S: Mapping[int, Fraction] = {
    1: Fraction(16, 21),
    2: Fraction(16, 75),
    3: Fraction(1, 20),
    4: Fraction(60, 37),
    5: Fraction(4000, 693),
    6: Fraction(75, 527),
    7: Fraction(4, 39),
}


def running(rates_per_s: Mapping[int, Fraction]) -> dict[int, Interaction]:
    """The published interactions and sizes, at these rates."""
    return {
        number: Interaction(INTERACTIONS[number], rate, SIZE_DISTRIBUTIONS[number])
        for number, rate in rates_per_s.items()
    }


def horizontal(base: int, handlers_per_queue: int = 1) -> Topology:
    """More locations with BASE, each with the same traffic (section 3.2)."""
    _check_base(base)
    locations = {
        Role.SM: base,
        Role.SP: ceil(Fraction(2, 5) * base),
        Role.DC: ceil(Fraction(base, 5)),
        Role.HQ: ceil(Fraction(base, 20)),
    }
    return Topology("horizontal", base, locations, running(HORIZONTAL_PER_S), base, min(5, base), handlers_per_queue)


def vertical(base: int, handlers_per_queue: int = 1) -> Topology:
    """The same locations with more traffic (section 3.3)."""
    _check_base(base)
    locations = {Role.SM: 10, Role.SP: 5, Role.DC: 2, Role.HQ: 1}
    starters = {
        number: 1 if script.starter is Participant.HQ else locations[script.starter.role]
        for number, script in INTERACTIONS.items()
    }
    rates_per_s = {number: rate * base / starters[number] for number, rate in VERTICAL_PER_S.items()}
    return Topology("vertical", base, locations, running(rates_per_s), 100, 50, handlers_per_queue)


#: The two topologies whose scaling with BASE is published; a freeform topology is defined by the user.
CONTROLLED = {"horizontal": horizontal, "vertical": vertical}


def _check_base(base: int) -> None:
    if base < 1:
        raise WorkloadError(f"BASE: expected a whole number from 1 on, got {base}")
