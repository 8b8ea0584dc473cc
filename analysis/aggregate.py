"""Windows -> cells: rates with intervals, CPU, and the status that says what a cell's numbers are worth.

Spark groups the windows by cell; from there on it is arithmetic on a few hundred rows. The rules stand in one
table, in the order in which they decide. A run may hold closed and open loops side by side: a cell is an open loop
where its windows have a planned rate, and its own pace decides what its CPU says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.directory import Frames, reading
from analysis.errors import DataError
from analysis.intervals import ratio_interval
from analysis.load import Run
from analysis.results import CellAudit, CellKey, CellSummary, Finding
from workloads.records import KEYS, PREPARATION, WINDOWS, Window
from workloads.rules import BACKLOG, BROKER_CPU, CONSERVATION, LOAD_CPU, OPEN_LOOP, Status, VerdictKind, WindowStatus

#: Grids that show correctness only.
SMOKE = "smoke"

#: Standard deviations of a Poisson count that are taken for its scatter.
SCATTER = 3

_FIELDS = [column.name for column in WINDOWS if column not in KEYS]


def windows_by_cell(data: Frames, runs: Sequence[Run]) -> dict[CellKey, tuple[Window, ...]]:
    """All windows of all cells in their order, whatever their status."""
    with reading(runs):
        rows = (
            data.tables["windows"]
            .groupBy("cell_id")
            .agg(F.sort_array(F.collect_list(F.struct(*_FIELDS))).alias("windows"))
            .collect()
        )
    return {data.keys[row["cell_id"]]: tuple(Window(*window) for window in row["windows"]) for row in rows}


def summarise(
    run: Run, windows: Mapping[CellKey, Sequence[Window]], audit: Sequence[CellAudit]
) -> tuple[CellSummary, ...]:
    """The cells of a run, without its warm-up and what else prepared it."""
    exact = {cell.key: cell.copies.exact for cell in audit}
    return tuple(
        _summary(run, key, tuple(windows[key]), exact=exact.get(key, False))
        for key in run.cells
        if key.experiment not in PREPARATION
    )


def conservation(window: Window) -> float:
    """dispatched / expected copies of one window; 0 where nothing was expected, so that it never passes."""
    return window.dispatched / window.expected if window.expected else 0.0


def findings(run: Run, cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """What the cells say about the run: CPU that is not known, cells left out, windows that do not conserve."""
    if run.grid == SMOKE:
        yield Finding(
            what="a smoke grid was run",
            measured="correctness only",
            limit="its rates, times and CPU mean nothing, and no model is fitted",
            advice="measure with --grid quick",
        )
        return
    yield from _unknown_cpu(cells)
    yield from _doubtful(cells)
    yield from _unbalanced(cells)
    yield from _backlog(cells)


def _summary(run: Run, key: CellKey, windows: Sequence[Window], *, exact: bool) -> CellSummary:
    plan = run.plan(key)
    _check(key, windows)
    ok = tuple(window for window in windows if window.status == WindowStatus.OK)
    cell = CellSummary(
        key=key,
        profile=plan["profile"],
        factors=plan["factors"],
        pace=plan["pace"],
        connections=plan["connections"],
        n_fltr=plan["n_fltr"],
        routed=plan["routed"],
        replication=float(plan["replication"]),
        # A cell that saturates the broker in its own way, or not at all, is no measurement of the model's B.
        fits_model=plan["fits_model"] and plan["pace"] is None,
        windows=ok,
        contaminated=sum(window.status == WindowStatus.CONTAMINATED for window in windows),
        conservation=max(map(conservation, ok), key=lambda ratio: abs(ratio - 1), default=None),
        status=Status.OK,
        **_numbers(ok, run.brokers[key.broker].cpus, run.workers),
    )
    if not exact:
        return replace(
            cell, status=Status.AUDIT_FAILED, reason="copies were lost, duplicated, reordered or misdelivered"
        )
    for status, doubt in _RULES if run.grid != SMOKE else ():
        if reason := doubt(run, cell):
            return replace(cell, status=status, reason=reason)
    return replace(cell, reason=f"{cell.contaminated} contaminated windows left out" if cell.contaminated else "")


def _check(key: CellKey, windows: Sequence[Window]) -> None:
    for window in windows:
        if window.end_ns <= window.begin_ns:
            raise DataError(f"{key}: window {window.window} ends before it begins; the record is wrong, measure again")
        if window.status not in set(WindowStatus):
            raise DataError(
                f"{key}: window {window.window} has status {window.status!r}, expected one of "
                f"{', '.join(WindowStatus)}; it was not written by this version of the suite"
            )
    planned = {window.planned_per_s for window in windows}
    if len(planned) > 1:
        raise DataError(
            f"{key}: its windows have {len(planned)} planned rates, expected one, or none in a closed loop; "
            "the record is wrong, measure again"
        )


def _numbers(windows: Sequence[Window], cpus: int | None, workers: int) -> dict[str, Any]:
    """The rates, times and CPU of a cell: totals over its windows, with the scatter of the windows as interval."""
    seconds = [window.elapsed_s for window in windows]
    received = [window.received for window in windows]
    dispatched = [window.dispatched for window in windows]
    if not sum(received) or not sum(dispatched):
        return dict.fromkeys(_NUMBERS)
    pauses_ns = [window.gc_pause_ns for window in windows if window.gc_pause_ns is not None]
    broker_cpu_ns = [window.broker_cpu_ns for window in windows if window.broker_cpu_ns is not None]
    load_cpu_s = sum(window.load_cpu_ns for window in windows) / 1e9
    known = cpus is not None and len(broker_cpu_ns) == len(windows)
    return {
        "received_per_s": ratio_interval(received, seconds),
        "dispatched_per_s": ratio_interval(dispatched, seconds),
        "overall_per_s": ratio_interval([*map(sum, zip(received, dispatched, strict=True))], seconds),
        "processing_s": ratio_interval(seconds, received),
        "broker_cpu": sum(broker_cpu_ns) / 1e9 / sum(seconds) / cpus if known and cpus else None,
        "gc_share": sum(pauses_ns) / 1e9 / sum(seconds) if len(pauses_ns) == len(windows) else None,
        "load_cpu": load_cpu_s / sum(seconds) / workers,
        "load_us_per_delivery": load_cpu_s * 1e6 / sum(dispatched),
    }


_NUMBERS = (
    "received_per_s",
    "dispatched_per_s",
    "overall_per_s",
    "processing_s",
    "broker_cpu",
    "gc_share",
    "load_cpu",
    "load_us_per_delivery",
)


def _contaminated(run: Run, cell: CellSummary) -> str:
    """One contaminated window of many is left out; too few good ones left, and nothing shows that they agree."""
    needed = min(2, run.windows)
    if cell.contaminated and len(cell.windows) < needed:
        return f"the host's speed deviated in every repeat; {len(cell.windows)} good windows are left, {needed} needed"
    return ""


def _generator_bound(_run: Run, cell: CellSummary) -> str:
    if not cell.open_loop and cell.load_cpu is not None and cell.load_cpu > LOAD_CPU.limit:
        return f"load CPU {cell.load_cpu:.2f} of a core per worker > {LOAD_CPU.limit}"
    return ""


def _not_saturated(_run: Run, cell: CellSummary) -> str:
    if not cell.open_loop and cell.broker_cpu is not None and cell.broker_cpu < BROKER_CPU.limit:
        return f"broker CPU {cell.broker_cpu:.2f} of its CPU set < {BROKER_CPU.limit}"
    return ""


def _unsteady(_run: Run, cell: CellSummary) -> str:
    if cell.conservation is None:
        return "no window was measured"
    if cell.open_loop:
        return _out_of_balance(cell.windows)
    if abs(cell.conservation - 1) > CONSERVATION.limit:
        return f"dispatched / expected {cell.conservation:.3f}, not within 1 +- {CONSERVATION.limit}"
    return ""


def _out_of_balance(windows: Sequence[Window]) -> str:
    """Over all windows of an open loop: was the load put on as planned, and did the broker keep up with it."""
    planned = sum((window.planned_per_s or 0) * window.elapsed_s for window in windows)
    received = sum(window.received for window in windows)
    copies = sum(window.expected for window in windows)
    if abs(received - planned) > (allowed := _allowed(planned)):
        return f"received {received} of {planned:.0f} planned messages, {allowed:.0f} more or less are scatter"
    growth = copies - sum(window.dispatched for window in windows)
    if abs(growth) > (allowed := _allowed(planned) * copies / received if received else 0.0):
        what = "backlog grew by" if growth > 0 else "a backlog from before the windows shrank by"
        return f"{what} {abs(growth)} of {copies} copies, {allowed:.0f} are scatter"
    return ""


def _allowed(messages: float) -> float:
    return float(max(OPEN_LOOP.limit * messages, SCATTER * messages**0.5))


#: After the audit, which decides first; the first rule that has a reason decides.
_RULES: Sequence[tuple[Status, Callable[[Run, CellSummary], str]]] = (
    (Status.CONTAMINATED, _contaminated),
    (Status.GENERATOR_BOUND, _generator_bound),
    (Status.NOT_SATURATED, _not_saturated),
    (Status.UNSTEADY, _unsteady),
)


def _unknown_cpu(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    unknown = (cell for cell in cells if cell.broker_cpu is None and cell.received_per_s and not cell.open_loop)
    for broker in sorted({cell.key.broker for cell in unknown}):
        yield Finding(
            what=f"CPU of {broker} is not known",
            measured="its process or its CPU set could not be read",
            limit=f"{BROKER_CPU.name}: {BROKER_CPU.limit} {BROKER_CPU.unit}",
            advice="nobody can tell whether the broker or something else was the limit; for a broker on this host "
            "give --broker-pid",
            consequence=VerdictKind.UNVERIFIED,
            broker=broker,
        )


def _doubtful(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """Cells left out are shown; a broker and experiment without a single cell that answers has no number to believe.

    A cell that saturates the broker at a pace of its own, or fails to, is an answer: whether it can is the question.
    """
    for (broker, experiment), group in groupby(sorted(cells, key=_question), key=_question):
        of_question = list(group)
        count = Counter(cell.status for cell in of_question if cell.status != Status.OK)
        if not count:
            continue
        answers = all(map(_answers, of_question))
        yield Finding(
            what=f"cells of {experiment} on {broker} {'did not saturate it' if answers else 'left out'}",
            measured=", ".join(f"{number} {status}" for status, number in count.items()) + f" of {len(of_question)}",
            limit="every cell ok",
            advice="at a pace of their own that is an answer, and claims use it; no model does"
            if answers
            else "the column `why` says what to change; a cell that is left out enters no model",
            consequence=VerdictKind.VALID if any(map(_answers, of_question)) else VerdictKind.INVALID,
            broker=broker,
        )


def _answers(cell: CellSummary) -> bool:
    return cell.status == Status.OK or (cell.status == Status.NOT_SATURATED and cell.pace is not None)


def _question(cell: CellSummary) -> tuple[str, str]:
    return cell.key.broker, cell.key.experiment


def _unbalanced(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    for cell in cells:
        if cell.open_loop:
            continue
        bad = [window for window in cell.windows if abs(conservation(window) - 1) > CONSERVATION.limit]
        if bad:
            yield Finding(
                what=f"{len(bad)} of {len(cell.windows)} windows of {cell.key} do not conserve messages",
                measured=f"dispatched / expected {cell.conservation:.3f}",
                limit=f"1 +- {CONSERVATION.limit}",
                advice="queues grew or shrank: longer windows, or fewer messages in flight (--in-flight)",
                broker=cell.key.broker,
            )


def _backlog(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    for broker in sorted({cell.key.broker for cell in cells}):
        shares = [
            (window.in_flight / window.received, cell.key)
            for cell in cells
            if cell.key.broker == broker
            for window in cell.windows
            if window.in_flight is not None and window.received
        ]
        share, key = max(shares, default=(0.0, None))
        if share > BACKLOG.limit:
            yield Finding(
                what=f"many messages in flight on {broker}",
                measured=f"{share:.2f} of the messages of a window, in {key}",
                limit=f"{BACKLOG.limit} {BACKLOG.unit}",
                advice="longer windows (--window-seconds), or fewer messages in flight (--in-flight)",
                broker=broker,
            )
