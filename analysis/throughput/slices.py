"""What is read of a throughput run besides what Spark audits: slices by cell, and what the host was used for, by start.

A row per slice and second, all of which would end up in this process: it takes them from the files itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from analysis.results import CellKey
from analysis.run_directory import known_cells, rows_by_cell
from analysis.throughput.reader import ThroughputRecord
from analysis.throughput.results import HostUse
from workloads.schema import KEYS, WINDOWS, Window

_FIELDS = [column.name for column in WINDOWS if column not in KEYS]

#: The place of a slice in its start.
_PLACE = attrgetter("layout", "block", "round", "position", "begin_ns", "end_ns")

#: Counter of the samples -> its rate.
_RATES = {
    "disk_written_bytes": "disk_bytes_per_s",
    "network_sent_bytes": "network_bytes_per_s",
    "broker_context_switches": "broker_context_switches_per_s",
    "broker_disk_written_bytes": "broker_disk_bytes_per_s",
}

_COUNTERS = ("at_ns", "swap_used_bytes", *_RATES)
_GAUGES = ("broker_rss_bytes", "load_rss_bytes", "memory_available_bytes")


def windows_by_cell(run: ThroughputRecord) -> dict[CellKey, tuple[Window, ...]]:
    """All slices of the cells of a run, ordered by layout, block and round, with any status."""
    found: dict[CellKey, list[Window]] = {key: [] for key in run.cells}
    for key, row in rows_by_cell(run, "windows", _FIELDS):
        if key in found:
            found[key].append(Window(**row))
    return {key: tuple(sorted(of_cell, key=_PLACE)) for key, of_cell in found.items()}


def host_use(run: ThroughputRecord) -> tuple[HostUse, ...]:
    """Host resources used by each start of a run, from the samples; counters that wrap or restart are not corrected."""
    known = set(known_cells(run))
    starts: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for key, row in rows_by_cell(run, "samples", [*_COUNTERS, *_GAUGES]):
        if key in known:
            starts.setdefault((key.broker, key.start), []).append(row)
    return tuple(_used(run.name, broker, start, rows) for (broker, start), rows in sorted(starts.items()))


def _used(run: str, broker: str, start: int, rows: Sequence[Mapping[str, Any]]) -> HostUse:
    """What a start used, from its samples."""
    first, last = (end(rows, key=_instant) for end in (min, max))
    elapsed_ns = last["at_ns"] - first["at_ns"]
    return HostUse(
        run=run,
        broker=broker,
        start=start,
        seconds=elapsed_ns / 1e9,
        broker_rss_bytes=max(
            (row["broker_rss_bytes"] for row in rows if row["broker_rss_bytes"] is not None), default=None
        ),
        load_rss_bytes=max(row["load_rss_bytes"] for row in rows),
        memory_available_bytes=min(row["memory_available_bytes"] for row in rows),
        swap_growth_bytes=last["swap_used_bytes"] - first["swap_used_bytes"],
        **{field: _per_s(first[counter], last[counter], elapsed_ns) for counter, field in _RATES.items()},
    )


def _instant(row: Mapping[str, Any]) -> list[int]:
    """The order of the samples of a start."""
    return [-1 if row[name] is None else row[name] for name in _COUNTERS]


def _per_s(first: int | None, last: int | None, elapsed_ns: int) -> float | None:
    if first is None or last is None or not elapsed_ns:
        return None
    return (last - first) / elapsed_ns * 1e9
