"""The noise of a machine: a gate that compares a broker with itself, and the smallest margin that follows from it.

The calibrations of a machine are a file beside the run directories. The measuring half reads it before a gate begins,
so that nobody waits for a gate that cannot decide.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analysis.atomic import written_whole
from analysis.errors import DataError
from analysis.gate.results import GateResult
from analysis.gate.verdict import smallest_margin
from workloads.gate import CALIBRATIONS, calibration_key
from workloads.manifest import Manifest


def calibrated(result: GateResult, manifest: Manifest, results: Path) -> None:
    """Adds a calibration to those of this machine; one of the same run replaces it.

    result: of a gate that compared a broker with itself
    manifest: of its run
    results: parent folder of the run directories
    """
    path = results / CALIBRATIONS
    entries = [entry for entry in read(path) if entry["run"] != result.run]
    entries.append(
        {
            **calibration_key(manifest.options, (cell.cell for cell in result.cells)),
            "run": result.run,
            "pairs": result.pairs,
            "slice_scatter": result.slice_scatter,
            "scatter": {family.family: family.scatter for family in result.families},
            "smallest_margin": {
                family.family: smallest_margin(family.scatter)
                for family in result.families
                if family.scatter is not None
            },
        }
    )
    with written_whole(path) as file:
        file.write((json.dumps(entries, indent=1) + "\n").encode())


def read(path: Path) -> list[dict[str, Any]]:
    """The calibrations of a file; none if it does not exist. Raises DataError if it cannot be read."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return [dict(entry, run=entry["run"]) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); delete it, and calibrate again") from error
