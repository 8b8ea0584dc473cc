"""The entry of a cell in plan.json: the values that the audit needs, as plain JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.scenario.model import Consumption, Scenario
from workloads.scenario.periods import Lengths
from workloads.scenario.workload import Model


def plan_entry(
    workload: str,
    model: Model,
    cell: str,
    *,
    consumption: Consumption,
    transactions: Transactions,
    arrivals: ArrivalProcess,
    seed: int,
    length: str,
    lengths: Lengths,
    repeat: bool = False,
    killed: bool = False,
) -> dict[str, Any]:
    """The entry of a cell of the workload with this name.

    transactions: what the broker supports
    length: the name of `lengths`; "own" if the user set them
    """
    scenario = model.scenario
    return {
        "experiment": workload,
        "cell": cell,
        "workload": workload,
        "topology": model.to_json(),
        "configuration": model.configuration,
        "base": model.base,
        "consumption": consumption.value,
        "transactions": transactions.value,
        "arrivals": arrivals.value,
        "seed": seed,
        "lengths": {"name": length, **asdict(lengths)},
        "repeat": repeat,
        "killed": killed,
        "steps": list(scenario.steps),
        "destinations": [
            {"kind": destination.kind.value, "name": destination.name} for destination in scenario.destinations
        ],
        "addresses": [
            {
                "label": address.label,
                "destination": address.destination,
                "properties": dict(address.properties),
                "copies": copies,
                "rejections": rejections,
            }
            for address, copies, rejections in zip(
                scenario.addresses, scenario.fan_out, scenario.rejections, strict=True
            )
        ],
        "handlers": [
            {
                "number": handler.number,
                "place": handler.place,
                "sender": handler.sender,
                "step": handler.step,
                "addresses": list(handler.addresses),
                "subscriptions": [asdict(subscription) for subscription in handler.subscriptions],
                "transacted": handler.transacted,
                "durable": handler.durable,
            }
            for handler in scenario.handlers
        ],
        "drivers": [
            {
                "number": driver.number,
                "place": driver.place,
                "sender": driver.sender,
                "step": driver.outgoing.step,
                "rate_per_s": driver.rate_per_s,
            }
            for driver in scenario.drivers
        ],
        **_populations(scenario),
    }


def _populations(scenario: Scenario) -> dict[str, Any]:
    """The populations, in a scenario that has any; their laws follow from the model."""
    if not scenario.populations:
        return {}
    return {
        "populations": [
            {
                "label": population.label,
                "connections": population.connections,
                "initial": population.law.initial,
                "sessions": population.sessions,
            }
            for population in scenario.populations
        ]
    }
