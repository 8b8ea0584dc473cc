"""Slices -> cells: B with its interval, rates, CPU, and the status that tells whether a cell's numbers are usable.

Arithmetic on a few thousand rows, without Spark, since a look uses it beside a live broker. B is estimated from all
slices of a start jointly (`analysis.throughput.rotation`), so that effects common to all cells of a round are not
attributed to a cell; everything else is a total over a cell's counted slices. The rules are in a table, in the order
of precedence. A run may have both closed and open loops: a cell is an open loop where its slices have a planned rate,
and CPU limits apply to closed loops only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np

from analysis.errors import DataError
from analysis.intervals import jackknife
from analysis.results import CellKey, Finding, per
from analysis.table import grouped
from analysis.throughput import rotation
from analysis.throughput.reader import Life, ThroughputRecord, counted
from analysis.throughput.results import CellSummary, RoundLevel
from workloads.limits import (
    BACKLOG,
    BROKER_CPU,
    CAPACITY_DROP,
    CONSERVATION,
    DISTURBED_LEVEL,
    IDLE_BROKER,
    LAYOUTS,
    LOAD_CPU,
    OPEN_LOOP,
    ROBUST_MEAN,
)
from workloads.schema import CAPACITY, PREPARATION, Window
from workloads.status import CellStatus, VerdictKind, WindowStatus
from workloads.throughput.presets import SMOKE

#: Deviations up to this number of standard deviations of a Poisson count are attributed to scatter.
SCATTER = 3

#: Share of a broker's slices without flow conservation above which they become a finding.
MANY = 0.1


def estimated(run: ThroughputRecord, windows: Mapping[CellKey, Sequence[Window]]) -> dict[Life, rotation.StartEstimate]:
    """The joint estimate from the counted slices of each start, those of anchors and capacities included.

    Open loops are left out: their B is given by the plan. A start without any other slice has no estimate.
    """
    lives: dict[Life, list[rotation.MeasuredSlice]] = {}
    for key in run.cells:
        _check(key, windows[key])
        slices = [
            rotation.MeasuredSlice.of(key, window) for window in counted(windows[key]) if window.planned_per_s is None
        ]
        lives.setdefault((key.broker, key.start), []).extend(slices)
    widening = run.options.widening
    return {life: rotation.estimate(slices, widening) for life, slices in lives.items() if slices}


def summarise(
    run: ThroughputRecord,
    windows: Mapping[CellKey, Sequence[Window]],
    exact: AbstractSet[CellKey],
    estimates: Mapping[Life, rotation.StartEstimate],
    lossy: AbstractSet[CellKey] = frozenset(),
) -> tuple[CellSummary, ...]:
    """The cells of a run, without anchors and capacities.

    exact: the cells of which every copy arrived once and in order
    estimates: result of `estimated`
    lossy: the cells of which copies are missing where the protocol promises no more
    """
    capacities = _below_capacity(windows)
    return tuple(
        _summary(
            run,
            key,
            windows[key],
            estimates.get((key.broker, key.start)),
            capacities.get((key.broker, key.start), frozenset()),
            CellStatus.OK if key in exact else CellStatus.LOSSY if key in lossy else CellStatus.AUDIT_FAILED,
        )
        for key in run.cells
        if key.experiment not in PREPARATION
    )


def over_starts(run: ThroughputRecord, windows: Mapping[CellKey, Sequence[Window]]) -> tuple[CellSummary, ...]:
    """The cells of a gate, each from its slices in all starts, under the key of the first: status and reason tell
    whether they saturated the broker. B is time divided by messages, since a gate compares slice by slice."""
    compared = (key for key in sorted(windows) if key.experiment not in PREPARATION)
    found = grouped(compared, lambda key: (key.broker, key.experiment, key.cell))
    return tuple(
        _summary(run, keys[0], [window for key in keys for window in windows[key]], None, frozenset(), CellStatus.OK)
        for keys in found.values()
    )


def round_levels(
    run: ThroughputRecord, windows: Mapping[CellKey, Sequence[Window]], estimates: Mapping[Life, rotation.StartEstimate]
) -> tuple[RoundLevel, ...]:
    """The level of every counted round, by start and in the order of time, with the JVM's activity in that round."""
    rounds: dict[tuple[Life, rotation.RoundKey], list[Window]] = {}
    layouts: dict[tuple[Life, tuple[int, int]], list[Window]] = {}
    for key in run.cells:
        for window in counted(windows[key]):
            life = key.broker, key.start
            rounds.setdefault((life, _round(window)), []).append(window)
            layouts.setdefault((life, (window.layout, window.block)), []).append(window)
    stolen = {layout: stolen_share(of_layout) for layout, of_layout in layouts.items()}
    levels: list[RoundLevel] = []
    for life, estimate in estimates.items():
        begin_ns = min(window.begin_ns for (of, _), slices in rounds.items() if of == life for window in slices)
        for (layout, block, number), level in estimate.levels.items():
            slices = rounds[life, (layout, block, number)]
            levels.append(
                RoundLevel(
                    run=run.name,
                    broker=life[0],
                    start=life[1],
                    layout=layout,
                    block=block,
                    round=number,
                    begin_s=(min(window.begin_ns for window in slices) - begin_ns) / 1e9,
                    slices=sum(window.planned_per_s is None for window in slices),
                    level=level,
                    disturbed=level >= DISTURBED_LEVEL.limit,
                    gc_share=gc_share(slices),
                    compiler_share=compiler_share(slices),
                    stolen_share=stolen[life, (layout, block)],
                )
            )
    return tuple(sorted(levels, key=lambda level: (level.broker, level.start, level.begin_s)))


def conservation(windows: Sequence[Window]) -> float | None:
    """dispatched / expected copies of these slices; 0 where nothing was expected, so that it never passes."""
    expected = sum(window.expected for window in windows)
    dispatched = sum(window.dispatched for window in windows)
    return (dispatched / expected if expected else 0.0) if windows else None


def findings(run: ThroughputRecord, cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """Doubts about the run that follow from its cells: unknown CPU, cells left out, slices that do not conserve or
    drain, means that differ from the robust values, other brokers that were not idle."""
    if run.options.grid == SMOKE:
        yield Finding(
            what="a smoke grid was run",
            measured="correctness only",
            limit="its rates, times and CPU mean nothing, and no model is fitted",
            advice="measure with --grid quick",
        )
        return
    yield from unknown_cpu(cells)
    yield from _doubtful(cells)
    yield from _unbalanced(cells)
    yield from _backlog(cells)
    yield from _owed(cells)
    yield from _trimmed(cells)
    yield from _beside(cells)


def _summary(
    run: ThroughputRecord,
    key: CellKey,
    windows: Sequence[Window],
    estimate: rotation.StartEstimate | None,
    below_capacity: frozenset[rotation.RoundKey],
    audited: CellStatus,
) -> CellSummary:
    plan = run.plan(key)
    _check(key, windows)
    ok = counted(windows)
    left_out = 0
    if any(window.planned_per_s is not None for window in ok):
        kept = tuple(window for window in ok if _round(window) not in below_capacity)
        left_out, ok = len(ok) - len(kept), kept
    cell = CellSummary(
        key=key,
        profile=plan.profile,
        factors=plan.factors,
        pace=plan.pace,
        n_fltr=plan.n_fltr,
        routed=plan.routed,
        replication=plan.replication,
        # A cell with its own load shape saturates the broker differently or not at all: that is not the model's B.
        fits_model=plan.fits_model and plan.pace is None,
        windows=ok,
        layouts=len({window.layout for window in ok}),
        conservation=conservation(ok),
        status=CellStatus.OK,
        **_numbers(ok, run.manifest.brokers[key.broker].cpu_count, run.options.all_workers),
        **_times(key, ok, estimate),
    )
    if audited in _NOT_EXACT:
        return replace(cell, status=audited, reason=_NOT_EXACT[audited])
    for status, doubt in _RULES if run.options.grid != SMOKE else ():
        if reason := doubt(cell):
            return replace(cell, status=status, reason=reason)
    return replace(cell, reason=f"{left_out} slices left out, capacity was lower then" if left_out else "")


def _check(key: CellKey, windows: Sequence[Window]) -> None:
    for window in windows:
        where = f"{key}: slice of layout {window.layout}, round {window.round}"
        if window.end_ns <= window.begin_ns:
            raise DataError(f"{where} ends before it begins; the record is wrong, measure again")
        if window.status not in set(WindowStatus):
            raise DataError(
                f"{where} has status {window.status!r}, expected one of {', '.join(WindowStatus)}; it was not written "
                "by this version of the suite"
            )
    planned = {window.planned_per_s for window in counted(windows)}
    if len(planned) > 1:
        raise DataError(
            f"{key}: its slices have {len(planned)} planned rates, expected one, or none in a closed loop; "
            "the record is wrong, measure again"
        )


def _round(window: Window) -> rotation.RoundKey:
    return window.layout, window.block, window.round


def _below_capacity(windows: Mapping[CellKey, Sequence[Window]]) -> dict[Life, frozenset[rotation.RoundKey]]:
    """Rounds in which the capacities of a start, each relative to its median, are lower by more than the limit: the
    constant rate of an open loop was then another share of the capacity."""
    shares: dict[Life, dict[rotation.RoundKey, list[float]]] = {}
    for key, of_cell in windows.items():
        rates = {_round(window): window.messages_per_s for window in counted(of_cell)}
        if key.experiment == CAPACITY and any(rates.values()):
            typical = median(rates.values())
            for number, rate in rates.items():
                shares.setdefault((key.broker, key.start), {}).setdefault(number, []).append(rate / typical)
    return {
        life: frozenset(number for number, of_round in rounds.items() if median(of_round) < 1 - CAPACITY_DROP.limit)
        for life, rounds in shares.items()
    }


def _times(key: CellKey, windows: Sequence[Window], estimate: rotation.StartEstimate | None) -> dict[str, Any]:
    """B with its replicates, and the rates that follow from it."""
    taken_s = sum(window.taken_s for window in windows)
    messages = sum(window.messages for window in windows)
    times: dict[str, Any] = dict.fromkeys(
        ("received_per_s", "dispatched_per_s", "overall_per_s", "processing_s", "mean_processing_s")
    )
    if not messages:
        return times | {"replicates_s": ()}
    if estimate is not None and key in estimate.cells:
        column = estimate.cells.index(key)
        value, replicates = float(estimate.estimates_s[column]), tuple(map(float, estimate.replicates_s[:, column]))
    else:
        value, replicates = taken_s / messages, _without_each_layout(windows)
    if not np.isfinite(value):
        return times | {"replicates_s": ()}
    replicates = replicates if np.isfinite(replicates).all() else ()
    processing_s = jackknife(value, replicates)
    copies = sum(window.dispatched for window in windows) / messages
    return {
        "processing_s": processing_s,
        "replicates_s": replicates,
        "mean_processing_s": taken_s / messages,
        "received_per_s": per(1.0, processing_s),
        "dispatched_per_s": per(copies, processing_s),
        "overall_per_s": per(1 + copies, processing_s),
    }


def _without_each_layout(windows: Sequence[Window]) -> tuple[float, ...]:
    """Time divided by messages with one layout left out at a time; empty where there are too few for an interval."""
    layouts = sorted({window.layout for window in windows})
    if len(layouts) < LAYOUTS.limit:
        return ()
    rest = [[window for window in windows if window.layout != layout] for layout in layouts]
    messages = [sum(window.messages for window in of_rest) for of_rest in rest]
    if not all(messages):
        return ()
    return tuple(
        sum(window.taken_s for window in of_rest) / number for of_rest, number in zip(rest, messages, strict=True)
    )


def _numbers(windows: Sequence[Window], cpus: int | None, workers: int) -> dict[str, Any]:
    """CPU and pauses of a cell: totals over its slices."""
    elapsed_s = sum(window.elapsed_s for window in windows)
    dispatched = sum(window.dispatched for window in windows)
    if not sum(window.received for window in windows) or not dispatched:
        return dict.fromkeys(("broker_cpu", "gc_share", "compiler_share", "load_cpu", "load_us_per_delivery"))
    broker_cpu_ns = _total(window.broker_cpu_ns for window in windows)
    load_cpu_s = sum(window.load_cpu_ns for window in windows) / 1e9
    taken_s = sum(window.taken_s for window in windows)
    return {
        "broker_cpu": broker_cpu_ns / 1e9 / taken_s / cpus if cpus and broker_cpu_ns is not None else None,
        "gc_share": gc_share(windows),
        "compiler_share": compiler_share(windows),
        "load_cpu": load_cpu_s / elapsed_s / workers,
        "load_us_per_delivery": load_cpu_s * 1e6 / dispatched,
    }


def _total(values: Iterable[int | None]) -> int | None:
    """The sum; None where a value is unknown, or there are no values."""
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known) if every and len(known) == len(every) else None


def gc_share(windows: Sequence[Window]) -> float | None:
    """Share of the measured time in pauses for garbage collection; None without a log of them."""
    young = _total(window.gc_pause_ns for window in windows)
    full = _total(window.full_gc_pause_ns for window in windows)
    if young is None or full is None:
        return None
    return (young + full) / sum(window.end_ns - window.begin_ns for window in windows)


def stolen_share(windows: Sequence[Window]) -> float | None:
    """Share of the time of the broker's CPUs that the hypervisor gave to other machines; None where it is unknown."""
    stolen = _total(window.stolen_ns for window in windows)
    return None if stolen is None else stolen / sum(window.end_ns - window.begin_ns for window in windows)


def compiler_share(windows: Sequence[Window]) -> float | None:
    """Share of the broker's CPU time used by the compiler of its JVM; None where it is unknown."""
    compiler = _total(window.compiler_cpu_ns for window in windows)
    whole = _total(window.broker_cpu_ns for window in windows)
    return compiler / whole if compiler is not None and whole else None


def _generator_bound(cell: CellSummary) -> str:
    if not cell.open_loop and cell.load_cpu is not None and cell.load_cpu > LOAD_CPU.limit:
        return f"load CPU {cell.load_cpu:.2f} of a core per worker > {LOAD_CPU.limit}"
    return ""


def _not_saturated(cell: CellSummary) -> str:
    if not cell.open_loop and cell.broker_cpu is not None and cell.broker_cpu < BROKER_CPU.limit:
        return f"broker CPU {cell.broker_cpu:.2f} of its CPU set < {BROKER_CPU.limit}"
    return ""


def _unsteady(cell: CellSummary) -> str:
    if cell.conservation is None:
        return "no slice was measured"
    if cell.open_loop:
        return _out_of_balance(cell.windows)
    if abs(cell.conservation - 1) > CONSERVATION.limit:
        return f"dispatched / expected {cell.conservation:.3f}, not within 1 +- {CONSERVATION.limit}"
    return "" if cell.processing_s is not None else "no slice was measured outside pauses for garbage collection"


def _out_of_balance(windows: Sequence[Window]) -> str:
    """Whether, over all slices of an open loop, the load deviated from the plan or the broker did not keep up."""
    planned = sum((window.planned_per_s or 0) * window.elapsed_s for window in windows)
    received = sum(window.received for window in windows)
    copies = sum(window.expected for window in windows)
    if abs(received - planned) > (allowed := _allowed(planned)):
        return f"received {received} of {planned:.0f} planned messages, allowed +-{allowed:.0f}"
    growth = copies - sum(window.dispatched for window in windows)
    if abs(growth) > (allowed := _allowed(planned) * copies / received if received else 0.0):
        what = "backlog grew by" if growth > 0 else "a backlog from before the slices shrank by"
        return f"{what} {abs(growth)} of {copies} copies, allowed {allowed:.0f}"
    return ""


def _allowed(messages: float) -> float:
    return float(max(OPEN_LOOP.limit * messages, SCATTER * messages**0.5))


#: What the audit says of a cell that may not be used.
_NOT_EXACT: Mapping[CellStatus, str] = {
    CellStatus.AUDIT_FAILED: "copies were lost, duplicated, reordered or misdelivered",
    CellStatus.LOSSY: "the broker dropped copies, which the protocol allows without acknowledgement",
}

#: Rules applied after the audit; the first rule that returns a reason determines the status.
_RULES: Sequence[tuple[CellStatus, Callable[[CellSummary], str]]] = (
    (CellStatus.GENERATOR_BOUND, _generator_bound),
    (CellStatus.NOT_SATURATED, _not_saturated),
    (CellStatus.UNSTEADY, _unsteady),
)


def unknown_cpu(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """A finding for each broker of which nobody can say whether it was saturated."""
    unknown = (cell for cell in cells if cell.broker_cpu is None and cell.received_per_s and not cell.open_loop)
    for broker in sorted({cell.key.broker for cell in unknown}):
        yield Finding(
            what=f"CPU of {broker} is not known",
            measured="its process or its CPU set could not be read",
            limit=f"{BROKER_CPU.name}: {BROKER_CPU.limit} {BROKER_CPU.unit}",
            advice="name its process with --broker-pid, or nobody knows if the broker was the bottleneck",
            consequence=VerdictKind.UNVERIFIED,
            broker=broker,
        )


def _doubtful(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """Cells that are left out; a broker and experiment without any usable cell make the run invalid.

    Where a cell has its own load shape, `not-saturated` is a valid result: whether it saturates is the question.
    """
    for (broker, experiment), group in groupby(sorted(cells, key=_question), key=_question):
        of_question = list(group)
        count = Counter(cell.status for cell in of_question if cell.status != CellStatus.OK)
        if not count:
            continue
        answers = all(map(_answers, of_question))
        yield Finding(
            what=f"cells of {experiment} on {broker} {'did not saturate it' if answers else 'left out'}",
            measured=", ".join(f"{number} {status}" for status, number in count.items()) + f" of {len(of_question)}",
            limit="every cell ok",
            advice="with their own load shape that is a result, which claims use, but not the fit"
            if answers
            else "the column `why` gives the cause; cells that are left out are excluded from the fit",
            consequence=VerdictKind.VALID if any(map(_answers, of_question)) else VerdictKind.INVALID,
            broker=broker,
        )


def _answers(cell: CellSummary) -> bool:
    return cell.status == CellStatus.OK or (cell.status == CellStatus.NOT_SATURATED and cell.pace is not None)


def _question(cell: CellSummary) -> tuple[str, str]:
    return cell.key.broker, cell.key.experiment


def _by_broker(
    cells: Sequence[CellSummary], *, closed: bool = False
) -> Iterator[tuple[str, list[tuple[CellKey, Window]]]]:
    """The slices of each broker; with closed, those of closed loops only."""
    for broker in sorted({cell.key.broker for cell in cells}):
        slices = [
            (cell.key, window)
            for cell in cells
            if cell.key.broker == broker and not (closed and cell.open_loop)
            for window in cell.windows
        ]
        if slices:
            yield broker, slices


def _unbalanced(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """A few slices with messages misattributed at their ends are no problem: the sum of a cell's slices is checked."""
    for broker, slices in _by_broker(cells, closed=True):
        ratios = [(conservation([window]) or 0.0, key) for key, window in slices]
        bad = [(ratio, key) for ratio, key in ratios if abs(ratio - 1) > CONSERVATION.limit]
        if len(bad) > MANY * len(slices):
            ratio, key = max(bad, key=lambda pair: abs(pair[0] - 1))
            yield Finding(
                what=f"many single slices on {broker} do not conserve messages",
                measured=f"{len(bad)} of {len(slices)}, largest deviation {ratio:.3f} in {key}",
                limit=f"dispatched / expected 1 +- {CONSERVATION.limit} in {1 - MANY:.0%} of them; a cell is judged by "
                "the sum of its slices",
                advice="longer slices (--slice-seconds), or fewer messages in flight (--in-flight)",
                broker=broker,
            )


def _backlog(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    for broker, slices in _by_broker(cells):
        shares = [
            (window.in_flight / window.received, key)
            for key, window in slices
            if window.in_flight is not None and window.received
        ]
        share, key = max(shares, default=(0.0, None))
        if share > BACKLOG.limit:
            yield Finding(
                what=f"many messages in flight on {broker}",
                measured=f"{share:.2f} of the messages of a slice, in {key}",
                limit=f"{BACKLOG.limit} {BACKLOG.unit}",
                advice="longer slices (--slice-seconds), or fewer messages in flight (--in-flight)",
                broker=broker,
            )


def _owed(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    for broker, slices in _by_broker(cells, closed=True):
        late = [(window.owed, key) for key, window in slices if window.owed > 0]
        if late:
            owed, key = max(late)
            yield Finding(
                what=f"slices on {broker} were not drained in time",
                measured=f"{len(late)} of {len(slices)}, up to {owed} copies in {key}",
                limit="no copy in flight at the end of the drain after a slice",
                advice="late copies reduced the credit of the next slice; fewer messages in flight (--in-flight) drain "
                "sooner",
                broker=broker,
            )


def _trimmed(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """Without a log that separates the broker's pauses from disturbances, the robust value may lack a cost."""
    for broker in sorted({cell.key.broker for cell in cells}):
        apart = [
            (cell.mean_processing_s / cell.processing_s.estimate - 1, cell.key)
            for cell in cells
            if cell.key.broker == broker
            and not cell.open_loop
            and cell.gc_share is None
            and cell.processing_s is not None
            and cell.mean_processing_s is not None
        ]
        far = [(difference, key) for difference, key in apart if abs(difference) > ROBUST_MEAN.limit]
        if far:
            difference, key = max(far, key=lambda pair: abs(pair[0]))
            yield Finding(
                what=f"mean and robust value differ in {len(far)} of {len(apart)} cells of {broker}",
                measured=f"the mean differs by {difference:+.1%} in {key}",
                limit=f"{ROBUST_MEAN.limit:.0%}, {ROBUST_MEAN.unit}",
                advice="possible causes: a disturbed host, or pauses of the broker, which belong to its cost; a "
                "difference that remains on a quiet host is due to the broker",
                broker=broker,
            )


def _beside(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    for broker, slices in _by_broker(cells):
        shares = [
            (window.idle_broker_cpu_ns / (window.end_ns - window.begin_ns), key)
            for key, window in slices
            if window.idle_broker_cpu_ns is not None
        ]
        busy = [(share, key) for share, key in shares if share > IDLE_BROKER.limit]
        if busy:
            share, key = max(busy)
            yield Finding(
                what=f"another live broker was not idle while {broker} was measured",
                measured=f"{len(busy)} of {len(shares)} slices, up to {share:.1%} of a core in {key}",
                limit=f"{IDLE_BROKER.limit:.0%} {IDLE_BROKER.unit}",
                advice="its CPU time was missing to the broker under load; run one broker after the other",
                broker=broker,
            )
