"""From a run directory to the result of its gate. The audit comes first, then the conditions of the comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from analysis.frames import frames
from analysis.gate import faults, scenario
from analysis.gate.asked import options_of
from analysis.gate.paired import CellRatio, Key, ratios_of, rows_of
from analysis.gate.pairs import incomplete, pairs_of_lives
from analysis.gate.results import CellComparison, GateResult, RoleActivity, overriding
from analysis.gate.verdict import GateVerdict, Judgement, judge
from analysis.intervals import mapped, mean_interval
from analysis.results import CellKey, Finding, Interval
from analysis.run_description import LATEST, kind_of, manifests
from analysis.run_directory import broker_findings, files_of, shared_cpus
from analysis.spark import session
from analysis.table import grouped
from analysis.throughput import aggregate, audit
from analysis.throughput.reader import ThroughputRecord, counted, open_runs
from analysis.throughput.results import AuditResult, CellAudit, CellSummary
from analysis.throughput.run_checks import scheduled_apart, stolen_time
from analysis.throughput.slices import windows_by_cell
from workloads.gate import GateRole
from workloads.limits import IDLE_BROKER, LEFT_OUT, ROBUST_MEAN
from workloads.manifest import GateOptions
from workloads.schema import BY_URL, PREPARATION, RunKind, Window
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.families import PairWindows

#: Who judges the runs whose cells are measured on one broker at a time.
_OF_WHOLE_CELLS = {RunKind.WORKLOAD: scenario.judged, RunKind.FAULTS: faults.judged}


def judged(paths: Sequence[Path], *, master: str, partial: bool = False) -> tuple[GateResult, ...]:
    """The result of each gate. Raises DataError where a run cannot be read, is no gate, or is not complete."""
    kind = kind_of(paths)
    asked = [options_of(manifest, shown) for manifest, shown in manifests(paths)]
    if kind in _OF_WHOLE_CELLS:
        return tuple(
            _OF_WHOLE_CELLS[kind](path, of_run, master=master, partial=partial)
            for path, of_run in zip(paths or [LATEST], asked, strict=True)
        )
    runs = open_runs(paths, partial=partial)
    with session(master, files_of(runs)) as spark:
        audits = audit.audit(frames(spark, runs), runs)
    return tuple(
        of_slices(run, of_run, windows_by_cell(run), found)
        for run, of_run, found in zip(runs, asked, audits, strict=True)
    )


def of_slices(
    run: ThroughputRecord,
    asked: GateOptions,
    windows: Mapping[CellKey, Sequence[Window]],
    audited: AuditResult,
) -> GateResult:
    """The result of a gate of the study.

    asked: what the gate was asked
    windows: all slices of its cells, in the order of their rounds
    audited: its deliveries

    Raises DataError where a pair of lives lacks a broker or a cell, or the gate is not complete.
    """
    measured = {key: counted(of_cell) for key, of_cell in windows.items() if key.experiment not in PREPARATION}
    pairs = pairs_of_lives(measured, run.path)
    ratios = ratios_of(pairs)
    judgement = judge(rows_of(ratios, run.plans), asked)
    unfinished = incomplete(judgement, len(pairs), run.path, partial=run.partial)
    cells, summaries = _cells(ratios), aggregate.over_starts(run, windows)
    wrong = tuple(finding for finding in audited.findings if finding.consequence == VerdictKind.INVALID)
    unmet = (
        *_contaminated(ratios),
        *_unsuitable(summaries),
        *_dropped(audited.cells),
        *_trimmed(pairs, ratios),
        *shared_cpus(run.manifest),
        *(_changed(judgement) if asked.calibrate else ()),
    )
    brokers = run.manifest.brokers
    remarks = (
        *unfinished,
        *_uncalibrated(asked),
        *aggregate.unknown_cpu(summaries),
        *_unknown_idle(pairs),
        *broker_findings(brokers),
        *scheduled_apart(brokers),
        *(remark for role in GateRole for remark in stolen_time(role, (_stolen_share(pair[role]) for pair in pairs))),
    )
    scatter = [ratio.scatter for ratio in ratios if ratio.scatter is not None]
    return GateResult(
        run=run.name,
        path=str(run.path),
        baseline=asked.baseline,
        broker=asked.broker[0],
        titles={role: brokers[role].title for role in GateRole},
        what=f"{len(cells)} cells of {', '.join(sorted({key.experiment for key in measured}))}",
        pairs=len(pairs),
        rules=asked,
        families=judgement.families,
        cells=cells,
        findings=(*wrong, *unmet, *(replace(finding, consequence=VerdictKind.VALID) for finding in remarks)),
        judged=judgement.verdict,
        overriding=overriding(wrong, unmet),
        of_processes=any(brokers[role].provider == BY_URL for role in GateRole),
        order_effect=_order_effect(ratios),
        slice_scatter=median(scatter) if scatter else None,
        activity={role: _activity(pair[role] for pair in pairs) for role in GateRole},
    )


def _cells(ratios: Sequence[CellRatio]) -> tuple[CellComparison, ...]:
    by_cell = grouped(sorted(ratios, key=lambda ratio: ratio.pair), lambda ratio: ratio.key)
    return tuple(
        CellComparison.of(" ".join(key), [ratio.log_ratio for ratio in of_cell])
        for key, of_cell in sorted(by_cell.items())
    )


def _order_effect(ratios: Sequence[CellRatio]) -> Interval:
    of_pairs = grouped(ratios, lambda ratio: ratio.pair).values()
    return mapped(mean_interval([fmean(ratio.order_effect for ratio in of_pair) for of_pair in of_pairs]), math.exp)


def _contaminated(ratios: Sequence[CellRatio]) -> Iterator[Finding]:
    measured, left_out = sum(ratio.measured for ratio in ratios), sum(ratio.left_out for ratio in ratios)
    lost = sum(ratio.left_out == ratio.measured for ratio in ratios)
    if lost or left_out > LEFT_OUT.limit * measured:
        none_left = f", in {lost} cells of a pair of lives all of them" if lost else ""
        yield Finding(
            what="the broker that was not under load was busy",
            measured=f"{left_out} of {measured} pairs of adjacent slices had to be left out{none_left}",
            limit=f"{LEFT_OUT.limit:.0%} of the pairs of adjacent slices",
            advice="look for what keeps an idle broker busy: expiry, page-outs, background threads",
            consequence=VerdictKind.UNVERIFIED,
        )


def _unsuitable(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """Cells in which the broker was not the bottleneck: their time per message is not the broker's.

    Messages in flight that change within a slice do not matter: its messages are counted at the broker's output.
    """
    found = [cell for cell in cells if cell.status in {CellStatus.NOT_SATURATED, CellStatus.GENERATOR_BOUND}]
    if found:
        yield Finding(
            what=f"{len(found)} of {len(cells)} cells did not measure the broker",
            measured=f"{found[0].key.experiment} {found[0].key.cell} on the {found[0].key.broker} is "
            f"{found[0].status}: {found[0].reason}",
            limit="every cell saturates the broker, and not the load",
            advice="more messages in flight (--in-flight), a shorter pause of the load (--coalesce-us), fewer CPUs for "
            "the broker, or more for the load",
            consequence=VerdictKind.UNVERIFIED,
        )


def _dropped(cells: Sequence[CellAudit]) -> Iterator[Finding]:
    """A broker that drops copies is no fault of it where the protocol lets it, but is spared their costs."""
    lossy = [cell for cell in cells if cell.lossy]
    if lossy:
        first = lossy[0]
        yield Finding(
            what="copies were dropped, as the protocol allows",
            measured=f"{first.copies.lost} of {first.copies.expected} in {first.key.experiment} {first.key.cell} on "
            f"the {first.key.broker}",
            limit="0: who drops copies is spared their costs",
            advice="fewer messages in flight (--in-flight), or a profile in which subscribers acknowledge",
            consequence=VerdictKind.UNVERIFIED,
        )


def _trimmed(pairs: Sequence[PairWindows], ratios: Sequence[CellRatio]) -> Iterator[Finding]:
    """Where no log separates pauses from disturbances, the robust ratio may lack a cost of the broker, which the ratio
    of the means has. The limit counts at the end of the interval over pairs of lives that is nearer to 0."""
    every = [
        window for pair in pairs for of_role in pair.values() for of_cell in of_role.values() for window in of_cell
    ]
    if all(window.gc_pause_ns is not None for window in every):
        return
    robust = {(ratio.pair, ratio.key): ratio.log_ratio for ratio in ratios}
    apart = mean_interval(
        [
            fmean(_log_of_means(pair, key) - robust[number, key] for key in pair[GateRole.BASELINE])
            for number, pair in enumerate(pairs, start=1)
        ]
    )
    if apart.low is not None and apart.high is not None and apart.beyond(ROBUST_MEAN.limit):
        yield Finding(
            what="the ratio of the means is not the robust ratio",
            measured=f"it differs by {math.expm1(apart.estimate):+.1%}, {math.expm1(apart.low):+.1%} to "
            f"{math.expm1(apart.high):+.1%}",
            limit=f"{ROBUST_MEAN.limit:.0%}, {ROBUST_MEAN.unit}",
            advice="name the log of the pauses (--broker-gc-log), or look for what makes some slices far slower",
            consequence=VerdictKind.UNVERIFIED,
        )


def _log_of_means(pair: PairWindows, key: Key) -> float:
    before, after = (
        sum(window.taken_s for window in pair[role][key]) / sum(window.messages for window in pair[role][key])
        for role in GateRole
    )
    return math.log(after / before)


def _changed(judgement: Judgement) -> Iterator[Finding]:
    """Of a calibration: a broker that differs from itself by more than the margin."""
    changed = [
        f"{family.family} {family.ratio.estimate - 1:+.1%}"
        for family in judgement.families
        if family.verdict in {GateVerdict.REGRESSED, GateVerdict.FASTER} and family.ratio is not None
    ]
    if changed:
        yield Finding(
            what="the baseline differs from itself",
            measured=", ".join(changed),
            limit="no change beyond the margin",
            advice="calibrate again when the host is quieter",
            consequence=VerdictKind.UNVERIFIED,
        )


def _unknown_idle(pairs: Sequence[PairWindows]) -> Iterator[Finding]:
    """Brokers whose neighbour is one of which nobody knows whether it was idle."""
    for role, other in zip(GateRole, reversed(GateRole), strict=True):
        slices = [window for pair in pairs for of_cell in pair[other].values() for window in of_cell]
        if any(window.idle_broker_cpu_ns is None for window in slices):
            yield Finding(
                what=f"nobody knows whether the {role} was idle while the {other} was under load",
                measured="its CPU time cannot be read",
                limit=f"{IDLE_BROKER.limit:.0%} {IDLE_BROKER.unit}",
                advice="let the suite start it",
            )


def _uncalibrated(asked: GateOptions) -> Iterator[Finding]:
    if asked.uncalibrated:
        yield Finding(
            what=asked.uncalibrated,
            measured="nothing: the noise of this machine is not known",
            limit="a calibration on the same model",
            advice="calibrate here (--calibrate), and keep calibrations.json by CPU model",
        )


def _stolen_share(of_role: Mapping[Key, Sequence[Window]]) -> float | None:
    return aggregate.stolen_share([window for of_cell in of_role.values() for window in of_cell])


def _activity(pairs: Iterable[Mapping[Key, Sequence[Window]]]) -> RoleActivity:
    windows = [window for pair in pairs for of_cell in pair.values() for window in of_cell]
    return RoleActivity(aggregate.gc_share(windows), aggregate.compiler_share(windows))
