"""Which cells are laid out together: all of them, within the budget, and numbered so that no copy can be mistaken."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.schema import ANCHOR
from workloads.selectors import Equals
from workloads.throughput.blocks import ANCHOR_GRADES, FEWEST_ANCHORS, FEWEST_CELLS, Block, BlockCell, compose
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template

TODAY = PROFILES["today"]


@st.composite
def flows(draw, name, *, durable=False):
    """A topic with some filters, or a queue; subscriptions that share connections."""
    count = draw(st.integers(1, 7))
    publishers, per_connection = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    if not durable and draw(st.booleans()):
        queue = Destination(DestinationKind.QUEUE, name)
        return Flow(queue, publishers, (Template(),), (Subscription(),) * count, per_connection)
    templates = tuple(Template((("P", value),)) for value in draw(st.sampled_from(["a", "ab", "abc"])))
    wanted = st.sampled_from([None, *(Equals("P", value) for value in "abcd")])
    subscriptions = [Subscription(draw(wanted), durable) for _ in range(count)]
    topic = Destination(DestinationKind.TOPIC, name)
    return Flow(topic, publishers, templates, (*subscriptions, Subscription(None, durable)), per_connection)


@st.composite
def block_cells(draw, number=0):
    durable = draw(st.sampled_from([False, False, True]))
    parts = [draw(flows(f"t.{number}.{part}", durable=durable)) for part in range(draw(st.integers(1, 2)))]
    profile = PROFILES[draw(st.sampled_from(sorted(PROFILES)))]
    plan = Plan(draw(st.sampled_from("xyz")), f"c{number:03d}", profile, tuple(parts))
    return BlockCell(plan, None, draw(st.sampled_from([False, False, True])))


@st.composite
def cell_lists(draw, most=12):
    return [draw(block_cells(number)) for number in range(draw(st.integers(1, most)))]


BLOCKS = cell_lists(5).flatmap(
    lambda cells: st.booleans().map(
        lambda own: Block(3, tuple(BlockCell(cell.plan, cell.pace, own_connections=own) for cell in cells))
    )
)


def size(cell):
    return len(cell.plan.subscriptions)


# --- which cells are together --------------------------------------------------------------------------------------


def laid_out(cells, budget):
    blocks = compose(cells, budget, TODAY)
    return blocks, [[cell for cell in block.cells if cell.plan.experiment != ANCHOR] for block in blocks]


@given(cells=cell_lists(), budget=st.integers(16, 60))
def test_every_cell_is_in_one_block_within_the_budget(cells, budget):
    """No cell is left out or measured twice, and no block has more on the broker than that can bear."""
    blocks, parts = laid_out(cells, budget)

    assert Counter(cell.key for part in parts for cell in part) == Counter(cell.key for cell in cells)
    assert [block.number for block in blocks] == list(range(len(blocks)))
    for part in parts:
        assert sum(map(size, part)) <= budget
        assert len({cell.own_connections for cell in part}) == 1
        assert len({cell.durable for cell in part}) == 1


@given(cells=cell_lists(), budget=st.integers(16, 60))
def test_all_blocks_of_a_start_share_their_anchors(cells, budget):
    """Three at least where there are several; where a block has few cells, so many that it has six. Sent alike."""
    blocks, parts = laid_out(cells, budget)

    for block, part in zip(blocks, parts, strict=True):
        anchors = block.cells[len(part) :]
        few = max(0, FEWEST_CELLS - len(part))
        assert len(anchors) == max(few, FEWEST_ANCHORS if len(blocks) > 1 else 0)
        assert [cell.plan.cell for cell in anchors] == [f"r{grade:03d}" for grade in ANCHOR_GRADES[: len(anchors)]]
        assert [cell.plan.replication for cell in anchors] == list(ANCHOR_GRADES[: len(anchors)])
        assert all(cell.plan.n_fltr == 0 and cell.plan.profile == TODAY and cell.pace is None for cell in anchors)
        assert {cell.plan.experiment for cell in anchors} <= {ANCHOR}
        assert {cell.own_connections for cell in anchors} <= {block.own_connections}
        assert len({cell.key for cell in block.cells}) == len(block.cells)


@given(cells=cell_lists(), budget=st.integers(16, 60), data=st.data())
def test_blocks_do_not_depend_on_the_order_of_the_cells(cells, budget, data):
    """A run can be repeated, however its cells were collected."""
    assert compose(data.draw(st.permutations(cells)), budget, TODAY) == compose(cells, budget, TODAY)


@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=20), budget=st.integers(20, 80))
def test_there_are_about_as_few_blocks_as_the_budget_allows(sizes, budget):
    """Each costs connections and a round of its own; and each has large and small cells."""
    cells = [BlockCell(plan_of(f"c{number:02d}", count)) for number, count in enumerate(sizes)]
    _, parts = laid_out(cells, budget)

    fewest = -(-sum(sizes) // budget)
    assert fewest <= len(parts) <= 2 * fewest + 1
    counts = [len(part) for part in parts]
    assert max(counts) - min(counts) <= 1


def plan_of(name, subscriptions, publishers=2, per_connection=1, experiment="e"):
    topic = Destination(DestinationKind.TOPIC, f"{experiment}.{name}")
    flow = Flow(topic, publishers, (Template(),), (Subscription(),) * subscriptions, per_connection)
    return Plan(experiment, name, TODAY, (flow,))


def test_variants_of_a_cell_share_a_block():
    """What claims compare has the same company, in two blocks as in four; where that is too much, blocks stay few."""
    sizes = {"large": 12, "middle": 8, "small": 4, "least": 2}
    cells = [BlockCell(plan_of(name, size, experiment=of)) for name, size in sizes.items() for of in ("one", "other")]

    for budget, count in ((30, 2), (24, 3)):
        _, parts = laid_out(cells, budget)
        assert len(parts) == count
        assert all(
            Counter(cell.plan.cell for cell in part) == dict.fromkeys({cell.plan.cell for cell in part}, 2)
            for part in parts
        )
    assert max(sum(map(size, part)) for part in laid_out(cells, 20)[1]) <= 20


def test_a_cell_that_is_larger_than_the_budget_is_refused():
    """It cannot be measured on this broker: the text has its size and the limit."""
    cells = [BlockCell(plan_of("small", 3)), BlockCell(plan_of("large", 31))]

    with pytest.raises(WorkloadError, match="e large: 31 subscriptions, this broker is given at most 30"):
        compose(cells, 30, TODAY)


def test_all_that_fits_is_one_block():
    """Without anchors, where there are cells enough to tell a level by; where nothing is measured there is no block."""
    cells = [BlockCell(plan_of(f"c{number}", 5)) for number in range(FEWEST_CELLS)]

    (block,) = compose(cells, 30, TODAY)

    assert block.cells == tuple(cells)
    assert compose([], 30, TODAY) == ()


# --- how a block is numbered ---------------------------------------------------------------------------------------


@given(block=BLOCKS)
def test_lanes_and_subscriptions_are_numbered_through_the_block(block):
    """Each number is one of one cell, and stands in the block for what it stands for there."""
    whole = block.whole
    assert block.subscriptions == len(whole.subscriptions)
    for plan, lane_from, subscription_from in zip(block.plans, block.first_lane, block.first_subscription, strict=True):
        end = subscription_from + len(plan.subscriptions)
        assert whole.subscriptions[subscription_from:end] == plan.subscriptions
        for lane in plan.lanes:
            there = whole.lanes[lane_from + lane.number]
            assert there.number == lane_from + lane.number
            assert (there.destination, there.template, there.shared) == (lane.destination, lane.template, lane.shared)
            assert there.receivers == tuple(subscription_from + receiver for receiver in lane.receivers)
    assert len(whole.lanes) == sum(len(plan.lanes) for plan in block.plans)


@given(block=BLOCKS)
def test_every_lane_is_its_publishers(block):
    """In the numbers of its plan, in turn; a publisher that there is not has none."""
    for number, plan in enumerate(block.plans):
        lanes = [lane for publisher in range(plan.publishers) for lane in block.lanes(number, publisher)]
        assert tuple(lanes) == plan.lanes
        assert all(lane.publisher == each for each in range(plan.publishers) for lane in block.lanes(number, each))
        assert block.lanes(number, plan.publishers) == ()


@given(block=BLOCKS)
def test_every_subscription_is_on_one_connection(block):
    """With those that its plan puts it together with; and a cell's publishers follow each other."""
    assert sorted(chain.from_iterable(block.consuming)) == list(range(block.subscriptions))
    assert block.connections == block.producing + len(block.consuming)
    for number, plan in enumerate(block.plans):
        first = block.first_subscription[number]
        for place, session in enumerate(plan.sessions):
            there = block.consuming[block.consuming_from[number] + place]
            of_cell = [each - first for each in there if first <= each < first + len(plan.subscriptions)]
            assert of_cell == list(session)
        assert 0 <= block.producing_from[number] <= block.producing - plan.publishers


@given(block=BLOCKS)
def test_cells_share_connections_unless_they_have_their_own(block):
    """Publisher p and consumer i of every cell are on the same connections; or none is on another cell's."""
    if block.own_connections:
        assert block.producing == sum(plan.publishers for plan in block.plans)
        assert len(block.consuming) == sum(len(plan.sessions) for plan in block.plans)
    else:
        assert block.producing == max(plan.publishers for plan in block.plans)
        assert len(block.consuming) == max(len(plan.sessions) for plan in block.plans)
        assert set(block.producing_from) == set(block.consuming_from) == {0}
