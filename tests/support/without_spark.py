"""The analysis of throughput runs without Spark: their rows are read and counted in this process, one by one.

It has the signatures of `analysis.throughput.pipeline` and of `analysis.gate.pipeline`, and is quick for the few rows
of a test; test_frames.py and test_gate_items.py hold Spark to its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from analysis.gate.asked import options_of
from analysis.gate.pipeline import judged as with_whole_cells
from analysis.gate.pipeline import of_slices
from analysis.gate.results import GateResult
from analysis.results import CellKey
from analysis.run_description import kind_of
from analysis.table import grouped
from analysis.throughput import audit, conclusions
from analysis.throughput.latency import Histogram, Histograms
from analysis.throughput.reader import ThroughputRecord, open_runs
from analysis.throughput.results import AuditResult, HostUse, RunResult
from tests.conftest import LAYOUT, layout_audit, read_json, table_rows
from workloads.schema import KEYS, WINDOWS, Measure, RunKind, Window
from workloads.throughput.lanes import LaneAudit

Rows: TypeAlias = list[dict[str, Any]]
WindowsOf: TypeAlias = dict[CellKey, tuple[Window, ...]]

_KEYS = [column.name for column in KEYS]
_FIELDS = [column.name for column in WINDOWS if column not in KEYS]
_RATES = {
    "disk_bytes_per_s": "disk_written_bytes",
    "network_bytes_per_s": "network_sent_bytes",
    "broker_context_switches_per_s": "broker_context_switches",
    "broker_disk_bytes_per_s": "broker_disk_written_bytes",
}


def analysed(paths: Sequence[Path], *, master: str = "", partial: bool = False, **_: Any) -> tuple[RunResult, ...]:
    return tuple(
        conclusions.result_of(run, audit_of(run), windows_of(run), histograms_of(run), host_of(run))
        for run in open_runs(paths, partial=partial)
    )


def judged(paths: Sequence[Path], *, master: str = "", partial: bool = False) -> tuple[GateResult, ...]:
    if kind_of(paths) is not RunKind.THROUGHPUT:  # whose verdict is not made of slices
        return with_whole_cells(paths, master=master, partial=partial)
    return tuple(
        of_slices(run, options_of(run.manifest, run.path), windows_of(run), audit_of(run))
        for run in open_runs(paths, partial=partial)
    )


def read_back(path: Path) -> tuple[ThroughputRecord, WindowsOf]:
    """The run as it is read, and the slices of its cells."""
    (run,) = open_runs([path])
    return run, windows_of(run)


def windows_of(run: ThroughputRecord) -> WindowsOf:
    found = _by_cell(run, "windows")
    of_cells = {key: [Window(**{name: row[name] for name in _FIELDS}) for row in rows] for key, rows in found.items()}
    return {key: tuple(sorted(of_cells[key], key=_place)) for key in run.cells}


def audit_of(run: ThroughputRecord) -> AuditResult:
    """Every layout of every cell by itself, as its numbers begin anew."""
    plans = {(plan["experiment"], plan["cell"]): plan for plan in read_json(run.path / "plan.json")["cells"]}
    sends, deliveries = _by_cell(run, "sends"), _by_cell(run, "deliveries")
    sent: dict[CellKey, int] = {}
    copies: dict[CellKey, LaneAudit] = {}
    for key in sends.keys() | deliveries.keys():
        layouts = [grouped(rows.get(key, []), _layout) for rows in (sends, deliveries)]
        plan = plans[key.experiment, key.cell]
        audits = [
            layout_audit(plan, *(rows.get(at, []) for rows in layouts)) for at in layouts[0].keys() | layouts[1].keys()
        ]
        sent[key] = sum(number for _, number in audits)
        copies[key] = sum((copies for copies, _ in audits), LaneAudit())
    return audit.result_of(run, sent, copies)


def histograms_of(run: ThroughputRecord) -> Histograms:
    found: dict[tuple[CellKey, Measure], Histogram] = {}
    for key, of_cell in _by_cell(run, "latency").items():
        for measure, rows in grouped(of_cell, lambda row: Measure(row["measure"])).items():
            counts: Counter[tuple[tuple[int, int, int], int]] = Counter()
            for row in rows:
                counts[(row["layout"], row["block"], row["round"]), row["bucket"]] += row["count"]
            rounds, buckets = (sorted({at[axis] for at in counts}) for axis in (0, 1))
            table = np.array([[counts[number, bucket] for bucket in buckets] for number in rounds])
            found[key, measure] = Histogram(tuple(rounds), tuple(buckets), table)
    return found


def host_of(run: ThroughputRecord) -> tuple[HostUse, ...]:
    starts = grouped(_rows(run, "samples"), lambda row: (row["broker"], row["start"]))
    return tuple(_host(run, *life, sorted(rows, key=lambda row: row["at_ns"])) for life, rows in sorted(starts.items()))


def _host(run: ThroughputRecord, broker: str, start: int, rows: Rows) -> HostUse:
    first, last = rows[0], rows[-1]
    elapsed_ns = last["at_ns"] - first["at_ns"]
    return HostUse(
        run=run.name,
        broker=broker,
        start=start,
        seconds=elapsed_ns / 1e9,
        broker_rss_bytes=max(row["broker_rss_bytes"] for row in rows),
        load_rss_bytes=max(row["load_rss_bytes"] for row in rows),
        memory_available_bytes=min(row["memory_available_bytes"] for row in rows),
        swap_growth_bytes=last["swap_used_bytes"] - first["swap_used_bytes"],
        **{name: _per_s(first[counter], last[counter], elapsed_ns) for name, counter in _RATES.items()},
    )


def _per_s(first: int | None, last: int | None, elapsed_ns: int) -> float | None:
    return None if first is None or last is None or not elapsed_ns else (last - first) / elapsed_ns * 1e9


def _rows(run: ThroughputRecord, table: str) -> Rows:
    """Of a partial run, those of its complete layouts."""
    complete = {layout.key for layout in run.laid_out}
    return [row for row in table_rows(run.path, table) if not run.partial or _life_and_layout(row) in complete]


def _by_cell(run: ThroughputRecord, table: str) -> dict[CellKey, Rows]:
    return grouped(_rows(run, table), lambda row: CellKey(run.name, *(row[name] for name in _KEYS)))


def _life_and_layout(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in LAYOUT)


def _layout(row: dict[str, Any]) -> tuple[int, int]:
    return row["layout"], row["block"]


def _place(window: Window) -> tuple[int, int, int]:
    return window.layout, window.block, window.round
