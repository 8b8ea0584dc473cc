"""The supply chain under the workload of the published SPECjms2007 papers, judged by its run and reporting rules.

The tables are those of `workloads.supply_chain`; this package has the cases, the texts, and the rules that are specific
to this workload. `python -m workloads.specjms2007 --topology vertical --base 5` prints the computed traffic of a
topology.
"""

from __future__ import annotations

from workloads.scenario.limits import SPEC_RULES
from workloads.scenario.workload import Workload
from workloads.specjms2007.cases import CASES, NAME
from workloads.specjms2007.rules import DEVIATIONS, NOT_APPLICABLE
from workloads.supply_chain.digests import digest

#: The rules ask for text to this effect (section 2.2.2).
DISCLAIMER = (
    "This workload is derived from the published SPECjms2007 papers; it is not the SPECjms2007 benchmark, and its "
    "figures are not SPEC metrics. SPECjms2007 is a trademark of the Standard Performance Evaluation Corporation "
    "(SPEC). These results or findings have not been reviewed or accepted by SPEC: they may not be compared with any "
    "published SPEC result, and no performance relative to one may be inferred. The official web site of SPECjms2007 "
    "is http://www.spec.org/osg/jms2007."
)

WORKLOAD = Workload(
    name=NAME,
    subject="supply chain",
    disclaimer=DISCLAIMER,
    figure="supply-chain BASE ({topology})",  # must not have the name of a SPEC metric
    rules=SPEC_RULES,
    source="Sachs et al. 2009; run and reporting rules, section 3.6.1",
    provenance=(
        "The workload is derived from Sachs, Kounev, Bacon, Buchmann, Workload Characterization of the SPECjms2007 "
        "Benchmark (2009), and is judged by limits of the published run and reporting rules; it has not been reviewed "
        "by their authors or by SPEC."
    ),
    cases=CASES,
    digest=digest,
    deviations=DEVIATIONS,
    not_applicable=NOT_APPLICABLE,
)
