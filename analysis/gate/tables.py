"""The tables of a gate: rendered as text by the terminal, as HTML by the report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analysis.formats import NOTHING, percent
from analysis.gate.results import CellComparison, GateResult
from analysis.gate.verdict import FamilyVerdict
from analysis.results import Interval
from analysis.table import Table, TableColumn

#: Shown of a family that is unknown, or not above 0, for one of the brokers.
NO_RATIO = "no ratio"


def change(ratio: float) -> str:
    """A ratio as a relative change."""
    return f"{ratio - 1:+.1%}"


def changes(interval: Interval | None) -> str:
    """The interval of a ratio as relative changes."""
    if interval is None or interval.low is None or interval.high is None:
        return NOTHING
    return f"{change(interval.low)} to {change(interval.high)}"


def families(result: GateResult) -> Table:
    """What is judged, a row each."""
    return Table.of(
        f"Change of the {result.words.figure}",
        result.families,
        TableColumn("family", lambda of: of.family, number=False),
        *([TableColumn("medians in s", partial(_medians, result))] if result.medians_s else []),
        TableColumn("change", lambda of: NO_RATIO if of.ratio is None else change(of.ratio.estimate)),
        TableColumn("95 % interval", lambda of: changes(of.ratio)),
        TableColumn("margin", lambda of: f"{of.margin:.1%}"),
        TableColumn("detectable", lambda of: percent(of.smallest_detectable)),
        TableColumn("verdict", lambda of: of.verdict, number=False),
    )


def _medians(result: GateResult, family: FamilyVerdict) -> str:
    """Of baseline and candidate."""
    found = result.medians_s.get(family.family)
    return NOTHING if found is None else ", ".join(f"{median_s:.1f}" for median_s in found)


def cells(result: GateResult) -> Table:
    """Every cell, with its ratio in each pair of lives."""
    return Table.of(
        "Change of each cell, and in each pair of lives",
        result.cells,
        TableColumn("cell", lambda cell: cell.cell, number=False),
        TableColumn("change", lambda cell: change(cell.ratio.estimate)),
        TableColumn("95 % interval", lambda cell: changes(cell.ratio)),
        *(TableColumn(f"pair {pair + 1}", partial(_of_pair, pair)) for pair in range(result.pairs)),
    )


def _of_pair(pair: int, cell: CellComparison) -> str:
    return change(cell.by_pair[pair]) if pair < len(cell.by_pair) else ""


def conditions(result: GateResult) -> Table:
    """What the comparison depends on besides: order, scatter, garbage collection and compiler."""
    return Table.of(
        "Conditions of the comparison",
        _conditions(result),
        TableColumn("condition", lambda of: of[0], number=False),
        TableColumn("value", lambda of: of[1]),
        TableColumn("", lambda of: of[2], number=False),
    )


def _conditions(result: GateResult) -> Iterator[tuple[str, str, str]]:
    if result.order_effect is not None:
        yield "effect of the order: second slice against first", change(1 / result.order_effect.estimate), "cancels"
    scatter = {"a pair of adjacent slices": result.slice_scatter}
    scatter |= {f"pairs of lives, {family.family}": family.scatter_of_pairs for family in result.families}
    for name, value in scatter.items():
        if value is not None:
            yield f"scatter of {name}", f"{value:.1%}", "standard deviation"
    for role, activity in (result.activity or {}).items():
        for name, share, whole in (
            ("garbage collection pauses", activity.gc_pauses, "of the measured time"),
            ("compiler", activity.compiler, "of the broker's CPU time"),
        ):
            if share is not None:
                yield f"{name}, {role}", f"{share:.2%}", whole
