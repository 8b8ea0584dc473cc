"""Subscriptions that come and go: which copies each of them must, may and must not get, as data frames.

A message matches a subscription if it has the message type that the subscription hears, and its key. From when to when
the subscription stands is known as brackets only: the instants before SUBSCRIBE and UNSUBSCRIBE were written, and those
at which their receipts were read; likewise for the message, with the receipt of its SEND. A receipt that never came
counts as infinitely late. All instants are of one clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.scenario.deliveries import MESSAGE, STAMPED, WAS, count_if, delivered
from workloads.scenario.limits import LEAVE_MARGIN_NS

#: Later than any instant of a run.
_NEVER_NS = 2**62

#: What is known of when a subscription stands.
INSTANTS = ("planned_join_ns", "subscribe_ns", "joined_ns", "unsubscribe_ns", "left_ns")


class CopyClass(StrEnum):
    """What a subscription may get of a message that matches it."""

    #: Exactly one copy: it was confirmed before the message, and its end began later than the message was confirmed.
    MUST = "must"
    #: One copy or none.
    MAY = "may"
    #: None: the message was confirmed before its begin, or sent after its end was confirmed.
    MUST_NOT = "must not"


@dataclass(frozen=True, slots=True)
class MemberCopies:
    """Copies of messages to the subscriptions that come and go."""

    #: One row for each message and subscription of class `must` or `may`.
    #: Columns: got (1 if a copy was received, otherwise 0), received_ns (of the first one), and those of both sides.
    due: DataFrame
    #: One row for each message and subscription that got at least one copy and matches.
    #: Columns: again (deliveries in excess), received_ns (of the first one), class.
    served: DataFrame
    #: Every delivery, with what was sent.
    #: Columns: address (null if the message was never sent), population (null if no such subscription is recorded),
    #: matches, altered, class.
    copies: DataFrame


def copy_class(sent: str = "sent_ns", confirmed: str = "settled_ns") -> Column:
    """The class of a message for a subscription that it matches.

    sent, confirmed: columns with the instants of the message, beside those of the subscription
    """
    read_ns, ends_ns = F.coalesce(confirmed, F.lit(_NEVER_NS)), F.coalesce("unsubscribe_ns", F.lit(_NEVER_NS))
    must = (F.col(sent) >= F.col("joined_ns")) & F.col(confirmed).isNotNull() & (read_ns <= ends_ns - LEAVE_MARGIN_NS)
    never = F.col("subscribe_ns").isNull()
    must_not = never | (read_ns < F.col("subscribe_ns")) | (F.col(sent) > F.col("left_ns"))
    return F.when(must, str(CopyClass.MUST)).when(must_not, str(CopyClass.MUST_NOT)).otherwise(str(CopyClass.MAY))


def member_copies(
    written: DataFrame,
    received: DataFrame,
    subscriptions: DataFrame,
    heard: DataFrame,
    keep: Callable[[DataFrame], DataFrame],
) -> MemberCopies:
    """Joins messages, subscriptions and deliveries.

    written: messages with MESSAGE, execution, step, sender, address, key, sent_ns, settled_ns, body_bytes; a message
        without a key matches no subscription
    received: deliveries to these subscriptions
    subscriptions: cell_id, subscription, population, place, key, second_key and INSTANTS; few compared with the copies
    heard: the message types that subscriptions hear: cell_id, population, place, step
    keep: caches a frame
    """
    keys = F.array_distinct(F.array_compact(F.array("key", "second_key")))
    matching = subscriptions.join(heard, ["cell_id", "population", "place"]).select(
        "cell_id", "subscription", "population", "step", F.explode(keys).alias("key"), *INSTANTS
    )
    matched = (
        written.where(F.col("key").isNotNull())
        .select(*MESSAGE, "execution", "step", "sender", "address", "key", "sent_ns", "settled_ns")
        .join(F.broadcast(matching), ["cell_id", "step", "key"])
        .withColumn("class", copy_class())
        .where(F.col("class") != str(CopyClass.MUST_NOT))
    )
    copies = keep(_copies(written, received, subscriptions, matching))
    served = keep(_served(copies))
    due = matched.join(
        served.select(*MESSAGE, "subscription", "received_ns", F.lit(1).alias("got")),
        [*MESSAGE, "subscription"],
        "left",
    ).withColumn("got", F.coalesce("got", F.lit(0)))
    return MemberCopies(keep(due), served, copies)


def _copies(written: DataFrame, received: DataFrame, subscriptions: DataFrame, matching: DataFrame) -> DataFrame:
    sent = written.select(
        *MESSAGE, *STAMPED, "address", F.col("key").alias("of_key"), F.col("settled_ns").alias("was_settled_ns")
    )
    matches = matching.select(
        "cell_id",
        "subscription",
        F.col("step").alias("was_step"),
        F.col("key").alias("of_key"),
        F.lit(True).alias("matches"),
    )
    return (
        delivered(received, sent, "subscription", F.col("settled_ns").alias("consumed_ns"))
        .join(
            F.broadcast(subscriptions.select("cell_id", "subscription", "population", *INSTANTS)),
            ["cell_id", "subscription"],
            "left",
        )
        .join(F.broadcast(matches), ["cell_id", "subscription", "was_step", "of_key"], "left")
        .withColumn("matches", F.coalesce("matches", F.lit(False)))
        # From when the message was sent, not from what its copy says of it.
        .withColumn("class", copy_class("was_sent_ns", "was_settled_ns"))
        .drop(*WAS, "was_settled_ns", "of_key")
    )


def _served(copies: DataFrame) -> DataFrame:
    """The instants are those of the first delivery; what counts as a delivery in excess is as for event handlers."""
    too_often, unmarked = count_if(F.col("consumed_ns").isNotNull()) - 1, count_if(F.col("redelivered") == 0) - 1
    return (
        copies.where("matches")
        .groupBy(*MESSAGE, "subscription", "population", "address", "step", "execution", "class", *INSTANTS)
        .agg(
            F.count("*").alias("deliveries"),
            F.greatest(too_often, unmarked, F.lit(0)).alias("again"),
            F.min("arrival").alias("arrival"),
            F.min("sent_ns").alias("sent_ns"),
            F.min("received_ns").alias("received_ns"),
            F.min("body_bytes").alias("body_bytes"),
        )
    )
