"""Which runs are gates, and what a gate was asked: its options in the manifest."""

from __future__ import annotations

from pathlib import Path

from analysis.errors import DataError
from analysis.record_reading import read
from workloads.command_line import measuring
from workloads.manifest import GateOptions, Manifest


def is_gate(manifest: Manifest) -> bool:
    """Whether a run compares two brokers."""
    return manifest.options.get("baseline") is not None


def options_of(manifest: Manifest, path: Path) -> GateOptions:
    """What a gate was asked. Raises DataError for a run that is none."""
    if not is_gate(manifest):
        raise DataError(
            f"{path}: not a regression gate; "
            f"`{measuring('microbench -k replication --baseline BROKER --broker BROKER')}` measures one"
        )
    return read(GateOptions, manifest.options, f"{path}/manifest.json, options")
