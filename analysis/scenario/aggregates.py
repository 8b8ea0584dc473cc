"""The queries on the ledger: every aggregate that Spark computes, as plain numbers for each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.errors import DataError
from analysis.frames import UNPLANNED, Frames, refuse_unplanned
from analysis.scenario.deliveries import MESSAGE, count_if, first, numbers_and_examples, out_of_order
from analysis.scenario.execution_ids import INTERACTION_AT
from analysis.scenario.grouped_times import grouped_times
from analysis.scenario.message_join import Ledger, frame, within
from analysis.scenario.reader import CaseRecord
from analysis.scenario.results import DeliveryTimes
from workloads.arrivals import ArrivalProcess
from workloads.scenario.periods import Period

#: Up to this many deliveries, percentiles are exact and interpolated as in numpy; above, they are those of times that
#: are rounded to so many significant bits, of which there are few to count.
EXACT_ROWS = 2_000_000
ROUNDED_BITS = 11

_RANKS = (0.5, 0.9, 0.99)
_NS_PER_MS = 1e6

#: Maximum number of time slices of a run, for the percentiles of each address over time.
SLICES = 40

#: Marks instants outside all periods.
_NO_PERIOD = ""

#: The groupings of delivery times.
_GROUPINGS = (
    ("cell_id", "period"),
    ("cell_id", "period", "step"),
    ("cell_id", "period", "handler"),
    ("cell_id", "period", "destination"),
    ("cell_id", "second"),
    ("cell_id", "second", "step"),
    ("cell_id", "slice", "address"),
)

#: In place of the number of a handler: the members of populations.
MEMBERS = -1

_SPARE_BITS = f"greatest(0, length(bin(abs(took_ns))) - {ROUNDED_BITS})"
#: `took_ns` rounded to the middle of all times with the same highest bits: half a part in 2^(ROUNDED_BITS - 1) at most.
ROUNDED = (
    f"if(took_ns < 0, -1, 1) * (shiftleft(shiftright(abs(took_ns), {_SPARE_BITS}), {_SPARE_BITS})"
    f" + shiftleft(1L, {_SPARE_BITS}) div 2)"
)

Rows: TypeAlias = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Counts:
    """The aggregates of one cell; a period of None in a key covers the instants outside all periods."""

    #: Whether percentiles are of the times themselves.
    exact: bool
    #: All starts, by driver: their number, the highest execution id, and the latest planned instant.
    drivers: Mapping[int, Row]
    #: Starts by (period, interaction), assigned by the instant of sending, and those more than one mean gap late.
    pace: Mapping[tuple[Period, int], Row]
    #: From the planned instant of a start to its sending, by period.
    lateness: Mapping[Period, DeliveryTimes]
    #: Starts planned in a period, by (period, driver); Poisson arrivals only.
    drawn: Mapping[tuple[Period, int], int]
    #: Messages sent, by (period, address).
    sent: Mapping[tuple[Period | None, int], Row]
    #: Copies received, by (period, address, audience).
    heard: Mapping[tuple[Period | None, int, int], Row]
    #: Copies received in a period, with delivery times; `of_members`: those of them that members of populations got.
    overall: Mapping[Period, Row]
    #: The same, by (period, step).
    steps: Mapping[tuple[Period, int], Row]
    #: The same, by (period, handler); the handler of members is MEMBERS.
    handlers: Mapping[tuple[Period, int], Row]
    #: The same, by (period, destination).
    destinations: Mapping[tuple[Period, int], Row]
    #: Misdelivered, unknown and altered copies, by handler; only handlers with deliveries.
    anomalies: Mapping[int, Row]
    #: Copies received out of order, by handler; only handlers that received any.
    disorder: Mapping[int, Row]
    #: By (period, interaction); the period is that of an execution's start.
    executions: Mapping[tuple[Period | None, int], Row]
    #: Messages in doubt that do not count as sent, by (period, address); only those with any.
    in_doubt: Mapping[tuple[Period | None, int], int]
    #: Copies not received, by (address, audience); only those with any.
    lost: Mapping[tuple[int, int], Row]
    #: Messages sent, by second and step.
    seconds_sent: Rows
    #: Copies received, by second and by (second, step).
    seconds_heard: Rows
    #: Copies received, by (slice, address).
    slices: Rows
    #: Length of a slice, in whole seconds.
    slice_s: int
    #: Resource samples, in the order of their instants.
    samples: Rows


def _slice_seconds(spans: Collection[tuple[int, int]]) -> int:
    """Length of a slice in whole seconds, for a run whose periods begin and end at these instants in ns."""
    length_ns = max(end for _, end in spans) - min(begin for begin, _ in spans)
    return -(-length_ns // (SLICES * 1_000_000_000))


def times(row: Row | None) -> DeliveryTimes:
    """The delivery times of a row with the columns `n`, `percentiles`, `longest` and `total`, in ns."""
    if row is None or not row["n"]:
        return DeliveryTimes(0)
    mean_ms = row["total"] / row["n"] / _NS_PER_MS
    return DeliveryTimes(row["n"], *percentiles_ms(row), row["longest"] / _NS_PER_MS, mean_ms)


def percentiles_ms(row: Row) -> tuple[float, float, float]:
    """The 50th, 90th and 99th percentile in ms, from a row with the values in ns."""
    p50, p90, p99 = (value / _NS_PER_MS for value in row["percentiles"])
    return p50, p90, p99


def in_order(rows: Rows) -> Rows:
    """The rows in an order of their content: Spark's depends on its partitions, and equal counts keep theirs."""
    return sorted(rows, key=repr)


def counts(spark: SparkSession, ledger: Ledger, data: Frames) -> Mapping[int, Counts]:
    """The aggregates by cell. Raises DataError if a delivery was made to a handler that is not in the plan."""
    exact = is_exact(ledger.cells)
    asked = _Query(spark, ledger, exact=exact)
    tables = {
        "anomalies": asked.anomalies(data),
        "pace": asked.pace(),
        "drawn": asked.drawn(),
        "sent": asked.sent(),
        "heard": asked.heard(),
        "times": asked.times(),
        "disorder": asked.disorder(),
        "executions": asked.executions(),
        "unsettled": asked.unsettled(),
        "samples": data.tables["samples"].collect(),
    }
    by_cell: dict[int, dict[str, list[Row]]] = {cell.number: {name: [] for name in tables} for cell in ledger.cells}
    for name, rows in tables.items():
        for row in in_order(rows):
            if row["cell_id"] in by_cell:
                by_cell[row["cell_id"]][name].append(row)
    lost = asked.lost([cell for cell in ledger.cells if _short(cell, by_cell[cell.number])])
    return {
        cell.number: _of_cell(
            cell, by_cell[cell.number], lost, _slice_seconds(ledger.spans[cell.number].values()), exact=exact
        )
        for cell in ledger.cells
    }


def is_exact(cells: Sequence[CaseRecord]) -> bool:
    """Whether percentiles of these cells are exact."""
    received: dict[str, int] = {cell.key.run: (cell.run.manifest.rows or {}).get("received", 0) for cell in cells}
    return sum(received.values()) <= EXACT_ROWS


def _of_cell(cell: CaseRecord, tables: Mapping[str, Rows], lost: Rows, slice_s: int, *, exact: bool) -> Counts:
    sent, took, pace = tables["sent"], tables["times"], tables["pace"]
    in_period, paced = ([row for row in rows if row["period"]] for rows in (took, pace))
    parts = ("step", "handler", "destination")
    return Counts(
        exact=exact,
        drivers=_by(pace, "producer"),
        pace=_by(paced, "period", "of_interaction"),
        lateness={Period(row["period"]): times(row) for row in paced if row["of_interaction"] is None},
        drawn={place: row["n"] for place, row in _by(tables["drawn"], "period", "producer").items()},
        sent=_by(sent, "period", "address"),
        heard=_by(tables["heard"], "period", "address", "audience"),
        overall={Period(row["period"]): row for row in in_period if all(row[part] is None for part in parts)},
        steps=_by(in_period, "period", "step"),
        handlers=_by(in_period, "period", "handler"),
        destinations=_by(in_period, "period", "destination"),
        anomalies=_by(tables["anomalies"], "handler"),
        disorder=_by(tables["disorder"], "handler"),
        executions=_by(tables["executions"], "period", "interaction"),
        in_doubt={place: row["n"] for place, row in _by(tables["unsettled"], "period", "address").items()},
        lost=_by([row for row in lost if row["cell_id"] == cell.number], "address", "audience"),
        seconds_sent=[row for row in sent if row["second"] is not None],
        seconds_heard=[row for row in took if row["second"] is not None],
        slices=[row for row in took if row["slice"] is not None],
        slice_s=slice_s,
        samples=sorted(tables["samples"], key=lambda row: row["at_ns"]),
    )


def _by(rows: Rows, *columns: str) -> dict[Any, Row]:
    """The rows of the grouping with these columns, by their values; of other groupings the last column is null."""
    mine = [row for row in rows if row[columns[-1]] is not None]
    if len(columns) == 1:
        return {row[columns[0]]: row for row in mine}
    return {tuple(_period(row[name]) if name == "period" else row[name] for name in columns): row for row in mine}


def _period(name: str) -> Period | None:
    return None if name == _NO_PERIOD else Period(name)


def _short(cell: CaseRecord, tables: Mapping[str, Rows]) -> bool:
    """Whether an audience got fewer copies than there were messages for it."""
    due: Counter[int] = Counter()
    got: Counter[tuple[int, int]] = Counter()
    for row in tables["sent"]:
        if row["address"] is not None:
            due[row["address"]] += row["n"]
    for row in tables["heard"]:
        got[row["address"], row["audience"]] += row["n"]
    return any(got[to, audience] != due[to] for (to, _), audience in cell.audiences.items())


class _Query:
    """The queries, one Spark job each; all their results are small."""

    def __init__(self, spark: SparkSession, ledger: Ledger, *, exact: bool) -> None:
        self._spark, self._ledger, self._exact = spark, ledger, exact

    def anomalies(self, data: Frames) -> Rows:
        """Copies that were misdelivered, never sent (unsent), or delivered with other content (altered)."""
        kinds = {
            "misdelivered": F.col("audience").isNull() & F.col("address").isNotNull(),
            "unsent": F.col("address").isNull(),
            "altered": F.col("altered"),
        }
        rows = self._ledger.copies.groupBy("cell_id", "handler").agg(*numbers_and_examples(kinds)).collect()
        check_handlers(rows, data, self._ledger.cells)
        return rows

    def pace(self) -> Rows:
        """Starts by driver, by period, and by period and interaction."""
        return (
            self._in_period(self._ledger.starts, "sent_ns")
            .withColumn("took_ns", F.col("sent_ns") - F.col("planned_ns"))
            .groupingSets(
                [["cell_id", "producer"], ["cell_id", "period"], ["cell_id", "period", "of_interaction"]],
                "cell_id",
                "producer",
                "period",
                "of_interaction",
            )
            .agg(
                F.count("*").alias("starts"),
                F.max("execution").alias("last"),
                F.max("planned_ns").alias("last_planned_ns"),
                count_if(F.col("took_ns") > F.col("gap_ns")).alias("misses"),
                *self._times(),
            )
            .collect()
        )

    def drawn(self) -> Rows:
        numbers = [cell.number for cell in self._ledger.cells if cell.plan.arrivals is ArrivalProcess.POISSON]
        if not numbers:
            return []
        starts = self._ledger.starts.where(F.col("cell_id").isin(*numbers))
        return (
            within(starts, self._ledger.periods, "planned_ns")
            .groupBy("cell_id", "period", "producer")
            .agg(F.count("*").alias("n"))
            .collect()
        )

    def sent(self) -> Rows:
        """Messages by (period, address), and by (second, step)."""
        return (
            self._by_second(self._in_period(self._ledger.sent, "sent_ns"), "sent_ns")
            .groupingSets(
                [["cell_id", "period", "address"], ["cell_id", "second", "step"]],
                "cell_id",
                "period",
                "address",
                "second",
                "step",
            )
            .agg(F.count("*").alias("n"), F.sum("copies").alias("copies"))
            .collect()
        )

    def heard(self) -> Rows:
        """Copies by (period, address, audience), with the number of excess deliveries."""
        return (
            self._in_period(self._ledger.heard, "received_ns")
            .groupBy("cell_id", "period", "address", "audience")
            .agg(
                F.sum("heard").alias("n"),
                F.sum("again").alias("again"),
                first(F.col("again") > 0, "received_ns").alias("example"),
            )
            .collect()
        )

    def times(self) -> Rows:
        """Delivery times, from sending to receipt, by each of _GROUPINGS."""
        destinations = [
            (cell.number, number, address.destination)
            for cell in self._ledger.cells
            for number, address in enumerate(cell.plan.addresses)
        ]
        table = (
            self._by_second(self._in_period(self._received(), "received_ns"), "received_ns")
            .join(frame(self._spark, destinations, "cell_id int, address int, destination int"), ["cell_id", "address"])
            .withColumn("took_ns", F.col("received_ns") - F.col("sent_ns"))
            .withColumn("slice", F.floor(F.col("second") / F.col("slice_s")).cast("int"))
        )
        if self._ledger.members is not None and self._exact:
            return grouped_times(table, _GROUPINGS, _RANKS)
        return (
            table.groupingSets([list(grouping) for grouping in _GROUPINGS], *dict.fromkeys(chain(*_GROUPINGS)))
            .agg(
                F.sum("heard").alias("copies"),
                F.sum("of_members").alias("of_members"),
                F.sum("body_bytes").alias("bytes"),
                F.min("took_ns").alias("shortest"),
                *self._times(),
            )
            .collect()
        )

    def _received(self) -> DataFrame:
        """The copies of event handlers, and those of members of populations, of which `handler` is MEMBERS."""
        columns = ("cell_id", "address", "step", "sent_ns", "received_ns", "body_bytes")
        mine = self._ledger.heard.select(*columns, "handler", "heard", F.lit(0).alias("of_members"))
        if self._ledger.members is None:
            return mine
        theirs = self._ledger.members.served.select(
            *columns, F.lit(MEMBERS).alias("handler"), F.lit(1).alias("heard"), F.lit(1).alias("of_members")
        )
        return mine.unionByName(theirs)

    def disorder(self) -> Rows:
        """Copies received out of order: after a later message of the same producer and address, by handler."""
        return (
            out_of_order(self._ledger.heard, "handler")
            .groupBy("cell_id", "handler")
            .agg(F.count("*").alias("n"), first(F.lit(True), "received_ns").alias("example"))
            .collect()
        )

    def executions(self) -> Rows:
        """Executions by interaction and period of their start: how many are complete, and what the others lack."""
        innocent = (F.col("lost") == 0) & (F.col("faults") == 0)
        cut, surplus = innocent & (F.col("missing") > 0), innocent & (F.col("surplus") > 0)
        complete = (F.col("due") > 0) & innocent & (F.col("missing") == 0) & (F.col("surplus") == 0)
        wrong = F.col("wrong_size") > 0
        marked = (
            self._in_period(self._ledger.executions, "sent_ns")
            .withColumn("interaction", F.shiftrightunsigned("execution", INTERACTION_AT).cast("int"))
            .withColumn("complete", complete)
            .withColumn("took_ns", F.when(F.col("complete"), F.col("received_ns") - F.col("sent_ns")))
        )

        def example(condition: Column, step: str) -> Column:
            return F.min(F.when(condition, F.struct("sent_ns", "execution", F.col(step).alias("step"))))

        return (
            marked.groupBy("cell_id", "period", "interaction")
            .agg(
                count_if(F.col("due") > 0).alias("started"),
                F.sum("due").alias("due"),
                F.sum("copies").alias("copies"),
                count_if(F.col("complete")).alias("complete"),
                count_if(cut).alias("cut"),
                count_if(surplus).alias("surplus"),
                F.sum("wrong_size").alias("wrong"),
                example(cut, "first_missing").alias("cut_example"),
                example(surplus, "first_missing").alias("surplus_example"),
                example(wrong, "wrong_step").alias("wrong_example"),
                *self._times(),
            )
            .collect()
        )

    def unsettled(self) -> Rows:
        if self._ledger.unsettled is None:
            return []
        return (
            self._in_period(self._ledger.unsettled.where("got = 0"), "sent_ns")
            .groupBy("cell_id", "period", "address")
            .agg(F.count("*").alias("n"))
            .collect()
        )

    def lost(self, cells: Sequence[CaseRecord]) -> Rows:
        """Copies that were not received; a misdelivered copy is counted as such, and not as lost."""
        if not cells:
            return []
        numbers = [cell.number for cell in cells]
        audiences = {
            (cell.number, address, audience) for cell in cells for (address, _), audience in cell.audiences.items()
        }
        due = self._ledger.sent.where(F.col("cell_id").isin(*numbers)).join(
            frame(self._spark, sorted(audiences), "cell_id int, address int, audience int"),
            ["cell_id", "address"],
        )
        misdelivered = self._ledger.copies.where("audience is null and address is not null")
        return (
            due.join(self._ledger.heard.select(*MESSAGE, "audience"), [*MESSAGE, "audience"], "left_anti")
            .join(misdelivered.select(*MESSAGE), list(MESSAGE), "left_anti")
            .groupBy("cell_id", "address", "audience")
            .agg(F.count("*").alias("n"), first(F.lit(True), "sent_ns").alias("example"))
            .collect()
        )

    def _in_period(self, table: DataFrame, instant: str) -> DataFrame:
        return in_period(table, self._ledger.periods, instant)

    def _by_second(self, table: DataFrame, instant: str) -> DataFrame:
        return by_second(self._spark, self._ledger, table, instant)

    def _times(self) -> tuple[Column, ...]:
        return duration_columns(exact=self._exact)


def check_handlers(rows: Sequence[Mapping[str, Any] | Row], data: Frames, cells: Sequence[CaseRecord]) -> None:
    """Raises DataError if one of the rows belongs to no planned cell, or to no handler of its cell."""
    known = {cell.number: {handler.number for handler in cell.plan.handlers} for cell in cells}
    for row in rows:
        if row["cell_id"] == UNPLANNED:
            refuse_unplanned(data.tables["received"], "received")
        if row["handler"] not in known[row["cell_id"]]:
            raise DataError(
                f"received of {data.keys[row['cell_id']]}: handler {row['handler']} is not in the plan; the run "
                "directory was changed after it was written: measure again"
            )


def in_period(table: DataFrame, periods: DataFrame, instant: str) -> DataFrame:
    """Adds the name of the period that contains the instant; it is empty if no period contains it."""
    found = within(table, periods, instant, "left")
    return found.withColumn("period", F.coalesce("period", F.lit(_NO_PERIOD)))


def by_second(spark: SparkSession, ledger: Ledger, table: DataFrame, instant: str) -> DataFrame:
    """Adds the number of the second, counted from the start of the load, and the length of a slice."""
    begins = [
        (number, min(begin for begin, _ in of_cell.values()), _slice_seconds(of_cell.values()))
        for number, of_cell in ledger.spans.items()
    ]
    return table.join(frame(spark, begins, "cell_id int, load_ns long, slice_s int"), "cell_id").withColumn(
        "second", F.floor((F.col(instant) - F.col("load_ns")) / 1_000_000_000).cast("int")
    )


def duration_columns(*, exact: bool) -> tuple[Column, ...]:
    """Number, percentiles, maximum and sum of `took_ns`: whole numbers, whose order does not matter to a digit."""
    ranks = f"array({', '.join(map(str, _RANKS))})"
    return (
        F.count("took_ns").alias("n"),
        F.expr(f"percentile({'took_ns' if exact else ROUNDED}, {ranks})").alias("percentiles"),
        F.max("took_ns").alias("longest"),
        F.sum("took_ns").alias("total"),
    )


def instants(data: Frames, cells: Sequence[CaseRecord]) -> Mapping[int, Mapping[Period, Mapping[str, Any]]]:
    """The rows of `periods` by cell and period. Raises DataError if periods overlap or are out of order."""
    numbers = {cell.number: cell for cell in cells}
    found: dict[int, dict[Period, Mapping[str, Any]]] = {cell.number: {} for cell in cells}
    for row in data.tables["periods"].orderBy("begin_ns").collect():
        if row["cell_id"] == UNPLANNED:
            refuse_unplanned(data.tables["periods"], "periods")
        if row["cell_id"] not in numbers:
            continue
        cell, key = found[row["cell_id"]], numbers[row["cell_id"]].key
        if row["period"] not in tuple(Period):
            raise DataError(f"periods of {key}: {row['period']!r} is not one of {', '.join(Period)}; measure again")
        last = next(reversed(cell.values()), None)
        order = tuple(Period)
        if row["end_ns"] <= row["begin_ns"] or (
            last is not None
            and (row["begin_ns"] < last["end_ns"] or order.index(row["period"]) <= order.index(last["period"]))
        ):
            raise DataError(
                f"periods of {key}: {row['period']} from {row['begin_ns']} to {row['end_ns']} ns does not follow the "
                "period before it; the record is incomplete: measure again"
            )
        cell[Period(row["period"])] = row.asDict()
    return found
