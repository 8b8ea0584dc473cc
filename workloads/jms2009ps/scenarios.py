"""The three scenarios of the paper's case study, as configurations.

Source: Sachs, Appel, Kounev, Buchmann 2010, section 4: the first is like SPECjms2007, the second has a topic per
message type, the third one topic for all messages; transactions and persistence are those of SPECjms2007 in all three.

Choices where the paper leaves something open: subscriptions that replace queues are durable where the message is
persistent (`nondurable.toml` in this directory is the second scenario without durable subscriptions); suppliers use one
subscription with a list (IN) in the second and third, which gives these as many subscriptions as event handlers; and
the topology is the vertical one, in which BASE changes the traffic only.
"""

from __future__ import annotations

from collections.abc import Mapping

from workloads.jms2009ps.parameters import DEFAULTS, Configuration, SubscriptionType, TargetDestination, changed


def _of_topics(number: int, target: TargetDestination) -> Configuration:
    return Configuration(
        f"scenario_{number}",
        changed(DEFAULTS, queue=False, target_destination=target, subscription_type=SubscriptionType.IN),
    )


#: By number.
SCENARIOS: Mapping[int, Configuration] = {
    1: Configuration("scenario_1", DEFAULTS),
    2: _of_topics(2, TargetDestination.MESSAGE_TYPE),
    3: _of_topics(3, TargetDestination.CENTRAL),
}
