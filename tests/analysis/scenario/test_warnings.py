"""Warnings of a start: read from the manifest, listed in disclosure and report, and one line of the terminal's."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from analysis import record_reading
from analysis.errors import DataError
from analysis.report import scenario_page
from analysis.results import CellKey
from analysis.scenario import console
from analysis.scenario.disclosure import disclosure
from analysis.scenario.reader import warnings
from analysis.scenario.results import LoggedWarnings, Warnings
from tests.support import scenario_results as wr
from tests.support.pages import Page
from tests.support.scenario_runs import empty_run
from workloads.manifest import Manifest
from workloads.schema import Severity
from workloads.supply_chain.topology import vertical

LOG = "activemq-01/broker.log"
SLOW = {"severity": "warning", "text": "Store limit reached", "count": 3, "first": "2026-11-22T00:42:36.351Z"}
BROKEN = {"severity": "error", "text": "Failed <b>", "count": 1, "first": ""}
OVERFLOW = {"severity": "warning", "text": "RuntimeWarning: overflow", "count": 1, "first": "2026-11-22T00:42:37Z"}


def entry(*messages, broker="activemq", start=1, source=LOG, others=0, **changes):
    return {
        "broker": broker, "start": start, "source": source, "messages": list(messages), "others": others, **changes
    }  # fmt: skip


def read(*entries):
    """The warnings of the first start of a run whose manifest has these entries."""
    manifest = empty_run().manifest | {"warnings": list(entries)}
    run = SimpleNamespace(manifest=record_reading.read(Manifest, manifest, "run/manifest.json"))
    return warnings(run, CellKey("run", "activemq", 1, "specjms2007", "vertical-b0005"))


FOUND = Warnings(
    logged=True,
    messages=(
        LoggedWarnings(Severity.WARNING, "Store limit reached", 3, "2026-11-22T00:42:36.351Z", LOG),
        LoggedWarnings(Severity.ERROR, "Failed <b>", 1, "", LOG),
        LoggedWarnings(Severity.WARNING, "RuntimeWarning: overflow", 1, "2026-11-22T00:42:37Z", "load"),
    ),
    others=12,
)


def test_of_its_own_start():
    """A result has the warnings of its broker's start, of every life in it, and those of the load meanwhile."""
    other = (entry(BROKEN, start=2), entry(BROKEN, broker="artemis"))

    assert read(entry(SLOW, BROKEN, others=12), *other, entry(OVERFLOW, source="load")) == FOUND
    assert read(entry(SLOW), entry(source="activemq-01-life-2/broker.log")).messages == FOUND.messages[:1]


def test_a_log_that_is_not_known():
    """Of a broker that the suite did not start, and of an older run, nobody knows: that is no clean log."""
    assert read(entry()) == Warnings(logged=True)
    for unknown in (read(), read(entry(source="load"))):
        assert not unknown.logged
        assert "the broker's log is not known" in console.warnings(unknown)
    assert console.warnings(read(entry())) == "warnings: none"


@pytest.mark.parametrize(
    "damaged",
    [
        entry(others=None),
        entry(broker=7),
        entry({**SLOW, "severity": "fatal"}),
        entry({**SLOW, "count": "3"}),
        entry(messages={}),
        "warning",
    ],
)
def test_what_is_not_an_entry(damaged):
    """A manifest that was changed by hand is refused, with the place."""
    with pytest.raises(DataError, match=r"run/manifest\.json: warnings\[0\]"):
        read(damaged)


def test_one_line_of_the_terminal():
    """How many there are of which severity, and the worst of them; it stands in every summary and audit."""
    line = "warnings: 1 error and 4 warnings, 12 more not kept; activemq-01/broker.log: Failed <b>"
    result = replace(wr.result(vertical(5).only(4)), warnings=FOUND)

    assert console.warnings(FOUND) == line
    for text in (console.summary([result]), console.audit([result])):
        assert text.splitlines().count(line) == 1
    long = replace(FOUND, messages=(replace(FOUND.messages[0], text="x" * 20 + " word" * 100),))
    assert len(console.warnings(long)) <= 120


def test_the_whole_list():
    """Disclosure and report have every message that was kept, how often and when first, and how many were not."""
    result = replace(wr.result(vertical(5).only(4)), warnings=FOUND)
    said = disclosure(result)["warnings"]
    page = scenario_page.html([result])
    text = Page(page).text

    assert (said["logged"], said["others"]) == (True, 12)
    assert [(one["text"], one["count"], one["first"], one["source"]) for one in said["messages"]] == [
        (one.text, one.count, one.first, one.source) for one in FOUND.messages
    ]
    assert all(one.text in text for one in FOUND.messages)
    assert text.index("Failed <b>") < text.index("Store limit reached")
    assert "12 further distinct messages" in text
    assert "Failed <b>" not in page
    clean = Page(scenario_page.html([replace(result, warnings=Warnings(logged=True))])).text
    assert "None in the broker's log, and none from the load." in clean
