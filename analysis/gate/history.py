"""The ratios of past gates: a file with one JSON object per line, to which each gate is appended, and beside it the
same as a CSV table for tools that search series for changes.

They have ratios only. Absolute times of different days or machines are not comparable, and therefore not kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.errors import DataError
from analysis.gate.results import GATE_SCHEMA, GateResult, record
from analysis.gate.series import series, write_csv


def append(path: Path, result: GateResult) -> None:
    """Appends a gate, and writes the table FILE.csv anew. Raises DataError if a file cannot be written or read."""
    found = record(result)
    line = {
        **{key: found[key] for key in ("schema", "run", "baseline", "broker", "pairs", "verdict")},
        "what": result.what,
        "families": {
            family["family"]: {key: family[key] for key in ("ratio", "ci95", "verdict")} for family in found["families"]
        },
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    except OSError as error:
        raise DataError(f"--history {path}: cannot be written: {error.strerror}") from error
    write_csv(path.with_name(f"{path.name}.csv"), series(read(path)))


def read(path: Path) -> tuple[Mapping[str, Any], ...]:
    """The gates of a history, oldest first. Raises DataError for a line that is none, and for an unreadable file."""
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(f"--history {path}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            known = entry["schema"] == GATE_SCHEMA and isinstance(entry["families"], dict)
        except (ValueError, KeyError, TypeError):
            known = False
        if not known:
            raise DataError(f"{path}, line {number}: not a line of a gate's history, schema {GATE_SCHEMA}")
        found.append(entry)
    return tuple(found)
