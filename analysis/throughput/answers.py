"""Answers about runs of the throughput study, from the analyses that are stored with them where these fit.

Spark and statsmodels are imported only where something has to be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.errors import DataError
from analysis.store import Shelf, answered
from analysis.throughput.results import AuditResult, RunResult
from workloads.command_line import measuring

SHELF = Shelf("analysis.json", RunResult)


def analysed(
    paths: Sequence[Path], *, master: str, partial: bool = False, meanwhile: Sequence[str] = (), **asked: Any
) -> tuple[RunResult, ...]:
    """The complete analysis of each run; runs are never combined. Raises DataError where one cannot be read.

    meanwhile: modules that the caller needs afterwards, to be imported while Spark works
    asked: as of `analysis.store.answered`
    """

    def compute(missing: Sequence[Path]) -> tuple[RunResult, ...]:
        from analysis.throughput import pipeline  # noqa: PLC0415

        return pipeline.analysed(missing, master=master, partial=partial, meanwhile=meanwhile)

    return answered(paths, SHELF, compute, partial=partial, **asked)


def audited(paths: Sequence[Path], **asked: Any) -> tuple[AuditResult, ...]:
    """The audit of each run, which is part of its analysis."""
    return tuple(result.audit for result in analysed(paths, **asked))


def fitted(paths: Sequence[Path], **asked: Any) -> tuple[RunResult, ...]:
    """As `analysed`, but raises DataError where no run allows a fit."""
    return with_models(analysed(paths, **asked))


def with_models(results: tuple[RunResult, ...]) -> tuple[RunResult, ...]:
    """The same results. Raises DataError, with the reasons, where no run has a model."""
    if any(result.fits for result in results):
        return results
    reasons = [reason for result in results for reason in result.refused] or [
        f"{result.path}: {_no_model(result)}" for result in results
    ]
    raise DataError("; ".join(reasons))


def _no_model(result: RunResult) -> str:
    if not result.measures:
        return "a smoke grid shows correctness only, no model is fitted; measure with --grid quick"
    return (
        "no experiment of this run varies filters and replication independently, so that there is no model to fit; "
        f"`{measuring('microbench -k replication')}` measures one that does"
    )
