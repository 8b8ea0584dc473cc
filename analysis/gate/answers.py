"""Answers about gates, from the results that are stored with them where these fit.

Spark is imported only where something has to be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.gate.results import GateResult
from analysis.store import Shelf, answered

SHELF = Shelf("gate.json", GateResult)


def judged(paths: Sequence[Path], *, master: str, partial: bool = False, **asked: Any) -> tuple[GateResult, ...]:
    """The result of each gate. Raises DataError where a run cannot be read, is no gate, or is not complete.

    asked: as of `analysis.store.answered`
    """

    def compute(missing: Sequence[Path]) -> tuple[GateResult, ...]:
        from analysis.gate import pipeline  # noqa: PLC0415

        return pipeline.judged(missing, master=master, partial=partial)

    return answered(paths, SHELF, compute, partial=partial, **asked)
