"""What a broker has to do on each destination by the workload's tables; a client cannot observe it."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.scenario.results import WorkloadResult
from workloads.scenario.workload import Model


@dataclass(frozen=True, slots=True)
class PlannedDestination:
    """A destination, with rates from the tables."""

    name: str
    kind: str
    #: Subscriptions, or consumers of a queue.
    subscriptions: int
    #: Subscriptions with a selector.
    filters: int
    sent_per_s: float
    #: Filters of the destination, for each message sent to it.
    evaluated_per_s: float
    #: Those of them that do not match.
    rejected_per_s: float


def planned_destinations(result: WorkloadResult, model: Model) -> tuple[PlannedDestination, ...]:
    """The destinations of a result, by number; a broker may evaluate fewer filters.

    model: that of the result
    """
    plan = result.plan
    subscribed: list[list[str | None]] = [[] for _ in plan["destinations"]]
    for handler in plan["handlers"]:
        for subscription in handler["subscriptions"]:
            subscribed[subscription["destination"]].append(subscription["selector"])
    sent, rejected = ([0.0] * len(subscribed) for _ in range(2))
    for address, rate_per_s in zip(plan["addresses"], map(float, model.address_rates_per_s), strict=True):
        sent[address["destination"]] += rate_per_s
        rejected[address["destination"]] += rate_per_s * address["rejections"]
    found = []
    for place, destination in enumerate(plan["destinations"]):
        filters = sum(selector is not None for selector in subscribed[place])
        found.append(
            PlannedDestination(
                destination["name"],
                destination["kind"],
                len(subscribed[place]),
                filters,
                sent[place],
                filters * sent[place],
                rejected[place],
            )
        )
    return tuple(found)
