"""The noise of a machine: a gate that compares a broker with itself, and the smallest margin that follows from it."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.atomic import written_whole
from analysis.errors import DataError
from analysis.gate.results import GateResult
from analysis.gate.verdict import smallest_margin
from workloads.calibrations import CALIBRATIONS, calibrations_in, key_of
from workloads.errors import WorkloadError
from workloads.manifest import Manifest


def calibrated(result: GateResult, manifest: Manifest, results: Path) -> None:
    """Adds a calibration to those of this machine; one of the same run replaces it.

    result: of a gate that compared a broker with itself
    manifest: of its run
    results: parent folder of the run directories

    Raises DataError if those that there are cannot be read.
    """
    try:
        entries = [entry for entry in calibrations_in(results) if entry["run"] != result.run]
    except WorkloadError as error:
        raise DataError(str(error)) from error
    entries.append(
        {
            **key_of(manifest.options, (cell.cell for cell in result.cells), manifest.host.cpu_model),
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
    with written_whole(results / CALIBRATIONS, "list of calibrations", "make room there, or make it writable") as file:
        file.write((json.dumps(entries, indent=1) + "\n").encode())
