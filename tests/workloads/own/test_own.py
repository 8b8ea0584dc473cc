"""Workloads of the user's own, run and judged as a user does it."""

from __future__ import annotations

import re
from functools import partial

import pytest

from analysis.spark import session
from tests.conftest import ROOT, read_json
from tests.support.requirements import require_broker
from tests.support.sessions import PYTEST, analysis, command, measured_within, side_by_side, within

OWN = ROOT / "workloads" / "own"
EXAMPLES = ("pipeline", "prices", "shop")


def words_of(example, broker, *words, warm_up_s=1, measurement_s=4):
    words = (*words, "--warmup-seconds", str(warm_up_s), "--measurement-seconds", str(measurement_s))
    return ("workloads", "--workload", str(OWN / f"{example}.toml"), "--base", "2", "--broker", broker, *words)


def run(example, broker, results, *words):
    return command(*PYTEST, *words_of(example, broker, *words), results=results)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_loses_nothing(example, tmp_path):
    """All that is sent is received before the drain ends."""
    words = words_of(example, "reference", "--no-analysis", warm_up_s=0, measurement_s=1)
    ended = measured_within(*words, results=tmp_path / "results")

    assert ended.code == 0, ended.output


#: The tests of the audit whose outcome does not depend on how busy the host is.
OF_EACH_MESSAGE = {
    *("everything received", "no duplicates", "order", "no misdelivery", "content"),
    *("no missing injections", "executions complete", "no unexpected messages"),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The run directory of each example on a real broker, all analysed by one Spark: what a session's own last item
    does with it test_workload_faults.py shows."""
    require_broker("activemq")
    folder = tmp_path_factory.mktemp("real")
    calls = {example: partial(run, example, "activemq", folder / example, "--no-analysis") for example in EXAMPLES}
    ended = side_by_side(calls)
    assert [each.output for each in ended.values() if each.code] == []
    with session("local[2]"):
        written = {name: analysis("report", each.run) for name, each in ended.items()}
    assert [each.stderr for each in written.values() if each.returncode] == []
    return {name: each.run for name, each in ended.items()}


def audit(run):
    return read_json(run / "disclosure.json")["audit"]


@pytest.mark.brokers
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_passes_its_audit_on_a_real_broker(example, judged):
    """Queues, topics with and without selectors, transactions, durable subscriptions, competing handlers: the audit
    knows who had to get which copy, and the report names the file's figure.
    """
    rows = audit(judged[example])

    assert {row["test"] for row in rows} >= OF_EACH_MESSAGE
    assert [row for row in rows if row["test"] in OF_EACH_MESSAGE and row["verdict"] != "pass"] == []
    assert f"BASE ({example})" in (judged[example] / "report.html").read_text(encoding="utf-8")


@pytest.mark.brokers
def test_a_killed_broker_keeps_what_it_confirmed(tmp_path):
    """Orders are persistent and outside transactions: a receipt tells those that the broker had promised to keep; the
    load goes on when the broker is back.
    """
    words = ("-k", "recoverability", "--repetitions", "1", "--workload", str(OWN / "shop.toml"))
    ended = command(*PYTEST, "workloads", *words, "--broker", "reference:store=file", results=tmp_path / "results")

    assert ended.code == 0, ended.output
    assert "kept every promise in 1 fault;" in ended.output
    assert "comparable only with results of the same file" in " ".join(
        (ended.run / "report.html").read_text(encoding="utf-8").split()
    )


@pytest.mark.brokers
def test_the_highest_base_is_searched(tmp_path):
    """A broker of 28 copies a second keeps up with one shop, which takes 20, and not with two, tried first."""
    ended = run("shop", "reference:cap=28", tmp_path / "results", "--find-base", "--drain-seconds", "3")

    assert re.search(r"BASE \(shop\) on reference:cap=28: 1 \(found\)", ended.output), ended.output


LOAD = ["test_own[activemq-s1-shop-b0005]"]
RECOVERABILITY = [f"test_recoverability[activemq-s{number}-shop-recoverability-b0005]" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("words", "collected"),
    [((), LOAD), (("-k", "shop"), LOAD), (("-k", "recoverability"), RECOVERABILITY)],
    ids=["alone", "by its name", "killed"],
)
def test_a_file_collects_its_own_cases_alone(words, collected):
    """Its load, or where that is named the same with a killed broker; no case of another workload."""
    said = within("workloads", "--workload", str(OWN / "shop.toml"), "--co", "-q", *words).output
    names = [line.rpartition("::")[2] for line in said.splitlines() if "::" in line]

    assert sorted(names) == sorted(collected)


def test_a_file_with_a_mistake_is_refused_before_a_broker_starts(tmp_path):
    """In one sentence, with its place."""
    file = tmp_path / "mine.toml"
    file.write_text((OWN / "shop.toml").read_text(encoding="utf-8").replace("bytes = 200", "bytes = -2"), "utf-8")
    ended = within("workloads", "--workload", str(file))

    assert ended.code == 4
    assert "mine.toml, line 18: [messages.confirmation]: bytes: expected whole numbers from 0 to 65536" in ended.output
    assert "Traceback" not in ended.output
