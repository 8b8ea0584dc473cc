"""What both halves of the pytest plugin, and what stands beside them, know by name; they do not import each other."""

from __future__ import annotations

#: Group of `--help` for the options of both halves, and what it says of them.
GROUP, GROUP_TEXT = "brokerbench", "message broker benchmarks"

#: The name under which the measuring half is registered, and through which its run directory is found.
MEASUREMENT = "measurement"

#: The name under which the half with the statistics registers a plugin that says how much must be measured.
PLANNER = "planner"

#: Markers of the items that measure: throughput study, business workloads, faults.
MARKERS = EXPERIMENT, WORKLOAD, FAULT = ("experiment", "workload", "fault")
