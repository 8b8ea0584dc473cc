"""The rows of a load that reacts: what they say of themselves, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.file_model import file_model
from workloads.scenario.message import MOST_FIELD, MessageSpec
from workloads.scenario.model import (
    MOST_STEPS,
    Address,
    Driver,
    Handler,
    HandlerSubscription,
    Reply,
    Scenario,
    splitmix64,
    with_receipts,
)
from workloads.scenario.workload import CaseRequest, Text
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import vertical

REQUEST = MessageSpec(0, 0, (0,), (10, 20, 30), persistent=True, transacted=True)
NEWS = MessageSpec(1, 1, (1,), (40, 50, 60), persistent=False, transacted=False)

#: One place asks, another answers with news to a topic that two handlers hear.
HANDLERS = (
    Handler(0, "B1", 0, 0, (0,), (HandlerSubscription(0),), transacted=True, durable=False, answers=(Reply(NEWS),)),
    Handler(1, "A1", 0, 1, (1,), (HandlerSubscription(1),), transacted=False, durable=True, answers=()),
    Handler(2, "A2", 1, 1, (1,), (HandlerSubscription(1),), transacted=False, durable=False, answers=()),
)
DRIVER = Driver(3, "A1", 0, REQUEST, 4.0, 0.5, 1000, ((0, 0), (0, 0)), (2**62, 2**63))
SMALL = Scenario(
    "small",
    ("request", "news"),
    (Destination(DestinationKind.QUEUE, "asked"), Destination(DestinationKind.TOPIC, "told")),
    (Address("B request", 0), Address("A news", 1)),
    HANDLERS,
    (DRIVER,),
)


def test_a_topic_delivers_to_all_and_a_queue_once():
    """Handlers that share a queue compete for its messages; every subscriber of a topic gets a copy."""
    competing = replace(
        SMALL, handlers=(*HANDLERS, replace(HANDLERS[0], number=3)), drivers=(replace(DRIVER, number=4),)
    )

    assert SMALL.fan_out == competing.fan_out == (1, 2)
    assert (SMALL.connections, competing.connections) == (4, 5)


@given(
    topics=st.lists(st.integers(0, 2), min_size=1, max_size=6),
    heard=st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=8),
)
def test_copies_and_rejections_are_those_of_the_selectors(topics, heard):
    """By the addresses of the handlers alone: as many as evaluating every selector on every message finds."""
    addresses = tuple(Address(f"a{number}", to, (("A", f"a{number}"),)) for number, to in enumerate(topics))
    places = [(at % len(topics), filtered) for at, filtered in heard]
    # Without a filter a handler hears a topic that has one address.
    places = [(at, filtered) for at, filtered in places if filtered or topics.count(topics[at]) == 1]
    handlers = tuple(
        replace(
            HANDLERS[0],
            number=number,
            addresses=(at,),
            subscriptions=(HandlerSubscription(topics[at], f"A = 'a{at}'" if filtered else None),),
        )
        for number, (at, filtered) in enumerate(places)
    )
    destinations = tuple(Destination(DestinationKind.TOPIC, f"t{number}") for number in range(3))
    scenario = Scenario(
        "s", ("request", "news"), destinations, addresses, handlers, (replace(DRIVER, number=len(handlers)),)
    )

    def matches(subscription, address):
        return subscription.selector in (None, f"A = '{dict(address.properties)['A']}'")

    for number, address in enumerate(addresses):
        there = [each for one in handlers for each in one.subscriptions if each.destination == address.destination]
        assert scenario.fan_out[number] == sum(matches(each, address) for each in there)
        assert scenario.rejections[number] == sum(not matches(each, address) for each in there)
    assert scenario.filtered == any(each.selector for one in handlers for each in one.subscriptions)


def test_a_queue_has_no_selector():
    """With several matching filters the broker would choose as well."""
    wrong = replace(HANDLERS[0], subscriptions=(HandlerSubscription(0, "A = 'a'"),))

    with pytest.raises(WorkloadError, match="small: queue asked has a selector"):
        replace(SMALL, handlers=(wrong, *HANDLERS[1:]))


def test_the_parties_of_a_handler():
    """The field that chooses its step's address, and the values that choose one of its own."""
    assert SMALL.parties(HANDLERS[1]) == (1, {0})
    assert SMALL.parties(replace(HANDLERS[1], addresses=(0,))) == (1, frozenset())
    assert SMALL.parties(replace(HANDLERS[1], step=2)) == (0, frozenset())


def test_durable_where_a_handler_is():
    """One durable subscription is enough for the broker to need them."""
    assert SMALL.durable
    assert not replace(SMALL, handlers=tuple(replace(one, durable=False) for one in HANDLERS)).durable


@given(start=st.integers(0, 2**30))
def test_a_starts_column_is_its_draw_against_the_limits(start):
    """Below the first limit column 0, below the second 1, else 2: a quarter, a quarter and a half here."""
    draw = splitmix64(1000 + start)

    assert DRIVER.execution(start) == 1000 + start
    assert DRIVER.column(start) == (0 if draw < 2**62 else 1 if draw < 2**63 else 2)


def test_the_draws_are_those_of_splitmix64():
    """The published sequence with seed 0, from its second number on (the first is that of position 1)."""
    assert [splitmix64(position) for position in (1, 2, 3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drivers": (replace(DRIVER, number=5),)}, r"producers are numbered \[0, 1, 2, 5\]...; expected 0, 1, 2"),
        ({"steps": ("one",) * (MOST_STEPS + 1)}, "small: 4 handlers and drivers, 1001 messages; expected at most"),
        ({"drivers": (replace(DRIVER, sender=MOST_FIELD + 1),)}, "more than 100000 locations or product families"),
        ({"drivers": (replace(DRIVER, fields=((0, MOST_FIELD + 1),)),)}, "more than 100000 locations"),
        ({"handlers": (replace(HANDLERS[0], sender=MOST_FIELD + 1), *HANDLERS[1:])}, "more than 100000 locations"),
    ],
)
def test_what_no_message_has_room_for_is_refused(change, words):
    """Before anything runs, with the number."""
    with pytest.raises(WorkloadError, match=words):
        replace(SMALL, **change)
    replace(SMALL, drivers=(replace(DRIVER, sender=MOST_FIELD, fields=((MOST_FIELD, 0),)),))


def test_what_a_killed_broker_has_to_confirm():
    """Each persistent message outside a transaction, by a receipt; a COMMIT says it of the others."""
    pipeline = ROOT / "workloads" / "own" / "pipeline.toml"
    own = file_model(CaseRequest(1, Text.read(pipeline, "pipeline"))).scenario
    transacted = SupplyChain(vertical(1)).scenario

    confirmed = {own.steps[number]: message.receipt for number, message in with_receipts(own).messages.items()}
    assert confirmed == {"received": False, "checked": False, "priced": False, "rejected": True}
    assert with_receipts(transacted) == transacted
