"""Whether a broker can do what a plan asks of it."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.capabilities import WITHOUT_DESTINATION, WITHOUT_RECEIPTS, Capabilities, Transactions
from workloads.messaging import AckMode
from workloads.throughput.flow import Plan


def missing_capability(plan: Plan, capabilities: Capabilities) -> str:
    """Why the plan is not applicable to such a broker; empty where it is applicable."""
    return "; ".join(dict.fromkeys(_unmet(plan, capabilities)))


def _unmet(plan: Plan, capabilities: Capabilities) -> Iterator[str]:
    for destination, subscription in plan.subscriptions:
        if destination.kind not in capabilities.destinations:
            yield WITHOUT_DESTINATION[destination.kind]
        if subscription.selector is not None and not (capabilities.selectors or destination.kind.routed):
            yield "no filters on subscriptions"
        if subscription.durable and not capabilities.durable:
            yield "no durable subscriptions"
    if plan.profile.receipts and not capabilities.receipts:
        yield WITHOUT_RECEIPTS
    ack = plan.profile.ack
    if ack is AckMode.TRANSACTED:
        if capabilities.transactions is not Transactions.FULL:
            yield f"no acknowledgement in a transaction (transactions: {capabilities.transactions})"
    elif ack not in capabilities.ack_modes:
        yield f"no acknowledgement mode {ack}"
