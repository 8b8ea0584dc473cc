"""Where a message goes, with which properties, and what its consumers subscribe to.

Source: Sachs, Appel, Kounev, Buchmann 2010, section 3: target destinations and their selectors, subscription types.
A message is addressed to a receiving party by its index, as in `Topology.names_of`. Its *location* is that of the
receiver or, where several locations receive it, the headquarters. The options of the target destination differ in
which messages share a topic; the properties that a producer sets, and the terms of a consumer's selector, are those
that tell messages on that topic apart. Terms stand in the order location type, location, message type, product family.

Choices where the paper leaves something open:

* Messages that several locations receive have the location HQ1, the headquarters as a whole, whichever of its instances
  sends: a consumer cannot know that. With a name of its own for the whole, LocationID would have a further topic, and
  fewer filters on that of HQ1.
* A producer sets the properties that a selector of its message uses, and no others; on a queue it sets none.
* Text in selectors has single quotes, as JMS asks for (JMS 1.1, section 3.8.1.1).
* The location type is redundant where the location is given; the terms are kept as the paper has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.errors import WorkloadError
from workloads.jms2009ps.parameters import Configuration, MessageParameters, SubscriptionType, TargetDestination
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.model import DESTINATION_PREFIX
from workloads.selectors import Equals, In, Or, Selector, all_of
from workloads.supply_chain.interactions import MessageType, Participant, Role
from workloads.supply_chain.topology import Location, Topology

#: The location of messages that several locations receive.
LOGICAL_HEADQUARTERS = Location(Role.HQ, 0)

#: Names of properties.
LOCATION_TYPE, TARGET_LOCATION_ID, MESSAGE_TYPE, PRODUCT_FAMILY = (
    "LocationType",
    "TargetLocationID",
    "MessageType",
    "ProductFamily",
)

#: Longest selector, in characters: SUBSCRIBE is written with the selector in one header line, which ActiveMQ Classic
#: limits to 10 KB.
MOST_SELECTOR = 8000


@dataclass(frozen=True, slots=True)
class TopicNaming:
    """The topics of a target destination."""

    #: Format string of the name; uses `location`, `role`, `message` and `interaction`.
    name: str
    #: Properties that tell the messages on a topic apart, and so the terms of a selector, in their order.
    terms: tuple[str, ...]


#: By target destination.
TOPICS: Mapping[TargetDestination, TopicNaming] = {
    TargetDestination.LOCATION_ID_AND_MESSAGE_TYPE: TopicNaming("{location}_{message}T", ()),
    TargetDestination.MESSAGE_TYPE: TopicNaming("{role}_{message}T", (TARGET_LOCATION_ID,)),
    TargetDestination.INTERACTION: TopicNaming("Interaction{interaction}_T", (TARGET_LOCATION_ID, MESSAGE_TYPE)),
    TargetDestination.LOCATION_TYPE: TopicNaming("{role}_T", (TARGET_LOCATION_ID, MESSAGE_TYPE)),
    TargetDestination.LOCATION_ID: TopicNaming("{location}_T", (MESSAGE_TYPE,)),
    TargetDestination.CENTRAL: TopicNaming("T", (LOCATION_TYPE, TARGET_LOCATION_ID, MESSAGE_TYPE)),
}

#: Format string of a queue's name.
_QUEUE = "{location}_{message}Q"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message to one receiving party is sent, and the headers that selectors can see."""

    destination: Destination
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FilteredSubscription:
    """A subscription of one consumer; without a selector it gets everything on the destination."""

    destination: Destination
    selector: Selector | None = None


def targets(configuration: Configuration, topology: Topology, step: MessageType) -> tuple[Target, ...]:
    """The target of a message by the index of its receiving party, as in `topology.names_of`."""
    parameters = configuration.parameters[step.message]
    if step.receiver is Participant.SUPPLIERS:
        families = topology.names_of(step.receiver)
        if parameters.subscription_type is SubscriptionType.TOPIC:
            return tuple(Target(_destination(step, parameters, family)) for family in families)
        base = _target(step, parameters, LOGICAL_HEADQUARTERS)
        return tuple(Target(base.destination, (*base.properties, (PRODUCT_FAMILY, family))) for family in families)
    if step.receiver is Participant.SUPERMARKETS:
        return (_target(step, parameters, LOGICAL_HEADQUARTERS),)
    return tuple(_target(step, parameters, location) for location in topology.at(step.receiver.role))


def subscriptions(
    configuration: Configuration, topology: Topology, step: MessageType, location: Location
) -> tuple[FilteredSubscription, ...]:
    """What a location of the receiving role subscribes to for a message.

    Raises WorkloadError for a selector that is longer than `MOST_SELECTOR`.
    """
    parameters = configuration.parameters[step.message]
    if step.receiver is not Participant.SUPPLIERS:
        base = _target(step, parameters, LOGICAL_HEADQUARTERS if step.receiver.plural else location)
        terms = _terms(base)
        return (FilteredSubscription(base.destination, all_of(*terms) if terms else None),)
    names = topology.names_of(step.receiver)
    families = tuple(names[index] for index in topology.families_of[location.index])
    if parameters.subscription_type is SubscriptionType.TOPIC:
        return tuple(FilteredSubscription(_destination(step, parameters, family)) for family in families)
    base = _target(step, parameters, LOGICAL_HEADQUARTERS)
    found = tuple(
        FilteredSubscription(base.destination, all_of(*_terms(base), selector))
        for selector in _of_families(families, parameters.subscription_type)
    )
    length = max(len(str(subscription.selector)) for subscription in found)
    if length > MOST_SELECTOR:
        raise WorkloadError(
            f"{configuration.name}: [message.{step.message}]: subscription_type: expected "
            f'"{SubscriptionType.SET}" or "{SubscriptionType.TOPIC}", as the selector for {len(families)} product '
            f"families has {length} characters, more than {MOST_SELECTOR}; "
            f'got "{parameters.subscription_type}"'
        )
    return found


def _of_families(families: tuple[str, ...], subscription_type: SubscriptionType | None) -> tuple[Selector, ...]:
    """The terms that together select the calls for these families, one for each subscription."""
    each = tuple(Equals(PRODUCT_FAMILY, family) for family in families)
    if subscription_type is SubscriptionType.SET or len(each) == 1:
        return each
    return (Or(each) if subscription_type is SubscriptionType.OR else In(PRODUCT_FAMILY, families),)


def bare_name(destination: Destination) -> str:
    """The destination's name without the prefix that all destinations of business workloads have."""
    return destination.name.removeprefix(f"{DESTINATION_PREFIX}.")


def _target(step: MessageType, parameters: MessageParameters, location: Location) -> Target:
    terms = () if parameters.kind is DestinationKind.QUEUE else TOPICS[parameters.target_destination].terms
    values = {LOCATION_TYPE: location.role.value, TARGET_LOCATION_ID: str(location), MESSAGE_TYPE: step.message}
    return Target(
        _destination(step, parameters, str(location), location.role), tuple((name, values[name]) for name in terms)
    )


def _destination(
    step: MessageType, parameters: MessageParameters, location: str, role: Role = LOGICAL_HEADQUARTERS.role
) -> Destination:
    queue = parameters.kind is DestinationKind.QUEUE
    form = _QUEUE if queue else TOPICS[parameters.target_destination].name
    name = form.format(
        location=location,
        role=role,
        message=step.message[0].upper() + step.message[1:],
        interaction=step.interaction,
    )
    return Destination(parameters.kind, f"{DESTINATION_PREFIX}.{name}")


def _terms(target: Target) -> tuple[Equals, ...]:
    return tuple(Equals(name, value) for name, value in target.properties)
