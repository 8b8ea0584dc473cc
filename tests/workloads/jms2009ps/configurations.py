"""What the tests of this package share: any configuration, and configurations of one target destination."""

from __future__ import annotations

from hypothesis import strategies as st

from workloads.jms2009ps.parameters import (
    DEFAULTS,
    MESSAGES,
    PARAMETERS,
    Configuration,
    MessageParameters,
    SubscriptionType,
    TargetDestination,
    changed,
    has,
    topic_contradicts,
)

#: Every target destination with every subscription type that goes with it.
COMBINATIONS = [
    (target, subscription_type)
    for target in TargetDestination
    for subscription_type in SubscriptionType
    if not topic_contradicts(target, subscription_type)
]

#: BASE below 5, not a multiple of 5, one past a headquarters instance.
BASES = (1, 4, 7, 13, 21)


def uniform(target, subscription_type, *, queue, topology="vertical") -> Configuration:
    """All messages alike, as far as they have the parameters."""
    values = {"target_destination": target, "subscription_type": subscription_type, "queue": queue}
    return Configuration("uniform", changed(DEFAULTS, **values), topology)


@st.composite
def configurations(draw) -> Configuration:
    """Any values of the 92 parameters, in either topology."""
    parameters = {}
    for message in MESSAGES:
        values = {
            name: draw(st.sampled_from((False, True) if parameter.values is bool else list(parameter.values)))
            if has(message, name)
            else None
            for name, parameter in PARAMETERS.items()
        }
        if topic_contradicts(values["target_destination"], values["subscription_type"]):
            values["subscription_type"] = SubscriptionType.SET
        parameters[message] = MessageParameters(**values)
    handlers = draw(st.integers(1, 3)) if any(row.queue for row in parameters.values()) else 1
    return Configuration("any", parameters, draw(st.sampled_from(("vertical", "horizontal"))), handlers)
