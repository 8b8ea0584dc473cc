"""What of a plan a broker cannot do, from its row alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workloads.capabilities import Capabilities, Transactions
from workloads.json_value import json_value
from workloads.messaging import AckMode, Destination, DestinationKind
from workloads.scenario.applicability import missing_capability_of_scenario
from workloads.scenario.model import Consumption
from workloads.selectors import Equals
from workloads.supply_chain import compiling, topology
from workloads.throughput.applicability import missing_capability
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template

EVERYTHING = Capabilities(frozenset(DestinationKind), durable=True, one_ahead=True)
MATCHING = Equals("P", "a")
WORDS = {
    DestinationKind.TOPIC: "no topics",
    DestinationKind.QUEUE: "no queues",
    DestinationKind.KEY: "no routing by key",
    DestinationKind.HEADERS: "no routing by headers",
}


def plan(kind=DestinationKind.TOPIC, subscription=None, ack=AckMode.AUTO):
    routed = Subscription(MATCHING) if kind.routed else Subscription()
    flow = Flow(Destination(kind, "d"), 1, (Template((("P", "a"),)),), (subscription or routed,) * 3)
    return Plan("e", "c", replace(PROFILES["today"], ack=ack), (flow,))


PLANS = {
    **{kind.value: plan(kind) for kind in DestinationKind},
    "filter": plan(subscription=Subscription(MATCHING)),
    "durable": plan(subscription=Subscription(durable=True)),
    **{ack.value: plan(ack=ack) for ack in AckMode},
}


@pytest.mark.parametrize("wanted", PLANS.values(), ids=PLANS)
def test_a_broker_that_can_everything_meets_every_plan(wanted):
    """A plan asks for nothing that no row can give."""
    assert missing_capability(wanted, EVERYTHING) == ""


@pytest.mark.parametrize("kind", DestinationKind)
def test_a_kind_that_a_broker_does_not_have(kind):
    """The reason is said once, in words; the other kinds are met."""
    row = replace(EVERYTHING, destinations=EVERYTHING.destinations - {kind})

    assert missing_capability(plan(kind), row) == WORDS[kind]
    assert not any(missing_capability(plan(other), row) for other in DestinationKind if other != kind)


def test_only_a_filter_needs_selectors():
    """Where messages are routed, a selector stands for a binding."""
    row = replace(EVERYTHING, selectors=False)

    assert missing_capability(PLANS["filter"], row) == "no filters on subscriptions"
    assert [name for name, wanted in PLANS.items() if missing_capability(wanted, row)] == ["filter"]


def test_only_a_durable_subscription_needs_some():
    """Nothing else does."""
    row = replace(EVERYTHING, durable=False)

    assert [(name, why) for name, wanted in PLANS.items() if (why := missing_capability(wanted, row))] == [
        ("durable", "no durable subscriptions")
    ]


@pytest.mark.parametrize("transactions", Transactions)
def test_acknowledgement_in_a_transaction_needs_a_full_one(transactions):
    """Other modes need no transactions."""
    row = replace(EVERYTHING, transactions=transactions)
    refused = {name: why for name, wanted in PLANS.items() if (why := missing_capability(wanted, row))}

    if transactions is Transactions.FULL:
        assert not refused
    else:
        assert refused == {"transacted": f"no acknowledgement in a transaction (transactions: {transactions.value})"}


@pytest.mark.parametrize("ack", [AckMode.AUTO, AckMode.CLIENT, AckMode.CLIENT_INDIVIDUAL])
def test_a_mode_of_acknowledgement_that_is_missing(ack):
    """It is named."""
    row = replace(EVERYTHING, ack_modes=EVERYTHING.ack_modes - {ack})

    assert missing_capability(plan(ack=ack), row) == f"no acknowledgement mode {ack.value}"


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
CHAINS = compiling.compile_scenario(topology.vertical(1))
#: With selectors at the handlers of price updates, which hear a topic.
FILTERED = replace(
    CHAINS,
    handlers=tuple(
        replace(handler, subscriptions=tuple(replace(each, selector="A = 'a'") for each in handler.subscriptions))
        if CHAINS.steps[handler.step] == "priceUpdate"
        else handler
        for handler in CHAINS.handlers
    ),
)
#: Statistics only: neither transacted nor durable.
STATISTICS = compiling.compile_scenario(topology.vertical(1).only(5))


@pytest.mark.parametrize(
    ("scenario", "consumption", "row", "reason"),
    [
        (CHAINS, "strict", ALL, ""),
        (CHAINS, "relaxed", replace(ALL, one_ahead=False), ""),
        (CHAINS, "strict", replace(ALL, one_ahead=False), "no limit on the messages delivered before acknowledgement"),
        (CHAINS, "strict", replace(ALL, durable=False), "no durable subscriptions"),
        (CHAINS, "strict", replace(ALL, selectors=False), ""),
        (FILTERED, "strict", ALL, ""),
        (FILTERED, "strict", replace(ALL, selectors=False), "no filters on subscriptions"),
        (CHAINS, "strict", replace(ALL, transactions=Transactions.SEND_ONLY), ""),
        (CHAINS, "strict", replace(ALL, transactions=Transactions.NONE), "no transactions"),
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
