"""The noise of a machine: a gate that compares a broker with itself, and the smallest margin that follows from it."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.atomic import written_whole
from analysis.errors import DataError
from analysis.gate.results import GateResult
from analysis.gate.verdict import smallest_margin
from workloads.calibrations import CALIBRATIONS, calibrations_of, key_of, unreadable
from workloads.manifest import Manifest


def calibrated(result: GateResult, manifest: Manifest, results: Path) -> None:
    """Adds a calibration to those of this machine; one of the same run replaces it.

    result: of a gate that compared a broker with itself
    manifest: of its run
    results: parent folder of the run directories

    Raises DataError if those that there are cannot be read.
    """
    path = results / CALIBRATIONS
    try:
        entries = calibrations_of(path.read_text(encoding="utf-8")) if path.exists() else []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(unreadable(path, error)) from error
    entries = [entry for entry in entries if entry["run"] != result.run]
    entries.append(
        {
            **key_of(manifest.options, (cell.cell for cell in result.cells)),
            "run": result.run,
            "pairs": result.pairs,
            "slice_scatter": result.slice_scatter,
            "scatter": {family.family: family.scatter_of_pairs for family in result.families},
            "smallest_margin": {
                family.family: smallest_margin(family.scatter_of_pairs)
                for family in result.families
                if family.scatter_of_pairs is not None
            },
        }
    )
    with written_whole(path, "list of calibrations", "make room there, or make it writable") as file:
        file.write((json.dumps(entries, indent=1) + "\n").encode())
