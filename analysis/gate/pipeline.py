"""From a run directory to the result of its gate. The audit comes first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from analysis.errors import DataError
from analysis.gate import scenario
from analysis.gate.calibration import calibrated
from analysis.gate.paired import CellRatio, Key
from analysis.gate.planner import PairWindows, ratios_of, rows_of
from analysis.gate.results import CellComparison, GateResult, RoleActivity
from analysis.gate.verdict import GateVerdict, Judgement, judge
from analysis.intervals import mapped, mean_interval
from analysis.results import CellKey, Finding, Interval
from analysis.run_directory import LATEST, files_of, frames, kind_of, manifests
from analysis.spark import session
from analysis.structure import OpenRecord, read
from analysis.throughput import aggregate, audit
from analysis.throughput.reader import ThroughputRecord, counted, open_runs
from workloads.gate import GateRole, GateRules, Policy
from workloads.limits import LEFT_OUT
from workloads.schema import BY_URL, PREPARATION, RunKind, Window
from workloads.status import VerdictKind


def judged(paths: Sequence[Path], *, master: str, partial: bool = False) -> tuple[GateResult, ...]:
    """The result of each gate. Raises DataError where a run cannot be read, is no gate, or is not complete."""
    kind = kind_of(paths)
    asked = [options_of(manifest, shown) for manifest, shown in manifests(paths)]
    if kind is RunKind.WORKLOAD:
        return tuple(
            scenario.judged(path, of_run.rules, master=master, partial=partial)
            for path, of_run in zip(paths or [LATEST], asked, strict=True)
        )
    runs = open_runs(paths, partial=partial)
    with session(master, files_of(runs)) as spark:
        data = frames(spark, runs)
        audits = audit.audit(spark, data, runs)
        windows = aggregate.windows_by_cell(data, runs)
    return tuple(
        _judged(run, of_run, {key: windows[key] for key in run.cells}, found.findings)
        for run, of_run, found in zip(runs, asked, audits, strict=True)
    )


@dataclass(frozen=True, slots=True)
class GateOptions(OpenRecord):
    """The options of a session on which a gate depends."""

    #: The baseline as the user named it.
    baseline: str
    #: The candidate.
    broker: tuple[str, ...]
    margin: float
    policy: Policy
    looks: tuple[int, ...]
    confirming: int
    calibrate: bool
    #: Smallest margin by family.
    calibrated: Mapping[str, float]

    @property
    def rules(self) -> GateRules:
        return GateRules(
            self.margin, self.policy, self.looks, self.confirming, calibrate=self.calibrate, calibrated=self.calibrated
        )


def is_gate(manifest: Mapping[str, Any]) -> bool:
    """Whether a run compares two brokers."""
    return manifest["options"].get("baseline") is not None


def options_of(manifest: Mapping[str, Any], path: Path) -> GateOptions:
    """What a gate was asked. Raises DataError for a run that is none."""
    if not is_gate(manifest):
        raise DataError(
            f"{path}: not a regression gate; `pytest microbench -k replication --baseline BROKER --broker BROKER` "
            "measures one"
        )
    return read(GateOptions, manifest["options"], f"{path}/manifest.json, options")


def _judged(
    run: ThroughputRecord,
    asked: GateOptions,
    windows: Mapping[CellKey, Sequence[Window]],
    audit_findings: Sequence[Finding],
) -> GateResult:
    pairs, rules = _pairs(run, windows), asked.rules
    ratios = ratios_of(pairs)
    judgement = judge(rows_of(ratios, run.entries), rules)
    _check_complete(run, judgement, len(pairs))
    cells = _cells(ratios)
    contaminated = tuple(_contaminated(ratios))
    wrong = tuple(finding for finding in audit_findings if finding.consequence == VerdictKind.INVALID)
    brokers = run.manifest.brokers
    scatter = [ratio.scatter for ratio in ratios if ratio.scatter is not None]
    result = GateResult(
        run=run.name,
        path=str(run.path),
        baseline=asked.baseline,
        broker=asked.broker[0],
        titles={role: brokers[role].title for role in GateRole},
        what=_what(cells, {key.experiment for key in windows if key.experiment not in PREPARATION}),
        pairs=len(pairs),
        rules=rules,
        families=judgement.families,
        cells=cells,
        findings=(*wrong, *contaminated),
        judged=judgement.verdict,
        overriding=GateVerdict.FAILED if wrong else GateVerdict.CONTAMINATED if contaminated else None,
        of_processes=any(brokers[role].provider == BY_URL for role in GateRole),
        order_effect=_order_effect(ratios),
        slice_scatter=median(scatter) if scatter else None,
        activity={role: _activity(pair[role] for pair in pairs) for role in GateRole},
    )
    if rules.calibrate and result.overriding is None:
        calibrated(result, run.facts, run.path.parent)
    return result


def _pairs(run: ThroughputRecord, windows: Mapping[CellKey, Sequence[Window]]) -> list[PairWindows]:
    """The counted slices of each pair of lives. Raises DataError where a pair lacks a broker or a cell."""
    found: dict[int, dict[GateRole, dict[Key, Sequence[Window]]]] = {}
    for key, of_cell in windows.items():
        if key.experiment not in PREPARATION:
            roles = found.setdefault(key.start, {role: {} for role in GateRole})
            roles[GateRole(key.broker)][key.experiment, key.cell] = counted(of_cell)
    numbers = sorted(found)
    if numbers != list(range(1, len(numbers) + 1)):
        raise DataError(f"{run.path}: pairs of lives are numbered from 1 without a gap, got {numbers}")
    if not numbers:
        raise DataError(f"{run.path}: no pair of lives was measured: measure again")
    cells = {key for roles in found.values() for of_role in roles.values() for key in of_role}
    for number in numbers:
        for role in GateRole:
            if missing := sorted(cells - set(found[number][role])):
                raise DataError(
                    f"{run.path}: the {role} lacks the cell {' '.join(missing[0])} in pair of lives {number}: "
                    "measure again"
                )
    return [found[number] for number in numbers]


def _check_complete(run: ThroughputRecord, judgement: Judgement, pairs: int) -> None:
    if judgement.more_pairs and not run.partial:
        raise DataError(
            f"{run.path}: the gate ended after {pairs} pairs of lives and needs {judgement.more_pairs} more "
            f"({judgement.reason}): measure again"
        )


def _cells(ratios: Sequence[CellRatio]) -> tuple[CellComparison, ...]:
    by_cell: dict[Key, list[float]] = {}
    for ratio in sorted(ratios, key=lambda ratio: ratio.pair):
        by_cell.setdefault(ratio.key, []).append(ratio.log_ratio)
    return tuple(CellComparison.of(" ".join(key), logs) for key, logs in sorted(by_cell.items()))


def _what(cells: Sequence[CellComparison], experiments: set[str]) -> str:
    return f"{len(cells)} cells of {', '.join(sorted(experiments))}"


def _order_effect(ratios: Sequence[CellRatio]) -> Interval:
    pairs: dict[int, list[float]] = {}
    for ratio in ratios:
        pairs.setdefault(ratio.pair, []).append(ratio.order_effect)
    return mapped(mean_interval([fmean(of_pair) for of_pair in pairs.values()]), math.exp)


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


def _activity(pairs: Iterable[Mapping[Key, Sequence[Window]]]) -> RoleActivity:
    windows = [window for pair in pairs for of_cell in pair.values() for window in of_cell]
    return RoleActivity(aggregate.gc_share(windows), aggregate.compiler_share(windows))
