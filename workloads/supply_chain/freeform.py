"""Freeform topologies: user-defined locations, rates, delivery modes and sizes, from a TOML text.

Source: Sachs et al. 2009, section 2.4: the interactions are building blocks, to be scaled "in an arbitrary manner".

    handlers_per_queue = 1              # event handlers that compete for each queue (1)

    [locations]                         # a kind that is omitted has no locations
    supermarkets = { per_base = 1 }     # this many times BASE, rounded up; or a number
    headquarters = 1                    # also: distribution_centres, suppliers

    [product_families]                  # for interaction 2
    number = 100
    rho = 0.5                           # share of the families that a supplier offers

    [interaction_6]                     # an interaction that has no table does not run
    enabled = true                      # nor does one that is switched off (true)
    rate_per_s = { per_base = 0.5 }     # per starting location, or of all headquarters together; or a number

    [interaction_6.size]                # the sizing parameter's three values, and y's in interaction 5
    x = [100, 10, 1000]
    probabilities = [0.95, 0.04, 0.01]

    [interaction_6.messages.productAnnouncement]
    persistent = false                  # also: transacted, durable (topics)

Omitted keys of a size or a message have the values of the published workload. The group (a to d) of a message with
changed delivery options follows from its kind and its persistence. BASE is 1 unless a value in the text is per BASE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from workloads.errors import WorkloadError
from workloads.messaging import DestinationKind
from workloads.supply_chain.interactions import INTERACTIONS, DeliveryOptions, MessageType, Role
from workloads.supply_chain.sizes import SIZE_DISTRIBUTIONS, SizeDistribution
from workloads.supply_chain.topology import Interaction, Topology
from workloads.toml_table import ScaledTable, grows, parse_toml

#: The paper's example (section 3.1), in the directory of this module: interactions 6 and 7 with a growing number of
#: supermarkets.
EXAMPLE = "broadcast.toml"

#: Tolerance of rho |families| from a whole number, so that a third can be written with a few digits.
_WHOLE_WITHIN = Fraction(1, 100)

_LOCATIONS: Mapping[str, Role] = {
    "supermarkets": Role.SM,
    "suppliers": Role.SP,
    "distribution_centres": Role.DC,
    "headquarters": Role.HQ,
}
_INTERACTIONS: Mapping[str, int] = {f"interaction_{number}": number for number in INTERACTIONS}


@dataclass(frozen=True)
class _FreeformTable(ScaledTable):
    """A table with triples of numbers, one for each size."""

    def triple(self, key: str, default: tuple[Any, Any, Any]) -> tuple[Fraction, Fraction, Fraction]:
        value = self.values.get(key, list(default))
        if not isinstance(value, list) or len(value) != 3:
            raise self.refusal(key, "a list of three numbers", value)
        first, second, third = (
            number if isinstance(number, Fraction) else self.fraction(key, number) for number in value
        )
        return first, second, third

    def counts(self, key: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
        values = self.triple(key, default)
        if any(value.denominator > 1 for value in values):
            raise self.refusal(key, "three whole numbers", self.values[key])
        first, second, third = map(int, values)
        return first, second, third


def read(text: str, base: int = 1, source: str = "freeform") -> Topology:
    """The topology that a TOML text describes at a BASE; `source` is the name of the text in messages.

    Raises WorkloadError with table and key for unknown keys and invalid values, for a topology that cannot run, and for
    a BASE above 1 if no value in the text is per BASE.
    """
    values = parse_toml(text, source)
    if base < 1:
        raise WorkloadError(f"BASE: expected a whole number from 1 on, got {base}")
    known = ("handlers_per_queue", "locations", "product_families", *_INTERACTIONS)
    root = _FreeformTable(source, "", values, known, base, text=text)
    families, families_per_supplier = _families(root.table("product_families", "number", "rho"))
    interactions = {
        number: interaction
        for key, number in _INTERACTIONS.items()
        if key in values and (interaction := _interaction(root, key, number)) is not None
    }
    locations = _locations(root.table("locations", *_LOCATIONS))
    handlers_per_queue = root.count("handlers_per_queue", 1)
    if base > 1 and not grows(values):
        raise WorkloadError(f"{source}: BASE {base}, but nothing grows with it; expected a {{ per_base = number }}")
    try:
        return Topology("freeform", base, locations, interactions, families, families_per_supplier, handlers_per_queue)
    except WorkloadError as error:
        raise WorkloadError(f"{source}: {error}") from None


def _locations(table: _FreeformTable) -> dict[Role, int]:
    numbers = {role: table.count(key, 0) for key, role in _LOCATIONS.items()}
    return {role: numbers[role] for role in Role}


def _families(table: _FreeformTable) -> tuple[int, int]:
    """The number of product families, and how many of them each supplier offers."""
    number, rho = table.count("number", 0), table.number("rho", 0)
    offered = round(rho * number)
    if rho > 1 or abs(offered - rho * number) > _WHOLE_WITHIN:
        raise table.refusal("rho", f"a share of the {number} families that is a whole number of them", float(rho))
    return number, offered


def _interaction(root: _FreeformTable, key: str, number: int) -> Interaction | None:
    """An interaction, None if it is switched off; its table is checked in either case."""
    table = root.table(key, "enabled", "rate_per_s", "size", "messages")
    enabled, rate_per_s = table.boolean("enabled", True), table.number("rate_per_s")
    if not rate_per_s:
        raise table.refusal("rate_per_s", "more than 0 (to switch it off: enabled = false)", 0)
    size_distribution = _size_distribution(table, number)
    script = INTERACTIONS[number]
    modes = table.table("messages", *(step.message for step in script.steps))
    steps = tuple(replace(step, mode=_mode(modes, step)) for step in script.steps)
    for step in steps:
        try:
            size_distribution.body_bytes(step.message)
        except WorkloadError as error:
            raise WorkloadError(f"{table.source}: [{table.path}.size]: {error}") from None
    return Interaction(replace(script, steps=steps), rate_per_s, size_distribution) if enabled else None


#: Size keys that can be set: y only in interaction 5, none in interaction 3 ("cannot be changed by the user", section
#: 3.1).
_SIZE_KEYS = dict.fromkeys(INTERACTIONS, ("x", "probabilities")) | {3: (), 5: ("x", "y", "probabilities")}


def _size_distribution(interaction: _FreeformTable, number: int) -> SizeDistribution:
    table, published = interaction.table("size", *_SIZE_KEYS[number]), SIZE_DISTRIBUTIONS[number]
    probabilities = table.triple("probabilities", published.probabilities)
    if sum(probabilities) != 1:
        raise table.refusal("probabilities", "three numbers with the sum 1", list(map(float, probabilities)))
    return SizeDistribution(table.counts("x", published.x), table.counts("y", published.y), probabilities)


def _mode(messages: _FreeformTable, step: MessageType) -> DeliveryOptions:
    durable = ("durable",) if step.kind is DestinationKind.TOPIC else ()
    table = messages.table(step.message, "persistent", "transacted", *durable)
    return DeliveryOptions(
        table.boolean("persistent", step.mode.persistent),
        table.boolean("transacted", step.mode.transacted),
        table.boolean("durable", step.mode.durable),
    )
