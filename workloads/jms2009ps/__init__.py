"""The supply chain over freely chosen queues, topics and selectors: a configurable publish/subscribe workload.

The messages, parties, rates and sizes are those of `workloads.supply_chain`. What a configuration decides is how they
travel: 92 parameters (`parameters`), set by one of three scenarios (`scenarios`) or by a TOML file (`configuration`),
select the destination, the properties and the selectors of every message (`targets`). `figures` computes what this
amounts to, `compiled` is the model for load and audit; `python -m workloads.jms2009ps --scenario 2 --base 5` prints it.
"""

from __future__ import annotations

from operator import attrgetter

from workloads.jms2009ps.cases import CASES, NAME
from workloads.jms2009ps.claims import CLAIMS
from workloads.jms2009ps.digests import digest
from workloads.scenario.limits import SPEC_RULES
from workloads.scenario.workload import Workload

#: Printed before every result.
DISCLAIMER = (
    "This workload is derived from published papers on jms2009-PS and SPECjms2007; it is neither of these benchmarks, "
    "and its figures are not SPEC metrics. SPECjms2007 is a trademark of the Standard Performance Evaluation "
    "Corporation (SPEC). These results have not been reviewed or accepted by SPEC or by the authors of the papers: "
    "they may not be compared with any published SPEC result, and no performance relative to one may be inferred."
)

#: (section, required item, why the disclosure omits it: no run rules are published for this workload)
NOT_APPLICABLE: tuple[tuple[str, str, str], ...] = (
    ("all", "what is required of a submission", "there are no run rules for this workload, and no submissions"),
    ("4.1", "a JMS provider", "no JMS client; messages are bodies of bytes, whatever their type in the tables"),
)

WORKLOAD = Workload(
    name=NAME,
    subject="supply chain over publish/subscribe",
    disclaimer=DISCLAIMER,
    figure="publish/subscribe BASE ({topology})",  # must not have the name of a SPEC metric
    rules=SPEC_RULES,
    source="Sachs, Appel et al. 2010; Sachs et al. 2009; run and reporting rules, section 3.6.1",
    provenance=(
        "The workload is derived from Sachs, Appel, Kounev, Buchmann, Benchmarking Publish/Subscribe-based Messaging "
        "Systems (2010), which has no run rules; it is judged by limits of the published run and reporting rules of "
        "SPECjms2007, and has not been reviewed by their authors or by SPEC."
    ),
    cases=CASES,
    digest=digest,
    deviations=None,
    not_applicable=NOT_APPLICABLE,
    configuration=attrgetter("configuration"),
    claims=CLAIMS,
)
