"""One analysis of many recorded runs: each with one fault, or none; Spark is asked once for all of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from analysis.workload import verdict
from tests import workload_runs as wr
from tests.workload_runs import Fault, Planted
from workloads.periods import Lengths
from workloads.sendrules import Arrivals
from workloads.specjms2007.interactions import Role
from workloads.specjms2007.topology import Topology, running

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


def recorded(**changes):
    return wr.workload_run(changes.pop("topology", SMALL), lengths=changes.pop("lengths", LENGTHS), **changes)


def killed():
    """A broker so slow that some messages are stored, and some transactions open, when it is killed."""
    return recorded(killed=True, delivery_ms=lambda _at_s: 400.0)


def _unmarked():
    """What comes again after the broker's end is not marked so."""
    run = killed()
    for row in run.tables["received"]:
        row["redelivered"] = 0
    return run


def _forgotten():
    """A stored message is gone when the broker is back."""
    run = killed()
    back_ns = next(row["end_ns"] for row in run.tables["periods"] if row["period"] == "killed")
    stored = [row for row in run.tables["received"] if row["received_ns"] >= back_ns and row["sent_ns"] < back_ns]
    leaves = [run.plans[0]["steps"].index(name) for name in ("shipConf", "inventoryInfo", "invoice")]
    run.tables["received"].remove(next(row for row in stored if row["step"] in leaves and not row["redelivered"]))
    return run


def _torn():
    """An answer of a transaction in doubt arrives, and its trigger all the same comes again."""
    run = killed()
    doubtful = next(row for row in run.tables["sent"] if row["settled_ns"] is None and row["planned_ns"] is None)
    plan = run.plans[0]
    taker = next(one for one in plan["handlers"] if doubtful["destination"] in one["subscriptions"])
    copied = ("producer", "position", "execution", "step", "sent_ns", "body_bytes")
    at_ns = next(row["end_ns"] for row in run.tables["periods"] if row["period"] == "killed")
    run.tables["received"].append(
        {
            **{name: run.tables["received"][-1][name] for name in ("broker", "start", "experiment", "cell")},
            **{name: doubtful[name] for name in copied},
            "handler": taker["number"],
            "arrival": 10**6,
            "received_ns": at_ns,
            "settled_ns": at_ns + 1,
            "redelivered": 0,
        }
    )
    return run


MADE = {
    "perfect": recorded,
    **{
        str(fault): lambda fault=fault, step=step: recorded(planted=Planted(fault, step))
        for fault, step in FAULTS.items()
    },
    "flooded": lambda: recorded(delivery_ms=lambda at_s: 5 + 150 * max(0.0, at_s - 33)),
    "repeat": lambda: recorded(repeat=True),
    "poisson": lambda: recorded(arrivals=Arrivals.POISSON),
    "shared": lambda: recorded(topology=shared(SMALL)),
    "short": lambda: recorded(lengths=Lengths(warm_up_s=2, measurement_s=5, drain_s=20)),
    "killed": killed,
    "unmarked": _unmarked,
    "forgotten": _forgotten,
    "torn": _torn,
}


@pytest.fixture(scope="package")
def recordings(tmp_path_factory) -> Path:
    """A folder with all of MADE, by name."""
    folder = tmp_path_factory.mktemp("workloads")
    for name, make in MADE.items():
        make().write(folder / name)
    return folder


@pytest.fixture(scope="package")
def results(recordings, spark):
    """What the analysis says of each, by name."""
    del spark
    found = verdict.analysed([recordings / name for name in MADE], master="")
    return {result.run: result for result in found}
