"""The results of faults as a JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analysis.faults.results import BrokerFaults
from analysis.results import worst
from workloads.schema import RunKind

#: Version of the object.
SCHEMA = 1


def summary_json(results: Sequence[BrokerFaults]) -> dict[str, Any]:
    """Each repetition of each fault, with its account and its figures."""
    return {
        "schema": SCHEMA,
        "kind": str(RunKind.FAULTS),
        "disclaimers": list(dict.fromkeys(text for result in results for text in result.disclaimers)),
        "faults": [
            {
                "run": result.run,
                "broker": result.broker,
                "cell": fault.cell.id,
                "workload": None if fault.business is None else fault.business.title,
                "promise": asdict(fault.promise),
                "repetitions": [
                    {
                        "number": each.number,
                        "account": asdict(each.account),
                        "course": asdict(each.course),
                        "life": asdict(each.life),
                        "broken": list(each.broken.values()),
                        "broker_cpu": each.broker_cpu,
                        "broker_rss_bytes": each.broker_rss_bytes,
                    }
                    for each in fault.repetitions
                ],
            }
            for result in results
            for fault in result.faults
        ],
        "not_applicable": [
            {"run": entry.run, "broker": entry.broker, "cell": entry.cell, "reason": entry.reason}
            for result in results
            for entry in result.not_applicable
        ],
        "verdict": worst(result.verdict for result in results),
        "findings": [
            {"run": result.run, "broker": result.broker, **asdict(finding)}
            for result in results
            for finding in result.findings
        ],
    }
