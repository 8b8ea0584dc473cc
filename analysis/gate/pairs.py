"""The pairs of lives of a gate: the starts of the same number of both brokers, with the same cells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from analysis.errors import DataError
from analysis.gate.verdict import Judgement
from analysis.results import CellKey, Finding
from workloads.gate import GateRole

#: What was measured of a cell.
_Measured = TypeVar("_Measured")


def pairs_of_lives(
    measured: Mapping[CellKey, _Measured], path: Path
) -> list[dict[GateRole, dict[tuple[str, str], _Measured]]]:
    """What was measured of each cell, by role and (experiment, cell), of one pair after the other.

    path: of the run

    Raises DataError where a pair lacks a broker or a cell.
    """
    found: dict[int, dict[GateRole, dict[tuple[str, str], _Measured]]] = {}
    for key, of_cell in measured.items():
        roles = found.setdefault(key.start, {role: {} for role in GateRole})
        roles[GateRole(key.broker)][key.experiment, key.cell] = of_cell
    numbers = sorted(found)
    if numbers != list(range(1, len(numbers) + 1)):
        raise DataError(f"{path}: pairs of lives are numbered from 1 without a gap, got {numbers}")
    if not numbers:
        raise DataError(f"{path}: no pair of lives was measured: measure again")
    cells = {key for roles in found.values() for of_role in roles.values() for key in of_role}
    for number in numbers:
        for role in GateRole:
            if missing := sorted(cells - set(found[number][role])):
                raise DataError(
                    f"{path}: the {role} lacks the cell {' '.join(missing[0])} in pair of lives {number}: measure again"
                )
    return [found[number] for number in numbers]


def incomplete(judgement: Judgement, pairs: int, path: Path, *, partial: bool) -> tuple[Finding, ...]:
    """A remark on a gate that ended before its last decision. Raises DataError for it, unless it may be partial.

    judgement: of the pairs of lives that there are
    pairs: their number
    """
    if not judgement.more_pairs:
        return ()
    if not partial:
        raise DataError(
            f"{path}: the gate ended after {pairs} pairs of lives and needs {judgement.more_pairs} more "
            f"({judgement.reason}): measure again"
        )
    return (
        Finding(
            what=f"the gate is not complete: {pairs} pairs of lives, {judgement.more_pairs} more needed",
            measured=f"{pairs} pairs of lives",
            limit=judgement.reason,
            advice="measure again",
        ),
    )
