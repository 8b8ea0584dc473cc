"""The business workloads of the suite: the only module that names their packages."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.jms2009ps import WORKLOAD as JMS2009PS
from workloads.logistics import WORKLOAD as LOGISTICS
from workloads.own import WORKLOAD as OWN
from workloads.scenario.workload import Workload
from workloads.specjms2007 import WORKLOAD as SPECJMS2007

#: The workloads by name, as in key `workload` of the records.
WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in (SPECJMS2007, JMS2009PS, LOGISTICS, OWN)}
