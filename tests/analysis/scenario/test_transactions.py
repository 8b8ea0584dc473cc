"""What a transaction holds together is each broker's own, also where several were run from one plan."""

import pytest

from analysis.scenario.deviations import deviations
from tests.analysis.scenario.conftest import unaudited
from tests.support.scenario_runs import workload_run
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
