"""Whether a broker can do what a plan asks of it."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.capabilities import WITHOUT_DESTINATION, WITHOUT_RECEIPTS, Capabilities, Transactions
from workloads.messaging import AckMode, DestinationKind
from workloads.selectors import compares_numbers
from workloads.throughput.flow import Flow, Plan


def missing_capability(plan: Plan, capabilities: Capabilities) -> str:
    """Why the plan is not applicable to such a broker; empty where it is applicable."""
    return "; ".join(dict.fromkeys(_unmet(plan, capabilities)))


def _unmet(plan: Plan, capabilities: Capabilities) -> Iterator[str]:
    for flow in plan.flows:
        if flow.destination.kind not in capabilities.destinations:
            yield WITHOUT_DESTINATION[flow.destination.kind]
        yield from _unmet_filters(flow, capabilities)
        yield from _unmet_subscriptions(flow, capabilities)
    if plan.profile.receipts and not capabilities.receipts:
        yield WITHOUT_RECEIPTS
    ack = plan.profile.ack
    if ack is AckMode.TRANSACTED:
        if capabilities.transactions is not Transactions.FULL:
            yield f"no acknowledgement in a transaction (transactions: {capabilities.transactions})"
    elif ack not in capabilities.ack_modes:
        yield f"no acknowledgement mode {ack}"
    elif any(flow.destination.kind is DestinationKind.QUEUE for flow in plan.flows) and ack not in (
        capabilities.ack_modes if capabilities.queue_ack_modes is None else capabilities.queue_ack_modes
    ):
        yield f"no acknowledgement mode {ack} on queues"


def _unmet_subscriptions(flow: Flow, capabilities: Capabilities) -> Iterator[str]:
    if not capabilities.repeated and flow.repeated:
        yield "no second subscription of a connection to the same messages"
    if any(subscription.durable for subscription in flow.subscriptions) and not capabilities.durable:
        yield "no durable subscriptions"
    if flow.replayed and not capabilities.retained:
        yield "no retained messages that a filter with a wildcard covers"


def _unmet_filters(flow: Flow, capabilities: Capabilities) -> Iterator[str]:
    if not flow.filtered or flow.destination.kind.routed:
        return
    if capabilities.selectors:
        selectors = {subscription.selector for subscription in flow.subscriptions} - {None}
        if not capabilities.numeric_selectors and any(map(compares_numbers, selectors)):
            yield "no filters that compare numbers"
        if capabilities.prepared_selectors and any(subscription.durable for subscription in flow.subscriptions):
            yield "no filters on topics with durable subscriptions"
    elif not capabilities.topic_filters:
        yield "no filters on subscriptions"
    elif not flow.by_topic:
        yield "filters are topics, which can only stand for name = 'value' on the messages' only property"
