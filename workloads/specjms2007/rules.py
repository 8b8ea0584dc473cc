"""The run and reporting rules that are specific to this workload; the others are in `workloads.scenario.limits`."""

from __future__ import annotations

from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.scenario.deviations import ONE_HOST, Conduct, Deviation
from workloads.scenario.model import Consumption
from workloads.scenario.periods import Period


def _shorter(period: Period, least_s: float) -> Deviation:
    return Deviation(
        lambda run: run.lengths_s[period] < least_s,
        f"the {period} of {{run.lengths_s[{period}]:.0f}} s is shorter than {least_s:.0f} s",
        "section 3.1",
    )


def _repeats_less(run: Conduct) -> bool:
    return 0 < run.lengths_s[Period.REPEAT] < 0.999 * run.lengths_s[Period.MEASUREMENT]


#: What a run may do otherwise than the rules ask, in the order in which a result lists it.
DEVIATIONS = (
    ONE_HOST,
    _shorter(Period.WARM_UP, 600),
    _shorter(Period.MEASUREMENT, 1800),
    Deviation(lambda run: not run.lengths_s[Period.REPEAT], "no repeated measurement", "section 3.4"),
    Deviation(_repeats_less, "the repeated measurement is shorter than the first", "section 3.4"),
    Deviation(
        lambda run: run.transacted and run.transactions is Transactions.SEND_ONLY,
        "messages consumed in a transaction are acknowledged outside it",
        "sections 4.2.2 and 4.3",
    ),
    Deviation(
        lambda run: run.transacted and run.transactions is Transactions.NONE,
        "there are no transactions",
        "sections 4.2.2 and 4.3",
    ),
    Deviation(
        lambda run: run.transacted and not run.atomic,
        "a COMMIT is confirmed before the queues have its messages, and may take effect in part",
        "section 4.3",
    ),
    Deviation(
        lambda run: run.consumption is not Consumption.STRICT,
        "a message may be delivered before the previous one is acknowledged",
        "section 4.2.1",
    ),
    Deviation(
        lambda run: bool(run.kept) and not run.synced,
        "persistent messages may be confirmed before they are on disk: {run.store}",
        "section 5.1",
    ),
    Deviation(
        lambda run: bool(run.unmarked),
        "{run.unmarked} redeliveries after a crash lack the redelivered flag",
        "section 4.2.2",
    ),
    Deviation(
        lambda run: run.by_url,
        "the broker was given by its URL: its host, configuration and store are not known",
        "section 6.1",
    ),
    Deviation(lambda run: run.reference, "the suite's own test broker is not a product", "section 2.4"),
    Deviation(
        lambda run: not run.published,
        "neither of the two controlled topologies with all seven interactions",
        "section 1.6",
    ),
    Deviation(
        lambda run: run.arrivals is not ArrivalProcess.CONSTANT,
        "starts are drawn at random, not paced",
        "section 3.6.1",
    ),
)

#: (section, required item, why the disclosure omits it)
NOT_APPLICABLE: tuple[tuple[str, str, str], ...] = (
    ("2.1, 6.1.1.1", "submitter, SPEC licence, submission, review", "not a submission to SPEC and not a SPEC result"),
    ("3.7", "the benchmark's own binaries", "an independent implementation of the published tables, in Python"),
    ("4.1", "a JMS provider", "no JMS client; messages are bodies of bytes, whatever their type in the tables"),
    ("6.1.1.2, 6.1.4.3", "database server and its nodes", "the broker keeps messages in its own store"),
    ("6.1.1.2, 6.1.2", "client JVMs", "event handlers and drivers run in Python processes"),
    ("6.1.2", "JDBC product", "no database is used"),
    ("6.1.2, 6.1.3", "dates of availability, vendors", "not known to the suite; products have their versions"),
    ("6.2", "bill of materials, support", "nothing was bought for this run, and no price is part of its figure"),
    ("7.1.1", "provider module", "the load engine of this suite speaks the protocol itself"),
)  # fmt: skip
