"""Records as they come back from a file."""

from __future__ import annotations

import json
from typing import Any

from analysis.record_reading import read
from workloads.json_value import json_value
from workloads.scenario.workload import Model, Workload


def through_json(value: Any) -> Any:
    """The plain values of a record."""
    return json.loads(json.dumps(json_value(value), allow_nan=False))


def rebuilt(workload: Workload, topology: Any, configuration: Any = None) -> Model:
    """The model of an entry of plan.json. Raises DataError for another structure, WorkloadError for another value."""
    configured = None if configuration is None else read(workload.configuration, configuration, "configuration")
    return workload.rebuild(read(workload.record, topology, "topology"), configured)
