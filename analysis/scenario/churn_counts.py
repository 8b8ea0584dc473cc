"""The queries on the copies of members: every aggregate that Spark computes, as plain numbers for each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.errors import DataError
from analysis.scenario.aggregates import by_second, duration_columns, in_period, is_exact
from analysis.scenario.copy_classes import CopyClass, MemberCopies
from analysis.scenario.deliveries import MESSAGE, count_if, first, numbers_and_examples, out_of_order
from analysis.scenario.message_join import Ledger, frame

#: Places among the copies of a message, in the order of their receipt: name, and share of the copies.
RANKS = (("first", 0.0), ("quarter", 0.25), ("half", 0.5), ("three quarters", 0.75), ("last", 1.0))

Rows: TypeAlias = Sequence[Row]


@dataclass(frozen=True, slots=True)
class ChurnCounts:
    """The aggregates of one cell; periods are texts, empty for instants outside all periods."""

    #: Messages sent, by period, step and sender.
    sent: Rows
    #: Copies that must and may come: n by period (of sending), read (period of receipt), sender, step, address, class
    #: and got (0: not received).
    due: Rows
    #: Missing copies by population and kind (lost or hole), each with the first example.
    missing: Rows
    #: All deliveries of messages that match, those in excess, and copies of class `must not`, by population and step,
    #: the latter two with the first example; behind: copies received after the receipt of UNSUBSCRIBE of messages that
    #: may come, and closing: those received while it was awaited.
    served: Rows
    #: All deliveries, and those with a wrong key (misdelivered), of messages never sent (unsent), or with other content
    #: (altered), by population and step.
    anomalies: Rows
    #: Copies received out of order, by population.
    disorder: Rows
    #: Messages without the receipt that they asked for, by step.
    unconfirmed: Rows
    #: Delivery times of copies by period (of receipt) and step.
    times: Rows
    #: The same by period (of sending), step and rank (index of RANKS) of the copy among those of its message; only
    #: messages with several copies.
    ranks: Rows
    #: What came to wait (positive) or was read (negative) in each second: messages awaiting their receipt, and copies
    #: that must come.
    waiting: Rows
    #: By subscription that joined in the load: sent_ns of the last message before its receipt of SUBSCRIBE that it did
    #: not get, and (sent_ns, settled_ns) of the first that it got.
    brackets: Rows
    #: Messages that announce members (see `Workload.announced`): execution, step and the first receipt.
    announcements: Rows


def churn_counts(spark: SparkSession, ledger: Ledger) -> Mapping[int, ChurnCounts]:
    """The aggregates of the cells with populations. Raises DataError if a copy names an unknown subscription."""
    if ledger.members is None:
        return {}
    asked = _ChurnQuery(spark, ledger, ledger.members)
    tables = {field.name: getattr(asked, field.name)() for field in fields(ChurnCounts)}
    _check_known(ledger, tables["anomalies"])
    return {
        cell.number: ChurnCounts(
            **{name: [row for row in rows if row["cell_id"] == cell.number] for name, rows in tables.items()}
        )
        for cell in ledger.cells
        if cell.plan.populations
    }


def _check_known(ledger: Ledger, anomalies: Rows) -> None:
    keys = {cell.number: cell.key for cell in ledger.cells}
    for row in anomalies:
        if row["population"] is None:
            raise DataError(
                f"received of {keys[row['cell_id']]}: {row['n']} copies name a subscription that is not in the table "
                f"`subscriptions`, first {row['unknown']}; the record is incomplete: measure again"
            )


class _ChurnQuery:
    """The queries, one Spark job each, by the names of the fields of ChurnCounts; all their results are small."""

    def __init__(self, spark: SparkSession, ledger: Ledger, members: MemberCopies) -> None:
        self._spark, self._ledger, self._members = spark, ledger, members

    def sent(self) -> Rows:
        return (
            in_period(self._ledger.sent, self._ledger.periods, "sent_ns")
            .groupBy("cell_id", "period", "step", "sender")
            .agg(F.count("*").alias("n"))
            .collect()
        )

    def due(self) -> Rows:
        read = self._ledger.periods.select(
            F.col("cell_id").alias("of_cell"), F.col("period").alias("read"), "begin_ns", "end_ns"
        )
        received = F.col("received_ns")
        return (
            in_period(self._members.due, self._ledger.periods, "sent_ns")
            .join(
                read,
                (F.col("cell_id") == F.col("of_cell")) & (received >= F.col("begin_ns")) & (received < F.col("end_ns")),
                "left",
            )
            .groupBy("cell_id", "period", "read", "sender", "step", "address", "class", "got")
            .agg(F.count("*").alias("n"))
            .collect()
        )

    def missing(self) -> Rows:
        """A copy with a wrong key is counted as such, and one copy less of its message as lost."""
        absent = self._members.due.where("got = 0 and sent_ns >= joined_ns")
        later = self._members.served.groupBy("cell_id", "subscription", "producer", "address").agg(
            F.max("position").alias("last")
        )
        misdelivered = (
            self._members.copies.where(_MISDELIVERED).groupBy(*MESSAGE).agg(F.count("*").alias("misdelivered"))
        )
        must = F.col("class") == str(CopyClass.MUST)
        among = F.row_number().over(Window.partitionBy(*MESSAGE, must).orderBy("subscription"))
        kind = F.when(must, F.when(among > F.coalesce("misdelivered", F.lit(0)), "lost")).when(
            F.col("position") < F.col("last"), "hole"
        )
        return (
            absent.join(misdelivered, list(MESSAGE), "left")
            .join(later, ["cell_id", "subscription", "producer", "address"], "left")
            .withColumn("kind", kind)
            .where("kind is not null")
            .groupBy("cell_id", "population", "kind")
            .agg(F.count("*").alias("n"), _first(F.lit(True), "sent_ns").alias("example"))
            .collect()
        )

    def served(self) -> Rows:
        too_long = F.col("class") == str(CopyClass.MUST_NOT)
        behind = ~too_long & (F.col("received_ns") > F.col("left_ns"))
        closing = ~too_long & (F.col("received_ns") > F.col("unsubscribe_ns")) & ~F.coalesce(behind, F.lit(False))
        return (
            self._members.served.groupBy("cell_id", "population", "step")
            .agg(
                F.sum("deliveries").alias("deliveries"),
                F.sum("again").alias("again"),
                _first(F.col("again") > 0).alias("again_example"),
                count_if(behind).alias("behind"),
                count_if(closing).alias("closing"),
                *numbers_and_examples({"too_long": too_long}, "subscription"),
            )
            .collect()
        )

    def anomalies(self) -> Rows:
        kinds = {
            "misdelivered": F.expr(_MISDELIVERED),
            "unsent": F.col("address").isNull(),
            "altered": F.col("altered"),
        }
        return (
            self._members.copies.groupBy("cell_id", "population", "step")
            .agg(
                F.count("*").alias("n"),
                F.min("subscription").alias("unknown"),
                *numbers_and_examples(kinds, "subscription"),
            )
            .collect()
        )

    def disorder(self) -> Rows:
        return (
            out_of_order(self._members.served, "subscription")
            .groupBy("cell_id", "population")
            .agg(F.count("*").alias("n"), _first(F.lit(True)).alias("example"))
            .collect()
        )

    def unconfirmed(self) -> Rows:
        return (
            self._receipts()
            .where("settled_ns is null")
            .groupBy("cell_id", "step")
            .agg(F.count("*").alias("n"), first(F.lit(True), "sent_ns").alias("example"))
            .collect()
        )

    def times(self) -> Rows:
        took = self._members.served.withColumn("took_ns", F.col("received_ns") - F.col("sent_ns"))
        return (
            in_period(took, self._ledger.periods, "received_ns")
            .groupBy("cell_id", "period", "step")
            .agg(*duration_columns(exact=is_exact(self._ledger.cells)))
            .collect()
        )

    def ranks(self) -> Rows:
        took = F.sort_array(F.collect_list(F.col("received_ns") - F.col("sent_ns")))
        chosen = (
            F.struct(F.lit(rank).alias("rank"), F.element_at("took", _place(share)).alias("took_ns"))
            for rank, (_, share) in enumerate(RANKS)
        )
        each = (
            in_period(self._members.served, self._ledger.periods, "sent_ns")
            .groupBy(*MESSAGE, "period", "step")
            .agg(took.alias("took"))
            .where(F.size("took") > 1)
            .select("cell_id", "period", "step", F.inline(F.array(*chosen)))
        )
        return (
            each.groupBy("cell_id", "period", "step", "rank")
            .agg(*duration_columns(exact=is_exact(self._ledger.cells)))
            .collect()
        )

    def waiting(self) -> Rows:
        must = self._members.due.where(F.col("class") == str(CopyClass.MUST))
        receipts = self._receipts()
        parts = (
            (must, "sent_ns", 1),
            (must.where("got = 1"), "received_ns", -1),
            (receipts, "sent_ns", 1),
            (receipts.where("settled_ns is not null"), "settled_ns", -1),
        )
        changes = [
            by_second(self._spark, self._ledger, table.select("cell_id", instant), instant).select(
                "cell_id", "second", F.lit(change).alias("change")
            )
            for table, instant, change in parts
        ]
        return (
            reduce(DataFrame.unionByName, changes)
            .groupBy("cell_id", "second")
            .agg(F.sum("change").alias("change"))
            .collect()
        )

    def brackets(self) -> Rows:
        got = F.col("got") == 1
        return (
            self._members.due.where("planned_join_ns is not null")
            .groupBy("cell_id", "subscription")
            .agg(
                F.max(F.when(~got & (F.col("sent_ns") < F.col("joined_ns")), F.col("sent_ns"))).alias("missed_ns"),
                F.min(F.when(got, F.struct("sent_ns", "settled_ns"))).alias("got"),
            )
            .where("got is not null")
            .select("cell_id", "subscription", "missed_ns", F.col("got.settled_ns").alias("got_ns"))
            .collect()
        )

    def announcements(self) -> Rows:
        announcing = {
            (cell.number, step)
            for cell in self._ledger.cells
            if cell.plan.populations
            for step in cell.workload.announced(cell.model).values()
        }
        if not announcing:
            return []
        return (
            self._members.served.join(
                frame(self._spark, sorted(announcing), "cell_id int, step int"), ["cell_id", "step"]
            )
            .groupBy("cell_id", "execution", "step")
            .agg(F.min("received_ns").alias("received_ns"))
            .collect()
        )

    def _receipts(self) -> DataFrame:
        """The messages that ask for a receipt of their own."""
        asking = [
            (cell.number, step)
            for cell in self._ledger.cells
            if cell.plan.populations
            for step, message in cell.model.scenario.messages.items()
            if message.receipt
        ]
        return self._ledger.written.join(frame(self._spark, asking, "cell_id int, step int"), ["cell_id", "step"])


#: Copies at a subscription that does not hear the message.
_MISDELIVERED = "not matches and address is not null"


def _place(share: float) -> Column:
    """The place in the sorted list `took`, from 1: of `first` the first, of `last` the last."""
    return F.greatest(F.lit(1), F.ceil(F.size("took") * share)).cast("int")


def _first(condition: Column, instant: str = "received_ns") -> Column:
    """The first copy, by this instant, for which the condition holds."""
    return first(condition, instant, "subscription")
