"""The join of expected, sent and received messages, as data frames.

A message is identified by (producer, position), and in the tables of the workload by its *entry*: (execution, step,
place of its sender, address), which is unique. An *audience* is a handler that hears an address on a topic, or all
handlers that share a queue; each audience gets one copy of a message, through whichever of its subscriptions. A message
is *in doubt* if its transaction was never confirmed: it counts as sent if a copy of it was received, otherwise as never
sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.errors import DataError
from analysis.frames import UNPLANNED, Frames, refuse_unplanned
from analysis.scenario import execution_ids, expected
from analysis.scenario.copy_classes import INSTANTS, MemberCopies, member_copies
from analysis.scenario.deliveries import MESSAGE, STAMPED, WAS, count_if, delivered
from analysis.scenario.reader import CaseRecord, SessionRecord
from workloads.scenario.execution import NUMBER_BITS, Execution
from workloads.scenario.periods import Period
from workloads.scenario.scenario_plan import PlannedDriver

EXECUTION = ("cell_id", "execution")
ENTRY = (*EXECUTION, "step", "sender", "address")


#: Cell -> (interaction, origin) -> the highest number of an execution that was started there.
Most: TypeAlias = Mapping[int, Mapping[tuple[int, int], int]]


#: Caches a frame until the ledger is closed.
Keep: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Ledger:
    """The joined record of one or more cells, against which the audit's queries run."""

    cells: tuple[CaseRecord, ...]
    #: Messages that count as sent.
    sent: DataFrame
    #: Messages in doubt; column `got`: how many audiences received a copy. None if no message is in doubt.
    unsettled: DataFrame | None
    #: The messages in `sent` that a driver sent.
    starts: DataFrame
    #: Every delivery, joined with the message that was delivered.
    copies: DataFrame
    #: Deliveries to handlers that hear the address: one row for each (message, handler).
    heard: DataFrame
    #: One row for each execution, with its missing and unexpected messages.
    executions: DataFrame
    #: Columns (cell_id, period, begin_ns, end_ns).
    periods: DataFrame
    #: Begin and end of each period in ns, by cell.
    spans: Mapping[int, Mapping[Period, tuple[int, int]]]
    #: Every message that was written, in doubt or not.
    written: DataFrame
    #: The copies of members of populations, which no other frame has; None if no cell has populations.
    members: MemberCopies | None


#: Types whose names in Arrow are not those of Spark.
_ARROW = {"int": "int32", "long": "int64"}


def frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], columns: str) -> DataFrame:
    """A small table for broadcast joins; it is passed to Spark as one batch."""
    named = [column.split() for column in columns.split(", ")]
    values = list(zip(*rows, strict=True)) or [() for _ in named]
    arrays = [pa.array(column, _ARROW.get(kind, kind)) for column, (_, kind) in zip(values, named, strict=True)]
    return F.broadcast(spark.createDataFrame(pa.Table.from_arrays(arrays, names=[name for name, _ in named])))


@contextmanager
def ledger(
    spark: SparkSession,
    data: Frames,
    cells: Sequence[CaseRecord],
    spans: Mapping[int, Mapping[Period, tuple[int, int]]],
) -> Iterator[Ledger]:
    """The ledger, cached in memory (and on disk if it is large) until the context ends.

    Raises DataError if the record is incomplete.
    """
    kept: list[DataFrame] = []

    def keep(table: DataFrame) -> DataFrame:
        kept.append(table.persist())
        return kept[-1]

    try:
        yield _ledger(spark, data, tuple(cells), spans, keep)
    finally:
        for table in kept:
            table.unpersist()


def _ledger(
    spark: SparkSession,
    data: Frames,
    cells: tuple[CaseRecord, ...],
    spans: Mapping[int, Mapping[Period, tuple[int, int]]],
    keep: Keep,
) -> Ledger:
    written = keep(_written(spark, data.tables["sent"], cells, spans))
    settled, most = check_written(written, data.tables["sent"], cells)
    received, members = data.tables["received"], None
    if any(cell.plan.populations for cell in cells):
        members = _members(spark, data, written, cells, keep)
        received = received.where("subscription is null")
    copies = keep(_copies(spark, received, written, cells))
    heard = keep(_heard(copies))
    counted, unsettled = (written, None) if settled else _counted(written, heard, members, keep)
    starts = counted.where("is_driver")
    apart = keep(
        starts.select(*EXECUTION)
        .distinct()
        .mapInArrow(execution_ids.taking_apart(expected.laws(cells)), execution_ids.TAKEN_APART)
    )
    executions = keep(_executions(_expected(spark, apart, cells, most), counted, copies, heard))
    rows = [(cell, str(period), *span) for cell, of_cell in spans.items() for period, span in of_cell.items()]
    periods = frame(spark, rows, "cell_id int, period string, begin_ns long, end_ns long")
    return Ledger(cells, counted, unsettled, starts, copies, heard, executions, periods, spans, written, members)


def _members(
    spark: SparkSession, data: Frames, written: DataFrame, cells: Sequence[CaseRecord], keep: Keep
) -> MemberCopies:
    heard = [
        (cell.number, number, place, step)
        for cell in cells
        for number, population in enumerate(cell.populations)
        for place, subscription in enumerate(population.subscriptions)
        for step in subscription.steps
    ]
    return member_copies(
        written,
        data.tables["received"].where("subscription is not null"),
        keep(
            data.tables["subscriptions"].select(
                "cell_id", "subscription", "population", "place", "key", "second_key", *INSTANTS
            )
        ),
        frame(spark, heard, "cell_id int, population int, place int, step int"),
        keep,
    )


def within(table: DataFrame, periods: DataFrame, instant: str, how: str = "inner") -> DataFrame:
    """The rows joined with the period that contains the instant; with how="left", null if no period contains it."""
    return table.join(
        periods.withColumnRenamed("cell_id", "of_cell"),
        (F.col("cell_id") == F.col("of_cell"))
        & (F.col(instant) >= F.col("begin_ns"))
        & (F.col(instant) < F.col("end_ns")),
        how,
    ).drop("of_cell", "begin_ns", "end_ns")


def _written(
    spark: SparkSession,
    sent: DataFrame,
    cells: Sequence[CaseRecord],
    spans: Mapping[int, Mapping[Period, tuple[int, int]]],
) -> DataFrame:
    """All rows of `sent` with the sender's place; the rows of a driver also have its interaction and mean gap.

    A session is a driver, too.
    """
    lengths_ns = {
        number: max(end for _, end in of_cell.values()) - min(begin for begin, _ in of_cell.values())
        for number, of_cell in spans.items()
    }
    producers = [
        (
            cell.number,
            producer.number,
            producer.sender,
            isinstance(producer, PlannedDriver),
            cell.steps[producer.step].interaction,
            1e9 / producer.rate_per_s if isinstance(producer, PlannedDriver) else None,
        )
        for cell in cells
        for producer in (*cell.producers.values(), *cell.sessions(lengths_ns[cell.number]))
    ]
    places = frame(
        spark,
        producers,
        "cell_id int, producer int, sender int, is_driver boolean, of_interaction int, gap_ns double",
    )
    addresses = [
        (cell.number, number, address.copies) for cell in cells for number, address in enumerate(cell.plan.addresses)
    ]
    return (
        sent.select(
            *(*MESSAGE, "execution", "step", "address", "planned_ns", "sent_ns", "settled_ns", "body_bytes", "key")
        )
        .join(places, ["cell_id", "producer"], "left")
        .join(
            frame(spark, addresses, "cell_id int, address int, copies int"),
            ["cell_id", "address"],
            "left",
        )
    )


def check_written(written: DataFrame, sent: DataFrame, cells: Sequence[CaseRecord]) -> tuple[bool, Most]:
    """Checks that every producer is in the plan, has positions 0, 1, 2, ... and starts only its own executions.

    Returns whether no message is in doubt, and the highest execution numbers; all later steps rely on both. Raises
    DataError if a check fails.
    """
    numbers = {cell.number: cell for cell in cells}
    most: dict[int, dict[tuple[int, int], int]] = {cell.number: {} for cell in cells}
    rows = (
        written.groupBy("cell_id", "producer")
        .agg(
            F.count("*").alias("messages"),
            F.min("position").alias("first"),
            F.max("position").alias("last"),
            F.countDistinct("position").alias("distinct"),
            F.count("settled_ns").alias("settled"),
            F.count("planned_ns").alias("planned"),
            F.min("execution").alias("lowest"),
            F.max("execution").alias("highest"),
            count_if(F.col("sender").isNull() | F.col("copies").isNull()).alias("unknown"),
        )
        .collect()
    )
    for row in rows:
        if row["cell_id"] == UNPLANNED:
            refuse_unplanned(sent, "sent")
        where = f"sent of {numbers[row['cell_id']].key}, producer {row['producer']}"
        if row["unknown"]:
            raise DataError(
                f"{where}: {row['unknown']} rows have a producer or an address that is not in the plan; the run "
                "directory was changed after it was written: measure again"
            )
        if not (row["first"] == 0 and row["messages"] == row["distinct"] == row["last"] + 1):
            raise DataError(
                f"{where}: {row['messages']} messages have positions {row['first']} to {row['last']}, expected 0, 1, "
                "2, ... without a gap; the record of sent messages is incomplete: measure again"
            )
        cell = numbers[row["cell_id"]]
        producer = cell.producer(row["producer"])
        if isinstance(producer, PlannedDriver):
            begun = Execution.of(cell.first_execution(producer))
            number = row["highest"] - Execution(begun.interaction, begun.origin, 0).id
            beyond = isinstance(producer, SessionRecord) and row["highest"] > producer.last_execution
            if row["planned"] != row["messages"] or row["lowest"] < begun.id or beyond or number >> NUMBER_BITS:
                raise DataError(
                    f"{where}: starts without a planned instant, or executions of another driver; the record is "
                    "incomplete: measure again"
                )
            place = begun.interaction, begun.origin
            most[row["cell_id"]][place] = max(number, most[row["cell_id"]].get(place, 0))
    return all(row["settled"] == row["messages"] for row in rows), most


def _copies(spark: SparkSession, received: DataFrame, written: DataFrame, cells: Sequence[CaseRecord]) -> DataFrame:
    """Every delivery, with the message that was delivered.

    Columns: audience, null if the handler does not hear the address, or if the message was never sent (the address is
    null, too).
    """
    audiences = [
        (cell.number, address, handler, audience)
        for cell in cells
        for (address, handler), audience in cell.audiences.items()
    ]
    sent = written.select(*MESSAGE, *STAMPED, "address", "sender")
    audience = frame(spark, audiences, "cell_id int, address int, handler int, audience int")
    found = delivered(received, sent, "handler", "settled_ns").drop(*WAS)
    return found.join(audience, ["cell_id", "address", "handler"], "left")


def _heard(copies: DataFrame) -> DataFrame:
    """One row for each (message, handler) where the handler hears the address, over all its subscriptions.

    The instants are those of the first delivery. A message that was not settled may be delivered again with the
    redelivered flag set.

    Columns:
        heard: 1 in the row that represents the audience, otherwise 0.
        again: in that row, the number of excess deliveries to the audience; otherwise 0.
    """
    audience = Window.partitionBy(*MESSAGE, "audience")
    too_often, unmarked = (F.sum(name).over(audience) - 1 for name in ("settled", "unmarked"))
    first = F.row_number().over(audience.orderBy("received_ns", "handler")) == 1
    return (
        copies.where(F.col("audience").isNotNull())
        .groupBy(*MESSAGE, "handler", "audience", "address", "step", "sender", "execution")
        .agg(
            F.count("settled_ns").alias("settled"),
            count_if(F.col("redelivered") == 0).alias("unmarked"),
            F.min("arrival").alias("arrival"),
            F.min("sent_ns").alias("sent_ns"),
            F.min("received_ns").alias("received_ns"),
            F.min("body_bytes").alias("body_bytes"),
        )
        .withColumn("heard", first.cast("int"))
        .withColumn("again", F.col("heard") * F.greatest(too_often, unmarked, F.lit(0)))
    )


def _counted(
    written: DataFrame, heard: DataFrame, members: MemberCopies | None, keep: Keep
) -> tuple[DataFrame, DataFrame]:
    """The messages that count as sent, and those in doubt with the number of audiences that got a copy.

    Each member that got one is an audience.
    """
    got = heard.select(*MESSAGE, "heard")
    if members is not None:
        got = got.unionByName(members.served.select(*MESSAGE, F.lit(1).alias("heard")))
    audiences = got.groupBy(*MESSAGE).agg(F.sum("heard").alias("got"))
    unsettled = keep(
        written.where(F.col("settled_ns").isNull())
        .join(audiences, list(MESSAGE), "left")
        .withColumn("got", F.coalesce("got", F.lit(0)))
    )
    certain = written.where(F.col("settled_ns").isNotNull())
    return keep(certain.unionByName(unsettled.where("got > 0").drop("got"))), unsettled


def _expected(spark: SparkSession, apart: DataFrame, cells: Sequence[CaseRecord], most: Most) -> DataFrame:
    """All messages that the executions should have sent, by a join with the templates."""
    templates = [row for cell in cells for row in expected.templates(cell, most[cell.number])]
    return (
        apart.join(frame(spark, templates, expected.TEMPLATE), ["cell_id", "interaction", "origin", "phase"])
        .join(frame(spark, expected.sizes(cells), expected.SIZES), ["cell_id", "step", "column"])
        .select(*ENTRY, F.lit(1).alias("due"), "copies", "due_bytes")
    )


def _executions(expected: DataFrame, counted: DataFrame, copies: DataFrame, heard: DataFrame) -> DataFrame:
    """One row for each execution: missing and unexpected messages, and whether the broker caused them.

    Columns:
        due, missing, surplus: expected messages, those not sent, and sent messages beyond them.
        copies: copies expected of the messages that are due.
        lost: copies not received of the messages that were sent.
        first_missing: the first step without its message.
        wrong_size: messages whose body size differs from the model.
        faults: excess and misdelivered copies.
    """
    sent = counted.select(*ENTRY, F.lit(1).alias("sent"), "body_bytes", "sent_ns")
    got = heard.select(*ENTRY, "heard", F.col("again").alias("faults"), "received_ns")
    nowhere = F.lit(UNPLANNED)
    misdelivered = copies.where(F.col("audience").isNull()).select(
        *EXECUTION, "step", nowhere.alias("sender"), nowhere.alias("address"), F.lit(1).alias("faults")
    )
    entries = expected
    for part in (sent, got, misdelivered):
        entries = entries.unionByName(part, allowMissingColumns=True)
    none = F.lit(0)
    entries = (
        entries.repartition(*EXECUTION)
        .groupBy(*ENTRY)
        .agg(
            *(F.coalesce(F.sum(name), none).alias(name) for name in ("due", "copies", "sent", "heard", "faults")),
            F.max("due_bytes").alias("due_bytes"),
            F.max("body_bytes").alias("body_bytes"),
            F.min("sent_ns").alias("sent_ns"),
            F.max("received_ns").alias("received_ns"),
        )
    )
    due, was_sent = F.col("due") == 1, F.col("sent") > 0
    missing = due & ~was_sent
    lost = F.when(due & was_sent, F.greatest(F.col("sent") * F.col("copies") - F.col("heard"), none)).otherwise(none)
    wrong = due & was_sent & (F.col("body_bytes") != F.col("due_bytes"))
    return entries.groupBy(*EXECUTION).agg(
        F.sum("due").alias("due"),
        F.sum("copies").alias("copies"),
        count_if(missing).alias("missing"),
        F.sum(F.greatest(F.col("sent") - F.col("due"), none)).alias("surplus"),
        F.sum(lost).alias("lost"),
        count_if(wrong).alias("wrong_size"),
        F.sum("faults").alias("faults"),
        F.min(F.when(missing, F.col("step"))).alias("first_missing"),
        F.min(F.when(wrong, F.col("step"))).alias("wrong_step"),
        F.min("sent_ns").alias("sent_ns"),
        F.max("received_ns").alias("received_ns"),
    )
