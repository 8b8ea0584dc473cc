"""The words on disk: the schema of the tables, and the plan as the audit reads it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.oracles import expected_pairs
from tests.support.run_directories import plan_entry
from workloads.arrivals import ArrivalProcess
from workloads.messaging import Destination, DestinationKind
from workloads.schema import KEYS, LAYOUT_KEYS, TABLES, WORKLOAD_TABLES, ColumnType
from workloads.selectors import Equals
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template
from workloads.throughput.load_shape import AtCapacity, ShareOfCapacity, SyncPublishers

#: Subscriptions that some templates match and some do not, so that receivers have gaps.
SUBSCRIPTIONS = st.sampled_from([Subscription(), *(Subscription(Equals("P", value)) for value in "abc")])
TEMPLATES = st.sampled_from([Template((("P", value),)) for value in "abc"])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    flows = []
    for number in range(draw(st.integers(1, 3))):
        templates = draw(st.lists(TEMPLATES, min_size=1, max_size=4))
        subscriptions = draw(st.permutations([*draw(st.lists(SUBSCRIPTIONS, max_size=8)), Subscription()]))
        kind = draw(st.sampled_from(DestinationKind))
        if kind is DestinationKind.QUEUE:
            subscriptions = [Subscription()] * len(subscriptions)
        if kind.routed:  # what is not bound gets nothing
            everything = [Subscription(Equals(*template.properties[0])) for template in templates]
            subscriptions = [*(subscription for subscription in subscriptions if subscription.selector), *everything]
        target = Destination(kind, f"flow.{number}")
        sizes = draw(st.integers(1, 4)), draw(st.integers(1, 5))
        flows.append(Flow(target, sizes[0], tuple(templates), tuple(subscriptions), sizes[1]))
    return Plan("experiment", "cell", PROFILES["paper"], tuple(flows))


@given(plan=plans())
def test_the_record_expects_what_the_plan_expects(plan):
    """From plan.json come exactly the pairs of lane and subscription that the plan has, each once."""
    record = json.loads(json.dumps(plan_entry(plan)))

    pairs = list(expected_pairs(record))

    assert sorted(pairs) == sorted((lane.number, receiver) for lane in plan.lanes for receiver in lane.receivers)


@given(plan=plans())
def test_the_record_describes_the_plan(plan):
    """What the fit and the tables need stands beside the lanes, and what a caller adds."""
    record = plan_entry(plan, factors={"r": 1})

    assert record["experiment"] == "experiment"
    assert record["cell"] == "cell"
    assert record["profile"] == "paper"
    assert record["publishers"] == plan.publishers
    assert record["subscriptions"] == len(plan.subscriptions)
    assert record["n_fltr"] == plan.n_fltr
    assert record["replication"] == plan.replication
    assert record["factors"] == {"r": 1}
    assert record["connections"] == plan.connections == plan.publishers + len(plan.sessions)
    assert record["fits_model"] is False
    assert record["pace"] is None
    assert sum(group["count"] for group in record["lanes"]) == len(plan.lanes)
    shared = {
        group["first"] + place * group["step"]: group["shared"]
        for group in record["lanes"]
        for place in range(group["count"])
    }
    assert shared == {lane.number: lane.shared for lane in plan.lanes}


@pytest.mark.parametrize(
    ("pace", "words"),
    [
        (None, None),
        (SyncPublishers(2), "receipt, 2 in flight per publisher"),
        (ShareOfCapacity(95, ArrivalProcess.CONSTANT), "95 % of capacity, constant arrivals"),
        (AtCapacity(), "capacity, sent singly"),
    ],
)
def test_the_record_says_what_a_cell_departed_in(pace, words):
    """Pace in words, and the factors as they are: numbers stay numbers, and words words, also in JSON."""
    flow = Flow(Destination(DestinationKind.TOPIC, "t"), 1, (Template(),), (Subscription(),))
    factors = {"percent": 95, "arrivals": "constant"}
    record = plan_entry(Plan("e", "c", PROFILES["today"], (flow,)), fits_model=True, factors=factors, pace=pace)

    assert json.loads(json.dumps(record)) == record
    assert (record["pace"], record["factors"], record["fits_model"]) == (words, factors, True)


def test_the_record_of_a_large_plan_is_small():
    """Thousands of subscriptions and lanes that share receivers take a few numbers, not millions."""
    flow = Flow(
        Destination(DestinationKind.TOPIC, "large"),
        1000,
        (Template((("P", "a"),)),),
        (Subscription(Equals("P", "a")),) * 4000 + (Subscription(Equals("P", "b")),) * 1000,
    )

    assert len(json.dumps(plan_entry(Plan("e", "c", PROFILES["today"], (flow,))))) < 1000


#: What a row of a table belongs to: a slice or its parts, a whole layout, a cell of a workload.
FIRST = (
    dict.fromkeys(TABLES, (*KEYS, *LAYOUT_KEYS))
    | {"layouts": (*KEYS[:2], *LAYOUT_KEYS)}
    | {name: KEYS for name in WORKLOAD_TABLES if name not in TABLES}
)
EVERY = {**WORKLOAD_TABLES, **TABLES}


@pytest.mark.parametrize("table", EVERY)
def test_every_table_has_the_keys_first(table):
    """All tables join on the same columns, and no column is there twice or without a meaning."""
    columns = EVERY[table]
    names = [column.name for column in columns]

    assert columns[: len(FIRST[table])] == FIRST[table]
    assert len(set(names)) == len(names)
    assert all(column.meaning for column in columns)
    assert not any(column.nullable for column in FIRST[table])


def test_the_keys_are_fixed():
    """Analyses of others join on them."""
    assert [column.name for column in KEYS] == ["broker", "start", "experiment", "cell"]
    assert [column.name for column in LAYOUT_KEYS] == ["layout", "block"]
    assert WORKLOAD_TABLES["samples"][: len(KEYS)] == KEYS


@pytest.mark.parametrize("table", TABLES)
def test_instants_and_sizes_are_whole_numbers(table):
    """Times are int64 ns and sizes int64 bytes, never timestamps or floats; the unit is in the name."""
    for column in TABLES[table]:
        if column.name.endswith(("_ns", "_bytes", "_seq")):
            assert column.type is ColumnType.INT64, column.name


def test_a_run_says_what_the_audit_needs():
    """Deliveries hold the runs of the lane audit, in the order of arrival; sends what was wholly written."""
    deliveries = [column.name for column in TABLES["deliveries"]]
    sends = [column.name for column in TABLES["sends"]]

    assert {"subscription", "lane", "arrival", "first_seq", "last_seq", "first_ns", "last_ns"} <= set(deliveries)
    assert {"lane", "first_seq", "last_seq"} <= set(sends)
