"""Which results of business workloads may be put side by side. Needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.errors import DataError
from workloads.registry import WORKLOADS
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.scenario.workload import Model


def check_comparable(cells: Sequence[tuple[ScenarioPlan, Model, str]]) -> None:
    """Raises DataError if cells must not be compared: if they differ in workload, in a quantity that keeps its results
    apart, in topology or in consumption.

    cells: each with its model, and its name for messages

    Source: run rules, sections 1.6 and 2.3.
    """
    _check_alike("workloads", "they have no message in common", {plan.workload: place for plan, _, place in cells})
    apart: dict[str, dict[str, str]] = {}
    for plan, model, place in cells:
        for name, value in WORKLOADS[plan.workload].apart(model).items():
            apart.setdefault(name, {})[value] = place
    for name, values in apart.items():
        _check_alike(f"values of {name}", "they are different loads", values)
    _check_alike(
        "topologies",
        "their results are not comparable (sections 1.6 and 2.3)",
        {model.name: place for _, model, place in cells},
    )
    _check_alike(
        "consumptions",
        "strict acknowledgement has costs that relaxed acknowledgement does not have",
        {plan.consumption: place for plan, _, place in cells},
    )


def _check_alike(what: str, why: str, values: Mapping[str, str]) -> None:
    if len(values) > 1:
        places = "; ".join(f"{value}: {place}" for value, place in values.items())
        raise DataError(f"different {what} are never put side by side: {why}; {places}: name runs of one of them")
