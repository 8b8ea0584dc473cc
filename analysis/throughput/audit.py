"""The exact audit of all traffic, warm-up and preparation included: deliveries joined with the plan and the sends.

Two stages in Spark. The first turns rows, each a delivery or a run of deliveries, into runs as long as the batch
allows, with vector operations. The second groups the runs by (cell, layout, block, audience, lane), per subscription
in the order of arrival, and passes them to `workloads.throughput.lanes`, which holds the only definition of lost,
duplicated, reordered and misdelivered. The audience of a lane is a subscription; of a shared lane, it is all of its
receivers, identified by the number of the first. Sequence numbers begin at 0 in every layout, so layouts are audited
separately; results are sums over them, per cell. An expected pair that received nothing has no runs: all its copies
are lost. A negative subscription number belongs to another cell, and is never expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.errors import DataError
from analysis.frames import UNPLANNED, Frames, of_rows, reading, refuse_unplanned
from analysis.results import CellKey, Finding
from analysis.throughput.reader import ThroughputRecord, named
from analysis.throughput.results import AuditResult, CellAudit
from analysis.throughput.stages import AUDIENCE, COUNTS, EXPECTATION, HEARD, JUDGED, PAIR, RUNS, STRETCH, collapse, judge
from workloads.command_line import analysing
from workloads.status import VerdictKind
from workloads.throughput.lanes import LaneAudit

FAULTS = ("lost", "duplicated", "reordered", "misdelivered")

#: A group of lanes with a range of its receivers; `foremost` is the first of them all.
LANES = pa.schema(
    [
        *((name, pa.int32()) for name in ("cell_id", "first", "step", "count", "from", "to")),
        ("shared", pa.bool_()),
        ("foremost", pa.int32()),
    ]
)

def audit(spark: SparkSession, data: Frames, runs: Sequence[ThroughputRecord]) -> tuple[AuditResult, ...]:
    """The delivery audit of every run. Raises DataError where the record cannot be audited exactly."""
    with reading(runs):
        sends, deliveries = data.tables["sends"], data.tables["deliveries"]
        sent = _sent(sends, data.keys)
        judged = _judged(_pairs(spark, data, runs), sends, deliveries).collect()
        for row in judged:
            if row["cell_id"] == UNPLANNED:
                refuse_unplanned(deliveries, "deliveries")
            if row["disordered"]:
                raise DataError(
                    f"deliveries of {data.keys[row['cell_id']]}: the rows of a file are not in the order of their "
                    "arrival numbers, so that the order of messages is not known; measure again"
                )
    copies = {data.keys[row["cell_id"]]: LaneAudit(*(row[name] for name in COUNTS)) for row in judged}
    return tuple(result_of(run, sent, copies) for run in runs)


def _sent(sends: DataFrame, keys: Sequence[CellKey]) -> dict[CellKey, int]:
    """Messages sent per cell. The audit requires that the numbers of a lane are 0, 1, 2, ... in each layout."""
    before = Window.partitionBy(*STRETCH, "lane").orderBy("first_seq")
    gap = F.col("first_seq") != F.coalesce(F.lag("last_seq").over(before) + 1, F.lit(0))
    count = F.col("last_seq") - F.col("first_seq") + 1
    rows = (
        sends.select("cell_id", gap.cast("int").alias("gap"), count.alias("count"))
        .groupBy("cell_id")
        .agg(F.sum("count").alias("sent"), F.max("gap").alias("gap"), F.min("count").alias("least"))
        .collect()
    )
    for row in rows:
        if row["cell_id"] == UNPLANNED:
            refuse_unplanned(sends, "sends")
        if row["gap"] or row["least"] < 1:
            raise DataError(
                f"sends of {keys[row['cell_id']]}: the sequence numbers of a lane are not 0, 1, 2, ... without a gap "
                "in each layout; the record of what was sent is incomplete: measure again"
            )
    return {keys[row["cell_id"]]: row["sent"] for row in rows}


def _pairs(spark: SparkSession, data: Frames, runs: Sequence[ThroughputRecord]) -> DataFrame:
    """A row per (cell, lane, subscription) of the plans, with its audience; the same in every layout."""
    plans = {run.name: run for run in runs}
    groups = [
        (number, group.first, group.step, group.count, first, last, group.shared, group.receivers[0][0])
        for number, key in enumerate(data.keys)
        for group in plans[key.run].plan(key).lanes
        for first, last in group.receivers
    ]
    lanes = F.sequence(F.col("first"), F.col("first") + (F.col("count") - 1) * F.col("step"), F.col("step"))
    audience = F.when(F.col("shared"), F.col("foremost")).otherwise(F.col("subscription"))
    return (
        of_rows(spark, groups, LANES)
        .select("*", F.explode(lanes).alias("lane"))
        .select("*", F.explode(F.sequence("from", "to")).alias("subscription"))
        .select("cell_id", "subscription", "lane", audience.alias("audience"), "shared")
    )


def _expected(pairs: DataFrame, sends: DataFrame) -> DataFrame:
    """A row, as HEARD, per pair and layout in which its lane sent anything: the number of copies expected."""
    counts = sends.groupBy(*STRETCH, "lane").agg(F.sum(F.col("last_seq") - F.col("first_seq") + 1).alias("sent"))
    nothing = F.lit(EXPECTATION).cast("long")
    return pairs.join(counts, ["cell_id", "lane"]).select(
        *AUDIENCE,
        "subscription",
        nothing.alias("arrival"),
        nothing.alias("until"),
        F.lit(0).cast("long").alias("first_seq"),
        nothing.alias("last_seq"),
        "sent",
    )


def _judged(pairs: DataFrame, sends: DataFrame, deliveries: DataFrame) -> DataFrame:
    """Sums of COUNTS per cell. A delivery outside the plan has only its subscription as its audience."""
    sharing = pairs.where("shared").drop("shared")
    runs = (
        deliveries.select(*PAIR, "arrival", "first_seq", "last_seq")
        .mapInArrow(collapse, RUNS)
        .join(F.broadcast(sharing), ["cell_id", "subscription", "lane"], "left")
        .withColumn("audience", F.coalesce("audience", "subscription"))
    )
    return (
        _expected(pairs, sends)
        .unionByName(runs)
        .select(*HEARD)
        .repartition(*AUDIENCE)
        .sortWithinPartitions(*AUDIENCE, "subscription", "arrival")
        .mapInArrow(judge, JUDGED)
        .groupBy("cell_id")
        .agg(*(F.sum(name).alias(name) for name in ("disordered", *COUNTS)))
    )


def result_of(run: ThroughputRecord, sent: dict[CellKey, int], copies: dict[CellKey, LaneAudit]) -> AuditResult:
    """The audit of a run from what was sent in each cell, and what became of its copies."""
    measured = set(run.cells)
    cells = tuple(
        CellAudit(key, sent.get(key, 0), copies.get(key, LaneAudit()), _droppable(run, key))
        for key in sorted(measured | {key for key in {*sent, *copies} if key.run == run.name})
        if key in measured or sent.get(key, 0) or copies[key] != LaneAudit()
    )
    return AuditResult(run.name, cells, (*run.findings, *_findings(cells)))


def _droppable(run: ThroughputRecord, key: CellKey) -> bool:
    """Whether the protocol lets the broker drop the cell's copies."""
    plan = run.plans[key.experiment, key.cell]
    return run.manifest.brokers[key.broker].capabilities.drops and not plan.acknowledged


def _findings(cells: Sequence[CellAudit]) -> Iterator[Finding]:
    for broker in sorted({cell.key.broker for cell in cells}):
        of_broker = [cell for cell in cells if cell.key.broker == broker]
        for fault in FAULTS:
            bad = [cell for cell in of_broker if cell.failed and getattr(cell.copies, fault)]
            if bad:
                yield Finding(
                    what=f"copies {fault} by {broker}",
                    measured=f"{sum(getattr(cell.copies, fault) for cell in bad)} in {named(bad)}",
                    limit="0",
                    advice=f"no other result of this run may be used; `{analysing('audit')}` lists the cells, "
                    "the broker's log is in the run directory",
                    consequence=VerdictKind.INVALID,
                    broker=broker,
                )
        if lossy := [cell for cell in of_broker if cell.lossy]:
            yield Finding(
                what=f"copies dropped by {broker}",
                measured=f"{sum(cell.copies.lost for cell in lossy)} in {named(lossy)}",
                limit="0; without acknowledgement the protocol promises no more, so that this is no fault",
                advice="the cells are left out; the broker's log may name the limit that it has reached: raise it, or "
                "allow fewer messages in flight (--in-flight)",
                consequence=VerdictKind.VALID,
                broker=broker,
            )
        silent = [cell for cell in of_broker if not cell.sent]
        if silent:
            yield Finding(
                what=f"nothing was sent to {broker}",
                measured=f"0 messages in {named(silent)}",
                limit="at least 1, otherwise the audit is void",
                advice="measure again with longer slices (--slice-seconds)",
                consequence=VerdictKind.UNVERIFIED,
                broker=broker,
            )
