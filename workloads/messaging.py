"""What both kinds of workloads say of messages: destinations, acknowledgement, the largest body."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DestinationKind(StrEnum):
    """On a topic a subscription's selector is a filter; where messages are routed, it becomes a binding of the broker.

    `workloads.throughput.routing` defines which selectors can become bindings, by routing key or by headers.
    """

    TOPIC = "topic"
    QUEUE = "queue"
    KEY = "key"
    HEADERS = "headers"

    @property
    def routed(self) -> bool:
        """Whether a selector becomes a binding, which the broker looks up instead of evaluating a filter."""
        return self in (DestinationKind.KEY, DestinationKind.HEADERS)


class AckMode(StrEnum):
    """`client` acknowledges cumulatively, `client-individual` every message individually, `auto` none.

    `transacted` acknowledges cumulatively inside a transaction, once per block of messages that was read.
    `exactly-once` settles every message in two steps, on the way to the broker as well, so that none comes twice.
    """

    AUTO = "auto"
    CLIENT = "client"
    CLIENT_INDIVIDUAL = "client-individual"
    TRANSACTED = "transacted"
    EXACTLY_ONCE = "exactly-once"


@dataclass(frozen=True, slots=True)
class Destination:
    kind: DestinationKind
    name: str


#: Largest size of a body; the load reads and sends in blocks that hold a few frames of this size.
MOST_BODY_BYTES = 1 << 16
