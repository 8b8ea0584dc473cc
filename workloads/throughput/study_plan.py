"""An entry of plan.json of the throughput study: what the audit and the fit need of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from workloads.throughput.flow import Factor, Plan
from workloads.throughput.load_shape import LoadOverride


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """Lanes with the same receivers: the lanes first, first + step, ..., `count` of them."""

    first: int
    step: int
    count: int
    #: Inclusive (first, last) ranges of subscriptions.
    receivers: tuple[tuple[int, int], ...]
    #: Whether exactly one of the receivers gets each message; otherwise each of them does.
    shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlan:
    """A cell and its plan."""

    experiment: str
    cell: str
    #: Name of the profile.
    profile: str
    #: Whether subscribers acknowledge.
    acknowledged: bool
    publishers: int
    #: Number of subscriptions.
    subscriptions: int
    connections: int
    n_fltr: int
    #: Bindings, not filters, decide which messages a subscription gets.
    routed: bool
    replication: float
    lanes: tuple[LaneGroup, ...]
    #: Whether the cell enters a fit.
    fits_model: bool
    #: Its values of the experiment's factors, by name.
    factors: Mapping[str, Factor]
    #: Text of the cell's load shape; None for the closed loop of the run.
    pace: str | None

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        fits_model: bool = False,
        factors: Mapping[str, Factor] | None = None,
        pace: LoadOverride | None = None,
    ) -> Self:
        return cls(
            experiment=plan.experiment,
            cell=plan.cell,
            profile=plan.profile.name,
            acknowledged=plan.profile.acknowledged,
            publishers=plan.publishers,
            subscriptions=len(plan.subscriptions),
            connections=plan.connections,
            n_fltr=plan.n_fltr,
            routed=any(destination.kind.routed for destination, _ in plan.subscriptions),
            replication=plan.replication,
            lanes=tuple(_lanes(plan)),
            fits_model=fits_model,
            factors=dict(factors or {}),
            pace=None if pace is None else str(pace),
        )


def _lanes(plan: Plan) -> Iterator[LaneGroup]:
    first_lane = first_subscription = 0
    for flow in plan.flows:
        for index, receivers in enumerate(flow.receivers):
            numbers = [first_subscription + receiver for receiver in receivers]
            yield LaneGroup(first_lane + index, len(flow.templates), flow.publishers, _ranges(numbers), flow.shared)
        first_lane += flow.publishers * len(flow.templates)
        first_subscription += len(flow.subscriptions)


def _ranges(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Sorted numbers as inclusive ranges: [1, 2, 3, 7] -> (1, 3), (7, 7)."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return tuple(ranges)
