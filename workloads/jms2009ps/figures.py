"""What a configuration amounts to: destinations, subscriptions, and how often a broker has to evaluate filters.

Everything is counted, in exact fractions: the targets of all addresses and the subscriptions of all consumers are laid
side by side, and each selector is evaluated on the properties of each message on its destination. An *address* is a
message and the index of its receiving party. Filters are selectors of subscriptions to topics.

*Terms* are comparisons until the verdict, from left to right; a list (IN) is one. Brokers may evaluate differently.
*Unmatched* are filters of durable subscriptions that reject a persistent message, for which a broker may have to write
down that this subscriber is done with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from workloads.jms2009ps.parameters import PARAMETER_COUNTS, Configuration
from workloads.jms2009ps.targets import FilteredSubscription, Target, bare_name, subscriptions, targets
from workloads.json_value import json_value
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.model import DESTINATION_PREFIX
from workloads.scenario.workload import AddressKey
from workloads.selectors import And, Or, Selector
from workloads.supply_chain.characterization import (
    by_group,
    by_interaction,
    percent,
    total,
)
from workloads.supply_chain.interactions import MessageType
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Topology


@dataclass(frozen=True, slots=True)
class DestinationLoad:
    """What is on a destination."""

    destination: Destination
    #: Subscriptions to a topic, or consumers of a queue.
    subscriptions: int
    filters: int
    sent_per_s: Fraction


@dataclass(frozen=True, slots=True)
class FilterLoad:
    """Evaluations per second, of all filters on the destinations of all messages sent."""

    evaluated_per_s: Fraction = Fraction()
    rejected_per_s: Fraction = Fraction()
    terms_per_s: Fraction = Fraction()
    unmatched_durable_per_s: Fraction = Fraction()

    def __add__(self, other: FilterLoad) -> FilterLoad:
        return FilterLoad(
            self.evaluated_per_s + other.evaluated_per_s,
            self.rejected_per_s + other.rejected_per_s,
            self.terms_per_s + other.terms_per_s,
            self.unmatched_durable_per_s + other.unmatched_durable_per_s,
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of a configuration at a BASE."""

    destinations: tuple[DestinationLoad, ...]
    filters: FilterLoad
    sent_per_s: Fraction
    received_per_s: Fraction

    def of_kind(self, kind: DestinationKind) -> tuple[DestinationLoad, ...]:
        return tuple(row for row in self.destinations if row.destination.kind is kind)


def count(configuration: Configuration, topology: Topology) -> Figures:
    """The counts, for a topology of this configuration. Raises WorkloadError for a selector that is too long."""
    placed = {step.message: targets(configuration, topology, step) for step in topology.steps}
    consumers = consumers_of(configuration, topology)
    model = SupplyChain(topology)
    rates_per_s = dict(zip(model.addresses, model.address_rates_per_s, strict=True))
    sent_per_s: dict[Destination, Fraction] = {}
    filters = FilterLoad()
    for number, step in enumerate(topology.steps):
        for index, target in enumerate(placed[step.message]):
            rate_per_s = rates_per_s[AddressKey(number, index)]
            sent_per_s[target.destination] = sent_per_s.get(target.destination, Fraction()) + rate_per_s
            filters += _filter_load(step, target, consumers[target.destination], rate_per_s)
    volume = total(by_interaction(topology))
    return Figures(
        tuple(
            DestinationLoad(
                destination,
                consumers[destination].total(),
                sum(number for (selector, _), number in consumers[destination].items() if selector is not None),
                rate_per_s,
            )
            for destination, rate_per_s in sent_per_s.items()
        ),
        filters,
        volume.sent_per_s,
        volume.received_per_s,
    )


#: The selector of a subscription, and whether it is durable.
Consumer = tuple[Selector | None, bool]


def consumers_of(configuration: Configuration, topology: Topology) -> dict[Destination, Counter[Consumer]]:
    """The numbers of equal subscriptions by destination; several consumers that compete for a queue have one each."""
    found: dict[Destination, Counter[Consumer]] = {}
    for step in topology.steps:
        for location in topology.at(step.receiver.role):
            for subscription in subscriptions(configuration, topology, step, location):
                consumers = found.setdefault(subscription.destination, Counter())
                consumers[subscription.selector, step.mode.durable] += topology.handlers_of(step)
    return found


def _filter_load(step: MessageType, target: Target, consumers: Counter[Consumer], rate_per_s: Fraction) -> FilterLoad:
    """Of the messages to one address."""
    properties = dict(target.properties)
    evaluated = rejected = terms = unmatched = 0
    for (selector, durable), number_of in consumers.items():
        if selector is None:
            continue
        matches, compared = evaluate(selector, properties)
        evaluated += number_of
        terms += number_of * compared
        rejected += number_of * (not matches)
        unmatched += number_of * (not matches and durable and step.mode.persistent)
    return FilterLoad(*(rate_per_s * number for number in (evaluated, rejected, terms, unmatched)))


def evaluate(selector: Selector, properties: Mapping[str, str]) -> tuple[bool, int]:
    """Whether the selector matches, and the number of comparisons, from left to right, until this is known."""
    if not isinstance(selector, And | Or):
        return selector.matches(properties), 1
    decisive = isinstance(selector, Or)
    compared = 0
    for term in selector.terms:
        matches, number = evaluate(term, properties)
        compared += number
        if matches is decisive:
            return decisive, compared
    return not decisive, compared


def figures_json(configuration: Configuration, base: int) -> dict[str, Any]:
    """All computed values of a configuration at a BASE, as plain JSON.

    Names of destinations lack the prefix that they have on a broker, which is given apart.
    """
    topology = configuration.at(base)
    found = count(configuration, topology)
    queues, topics = found.of_kind(DestinationKind.QUEUE), found.of_kind(DestinationKind.TOPIC)
    sent_per_s, filters = found.sent_per_s, found.filters
    busiest = max(topics, key=lambda row: row.sent_per_s)
    return {
        "configuration": configuration.name,
        "topology": topology.name,
        "base": base,
        "locations": {role.value: number for role, number in topology.locations.items()},
        "handlers_per_queue": configuration.handlers_per_queue,
        "parameter_counts": dict(PARAMETER_COUNTS),
        "parameters": json_value(configuration.parameters),
        "queues": len(queues),
        "queue_consumers": sum(row.subscriptions for row in queues),
        "topics": len(topics),
        "topic_subscriptions": sum(row.subscriptions for row in topics),
        "most_subscriptions_per_topic": max(row.subscriptions for row in topics),
        "filters": sum(row.filters for row in topics),
        "filters_per_message": float(filters.evaluated_per_s / sent_per_s),
        "rejected_per_message": float(filters.rejected_per_s / sent_per_s),
        "terms_per_message": float(filters.terms_per_s / sent_per_s),
        "filters_per_s": float(filters.evaluated_per_s),
        "unmatched_durable_per_s": float(filters.unmatched_durable_per_s),
        "sent_per_s": float(sent_per_s),
        "received_per_s": float(found.received_per_s),
        "message_mix_percent": percent(
            {group.value: volume.received_per_s for group, volume in by_group(by_interaction(topology)).items()}
        ),
        "busiest_topic": {
            "name": bare_name(busiest.destination),
            "messages_percent": float(100 * busiest.sent_per_s / sent_per_s),
        },
        "event_handlers": topology.handlers,
        "drivers": topology.drivers,
        "connections": topology.connections,
        "destination_prefix": f"{DESTINATION_PREFIX}.",
        "destinations": [
            {
                "kind": row.destination.kind.value,
                "name": bare_name(row.destination),
                "subscriptions": row.subscriptions,
                "filters": row.filters,
                "sent_per_s": float(row.sent_per_s),
            }
            for row in found.destinations
        ],
        "messages": {step.message: _message_json(configuration, topology, step) for step in topology.steps},
    }


def _message_json(configuration: Configuration, topology: Topology, step: MessageType) -> dict[str, Any]:
    """Where a message goes, and the selectors of the first location that consumes it, one for each subscription."""
    placed = targets(configuration, topology, step)
    consumer = topology.at(step.receiver.role)[0]
    return {
        "destinations": list(dict.fromkeys(bare_name(target.destination) for target in placed)),
        "properties": [name for name, _ in placed[0].properties],
        "selectors": list(_selectors(subscriptions(configuration, topology, step, consumer))),
    }


def _selectors(found: tuple[FilteredSubscription, ...]) -> Iterator[str]:
    return (str(subscription.selector) for subscription in found if subscription.selector is not None)
