"""The run rules as rows: a run that keeps them all has no deviation, and each departure has its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.messaging import DestinationKind
from workloads.scenario.deviations import Conduct
from workloads.scenario.model import Consumption
from workloads.scenario.periods import Period
from workloads.specjms2007.rules import DEVIATIONS

LENGTHS = {Period.WARM_UP: 600.0, Period.MEASUREMENT: 1800.0, Period.REPEAT: 1800.0, Period.KILLED: 0.0}
BOTH = frozenset((DestinationKind.QUEUE, DestinationKind.TOPIC))
KEPT = Conduct(
    published=True, one_host=False, by_url=False, reference=False, store="sync=always: synced", synced=True,
    atomic=True, killed=False, lengths_s=LENGTHS, consumption=Consumption.STRICT, transactions=Transactions.FULL,
    arrivals=ArrivalProcess.CONSTANT, transacted=True, kept=BOTH, crash_marked=BOTH,
)  # fmt: skip


def said(run: Conduct) -> list[str]:
    return [str(row).format(run=run) for row in DEVIATIONS if row.applies(run)]


def test_a_run_that_keeps_the_rules_has_no_deviation():
    """Of a run that is only about recovery the rules ask for no lengths."""
    assert said(KEPT) == []
    assert said(replace(KEPT, killed=True, lengths_s=dict.fromkeys(Period, 0.0))) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"one_host": True}, "clients and server share one host (section 3.9)"),
        (
            {"lengths_s": {**LENGTHS, Period.WARM_UP: 599.6}},
            "the warm-up of 600 s is shorter than 600 s (section 3.1)",
        ),
        (
            {"lengths_s": {**LENGTHS, Period.MEASUREMENT: 1790.0}},
            "the measurement of 1790 s is shorter than 1800 s (section 3.1)",
        ),
        ({"lengths_s": {**LENGTHS, Period.REPEAT: 0.0}}, "no repeated measurement (section 3.4)"),
        (
            {"lengths_s": {**LENGTHS, Period.REPEAT: 1700.0}},
            "the repeated measurement is shorter than the first (section 3.4)",
        ),
        (
            {"transactions": Transactions.SEND_ONLY},
            "messages consumed in a transaction are acknowledged outside it (sections 4.2.2 and 4.3)",
        ),
        ({"transactions": Transactions.NONE}, "there are no transactions (sections 4.2.2 and 4.3)"),
        (
            {"atomic": False},
            "a COMMIT is confirmed before the queues have its messages, and may take effect in part (section 4.3)",
        ),
        (
            {"consumption": Consumption.RELAXED},
            "a message may be delivered before the previous one is acknowledged (section 4.2.1)",
        ),
        (
            {"synced": None, "store": "not known whether synced"},
            "persistent messages may be confirmed before they are on disk: not known whether synced (section 5.1)",
        ),
        (
            {"crash_marked": frozenset((DestinationKind.QUEUE,))},
            "topic redeliveries after a crash lack the redelivered flag (section 4.2.2)",
        ),
        (
            {"crash_marked": frozenset()},
            "queue and topic redeliveries after a crash lack the redelivered flag (section 4.2.2)",
        ),
        (
            {"by_url": True},
            "the broker was given by its URL: its host, configuration and store are not known (section 6.1)",
        ),
        ({"reference": True}, "the suite's own test broker is not a product (section 2.4)"),
        (
            {"published": False},
            "neither of the two controlled topologies with all seven interactions (section 1.6)",
        ),
        ({"arrivals": ArrivalProcess.POISSON}, "starts are drawn at random, not paced (section 3.6.1)"),
    ],
)
def test_every_departure_has_its_own_words_and_section(changes, words):
    """One row applies, and no other."""
    assert said(replace(KEPT, **changes)) == [words]


@pytest.mark.parametrize(
    "changes",
    [
        {"transacted": False, "transactions": Transactions.NONE, "atomic": False},
        {"kept": frozenset(), "synced": False, "crash_marked": frozenset()},
    ],
)
def test_what_no_message_needs_is_no_deviation(changes):
    """Without transacted or persistent messages nothing is asked of transactions or of the store."""
    assert said(replace(KEPT, **changes)) == []
