"""A load of several hosts: how exactly their clocks are known is part of the audit and of every time between them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from analysis.scenario import audit
from analysis.scenario.results import AuditVerdict
from analysis.throughput import latency
from tests.analysis.scenario.conftest import unaudited
from tests.support.scenario_runs import workload_run
from workloads.supply_chain.topology import vertical


def material_of(folder, bounds_ms, shortest_ms):
    """A cell of two hosts with these bounds, whose fastest message took so long."""
    run = workload_run(vertical(1).only(4))
    run.manifest["load_hosts"] = [
        {"host": host, "address": "10.0.0.2", "workers": 1}
        | {"offset_ns": 0, "change_ns": 0, "bound_ns": round(bound_ms * 1e6)}
        for _ in range(2)  # of two cells
        for host, bound_ms in enumerate(bounds_ms)
    ]
    return replace(unaudited(run, folder), counts=SimpleNamespace(overall={1: {"shortest": shortest_ms * 1e6}}))


@pytest.mark.parametrize(
    ("bounds_ms", "shortest_ms", "verdict", "observed"),
    [
        ((), 0.1, AuditVerdict.PASS, 0),
        ((), -0.1, AuditVerdict.FAIL, 0.1),
        ((0.2, 0.3), 0.1, AuditVerdict.PASS, 0.5),
        ((0.2, 0.3, 0.1), -0.4, AuditVerdict.PASS, 0.5),
        ((0.2, 0.3), -0.6, AuditVerdict.FAIL, 0.6),
        ((60, 50), 1, AuditVerdict.FAIL, 110),
    ],
)
def test_clocks_are_judged_by_their_bound(tmp_path, bounds_ms, shortest_ms, verdict, observed):
    """Two clocks may differ by 100 ms at most, and a message may be received early by the bound only."""
    row = audit._clock(material_of(tmp_path, bounds_ms, shortest_ms))

    assert (row.verdict, row.observed) == (verdict, pytest.approx(observed))


def test_latencies_between_hosts_name_their_bound():
    """Who reads a percentile learns how exactly the clocks were known; on one host there is nothing to say."""
    results = [SimpleNamespace(key=SimpleNamespace(broker="b"))]

    (found,) = latency.findings([], results, 0.0021)

    assert "2.1 ms" in found.measured
    assert list(latency.findings([], results)) == []
