"""A plan's entry in plan.json, as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workloads.throughput.flow import Factor, Plan
from workloads.throughput.load_shape import LoadOverride


def plan_record(
    plan: Plan,
    *,
    fits_model: bool = False,
    factors: Mapping[str, Factor] | None = None,
    pace: LoadOverride | None = None,
) -> dict[str, Any]:
    """An entry of plan.json: what the audit and the fit need of a plan, in plain JSON values.

    lanes: a list of {`first`, `step`, `count`, `receivers`, `shared`}: the lanes first, first + step, ... (count of
        them) have the same receivers, given as inclusive [first, last] ranges of subscriptions; each of these gets
        every message, or, where `shared`, exactly one of them does
    pace: text of the cell's load shape; null for the closed loop of the run
    routed: bindings, not filters, decide which messages a subscription gets
    """
    return {
        "experiment": plan.experiment,
        "cell": plan.cell,
        "profile": plan.profile.name,
        "publishers": plan.publishers,
        "subscriptions": len(plan.subscriptions),
        "connections": plan.connections,
        "n_fltr": plan.n_fltr,
        "routed": any(destination.kind.routed for destination, _ in plan.subscriptions),
        "replication": plan.replication,
        "lanes": _lanes(plan),
        "fits_model": fits_model,
        "factors": dict(factors or {}),
        "pace": pace and str(pace),
    }


def _lanes(plan: Plan) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = []
    first_lane = first_subscription = 0
    for flow in plan.flows:
        for index, receivers in enumerate(flow.receivers):
            groups.append(
                {
                    "first": first_lane + index,
                    "step": len(flow.templates),
                    "count": flow.publishers,
                    "receivers": _ranges([first_subscription + receiver for receiver in receivers]),
                    "shared": flow.shared,
                }
            )
        first_lane += flow.publishers * len(flow.templates)
        first_subscription += len(flow.subscriptions)
    return groups


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Sorted numbers as inclusive ranges: [1, 2, 3, 7] -> [[1, 3], [7, 7]]."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
