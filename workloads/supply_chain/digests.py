"""The digest of the published tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from workloads.json_value import digest_of
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.sizes import COEFFICIENTS, PROBABILITIES, SIZE_DISTRIBUTIONS
from workloads.supply_chain.topology import HORIZONTAL_PER_S, VERTICAL_PER_S


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
    """SHA-256 of the tables: runs with the same digest and the same request had the same model."""
    return digest_of(tables())
