"""What is asked of copies alike, whether event handlers or members of populations got them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

#: What identifies a message.
MESSAGE = ("cell_id", "producer", "position")

#: What the stamp of a copy says of its message besides.
STAMPED = ("step", "execution", "sent_ns", "body_bytes")
#: The same of the message that was sent, in `delivered`.
WAS = tuple(f"was_{name}" for name in STAMPED)


def delivered(received: DataFrame, written: DataFrame, *further: Column | str) -> DataFrame:
    """Every delivery, joined by its stamp with the message that was delivered; nulls if that was never sent.

    further: columns of the deliveries that are kept

    Columns: those of `written`, of which the STAMPED ones are named as in WAS, and
        altered: whether the delivered message differs from the sent one.
    """
    renamed = dict(zip(STAMPED, WAS, strict=True))
    altered = reduce(or_, (F.col(name) != F.col(was) for name, was in renamed.items()))
    return (
        received.select(*MESSAGE, "arrival", "received_ns", "redelivered", *STAMPED, *further)
        .join(written.withColumnsRenamed(renamed), list(MESSAGE), "left")
        .withColumn("altered", F.coalesce(altered, F.lit(False)))
    )


def out_of_order(table: DataFrame, receiver: str) -> DataFrame:
    """The copies that a receiver got after a later message of the same producer and address."""
    before = Window.partitionBy("cell_id", receiver, "producer", "address").orderBy("received_ns", "arrival")
    earlier = before.rowsBetween(Window.unboundedPreceding, -1)
    return table.withColumn("late", F.max("position").over(earlier) > F.col("position")).where("late")


def count_if(condition: Column) -> Column:
    """The number of rows for which the condition holds."""
    return F.sum(condition.cast("int"))


def first(condition: Column, instant: str, *further: str) -> Column:
    """The first message, by this instant, for which the condition holds."""
    return F.min(F.when(condition, F.struct(instant, "producer", "position", "execution", *further)))


def numbers_and_examples(conditions: Mapping[str, Column], *further: str) -> Iterator[Column]:
    """For each condition, by its name, the number of copies for which it holds, and `..._example`, the first."""
    for name, condition in conditions.items():
        yield count_if(condition).alias(name)
        yield first(condition, "received_ns", *further).alias(f"{name}_example")
