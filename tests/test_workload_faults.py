"""A user's own command against a broker that is wrong in two ways: exactly the right tests fail, and name the place.

All of it is real: the engine's load on the suite's test broker, the records, the audit, what stands on the screen, the
disclosures and the exit code. What the broker did is known from its own truth, and where it did it from the records.
Other faults are seen in what a load records (test_case_run.py), and planted in records that are audited
(tests/analysis/scenario).
"""

from __future__ import annotations

import re

import pytest

from tests.conftest import read_json, table_rows
from tests.support.sessions import PYTEST, command
from workloads.scenario import limits
from workloads.scenario.execution import Execution
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.topology import Location

#: A cell of 24 s, most of it waiting.
pytestmark = pytest.mark.brokers

#: Each supermarket has a distribution centre of its own, and starts an execution every other second: what is cut off in
#: the last second of the measurement holds up nobody else. Of 288 executions five messages that nobody sends are 0.3 %;
#: a busy host may hold back the rest for more than a second before the counts leave their 5 %.
CHAINS = """
[locations]
supermarkets = { per_base = 2.4 }
distribution_centres = { per_base = 2.4 }
headquarters = 1

[interaction_1]
rate_per_s = 0.5
"""

#: A chain has six copies and three transactions that answer. The order of the 276th of some 288 chains is lost, and the
#: first of the three is cut in the next chain: the one that lost its order has none.
BROKER = "reference:lose=1651,cut=826"

#: Each test that fails, and where the broker's truth counts what it did.
FAULTS = {limits.DELIVERY: ("messages", "lost"), limits.CHAINS: ("transactions", "cut")}

PUBLISHED = (limits.INPUT_RATE, limits.SENT, limits.RECEIVED, limits.PACING, limits.DELIVERY_TIME, limits.DELIVERY)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """The broker in a session, with everything after it that a user gets."""
    folder = tmp_path_factory.mktemp("faults")
    file = folder / "chains.toml"
    file.write_text(CHAINS)
    lengths = ("--warmup-seconds", "0", "--measurement-seconds", "24", "--drain-seconds", "2")
    words = ("-k", "specjms2007 and freeform", "--base", "10", *lengths, "--freeform", str(file), "--broker", BROKER)
    return command(*PYTEST, "workloads", *words, results=folder / "results")


@pytest.fixture(scope="module")
def seen(session):
    return Seen(session)


class Seen:
    """The cell: its disclosure, what stands on the screen, the records, and the broker's truth."""

    def __init__(self, session):
        self.run, self.screen = session.run, session.output
        self.disclosure = read_json(self.run / "disclosure.json")
        self.key = {name: value for name, value in self.disclosure["test_info"]["cell"].items() if name != "run"}
        (self.plan,) = read_json(self.run / "plan.json")["cells"]
        (truth,) = self.run.glob("brokers/*/truth.json")
        self.truth = read_json(truth)

    def rows(self, table):
        return table_rows(self.run, table, **self.key)

    def audit(self, verdict):
        return [row for row in self.disclosure["audit"] if row["verdict"] == verdict]

    def producer(self, number):
        one = next(one for one in (*self.plan["handlers"], *self.plan["drivers"]) if one["number"] == number)
        return f"{one['place']} {self.plan['steps'][one['step']]}"

    def message(self, row):
        """As the audit names it."""
        kind = "handler" if row["producer"] < len(self.plan["handlers"]) else "driver"
        return f"message {row['position']} of the {kind} {self.producer(row['producer'])}, {execution(row)}"

    def consumers(self, address):
        return [one["number"] for one in self.plan["handlers"] if address in one["addresses"]]


def execution(row):
    one = Execution.of(row["execution"])
    origin = Location(INTERACTIONS[one.interaction].starter.role, one.origin)
    return f"execution {one.number} of interaction {one.interaction} at {origin}"


# Where a fault was done, by the records alone: the place, and words that name the message or the execution.


def lost(seen):
    got = {(row["producer"], row["position"], row["handler"]) for row in seen.rows("received")}
    ((row, handler),) = (
        (row, handler)
        for row in seen.rows("sent")
        for handler in seen.consumers(row["address"])
        if row["settled_ns"] is not None  # the answer of a transaction that was cut is not
        and (row["producer"], row["position"], handler) not in got
    )
    return seen.producer(handler), seen.message(row)


def unanswered(seen):
    (row,) = (row for row in seen.rows("received") if row["settled_ns"] is None)
    interaction = Execution.of(row["execution"]).interaction
    taken = seen.plan["steps"][row["step"]]
    answer = next(
        step.message for step in INTERACTIONS[interaction].steps if step.after == taken and step.mode.transacted
    )
    return f"interaction {interaction}", f"{execution(row)}: {answer} was not sent"


WHERE = {limits.DELIVERY: lost, limits.CHAINS: unanswered}


def test_exactly_the_right_tests_fail_and_name_the_place(seen):
    """A row for each fault fails, at the place and with the message or the execution that the records have, and counts
    what the broker's own truth says that it did, once; all others pass, or say why they are not judged: 24 seconds do
    not show a steady state. A lost order and five messages that nobody sent for it are one missing message.
    """
    failed = {row["test"]: row for row in seen.audit("fail")}
    places = {rule.name: where(seen) for rule, where in WHERE.items()}

    assert {test: row["scope"] for test, row in failed.items()} == {test: scope for test, (scope, _) in places.items()}
    assert len(seen.audit("fail")) == len(FAULTS)
    for rule, (part, name) in FAULTS.items():
        row = failed[rule.name]
        assert places[rule.name][1] in row["why"]
        assert row["observed"] == seen.truth[part][name] == 1
    unjudged = seen.audit("not judged")
    assert {row["test"] for row in unjudged} <= {"steady throughput", "steady backlog", "delivery time"}
    assert all(row["why"] for row in unjudged)
    assert {rule.name for rule in PUBLISHED} <= {row["test"] for row in seen.audit("pass")} | set(failed)
    assert seen.disclosure["test_info"]["verdict"] == "invalid"


def test_the_screen_names_them(seen):
    """A line of the table fails for each; the row stands below it with its reason, the first again beside the
    verdict."""
    failed = seen.audit("fail")
    lines = seen.screen.splitlines()
    numbers = [number for number, line in enumerate(lines) if line.endswith("  fail")]

    assert len(numbers) == len(failed)
    for row in failed:
        (number,) = (number for number in numbers if lines[number].startswith(f"{row['test']}  "))
        assert row["scope"] in " ".join(lines[number].split())
        assert row["why"] in " ".join(line.strip() for line in lines[number + 1 : number + 4])
    assert "verdict: invalid - a test of the audit failed" in seen.screen
    first = failed[0]
    assert f"first to fail: {first['test']}, {first['scope']}: {first['why']}" in seen.screen


def test_the_exit_code_says_so(session):
    """A case fails by itself where something does not come."""
    assert session.code == 1
    assert re.findall(r"^FAILED \S+\[(\S+)-s1-", session.output, re.MULTILINE) == [BROKER]
