"""What a transaction holds together is each broker's own, also where several were run from one plan."""

from dataclasses import replace

import pytest

from analysis.scenario import pipeline
from analysis.scenario.deviations import deviations
from tests.analysis.scenario.conftest import LENGTHS, SMALL, unaudited
from tests.support.scenario_runs import workload_run
from workloads.scenario import limits
from workloads.supply_chain.topology import vertical


def opened(path, interaction, **capabilities):
    """The run of an interaction alone on a broker that can do this."""
    run = workload_run(vertical(1).only(interaction))
    run.manifest["brokers"]["activemq"]["capabilities"] |= capabilities
    return unaudited(run, path)


def test_transactions_are_those_of_the_broker(tmp_path):
    """The cell has its broker's transactions, whatever the plan says, which all brokers of a run share."""
    cell = opened(tmp_path, 4, transactions="send-only").cell

    assert cell.run.plan(cell.key).transactions == "full"
    assert cell.plan.transactions == "send-only"


@pytest.mark.parametrize(
    ("interaction", "capabilities", "deviates"),
    [(4, {"atomic": False}, True), (4, {"atomic": True}, False), (4, {}, False), (5, {"atomic": False}, False)],
)
def test_a_commit_that_promises_less(interaction, capabilities, deviates, tmp_path):
    """A broker that may die in the middle of a transaction deviates from the rules, where there are transactions."""
    said = [text for text in deviations(opened(tmp_path, interaction, **capabilities)) if "COMMIT" in text]

    assert bool(said) is deviates
    assert all(text.endswith("(section 4.3)") for text in said)


def untransacted(topology):
    """The same messages, as persistent, without transactions."""
    return replace(
        topology,
        interactions={
            number: replace(each, script=replace(each.script, steps=tuple(map(_untransacted, each.script.steps))))
            for number, each in topology.interactions.items()
        },
    )


def _untransacted(step):
    return replace(step, mode=replace(step.mode, transacted=False))


@pytest.mark.brokers  # an analysis of its own
@pytest.mark.usefixtures("spark")
def test_a_killed_broker_without_transactions(tmp_path):
    """Nor has it one where a workload has no transactions, whatever the broker can do."""
    run = workload_run(untransacted(SMALL), lengths=LENGTHS, killed=True, delivery_ms=lambda _at_s: 400.0)
    run.manifest["brokers"]["activemq"]["capabilities"] |= {"transactions": "full"}
    (killed,) = run.rows("periods", period="killed")
    before = [row for row in run.tables["received"] if row["settled_ns"] and row["settled_ns"] < killed["begin_ns"]]
    last = max(before, key=lambda row: row["settled_ns"])
    again = killed["end_ns"] + 10**6
    run.tables["received"].append(
        last | {"arrival": 10**6, "received_ns": again, "settled_ns": again + 1, "redelivered": 1}
    )
    (result,) = pipeline.analysed([run.write(tmp_path / "run")], master="")

    assert limits.DUPLICATES not in {row.rule for row in result.failed}


@pytest.mark.parametrize(("cell", "fails"), [("settled-again", True), ("settled-again-outside", False)])
def test_an_acknowledgement_that_a_killed_broker_did_not_read(results, cell, fails):
    """Outside a transaction it has no receipt: the message comes again, flagged, and is settled a second time. Within
    one the receipt of COMMIT has said that it would not."""
    failed = {row.rule for row in results[cell].failed}

    assert (limits.DUPLICATES in failed) is fails
