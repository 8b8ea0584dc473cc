"""One analysis of many recorded cells: each with one fault, or none; Spark is asked once for all of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from analysis.scenario import pipeline
from analysis.scenario.audit import AuditInput
from analysis.scenario.reader import cells, open_runs
from tests.support import scenario_runs as wr
from tests.support.scenario_runs import Fault, Planted
from workloads.arrivals import ArrivalProcess
from workloads.scenario.periods import Lengths
from workloads.supply_chain.interactions import Role
from workloads.supply_chain.topology import Topology, running

#: Chains of one, two and eight messages, queues and topics, persistent and not, at rates at which half a minute shows
#: everything: each driver starts 25 executions in the measurement.
SMALL = Topology(
    "small",
    1,
    {Role.SM: 2, Role.SP: 2, Role.DC: 1, Role.HQ: 1},
    running({1: Fraction(1), 2: Fraction(2), 4: Fraction(1), 6: Fraction(1)}),
    families=2,
    families_per_supplier=2,
)
LENGTHS = Lengths(warm_up_s=33, measurement_s=25, drain_s=20)

#: Faults that one cell has at the same time, each in a place of its own.
FAULTS = (
    Planted(Fault.LOSE, "order"),
    Planted(Fault.DUPLICATE, "offer"),
    Planted(Fault.MISROUTE, "orderConf", 3),
    Planted(Fault.REORDER, "inventoryInfo"),
    Planted(Fault.CUT, "shipDep", 9),
    Planted(Fault.DOUBLE, "pOrder", 9),
    Planted(Fault.SKIP, "inventoryInfo", 9),
    Planted(Fault.SWELL, "invoice"),
)
#: These are done to all messages of a type.
LATE = (Planted(Fault.LATE, "orderConf"), Planted(Fault.LAGGING, "inventoryInfo"))


def cell(topology=SMALL, **changes):
    return lambda run, name: wr.add_cell(run, topology, **{"lengths": LENGTHS, "cell": name, **changes})


def short(run, name):
    """Too short for most tests; the last message of each driver to the headquarters is never confirmed, nor comes."""
    cell(lengths=Lengths(warm_up_s=2, measurement_s=5, drain_s=20))(run, name)
    step = run.plans[-1]["steps"].index("inventoryInfo")
    last = {row["producer"]: row for row in run.rows("sent", cell=name, step=step)}
    for row in last.values():
        row["settled_ns"] = None
        copies = run.rows("received", cell=name, producer=row["producer"], position=row["position"])
        run.tables["received"] = [copy for copy in run.tables["received"] if copy not in copies]


#: By the cell's name: what records it.
MADE = {
    "perfect": cell(),
    "several": cell(planted=FAULTS),
    "late": cell(planted=LATE),
    "slow": cell(planted=[Planted(Fault.SLOW, "inventoryInfo")]),
    "flooded": cell(delivery_ms=lambda at_s: 5 + 150 * max(0.0, at_s - LENGTHS.warm_up_s)),
    "repeat": cell(repeat=True),
    "poisson": cell(arrivals=ArrivalProcess.POISSON),
    "shared": cell(replace(SMALL, handlers_per_queue=2)),
    "short": short,
    "filtered": cell(filtered=True),
    "leak": cell(filtered=True, planted=[Planted(Fault.LEAK, "callForOffers")]),
}


def unaudited(run, folder) -> AuditInput:
    """The only cell of a run, of which nothing is counted yet."""
    runs = open_runs([run.write(folder / "run")])
    (cell,) = cells(runs, runs[0].cells)
    return AuditInput(cell, None, {}, ())


@pytest.fixture(scope="package")
def recording(tmp_path_factory) -> Path:
    """A run directory with a cell for each of MADE."""
    run = wr.empty_run()
    for name, make in MADE.items():
        make(run, name)
    return run.write(tmp_path_factory.mktemp("workload") / "run")


@pytest.fixture(scope="package")
def results(recording, spark):
    """What the analysis says of each cell, by its name."""
    del spark
    return {result.key.cell: result for result in pipeline.analysed([recording], master="")}
