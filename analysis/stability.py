"""Was the ground firm: idle broker, warm-up, drift within a start, host speed, memory, swap, disk and network.

Nothing here changes a number; each doubt becomes a finding with what was measured, the limit and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import median

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.directory import STRANGER, Frames, Start, reading
from analysis.intervals import Block, pooled_slope
from analysis.load import Run
from analysis.plane import regressors
from analysis.results import CellKey, CellSummary, Finding, FitResult, HostUse, Interval
from workloads.records import WARM_UP, Window
from workloads.rules import DRIFT, HOST_SPEED, IDLE_CPU, STATIONARY, Status, VerdictKind, WindowStatus

_MINUTE_NS = 60e9


def findings(
    run: Run,
    windows: Sequence[tuple[CellKey, Sequence[Window]]],
    cells: Sequence[CellSummary],
    fits: Sequence[FitResult],
    host: Sequence[HostUse],
) -> Iterator[Finding]:
    """Everything that makes the run doubtful beyond its cells."""
    for start in run.starts:
        yield from _idle(run, start)
        own = [cell for cell in cells if (cell.key.broker, cell.key.start) == (start.broker, start.start)]
        if own:
            yield from _steadiness(start, drift(own, fits))
    yield from _host_speed(windows)
    yield from _swap(host)


def drift(cells: Sequence[CellSummary], fits: Sequence[FitResult]) -> Interval | None:
    """Relative change of B per minute within one start; None where the cells cannot show it.

    Time is a further regressor beside what else explains B, so that a difference between cells is not taken for
    a drift, nor a drift for a difference. Where a model was fitted, that is the plane, over the whole start:
    B / fitted on 1 / fitted, n_fltr / fitted, r / fitted and time. Elsewhere it is each cell's own mean, over the
    seconds between its windows: ln(B / mean B) on time, both centred in the cell. The B of an open loop is its own
    planning, and shows nothing.
    """
    begin = min((window.begin_ns for cell in cells for window in cell.windows), default=0)
    blocks: list[Block] = []
    for _, group in groupby(sorted(cells, key=lambda cell: cell.key), key=lambda cell: cell.key.experiment):
        usable = [cell for cell in group if cell.status == Status.OK and not cell.open_loop]
        planes = [_plane(cell, fits) for cell in usable]
        described = [(cell, plane) for cell, plane in zip(usable, planes, strict=True) if plane is not None]
        if described:
            blocks.append(_against_plane([cell for cell, _ in described], described[0][1], begin))
        others = [cell for cell, plane in zip(usable, planes, strict=True) if plane is None]
        blocks += _against_own_mean(others, begin)
    return pooled_slope(blocks)


def host_use(data: Frames, runs: Sequence[Run]) -> tuple[HostUse, ...]:
    """What each start took of the host, from the samples; counters that wrap or restart are not repaired."""
    names = ["run", "broker", "start"]
    first_to_last = {
        name: F.max_by(name, "at_ns") - F.min_by(name, "at_ns") for name in ("at_ns", "swap_used_bytes", *_RATES)
    }
    with reading(runs):
        rows = (
            data.tables["samples"]
            .where(F.col("cell_id") != STRANGER)
            .groupBy(*names)
            .agg(
                F.max("broker_rss_bytes").alias("broker_rss"),
                F.max("load_rss_bytes").alias("load_rss"),
                F.min("memory_available_bytes").alias("available"),
                *(difference.alias(name) for name, difference in first_to_last.items()),
            )
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


def _plane(cell: CellSummary, fits: Sequence[FitResult]) -> Mapping[str, float] | None:
    """The parameters that were fitted on the cell's own start, where they describe the cell: not so under a cap."""
    for fit in fits:
        of_fit = (fit.run, fit.broker, fit.experiment) == (cell.key.run, cell.key.broker, cell.key.experiment)
        if of_fit and cell.key.cell in fit.cells_used and cell.key.start in fit.per_start:
            return dict(zip(fit.parameters, fit.per_start[cell.key.start], strict=True))
    return None


def _against_plane(cells: Sequence[CellSummary], plane: Mapping[str, float], begin_ns: int) -> Block:
    design = np.array([regressors(plane, cell.n_fltr, cell.replication) for cell in cells])
    fitted = design @ np.array(list(plane.values()))
    measured = np.array([cell.processing_s.estimate for cell in cells if cell.processing_s])
    minutes = (
        np.array([np.mean([window.middle_ns - begin_ns for window in cell.windows]) for cell in cells]) / _MINUTE_NS
    )
    return Block(design / fitted[:, None], minutes, measured / fitted)


def _against_own_mean(cells: Sequence[CellSummary], begin_ns: int) -> list[Block]:
    return [
        Block(
            np.ones((len(cell.windows), 1)),
            np.array([(window.middle_ns - begin_ns) / _MINUTE_NS for window in cell.windows]),
            np.log([window.elapsed_s / window.received for window in cell.windows]),
        )
        for cell in cells
        if len(cell.windows) > 1
    ]


def _idle(run: Run, start: Start) -> Iterator[Finding]:
    if start.idle_cpu is None:
        if run.brokers[start.broker].cpus is not None:
            yield Finding(
                what=f"{start.broker} was not watched while idle (start {start.start})",
                measured="no CPU reading before the load",
                limit=f"{IDLE_CPU.limit:.0%} {IDLE_CPU.unit}",
                advice="measure again",
                consequence=VerdictKind.UNVERIFIED,
                broker=start.broker,
            )
    elif start.idle_cpu > IDLE_CPU.limit:
        yield Finding(
            what=f"{start.broker} was busy before the load (start {start.start})",
            measured=f"{start.idle_cpu:.1%} of its CPU set",
            limit=f"{IDLE_CPU.limit:.0%} {IDLE_CPU.unit}",
            advice="stop what else uses the broker or its CPUs, and measure again",
            broker=start.broker,
        )


def _steadiness(start: Start, slope: Interval | None) -> Iterator[Finding]:
    """Two witnesses: the warm-up, which ended stationary, and the measurement itself.

    Drift beyond the limit makes the run invalid. Where the measurement is too short to exclude it, the stationary
    warm-up stands for it, unless the measurement speaks against it; where neither helps, nobody knows.
    """
    steady = slope is not None and slope.within(DRIFT.limit)
    if not start.stationary:
        change = "unknown" if start.largest_change is None else f"{start.largest_change:.1%}"
        yield Finding(
            what=f"the warm-up of {start.broker} did not become stationary (start {start.start})",
            measured=change,
            limit=f"{STATIONARY.limit:.0%}, {STATIONARY.unit}",
            advice="a longer warm-up (--warmup-seconds), on a quieter machine",
            consequence=VerdictKind.VALID if steady else VerdictKind.UNVERIFIED,
            broker=start.broker,
        )
    if not steady:
        what, consequence, advice = _unsteady(start, slope)
        yield Finding(
            what=f"{what} (start {start.start})",
            measured=_per_minute(slope),
            limit=f"interval within +-{DRIFT.limit:.0%} per minute",
            advice=advice,
            consequence=consequence,
            broker=start.broker,
        )


def _unsteady(start: Start, slope: Interval | None) -> tuple[str, VerdictKind, str]:
    """What a slope whose interval is not within the limit says, what follows, and what helps."""
    longer = "a longer warm-up (--warmup-seconds); longer or more windows narrow the interval"
    if slope is not None and slope.beyond(DRIFT.limit):
        return f"{start.broker} drifts", VerdictKind.INVALID, longer
    if slope is not None and slope.beyond(0):
        return f"{start.broker} drifts, perhaps by more than the limit", VerdictKind.UNVERIFIED, longer
    doubt = f"drift of {start.broker} cannot be excluded by the measurement alone"
    if start.stationary:
        return (
            doubt,
            VerdictKind.VALID,
            "nothing: its warm-up was stationary; longer or more windows narrow the interval",
        )
    return doubt, VerdictKind.UNVERIFIED, longer


def _per_minute(slope: Interval | None) -> str:
    if slope is None or slope.low is None or slope.high is None:
        return "too few windows to tell"
    return f"{slope.estimate:+.1%} per minute, 95 % {slope.low:+.1%} to {slope.high:+.1%}"


def _host_speed(windows: Sequence[tuple[CellKey, Sequence[Window]]]) -> Iterator[Finding]:
    measured = [(key, window) for key, of_cell in windows if key.experiment != WARM_UP for window in of_cell]
    if not measured:
        return
    typical = median(window.host_speed_ns for _, window in measured)
    slow = [
        (abs(window.host_speed_ns / typical - 1), key)
        for key, window in measured
        if window.status == WindowStatus.OK and abs(window.host_speed_ns / typical - 1) > HOST_SPEED.limit
    ]
    repeated = sum(window.status == WindowStatus.REPEATED for _, window in measured)
    contaminated = sum(window.status == WindowStatus.CONTAMINATED for _, window in measured)
    if repeated or contaminated or slow:
        far = f", used ones deviate by up to {max(slow)[0]:.1%} ({max(slow)[1]})" if slow else ""
        yield Finding(
            what="the host's speed changed while it measured",
            measured=f"{repeated} windows repeated, {contaminated} contaminated, {len(slow)} used off the limit{far}",
            limit=f"{HOST_SPEED.limit:.0%}, {HOST_SPEED.unit}",
            advice="stop what else runs on the host; on a shared machine measure at a quieter time",
        )


def _swap(host: Sequence[HostUse]) -> Iterator[Finding]:
    for use in host:
        if use.swap_growth_bytes > 0:
            yield Finding(
                what=f"the host swapped while {use.broker} was loaded (start {use.start})",
                measured=f"{use.swap_growth_bytes / 2**20:.1f} MiB more swap in use",
                limit="0",
                advice="give the broker less memory, or the host more",
                broker=use.broker,
            )
