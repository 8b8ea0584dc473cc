"""The results of a throughput run as JSON objects: the interface for scripts. Their keys are fixed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from analysis.results import JSON_SCHEMA, Finding, Interval, NotApplicable, worst
from analysis.throughput.results import (
    AuditResult,
    BrokerComparison,
    CellSummary,
    Description,
    FitResult,
    LatencyResult,
    RoundLevel,
    RunResult,
    formula,
)
from workloads.status import CellStatus
from workloads.throughput.lanes import LaneAudit


def summary_json(results: Sequence[RunResult]) -> dict[str, Any]:
    """`summary`: the cells of all runs, the levels of their rounds, their latencies, the paper's claims, the hosts, and
    the worst verdict.

    A cell that is not applicable to its broker has no start and no numbers, and is listed after the measured cells.
    """
    return {
        "schema": JSON_SCHEMA,
        "cells": [
            record
            for result in results
            for record in (*map(_cell, result.cells), *map(_not_applicable, result.not_applicable))
        ],
        "layouts": [record for result in results for record in _layouts(result.rounds)],
        "looks": [{"run": result.run, **asdict(look)} for result in results for look in result.manifest.looks],
        "latency": [_latency(cell) for result in results for cell in result.latency],
        "claims": [asdict(claim) for result in results for claim in result.claims],
        "ratios": [record for result in results for comparison in result.comparisons for record in _ratios(comparison)],
        "host": [asdict(use) for result in results for use in result.host],
        "verdict": worst(result.verdict for result in results),
        "findings": [_finding(finding, result.run) for result in results for finding in result.every_finding],
        "runs": [
            {
                "run": result.run,
                "path": result.path,
                "verdict": result.verdict,
                "brokers": {label: broker.title for label, broker in result.manifest.brokers.items()},
            }
            for result in results
        ],
    }


def audit_json(results: Sequence[AuditResult]) -> dict[str, Any]:
    """`audit`: messages and copies in total, then per cell."""
    total = sum((result.copies for result in results), LaneAudit())
    return {
        "schema": JSON_SCHEMA,
        "messages": {"sent": sum(result.sent for result in results), **asdict(total)},
        "cells": [
            {**asdict(cell.key), "sent": cell.sent, **asdict(cell.copies)}
            for result in results
            for cell in result.cells
        ],
        "verdict": worst(result.verdict for result in results),
        "findings": [_finding(finding, result.run) for result in results for finding in result.findings],
    }


def fit_json(results: Sequence[RunResult]) -> dict[str, Any]:
    """`fit`: an entry per (run, broker, experiment, profile)."""
    return {
        "schema": JSON_SCHEMA,
        "fits": [_fit(fit) for result in results for fit in result.fits],
        "verdict": worst(result.verdict for result in results),
    }


def _fields(record: Any, *left_out: str) -> dict[str, Any]:
    """The fields of a record as JSON values, but for those left out."""
    return {
        field.name: _json(getattr(record, field.name), field.name)
        for field in fields(record)
        if field.name not in left_out
    }


def _json(value: Any, name: str) -> Any:
    """The value of a field; an interval in seconds, as the name says, has the unit in its keys."""
    if isinstance(value, Interval):
        unit = "_s" if name.endswith("_s") and not name.endswith("_per_s") else ""
        return {f"estimate{unit}": value.estimate, f"ci95{unit}": value.ci95}
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _json(each, name) for key, each in value.items()}
    return [_json(each, name) for each in value] if isinstance(value, tuple) else value


def _cell(cell: CellSummary) -> dict[str, Any]:
    record = _fields(cell, *_NOT_WRITTEN)
    return {**asdict(cell.key), **record, "planned_per_s": cell.planned_per_s, "slices": len(cell.windows)}


#: Fields of a cell that have no key.
_NOT_WRITTEN = ("key", "n_fltr", "routed", "replication", "fits_model", "replicates_s", "conservation", "windows")


def _not_applicable(cell: NotApplicable) -> dict[str, Any]:
    """The keys of a cell that was measured."""
    unknown = dict.fromkeys(field.name for field in fields(CellSummary) if field.name not in _NOT_WRITTEN)
    counted = {"factors": {}, "layouts": 0, "slices": 0, "status": CellStatus.NOT_APPLICABLE}
    return {"start": None, "planned_per_s": None, **unknown, **asdict(cell), **counted}


def _layouts(rounds: Iterable[RoundLevel]) -> Iterator[dict[str, Any]]:
    """A record per layout of a start, with its rounds in the order in which they were measured."""
    found: dict[tuple[str, str, int, int], list[RoundLevel]] = {}
    for level in sorted(rounds, key=lambda level: (level.broker, level.start, level.layout, level.begin_s)):
        found.setdefault((level.run, level.broker, level.start, level.layout), []).append(level)
    of_layout = ("run", "broker", "start", "layout", "stolen_share")
    for levels in found.values():
        each = [_fields(level, *of_layout, "begin_s", "slices") for level in levels]
        yield {**{name: getattr(levels[0], name) for name in of_layout}, "rounds": each}


def _latency(cell: LatencyResult) -> dict[str, Any]:
    """The interval of a percentile may have a lower end only: the upper end is null where too few copies exceed it."""
    percentiles = [
        {
            **_fields(percentile, "latency_s"),
            "estimate_s": percentile.latency_s.estimate,
            "ci95_s": [percentile.latency_s.low, percentile.latency_s.high],
            "greyed": percentile.greyed,
        }
        for percentile in cell.percentiles
    ]
    mean = _json(cell.mean_s, "mean_s")
    return {**asdict(cell.key), **_fields(cell, "key", "mean_s"), "mean": mean, "percentiles": percentiles}


def _ratios(comparison: BrokerComparison) -> Iterator[dict[str, Any]]:
    """A record per broker and coefficient, and per broker and cell; the first broker's have no ratio."""
    for kind, rows in (("coefficient", comparison.coefficients), ("cell", comparison.cells)):
        for row in rows:
            yield {
                **_fields(comparison, "routed", "coefficients", "cells"),
                "kind": kind,
                **_fields(row, "value_s"),
                "value": _json(row.value_s, "value_s"),
                "received_ratio": _json(row.received, "received") if kind == "cell" else None,
            }


def _fit(fit: FitResult) -> dict[str, Any]:
    paper, cap = fit.ols_as_in_paper, fit.roofline
    return {
        **_fields(fit, "covariance", "t_quantile"),
        "model": formula(fit.parameters),
        "parameters": _json(fit.parameters, "times_s"),
        "description": _description(fit.description),
        "ols_as_in_paper": paper and {name: {"estimate_s": estimate} for name, estimate in paper.items()},
        "covariance_s2": fit.covariance,
        "roofline": cap
        and {
            **_fields(cap, "t_sat_s", "points"),
            "parameters": _json(cap.parameters, "times_s"),
            "t_sat": _json(cap.t_sat_s, "t_sat_s"),
            "capped": _json(cap.points, "points"),
        },
        "verdict": fit.verdict,
        "findings": [_finding(finding, fit.run) for finding in fit.findings],
    }


def _description(found: Description | None) -> dict[str, Any]:
    if found is None:
        return {"grade": None, "worst": [], "rms": None}
    worst_cells = [
        {"cell": cell.cell, "deviation": cell.deviation.estimate, "ci95": cell.deviation.ci95} for cell in found.worst
    ]
    return {"grade": found.grade, "worst": worst_cells, "rms": found.rms}


def _finding(finding: Finding, run: str) -> dict[str, Any]:
    return {"run": run, **asdict(finding)}
