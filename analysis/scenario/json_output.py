"""Results of a workload as JSON objects: the interface for scripts. Keys are fixed; the disclaimer comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from analysis.results import Claim, worst
from analysis.scenario.claims import claims
from analysis.scenario.results import AuditRow, AuditVerdict, ChurnResult, WorkloadResult, disclaimers
from analysis.table import grouped
from workloads.schema import RunKind

#: Version of the objects below; incremented when the meaning of a key changes.
SCHEMA = 2


def summary_json(results: Sequence[WorkloadResult]) -> dict[str, Any]:
    """`summary`: everything about each cell except the seconds and the rows of passed tests."""
    record = _record(
        results,
        lambda result: {
            "figure": result.figure_name,
            "consumption": result.consumption,
            "transactions": result.transactions,
            "store": result.store,
            "periods": [asdict(period) for period in result.periods],
            "tests": _tests(result),
            "deviations": None if result.deviations is None else list(result.deviations),
            "warnings": asdict(result.warnings),
            "backlog_at_end": dict(result.backlog_by_destination),
            "backlog_at_end_by_address": dict(result.backlog_by_address),
            **({} if result.churn is None else {"subscriptions": _churn(result.churn)}),
        },
    )
    return {**record, "claims": [_claim(claim) for claim in claims(results)]}


def _claim(claim: Claim) -> dict[str, Any]:
    return {("consumption" if key == "profile" else key): value for key, value in asdict(claim).items()}


def audit_json(results: Sequence[WorkloadResult]) -> dict[str, Any]:
    """`audit`: every row of the audit of each cell; with populations also the copies by message type and class."""
    return _record(
        results,
        lambda result: {
            "tests": _tests(result),
            "rows": [row_json(row) for row in result.audit],
            **({} if result.churn is None else {"copies": [asdict(of) for of in result.churn.copies]}),
        },
    )


def _churn(churn: ChurnResult) -> dict[str, Any]:
    """What came and went, except for the seconds."""
    flows = [
        {
            "driver": of.published.name,
            "parties": of.published.parties,
            **{
                name: {"model": float(getattr(of.published, model)), "measured": getattr(of, name)}
                for name, model in _FLOW_VALUES.items()
            },
            "leaves": of.leaves,
        }
        for of in churn.flows
    ]
    record = asdict(replace(churn, flows=(), seconds=(), slices=())) | {"flows": flows}
    return {name: value for name, value in record.items() if name not in {"seconds", "slices"}}


#: Fields of `FlowResult` and of the row that they are measured for.
_FLOW_VALUES = {
    "sent": "published",
    "subscriptions": "subscriptions",
    "publishers": "publishers",
    "joins": "joins",
    "publisher_joins": "publisher_joins",
    "factor": "factor",
}


def _record(results: Sequence[WorkloadResult], more: Any) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "disclaimer": "\n\n".join(disclaimers(results)),
        "kind": str(RunKind.WORKLOAD),
        "cells": [
            {
                **asdict(result.key),
                "topology": result.topology,
                "base": result.base,
                "passes": not result.audit_failed,
                "first_failure": result.first_failure and f"{result.first_failure}: {result.failed[0].why}",
                "p90_ms": result.p90_ms,
                **{name: None if result.measured is None else getattr(result.measured, name) for name in _MEASURED},
                "verdict": result.verdict,
                "compliant": result.compliant,
                **more(result),
            }
            for result in results
        ],
        "not_applicable": [
            {("consumption" if key == "profile" else key): value or None for key, value in asdict(entry).items()}
            for entry in dict.fromkeys(entry for result in results for entry in result.not_applicable)
        ],
        "verdict": worst(result.verdict for result in results),
        "findings": [
            {"run": result.run, "cell": result.key.cell, **asdict(finding)}
            for result in results
            for finding in result.findings
        ],
        "runs": [
            {
                "run": entry.run,
                "path": str(entry.path),
                "brokers": {label: broker.title for label, broker in entry.manifest.brokers.items()},
            }
            for entry in {(entry.run, entry.path): entry for entry in results}.values()
        ],
    }


_MEASURED = ("seconds", "sent_per_s", "received_per_s", "broker_cpu", "load_cpu", "load_us_per_message")


def _tests(result: WorkloadResult) -> list[dict[str, Any]]:
    """One entry per test and period: its worst row, and how many rows there are.

    A failed row ranks before one that was not judged; among equals, the row with the largest absolute value.
    """
    order = (AuditVerdict.PASS, AuditVerdict.NOT_JUDGED, AuditVerdict.FAIL)
    entries = []
    for rows in grouped(result.audit, lambda row: (row.rule, row.period)).values():
        gravest = max(rows, key=lambda row: (order.index(row.verdict), abs(row.observed or 0.0)))
        verdicts = [row.verdict for row in rows]
        counts = {"failed": AuditVerdict.FAIL, "not_judged": AuditVerdict.NOT_JUDGED}
        numbers = {name: verdicts.count(verdict) for name, verdict in counts.items()}
        entries.append({**row_json(gravest), "rows": len(rows), **numbers})
    return entries


def row_json(row: AuditRow) -> dict[str, Any]:
    """A row of the audit, with the name, source, limit and unit of its rule.

    Its numbers are written alike, whether they were counted now or read from a stored analysis.
    """
    found = {name: value for name, value in asdict(row).items() if name != "rule"}
    found |= {name: None if found[name] is None else float(found[name]) for name in ("observed", "expected")}
    rule = row.rule
    return {"test": rule.name, "source": rule.source, "limit": float(rule.limit), "unit": rule.unit, **found}
