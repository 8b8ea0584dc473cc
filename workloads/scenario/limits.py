"""The limits by which a run of a business workload is judged, as rows, fixed before any result is seen.

Sources are sections of the run and reporting rules of SPECjms2007; other workloads borrow these limits. Where the rules
say what must hold and give no number, the number here is a choice, and its row says why.
"""

from __future__ import annotations

from workloads.limits import Rule

#: Title of the rules that most limits come from.
SPEC_RULES = "run and reporting rules of SPECjms2007"


def section(number: str, more: str = "") -> str:
    """The source of a limit that the rules have."""
    return f"{SPEC_RULES}, section {number}" + (f"; {more}" if more else "")


# The five tests of the published audit (section 3.6), in its order; the count test is two, sent and received apart.
INPUT_RATE = Rule("input rate", 0.05, "relative deviation from the topology's rate, at most", section("3.6.1"))
SENT = Rule("messages sent", 0.05, "relative deviation from the model, at most", section("3.6"))
RECEIVED = Rule("messages received", 0.05, "relative deviation from the model, at most", section("3.6"))
PACING = Rule(
    "pacing misses",
    0.20,
    "of an interaction's starts, at most",
    section("3.6", "it gives no tolerance: here a start misses that is more than one mean gap of its driver late"),
)
DELIVERY_TIME = Rule(
    "delivery time", 5000, "ms, 90th percentile of each event handler, at most", section("3.6.2", "on or under")
)
DELIVERY = Rule("everything received", 0, "copies missing after the drain, at most", section("3.6.3"))

# What else must be right for the published tests to mean anything.
DUPLICATES = Rule("no duplicates", 0, "copies that came again, at most", section("4.2"))
ORDER = Rule("order", 0, "copies that came behind a later one of their producer, at most", section("4.2"))
LOCATION = Rule(
    "right location", 0, "copies at a handler that has not subscribed to their destination, at most", section("4.2")
)
CONTENT = Rule(
    "content", 0, "messages not as the tables or their sender have them, at most", "the model's sizes, and section 4.2"
)
STARTS = Rule(
    "no start left out", 0, "executions missing in their driver's row, at most", "the audit's own: 0, 1, 2, ..."
)
CHAINS = Rule(
    "chains ended",
    0,
    "executions with a message that nobody sent, though nothing was lost, at most",
    "the audit's own: the tables of section 2.3 of Sachs et al. 2009, execution by execution",
)
SURPLUS = Rule(
    "no surplus answers",
    0,
    "executions with a message too many, though nothing came twice, at most",
    "the audit's own: the tables of section 2.3 of Sachs et al. 2009, execution by execution",
)
CLOCK = Rule("clocks", 100, "ms between two nodes, at most", section("3.2"))

# Section 3.3 asks for a steady state, and gives no limit.
LEVEL = Rule(
    "steady throughput",
    0.05,
    "relative deviation of the last third of the warm-up from the period, at most",
    section("3.3", "the 5 % are those of the input rate: what the load may vary by, its throughput may"),
)
WARM_UP_SHARE = 1 / 3
BACKLOG = Rule(
    "steady backlog",
    0.01,
    "copies per second by which it grows, of those received per second, at most",
    section("3.3", "a broker that falls behind by 1 % keeps 18 s worth of messages after the official 30 min"),
)
#: Fewer seconds than these show no trend.
BACKLOG_SECONDS = 20
REPEATED = Rule("repeat", 0, "tests that the repeated period fails, at most", section("3.4"))

#: A test of a sample is only made where chance could not decide it: three standard deviations are within its limit.
DEVIATIONS = 3

# A broker that was killed (sections 4.2 and 4.3).
RECOVERY = Rule("recovery", 900, "s until all stored messages were back, at most", section("4.2.3"))
REDELIVERED = Rule("redelivered flag", 0, "copies that came again without it, at most", section("4.2.2"))
ATOMIC = Rule("whole transactions", 0, "transactions of which a part took effect, at most", section("4.3"))
