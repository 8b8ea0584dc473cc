"""The limits of the audit of a business workload, one row per test, fixed before any result is seen.

Sources are sections of the run and reporting rules of SPECjms2007; other workloads use the same limits. Where the rules
state a requirement without a number, the number here is a choice, and its row gives the reason.
"""

from __future__ import annotations

from workloads.limits import Rule

#: Title of the document from which most limits are taken.
SPEC_RULES = "run and reporting rules of SPECjms2007"


def section(number: str, more: str = "") -> str:
    """The source of a limit: a section of the run rules, and a remark."""
    return f"{SPEC_RULES}, section {number}" + (f"; {more}" if more else "")


# The five tests of the published audit (section 3.6), in its order; the count test is split into sent and received.
INPUT_RATE = Rule("input rate", 0.05, "relative deviation from the model's rate, at most", section("3.6.1"))
SENT = Rule("messages sent", 0.05, "relative deviation from the model, at most", section("3.6"))
RECEIVED = Rule("messages received", 0.05, "relative deviation from the model, at most", section("3.6"))
PACING = Rule(
    "pacing misses",
    0.20,
    "of an interaction's starts, at most",
    section("3.6", "it gives no tolerance: here a start that is more than one mean gap of its driver late is a miss"),
)
DELIVERY_TIME = Rule(
    "delivery time", 5000, "ms, 90th percentile of each event handler, at most", section("3.6.2", "on or under")
)
DELIVERY = Rule("everything received", 0, "copies missing after the drain, at most", section("3.6.3"))

# Further conditions without which the published tests are meaningless.
DUPLICATES = Rule("no duplicates", 0, "duplicate deliveries, at most", section("4.2"))
ORDER = Rule("order", 0, "copies received after a later message of the same producer, at most", section("4.2"))
LOCATION = Rule("no misdelivery", 0, "copies at a handler that does not hear their address, at most", section("4.2"))
CONTENT = Rule(
    "content",
    0,
    "messages that differ from the model or from what was sent, at most",
    "the model's sizes, and section 4.2",
)
STARTS = Rule(
    "no missing injections",
    0,
    "executions missing in the sequence of their driver, at most",
    "the audit's own: 0, 1, 2, ...",
)
CHAINS = Rule(
    "executions complete",
    0,
    "executions with a message that was never sent, though none was lost, at most",
    "the audit's own: the messages of the model, execution by execution",
)
SURPLUS = Rule(
    "no unexpected messages",
    0,
    "executions with more messages than the model has, though none was duplicated, at most",
    "the audit's own: the messages of the model, execution by execution",
)
CLOCK = Rule("clocks", 100, "ms between two nodes, at most", section("3.2"))

# Section 3.3 asks for a steady state without giving a limit.
LEVEL = Rule(
    "steady throughput",
    0.05,
    "relative deviation of the last third of the warm-up from the period, at most",
    section("3.3", "the 5 % are those of the input rate: the throughput may vary as much as the load"),
)
WARM_UP_SHARE = 1 / 3
BACKLOG = Rule(
    "steady backlog",
    0.01,
    "growth in copies per second, as a share of those received per second, at most",
    section("3.3", "a broker that falls behind by 1 % keeps 18 s worth of messages after the official 30 min"),
)
#: Fewer seconds than these show no trend.
BACKLOG_SECONDS = 20
REPEATED = Rule("repeat", 0, "tests that the repeated period fails, at most", section("3.4"))

#: A test of a sample is only judged if three standard deviations are within its limit, so that chance cannot decide it.
DEVIATIONS = 3

# Subscriptions that come and go. Which copies one of them must, may and must not get follows from the receipts of
# SUBSCRIBE, UNSUBSCRIBE and SEND; see `analysis.scenario.copy_classes`.
_OWN = "the audit's own"
#: A message that was confirmed less than this before an UNSUBSCRIBE was written may be dropped by the broker: it may
#: still be on its way within the broker.
LEAVE_MARGIN_NS = 1_000_000_000
JOINS = Rule("joins", 0.05, "relative deviation from the plan, at most", section("3.6.1", "as the input rate"))
LEAVES = Rule("leaves", 0.05, "relative deviation from the plan, at most", section("3.6.1", "as the input rate"))
#: Fewer joins or leaves than these are not judged.
FEWEST_CHANGES = 20
CHURN_PACING = Rule(
    "pacing of joins and leaves",
    0.20,
    "of the joins and leaves of a population, at most",
    section("3.6", "as pacing misses: later than one mean gap between the joins of two members"),
)
COPIES = Rule(
    "copies of members",
    0,
    "copies outside of those that must and may come, at most",
    f"{_OWN}: a copy that another test counts is counted there",
)
#: With more copies that may come than this share of all that must or may, their number says too little.
MOST_UNCERTAIN = 0.02
STANDING = Rule(
    "subscriptions standing",
    0.01,
    "relative deviation of the average over the period from the plan, at most",
    f"{_OWN}: from the receipt of SUBSCRIBE to the writing of UNSUBSCRIBE",
)
SERVED = Rule("joined, and missing", 0, "copies missing that a subscription must get, at most", section("3.6.3"))
HOLES = Rule(
    "no holes",
    0,
    "copies missing though the subscription got a later one of the same producer, at most",
    section("3.6.3", "of messages after the receipt of SUBSCRIBE; the later one shows that the subscription stood"),
)
LEFT = Rule(
    "left, and still served",
    0,
    "copies of messages sent after the receipt of UNSUBSCRIBE or confirmed before SUBSCRIBE, at most",
    _OWN,
)
WRONG_KEY = Rule("no wrong key", 0, "copies at a subscription that does not have their key, at most", section("4.2"))
RECEIPTS = Rule("receipts", 0, "receipts of SUBSCRIBE, UNSUBSCRIBE and SEND that never came, at most", _OWN)
SESSIONS = Rule("sessions", 0, "sessions that did not connect, subscribe and send what was planned, at most", _OWN)
PLAN_KEPT = Rule("plan kept", 0, "subscriptions that are not those of the plan, at most", _OWN)
JOIN_TIME = Rule(
    "join and leave latency",
    5000,
    "ms, 90th percentile from SUBSCRIBE or UNSUBSCRIBE to its receipt, at most",
    section("3.6.2", "that of the delivery time: nothing is published for subscriptions"),
)

# The memory that a subscription leaves in the broker when it has gone.
LEFT_BEHIND = Rule(
    "memory of departed subscriptions",
    0.05,
    "of the memory of a subscription, at most, where the interval excludes 0",
    f"{_OWN}: after twenty times as many departures as subscriptions stand, a broker would hold twice the memory",
)
#: A measured period below this is too short for it: the heap after collections varies by more.
TELLING_MEMORY_S = 600.0
