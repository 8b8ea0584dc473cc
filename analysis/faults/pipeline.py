"""From the run directory of faults to its results.

Each repetition is read and accounted for by itself, by the same pure functions that have judged it when it was
measured: a repetition has some ten thousand rows, so that nothing has to be distributed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from analysis.faults.findings import findings
from analysis.faults.results import BrokerFaults, FaultRepetition, FaultResult, Tenth
from analysis.results import CellKey
from analysis.run_description import resolve_runs
from analysis.run_directory import RunRecord, broker_findings, read_rows, read_run, read_table, shared_cpus
from workloads.faults.accounting import Accounting, Promise, broken
from workloads.faults.course import Course, course
from workloads.faults.faults import Deed, FaultPlan
from workloads.manifest import FaultRunOptions, Manifest
from workloads.schema import (
    FaultCopyRow,
    FaultLifeRow,
    FaultMessageRow,
    FaultTransactionRow,
    FaultUsageRow,
    RunKind,
)

FaultRecord = RunRecord[Manifest, FaultRunOptions, FaultPlan]

#: Step of the time line, ns, and how much of it is shown before the fault and after the load, s.
STEP_NS = 100_000_000
SHOWN_BEFORE_S = 2.0
_KEYS = ("broker", "start", "experiment", "cell")


def analysed(
    paths: Sequence[Path], *, master: str = "", partial: bool = False, recompute: bool = False
) -> tuple[BrokerFaults, ...]:
    """The results of each broker of each run. Raises DataError where a run cannot be read.

    master, recompute: not used, since nothing is distributed or stored
    """
    del master, recompute
    records = Manifest, FaultRunOptions, FaultPlan
    runs = [read_run(*found, RunKind.FAULTS, records, partial=partial) for found in resolve_runs(paths)]
    return tuple(_of_broker(run, broker) for run in runs for broker in run.manifest.brokers)


def _of_broker(run: FaultRecord, label: str) -> BrokerFaults:
    broker = run.manifest.brokers[label]
    keys = [key for key in run.cells if key.broker == label]
    files = {table: _files(run, table) for table in ("messages", "copies", "transactions", "usage", "lives")}
    faults = []
    for plan in run.plans.values():
        promise = plan.planned.promise(broker.capabilities)
        of_cell = [key for key in keys if (key.experiment, key.cell) == (plan.experiment, plan.cell)]
        if of_cell:
            repetitions = tuple(_repetition(key, plan, promise, files) for key in of_cell)
            faults.append(FaultResult(plan.planned, promise, repetitions, plan.business))
    about_run = (*broker_findings({label: broker}), *shared_cpus(run.manifest), *run.findings)
    return BrokerFaults(
        run=run.name,
        path=str(run.path),
        broker=label,
        title=broker.title,
        manifest=run.manifest,
        options=run.options,
        faults=tuple(faults),
        not_applicable=tuple(entry for entry in run.not_applicable if entry.broker == label),
        findings=(*about_run, *findings(faults, broker.capabilities)),
    )


def _files(run: FaultRecord, table: str) -> dict[CellKey, tuple[Path]]:
    """The file of each cell that has rows, by what its first one says."""
    found: dict[CellKey, tuple[Path]] = {}
    for file in run.files[table]:
        rows = read_table([file], _KEYS).slice(0, 1).to_pylist()
        for row in rows:
            found[CellKey(run.name, *(row[name] for name in _KEYS))] = (file,)
    return found


def _repetition(
    key: CellKey, plan: FaultPlan, promise: Promise, files: Mapping[str, Mapping[CellKey, tuple[Path]]]
) -> FaultRepetition:
    (life,) = read_rows(files["lives"].get(key, ()), FaultLifeRow)
    messages = read_rows(files["messages"].get(key, ()), FaultMessageRow)
    copies = read_rows(files["copies"].get(key, ()), FaultCopyRow)
    doubtful = read_rows(files["transactions"].get(key, ()), FaultTransactionRow)
    found = Accounting.of(messages, copies, plan.receivers(life), life.end_ns, doubtful)
    apart = (0,) if plan.planned.fault.deed is Deed.STALL else ()
    felt = course(messages, copies, life, apart)
    return FaultRepetition(
        number=key.start,
        account=found.account,
        course=felt,
        life=life,
        broken={name: found.explained(name, life.fault_ns) for name in broken(found.account, promise)},
        **_usage(read_rows(files["usage"].get(key, ()), FaultUsageRow), life, felt),
        tenths=tuple(_tenths(messages, copies, life)),
    )


def _usage(readings: Sequence[FaultUsageRow], life: FaultLifeRow, felt: Course) -> dict[str, Any]:
    """What the broker used while it recovered: counters begin anew with each life of its process."""
    until = life.load_end_ns if not felt.backlog_gone_s else life.fault_ns + int((felt.backlog_gone_s + 1) * 1e9)
    after = [reading for reading in readings if life.fault_ns <= reading.at_ns <= until]
    spent = sum(_spent_ns(earlier, later, life) for earlier, later in pairwise(after))
    spanned = after[-1].at_ns - after[0].at_ns if after else 0
    return {
        "broker_cpu": spent / spanned if spanned else None,
        "broker_rss_bytes": max((reading.broker_rss_bytes for reading in after), default=None),
    }


def _spent_ns(earlier: FaultUsageRow, later: FaultUsageRow, life: FaultLifeRow) -> int:
    """CPU time between two readings; that of a process which was started between them is all of its own."""
    is_new = life.ready_ns is not None and earlier.at_ns < life.ready_ns <= later.at_ns
    is_new = is_new or later.broker_cpu_ns < earlier.broker_cpu_ns
    return later.broker_cpu_ns - (0 if is_new else earlier.broker_cpu_ns)


def _tenths(messages: Sequence[FaultMessageRow], copies: Sequence[FaultCopyRow], life: FaultLifeRow) -> Iterator[Tenth]:
    series = [
        sorted(message.written_ns for message in messages if message.written_ns is not None),
        sorted(message.confirmed_ns for message in messages if message.confirmed_ns is not None),
        sorted(copy.at_ns for copy in copies),
    ]
    at = life.fault_ns - int(SHOWN_BEFORE_S * 1e9)
    while at < life.end_ns:
        counts = [bisect_left(instants, at + STEP_NS) - bisect_left(instants, at) for instants in series]
        yield Tenth((at - life.fault_ns) / 1e9, *(count * 1e9 / STEP_NS for count in counts))
        at += STEP_NS
