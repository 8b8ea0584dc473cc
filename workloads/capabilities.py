"""What a broker supports over a protocol, one row for each; and which parts of a plan it lacks.

A plan says what should happen; no plan and no experiment depends on a broker. Where a row lacks what a plan needs,
the cell is *not applicable*: it is not measured, and is reported as not applicable with the reason. How the broker is
asked for it is a matter of the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from workloads.messaging import AckMode, DestinationKind

#: Those of most brokers. Acknowledgement inside a transaction is a matter of `Transactions`.
PLAIN_ACK_MODES = frozenset((AckMode.AUTO, AckMode.CLIENT, AckMode.CLIENT_INDIVIDUAL))


class Transactions(StrEnum):
    """What a transaction covers: messages sent and acknowledgements, only messages sent, or nothing."""

    FULL = "full"
    SEND_ONLY = "send-only"
    NONE = "none"


#: Default for a broker without a known limit; the largest cells of the grids have some 5,000.
SUBSCRIPTIONS_PER_BLOCK = 10_000


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one broker supports over a protocol."""

    #: kinds of destinations
    destinations: frozenset[DestinationKind]
    #: whether a subscription may have a selector
    selectors: bool = True
    #: whether a selector compares text that is a number as a number
    numeric_selectors: bool = True
    #: whether filters need a destination of another kind, which is made for a cell of the study and known to all of its
    #: clients: there are none in workloads, nor of durable subscriptions
    prepared_selectors: bool = False
    #: whether, where it may not, `name = 'value'` on the only property of the messages becomes a topic of its own
    topic_filters: bool = False
    #: whether a connection may have several subscriptions to the same messages, each of which gets its copy
    repeated: bool = True
    #: acknowledgement modes of a subscription; acknowledgement in a transaction is under `transactions`
    ack_modes: frozenset[AckMode] = PLAIN_ACK_MODES
    #: those of a subscription to a queue, where they are fewer; None where they are the same
    queue_ack_modes: frozenset[AckMode] | None = None
    #: what a transaction covers
    transactions: Transactions = Transactions.FULL
    #: whether messages are confirmed that are sent outside transactions
    receipts: bool = True
    #: whether a message that is to be stored may be sent without asking for its confirmation
    stores_unconfirmed: bool = True
    #: whether subscriptions may outlive their connections
    durable: bool = False
    #: whether it retains a message of each topic on request, for those who subscribe later, by a wildcard as well, and
    #: for those who end a subscription and begin it again
    retained: bool = False
    #: whether what is delivered before acknowledgement can be limited to one message
    one_ahead: bool = False
    #: seconds within which a connection that only reads must write something, or the broker closes it; None where
    #: that is not needed
    keep_alive_s: float | None = None
    #: whether the protocol lets the broker drop copies that nobody has to acknowledge, as for a slow subscriber
    drops: bool = False
    #: whether a redelivered message is marked as such
    redelivered: bool = True
    #: whether, now and then, the broker delivers a copy twice although nothing failed, the second marked as redelivered
    repeats_copies: bool = False
    #: whether, now and then under load, copies of a publisher's messages overtake each other in the broker
    reorders_copies: bool = False
    #: kinds of destinations whose messages are marked as redelivered also after the broker itself was killed (queues
    #: of a business workload, durable subscriptions to topics)
    crash_marked: frozenset[DestinationKind] = frozenset()
    #: whether persistent messages survive the end of the process
    stored: bool = True
    #: page on which the product promises that confirmed persistent messages survive; empty where it promises nothing
    stored_source: str = ""
    #: whether a queue stores messages while nobody consumes from it
    queues_store: bool = True
    #: whether a message is on the disk when the broker confirms it; None where that is unknown
    synced: bool | None = None
    #: whether a transaction whose commit is confirmed takes effect as a whole even if the broker is killed
    atomic: bool = True
    #: whether the broker sends signs of life, and expects them, as agreed at the login
    heart_beats: bool = True
    #: whether the broker checks user names and passwords
    logins: bool = True
    #: whether the broker closes a connection that sends bytes which are not of the protocol
    strict: bool = True
    #: whether publishers and subscribers speak the same protocol
    one_protocol: bool = True
    #: largest number of subscriptions that a run has on the broker at once; limited by the memory they take there
    subscriptions_per_block: int = SUBSCRIPTIONS_PER_BLOCK


def mixed(publishing: Capabilities, consuming: Capabilities, destinations: frozenset[DestinationKind]) -> Capabilities:
    """What a broker supports whose publishers and subscribers speak two protocols.

    publishing, consuming: what it supports over the one of each
    destinations: kinds of destinations that are the same over both
    """
    return replace(
        consuming,
        destinations=publishing.destinations & consuming.destinations & destinations,
        selectors=publishing.selectors and consuming.selectors,
        numeric_selectors=publishing.numeric_selectors and consuming.numeric_selectors,
        topic_filters=publishing.topic_filters and consuming.topic_filters,
        ack_modes=consuming.ack_modes - ({AckMode.EXACTLY_ONCE} - publishing.ack_modes),
        receipts=publishing.receipts,
        stores_unconfirmed=publishing.stores_unconfirmed,
        drops=publishing.drops or consuming.drops,
        repeats_copies=publishing.repeats_copies or consuming.repeats_copies,
        reorders_copies=publishing.reorders_copies or consuming.reorders_copies,
        one_protocol=False,
    )


#: What a broker lacks without a kind of destination, as a reason why something is not applicable to it.
WITHOUT_DESTINATION = {
    DestinationKind.TOPIC: "no topics",
    DestinationKind.QUEUE: "no queues",
    DestinationKind.KEY: "no routing by key",
    DestinationKind.HEADERS: "no routing by headers",
}

#: What a broker lacks that does not confirm messages.
WITHOUT_RECEIPTS = "no confirmation of messages"
