"""The vocabulary of a plan: destinations, message templates, subscriptions, flows, lanes, profiles.

A *lane* is a publisher and a message template; its messages have consecutive sequence numbers from 0 in every
cell. Each subscriber therefore receives each lane that its filter matches without gaps, and no other lane at all:
every loss, duplicate, reordering and wrong delivery is visible without sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workloads.errors import WorkloadError
from workloads.messaging import MOST_BODY_BYTES, AckMode, Destination, DestinationKind
from workloads.selectors import Equals, Selector
from workloads.throughput.load_shape import LoadOverride, SyncPublishers
from workloads.throughput.routing import check_keys, conditions


@dataclass(frozen=True, slots=True)
class Profile:
    """How messages are sent and acknowledged; a fit never combines results of different profiles."""

    name: str
    persistent: bool
    receipts: bool
    ack: AckMode

    @property
    def acknowledged(self) -> bool:
        """Whether subscribers acknowledge."""
        return self.ack is not AckMode.AUTO


#: `paper`: "persistent but non-durable", "explicitly acknowledged by the recipient" (Henjes et al. 2006,
#: sections 2.1 and 4.1; the receipt corresponds to the synchronous JMS send of a persistent message).
#: `today`: the settings with the least overhead.
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("today", persistent=False, receipts=False, ack=AckMode.AUTO),
        Profile("paper", persistent=True, receipts=True, ack=AckMode.CLIENT),
    )
}


#: The name of the correlation id in a selector (JMS 1.1, section 3.4.5).
CORRELATION_ID = "JMSCorrelationID"

#: First character of the stamp that every message carries; it occurs nowhere else in a message.
STAMP_MARK = "~"


@dataclass(frozen=True, slots=True)
class Template:
    """The common part of all messages of a lane: selectable properties, correlation id, size of the body."""

    properties: tuple[tuple[str, str], ...] = ()
    body_bytes: int = 0
    correlation_id: str | None = None

    @property
    def selectable(self) -> dict[str, str]:
        """The values that a selector can refer to, by their names in the selector."""
        correlation = {} if self.correlation_id is None else {CORRELATION_ID: self.correlation_id}
        return dict(self.properties) | correlation

    def __post_init__(self) -> None:
        if not 0 <= self.body_bytes <= MOST_BODY_BYTES:
            raise WorkloadError(f"body: expected 0 to {MOST_BODY_BYTES} bytes, got {self.body_bytes}")
        for name, value in self.selectable.items():
            if STAMP_MARK in name + value:
                raise WorkloadError(f"property {name}: {value!r} holds {STAMP_MARK!r}, which marks the load's stamps")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription; a durable one survives its connection, and is removed at the end of the cell."""

    selector: Selector | None = None
    durable: bool = False


@dataclass(frozen=True)
class Flow:
    """Publishers -> destination -> subscriptions; every publisher sends the templates in turn.

    Each subscription has its own connection (the paper's test bed, section 3.1) unless `per_connection` of them share
    a connection. The subscriptions of a queue compete: each message goes to exactly one of them, and they have no
    filters (with several matching filters the broker would choose as well). Where messages are routed, every
    subscription has a selector that can be a binding, and none is durable.

    A *replayed* flow is a connection that subscribes again and again. The broker keeps, and retains, a message for each
    subscription, and a subscription stands for the copies of its message. A message of the flow's lane is a replay: the
    connection ends its subscription to all of them and begins it again, and the broker sends each of them once.
    """

    destination: Destination
    publishers: int
    templates: tuple[Template, ...]
    subscriptions: tuple[Subscription, ...]
    per_connection: int = 1
    replayed: bool = False

    @property
    def shared(self) -> bool:
        """Whether the subscriptions compete for the messages."""
        return self.destination.kind is DestinationKind.QUEUE

    @cached_property
    def filtered(self) -> bool:
        """Whether subscriptions have selectors."""
        return any(subscription.selector is not None for subscription in self.subscriptions)

    @property
    def repeated(self) -> bool:
        """Whether a connection has equal subscriptions."""
        if self.replayed:  # they are one subscription, to messages that differ
            return False
        named = [(number // self.per_connection, each) for number, each in enumerate(self.subscriptions)]
        return len(set(named)) < len(named)

    @cached_property
    def by_topic(self) -> bool:
        """Whether every message and every filter can have a topic of its own instead of a property and a selector.

        A message then has one property, and every subscription compares it for equality.
        """
        names = {tuple(template.selectable) for template in self.templates}
        wanted = {
            (subscription.selector.name,) if isinstance(subscription.selector, Equals) else None
            for subscription in self.subscriptions
        }
        return len(names) == 1 and names == wanted and CORRELATION_ID not in next(iter(names))

    def __post_init__(self) -> None:
        if self.per_connection < 1:
            raise WorkloadError(f"subscriptions per connection: expected at least 1, got {self.per_connection}")
        if self.shared and any(
            subscription.selector is not None or subscription.durable for subscription in self.subscriptions
        ):
            raise WorkloadError(f"queue {self.destination.name}: its subscriptions have no filter and are not durable")
        if self.publishers < 1 or not self.templates:
            raise WorkloadError(
                f"flow to {self.destination.name}: needs at least one publisher and one template, "
                f"got {self.publishers} and {len(self.templates)}"
            )
        if self.destination.kind.routed:
            self._check_routing()
        if self.replayed and (
            self.destination.kind is not DestinationKind.TOPIC
            or (self.publishers, len(self.templates), self.per_connection) != (1, 1, len(self.subscriptions))
            or set(self.subscriptions) != {Subscription()}
        ):
            raise WorkloadError(
                f"replays of {self.destination.name}: expected a topic, one publisher, one template, and subscriptions "
                "without selectors that share its connection and are not durable"
            )

    def _check_routing(self) -> None:
        """Bindings must select the same messages as the selectors that they replace."""
        name = self.destination.name
        if any(subscription.durable for subscription in self.subscriptions):
            raise WorkloadError(f"{name}: where messages are routed, no subscription is durable")
        if any(template.correlation_id is not None for template in self.templates):
            raise WorkloadError(f"{name}: bindings see properties only; expected messages without a correlation id")
        selectors = {subscription.selector for subscription in self.subscriptions}
        if self.destination.kind is DestinationKind.KEY:
            check_keys([template.properties for template in self.templates], selectors)
        for selector in selectors if self.destination.kind is DestinationKind.HEADERS else ():
            conditions(selector)

    @cached_property
    def receivers(self) -> tuple[tuple[int, ...], ...]:
        """Per template, the indices of the subscriptions that must get each of its messages once."""
        numbers: dict[Selector | None, int] = {}  # of selectors, many of which may be equal
        chosen = [numbers.setdefault(subscription.selector, len(numbers)) for subscription in self.subscriptions]
        found = []
        for template in self.templates:
            properties = template.selectable
            matches = [selector is None or selector.matches(properties) for selector in numbers]
            found.append(tuple(index for index, number in enumerate(chosen) if matches[number]))
        return tuple(found)


#: Publishers of an experiment that is not about them: from about ten on, their number does not matter (Henjes et al.
#: 2006, section 4.1).
PUBLISHERS = 20


def on_topic(
    destination: str,
    templates: tuple[Template, ...],
    subscriptions: tuple[Subscription, ...],
    *,
    publishers: int = PUBLISHERS,
    per_connection: int = 1,
) -> Flow:
    """The flow to a topic of this name."""
    topic = Destination(DestinationKind.TOPIC, destination)
    return Flow(topic, publishers, templates, subscriptions, per_connection)


@dataclass(frozen=True, slots=True)
class Lane:
    """The messages that a publisher sends from a template."""

    number: int
    publisher: int
    template: Template
    destination: Destination
    #: numbers of the plan's subscriptions, each of which gets every message once
    receivers: tuple[int, ...]
    #: exactly one of the receivers gets each message
    shared: bool = False
    #: whether subscriptions of its flow have selectors
    filtered: bool = False
    #: its messages are replays of what the broker retains
    replayed: bool = False

    @property
    def copies(self) -> int:
        """Copies delivered of each message."""
        return 1 if self.shared else len(self.receivers)


@dataclass(frozen=True)
class Plan:
    """What should happen in a cell: its flows, under the profile of the run.

    Publishers, subscriptions and lanes are numbered consecutively over all flows, in their order. Raises
    WorkloadError where no subscription matches a template: then there is no delivery that returns credit, and flow
    conservation is not defined.
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
                        f"{template.selectable}; r = 0 is not measured"
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
                            flow.shared,
                            flow.filtered,
                            flow.replayed,
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

    @cached_property
    def sessions(self) -> tuple[range, ...]:
        """The subscription numbers of each consuming connection."""
        sessions: list[range] = []
        first = 0
        for flow in self.flows:
            end = first + len(flow.subscriptions)
            sessions += [
                range(begin, min(begin + flow.per_connection, end)) for begin in range(first, end, flow.per_connection)
            ]
            first = end
        return tuple(sessions)

    @cached_property
    def replayed(self) -> bool:
        """Whether its messages are replays, which the connections of its subscriptions ask for."""
        return all(flow.replayed for flow in self.flows)

    @property
    def producing(self) -> int:
        """Connections that only publish."""
        return sum(flow.publishers for flow in self.flows if not flow.replayed)

    @property
    def connections(self) -> int:
        return self.producing + len(self.sessions)

    @cached_property
    def n_fltr(self) -> int:
        """Filters installed, matching ones included (the paper's n_fltr, section 4.5); bindings do not count."""
        return sum(
            subscription.selector is not None and not destination.kind.routed
            for destination, subscription in self.subscriptions
        )

    @cached_property
    def replication(self) -> float:
        """Copies delivered per message received, averaged over the lanes, which are sent in turn."""
        return sum(lane.copies for lane in self.lanes) / len(self.lanes)


Factor = int | str


@dataclass(frozen=True)
class Cell:
    """A combination of factor levels; the id is zero-padded and has no `=`, so that -k can select it."""

    id: str
    factors: Mapping[str, Factor]

    def number(self, factor: str) -> int:
        """The level of a factor whose levels are whole numbers."""
        return int(self.factors[factor])


#: The grid whose cells a grid has where an experiment does not state its own.
FOLLOWS: Mapping[str, str] = {"gate": "quick", "paper": "today", "today": "quick"}


@dataclass(frozen=True)
class Experiment:
    """An experiment of the throughput study: its grids, and the plan of each cell."""

    name: str
    #: section of the paper, or other source
    source: str
    question: str
    #: format string of a cell's id over the factors
    label: str
    #: by level: the cells; `smoke` and `quick`, and further ones where they differ from those that they follow
    grids: Mapping[str, tuple[Cell, ...]]
    #: the flow of a cell on a destination of this name, or several
    flow: Callable[[Cell, str], Flow | tuple[Flow, ...]]
    #: n_fltr and r vary independently over the cells, so that B = t_rcv + n_fltr t_fltr + r t_tx can be fitted to
    #: them; or r varies and there are no filters, for B = t_rcv + r t_tx
    fits_model: bool = False
    #: the profile of a cell, derived from that of the run
    profile: Callable[[Cell, Profile], Profile] = lambda _, of_run: of_run
    #: the load shape of a cell; None for the closed loop of the run
    pace: Callable[[Cell], LoadOverride | None] = lambda _: None
    #: its cells share no connections with other cells, because connections are a factor or the cells have their own
    #: load shape
    own_connections: bool = False

    def cells(self, grid: str) -> tuple[Cell, ...]:
        if grid not in self.grids and grid in FOLLOWS:
            return self.cells(FOLLOWS[grid])
        try:
            return self.grids[grid]
        except KeyError:
            raise WorkloadError(
                f"experiment {self.name} has no grid {grid!r}; it has {', '.join(self.grids)}"
            ) from None

    def grid_of(self, levels: Mapping[str, Any]) -> tuple[Cell, ...]:
        """A user's own grid: every combination of the levels given per factor.

        Raises WorkloadError for a factor that the experiment does not have or that is missing, and for levels
        of another type than in its predefined grids.
        """
        known = self._factors
        if unknown := sorted(set(levels) - set(known)):
            raise WorkloadError(f"[{self.name}]: unknown key {unknown[0]!r}; its factors are {', '.join(known)}")
        if missing := [name for name in known if name not in levels]:
            raise WorkloadError(f"[{self.name}]: {missing[0]!r} is missing; its factors are {', '.join(known)}")
        for name, texts in known.items():
            given = levels[name]
            if not isinstance(given, list) or not given or len(set(map(str, given))) < len(given):
                raise WorkloadError(f"[{self.name}] {name}: expected a list of different levels, got {given!r}")
            for level in given:
                if texts and level not in texts:
                    raise WorkloadError(f"[{self.name}] {name}: expected one of {', '.join(texts)}, got {level!r}")
                if not texts and (type(level) is not int or level < 0):
                    raise WorkloadError(f"[{self.name}] {name}: expected a whole number from 0 on, got {level!r}")
        return factorial(self.label, **{name: tuple(levels[name]) for name in known})

    @property
    def _factors(self) -> dict[str, tuple[str, ...]]:
        """The factors by name, each with its levels where these are strings, else with none."""
        cells = [cell for grid in self.grids.values() for cell in grid]
        return {
            name: tuple(dict.fromkeys(level for cell in cells if isinstance(level := cell.factors[name], str)))
            for name in cells[0].factors
        }

    def plan(self, cell: Cell, profile: Profile, destination: str | None = None) -> Plan:
        """The plan of a cell, on a separate destination so that cells cannot receive each other's messages."""
        name = destination or f"bench.{self.name}.{cell.id}"
        own = self.profile(cell, profile)
        if isinstance(self.pace(cell), SyncPublishers) and not own.receipts:
            raise WorkloadError(
                f"{self.name} {cell.id}: publishers that wait for receipts need a profile that has them"
            )
        made = self.flow(cell, name)
        return Plan(self.name, cell.id, own, made if isinstance(made, tuple) else (made,))


def factorial(label: str, **factors: tuple[Factor, ...]) -> tuple[Cell, ...]:
    """Every combination of the factors' levels; `label` is a format string over the factors' names."""
    cells: list[dict[str, Factor]] = [{}]
    for name, levels in factors.items():
        cells = [{**cell, name: level} for cell in cells for level in levels]
    return tuple(Cell(label.format(**cell), cell) for cell in cells)
