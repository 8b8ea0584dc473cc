"""One analysis of many recorded cells: each with one fault, or none; Spark is asked once for all of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from analysis.scenario import pipeline
from tests.support import run_directories as rd
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

#: By the fault: the step that it is done to.
FAULTS = {
    Fault.LOSE: "order",
    Fault.DUPLICATE: "offer",
    Fault.MISROUTE: "orderConf",
    Fault.REORDER: "inventoryInfo",
    Fault.LATE: "orderConf",
    Fault.LAGGING: "inventoryInfo",
    Fault.SLOW: "inventoryInfo",
    Fault.CUT: "shipDep",
    Fault.DOUBLE: "pOrder",
    Fault.SKIP: "inventoryInfo",
    Fault.SWELL: "invoice",
}


def shared(topology: Topology) -> Topology:
    """The same with two handlers to a queue."""
    return Topology(
        topology.name,
        topology.base,
        topology.locations,
        topology.interactions,
        topology.families,
        topology.families_per_supplier,
        handlers_per_queue=2,
    )


def undurable(topology: Topology) -> Topology:
    """The same with persistent messages on topics whose subscriptions are not durable, and go with the broker."""
    return replace(
        topology,
        interactions={
            number: replace(interaction, script=replace(interaction.script, steps=tuple(
                replace(step, mode=replace(step.mode, durable=False)) for step in interaction.script.steps
            )))
            for number, interaction in topology.interactions.items()
        },
    )  # fmt: skip


def killed(run, name, topology=SMALL):
    """A broker so slow that some messages are stored, and some transactions open, when it is killed."""
    wr.add_cell(run, topology, lengths=LENGTHS, cell=name, killed=True, delivery_ms=lambda _at_s: 400.0)


def back_ns(run, name):
    """When the broker answers again."""
    (row,) = run.rows("periods", cell=name, period="killed")
    return row["end_ns"]


def unmarked(run, name):
    """What comes again after the broker's end is not marked so."""
    killed(run, name)
    for row in run.rows("received", cell=name):
        row["redelivered"] = 0


def forgotten(run, name):
    """A stored message is gone when the broker is back; one that nobody answers."""
    killed(run, name)
    back = back_ns(run, name)
    leaves = [run.plans[-1]["steps"].index(step) for step in ("shipConf", "inventoryInfo", "invoice")]
    stored = [
        row for row in run.rows("received", cell=name, redelivered=0) if row["received_ns"] >= back > row["sent_ns"]
    ]
    run.tables["received"].remove(next(row for row in stored if row["step"] in leaves))


def torn(run, name):
    """An answer of a transaction in doubt arrives, and its trigger all the same comes again."""
    killed(run, name)
    doubtful = next(row for row in run.rows("sent", cell=name, settled_ns=None) if row["planned_ns"] is None)
    taker = next(one for one in run.plans[-1]["handlers"] if doubtful["address"] in one["addresses"])
    back = back_ns(run, name)
    run.tables["received"].append(
        {column: doubtful[column] for column in (*rd.KEYS, *wr.STAMPED, "body_bytes")}
        | {"handler": taker["number"], "arrival": 10**6, "received_ns": back, "settled_ns": back + 1, "redelivered": 0}
    )


def cell(topology=SMALL, **changes):
    return lambda run, name: wr.add_cell(run, topology, **{"lengths": LENGTHS, "cell": name, **changes})


#: By the cell's name: what records it.
MADE = {
    "perfect": cell(),
    **{str(fault): cell(planted=Planted(fault, step)) for fault, step in FAULTS.items()},
    "flooded": cell(delivery_ms=lambda at_s: 5 + 150 * max(0.0, at_s - 33)),
    "repeat": cell(repeat=True),
    "poisson": cell(arrivals=ArrivalProcess.POISSON),
    "shared": cell(shared(SMALL)),
    "short": cell(lengths=Lengths(warm_up_s=2, measurement_s=5, drain_s=20)),
    "filtered": cell(filtered=True),
    "leak": cell(filtered=True, planted=Planted(Fault.LEAK, "callForOffers")),
    "killed": killed,
    "undurable": lambda run, name: killed(run, name, undurable(SMALL)),
    "unmarked": unmarked,
    "forgotten": forgotten,
    "torn": torn,
}


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
