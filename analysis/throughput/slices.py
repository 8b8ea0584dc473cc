"""Spark's part of a throughput run besides its audit: slices by cell, and what the host was used for, by start."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.frames import UNPLANNED, Frames, reading
from analysis.results import CellKey
from analysis.throughput.reader import ThroughputRecord
from analysis.throughput.results import HostUse
from workloads.schema import KEYS, WINDOWS, Window

_FIELDS = [column.name for column in WINDOWS if column not in KEYS]


def windows_by_cell(data: Frames, runs: Sequence[ThroughputRecord]) -> dict[CellKey, tuple[Window, ...]]:
    """All slices of all cells, ordered by layout, block and round, with any status."""
    with reading(runs):
        rows = (
            data.tables["windows"]
            .groupBy("cell_id")
            .agg(F.sort_array(F.collect_list(F.struct(*_FIELDS))).alias("windows"))
            .collect()
        )
    return {data.keys[row["cell_id"]]: tuple(Window(*window) for window in row["windows"]) for row in rows}


def host_use(data: Frames, runs: Sequence[ThroughputRecord]) -> tuple[HostUse, ...]:
    """Host resources used by each start, from the samples; counters that wrap or restart are not corrected."""
    names = ["run", "broker", "start"]
    counters = ("at_ns", "swap_used_bytes", *_RATES)
    reading_of = F.struct(*counters)  # in the order of the instants, which come first
    with reading(runs):
        rows = (
            data.tables["samples"]
            .where(F.col("cell_id") != UNPLANNED)
            .groupBy(*names)
            .agg(
                F.max("broker_rss_bytes").alias("broker_rss"),
                F.max("load_rss_bytes").alias("load_rss"),
                F.min("memory_available_bytes").alias("available"),
                F.min(reading_of).alias("first"),
                F.max(reading_of).alias("last"),
            )
            .select("*", *((F.col(f"last.{name}") - F.col(f"first.{name}")).alias(name) for name in counters))
            .sort(*names)
            .collect()
        )
    return tuple(
        HostUse(
            run=row["run"],
            broker=row["broker"],
            start=row["start"],
            seconds=row["at_ns"] / 1e9,
            broker_rss_bytes=row["broker_rss"],
            load_rss_bytes=row["load_rss"],
            memory_available_bytes=row["available"],
            swap_growth_bytes=row["swap_used_bytes"],
            **{field: _per_s(row[counter], row["at_ns"]) for counter, field in _RATES.items()},
        )
        for row in rows
    )


#: Counter of the samples -> its rate.
_RATES = {
    "disk_written_bytes": "disk_bytes_per_s",
    "network_sent_bytes": "network_bytes_per_s",
    "broker_context_switches": "broker_context_switches_per_s",
    "broker_disk_written_bytes": "broker_disk_bytes_per_s",
}


def _per_s(growth: int | None, elapsed_ns: int) -> float | None:
    return None if growth is None or not elapsed_ns else growth / elapsed_ns * 1e9
