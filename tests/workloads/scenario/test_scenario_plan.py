"""What is written down of a cell."""

from __future__ import annotations

from tests.support.records import through_json
from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.registry import WORKLOADS
from workloads.scenario.model import Consumption
from workloads.scenario.periods import LENGTHS
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.scenario.workload import CaseRequest
from workloads.specjms2007.cases import VERTICAL


def test_a_cells_entry_is_json_and_says_what_was_to_run():
    """Addresses with the copies of a message, handlers and drivers by number, and how the cell was run."""
    workload, request = WORKLOADS["specjms2007"], CaseRequest(5)
    model = VERTICAL.model(request)

    plan = ScenarioPlan.of(
        workload.name,
        workload.record("vertical", request),
        model,
        "vertical-b0005",
        consumption=Consumption.STRICT,
        transactions=Transactions.SEND_ONLY,
        arrivals=ArrivalProcess.CONSTANT,
        seed=3,
        length="short",
        lengths=LENGTHS["short"],
        repeat=True,
    )
    record = through_json(plan)

    assert set(record) == {
        *("experiment", "cell", "workload", "request", "consumption", "transactions", "arrivals", "seed"),
        *("lengths", "repeat", "steps", "destinations", "addresses", "handlers", "drivers", "populations"),
    }
    assert (record["experiment"], record["workload"], record["cell"]) == ("specjms2007",) * 2 + ("vertical-b0005",)
    assert (record["consumption"], record["transactions"], record["arrivals"]) == ("strict", "send-only", "constant")
    assert (record["seed"], record["repeat"]) == (3, True)
    assert record["request"] == {
        "base": 5,
        "own": {"source": "", "text": ""},
        "settings": {},
        "case": "vertical",
        "tables": workload.digest(),
    }
    assert record["lengths"] == {"name": "short", "warm_up_s": 30, "measurement_s": 90, "drain_s": 60}
    assert record["steps"] == [step.message for step in model.steps]
    assert len(record["destinations"]) == len(record["addresses"]) == 56 + 103
    assert record["destinations"][-1] == {"kind": "topic", "name": "bench.workload.HQ.creditCardHL"}
    assert record["addresses"][-1] == {
        "label": "HQ creditCardHL",
        "destination": 158,
        "properties": {},
        "copies": 10,
        "rejections": 0,
    }
    assert [one["number"] for one in record["handlers"] + record["drivers"]] == list(range(model.connections))
    assert set(record["handlers"][0]) == {
        *("number", "place", "sender", "step", "addresses", "subscriptions", "transacted", "durable")
    }
    assert set(record["drivers"][0]) == {"number", "place", "sender", "step", "rate_per_s"}
