"""What a configuration amounts to: destinations, subscriptions, and how often a broker has to evaluate filters.

Everything is counted in the rows of the scenario, in exact fractions: each selector is evaluated on the properties of
each address on its destination. Filters are selectors of subscriptions to topics.

*Terms* are comparisons until the verdict, from left to right; a list (IN) is one. Brokers may evaluate differently.
*Unmatched* are filters of durable subscriptions that reject a persistent message, for which a broker may have to write
down that this subscriber is done with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.parameters import PARAMETER_COUNTS, Configuration
from workloads.jms2009ps.targets import bare_name
from workloads.json_value import json_value
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.model import DESTINATION_PREFIX, Scenario
from workloads.selectors import And, Or, Selector, parse
from workloads.supply_chain.characterization import (
    by_group,
    by_interaction,
    percent,
    total,
)


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
        return FilterLoad(*(getattr(self, name) + getattr(other, name) for name in FilterLoad.__slots__))


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of a configuration at a BASE."""

    destinations: tuple[DestinationLoad, ...]
    filters: FilterLoad
    sent_per_s: Fraction
    received_per_s: Fraction

    def of_kind(self, kind: DestinationKind) -> tuple[DestinationLoad, ...]:
        return tuple(row for row in self.destinations if row.destination.kind is kind)


def count(model: ConfiguredSupplyChain) -> Figures:
    """The counts of a configuration at a BASE. Raises WorkloadError for a selector that is too long."""
    scenario = model.unchecked
    consumers = _consumers(scenario)
    sent_per_s = [Fraction() for _ in scenario.destinations]
    filters = FilterLoad()
    for key, address, rate_per_s in zip(model.addresses, scenario.addresses, model.address_rates_per_s, strict=True):
        sent_per_s[address.destination] += rate_per_s
        persistent = model.steps[key.step].persistent
        filters += _filter_load(dict(address.properties), persistent, consumers[address.destination], rate_per_s)
    volume = total(by_interaction(model.topology))
    return Figures(
        tuple(
            DestinationLoad(
                destination,
                consumers[number].total(),
                sum(of for (selector, _), of in consumers[number].items() if selector is not None),
                sent_per_s[number],
            )
            for number, destination in enumerate(scenario.destinations)
        ),
        filters,
        volume.sent_per_s,
        volume.received_per_s,
    )


#: The selector of a subscription, and whether it is durable.
Consumer = tuple[Selector | None, bool]


def _consumers(scenario: Scenario) -> list[Counter[Consumer]]:
    """The numbers of equal subscriptions by destination; several consumers that compete for a queue have one each."""
    texts: list[Counter[tuple[str | None, bool]]] = [Counter() for _ in scenario.destinations]
    for handler in scenario.handlers:
        for each in handler.subscriptions:
            texts[each.destination][each.selector, handler.durable] += 1
    return [
        Counter(
            {(None if text is None else parse(text), durable): number for (text, durable), number in of_one.items()}
        )
        for of_one in texts
    ]


def _filter_load(
    properties: Mapping[str, str], persistent: bool, consumers: Counter[Consumer], rate_per_s: Fraction
) -> FilterLoad:
    """Of the messages to one address."""
    evaluated = rejected = terms = unmatched = 0
    for (selector, durable), number_of in consumers.items():
        if selector is None:
            continue
        matches, compared = evaluate(selector, properties)
        evaluated += number_of
        terms += number_of * compared
        rejected += number_of * (not matches)
        unmatched += number_of * (not matches and durable and persistent)
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
    model = ConfiguredSupplyChain.configured(configuration, base)
    topology, scenario, found = model.topology, model.unchecked, count(model)
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
        "event_handlers": model.handlers,
        "drivers": len(scenario.drivers),
        "connections": model.connections,
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
        "messages": {message: _message_json(scenario, number) for number, message in enumerate(scenario.steps)},
    }


def _message_json(scenario: Scenario, number: int) -> dict[str, Any]:
    """Where a message goes, and the selectors of the first handler that consumes it, one for each subscription."""
    placed = [scenario.addresses[address] for address in scenario.messages[number].addresses]
    consumer = next(handler for handler in scenario.handlers if handler.step == number)
    return {
        "destinations": list(
            dict.fromkeys(bare_name(scenario.destinations[address.destination]) for address in placed)
        ),
        "properties": [name for name, _ in placed[0].properties],
        "selectors": [each.selector for each in consumer.subscriptions if each.selector is not None],
    }
