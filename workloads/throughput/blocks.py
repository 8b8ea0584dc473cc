"""Which cells are laid out on a broker together: blocks of cells, their shared connections, and the anchors.

Only one cell of a block is loaded at a time, so its cells can share connections: publisher p of every cell uses the
same connection, and so does the i-th consumer of every cell. Lanes and subscriptions are numbered consecutively over
the whole block, so that no copy can be mistaken for another cell's. Cells of different profiles share a block: how a
message is sent and acknowledged is set per cell, and cells are comparable because they share the levels of rounds.

Pure: nothing here knows a broker, a socket or a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby

from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.schema import ANCHOR
from workloads.throughput.flow import Flow, Lane, Plan, Profile, Subscription, Template
from workloads.throughput.load_shape import LoadOverride

#: Smallest number of cells in a block: the level of a round is estimated from all of them.
FEWEST_CELLS = 6

#: Number of anchors in each block of a start that has several blocks.
FEWEST_ANCHORS = 3

#: Replication grades of the anchors, in the order in which they are taken: the first three span the costs of a message
#: and of a copy. Without filters, so that every broker can run them.
ANCHOR_GRADES = (1, 5, 10, 2, 20)

ANCHOR_PUBLISHERS = 20


@dataclass(frozen=True, slots=True)
class BlockCell:
    """A cell as it is laid out."""

    plan: Plan
    #: the load shape that replaces the closed loop of the run; None where nothing does
    pace: LoadOverride | None = None
    #: it shares no connections with other cells, because connections are its factor or it has its own load shape
    own_connections: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """(experiment, cell)."""
        return self.plan.experiment, self.plan.cell

    @property
    def durable(self) -> bool:
        """Whether it has durable subscriptions."""
        return any(subscription.durable for _, subscription in self.plan.subscriptions)


@dataclass(frozen=True)
class Block:
    """Cells that are laid out together.

    In the block, the lanes, subscriptions and publishers of cell k are numbered from first_lane[k],
    first_subscription[k] and first_publisher[k] on, in the order of its plan.
    """

    #: index of the block in its start, from 0
    number: int
    cells: tuple[BlockCell, ...]

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        return tuple(cell.plan for cell in self.cells)

    @property
    def own_connections(self) -> bool:
        """Whether the cells share no connections."""
        return self.cells[0].own_connections

    @cached_property
    def whole(self) -> Plan:
        """All flows as one plan, whose lanes and subscriptions have the block's numbers."""
        flows = tuple(flow for plan in self.plans for flow in plan.flows)
        return Plan("block", str(self.number), self.plans[0].profile, flows)

    @cached_property
    def first_lane(self) -> tuple[int, ...]:
        return _first(len(plan.lanes) for plan in self.plans)

    @cached_property
    def first_subscription(self) -> tuple[int, ...]:
        return _first(len(plan.subscriptions) for plan in self.plans)

    @property
    def subscriptions(self) -> int:
        return sum(len(plan.subscriptions) for plan in self.plans)

    @cached_property
    def producing_from(self) -> tuple[int, ...]:
        """Per cell, the connection of its first publisher; the others follow."""
        return self._connections_from([plan.producing for plan in self.plans])

    @cached_property
    def consuming_from(self) -> tuple[int, ...]:
        """Per cell, the connection of its first consumer; the others follow."""
        return self._connections_from([len(plan.sessions) for plan in self.plans])

    @cached_property
    def producing(self) -> int:
        """Connections that publish."""
        return max(first + plan.producing for first, plan in zip(self.producing_from, self.plans, strict=True))

    @cached_property
    def consuming(self) -> tuple[tuple[int, ...], ...]:
        """Per consuming connection the subscriptions on it, by their numbers in the block."""
        connections: dict[int, list[int]] = {}
        firsts = zip(self.plans, self.consuming_from, self.first_subscription, strict=True)
        for plan, first_connection, first_subscription in firsts:
            for index, session in enumerate(plan.sessions):
                on_it = connections.setdefault(first_connection + index, [])
                on_it += [first_subscription + number for number in session]
        return tuple(tuple(connections[number]) for number in sorted(connections))

    @cached_property
    def connections(self) -> int:
        consuming = max(first + len(plan.sessions) for first, plan in zip(self.consuming_from, self.plans, strict=True))
        return self.producing + consuming

    def lanes(self, cell: int, publisher: int) -> tuple[Lane, ...]:
        """The lanes of a cell's publisher, as its plan numbers them."""
        return self._lanes[cell].get(publisher, ())

    @cached_property
    def _lanes(self) -> tuple[Mapping[int, tuple[Lane, ...]], ...]:
        return tuple(
            {number: tuple(lanes) for number, lanes in groupby(plan.lanes, key=lambda lane: lane.publisher)}
            for plan in self.plans
        )

    def _connections_from(self, counts: Sequence[int]) -> tuple[int, ...]:
        return _first(counts) if self.own_connections else (0,) * len(counts)


def _first(counts: Iterable[int]) -> tuple[int, ...]:
    """The first index of each group when groups of these sizes are numbered consecutively from 0."""
    return tuple(accumulate(counts, initial=0))[:-1]


def anchor(replication: int, profile: Profile) -> BlockCell:
    """A cell that is measured only to estimate the level of its rounds."""
    flow = Flow(
        Destination(DestinationKind.TOPIC, f"bench.{ANCHOR}.r{replication:03d}"),
        ANCHOR_PUBLISHERS,
        (Template((("ID", "#0"),)),),
        (Subscription(),) * replication,
    )
    return BlockCell(Plan(ANCHOR, f"r{replication:03d}", profile, (flow,)))


def compose(cells: Sequence[BlockCell], budget: int, profile: Profile) -> tuple[Block, ...]:
    """The blocks of a start; each cell is in exactly one of them.

    Cells with durable subscriptions, and cells that share no connections, are in separate blocks. The cells of a kind
    are dealt out by size, so that every block has small and large ones. Where there are several blocks, each has the
    same anchors; a block of fewer than FEWEST_CELLS cells is filled up with anchors.

    cells: all cells of the start
    budget: largest number of subscriptions in a block, anchors not counted
    profile: profile of the anchors

    Raises WorkloadError for a cell that is larger than the budget.
    """
    groups: list[list[BlockCell]] = []
    ordered = sorted(cells, key=lambda cell: (cell.own_connections, cell.durable, cell.key))
    for _, group in groupby(ordered, key=lambda cell: (cell.own_connections, cell.durable)):
        groups += _dealt(list(group), budget)
    least = FEWEST_ANCHORS if len(groups) > 1 else 0
    return tuple(
        Block(number, (*group, *_anchors(max(least, FEWEST_CELLS - len(group)), group[0], profile)))
        for number, group in enumerate(groups)
    )


def _anchors(count: int, example: BlockCell, profile: Profile) -> list[BlockCell]:
    grades = ANCHOR_GRADES[: min(count, len(ANCHOR_GRADES))]
    return [BlockCell(anchor(grade, profile).plan, None, example.own_connections) for grade in grades]


def _dealt(cells: list[BlockCell], budget: int) -> list[list[BlockCell]]:
    """The cells in as few blocks as the budget allows, dealt out from the largest, alternately forth and back.

    Cells of several experiments with the same name and size, which claims compare, are dealt out together where the
    budget allows that, so that they have the same company.
    """
    for cell in cells:
        if len(cell.plan.subscriptions) > budget:
            raise WorkloadError(
                f"{cell.plan.experiment} {cell.plan.cell}: {len(cell.plan.subscriptions)} subscriptions, "
                f"this broker is given at most {budget} at once: choose a smaller grid, or a larger heap if that is an "
                "option of the broker"
            )
    by_size = sorted(cells, key=lambda cell: (-len(cell.plan.subscriptions), cell.plan.cell, cell.key))
    variants = [list(of) for _, of in groupby(by_size, key=lambda cell: (len(cell.plan.subscriptions), cell.plan.cell))]
    fewest = max(1, -(-sum(len(cell.plan.subscriptions) for cell in cells) // budget))
    for count in range(fewest, len(cells) + 1):
        for units in (variants, [[cell] for cell in by_size]):
            dealt: list[list[BlockCell]] = [[] for _ in range(count)]
            for index, unit in enumerate(units):
                turn, at = divmod(index, count)
                dealt[at if turn % 2 == 0 else count - 1 - at] += unit
            if all(dealt) and all(sum(len(cell.plan.subscriptions) for cell in block) <= budget for block in dealt):
                return dealt
    raise AssertionError("a block for each cell is always within the budget")
