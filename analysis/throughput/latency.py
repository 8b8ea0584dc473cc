"""Open loops: latency from the planned instant to the read, reported with the lateness of the generator.

The histograms are log-linear (`workloads.histogram`), so that merging them is exact and a quoted time has a relative
resolution of 1/128. Percentiles come from the merged counts of a cell's counted slices, never from means of
percentiles; the layout is the unit of their intervals.

The rate is a share of a capacity, which each round measures again. Rounds in which the capacity had dropped
(`workloads.limits.CAPACITY_DROP`) are left out, independent of their latencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log, log1p
from operator import itemgetter
from statistics import median

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are loaded on their first use, this one for a second and more
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.errors import DataError
from analysis.frames import UNPLANNED, Frames, reading, refuse_unplanned
from analysis.intervals import CONFIDENCE, t_quantile
from analysis.results import CellKey, Finding, Interval
from analysis.throughput.cell_ratios import over_layouts, over_starts
from analysis.throughput.cost_model import processing_time_s
from analysis.throughput.queueing import mean_waiting_s
from analysis.throughput.reader import ThroughputRecord, counted, named
from analysis.throughput.results import CellSummary, FitResult, LatencyResult, Percentile
from analysis.throughput.rotation import RoundKey
from workloads.arrivals import ArrivalProcess
from workloads.histogram import bounds
from workloads.limits import CAPACITY_DROP, LATENESS, LATENESS_FATAL, LATENESS_FLOOR, LAYOUTS
from workloads.schema import CAPACITY, Measure, Window
from workloads.status import CellStatus, VerdictKind

Ints = npt.NDArray[np.int64]

#: The percentiles that are quoted.
RANKS = (50.0, 90.0, 99.0, 99.9)

#: The experiment whose fit gives the service time of a prediction.
MODEL = "replication"

#: The columns that identify a slice of a cell.
ROUND = ["layout", "block", "round"]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Number of times per bucket: a row per slice, a column per bucket, the buckets in ascending order."""

    rounds: tuple[RoundKey, ...]
    buckets: tuple[int, ...]
    counts: Ints

    def of(self, rounds: Sequence[RoundKey]) -> Histogram:
        """These slices only; a slice without any time has a row of zeros."""
        rows = dict(zip(self.rounds, self.counts, strict=True))
        nothing = np.zeros(len(self.buckets), np.int64)
        counts = [rows.get(key, nothing) for key in rounds]
        return Histogram(tuple(rounds), self.buckets, np.array(counts).reshape(len(rounds), len(self.buckets)))

    @property
    def by_layout(self) -> Ints:
        """The counts with a row per layout."""
        layouts = [layout for layout, _, _ in self.rounds]
        return np.array([self.counts[np.equal(layouts, layout)].sum(axis=0) for layout in sorted(set(layouts))])

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def middles_s(self) -> npt.NDArray[np.float64]:
        return np.array([sum(bounds(bucket)) / 2e9 for bucket in self.buckets])

    def quantile_index(self, share: float) -> int:
        """The column of the quantile: of the smallest time with at least this share of all times up to it."""
        rank = max(1, ceil(share * self.total - 1e-9))
        return int(np.searchsorted(np.cumsum(self.counts.sum(axis=0)), rank))


Histograms = Mapping[tuple[CellKey, Measure], Histogram]


def histograms(data: Frames, runs: Sequence[ThroughputRecord]) -> Histograms:
    """All recorded times of all open loops, summed over the workers. Raises DataError for an invalid count."""
    if not any(run.files["latency"] for run in runs):
        return {}
    table = data.tables["latency"]
    with reading(runs):
        rows = (
            table.groupBy("cell_id", "measure", *ROUND, "bucket")
            .agg(F.sum("count").alias("count"), F.min("count").alias("least"))
            .toArrow()
            .to_pandas()
        )
    if (rows["cell_id"] == UNPLANNED).any():
        refuse_unplanned(table, "latency")
    wrong = rows[~rows["measure"].isin(list(Measure)) | (rows["least"] < 1)]
    if len(wrong):
        row = wrong.iloc[0]
        raise DataError(
            f"latency of {data.keys[row['cell_id']]}: a row counts {row['least']} of {row['measure']!r}, expected at "
            f"least 1 of {' or '.join(Measure)}; it was not written by this version of the suite"
        )
    found: dict[tuple[CellKey, Measure], Histogram] = {}
    for (cell, measure), group in rows.groupby(["cell_id", "measure"]):
        counts = group.pivot_table(index=ROUND, columns="bucket", values="count", aggfunc="sum", fill_value=0)
        found[data.keys[cell], Measure(measure)] = Histogram(
            tuple((int(layout), int(block), int(number)) for layout, block, number in counts.index),
            tuple(map(int, counts.columns)),
            counts.to_numpy(np.int64),
        )
    return found


def latency(
    run: ThroughputRecord, cells: Sequence[CellSummary], times: Histograms, fits: Sequence[FitResult]
) -> tuple[LatencyResult, ...]:
    """A result per open loop that recorded latency and lateness in its slices."""
    results: list[LatencyResult] = []
    for cell in cells:
        rounds = [(window.layout, window.block, window.round) for window in cell.windows]
        found = [times[cell.key, measure].of(rounds) for measure in Measure if (cell.key, measure) in times]
        if cell.open_loop and len(found) == len(Measure) and all(histogram.total for histogram in found):
            results.append(_result(run, cell, dict(zip(Measure, found, strict=True)), fits))
    return tuple(results)


def marked(cells: Sequence[CellSummary], results: Sequence[LatencyResult]) -> tuple[CellSummary, ...]:
    """The cells; open loops have the status of their latency result."""
    by_key = {result.key: result for result in results}
    return tuple(
        replace(cell, status=result.status, reason=result.reason) if (result := by_key.get(cell.key)) else cell
        for cell in cells
    )


def findings(
    cells: Sequence[CellSummary], results: Sequence[LatencyResult], clock_bound_s: float = 0.0
) -> Iterator[Finding]:
    """Doubts about latencies, per broker: the generator, the clock, or a missing record.

    cells, results: those of a run
    clock_bound_s: how much a time between two hosts of the load may be wrong, s; 0 on a single host
    """
    if clock_bound_s and results:
        yield Finding(
            what="latencies are times between hosts",
            measured=f"each may be wrong by {clock_bound_s * 1e3:.3g} ms, as exactly as the hosts' clocks are known",
            limit="the interval of a percentile does not include it",
            advice="a network with shorter delays, or one load host for latencies",
        )
    for broker in sorted({cell.key.broker for cell in cells if cell.open_loop}):
        own = [result for result in results if result.key.broker == broker]
        late = [result for result in own if result.status == CellStatus.GENERATOR_BOUND]
        if late:
            yield Finding(
                what=f"the generator fell behind its schedule on {broker}",
                measured=f"{late[0].reason}, in {named(late)}",
                limit=f"{LATENESS.limit:.0%} of the latency, or {LATENESS_FLOOR.limit * 1e3:g} ms, whichever is more, "
                f"at every percentile from {LATENESS_FATAL.limit:g} down",
                advice="fewer messages per second, more --workers, or a host with a core to spare for the load",
                consequence=VerdictKind.INVALID,
                broker=broker,
            )
        greyed = [result for result in own if result not in late and any(p.greyed for p in result.percentiles)]
        if greyed:
            yield Finding(
                what=f"high percentiles of {broker} are dominated by generator lateness",
                measured=f"greyed out in {named(greyed)}",
                limit=f"{LATENESS.limit:.0%} of the latency, or {LATENESS_FLOOR.limit * 1e3:g} ms, whichever is more",
                advice="use the other percentiles; a host with a spare core for the load shows these as well",
                broker=broker,
            )
        negative = [result for result in own if result.negative]
        if negative:
            yield Finding(
                what=f"negative latencies on {broker}",
                measured=f"{sum(result.negative for result in negative)} of "
                f"{sum(result.copies for result in negative)} copies, in {named(negative)}",
                limit="0: no copy is read before its planned instant",
                advice="different clocks, or a generator that sends early; the copies are counted as measured",
                broker=broker,
            )
        known = {result.key for result in own}
        silent = [cell for cell in cells if cell.open_loop and cell.key.broker == broker and cell.key not in known]
        if silent:
            yield Finding(
                what=f"no latency of {broker} was recorded",
                measured=f"nothing of {named(silent)}",
                limit="latency and lateness in the slices of every open loop",
                advice="measure again, with slices that hold some messages",
                consequence=VerdictKind.UNVERIFIED,
                broker=broker,
            )


def load_findings(results: Sequence[LatencyResult], windows: Mapping[CellKey, Sequence[Window]]) -> Iterator[Finding]:
    """Loads that are not the shares that they are named after, per broker.

    Their rate is a share of the capacity in the warm-up; the counted rounds measure it again. Of several capacities of
    a start, one per flow, the nearest is taken.

    results: those of a run
    windows: slices of all its cells
    """
    capacities: dict[tuple[str, int], list[float]] = {}
    for key, of_cell in windows.items():
        rates = [window.messages_per_s for window in counted(of_cell) if window.messages]
        if key.experiment == CAPACITY and rates:
            capacities.setdefault((key.broker, key.start), []).append(median(rates))
    far: dict[str, list[tuple[float, float, LatencyResult]]] = {}
    for result in results:
        measured = capacities.get((result.key.broker, result.key.start), [])
        apart = [(abs(log(capacity / result.capacity_per_s)), capacity, result) for capacity in measured]
        nearest = min(apart, key=itemgetter(0), default=None)
        if nearest is not None and nearest[0] > log1p(CAPACITY_DROP.limit):
            far.setdefault(result.key.broker, []).append(nearest)
    for broker, found in far.items():
        _, capacity, result = max(found, key=itemgetter(0))
        yield Finding(
            what=f"the loads of {broker} are not the shares of its capacity that they are named after",
            measured=f"{len(found)} of {sum(each.key.broker == broker for each in results)}; {result.key} has "
            f"{100 * result.planned_per_s / capacity:.0f} % of {capacity:,.0f}/s",
            limit=f"capacity within {CAPACITY_DROP.limit:.0%} of that in the warm-up",
            advice="a longer warm-up (--warmup-seconds), or a quieter host",
            consequence=VerdictKind.UNVERIFIED,
            broker=broker,
        )


def percentile_s(times: Histogram, rank: float) -> Interval:
    """The percentile of all times, in s, with a 95 % interval whose ends are bounds of buckets.

    The interval is based on order statistics: of m independent times, the l-th and u-th enclose the percentile, where
    l and u - 1 are the 2.5 % and 97.5 % quantiles of Binomial(m, rank / 100) (David and Nagaraja, Order
    Statistics, 3rd ed., section 7.1). Waiting times of successive messages are not independent. So m is not their
    number n but the effective sample size (Korn and Graubard, Survey Methodology 24, 1998, for layouts as clusters):

        m = n / deff  (t(n - 1) / t(w - 1))^2,    deff = v / (p (1 - p) / n), at least 1

    deff is the design effect (Kish, Survey Sampling, 1965, section 8.2) and v the variance of the share p of times
    up to the percentile, estimated from its differences between the w layouts (ratio estimator, Cochran, Sampling
    Techniques, 1977, section 2.11). The l-th of m corresponds to the shares from (l - 1) / m to l / m, of which each
    end uses the outer one. An end is None where too few effective times lie beyond the percentile; both are None where
    there are too few layouts.
    """
    share = rank / 100
    at = times.quantile_index(share)
    estimate = times.middles_s[at]
    m = int(_effective(times, share, at))
    low, high = (scipy.stats.binom.ppf(tail, m, share) for tail in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    if m < 1:
        return Interval(float(estimate))
    return Interval(
        float(estimate),
        bounds(times.buckets[times.quantile_index((low - 1) / m)])[0] / 1e9 if low > 1 else None,
        bounds(times.buckets[times.quantile_index((high + 1) / m)])[1] / 1e9 if high + 1 <= m else None,
    )


def mean_s(times: Histogram) -> Interval:
    """The mean of all times, each taken as the middle of its bucket; its interval is over the layouts."""
    sums, numbers = times.counts @ times.middles_s, times.counts.sum(axis=1)
    layouts = (layout for layout, _, _ in times.rounds)
    return over_starts([over_layouts(zip(layouts, sums.tolist(), numbers.tolist(), strict=True))])


def _effective(times: Histogram, share: float, at: int) -> float:
    """The effective sample size for this percentile, which is in column `at`; 0 where unknown."""
    n, counts = times.total, times.by_layout
    layouts = len(counts)
    if layouts < LAYOUTS.limit:
        return 0.0
    below, there = counts[:, :at].sum(axis=1), counts[:, at]
    # The part of the percentile's own bucket that makes the share exact.
    part = (share * n - below.sum()) / there.sum()
    apart = below + part * there - share * counts.sum(axis=1)
    variance = layouts / (layouts - 1) * float(apart @ apart) / n**2
    design_effect = max(1.0, variance * n / (share * (1 - share)))
    return n / design_effect * (t_quantile(n - 1) / t_quantile(layouts - 1)) ** 2 if n > 1 else 0.0


def _result(
    run: ThroughputRecord, cell: CellSummary, times: Mapping[Measure, Histogram], fits: Sequence[FitResult]
) -> LatencyResult:
    seen, late = times[Measure.LATENCY], times[Measure.LATENESS]
    percent, arrivals = _asked(cell)
    planned = cell.planned_per_s or 0.0
    capacity = planned * 100 / percent
    percentiles = tuple(_percentile(seen, late, rank) for rank in RANKS)
    fatal = [quoted for quoted in percentiles if quoted.greyed and quoted.rank <= LATENESS_FATAL.limit]
    mean = mean_s(seen)
    least = seen.middles_s[np.flatnonzero(seen.counts.sum(axis=0))[0]]
    predicted, model = _prediction(run, cell, capacity, fits) if arrivals == ArrivalProcess.POISSON else (None, "")
    bound = bool(fatal) and cell.status == CellStatus.OK
    late_words = f"p{fatal[0].rank:g}: {fatal[0].reason}" if bound else ""
    return LatencyResult(
        key=cell.key,
        profile=cell.profile,
        arrivals=arrivals,
        percent=percent,
        planned_per_s=planned,
        received_per_s=cell.received_per_s.estimate if cell.received_per_s else 0.0,
        capacity_per_s=capacity,
        copies=seen.total,
        negative=int(seen.counts[:, [bucket < 0 for bucket in seen.buckets]].sum()),
        mean_s=mean,
        percentiles=percentiles,
        waiting_s=float(mean.estimate - least),
        predicted_waiting_s=predicted,
        model=model,
        status=CellStatus.GENERATOR_BOUND if bound else cell.status,
        reason="; ".join(words for words in (late_words, cell.reason) if words),
    )


def _asked(cell: CellSummary) -> tuple[int, str]:
    """The share of the capacity in percent, and the arrivals, that the cell's factors ask for."""
    percent, arrivals = cell.factors.get("percent"), cell.factors.get("arrivals")
    if not isinstance(percent, int) or not 1 <= percent <= 99 or arrivals not in list(ArrivalProcess):
        raise DataError(
            f"{cell.key}: an open loop whose factors in plan.json have percent {percent!r} and arrivals {arrivals!r}, "
            f"expected 1 to 99 and {' or '.join(ArrivalProcess)}; it was not written by this version of the suite"
        )
    return percent, str(arrivals)


def _percentile(seen: Histogram, late: Histogram, rank: float) -> Percentile:
    quoted = percentile_s(seen, rank)
    lateness = float(late.middles_s[late.quantile_index(rank / 100)])
    allowed = max(LATENESS_FLOOR.limit, LATENESS.limit * quoted.estimate)
    reason = f"generator lateness {lateness * 1e3:.3g} ms, allowed {allowed * 1e3:.3g} ms"
    return Percentile(rank, quoted, lateness, reason if lateness > allowed else "")


def _prediction(
    run: ThroughputRecord, cell: CellSummary, capacity_per_s: float, fits: Sequence[FitResult]
) -> tuple[float | None, str]:
    """The mean waiting time of M/GI/1 at the cell's rate, in s, and the source of its service time.

    That is the model of the same run where it has one that is not invalid, with a service time per number of copies;
    otherwise the measured capacity, with a constant service time.
    """
    services = [(1.0, 1 / capacity_per_s)]
    model = "1 / capacity of the same flow in the same start"
    for fit in fits:
        own = (fit.broker, fit.experiment, fit.profile) == (cell.key.broker, MODEL, cell.profile)
        if own and fit.verdict != VerdictKind.INVALID:
            estimates = {name: interval.estimate for name, interval in fit.parameters.items()}
            services = [
                (weight, processing_time_s(estimates, cell.n_fltr, copies)) for weight, copies in _copies(run, cell.key)
            ]
            model = f"the fit of {MODEL} in this run"
    mean, second = (sum(weight * service**power for weight, service in services) for power in (1, 2))
    try:
        return mean_waiting_s(cell.planned_per_s or 0.0, mean, second), model
    except DataError as error:
        return None, f"{model}: {error}"


def _copies(run: ThroughputRecord, key: CellKey) -> list[tuple[float, int]]:
    """The distribution of copies per message of a cell: (share of the messages, copies)."""
    groups = run.plan(key).lanes
    lanes = sum(group.count for group in groups)
    return [
        (group.count / lanes, 1 if group.shared else sum(last - first + 1 for first, last in group.receivers))
        for group in groups
    ]
