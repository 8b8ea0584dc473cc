"""How much is still to be measured: called by the measuring half while brokers are live, with its own types.

What decides is what will decide the verdict: of a start `analysis.throughput.judgement`, of a gate
`analysis.gate.verdict`. Imports neither Spark nor statsmodels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from analysis.errors import DataError
from analysis.gate.paired import Key, ratios_of, rows_of
from analysis.gate.verdict import judge
from analysis.results import CellKey
from analysis.throughput import judgement
from analysis.throughput.reader import open_start
from analysis.throughput.results import RoundLevel
from workloads.errors import WorkloadError
from workloads.gate import GateRules
from workloads.limits import DISTURBED
from workloads.schema import Window
from workloads.status import VerdictKind
from workloads.throughput.families import PairWindows
from workloads.throughput.study_plan import StudyPlan

#: Most open points that are named; the others are counted.
NAMED = 3

#: Share of the rounds in which a host has to be disturbed to be called restless: half of what a run may have.
RESTLESS = DISTURBED.limit / 2


def look(
    folder: Path, broker: str, start: int, windows: Mapping[Key, Sequence[Window]], exact: Collection[Key]
) -> tuple[bool, str]:
    """Whether further layouts may mend what stands against the numbers of a start, and what that is in a few words.

    Only doubts that further layouts can remove let it go on; one that no layout removes, such as a lost copy, ends it.
    Raises WorkloadError where the slices cannot be judged.

    folder: the run directory, whose manifest has the start
    broker, start: which start it is
    windows: its counted slices, by cell, anchors included
    exact: the cells of which every copy arrived once and in order
    """
    keyed = {CellKey(folder.name, broker, start, *key): tuple(of_cell) for key, of_cell in windows.items()}
    try:
        run = open_start(folder, broker, start, sorted(keyed))
        found = judgement.estimated(run, keyed, {key for key in keyed if (key.experiment, key.cell) in exact})
    except DataError as error:
        raise WorkloadError(f"a look at start {start} of {broker}: {error}") from error
    of_run = list(judgement.doubts(run, keyed, found))
    findings = [*of_run, *(finding for model in found.fits for finding in model.findings)]
    if inexact := [key for key in keyed if (key.experiment, key.cell) not in exact]:
        return (
            False,
            f"copies of {inexact[0].experiment} {inexact[0].cell} were not delivered exactly: no layout mends that",
        )
    # The one doubt about a model that makes it invalid is a negative cost, which may be a matter of chance.
    if final := [finding for finding in of_run if finding.consequence == VerdictKind.INVALID]:
        return False, f"{final[0].what}: more layouts do not mend that"
    points = list(dict.fromkeys(finding.open_point for finding in findings if finding.open_point))
    if not points:
        return False, "enough, every interval is within its limit"
    named = [*points[:NAMED], *([f"{len(points) - NAMED} more"] if len(points) > NAMED else [])]
    return True, ", ".join([*named, *_restless(found.rounds)])


def _restless(rounds: Sequence[RoundLevel]) -> Iterator[str]:
    if rounds and sum(level.disturbed for level in rounds) > RESTLESS * len(rounds):
        yield "the host is restless"


def pairs_needed(pairs: Sequence[PairWindows], plans: Mapping[Key, StudyPlan], rules: GateRules) -> tuple[int, str]:
    """Further pairs of lives of a gate until the next decision, and why; 0 and "" where the gate has ended.

    pairs: counted slices of the pairs measured so far
    plans: entries of plan.json, by cell
    rules: of the gate

    Raises WorkloadError where the slices cannot be compared.
    """
    try:
        found = judge(rows_of(ratios_of(pairs), plans), rules)
    except DataError as error:
        raise WorkloadError(f"gate: {error}") from error
    return found.more_pairs, found.reason
