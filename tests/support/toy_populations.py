"""A small workload with populations, of no business: readers of news and ticks, and buyers, who order and are answered.

Its laws are as simple as a test can check: member k joins k gaps after the first one, and lives as long as any other.
Workers unpickle it, so that it is in a module of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.messaging import Destination, DestinationKind
from workloads.scenario.message import KEY_PLACE, KeySpace, MessageKey, MessageSpec
from workloads.scenario.model import (
    DESTINATION_PREFIX,
    Address,
    Driver,
    Handler,
    HandlerSubscription,
    Reply,
    Scenario,
)
from workloads.scenario.population import Member, Order, Population, PopulationSubscription

ORDER, ANSWER, NEWS, TICK, NOTE = range(5)
#: Fields of a chain: nothing, the buyer, what the news are about, where it ticks.
ALL, BUYER, ITEM, PLACE = range(4)
READERS, BUYERS = range(2)

MS_NS = 1_000_000
#: Items of news; places are clocks first, then towers.
ITEMS, CLOCKS, TOWERS = 8, 3, 2
#: From a buyer's join to its first order, and to its second one.
ORDERS_MS = (150, 250)
GAP_MS, LIFE_MS, BUYER_GAP_MS, BUYER_LIFE_MS = 50, 1000, 200, 600

BUYER_SPACE = KeySpace(((0, "B"),))
ITEM_SPACE = KeySpace(((0, "I"),))
PLACE_SPACE = KeySpace(((0, "C"), (CLOCKS, "T")))


@dataclass(frozen=True)
class ReaderLaw:
    """Member k joins at (k - initial) gaps, has the keys k and, every second one, two places."""

    connections: int
    places_apart: bool
    initial: int = LIFE_MS // GAP_MS

    def member(self, number: int) -> Member:
        joins_ns = (number - self.initial) * GAP_MS * MS_NS + GAP_MS * MS_NS // 2
        places = (number % CLOCKS, CLOCKS + number % TOWERS) if number % 2 else ()
        found = (places[:1], places[1:]) if self.places_apart else (places,)
        keys = ((number % ITEMS,), *found)
        return Member(number, joins_ns, joins_ns + LIFE_MS * MS_NS, number % self.connections, keys)

    def orders(self, number: int) -> tuple[Order, ...]:
        del number
        return ()


@dataclass(frozen=True)
class BuyerLaw:
    """Session k begins at (k + 1/2) gaps, and sends two orders."""

    initial: int = 0

    def member(self, number: int) -> Member:
        joins_ns = (2 * number + 1) * BUYER_GAP_MS * MS_NS // 2
        return Member(number, joins_ns, joins_ns + BUYER_LIFE_MS * MS_NS, 0, ((number,),))

    def orders(self, number: int) -> tuple[Order, ...]:
        joins_ns = self.member(number).joins_ns
        return tuple(
            Order(joins_ns + at_ms * MS_NS, 1 << 60 | 2 * number + index, number, (0, number, 0, 0))
            for index, at_ms in enumerate(ORDERS_MS)
        )


def toy_scenario(*, by_topic: bool = False, connections: int = 3, per_s: float = 100.0) -> Scenario:
    """The scenario. Keys are in the names of topics, or in headers that selectors compare."""
    place = KEY_PLACE if by_topic else "all"
    destinations = (
        Destination(DestinationKind.QUEUE, f"{DESTINATION_PREFIX}.toy.orders"),
        *(
            Destination(DestinationKind.TOPIC, f"{DESTINATION_PREFIX}.toy.{place}.{word}")
            for word in ("answer", "news", "tick")
        ),
        Destination(DestinationKind.TOPIC, f"{DESTINATION_PREFIX}.toy.archive"),
    )

    def header(name: str) -> str | None:
        return None if by_topic else name

    buyer = MessageKey(BUYER, header("Buyer"), BUYER_SPACE)
    item = MessageKey(ITEM, header("Item"), ITEM_SPACE)
    spot = MessageKey(PLACE, header("Place"), PLACE_SPACE)
    orders = MessageSpec(ORDER, ALL, (0,), (50,), persistent=True, transacted=False)
    answers = MessageSpec(ANSWER, ALL, (1,), (20,), persistent=True, transacted=False, key=buyer, receipt=True)
    news = MessageSpec(NEWS, ALL, (2,), (30,), persistent=True, transacted=False, key=item, receipt=True)
    ticks = MessageSpec(TICK, ALL, (3,), (10,), persistent=False, transacted=False, key=spot, receipt=True)
    notes = MessageSpec(NOTE, ALL, (4,), (20,), persistent=True, transacted=False)
    places = (PopulationSubscription((TICK,), 3, header("Place"), PLACE_SPACE),) * (2 if by_topic else 1)
    return Scenario(
        "toy",
        ("order", "answer", "news", "tick", "note"),
        destinations,
        tuple(Address(word, number) for number, word in enumerate(("orders", "answers", "news", "ticks", "archive"))),
        (
            Handler(
                0,
                "shop",
                0,
                ORDER,
                (0,),
                (HandlerSubscription(0),),
                transacted=False,
                durable=False,
                answers=(Reply(answers), Reply(notes)),
            ),
            Handler(
                1,
                "archive",
                1,
                NOTE,
                (4,),
                (HandlerSubscription(4),),
                transacted=False,
                durable=False,
                answers=(),
            ),
        ),
        (
            Driver(2, "press", 2, news, per_s, 0.5, 1000, tuple((0, 0, item, 0) for item in range(ITEMS)), ()),
            Driver(
                3, "time", 3, ticks, per_s, 0.25, 10**6, tuple((0, 0, 0, spot) for spot in range(CLOCKS + TOWERS)), ()
            ),
        ),
        (
            Population(
                "readers",
                (PopulationSubscription((NEWS,), 2, header("Item"), ITEM_SPACE), *places),
                connections,
                ReaderLaw(connections, by_topic),
            ),
            Population(
                "buyers",
                (PopulationSubscription((ANSWER,), 1, header("Buyer"), BUYER_SPACE),),
                4,
                BuyerLaw(),
                outgoing=orders,
            ),
        ),
    )
