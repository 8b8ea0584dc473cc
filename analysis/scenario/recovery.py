"""The recovery of a killed broker: rows of the audit for its guarantees, and the time that the recovery took.

Sources: run rules, sections 4.2.2 (the redelivered flag), 4.2.3 (recovery) and 4.3 (whole transactions). A transaction
is in doubt if no client received the confirmation of its COMMIT: it must have taken effect completely or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.scenario.aggregates import in_order
from analysis.scenario.audit import AuditInput, sender
from analysis.scenario.audit_rows import judged
from analysis.scenario.deliveries import count_if
from analysis.scenario.message_join import Ledger, frame
from analysis.scenario.reader import CaseRecord
from analysis.scenario.results import AuditRow, Recovery
from workloads.scenario import limits
from workloads.scenario.execution import Execution
from workloads.scenario.periods import Period


@dataclass(frozen=True, slots=True)
class Promises:
    """The query results of all cells whose broker was killed."""

    #: Copies that the broker promises to keep, sent before the kill and received after it: one row for each cell.
    stored: Sequence[Row]
    #: Redelivered copies without the redelivered flag, by cell and address.
    unmarked: Sequence[Row]
    #: Messages sent in transactions in doubt.
    answers: Sequence[Row]
    #: Messages consumed in transactions in doubt.
    triggers: Sequence[Row]


def promises(spark: SparkSession, ledger: Ledger) -> Promises:
    """Queries the ledger once for all cells whose broker was killed."""
    killed = [(cell.number, ledger.spans[cell.number][Period.KILLED][0]) for cell in ledger.cells if cell.plan.killed]
    if not killed:
        return Promises((), (), (), ())
    heard = ledger.heard.where("kept").join(frame(spark, killed, "cell_id int, killed_ns long"), "cell_id")
    before = F.col("received_ns") < F.col("killed_ns")
    stored = heard.where("sent_ns < killed_ns and last_received_ns >= killed_ns")
    totals = stored.groupBy("cell_id").agg(
        F.count("*").alias("n"),
        count_if(before).alias("again"),
        F.max("last_received_ns").alias("last_ns"),
    )
    unmarked = (
        stored.where(before & (F.col("unmarked") > 1))
        .groupBy("cell_id", "address")
        .agg(F.count("*").alias("n"), F.min(F.struct("sent_ns", "producer", "position")).alias("example"))
    )
    return Promises(
        totals.collect(),
        unmarked.collect(),
        [] if ledger.unsettled is None else in_order(ledger.unsettled.collect()),
        in_order(heard.where("settled < deliveries").collect()),
    )


def recovered(material: AuditInput, promises: Promises) -> tuple[Recovery, tuple[AuditRow, ...]]:
    """The recovery of a cell whose broker was killed, and its rows of the audit."""
    cell, span = material.cell, material.periods[Period.KILLED]

    def mine(rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if row["cell_id"] == cell.number]

    stored, again, last_ns = 0, 0, span["end_ns"]
    for row in mine(promises.stored):
        stored, again, last_ns = row["n"], row["again"], max(last_ns, row["last_ns"])
    doubtful, broken = _transactions(cell, mine(promises.answers), mine(promises.triggers))
    seconds = (last_ns - span["begin_ns"]) / 1e9
    why = f"the last stored message was received {seconds:.0f} s after the kill"
    return Recovery(seconds, stored, again, doubtful), (
        judged(limits.RECOVERY, "run", seconds, why, period=Period.KILLED),
        *_flags(material, mine(promises.unmarked)),
        judged(limits.ATOMIC, "run", len(broken), "; ".join(broken[:3]), period=Period.KILLED),
    )


def _flags(material: AuditInput, unmarked: Sequence[Row]) -> Iterator[AuditRow]:
    """One row for each kind of destination whose redeliveries the broker flags after a crash.

    A kind without the flag is a deviation and has no row here.
    """
    cell = material.cell
    for kind in sorted({step.kind for step in cell.steps if step.kept} & {*cell.broker.capabilities.crash_marked}):
        rows = [row for row in unmarked if cell.steps[cell.address_steps[row["address"]]].kind is kind]
        first = min((row["example"] for row in rows), default=None)
        why = "" if first is None else f"first message {first['position']} of {sender(cell, first['producer'])}"
        number = sum(row["n"] for row in rows)
        yield judged(limits.REDELIVERED, f"every {kind}", number, why, period=Period.KILLED)


def _transactions(cell: CaseRecord, answers: Sequence[Row], triggers: Sequence[Row]) -> tuple[int, list[str]]:
    """The number of transactions in doubt, and a description of each one that took effect only in part.

    What a handler consumed and what it sent must take effect together: either the answers arrive or the trigger is
    redelivered, not both and not neither. A handler's transaction is identified by its trigger, a driver's transaction
    by the message that it sends.
    """
    sent: dict[tuple[int, int], list[Row]] = {}
    for row in answers:
        sent.setdefault((row["producer"], row["execution"]), []).append(row)
    broken: list[str] = []
    number = 0
    drivers = {driver.number for driver in cell.plan.drivers}
    for (producer, execution), rows in sent.items():
        if producer in drivers:
            number += len(rows)
        broken += [
            f"{row['got']} of {row['copies']} copies of a message of {sender(cell, producer)}"
            for row in rows
            if 0 < row["got"] < row["copies"]
        ]
        took = {row["got"] > 0 for row in rows}
        if len(took) > 1:
            broken.append(
                f"only some of the answers of {cell.name(producer)} in execution {execution:#x} were received"
            )
    for trigger in triggers:
        number += 1
        replies = cell.model.replies(Execution.of(trigger["execution"]), trigger["step"], trigger["sender"])
        mine = [row for row in sent.get((trigger["handler"], trigger["execution"]), []) if row["step"] in replies]
        again = trigger["deliveries"] > 1
        took_effect = any(row["got"] > 0 for row in mine)
        if mine and took_effect == again:
            what = "was consumed twice" if again else "was consumed, but its answers are lost"
            broken.append(f"message {trigger['position']} at {cell.name(trigger['handler'])} {what}")
    return number, broken
