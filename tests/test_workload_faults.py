"""A user's own command against a broker that is wrong in one way: exactly the right test fails, and names the place.

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

#: Cells of 24 s each, most of it waiting.
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

#: A chain has six copies and three transactions that answer: these take the order of the 276th of some 288 chains, and
#: nothing else.
SOUND, LOSE, CUT = "reference", "reference:lose=1651", "reference:cut=826"

#: By the broker: the only test that fails, and where the broker's truth counts what it did.
FAULTS = {LOSE: (limits.DELIVERY, ("messages", "lost")), CUT: (limits.CHAINS, ("transactions", "cut"))}

PUBLISHED = (limits.INPUT_RATE, limits.SENT, limits.RECEIVED, limits.PACING, limits.DELIVERY_TIME, limits.DELIVERY)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """All brokers in one session, with everything after them that a user gets."""
    folder = tmp_path_factory.mktemp("faults")
    file = folder / "chains.toml"
    file.write_text(CHAINS)
    brokers = [word for broker in (SOUND, *FAULTS) for word in ("--broker", broker)]
    lengths = ("--warmup-seconds", "0", "--measurement-seconds", "24", "--drain-seconds", "2")
    words = ("workloads", "-k", "specjms2007 and freeform", "--base", "10", *lengths, "--freeform", str(file), *brokers)
    return command(*PYTEST, *words, results=folder / "results")


@pytest.fixture
def seen(session):
    """What there is of one broker, by its name."""
    return lambda broker: Seen(session, broker)


class Seen:
    """One broker's cell: its disclosure, what stands on the screen about it, the records, and the broker's truth."""

    def __init__(self, session, broker):
        self.run = session.run
        (self.disclosure,) = (
            one
            for one in map(read_json, self.run.glob("disclosure*.json"))
            if one["test_info"]["cell"]["broker"] == broker
        )
        self.key = {name: value for name, value in self.disclosure["test_info"]["cell"].items() if name != "run"}
        (self.plan,) = (one for one in read_json(self.run / "plan.json")["cells"] if one["cell"] == self.key["cell"])
        (self.screen,) = (
            part for part in re.split(r"\n(?=\S+ of \S+\n=+\n)", session.output) if f"\n{broker}: reference, " in part
        )
        name = re.sub(r"[^a-z0-9.-]", "_", broker)
        self.truth = read_json(self.run / "brokers" / f"{name}-01" / "truth.json")

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
        if (row["producer"], row["position"], handler) not in got
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


WHERE = {LOSE: lost, CUT: unanswered}


def test_a_sound_broker_fails_no_test(seen):
    """The control: the same load on the same broker without a fault passes what is judged; 24 seconds do not show a
    steady state, which the verdict says. The published tests are judged.
    """
    one = seen(SOUND)

    assert one.audit("fail") == []
    assert one.disclosure["test_info"]["verdict"] == "unverified"
    assert {row["test"] for row in one.audit("not judged")} <= {"steady throughput", "steady backlog", "delivery time"}
    assert {rule.name for rule in PUBLISHED} <= {row["test"] for row in one.audit("pass")}


@pytest.mark.parametrize("broker", FAULTS)
def test_exactly_the_right_test_fails_and_names_the_place(seen, broker):
    """One row fails, at the place and with the message or the execution that the records have, and counts what the
    broker's own truth says that it did, once; all others pass, or say why they are not judged. A lost order and five
    messages that nobody sent for it are one missing message.
    """
    rule, (part, name) = FAULTS[broker]
    one = seen(broker)
    scope, words = WHERE[broker](one)

    assert [(row["test"], row["scope"]) for row in one.audit("fail")] == [(rule.name, scope)]
    (row,) = one.audit("fail")
    assert words in row["why"]
    assert row["observed"] == one.truth[part][name] == 1
    assert all(row["why"] for row in one.audit("not judged"))
    assert {rule.name for rule in PUBLISHED} <= {row["test"] for row in (*one.audit("pass"), row)}
    assert one.disclosure["test_info"]["verdict"] == "invalid"


@pytest.mark.parametrize("broker", FAULTS)
def test_the_screen_names_it(seen, broker):
    """One line of the table fails; the row stands below it with its reason, and again beside the verdict."""
    one = seen(broker)
    (row,) = one.audit("fail")

    lines = one.screen.splitlines()
    (number,) = [number for number, line in enumerate(lines) if line.endswith("  fail")]
    assert lines[number].startswith(f"{row['test']}  ")
    assert row["scope"] in " ".join(lines[number].split())
    assert row["why"] in " ".join(line.strip() for line in lines[number + 1 : number + 4])
    assert "verdict: invalid - a test of the audit failed" in one.screen
    assert f"first to fail: {row['test']}, {row['scope']}: {row['why']}" in one.screen


def test_the_exit_code_says_so(session):
    """A case fails by itself where something does not come."""
    assert session.code == 1
    assert set(re.findall(r"^FAILED \S+\[(\S+)-s1-", session.output, re.MULTILINE)) == {LOSE, CUT}
