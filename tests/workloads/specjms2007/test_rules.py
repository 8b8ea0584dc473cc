"""The run rules as rows: a run that keeps them all has no deviation, and each departure has its own."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.messaging import DestinationKind
from workloads.scenario.deviations import Conduct
from workloads.scenario.model import Consumption
from workloads.scenario.periods import Period
from workloads.specjms2007.rules import DEVIATIONS

LENGTHS = {Period.WARM_UP: 600.0, Period.MEASUREMENT: 1800.0, Period.REPEAT: 1800.0}
BOTH = frozenset((DestinationKind.QUEUE, DestinationKind.TOPIC))
KEPT = Conduct(
    published=True, one_host=False, by_url=False, reference=False, store="sync=always: synced", synced=True,
    atomic=True, lengths_s=LENGTHS, consumption=Consumption.STRICT, transactions=Transactions.FULL,
    arrivals=ArrivalProcess.CONSTANT, transacted=True, kept=BOTH, crash_marked=BOTH,
)  # fmt: skip


def said(run: Conduct) -> list[str]:
    return [str(row).format(run=run) for row in DEVIATIONS if row.applies(run)]


def test_a_run_that_keeps_the_rules_has_no_deviation():
    assert said(KEPT) == []


#: A departure from the rules, and what is said of it, with its section.
DEPARTURES = [
    ({"one_host": True}, r"one host \(section 3.9\)"),
    ({"lengths_s": {**LENGTHS, Period.WARM_UP: 599.6}}, r"warm-up of 600 s is shorter than 600 s \(section 3.1\)"),
    ({"lengths_s": {**LENGTHS, Period.MEASUREMENT: 1790.0}}, r"measurement of 1790 s .* than 1800 s \(section 3.1\)"),
    ({"lengths_s": {**LENGTHS, Period.REPEAT: 0.0}}, r"no repeated measurement \(section 3.4\)"),
    ({"lengths_s": {**LENGTHS, Period.REPEAT: 1700.0}}, r"shorter than the first \(section 3.4\)"),
    ({"transactions": Transactions.SEND_ONLY}, r"acknowledged outside it \(sections 4.2.2 and 4.3\)"),
    ({"transactions": Transactions.NONE}, r"no transactions \(sections 4.2.2 and 4.3\)"),
    ({"atomic": False}, r"a COMMIT .* may take effect in part \(section 4.3\)"),
    ({"consumption": Consumption.RELAXED}, r"before the previous one is acknowledged \(section 4.2.1\)"),
    ({"synced": None, "store": "not known"}, r"before they are on disk: not known \(section 5.1\)"),
    ({"crash_marked": frozenset((DestinationKind.QUEUE,))}, r"^topic redeliveries .* lack the .* \(section 4.2.2\)"),
    ({"crash_marked": frozenset()}, r"^queue and topic redeliveries after a crash lack .* \(section 4.2.2\)"),
    ({"by_url": True}, r"given by its URL.* \(section 6.1\)"),
    ({"reference": True}, r"test broker is not a product \(section 2.4\)"),
    ({"published": False}, r"neither of the two controlled topologies .* \(section 1.6\)"),
    ({"arrivals": ArrivalProcess.POISSON}, r"drawn at random, not paced \(section 3.6.1\)"),
]


@pytest.mark.parametrize(("changes", "words"), DEPARTURES)
def test_every_departure_has_its_own_words_and_section(changes, words):
    """One row applies, and no other."""
    (found,) = said(replace(KEPT, **changes))
    assert re.search(words, found)


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
