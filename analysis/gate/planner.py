"""How many further pairs of lives a gate needs: called by the measuring half between two pairs, with its own types.

It imports neither Spark nor statsmodels, since brokers may be running while it decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.errors import DataError
from analysis.gate.paired import CellRatio, Key, cell_ratios, metric_rows
from analysis.gate.verdict import MetricRow, judge
from workloads.errors import WorkloadError
from workloads.gate import GateRole, GateRules
from workloads.schema import Window
from workloads.throughput.families import families
from workloads.throughput.study_plan import StudyPlan

#: Counted slices of a pair of lives, by role and cell.
PairWindows = Mapping[GateRole, Mapping[Key, Sequence[Window]]]


def pairs_needed(pairs: Sequence[PairWindows], plans: Mapping[Key, StudyPlan], rules: GateRules) -> tuple[int, str]:
    """Further pairs of lives until the next decision, and why; 0 and "" where the gate has ended.

    pairs: counted slices of the pairs measured so far
    plans: entries of plan.json, by cell
    rules: of the gate

    Raises WorkloadError where the slices cannot be compared.
    """
    try:
        judgement = judge(rows_of(ratios_of(pairs), plans), rules)
    except DataError as error:
        raise WorkloadError(f"gate: {error}") from error
    return judgement.more_pairs, judgement.reason


def ratios_of(pairs: Sequence[PairWindows]) -> tuple[CellRatio, ...]:
    """The ratios of all cells in all pairs of lives, numbered from 1."""
    return tuple(ratio for number, windows in enumerate(pairs, start=1) for ratio in cell_ratios(windows, number))


def rows_of(ratios: Sequence[CellRatio], plans: Mapping[Key, StudyPlan]) -> tuple[MetricRow, ...]:
    """The families' logarithms of ratios.

    ratios: of all cells
    plans: entries of plan.json, by cell
    """
    factors = {
        key: (plan.n_fltr, plan.replication)
        for key, plan in plans.items()
        if plan.fits_model and plan.pace is None and any(ratio.key == key for ratio in ratios)
    }
    named = families((experiment, *factors[experiment, cell]) for experiment, cell in factors)
    return metric_rows(ratios, factors, named)
