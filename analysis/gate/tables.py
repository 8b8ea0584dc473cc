"""The tables of a gate: rendered as text by the terminal, as HTML by the report."""

from __future__ import annotations

from analysis.formats import NOTHING
from analysis.gate.results import GateResult
from analysis.gate.verdict import FamilyVerdict
from analysis.results import Interval
from analysis.table import Table, TableColumn, TableRow

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
    columns = (
        TableColumn("family", number=False),
        TableColumn("change"),
        TableColumn("95 % interval"),
        TableColumn("margin"),
        TableColumn("detectable"),
        TableColumn("verdict", number=False),
    )
    return Table("Change of the time per message", columns, tuple(map(_family, result.families)))


def _family(family: FamilyVerdict) -> TableRow:
    detectable = NOTHING if family.smallest_detectable is None else f"{family.smallest_detectable:.1%}"
    estimate = NO_RATIO if family.ratio is None else change(family.ratio.estimate)
    values = (family.family, estimate, changes(family.ratio), f"{family.margin:.1%}", detectable, str(family.verdict))
    return TableRow(values)


def cells(result: GateResult) -> Table:
    """Every cell, with its ratio in each pair of lives."""
    columns = (
        TableColumn("cell", number=False),
        TableColumn("change"),
        TableColumn("95 % interval"),
        *(TableColumn(f"pair {number}") for number in range(1, result.pairs + 1)),
    )
    rows = tuple(
        TableRow((cell.cell, change(cell.ratio.estimate), changes(cell.ratio), *map(change, cell.by_pair)))
        for cell in result.cells
    )
    return Table("Change of each cell, and in each pair of lives", columns, rows)


def conditions(result: GateResult) -> Table:
    """What the comparison depends on besides: order, scatter, garbage collection and compiler."""
    rows = []
    if result.order_effect is not None:
        rows.append(
            ("effect of the order: second slice against first", change(1 / result.order_effect.estimate), "cancels")
        )
    if result.slice_scatter is not None:
        rows.append(("scatter of a pair of adjacent slices", f"{result.slice_scatter:.1%}", "standard deviation"))
    rows += [
        (f"scatter of pairs of lives, {family.family}", f"{family.scatter:.1%}", "standard deviation")
        for family in result.families
        if family.scatter is not None
    ]
    for role, activity in (result.activity or {}).items():
        for name, share, whole in (
            ("garbage collection pauses", activity.gc_pauses, "of the measured time"),
            ("compiler", activity.compiler, "of the broker's CPU time"),
        ):
            if share is not None:
                rows.append((f"{name}, {role}", f"{share:.2%}", whole))
    columns = (TableColumn("condition", number=False), TableColumn("value"), TableColumn("", number=False))
    return Table("Conditions of the comparison", columns, tuple(map(TableRow, rows)))
