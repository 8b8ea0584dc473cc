"""Conversion of a topology to plain JSON values and back; exact, with rates as fractions such as "16/21".

A reader of a record can rebuild an equal topology from it, including a user-defined one.
"""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

from workloads.errors import WorkloadError
from workloads.supply_chain.interactions import INTERACTIONS, DeliveryOptions, MessageType, Role
from workloads.supply_chain.json_values import digest_of, refusal, text, values, whole
from workloads.supply_chain.sizes import COEFFICIENTS, PROBABILITIES, SIZE_DISTRIBUTIONS, SizeDistribution
from workloads.supply_chain.topology import HORIZONTAL_PER_S, VERTICAL_PER_S, Interaction, Topology

_FRACTION = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,399})?", re.ASCII)


def to_json(topology: Topology) -> dict[str, Any]:
    """All values of the topology, so that `from_json` returns an equal one."""
    return {
        "name": topology.name,
        "base": topology.base,
        "locations": {role.value: topology.locations[role] for role in Role},
        "families": topology.families,
        "families_per_supplier": topology.families_per_supplier,
        "handlers_per_queue": topology.handlers_per_queue,
        "interactions": [
            {
                "number": number,
                "rate_per_s": str(interaction.rate_per_s),
                "size": _size(interaction.size_distribution),
                "modes": {step.message: asdict(step.mode) for step in interaction.script.steps},
            }
            for number, interaction in topology.interactions.items()
        ],
    }


def from_json(record: Any) -> Topology:
    """The described topology. Raises WorkloadError with the path of a value that `to_json` cannot have written."""
    name, base, places, families, per_supplier, handlers, rows = values(
        record,
        "topology",
        "name",
        "base",
        "locations",
        "families",
        "families_per_supplier",
        "handlers_per_queue",
        "interactions",
    )
    name = text(name, "topology.name")
    counts = values(places, "topology.locations", *Role)
    interactions: dict[int, Interaction] = {}
    for index, row in enumerate(_list(rows, "topology.interactions")):
        number, interaction = _interaction(row, f"topology.interactions[{index}]")
        if number in interactions:
            raise refusal(f"topology.interactions[{index}].number", "each interaction once", number)
        interactions[number] = interaction
    return Topology(
        name,
        whole(base, "topology.base", least=1),
        {role: whole(count, f"topology.locations.{role}") for role, count in zip(Role, counts, strict=True)},
        interactions,
        whole(families, "topology.families"),
        whole(per_supplier, "topology.families_per_supplier"),
        whole(handlers, "topology.handlers_per_queue"),
    )


def tables() -> dict[str, Any]:
    """The published tables as this package has them: steps, coefficients, sizing parameters, rates, probabilities."""
    return {
        "steps": [
            {name: value for name, value in asdict(step).items() if name != "configured_kind"}
            for script in INTERACTIONS.values()
            for step in script.steps
        ],
        "coefficients_bytes": {message: asdict(row) for message, row in COEFFICIENTS.items()},
        "sizing_parameters": {number: _size(distribution) for number, distribution in SIZE_DISTRIBUTIONS.items()},
        "horizontal_per_s": dict(HORIZONTAL_PER_S),
        "vertical_per_s": dict(VERTICAL_PER_S),
        "probabilities": list(PROBABILITIES),
    }


def digest() -> str:
    """SHA-256 of the tables as JSON, keys sorted, without spaces: runs with the same digest had the same model."""
    return digest_of(tables())


def _size(sizes: SizeDistribution) -> dict[str, Any]:
    return {"x": list(sizes.x), "y": list(sizes.y), "probabilities": list(map(str, sizes.probabilities))}


def _interaction(row: Any, path: str) -> tuple[int, Interaction]:
    number, rate_per_s, size, modes = values(row, path, "number", "rate_per_s", "size", "modes")
    if isinstance(number, bool) or not isinstance(number, int) or number not in INTERACTIONS:
        raise refusal(f"{path}.number", f"one of {', '.join(map(str, INTERACTIONS))}", number)
    script = INTERACTIONS[number]
    size_distribution = _size_distribution(size, f"{path}.size", script.steps)
    found = values(modes, f"{path}.modes", *(step.message for step in script.steps))
    steps = tuple(
        replace(step, mode=_mode(value, f"{path}.modes.{step.message}"))
        for step, value in zip(script.steps, found, strict=True)
    )
    rate = _fraction(rate_per_s, f"{path}.rate_per_s")
    return number, Interaction(replace(script, steps=steps), rate, size_distribution)


def _size_distribution(record: Any, path: str, steps: tuple[MessageType, ...]) -> SizeDistribution:
    x, y, probabilities = values(record, path, "x", "y", "probabilities")
    first, second, third = _list(probabilities, f"{path}.probabilities", 3)
    shares = tuple(_fraction(share, f"{path}.probabilities") for share in (first, second, third))
    if sum(shares) != 1:
        raise refusal(f"{path}.probabilities", "three fractions with the sum 1", probabilities)
    sizes = SizeDistribution(_triple(x, f"{path}.x"), _triple(y, f"{path}.y"), (shares[0], shares[1], shares[2]))
    for step in steps:
        try:
            sizes.body_bytes(step.message)
        except WorkloadError as error:
            raise WorkloadError(f"{path}: {error}") from None
    return sizes


def _mode(record: Any, path: str) -> DeliveryOptions:
    names = ("persistent", "transacted", "durable")
    found = values(record, path, *names)
    for name, value in zip(names, found, strict=True):
        if not isinstance(value, bool):
            raise refusal(f"{path}.{name}", "true or false", value)
    return DeliveryOptions(*found)


def _triple(value: Any, path: str) -> tuple[int, int, int]:
    first, second, third = (whole(number, path) for number in _list(value, path, 3))
    return first, second, third


def _list(value: Any, path: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in {None, len(value)}:
        raise refusal(path, "a list" if length is None else f"a list of {length}", value)
    return value


def _fraction(value: Any, path: str) -> Fraction:
    """A fraction as `to_json` writes it: in lowest terms."""
    if isinstance(value, str) and _FRACTION.fullmatch(value) and str(Fraction(value)) == value:
        return Fraction(value)
    raise refusal(path, 'a fraction from 0 on, such as "16/21"', value)
