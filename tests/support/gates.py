"""Gates made by hand: rows, adjacent slices and run directories in which only what a test changes differs.

Roles, positions and keys are those that a gate records; every number follows from what the test asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.gate.results import CellComparison, GateResult
from analysis.gate.verdict import FamilyVerdict, GateVerdict, MetricRow
from analysis.results import Interval
from tests.support import fit_cells
from tests.support import run_directories as rd
from workloads.gate import CONFIRMING_PAIRS, LOOKS, GateRole, GateRules, Policy
from workloads.schema import WARM_UP_LAYOUT, Window
from workloads.status import WindowStatus

#: (further filters, replication grade): separates the three costs.
CELLS = ((0, 1), (0, 10), (640, 1), (640, 10))

NAMES = [rd.cell_name(*cell) for cell in CELLS]

#: Messages of each slice.
MESSAGES = 1000


def rules(**changes: Any) -> GateRules:
    """Those of a gate without options."""
    return GateRules(
        **{"margin": 0.05, "policy": Policy.BLAME, "looks": LOOKS, "confirming": CONFIRMING_PAIRS, **changes}
    )


def rows(families: Mapping[str, Sequence[float | None]]) -> list[MetricRow]:
    """The logarithms of ratios by family, in the order of the pairs."""
    return [MetricRow(name, pair, value) for name, values in families.items() for pair, value in enumerate(values, 1)]


def window(
    number: int, position: int, per_message_s: float, *, young_s: float = 0.0, full_s: float = 0.0, **changes: Any
) -> Window:
    """A counted slice of MESSAGES messages, which took so long each outside pauses.

    number: of the round
    young_s, full_s: pauses in the slice
    """
    elapsed_s = MESSAGES * per_message_s + young_s + full_s
    values = {
        "round": number,
        "position": position,
        "in_flight": 100,
        "broker_cpu_ns": None,
        "compiler_cpu_ns": None,
        "gc_pause_ns": round(young_s * 1e9),
        "gc_pauses": 0,
        "full_gc_pause_ns": round(full_s * 1e9),
        "load_cpu_ns": 0,
        "idle_broker_cpu_ns": 0,
        "status": WindowStatus.OK,
    }
    found = fit_cells.window(0, 10**9 * (100 * number + position), elapsed_s, MESSAGES, **values)
    return replace(found, **changes)


def adjacent(
    times: Sequence[tuple[float, float]], *, place: int = 0, second: float = 1.0
) -> dict[GateRole, tuple[Window, ...]]:
    """The slices of a cell, a round each; in odd rounds the baseline comes first.

    times: s per message of the baseline and of the candidate, by round
    place: of the cell in every round
    second: how many times as long the second of two adjacent slices takes
    """
    slices: dict[GateRole, list[Window]] = {role: [] for role in GateRole}
    for number, of_round in enumerate(times, 1):
        for index, (role, time_s) in enumerate(zip(GateRole, of_round, strict=True)):
            behind = index if number % 2 else 1 - index
            slices[role].append(window(number, 2 * place + behind, time_s * (second if behind else 1.0)))
    return {role: tuple(of_role) for role, of_role in slices.items()}


def by_role(cells: Mapping[tuple[str, str], Mapping[GateRole, Sequence[Window]]]) -> dict[GateRole, dict[Any, Any]]:
    """The slices of several cells as a pair of lives has them."""
    return {role: {key: of_cell[role] for key, of_cell in cells.items()} for role in GateRole}


def gate_directory(
    ratio: Callable[[str, int], float], pairs: int = 5, *, options: Mapping[str, Any] | None = None, **measured: Any
) -> rd.RunDirectory:
    """The run directory of a complete gate: a layout of two rounds in each pair of lives.

    ratio: of the candidate's time per message to the baseline's, of a cell in a pair of lives
    options: those that differ from a gate with `--pairs`
    measured: parameters of `run_directories.measured_run`
    """
    run = rd.measured_run(
        CELLS,
        brokers=[role.value for role in GateRole],
        starts=pairs,
        **{"layouts": 1, "rounds": 2, "anchors": 0, "messages": 2, "noise": 0.0, **measured},
    )
    for table, of_table in run.tables.items():  # without those of a warm-up, which a gate does not read
        run.tables[table] = [row for row in of_table if row["layout"] != WARM_UP_LAYOUT]
    run.manifest["options"] |= {
        "starts": 1,
        "baseline": "activemq:5.18.3",
        "broker": ["activemq:6.1.7"],
        "margin": 0.05,
        "policy": "blame",
        "looks": [pairs],
        "confirming": 0,
        "calibrate": False,
        "calibrated": {},
        **(options or {}),
    }
    rounds: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for row in run.rows("windows", broker=GateRole.BASELINE):
        rounds.setdefault(tuple(row[key] for key in ("start", "layout", "block", "round")), []).append(row)
    candidates = {_place(row): row for row in run.rows("windows", broker=GateRole.CANDIDATE)}
    for of_round in rounds.values():
        for index, before in enumerate(sorted(of_round, key=lambda row: row["position"])):
            after = candidates[_place(before)]
            behind = (before["round"] + NAMES.index(before["cell"])) % 2
            before |= {"position": 2 * index + 1 - behind, "idle_broker_cpu_ns": 0}
            own = {name: after[name] for name in ("broker", "begin_ns")}
            end_ns = after["begin_ns"] + before["end_ns"] - before["begin_ns"]
            after |= before | own | {"end_ns": end_ns, "position": 2 * index + behind}
            _stretch(after, ratio(before["cell"], before["start"]))
    return run


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("start", "layout", "block", "round", "experiment", "cell"))


def _stretch(row: dict[str, Any], factor: float) -> None:
    row["end_ns"] = row["begin_ns"] + round((row["end_ns"] - row["begin_ns"]) * factor)
    for name in ("gc_pause_ns", "full_gc_pause_ns", "broker_cpu_ns", "load_cpu_ns"):
        row[name] = round(row[name] * factor)


def family(name: str, verdict: GateVerdict, ratio: float | None = 1.2, margin: float = 0.05) -> FamilyVerdict:
    """A judged family whose interval is some per cent wide."""
    if ratio is None:
        return FamilyVerdict(name, None, None, margin, verdict)
    return FamilyVerdict(name, Interval(ratio, 0.96 * ratio, 1.04 * ratio), 0.062, margin, verdict, 0.028, ratio)


def result(judged: GateVerdict, *families: FamilyVerdict, **changes: Any) -> GateResult:
    """The result of a gate of two versions with these families."""
    values = {
        "run": "20260101T000000000Z-replication-gate",
        "path": "results/20260101T000000000Z-replication-gate",
        "baseline": "activemq:5.18.3",
        "broker": "activemq:6.1.7",
        "titles": {
            GateRole.BASELINE: "ActiveMQ Classic 5.18.3, jars",
            GateRole.CANDIDATE: "ActiveMQ Classic 6.1.7, jars",
        },
        "what": "6 cells of replication",
        "pairs": 8,
        "rules": rules(),
        "families": families,
        "cells": (CellComparison("replication f0000-r001", Interval(1.2, 1.15, 1.25), (1.15, 1.25)),),
        "findings": (),
        "judged": judged,
        "overriding": None,
    }
    return GateResult(**(values | changes))
