"""The supply chain over freely chosen queues, topics and selectors: a configurable publish/subscribe workload.

The messages, parties, rates and sizes are those of `workloads.supply_chain`. What a configuration decides is how they
travel: 92 parameters (`parameters`), set by one of three scenarios (`scenarios`) or by a TOML file (`configuration`),
select the destination, the properties and the selectors of every message (`targets`). `figures` computes what this
amounts to; `python -m workloads.jms2009ps --scenario 2 --base 5` prints it.
"""

from __future__ import annotations

#: Printed before every result.
DISCLAIMER = (
    "This workload is derived from published papers on jms2009-PS and SPECjms2007; it is neither of these benchmarks, "
    "and its figures are not SPEC metrics. SPECjms2007 is a trademark of the Standard Performance Evaluation "
    "Corporation (SPEC). These results have not been reviewed or accepted by SPEC or by the authors of the papers: "
    "they may not be compared with any published SPEC result, and no performance relative to one may be inferred."
)
