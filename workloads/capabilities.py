"""What a broker supports over STOMP and in which syntax, one row per broker; and which parts of a plan it lacks.

A plan says what should happen; no plan and no experiment depends on a broker. Where a row lacks what a plan needs,
the cell is *not applicable*: it is not measured, and is reported as not applicable with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from workloads.messaging import AckMode, DestinationKind

#: Acknowledgement inside a transaction is a matter of `Transactions`.
PLAIN_ACK_MODES = frozenset(AckMode) - {AckMode.TRANSACTED}


class Transactions(StrEnum):
    """What a transaction covers: messages sent and acknowledgements, only messages sent, or nothing."""

    FULL = "full"
    SEND_ONLY = "send-only"
    NONE = "none"


class PrefetchUnit(StrEnum):
    """The unit in which a broker limits what it delivers before acknowledgement."""

    MESSAGES = "messages"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Prefetch:
    """The header of SUBSCRIBE that limits how much is delivered before it is acknowledged."""

    #: name of the header
    header: str
    #: what its value counts
    unit: PrefetchUnit
    #: its value for one message at a time
    one: str


@dataclass(frozen=True, slots=True)
class Syntax:
    """Format strings of the `destination` header; each may use the destination's `name` and, where it routes by key,
    the `key`."""

    #: header of SEND
    send: str
    #: header of SUBSCRIBE, which may also use the subscription's `number`
    subscribe: str
    #: the broker's wildcard for exactly one word of a key
    any_word: str = "*"


#: Default for a broker without a known limit; the largest cells of the grids have some 5,000.
SUBSCRIPTIONS_PER_BLOCK = 10_000

#: The syntax that most brokers use.
TOPIC_AND_QUEUE: Mapping[DestinationKind, Syntax] = {
    kind: Syntax(f"/{kind}/{{name}}", f"/{kind}/{{name}}") for kind in (DestinationKind.TOPIC, DestinationKind.QUEUE)
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one broker supports over STOMP, and the syntax in which it is asked for it."""

    #: syntax of each kind of destination; a kind that is absent does not exist on this broker
    destinations: Mapping[DestinationKind, Syntax]
    #: version of STOMP
    version: str = "1.2"
    #: whether SUBSCRIBE accepts a selector
    selectors: bool = True
    #: text to be put before each selector so that numbers are compared as numbers
    selector_prefix: str = ""
    #: acknowledgement modes of SUBSCRIBE; acknowledgement in a transaction is under `transactions`
    ack_modes: frozenset[AckMode] = PLAIN_ACK_MODES
    #: what a transaction covers
    transactions: Transactions = Transactions.FULL
    #: headers of SUBSCRIBE and UNSUBSCRIBE that create and remove a durable subscription; values are format strings
    #: over its `name`; None where there are no durable subscriptions
    durable: Mapping[str, str] | None = None
    #: whether the UNSUBSCRIBE that ends a durable subscription also removes it, if it has these headers; otherwise a
    #: second UNSUBSCRIBE does
    leaving_removes: bool = False
    #: header that limits what is delivered before acknowledgement; None where there is no limit
    prefetch: Prefetch | None = None
    #: the `host` header of CONNECT
    virtual_host: str = "/"
    #: seconds within which a connection that only reads must write something, or the broker closes it; None where
    #: that is not needed
    keep_alive_s: float | None = None
    #: whether a redelivered message is marked as such
    redelivered: bool = True
    #: whether, now and then, the broker delivers a copy twice although nothing failed, the second marked as redelivered
    repeats_copies: bool = False
    #: kinds of destinations whose messages are marked as redelivered also after the broker itself was killed (queues
    #: of a business workload, durable subscriptions to topics)
    crash_marked: frozenset[DestinationKind] = frozenset()
    #: whether persistent messages survive the end of the process
    stored: bool = True
    #: whether a message is on the disk when the broker confirms it; None where that is unknown
    synced: bool | None = None
    #: whether a transaction whose COMMIT has its receipt takes effect as a whole even if the broker is killed
    atomic: bool = True
    #: whether the broker sends heart-beats, and expects them, as negotiated in CONNECT
    heart_beats: bool = True
    #: whether the broker checks user names and passwords
    logins: bool = True
    #: whether the broker closes a connection that sends bytes which are not STOMP
    strict: bool = True
    #: largest number of subscriptions that a run has on the broker at once; limited by the memory they take there
    subscriptions_per_block: int = SUBSCRIPTIONS_PER_BLOCK

    def record(self) -> dict[str, Any]:
        """The row in plain JSON values, for the manifest."""
        return {
            **asdict(self),
            "destinations": {kind.value: asdict(syntax) for kind, syntax in self.destinations.items()},
            "ack_modes": sorted(self.ack_modes),
            "crash_marked": sorted(self.crash_marked),
            "durable": None if self.durable is None else dict(self.durable),
        }


#: What a broker lacks without a kind of destination, as a reason why something is not applicable to it.
WITHOUT_DESTINATION = {
    DestinationKind.TOPIC: "no topics",
    DestinationKind.QUEUE: "no queues",
    DestinationKind.KEY: "no routing by key",
    DestinationKind.HEADERS: "no routing by headers",
}
