"""What a transaction holds together is each broker's own, also where several were run from one plan."""

from analysis.workload.load import cells, open_runs
from tests.workload_runs import workload_run
from workloads.specjms2007.topology import vertical


def test_transactions_are_those_of_the_broker(tmp_path):
    """The cell has its broker's transactions, whatever the plan says, which all brokers of a run share."""
    run = workload_run(vertical(1).only(4))
    (slot,) = run.manifest["schedule"]
    run.manifest["brokers"][slot["broker"]]["capabilities"]["transactions"] = "send-only"
    runs = open_runs([run.write(tmp_path / "run")])
    (key,) = runs[0].cells

    (cell,) = cells(runs, [key])

    assert runs[0].plan(key)["transactions"] == "full"
    assert cell.plan["transactions"] == "send-only"
