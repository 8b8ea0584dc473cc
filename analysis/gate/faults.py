"""A gate with faults: how long each fault is felt, and which promises are broken.

Each repetition of a fault is a pair of lives: the brokers run one after the other, under the same load. A time below
that from which a message counts as late is no outage, so that all shorter ones are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from analysis.errors import DataError
from analysis.faults import pipeline
from analysis.faults.results import BrokerFaults, FaultRepetition, FaultResult
from analysis.formats import count
from analysis.gate.pairs import incomplete, pairs_of_lives
from analysis.gate.results import CellComparison, GateResult, overriding
from analysis.gate.verdict import MetricRow, judge
from analysis.results import CellKey, Finding
from analysis.run_directory import broker_findings, shared_cpus
from workloads.command_line import analysing
from workloads.faults.accounting import WORDS, broken
from workloads.faults.course import LATE_NS, Course
from workloads.gate import FAULT_FIGURES, GateRole, fault_family
from workloads.manifest import GateOptions
from workloads.schema import BY_URL, RunKind
from workloads.status import VerdictKind

AWAY, BACKLOG_GONE = FAULT_FIGURES

#: What is judged of a repetition, s.
_FIGURES: Mapping[str, Callable[[Course], float | None]] = {
    AWAY: lambda course: course.away_s,
    BACKLOG_GONE: lambda course: course.backlog_gone_s,
}

#: A shorter time counts as this one, s.
LEAST_S = LATE_NS / 1e9

#: Counts that some brokers promise nothing of, or none, in words.
_UNPROMISED = {
    "lost": WORDS["lost"],
    "twice_unmarked": WORDS["twice_unmarked"],
    "kept": "delivered only after consumers had connected anew",
    "reordered": "overtaken by later ones",
}


def judged(path: Path, asked: GateOptions, *, master: str, partial: bool) -> GateResult:
    """The result of the gate. Raises DataError where the run cannot be read, or a pair lacks a cell."""
    return of_results(pipeline.analysed([path], master=master, partial=partial), asked, partial=partial)


def of_results(results: Sequence[BrokerFaults], asked: GateOptions, *, partial: bool) -> GateResult:
    """The same, from the results of both brokers."""
    by_role = {GateRole(result.broker): result for result in results}
    if missing := [role for role in GateRole if role not in by_role]:
        raise DataError(f"{results[0].path}: nothing was measured of the {missing[0]}: measure again")
    path = Path(results[0].path)
    faults = {role: {fault.cell.id: fault for fault in by_role[role].faults} for role in GateRole}
    pairs = pairs_of_lives(
        {
            CellKey(result.run, result.broker, each.number, RunKind.FAULTS, fault.cell.id): each
            for result in results
            for fault in result.faults
            for each in fault.repetitions
        },
        path,
    )
    times = {
        fault_family(cell, figure): [_times_s(figure, pair, cell) for pair in pairs]
        for cell in faults[GateRole.BASELINE]
        for figure in FAULT_FIGURES
    }
    logs = {family: [_log_ratio(of_pair) for of_pair in of_family] for family, of_family in times.items()}
    judgement = judge(
        [MetricRow(name, number, log) for name, of_family in logs.items() for number, log in enumerate(of_family, 1)],
        asked,
    )
    unfinished = incomplete(judgement, len(pairs), path, partial=partial)
    manifest = results[0].manifest
    both = [(cell, fault, faults[GateRole.CANDIDATE][cell]) for cell, fault in faults[GateRole.BASELINE].items()]
    wrong = tuple(finding for each in both for finding in _newly_broken(*each))
    unmet = tuple(shared_cpus(manifest))
    remarks = (
        *unfinished,
        *(finding for each in both for finding in _remarks(*each)),
        *broker_findings(manifest.brokers),
    )
    known = {name: [pair for pair in of_family if pair is not None] for name, of_family in times.items()}
    known = {name: of_family for name, of_family in known.items() if len(of_family) == len(pairs)}
    return GateResult(
        run=results[0].run,
        path=str(path),
        baseline=asked.baseline,
        broker=asked.broker[0],
        titles={role: by_role[role].title for role in GateRole},
        what=f"{count(len(both), 'cell')} of faults",
        pairs=len(pairs),
        rules=asked,
        families=judgement.families,
        cells=tuple(CellComparison.of(name, [log for log in logs[name] if log is not None]) for name in known),
        findings=(*wrong, *unmet, *(replace(finding, consequence=VerdictKind.VALID) for finding in remarks)),
        judged=judgement.verdict,
        overriding=overriding(wrong, unmet),
        of_processes=any(manifest.brokers[role].provider == BY_URL for role in GateRole),
        kind=RunKind.FAULTS,
        medians_s={
            name: (median(before for before, _ in of_family), median(after for _, after in of_family))
            for name, of_family in known.items()
        },
        not_applicable={
            fault_family(entry.cell, figure): entry.reason
            for entry in by_role[GateRole.BASELINE].not_applicable
            for figure in FAULT_FIGURES
        },
    )


def _times_s(
    figure: str, pair: Mapping[GateRole, Mapping[tuple[str, str], FaultRepetition]], cell: str
) -> tuple[float, float] | None:
    """Of baseline and candidate; None where one of them has none."""
    before, after = (_FIGURES[figure](pair[role][RunKind.FAULTS, cell].course) for role in GateRole)
    return None if before is None or after is None else (before, after)


def _log_ratio(times_s: tuple[float, float] | None) -> float | None:
    if times_s is None:
        return None
    before, after = (max(time_s, LEAST_S) for time_s in times_s)
    return math.log(after / before)


def _newly_broken(cell: str, before: FaultResult, after: FaultResult) -> Iterator[Finding]:
    """What the candidate breaks of that which either broker promises, in any repetition, and the baseline in none."""
    for name in sorted(_broken(after, before) - _broken(before, after)):
        yield Finding(
            what=f"the candidate breaks a promise that the baseline keeps, under {cell}",
            measured=f"{getattr(after.account, name):,} {WORDS[name]}",
            limit="none, as of the baseline",
            advice=f"`{analysing('audit')}` names the first messages",
            consequence=VerdictKind.INVALID,
        )
    if (away := _overdue(after)) and not _overdue(before):
        yield Finding(
            what=f"not all is as before {cell}",
            measured=f"{away[0].life.overdue}, in repetition {away[0].number} of the candidate",
            limit="all clients connected, and messages on time, as with the baseline",
            advice="read the broker's log in the run directory",
            consequence=VerdictKind.INVALID,
        )


def _broken(fault: FaultResult, other: FaultResult) -> set[str]:
    return {name for promise in (fault.promise, other.promise) for name in broken(fault.account, promise)}


def _overdue(fault: FaultResult) -> list[FaultRepetition]:
    return [each for each in fault.repetitions if each.life.overdue]


def _remarks(cell: str, before: FaultResult, after: FaultResult) -> Iterator[Finding]:
    """What the baseline does not keep either, and what is new but promised by neither."""
    old = _broken(before, after)
    told = [f"{getattr(before.account, name):,} {WORDS[name]}" for name in sorted(old)]
    told += [each.life.overdue for each in _overdue(before)[:1]]
    if told:
        yield _remark(f"{cell}: the baseline does not keep it", ", ".join(told), "judged is what is new")
    for name, words in _UNPROMISED.items():
        new = getattr(after.account, name)
        if new and not getattr(before.account, name) and name not in _broken(after, before):
            yield _remark(f"{cell}: new, but promised by neither", f"{new:,} {words}", "none of the baseline")


def _remark(what: str, measured: str, limit: str) -> Finding:
    return Finding(what=what, measured=measured, limit=limit, advice="the audit has the counts of both brokers")
