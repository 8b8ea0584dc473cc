"""The vocabulary of a plan: destinations, message templates, subscriptions, flows, lanes, profiles.

A *lane* is one publisher and one message template, with a sequence of its own that starts at 0 in every
cell. So each subscriber sees each lane that its filter matches unbroken, and no other lane at all: every
loss, duplicate, reordering and wrong delivery is visible without sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from workloads.errors import WorkloadError
from workloads.selectors import Selector


class DestinationKind(StrEnum):
    TOPIC = "topic"
    QUEUE = "queue"


class AckMode(StrEnum):
    """STOMP 1.2, SUBSCRIBE: `client` acknowledges cumulatively."""

    AUTO = "auto"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Profile:
    """How messages are sent and acknowledged; results of two profiles are never put in one fit."""

    name: str
    persistent: bool
    receipts: bool
    ack: AckMode


#: `paper`: "persistent but non-durable", "explicitly acknowledged by the recipient" (Henjes et al. 2006,
#: sections 2.1 and 4.1; the receipt stands for the synchronous JMS send of a persistent message).
#: `today`: the leanest that STOMP has.
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("today", persistent=False, receipts=False, ack=AckMode.AUTO),
        Profile("paper", persistent=True, receipts=True, ack=AckMode.CLIENT),
    )
}


@dataclass(frozen=True, slots=True)
class Destination:
    kind: DestinationKind
    name: str


#: Stands at the head of the stamp that every message carries, and nowhere else in a message.
STAMP_MARK = "~"


@dataclass(frozen=True, slots=True)
class Template:
    """What all messages of a lane have in common: selectable properties and the size of the body."""

    properties: tuple[tuple[str, str], ...] = ()
    body_bytes: int = 0

    def __post_init__(self) -> None:
        for name, value in self.properties:
            if STAMP_MARK in name + value:
                raise WorkloadError(f"property {name}: {value!r} holds {STAMP_MARK!r}, which marks the load's stamps")


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription, on a connection of its own (the paper's test bed, section 3.1)."""

    selector: Selector | None = None


@dataclass(frozen=True)
class Flow:
    """Publishers -> destination -> subscriptions; every publisher sends the templates in turn."""

    destination: Destination
    publishers: int
    templates: tuple[Template, ...]
    subscriptions: tuple[Subscription, ...]

    def __post_init__(self) -> None:
        if self.publishers < 1 or not self.templates:
            raise WorkloadError(
                f"flow to {self.destination.name}: needs at least one publisher and one template, "
                f"got {self.publishers} and {len(self.templates)}"
            )

    @cached_property
    def receivers(self) -> tuple[tuple[int, ...], ...]:
        """Per template, the indices of the subscriptions that must get each of its messages once."""
        selectors = {subscription.selector for subscription in self.subscriptions}
        verdicts = [
            {selector: selector is None or selector.matches(dict(template.properties)) for selector in selectors}
            for template in self.templates
        ]
        return tuple(
            tuple(index for index, subscription in enumerate(self.subscriptions) if matches[subscription.selector])
            for matches in verdicts
        )


@dataclass(frozen=True, slots=True)
class Lane:
    """One publisher's messages of one template; `receivers` are the plan's subscription numbers."""

    number: int
    publisher: int
    template: Template
    destination: Destination
    receivers: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """What should happen in one cell: its flows, under the profile of the run.

    Publishers, subscriptions and lanes are numbered through all flows, in their order. Raises
    WorkloadError where a template reaches nobody: there is then no delivery to give credit for, and
    nothing to conserve.
    """

    experiment: str
    cell: str
    profile: Profile
    flows: tuple[Flow, ...]

    def __post_init__(self) -> None:
        for flow in self.flows:
            for template, receivers in zip(flow.templates, flow.receivers, strict=True):
                if not receivers:
                    raise WorkloadError(
                        f"{self.experiment} {self.cell}: no subscription of {flow.destination.name} matches "
                        f"{dict(template.properties)}; r = 0 is not measured"
                    )

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        lanes: list[Lane] = []
        first_publisher = first_subscription = 0
        for flow in self.flows:
            for publisher in range(flow.publishers):
                for template, receivers in zip(flow.templates, flow.receivers, strict=True):
                    lanes.append(
                        Lane(
                            len(lanes),
                            first_publisher + publisher,
                            template,
                            flow.destination,
                            tuple(first_subscription + index for index in receivers),
                        )
                    )
            first_publisher += flow.publishers
            first_subscription += len(flow.subscriptions)
        return tuple(lanes)

    @property
    def publishers(self) -> int:
        return sum(flow.publishers for flow in self.flows)

    @cached_property
    def subscriptions(self) -> tuple[tuple[Destination, Subscription], ...]:
        return tuple((flow.destination, subscription) for flow in self.flows for subscription in flow.subscriptions)

    @property
    def connections(self) -> int:
        return self.publishers + len(self.subscriptions)

    @cached_property
    def n_fltr(self) -> int:
        """Filters installed, matching ones included (the paper's n_fltr, section 4.5)."""
        return sum(subscription.selector is not None for _, subscription in self.subscriptions)

    @cached_property
    def replication(self) -> float:
        """Copies delivered per message received, averaged over the lanes, which are sent in turn."""
        return sum(len(lane.receivers) for lane in self.lanes) / len(self.lanes)


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment's factors; the id is zero-padded and has no `=`, so that -k can select it."""

    id: str
    factors: Mapping[str, int]


@dataclass(frozen=True)
class Experiment:
    """One question of a throughput study: its grids by level, and the plan that a setting stands for.

    `fits_model` says that n_fltr and r vary independently over the cells, so that B = t_rcv +
    n_fltr t_fltr + r t_tx can be fitted on them.
    """

    name: str
    source: str
    question: str
    grids: Mapping[str, tuple[Cell, ...]]
    flow: Callable[[Cell, str], Flow]
    fits_model: bool = False

    def cells(self, grid: str) -> tuple[Cell, ...]:
        try:
            return self.grids[grid]
        except KeyError:
            raise WorkloadError(
                f"experiment {self.name} has no grid {grid!r}; it has {', '.join(self.grids)}"
            ) from None

    def plan(self, cell: Cell, profile: Profile, destination: str | None = None) -> Plan:
        """The plan of one cell, on a destination of its own so that cells cannot see each other's messages."""
        name = destination or f"bench.{self.name}.{cell.id}"
        return Plan(self.name, cell.id, profile, (self.flow(cell, name),))


def factorial(label: str, **factors: tuple[int, ...]) -> tuple[Cell, ...]:
    """Every combination of the factors' levels; `label` is a format string over the factors' names."""
    cells: list[dict[str, int]] = [{}]
    for name, levels in factors.items():
        cells = [{**cell, name: level} for cell in cells for level in levels]
    return tuple(Cell(label.format(**cell), cell) for cell in cells)
