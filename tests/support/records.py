"""Records as they come back from a file."""

from __future__ import annotations

import json
from typing import Any

from analysis.record_reading import read
from workloads.json_value import json_value
from workloads.scenario.workload import Case, CaseRequest, Model, RequestRecord, Workload


def through_json(value: Any) -> Any:
    """The plain values of a record."""
    return json.loads(json.dumps(json_value(value), allow_nan=False))


def made_again(workload: Workload, case: Case, request: CaseRequest, /, **changes: Any) -> Model:
    """The model of a request that was written down; `changes` are made to what was written.

    Raises DataError for another structure, WorkloadError for another value.
    """
    record = through_json(workload.record(case.name, request)) | changes
    return workload.model_of(read(RequestRecord, record, "request"))
