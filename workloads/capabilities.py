"""What a broker can do over STOMP, and how it wants to be asked: one row per broker; and what of a plan it cannot do.

A plan says what should happen; no plan and no experiment knows a broker. Where a row lacks what a plan needs, the
cell is *not applicable*: it is not measured, and said to be so with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from workloads.scenario.model import Consumption, Scenario
from workloads.throughput.flow import AckMode, DestinationKind, Plan

#: Acknowledgement inside a transaction is a matter of `Transactions`.
PLAIN_ACK_MODES = frozenset(AckMode) - {AckMode.TRANSACTED}


class Transactions(StrEnum):
    """What a transaction holds together: messages sent and acknowledgements, only the former, or nothing."""

    FULL = "full"
    SEND_ONLY = "send-only"
    NONE = "none"


class PrefetchUnit(StrEnum):
    """In what a broker counts that which may be delivered before it is acknowledged."""

    MESSAGES = "messages"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Prefetch:
    """SUBSCRIBE's header that bounds what is delivered ahead; `one` is its value for one message at a time."""

    header: str
    unit: PrefetchUnit
    one: str


@dataclass(frozen=True, slots=True)
class Syntax:
    """Format strings of the `destination` header, over the destination's `name`; of one that routes by key, also over
    the `key`, in which the broker writes `any_word` for one word; of a subscription, also over its `number`."""

    send: str
    subscribe: str
    any_word: str = "*"


#: Of a broker about which nothing is known; the largest cells of the grids have some 5,000.
SUBSCRIPTIONS_PER_BLOCK = 10_000

#: As most brokers spell them.
TOPIC_AND_QUEUE: Mapping[DestinationKind, Syntax] = {
    kind: Syntax(f"/{kind}/{{name}}", f"/{kind}/{{name}}") for kind in (DestinationKind.TOPIC, DestinationKind.QUEUE)
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A broker's row.

    version: of STOMP · destinations: how each kind is spelled; a kind without a spelling does not exist there ·
    selectors, selector_prefix: whether SUBSCRIBE filters, and what stands before each selector so that numbers are
    compared as numbers · durable: headers of SUBSCRIBE and UNSUBSCRIBE that make a durable subscription and remove it,
    their values format strings over its `name`; None where there are none · leaving_removes: whether the UNSUBSCRIBE
    that ends a durable subscription removes it, if it has these headers; else a second one does · prefetch: None where
    nothing bounds it · virtual_host: CONNECT's `host` header · keep_alive_s: how often a connection that reads must be
    written to so that the broker keeps it, None where it does without · redelivered: whether what comes again is marked
    so · crash_marked: the kinds of destinations whose messages are marked so also where the broker itself had died, the
    queues being those of a business workload, the topics' subscriptions durable · stored: whether persistent messages
    outlive the process · synced: whether what it has confirmed is on the disk by then, None where nobody knows ·
    atomic: whether a transaction takes effect as a whole also where the broker dies, by the time of its COMMIT's
    receipt · heart_beats: whether it writes, and wants to be written to, as CONNECT asks for · logins: whether it
    checks them · strict: whether it ends a connection whose bytes are not STOMP · subscriptions_per_block: how many a
    run has on it at once at most, which is a matter of the memory that they take there.
    """

    destinations: Mapping[DestinationKind, Syntax]
    version: str = "1.2"
    selectors: bool = True
    selector_prefix: str = ""
    ack_modes: frozenset[AckMode] = PLAIN_ACK_MODES
    transactions: Transactions = Transactions.FULL
    durable: Mapping[str, str] | None = None
    leaving_removes: bool = False
    prefetch: Prefetch | None = None
    virtual_host: str = "/"
    keep_alive_s: float | None = None
    redelivered: bool = True
    crash_marked: frozenset[DestinationKind] = frozenset()
    stored: bool = True
    synced: bool | None = None
    atomic: bool = True
    heart_beats: bool = True
    logins: bool = True
    strict: bool = True
    subscriptions_per_block: int = SUBSCRIPTIONS_PER_BLOCK

    def record(self) -> dict[str, Any]:
        """For the manifest, in plain JSON values."""
        return {
            **asdict(self),
            "destinations": {kind.value: asdict(syntax) for kind, syntax in self.destinations.items()},
            "ack_modes": sorted(self.ack_modes),
            "crash_marked": sorted(self.crash_marked),
            "durable": None if self.durable is None else dict(self.durable),
        }


def missing_capability(plan: Plan, capabilities: Capabilities) -> str:
    """Why the plan is not applicable to such a broker, in words; empty where it is."""
    return "; ".join(dict.fromkeys(_unmet(plan, capabilities)))


_WITHOUT = {
    DestinationKind.TOPIC: "no topics",
    DestinationKind.QUEUE: "no queues",
    DestinationKind.KEY: "no routing by key",
    DestinationKind.HEADERS: "no routing by headers",
}


def _unmet(plan: Plan, capabilities: Capabilities) -> Iterator[str]:
    for destination, subscription in plan.subscriptions:
        if destination.kind not in capabilities.destinations:
            yield _WITHOUT[destination.kind]
        if subscription.selector is not None and not (capabilities.selectors or destination.kind.routed):
            yield "no filters on subscriptions"
        if subscription.durable and capabilities.durable is None:
            yield "no durable subscriptions"
    ack = plan.profile.ack
    if ack is AckMode.TRANSACTED:
        if capabilities.transactions is not Transactions.FULL:
            yield f"no acknowledgement in a transaction (transactions: {capabilities.transactions})"
    elif ack not in capabilities.ack_modes:
        yield f"no acknowledgement mode {ack}"


#: A load that reacts copies what a message is to be acknowledged by, which STOMP has since this version.
REACTIVE_VERSION = "1.2"


def missing_capability_of_scenario(scenario: Scenario, consumption: Consumption, capabilities: Capabilities) -> str:
    """Why the scenario is not applicable to such a broker, in words; empty where it is."""
    return "; ".join(dict.fromkeys(_unmet_by_scenario(scenario, consumption, capabilities)))


def _unmet_by_scenario(scenario: Scenario, consumption: Consumption, capabilities: Capabilities) -> Iterator[str]:
    if capabilities.version != REACTIVE_VERSION:
        yield f"no STOMP {REACTIVE_VERSION}"
    for destination in scenario.destinations:
        if destination.kind not in capabilities.destinations:
            yield _WITHOUT[destination.kind]
    if scenario.durable and capabilities.durable is None:
        yield "no durable subscriptions"
    if scenario.transacted and capabilities.transactions is Transactions.NONE:
        yield "no transactions"
    strict = consumption is Consumption.STRICT
    if strict and capabilities.prefetch is None:
        yield "no bound on the messages that are delivered ahead"
    acknowledged = strict or any(handler.transacted for handler in scenario.handlers)
    if acknowledged and AckMode.CLIENT_INDIVIDUAL not in capabilities.ack_modes:
        yield f"no acknowledgement mode {AckMode.CLIENT_INDIVIDUAL}"
