"""The business workloads of the suite: the only module that names their packages."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.scenario.workload import Workload
from workloads.specjms2007 import WORKLOAD as SPECJMS2007

#: By the name that records have under `workload`.
WORKLOADS: Mapping[str, Workload] = {one.name: one for one in (SPECJMS2007,)}
