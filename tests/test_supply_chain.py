"""The supply chain on real brokers, run and judged as a user does it: what is to pass passes the whole audit."""

from __future__ import annotations

import pytest

from tests.conftest import read_json
from tests.support.requirements import require_broker
from tests.support.sessions import PYTEST, command
from workloads.status import VerdictKind

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.brokers]

#: (topology, BASE, seconds of warm-up and of measurement): enough for 20 executions of the rarest interaction, for a
#: trend, and for the level of the warm-up's last third.
PASSING = [
    ("vertical", 10, 15, 41),
    ("vertical", 20, 15, 30),
    ("horizontal", 5, 15, 30),
    ("horizontal", 10, 15, 30),
    ("vertical", 1, 120, 400),
]


def disclosed(results, broker, topology, base, warm_up_s, seconds):
    """A run whose exit code says that its audit passed; its disclosure, and what stood on the screen."""
    words = ("-k", f"specjms2007 and {topology}", "--base", str(base), "--broker", broker)
    lengths = ("--warmup-seconds", str(warm_up_s), "--measurement-seconds", str(seconds))
    ended = command(*PYTEST, "workloads", *words, *lengths, results=results, limit_s=warm_up_s + seconds + 240)
    assert ended.code == 0, ended.output
    return read_json(ended.run / "disclosure.json"), ended.output


@pytest.mark.parametrize(("topology", "base", "warm_up_s", "seconds"), PASSING, ids=str)
def test_the_whole_audit_passes(topology, base, warm_up_s, seconds, tmp_path):
    """On ActiveMQ with strict acknowledgement and whole transactions: every row is judged, and none fails."""
    require_broker("activemq")
    said, _ = disclosed(tmp_path / "results", "activemq", topology, base, warm_up_s, seconds)

    assert said["figure"]["value"] == base
    assert said["test_info"]["verdict"] == VerdictKind.VALID
    assert (said["conduct"]["consumption"], said["conduct"]["transactions"]) == ("strict", "full")
    assert {row["verdict"] for row in said["audit"]} == {"pass"}


def test_a_broker_that_only_sends_in_transactions(tmp_path):
    """Artemis passes the audit as well; that it is not compliant is said, with the sections."""
    require_broker("artemis")
    said, screen = disclosed(tmp_path / "results", "artemis", "vertical", 10, 15, 41)

    assert said["figure"]["value"] == 10
    assert said["conduct"]["transactions"] == "send-only"
    assert not said["test_info"]["compliant"]
    assert "messages consumed in a transaction are acknowledged outside it (sections 4.2.2 and 4.3)" in screen
    assert "compliant: no" in screen
