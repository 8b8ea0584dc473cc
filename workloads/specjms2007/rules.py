"""The run and reporting rules that are specific to this workload; the others are in `workloads.scenario.limits`."""

from __future__ import annotations

from workloads.limits import Rule
from workloads.scenario.limits import section

WARM_UP = Rule("warm-up", 600, "s, at least", section("3.1"))
MEASUREMENT = Rule("measurement", 1800, "s, at least", section("3.1"))

#: (section, required item, why the disclosure omits it)
NOT_APPLICABLE: tuple[tuple[str, str, str], ...] = (
    ("2.1, 6.1.1.1", "submitter, SPEC licence, submission, review", "not a submission to SPEC and not a SPEC result"),
    ("3.7", "the benchmark's own binaries", "an independent implementation of the published tables, in Python"),
    ("4.1", "a JMS provider", "clients speak STOMP; messages are bodies of bytes, whatever their type in the tables"),
    ("6.1.1.2, 6.1.4.3", "database server and its nodes", "the broker keeps messages in its own store"),
    ("6.1.1.2, 6.1.2", "client JVMs", "event handlers and drivers run in Python processes"),
    ("6.1.2", "JDBC product", "no database is used"),
    ("6.1.2, 6.1.3", "dates of availability, vendors", "not known to the suite; products have their versions"),
    ("6.2", "bill of materials, support", "nothing was bought for this run, and no price is part of its figure"),
    ("7.1.1", "provider module", "STOMP is spoken directly, by the load engine of this suite"),
)  # fmt: skip
