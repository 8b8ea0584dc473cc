"""Why no result of this workload is compliant: it has no run rules, and borrows the limits of SPECjms2007's."""

from __future__ import annotations

from workloads.scenario.deviations import ONE_HOST, Deviation

#: Every run has the second, since there is nothing that it could comply with.
DEVIATIONS = (
    ONE_HOST,
    Deviation(
        lambda _: True, "no run rules are published for this workload: the limits are those of SPECjms2007", "section 3"
    ),
)

#: (section, required item, why the disclosure omits it)
NOT_APPLICABLE: tuple[tuple[str, str, str], ...] = (
    ("all", "what is required of a submission", "there are no run rules for this workload, and no submissions"),
    ("4.1", "a JMS provider", "clients speak STOMP; messages are bodies of bytes, whatever their type in the tables"),
)
