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
#: A further key: runners of one CI system differ, and a cache may bring the calibration of another. Entries from before
#: it was one are of a model that is not known.
CPU_MODEL = "cpu_model"


def key_of(options: Mapping[str, Any], cells: Iterable[str], cpu_model: str | None) -> dict[str, Any]:
    """What identifies a calibration: the KEYS with their values, and the model of the CPU.

    options: those of the run, as in its manifest
    cells: measured cells, each with its experiment, as in "replication f0000-r001"
    """
    return {key: sorted(cells) if key == "cells" else options[key] for key in KEYS} | {CPU_MODEL: cpu_model}


def calibrations_in(results: Path) -> list[dict[str, Any]]:
    """The calibrations beside these run directories; none if there is no file of them.

    Raises WorkloadError if it cannot be read.
    """
    path = results / CALIBRATIONS
    try:
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        needed = (*KEYS, "run", "smallest_margin")
        return [{CPU_MODEL: None} | entry | {key: entry[key] for key in needed} for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkloadError(f"{path}: cannot be read ({error}); delete it, and calibrate again") from error


def smallest_margins(calibrations: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> dict[str, float]:
    """The smallest margin by family from the last calibration with this key, if any.

    calibrations: those that there are
    wanted: what identifies one of the gate that begins
    """
    found = [entry["smallest_margin"] for entry in calibrations if wanted.items() <= entry.items()]
    return dict(found[-1]) if found else {}


def of_another_model(calibrations: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> str:
    """A remark on calibrations that would count, but for the model of the CPU; empty without any, or if one counts.

    calibrations, wanted: as of `smallest_margins`
    """
    but_for = {key: value for key, value in wanted.items() if key != CPU_MODEL}
    models = [entry[CPU_MODEL] for entry in calibrations if but_for.items() <= entry.items()]
    if not models or wanted[CPU_MODEL] in models:
        return ""
    return (
        f"no calibration counts: that of this baseline is of {models[-1] or 'a CPU model that is not known'}, "
        f"and this is {wanted[CPU_MODEL] or 'one that is not known'}"
    )


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
