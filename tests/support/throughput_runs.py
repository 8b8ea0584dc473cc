"""Measurements of the throughput study as a user runs them, and what must hold of every complete one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from tests.conftest import (
    LAYOUT,
    in_words_of_a_truth,
    read_json,
    recorded_audit,
    row_counts,
    table_rows,
)
from tests.support.experiments import EXPERIMENTS
from tests.support.sessions import PYTEST, Ended, command
from workloads.schema import SCHEMA_VERSION, WARM_UP_LAYOUT, WARMING_ROUND
from workloads.throughput.lanes import LaneAudit

#: What a measurement must not load: it would take memory and time beside the load.
HEAVY = ("pyspark", "statsmodels", "pandas", "scipy")
SHOW_HEAVY = (
    "import sys, pytest; code = pytest.main(sys.argv[1:]);"
    f"print('loaded:', [name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
)
REFERENCE = ("--broker", "reference", "--grid", "smoke", "--no-analysis")
CELLS = {name: {cell.id for cell in experiment.cells("smoke")} for name, experiment in EXPERIMENTS.items()}
ALL_CELLS = sum(map(len, CELLS.values()))


def measure(results: Path, *words: str, env: dict[str, str] | None = None) -> Ended:
    return command(*PYTEST, "microbench", *words, env=env, results=results)


def listed(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("microbench/") and "::" in line]


def item_of(slot: dict[str, Any]) -> str:
    """The item that measures a slot of the schedule."""
    name = f"test_{slot['experiment']}"
    return f"microbench/{name}.py::{name}[{slot['broker']}-s{slot['start']}-{slot['cell']}]"


def check_complete(run: Path, *, cells: int) -> dict[str, Any]:
    """A run directory from which nothing is missing; returns its manifest."""
    manifest = read_json(run / "manifest.json")
    assert manifest["schema"] == SCHEMA_VERSION
    assert manifest["outcome"] == "complete"
    assert manifest["error"] is None
    assert {"label", "created_utc", "ended_utc", "options", "host", "brokers", "starts"} <= set(manifest)
    assert manifest["rows"] == row_counts(run)
    assert list(run.rglob("*.partial")) == []
    assert (run.parent / "latest").resolve() == run.resolve()
    slots = manifest["schedule"]
    assert len(slots) == cells
    planned = {(plan["experiment"], plan["cell"]) for plan in read_json(run / "plan.json")["cells"]}
    assert {(slot["experiment"], slot["cell"]) for slot in slots} <= planned
    windows = check_layouts(run)
    lives = {(slot["broker"], slot["start"]) for slot in slots}
    assert {(start["broker"], start["start"]) for start in manifest["starts"]} == lives
    assert {(row["broker"], row["start"]) for row in windows} == lives
    layouts, rounds = manifest["options"]["layouts"], manifest["options"]["rounds"]
    by_cell = {}
    for row in windows:
        by_cell.setdefault(tuple(row[key] for key in slots[0]), []).append(row)
    for slot in slots:
        counted = Counter(row["layout"] for row in by_cell[tuple(slot.values())] if row["status"] == "ok")
        assert set(counted) == set(range(1, layouts + 1))
        (number,) = set(counted.values())
        assert number == (max(1, round(rounds / 2)) if slot["experiment"] in PACED else rounds)
    for table in ("sends", "deliveries"):
        assert {tuple(row[key] for key in slots[0]) for row in table_rows(run, table)} >= set(map(tuple, by_cell))
    open_loops = {(row["experiment"], row["cell"]) for row in windows if row["planned_per_s"] is not None}
    assert {(row["experiment"], row["cell"]) for row in table_rows(run, "latency")} == open_loops
    assert open_loops == {(slot["experiment"], slot["cell"]) for slot in slots if slot["experiment"] == "latency"}
    return manifest


#: Experiments whose cells have connections of their own, and half of the rounds.
PACED = {name for name, experiment in EXPERIMENTS.items() if experiment.own_connections}


def check_layouts(run: Path) -> list[dict[str, Any]]:
    """Every layout that has its row is whole; returns the windows of all that have.

    In every round each cell of the block has one slice, and all are in turn. What was sent came, and is recorded.
    """
    windows = table_rows(run, "windows")
    plans = {(plan["experiment"], plan["cell"]): plan for plan in read_json(run / "plan.json")["cells"]}
    whole = []
    for layout in table_rows(run, "layouts"):
        at = {key: layout[key] for key in LAYOUT}
        slices = [row for row in windows if at.items() <= row.items()]
        whole += slices
        cells = {(row["experiment"], row["cell"]) for row in slices}
        warm_up = layout["layout"] == WARM_UP_LAYOUT
        assert len(cells) == layout["cells"] or (warm_up and len(cells) < layout["cells"])
        by_round = {}
        for row in slices:
            by_round.setdefault(row["round"], []).append(row)
        assert len(by_round) == layout["rounds"]
        for number, of_round in by_round.items():
            in_order = sorted(of_round, key=lambda row: row["position"])
            assert [row["position"] for row in in_order] == list(range(len(in_order)))
            assert len({(row["experiment"], row["cell"]) for row in in_order}) == len(in_order)
            assert warm_up or len(in_order) == len(cells)
            status = "warm-up" if warm_up or number <= WARMING_ROUND else "ok"
            assert {row["status"] for row in in_order} == {status}
            instants = [row[edge] for row in in_order for edge in ("begin_ns", "end_ns")]
            assert sorted(instants) == instants
        instants = [row[edge] for row in slices for edge in ("begin_ns", "end_ns")]
        assert layout["begin_ns"] < layout["connected_ns"] < min(instants) < max(instants) < layout["end_ns"]
        for experiment, cell in cells:
            audit, sent = recorded_audit(run, plans[experiment, cell], **at, experiment=experiment, cell=cell)
            own = [row for row in slices if (row["experiment"], row["cell"]) == (experiment, cell)]
            assert sent >= sum(row["received"] for row in own)
            assert audit.expected
    return whole


def audits(run: Path) -> dict[str, tuple[LaneAudit, int]]:
    """Per scheduled item the audit of its files, and the messages sent."""
    plans = {(plan["experiment"], plan["cell"]): plan for plan in read_json(run / "plan.json")["cells"]}
    return {
        item_of(slot): recorded_audit(run, plans[slot["experiment"], slot["cell"]], **slot)
        for slot in read_json(run / "manifest.json")["schedule"]
    }


def whole_audit(run: Path, broker: str) -> dict[str, int]:
    """The audit of all that a broker was sent, the anchors and the warm-up included, in the words of its truth."""
    of_cells = [
        recorded_audit(run, plan, broker=broker, experiment=plan["experiment"], cell=plan["cell"])
        for plan in read_json(run / "plan.json")["cells"]
    ]
    total = sum((audit for audit, _ in of_cells), LaneAudit())
    return in_words_of_a_truth(total, sum(sent for _, sent in of_cells))


ONE = (*REFERENCE, "-k", "f0000-r001")


def truth_of(run: Path, broker: str) -> dict[str, int]:
    name = re.sub(r"[^a-z0-9.-]", "_", broker)
    return read_json(run / "brokers" / f"{name}-01" / "truth.json")["messages"]
