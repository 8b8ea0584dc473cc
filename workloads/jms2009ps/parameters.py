"""The 92 parameters by message, and what a configuration is: a value for each of them, a topology, consumers per queue.

Source: Sachs, Appel, Kounev, Buchmann, *Benchmarking Publish/Subscribe-based Messaging Systems* (2010), section 3: per
message transactional or not, persistent or not, durable or not, queue or topic, the target destination, and for calls
for offers the subscription type. The 19 messages are those of `workloads.supply_chain.interactions`, nothing of which
is repeated here; what a parameter exists for follows from a message's receivers.

The paper prints no defaults. Those here are its first scenario, the configuration that corresponds to SPECjms2007.
Choices where the paper leaves something open:

* Four ways of subscribing to calls for offers are described and three of them have a name; the fourth, one topic per
  product family, is called TOPIC here. It is the form of SPECjms2007 and goes with its target destination only: with
  any other there is no topic of the location and the message of which a family could be a part.
* A message that is on a queue by default is durable on a topic if it is persistent: what the queue promises, the topic
  then promises as well. On a queue the parameter, and the target destination, have no effect.
* A message whose sending is transactional is also consumed in a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from workloads.errors import WorkloadError
from workloads.messaging import DestinationKind
from workloads.supply_chain.interactions import INTERACTIONS, DeliveryOptions, MessageType, Participant
from workloads.supply_chain.topology import CONTROLLED, Topology


class TargetDestination(StrEnum):
    """Which messages share a topic: those of one location and type, of one type for a kind of location, and so on."""

    LOCATION_ID_AND_MESSAGE_TYPE = "LocationID-MessageType"
    MESSAGE_TYPE = "MessageType"
    INTERACTION = "Interaction"
    LOCATION_TYPE = "LocationType"
    LOCATION_ID = "LocationID"
    CENTRAL = "Central"


class SubscriptionType(StrEnum):
    """How a supplier subscribes to the calls for its product families."""

    #: One subscription, with a list of the families.
    IN = "IN"
    #: One subscription, with a comparison for each family.
    OR = "OR"
    #: One subscription per family, each with one comparison.
    SET = "SET"
    #: One topic and one subscription per family, without a selector.
    TOPIC = "TOPIC"


@dataclass(frozen=True, slots=True)
class MessageParameters:
    """The values of one message; None where it has no such parameter.

    Raises WorkloadError for a topic per family with a target destination of which that is no part.
    """

    #: Whether it is sent, and consumed, in a transaction.
    transactional: bool
    persistent: bool
    #: Whether the subscriptions to its topic are durable.
    durable: bool
    #: Whether it is sent to a queue; None if it has several consumers, which subscribe to a topic.
    queue: bool | None
    target_destination: TargetDestination
    subscription_type: SubscriptionType | None

    def __post_init__(self) -> None:
        if topic_contradicts(self.target_destination, self.subscription_type):
            raise WorkloadError(
                f"subscription_type: expected {SUBSCRIPTION_TYPES_WITH_SELECTORS} with target_destination "
                f'"{self.target_destination}", got "{self.subscription_type}"'
            )

    @property
    def kind(self) -> DestinationKind:
        return DestinationKind.QUEUE if self.queue else DestinationKind.TOPIC

    @property
    def delivery(self) -> DeliveryOptions:
        return DeliveryOptions(self.persistent, self.transactional, self.durable and not self.queue)


SUBSCRIPTION_TYPES_WITH_SELECTORS = '"IN", "OR" or "SET"'


def topic_contradicts(target: TargetDestination, subscription_type: SubscriptionType | None) -> bool:
    """Whether a topic per product family is no part of the topics that the target destination stands for."""
    return subscription_type is SubscriptionType.TOPIC and target is not TargetDestination.LOCATION_ID_AND_MESSAGE_TYPE


#: The values of all parameters.
ParameterValue = bool | TargetDestination | SubscriptionType


@dataclass(frozen=True, slots=True)
class ParameterKind:
    """One of the six parameters that a message may have."""

    #: Its short name.
    short: str
    values: type[bool | TargetDestination | SubscriptionType]
    #: Whether a message has it.
    exists: Callable[[MessageType], bool]
    #: Why a message does not have it; empty if every message does.
    absence: str = ""
    #: Whether it has an effect beside the message's other values.
    heeded: Callable[[MessageParameters], bool] = lambda _: True

    @property
    def expected(self) -> str:
        """The values, for messages."""
        if self.values is bool:
            return "true or false"
        *others, last = (f'"{value}"' for value in self.values)
        return f"{', '.join(others)} or {last}"

    def value(self, given: Any) -> ParameterValue | None:
        """The value that a plain value of TOML or JSON stands for; None if it is not one of the values."""
        if self.values is bool:
            return given if isinstance(given, bool) else None
        return self.values(given) if given in list(self.values) else None


def _on_topic(parameters: MessageParameters) -> bool:
    return parameters.kind is DestinationKind.TOPIC


#: By name, as in files; the names are the fields of `MessageParameters`.
PARAMETERS: Mapping[str, ParameterKind] = {
    "transactional": ParameterKind("T", bool, lambda _: True),
    "persistent": ParameterKind("P", bool, lambda _: True),
    "durable": ParameterKind("D", bool, lambda _: True, heeded=_on_topic),
    "queue": ParameterKind(
        "Q", bool, lambda step: not step.receiver.plural, absence="has several consumers, and so always a topic"
    ),
    "target_destination": ParameterKind("TD", TargetDestination, lambda _: True, heeded=_on_topic),
    "subscription_type": ParameterKind(
        "ST",
        SubscriptionType,
        lambda step: step.receiver is Participant.SUPPLIERS,
        absence="has no product family to subscribe to",
    ),
}

#: The 19 messages, by name.
MESSAGES: Mapping[str, MessageType] = {step.message: step for script in INTERACTIONS.values() for step in script.steps}

#: How many messages have each parameter, by its short name; 92 together.
PARAMETER_COUNTS: Mapping[str, int] = {
    parameter.short: sum(map(parameter.exists, MESSAGES.values())) for parameter in PARAMETERS.values()
}


def has(message: str, parameter: str) -> bool:
    """Whether a message has a parameter."""
    return PARAMETERS[parameter].exists(MESSAGES[message])


def _as_in_specjms2007(step: MessageType) -> MessageParameters:
    plural = step.receiver.plural
    return MessageParameters(
        transactional=step.mode.transacted,
        persistent=step.mode.persistent,
        durable=step.mode.durable if plural else step.mode.persistent,
        queue=None if plural else True,
        target_destination=TargetDestination.LOCATION_ID_AND_MESSAGE_TYPE,
        subscription_type=SubscriptionType.TOPIC if step.receiver is Participant.SUPPLIERS else None,
    )


#: The values of all messages that correspond to SPECjms2007, by message.
DEFAULTS: Mapping[str, MessageParameters] = {name: _as_in_specjms2007(step) for name, step in MESSAGES.items()}


@dataclass(frozen=True)
class Configuration:
    """The values of all messages, and the topology that they are used in.

    Raises WorkloadError if a message lacks a value or has one too many, or if there is no queue for several consumers
    to compete for.
    """

    #: Name in messages and results.
    name: str
    #: By message.
    parameters: Mapping[str, MessageParameters]
    #: Name of the controlled topology.
    topology: str = "vertical"
    #: Event handlers that compete for the messages of a queue; a subscription to a topic has one.
    handlers_per_queue: int = 1

    def __post_init__(self) -> None:
        if self.topology not in CONTROLLED:
            raise WorkloadError(f"{self.name}: topology: expected {' or '.join(CONTROLLED)}, got {self.topology!r}")
        if list(self.parameters) != list(MESSAGES):
            raise WorkloadError(f"{self.name}: expected values for {', '.join(MESSAGES)}")
        for message, parameters in self.parameters.items():
            for name in PARAMETERS:
                value = getattr(parameters, name)
                if has(message, name) is (value is None):
                    expected = PARAMETERS[name].expected if value is None else "none"
                    raise WorkloadError(f"{self.name}: {message}: {name}: expected {expected}, got {value!r}")
        if self.handlers_per_queue > 1 and not any(parameters.queue for parameters in self.parameters.values()):
            raise WorkloadError(
                f"{self.name}: handlers_per_queue: expected 1, as no message has a queue that several could share, "
                f"got {self.handlers_per_queue}"
            )

    def at(self, base: int) -> Topology:
        """The topology at a BASE, whose messages are delivered as configured.

        Raises WorkloadError for a BASE that cannot run.
        """
        topology = CONTROLLED[self.topology](base, self.handlers_per_queue)
        interactions = {
            number: replace(
                interaction,
                script=replace(
                    interaction.script,
                    steps=tuple(_configured(step, self.parameters[step.message]) for step in interaction.script.steps),
                ),
            )
            for number, interaction in topology.interactions.items()
        }
        return replace(topology, interactions=interactions)


def _configured(step: MessageType, parameters: MessageParameters) -> MessageType:
    kind = None if parameters.kind is step.kind else parameters.kind
    return replace(step, mode=parameters.delivery, configured_kind=kind)


def changed(parameters: Mapping[str, MessageParameters], **values: Any) -> dict[str, MessageParameters]:
    """The same values with these instead, for each message that has the parameter."""
    return {
        message: replace(row, **{name: value for name, value in values.items() if has(message, name)})
        for message, row in parameters.items()
    }
