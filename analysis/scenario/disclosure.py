"""The full disclosure of a result as one JSON object: what the run rules ask for, as far as it applies.

Source: run rules, sections 6 and 7; items that do not apply are listed with the reason. Plain values of the result, its
plan and its manifest, as they are recorded; nothing is measured or read here. The same result always gives the same
object, independent of the time of writing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.atomic import written_whole
from analysis.scenario.json_output import row_json
from analysis.scenario.planned_destinations import planned_destinations
from analysis.scenario.results import AuditRow, AuditVerdict, WorkloadResult
from workloads.json_value import json_value
from workloads.messaging import DestinationKind
from workloads.status import VerdictKind

#: Version of the object below; incremented when the meaning of a key changes.
SCHEMA = 3

#: Name of the file if its run has a single result.
NAME = "disclosure.json"

DAY_S = 86_400

#: Minimum length of a period, in s, from which 24 hours can be extrapolated: a store grows by whole files of tens of
#: megabytes, and releases them at its next cleanup. The rules (section 3.1) allow a system ten minutes to settle.
TELLING_S = 600.0


@dataclass(frozen=True, slots=True)
class Storage:
    """The disk space that the store would need in 24 hours at this load (rules, section 5.1); None if not known."""

    #: Where persistent messages were stored, and whether the store was synced, as text.
    store: str
    #: Growth of the broker's files in the measurement.
    growth_bytes_per_s: float | None
    #: The growth extrapolated to 24 hours.
    day_bytes: float | None
    #: Free space on the disk of the store.
    free_bytes: int | None
    #: What the numbers mean, as text.
    said: str


def withheld(result: WorkloadResult) -> str:
    """The reason why the result has no figure; empty if it has one."""
    if reason := result.model.without_figure:
        return reason
    if result.measured is None:
        return "there was no measurement period"
    if result.audit_failed:
        return f"the audit failed: {result.first_failure}"
    if result.verdict != VerdictKind.VALID:
        return f"the verdict is {result.verdict}"
    return ""


def storage(result: WorkloadResult) -> Storage:
    """The measured growth of the broker's files, extrapolated to 86400 s, with its limitations as text."""
    free = result.manifest.host.store.free_bytes
    period = result.measured
    growth = None if period is None else period.store_growth_bytes_per_s
    if period is None or growth is None:
        return Storage(result.store, None, None, free, "not known: the broker's files could not be measured")
    day = growth * DAY_S
    said = []
    if period.seconds < TELLING_S:
        said.append(
            f"measured over {period.seconds:,.0f} s only, below {TELLING_S:,.0f} s: a store grows and shrinks by whole "
            "files, so this says little"
        )
    if growth <= 0:
        said.append("the files did not grow in the period")
    elif free is not None:
        said.append("the disk has enough free space" if day <= free else "the disk does not have enough free space")
    return Storage(result.store, growth, day, free, "; ".join(said) or "the free space of the disk is not known")


def disclosure(result: WorkloadResult) -> dict[str, Any]:
    """Plain JSON values; the disclaimer comes first, and this suite's own figure is given only if the audit passed."""
    reason = withheld(result)
    manifest, configuration = result.manifest, result.workload.configuration
    said: dict[str, Any] = {
        "disclaimer": result.workload.disclaimer,
        "schema": SCHEMA,
        "figure": {
            "name": result.figure_name,
            "value": None if reason else result.figure,
            "withheld": reason or None,
            "spec_metric": False,
        },
        "test_info": {
            "run": result.run,
            "cell": result.key,
            "began_utc": manifest.created_utc,
            "ended_utc": manifest.ended_utc,
            "outcome": manifest.outcome,
            "verdict": result.verdict,
            "compliant": result.compliant,
            "deviations": result.deviations,
        },
        "host": manifest.host,
        "broker": result.broker,
        "server_on_the_client_node": True if result.one_host else None,
        "load": manifest.options,
        "conduct": {
            "consumption": result.consumption,
            "transactions": result.transactions,
            "arrivals": result.plan.arrivals,
            "seed": result.plan.seed,
        },
        "request": result.plan.request,
        "topology": _topology(result),
        "workload_configuration": None if configuration is None else configuration(result.model),
        "model": {"digest_sha256": result.workload.digest(), "source": result.workload.source},
        "periods": {
            "lengths": result.plan.lengths,
            "spans": result.spans,
        },
        "results": result.periods,
        "backlog_at_the_end_of_the_measurement": result.backlog_by_destination,
        "backlog_by_address_at_the_end_of_the_measurement": result.backlog_by_address,
        "storage": storage(result),
        "audit": [_audit_row(row) for row in result.audit],
        "findings": result.findings,
        "warnings": result.warnings,
        "not_applicable": [
            dict(zip(("section", "what", "why"), row, strict=True)) for row in result.workload.not_applicable
        ],
    }
    return dict(json_value(said))


def write(results: Sequence[WorkloadResult]) -> tuple[Path, ...]:
    """Writes one file per result into its run directory, atomically. Raises DataError if a file cannot be written.

    The file is `disclosure.json`; its name also has the broker, start and cell if the run has several results.
    """
    paths = []
    for result in results:
        alone = sum(result.path == other.path for other in results) == 1
        path = Path(result.path) / (NAME if alone else _name(result))
        text = json.dumps(disclosure(result), indent=1, allow_nan=False) + "\n"
        with written_whole(path, "disclosure", "make room there, or make it writable") as file:
            file.write(text.encode())
        paths.append(path)
    return tuple(paths)


def _name(result: WorkloadResult) -> str:
    key = result.key
    return re.sub(r"[^\w.-]", "_", f"disclosure-{key.broker}-{key.start:02d}-{key.cell}") + ".json"


def _topology(result: WorkloadResult) -> dict[str, Any]:
    """Numbers of the plan; of subscriptions that come and go those that stand when the load begins."""
    plan, model = result.plan, result.model
    destinations = planned_destinations(result, model)
    topics = [destination for destination in destinations if destination.kind == DestinationKind.TOPIC]
    return {
        "name": model.name,
        "base": model.base,
        "facts": dict(model.facts),
        "interactions": [{"number": number, **json_value(each)} for number, each in model.interactions.items()],
        "messages": model.steps,
        "queues": len(destinations) - len(topics),
        "topics": len(topics),
        "subscriptions": sum(destination.subscriptions for destination in destinations),
        "topic_subscriptions": sum(destination.subscriptions for destination in topics),
        "filters": sum(destination.filters for destination in destinations),
        "durable_handlers": sum(handler.durable for handler in plan.handlers),
        "event_handlers": len(plan.handlers),
        "drivers": len(plan.drivers),
        "connections": model.connections,
    }


def _audit_row(row: AuditRow) -> dict[str, Any]:
    passed = None if row.verdict is AuditVerdict.NOT_JUDGED else row.verdict is AuditVerdict.PASS
    return row_json(row) | {"why": row.why or None, "passed": passed}
