"""The exact audit of all traffic, warm-up and preparation included: deliveries joined with the plan and the sends.

Two stages in Spark. The first turns rows, each a delivery or a run of deliveries, into runs as long as the batch
allows, and rows of sends into what each receiver of a lane must get by the plan, with vector operations. The second
groups both by (cell, layout, block, audience, lane), per subscription in the order of arrival, and passes them to
`workloads.throughput.lanes`, which holds the only definition of lost, duplicated, reordered and misdelivered. The
audience of a lane is a subscription; of a shared lane, it is all of its receivers, identified by the number of the
first. Sequence numbers begin at 0 in every layout, so layouts are audited separately; results are sums over them, per
cell. An expected pair that received nothing has no runs: all its copies are lost. A negative subscription number
belongs to another cell, and is never expected.

All is one question with nothing but a sort in it: for each kind of operation Spark loads hundreds of classes, which
takes longer than the operation, and each question takes as long as a million rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, Row

from analysis.errors import DataError
from analysis.frames import UNPLANNED, Frames, reading, refuse_unplanned
from analysis.results import CellKey, Finding
from analysis.throughput.reader import ThroughputRecord, named
from analysis.throughput.results import AuditResult, CellAudit
from analysis.throughput.stages import (
    AUDIENCE,
    COUNTS,
    HEARD_TYPES,
    JUDGED,
    PAIR,
    STRETCH,
    SUMS,
    Lanes,
    LanesOf,
    expect,
    hear,
    judge,
)
from workloads.command_line import analysing
from workloads.status import VerdictKind
from workloads.throughput.lanes import LaneAudit

FAULTS = ("lost", "duplicated", "reordered", "misdelivered")


def audit(data: Frames, runs: Sequence[ThroughputRecord]) -> tuple[AuditResult, ...]:
    """The delivery audit of every run. Raises DataError where the record cannot be audited exactly."""
    with reading(runs):
        sends, deliveries = data.tables["sends"], data.tables["deliveries"]
        totals = _totals(_judged(_plan(data, runs), sends, deliveries).collect())
        _check_sent(totals, sends, data.keys)
        if UNPLANNED in totals:
            refuse_unplanned(deliveries, "deliveries")
    for number, total in totals.items():
        if total["disordered"]:
            raise DataError(
                f"deliveries of {data.keys[number]}: the rows of a file are not in the order of their arrival numbers, "
                "so that the order of messages is not known; measure again"
            )
    sent = {data.keys[number]: total["sent"] for number, total in totals.items()}
    copies = {data.keys[number]: LaneAudit(*(total[name] for name in COUNTS)) for number, total in totals.items()}
    return tuple(result_of(run, sent, copies) for run in runs)


def _plan(data: Frames, runs: Sequence[ThroughputRecord]) -> LanesOf:
    """The lanes of the plans; the same in every layout."""
    plans = {run.name: run for run in runs}
    return {
        number: [
            Lanes(group.first, group.step, group.count, group.receivers, group.shared)
            for group in plans[key.run].plan(key).lanes
        ]
        for number, key in enumerate(data.keys)
    }


def _judged(plan: LanesOf, sends: DataFrame, deliveries: DataFrame) -> DataFrame:
    """Sums by cell, in parts."""
    expected = sends.select(*STRETCH, "lane", "first_seq", "last_seq").mapInArrow(partial(expect, plan), HEARD_TYPES)
    runs = deliveries.select(*PAIR, "arrival", "first_seq", "last_seq").mapInArrow(partial(hear, plan), HEARD_TYPES)
    return (
        expected.union(runs)
        .repartition(*AUDIENCE)
        .sortWithinPartitions(*AUDIENCE, "subscription", "arrival", "first_seq")
        .mapInArrow(judge, JUDGED)
    )


def _totals(parts: Sequence[Row]) -> dict[int, Counter[str]]:
    """By the number of a cell."""
    totals: dict[int, Counter[str]] = {}
    for part in parts:
        total = totals.setdefault(part["cell_id"], Counter())
        for name in SUMS:
            total[name] += part[name]
    return totals


def _check_sent(totals: Mapping[int, Counter[str]], sends: DataFrame, keys: Sequence[CellKey]) -> None:
    """The audit requires that the numbers of a lane are 0, 1, 2, ... in each layout."""
    unplanned = totals.get(UNPLANNED, Counter())
    if unplanned["sent"] or unplanned["broken"]:
        refuse_unplanned(sends, "sends")
    for number, total in totals.items():
        if total["broken"]:
            raise DataError(
                f"sends of {keys[number]}: the sequence numbers of a lane are not 0, 1, 2, ... without a gap in each "
                "layout; the record of what was sent is incomplete: measure again"
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
