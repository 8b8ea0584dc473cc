"""What a plan and an execution promise, spelled out message by message: slower than the source, and without its ranges,
tables and arrays, which the tests compare with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from workloads.scenario.execution import Execution
from workloads.scenario.model import Scenario
from workloads.supply_chain.interactions import INTERACTIONS, Participant, Role
from workloads.supply_chain.supply_chain import SupplyChain


def expected_pairs(record: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """(lane, subscription) pairs of a plan.json entry between which messages may pass."""
    for group in record["lanes"]:
        for index in range(group["count"]):
            lane = group["first"] + index * group["step"]
            for first, last in group["receivers"]:
                for subscription in range(first, last + 1):
                    yield lane, subscription


class Count(NamedTuple):
    """Messages of one step in an execution; a message on a topic is received once by each subscriber."""

    sent: int
    received: int


def parties_of(model: SupplyChain, execution: Execution) -> dict[Participant, int]:
    """The value of each party in an execution, 0 for one that does not take part: the fields of its chain."""
    return dict(zip(Participant, model.started(execution).fields, strict=True))


def counts(model: SupplyChain, execution: Execution) -> dict[str, Count]:
    """Messages of each step in this execution: one of each of its senders, a copy for each location that receives."""
    topology, parties = model.topology, parties_of(model, execution)
    copies = {Participant.SUPERMARKETS: topology.locations[Role.SM]}
    if topology.families:
        copies[Participant.SUPPLIERS] = len(topology.suppliers_of[parties[Participant.SUPPLIERS]])
    found = {}
    for step in INTERACTIONS[execution.interaction].steps:
        sent = copies[step.sender] if step.sender is Participant.SUPPLIERS else 1
        found[step.message] = Count(sent, sent * copies.get(step.receiver, 1))
    return found


def copies_of_members(
    scenario: Scenario, subscribed: Iterable[Mapping[str, Any]], sent: Iterable[Mapping[str, Any]], margin_ns: int
) -> tuple[set[tuple[int, int, int]], set[tuple[int, int, int]]]:
    """Copies by (producer, position, subscription) that must come to members of populations, and those that may.

    subscribed, sent: rows of these tables · margin_ns: before a leave, in which a message may come or not
    """
    subscriptions = defaultdict(list)
    for row in subscribed:
        for step in scenario.populations[row["population"]].subscriptions[row["place"]].steps:
            for key in {row["key"], row["second_key"]} - {None}:
                subscriptions[step, key].append(row)
    must, may = set(), set()
    for message in sent:
        for row in subscriptions[message["step"], message["key"]] if message["key"] is not None else ():
            copy = message["producer"], message["position"], row["subscription"]
            if row["subscribe_ns"] is None:
                continue
            if row["joined_ns"] <= message["sent_ns"] and message["settled_ns"] <= row["unsubscribe_ns"] - margin_ns:
                must.add(copy)
            elif message["settled_ns"] >= row["subscribe_ns"] and message["sent_ns"] <= row["left_ns"]:
                may.add(copy)
    return must, may
