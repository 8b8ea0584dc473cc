"""Whether a broker has the capabilities that a scenario requires."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.capabilities import WITHOUT_DESTINATION, WITHOUT_RECEIPTS, Capabilities, Transactions
from workloads.messaging import AckMode
from workloads.scenario.model import Consumption, Scenario


def missing_capability_of_scenario(scenario: Scenario, consumption: Consumption, capabilities: Capabilities) -> str:
    """The reason why the scenario is not applicable to such a broker; empty if it is applicable."""
    return "; ".join(dict.fromkeys(_unmet_by_scenario(scenario, consumption, capabilities)))


def _unmet_by_scenario(scenario: Scenario, consumption: Consumption, capabilities: Capabilities) -> Iterator[str]:
    if not capabilities.one_protocol:
        yield "no single protocol in which a handler can receive and answer"
    for destination in scenario.destinations:
        if destination.kind not in capabilities.destinations:
            yield WITHOUT_DESTINATION[destination.kind]
    if scenario.filtered and (not capabilities.selectors or capabilities.prepared_selectors):
        yield "no filters on subscriptions"
    if scenario.durable and not capabilities.durable:
        yield "no durable subscriptions"
    if scenario.confirmed and not capabilities.receipts:
        yield WITHOUT_RECEIPTS
    if scenario.stored_unconfirmed and not capabilities.stores_unconfirmed:
        yield "no persistent messages without a confirmation"
    if scenario.transacted and capabilities.transactions is Transactions.NONE:
        yield "no transactions"
    yield from _unmet_by_consumption(scenario, consumption, capabilities)


def _unmet_by_consumption(scenario: Scenario, consumption: Consumption, capabilities: Capabilities) -> Iterator[str]:
    strict = consumption is Consumption.STRICT
    if strict and not capabilities.one_ahead:
        yield "no limit on the messages delivered before acknowledgement"
    acknowledged = strict or any(handler.transacted for handler in scenario.handlers)
    if acknowledged and AckMode.CLIENT_INDIVIDUAL not in capabilities.ack_modes:
        yield f"no acknowledgement mode {AckMode.CLIENT_INDIVIDUAL}"
