"""The calibrations of a machine: what gates that compared a broker with itself found, in a file beside the runs.

The analysis of such a gate writes it. It is read before a gate begins, so that nobody waits for one that cannot decide.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workloads.errors import WorkloadError

#: File in the parent folder of the run directories: a list of objects, the newest last, each with its `run`, the KEYS
#: that identify it, and `smallest_margin` by family.
CALIBRATIONS = "calibrations.json"
KEYS = (
    "baseline",
    "cells",
    "profile",
    "client",
    "loop",
    "in_flight",
    "coalesce_us",
    "workers",
    "layouts",
    "rounds",
    "slice_seconds",
    "broker_cpus",
)


def key_of(options: Mapping[str, Any], cells: Iterable[str]) -> dict[str, Any]:
    """What identifies a calibration: the KEYS with their values.

    options: those of the run, as in its manifest
    cells: measured cells, each with its experiment, as in "replication f0000-r001"
    """
    return {key: sorted(cells) if key == "cells" else options[key] for key in KEYS}


def calibrations_in(results: Path) -> list[dict[str, Any]]:
    """The calibrations beside these run directories; none if there is no file of them.

    Raises WorkloadError if it cannot be read.
    """
    path = results / CALIBRATIONS
    try:
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return [entry | {key: entry[key] for key in (*KEYS, "run", "smallest_margin")} for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkloadError(f"{path}: cannot be read ({error}); delete it, and calibrate again") from error


def smallest_margins(
    calibrations: Sequence[Mapping[str, Any]], options: Mapping[str, Any], cells: set[str]
) -> dict[str, float]:
    """The smallest margin by family from the last calibration of the same baseline, cells, load and CPUs, if any.

    calibrations: of this machine
    options: those of the run, for its manifest
    cells: selected cells, each with its experiment
    """
    wanted = key_of(options, cells)
    found = [entry["smallest_margin"] for entry in calibrations if wanted.items() <= entry.items()]
    return dict(found[-1]) if found else {}


def require_margin(margin: float, smallest: Mapping[str, float], deciding: set[str]) -> None:
    """Raises WorkloadError for a margin below the smallest of a family that decides.

    margin: that of the gate
    smallest: by family
    deciding: families that decide
    """
    too_small = {family: limit for family, limit in smallest.items() if family in deciding and limit > margin}
    if too_small:
        family, limit = max(too_small.items(), key=lambda item: item[1])
        allowed = f"{math.ceil(limit * 1000) / 10:.1f}%"  # rounded up, so that it is accepted
        raise WorkloadError(
            f"--margin {margin:.1%} is below the noise of this machine: its calibration allows {allowed} for "
            f"{family}. Choose --margin {allowed} or more, calibrate on a quieter host (--calibrate), or pass "
            "--ignore-calibration"
        )
