"""What a gate of the study compares, and the families: which of the three costs the selected cells separate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

from workloads.gate import ALL_CELLS, GateRole
from workloads.schema import Window

#: Counted slices of a pair of lives, by role and (experiment, cell).
PairWindows: TypeAlias = Mapping[GateRole, Mapping[tuple[str, str], Sequence[Window]]]

#: The costs of a message, in the order of the model's terms.
COSTS = ("t_rcv", "t_fltr", "t_tx")


def families(cells: Iterable[tuple[str, int, float]]) -> tuple[str, ...]:
    """The costs that the cells separate, and `all cells`.

    Costs need the cells of one experiment, at least one cell more than costs, and factors that vary independently.

    cells: experiment, n_fltr and replication grade of every cell that the model describes
    """
    rows = {(name, (Fraction(1), Fraction(n_fltr), Fraction(replication))) for name, n_fltr, replication in cells}
    points = {point for _, point in rows}
    if len({name for name, _ in rows}) != 1:
        return (ALL_CELLS,)
    columns = [index for index in range(len(COSTS)) if any(point[index] for point in points)]
    used = [[point[index] for index in columns] for point in points]
    separated = len(points) > len(columns) and any(map(_determinant, combinations(used, len(columns))))
    return (*(COSTS[index] for index in columns if separated), ALL_CELLS)


def _determinant(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    minors = ([[*row[:index], *row[index + 1 :]] for row in rows[1:]] for index in range(len(rows)))
    signed = ((-1) ** index * rows[0][index] * _determinant(minor) for index, minor in enumerate(minors))
    return sum(signed, Fraction(0))
