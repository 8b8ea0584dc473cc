"""Subscribers that come and go, on a broker that is wrong about them in one way: exactly the right test fails.

As in test_workload_faults.py all of it is real, and what the broker did is known from its own truth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.conftest import read_json
from tests.support.sessions import PYTEST, command
from workloads.limits import Rule
from workloads.scenario import limits

#: Cells of some 20 s each, and an audit of all of them.
pytestmark = [pytest.mark.brokers, pytest.mark.slow]

SOUND = "reference"


@dataclass(frozen=True)
class Planted:
    """A fault: the only test that fails, and for whom; part of the broker's truth; whether it counts each copy.

    Of the copies that a subscription missed or got too many, the broker does not know which may come or may not.
    `or_also`: for whom the test may fail as well, where it depends on the order in which members come.
    """

    rule: Rule
    scope: str
    truth: tuple[str, str]
    exact: bool = True
    or_also: str | None = None


#: A cell has some 50,000 copies, 150 joins of subscriptions and as many leaves, 3,100 more leaves at its end, and five
#: sessions.
FAULTS = {
    "reference:lose=30011": Planted(limits.SERVED, "shipments", ("messages", "lost")),
    "reference:duplicate=30011": Planted(limits.DUPLICATES, "shipments", ("messages", "duplicated")),
    "reference:misroute=30011": Planted(limits.WRONG_KEY, "shipments", ("messages", "misdelivered")),
    "reference:swap=30011": Planted(limits.ORDER, "shipments", ("messages", "reordered")),
    "reference:early=2@1500ms": Planted(limits.SERVED, "shipments", ("churn", "missed"), False, "sessions"),
    "reference:linger=2@2s": Planted(limits.LEFT, "shipments", ("churn", "unwanted"), exact=False),
    "reference:mute=3000": Planted(limits.RECEIPTS, "UNSUBSCRIBE of shipments", ("churn", "muted")),
    "reference:refuse=2": Planted(limits.SESSIONS, "sessions", ("churn", "refused")),
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """All brokers in one session; of two vehicles, so that there are positions that a subscription must not get."""
    lengths = ("--warmup-seconds", "2", "--measurement-seconds", "14", "--drain-seconds", "5")
    brokers = [word for broker in (SOUND, *FAULTS) for word in ("--broker", broker)]
    words = ("workloads", "-k", "logistics and corrected", "--vehicles", "2", *lengths, *brokers)
    return command(*PYTEST, *words, results=tmp_path_factory.mktemp("faults") / "results")


@pytest.fixture
def seen(session):
    """The audit of one broker's cell by verdict, and its truth."""

    def found(broker):
        (disclosure,) = (
            each
            for each in map(read_json, session.run.glob("disclosure*.json"))
            if each["test_info"]["cell"]["broker"] == broker
        )
        name = re.sub(r"[^a-z0-9.-]", "_", broker)
        truth = read_json(session.run / "brokers" / f"{name}-01" / "truth.json")
        return [row for row in disclosure["audit"] if row["verdict"] == "fail"], truth

    return found


def test_a_sound_broker_fails_no_test(seen):
    """The control: the same load without a fault."""
    assert seen(SOUND)[0] == []


@pytest.mark.parametrize("broker", FAULTS)
def test_exactly_the_right_test_fails(seen, broker):
    """Its number is what the broker's truth says, and it names a subscription, a member or a message."""
    planted = FAULTS[broker]
    failed, truth = seen(broker)

    assert {row["test"] for row in failed} == {planted.rule.name}
    assert [row["scope"].split(",")[0] for row in failed] in ([planted.scope], [planted.scope, planted.or_also])
    part, name = planted.truth
    observed = sum(row["observed"] for row in failed)
    assert 0 < observed <= truth[part][name]
    assert observed == truth[part][name] or not planted.exact
    for row in failed:
        assert re.search(r"(message|member|subscription|session) \d+", row["why"])
