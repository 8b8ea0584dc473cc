"""Logistics: few messages, many subscriptions, and subscribers that come and go with the shipments they track.

The entities, rates and lives are those of Appel and Sachs, in two profiles (`profiles`): their table as it is printed,
and with its contradictions resolved. `dimensions` scales it, `laws` says what happens to every shipment and when,
`traffic` has the message types, `figures` computes what a size amounts to, `compiled` is the model for load and audit;
`python -m workloads.logistics --profile corrected --base 1` prints it.
"""

from __future__ import annotations

from workloads.logistics.cases import CASES, COMPRESSION, NAME, PRESETS, SETTINGS
from workloads.logistics.compiled import TRACKING, compression, quantities, ramp_s, replaced_after_s
from workloads.logistics.digests import digest
from workloads.logistics.figures import flows
from workloads.logistics.traffic import CONFIRMATION
from workloads.scenario.limits import SPEC_RULES
from workloads.scenario.workload import Workload

#: Printed before every result.
DISCLAIMER = (
    "This workload is derived from a published paper on a logistics workload for event notification middleware, which "
    "has neither an implementation nor run rules; sizes, laws and scaling are choices of this suite. These results "
    "have not been reviewed by the authors of the paper."
)

#: (section, required item, why the disclosure omits it: no run rules are published for this workload)
NOT_APPLICABLE: tuple[tuple[str, str, str], ...] = (
    ("all", "what is required of a submission", "there are no run rules for this workload, and no submissions"),
    ("4.1", "a JMS provider", "no JMS client; messages are bodies of bytes of sizes chosen by this suite"),
)

WORKLOAD = Workload(
    name=NAME,
    subject="logistics with subscribers that come and go",
    disclaimer=DISCLAIMER,
    figure="logistics compression ({topology})",
    figure_value=compression,
    rules=SPEC_RULES,
    source="Appel, Sachs, A Logistics Workload for Event Notification Middleware, sections 4.2 to 4.6",
    provenance=(
        "The workload is derived from Appel, Sachs, A Logistics Workload for Event Notification Middleware, which has "
        "no run rules; it is judged by limits of the published run and reporting rules of SPECjms2007 and by the "
        "suite's own for subscriptions, and has not been reviewed by their authors or by SPEC."
    ),
    cases=CASES,
    digest=digest,
    deviations=None,
    not_applicable=NOT_APPLICABLE,
    default_base=1,
    settings=SETTINGS,
    presets=PRESETS,
    searched=COMPRESSION,
    constant_because="the stages of a shipment follow its begin, so that no start can be drawn at random",
    least_warm_up_s=ramp_s,
    flows=flows,
    apart=quantities,
    replaced_after_s=replaced_after_s,
    announced=lambda _: {TRACKING: CONFIRMATION},
)
