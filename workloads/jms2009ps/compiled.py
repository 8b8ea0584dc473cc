"""The model of a configuration: the supply chain's, whose addresses share destinations as the parameters say.

Who must get a message is the cast of its execution, in every configuration. How it gets there is taken from `targets`.
That the two agree is checked when the scenario is compiled: on its destination, a message must match exactly one
subscription of each event handler that has to get it, and none of any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workloads.errors import WorkloadError
from workloads.jms2009ps.digests import configuration_digest
from workloads.jms2009ps.parameters import Configuration
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.jms2009ps.targets import subscriptions, targets
from workloads.json_value import json_value
from workloads.messaging import Destination
from workloads.scenario.model import Handler, HandlerSubscription, Scenario
from workloads.selectors import Selector, parse
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Location


@dataclass(frozen=True)
class ConfiguredSupplyChain(SupplyChain):
    """A configuration at a BASE as a `workloads.scenario.workload.Model`; use `configured`."""

    settings: Configuration

    @classmethod
    def configured(cls, settings: Configuration, base: int) -> ConfiguredSupplyChain:
        """Raises WorkloadError for a BASE that cannot run."""
        return cls(settings.at(base), settings)

    @property
    def configuration(self) -> dict[str, Any]:
        """All parameters, in plain JSON values, and the digest that tells configurations apart."""
        return {**json_value(self.settings), "digest": configuration_digest(self.settings)}

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario for the load engine.

        Raises WorkloadError if it exceeds the limits of a scenario, or if selectors do not pass each message to its
        receivers alone.
        """
        check_selectors(self.unchecked)
        return self.unchecked

    @cached_property
    def unchecked(self) -> Scenario:
        """The same, without the check of the selectors, which takes long."""
        plain, topology = self.rows, self.topology
        numbers: dict[Destination, int] = {}
        found = [target for step in topology.steps for target in targets(self.settings, topology, step)]
        addresses = tuple(
            replace(
                address,
                destination=numbers.setdefault(target.destination, len(numbers)),
                properties=target.properties,
            )
            for address, target in zip(plain.addresses, found, strict=True)
        )
        return replace(
            plain,
            name=f"{self.settings.name}, {plain.name}",
            destinations=tuple(numbers),
            addresses=addresses,
            handlers=tuple(
                replace(handler, subscriptions=self._subscriptions(handler, numbers)) for handler in plain.handlers
            ),
        )

    @property
    def published(self) -> bool:
        return any(self.settings.parameters == scenario.parameters for scenario in SCENARIOS.values())

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        digest = configuration_digest(self.settings)
        return (("configuration", f"{self.settings.name}, digest {digest[:8]}"), *super().facts)

    def _subscriptions(self, handler: Handler, numbers: Mapping[Destination, int]) -> tuple[HandlerSubscription, ...]:
        step = self.topology.steps[handler.step]
        location = Location(step.receiver.role, handler.sender)
        return tuple(
            HandlerSubscription(numbers[found.destination], None if found.selector is None else str(found.selector))
            for found in subscriptions(self.settings, self.topology, step, location)
        )


def check_selectors(scenario: Scenario) -> None:
    """Raises WorkloadError unless each message matches one subscription of each handler of its address, and no other.

    The texts are evaluated as the broker gets them.
    """
    by_destination: dict[int, list[tuple[int, Selector | None]]] = {}
    for handler in scenario.handlers:
        for each in handler.subscriptions:
            selector = None if each.selector is None else parse(each.selector)
            by_destination.setdefault(each.destination, []).append((handler.number, selector))
    hearing: dict[int, list[int]] = {}
    for handler in scenario.handlers:
        for number in handler.addresses:
            hearing.setdefault(number, []).append(handler.number)
    for number, address in enumerate(scenario.addresses):
        properties = dict(address.properties)
        matching = sorted(
            handler
            for handler, selector in by_destination.get(address.destination, [])
            if selector is None or selector.matches(properties)
        )
        if matching != hearing.get(number, []):
            raise WorkloadError(
                f"{scenario.name}: {address.label}: subscriptions of the handlers {matching} match on "
                f"{scenario.destinations[address.destination].name}; expected {hearing.get(number, [])}, each once"
            )
