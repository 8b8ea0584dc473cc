"""What of a plan a broker cannot do, from its row alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workloads.capabilities import PLAIN_ACK_MODES, Capabilities, Transactions
from workloads.json_value import json_value
from workloads.messaging import AckMode, Destination, DestinationKind
from workloads.scenario.applicability import missing_capability_of_scenario
from workloads.scenario.model import Consumption, with_receipts
from workloads.selectors import And, Between, Equals, Like, Or
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import vertical
from workloads.throughput.applicability import missing_capability
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template

ACK_MODES = PLAIN_ACK_MODES | {AckMode.EXACTLY_ONCE}
EVERYTHING = Capabilities(frozenset(DestinationKind), ack_modes=ACK_MODES, durable=True, one_ahead=True)
MATCHING = Equals("P", "a")


def plan(kind=DestinationKind.TOPIC, subscription=None, ack=AckMode.AUTO, *, receipts=False):
    routed = Subscription(MATCHING) if kind.routed else Subscription()
    flow = Flow(Destination(kind, "d"), 1, (Template((("P", "a"),)),), (subscription or routed,) * 3)
    return Plan("e", "c", replace(PROFILES["today"], ack=ack, receipts=receipts), (flow,))


PLANS = {
    **{kind.value: plan(kind) for kind in DestinationKind},
    "filter": plan(subscription=Subscription(MATCHING)),
    "no topic": plan(subscription=Subscription(Like("P", "a%"))),
    "numbers": plan(subscription=Subscription(Or((MATCHING, And((MATCHING, Between("P", 1, 2))))))),
    "lasting filter": plan(subscription=Subscription(Like("P", "a%"), durable=True)),
    "repeated": Plan("e", "c", PROFILES["today"], (replace(plan().flows[0], per_connection=3),)),
    "durable": plan(subscription=Subscription(durable=True)),
    "receipts": plan(receipts=True),
    **{ack.value: plan(ack=ack) for ack in AckMode},
}


def without(kind):
    return {"destinations": EVERYTHING.destinations - {kind}}


NO_TOPICS = ("no topic", "numbers", "lasting filter")
FILTERED = ("filter", *NO_TOPICS)
ON_A_TOPIC = (*FILTERED, "repeated", "durable", "receipts")
NO_TOPIC_FILTER = "filters are topics, which can only stand for name = 'value' on the messages' only property"
NO_TRANSACTION = "no acknowledgement in a transaction (transactions: {})"

#: What a broker lacks, and the plans that it cannot run, with the reason.
LACKING = [
    ({}, {}),
    (
        without(DestinationKind.TOPIC),
        dict.fromkeys(("topic", *ON_A_TOPIC, *AckMode), "no topics"),
    ),
    (without(DestinationKind.QUEUE), {"queue": "no queues"}),
    (without(DestinationKind.KEY), {"key": "no routing by key"}),
    (without(DestinationKind.HEADERS), {"headers": "no routing by headers"}),
    ({"queue_ack_modes": frozenset()}, {"queue": "no acknowledgement mode auto on queues"}),
    ({"selectors": False}, dict.fromkeys(FILTERED, "no filters on subscriptions")),
    ({"selectors": False, "topic_filters": True}, dict.fromkeys(NO_TOPICS, NO_TOPIC_FILTER)),
    ({"numeric_selectors": False}, {"numbers": "no filters that compare numbers"}),
    ({"prepared_selectors": True}, {"lasting filter": "no filters on topics with durable subscriptions"}),
    ({"repeated": False}, {"repeated": "no second subscription of a connection to the same messages"}),
    ({"durable": False}, dict.fromkeys(("durable", "lasting filter"), "no durable subscriptions")),
    ({"receipts": False}, {"receipts": "no confirmation of messages"}),
    *(
        ({"transactions": kind}, {AckMode.TRANSACTED: NO_TRANSACTION.format(kind.value)})
        for kind in Transactions
        if kind is not Transactions.FULL
    ),
    *(
        ({"ack_modes": EVERYTHING.ack_modes - {mode}}, {mode: f"no acknowledgement mode {mode.value}"})
        for mode in (AckMode.CLIENT, AckMode.CLIENT_INDIVIDUAL, AckMode.EXACTLY_ONCE)
    ),
    (
        {"ack_modes": EVERYTHING.ack_modes - {AckMode.AUTO}},
        dict.fromkeys(
            (*DestinationKind, *ON_A_TOPIC, AckMode.AUTO),
            "no acknowledgement mode auto",
        ),
    ),
]


@pytest.mark.parametrize(("changes", "refused"), LACKING)
def test_what_a_plan_needs(changes, refused):
    """The reason is said in words; a plan that needs nothing of it is met, and a row with everything meets all."""
    row = replace(EVERYTHING, **changes)

    assert {name: why for name, wanted in PLANS.items() if (why := missing_capability(wanted, row))} == refused


def test_all_reasons_are_said():
    """A plan may lack several things; each is said once."""
    row = replace(EVERYTHING, selectors=False, durable=False, destinations=frozenset())

    assert missing_capability(plan(subscription=Subscription(MATCHING, durable=True)), row) == (
        "no topics; no filters on subscriptions; no durable subscriptions"
    )


def test_a_row_can_be_recorded():
    """The manifest takes it as plain JSON, and loses nothing."""
    record = json.loads(json.dumps(json_value(EVERYTHING)))

    assert set(record) == set(Capabilities.__slots__)
    assert record["destinations"] == ["headers", "key", "queue", "topic"]
    assert record["transactions"] == "full"


TOPIC_AND_QUEUE = frozenset((DestinationKind.TOPIC, DestinationKind.QUEUE))
ALL = Capabilities(TOPIC_AND_QUEUE, durable=True, one_ahead=True)
CHAINS = SupplyChain(vertical(1)).scenario
#: With selectors at the handlers of price updates, which hear a topic.
FILTERED_CHAINS = replace(
    CHAINS,
    handlers=tuple(
        replace(handler, subscriptions=tuple(replace(each, selector="A = 'a'") for each in handler.subscriptions))
        if CHAINS.steps[handler.step] == "priceUpdate"
        else handler
        for handler in CHAINS.handlers
    ),
)
#: Statistics only: neither transacted nor durable.
STATISTICS = SupplyChain(vertical(1).only(5)).scenario
#: The same, of messages that a broker must keep: to be killed, it must confirm them.
PERSISTENT = replace(
    STATISTICS,
    drivers=tuple(replace(each, outgoing=replace(each.outgoing, persistent=True)) for each in STATISTICS.drivers),
)


@pytest.mark.parametrize(
    ("scenario", "consumption", "row", "reason"),
    [
        (CHAINS, "strict", ALL, ""),
        (CHAINS, "relaxed", replace(ALL, one_ahead=False), ""),
        (CHAINS, "strict", replace(ALL, one_ahead=False), "no limit on the messages delivered before acknowledgement"),
        (CHAINS, "strict", replace(ALL, durable=False), "no durable subscriptions"),
        (CHAINS, "strict", replace(ALL, selectors=False), ""),
        (FILTERED_CHAINS, "strict", ALL, ""),
        (FILTERED_CHAINS, "strict", replace(ALL, selectors=False), "no filters on subscriptions"),
        (FILTERED_CHAINS, "strict", replace(ALL, prepared_selectors=True), "no filters on subscriptions"),
        (CHAINS, "strict", replace(ALL, transactions=Transactions.SEND_ONLY), ""),
        (CHAINS, "strict", replace(ALL, transactions=Transactions.NONE), "no transactions"),
        (CHAINS, "strict", replace(ALL, receipts=False), ""),
        (with_receipts(PERSISTENT), "strict", replace(ALL, receipts=False), "no confirmation of messages"),
        (PERSISTENT, "strict", replace(ALL, stores_unconfirmed=False), "no persistent messages without a confirmation"),
        (with_receipts(PERSISTENT), "strict", replace(ALL, stores_unconfirmed=False), ""),
        (CHAINS, "strict", replace(ALL, destinations=frozenset()), "no queues; no topics"),
        (
            CHAINS,
            "relaxed",
            replace(ALL, ack_modes=frozenset({AckMode.AUTO})),
            "no acknowledgement mode client-individual",
        ),
        (
            STATISTICS,
            "relaxed",
            Capabilities(TOPIC_AND_QUEUE, ack_modes=frozenset(), transactions=Transactions.NONE),
            "",
        ),
    ],
)
def test_what_a_scenario_needs(scenario, consumption, row, reason):
    """What a broker's row lacks for a scenario is said in words, each once; what is not used is no need."""
    assert missing_capability_of_scenario(scenario, Consumption(consumption), row) == reason
