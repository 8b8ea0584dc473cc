"""Clients and server share a host: a deviation that is reported only where it is one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.scenario.console import verdict
from analysis.scenario.deviations import deviations
from analysis.scenario.disclosure import disclosure
from analysis.scenario.one_host import on_one_host
from analysis.scenario.results import ONE_HOST
from tests.analysis.scenario.conftest import unaudited
from tests.support import scenario_results as wr
from tests.support.scenario_runs import workload_run
from workloads.status import VerdictKind
from workloads.supply_chain.topology import vertical


@pytest.mark.parametrize(
    ("broker", "provider", "same"),
    [
        ("activemq", "jars", True),
        ("activemq", "container", True),
        ("reference", "reference", True),
        ("stomp://127.0.0.1:61613", "url", True),
        ("stomp+ssl://localhost:61614", "url", True),
        ("stomp://[::1]:61613", "url", True),
        ("stomp://10.0.0.1:61613", "url", False),
        ("stomp://broker.example.org:61613", "url", False),
    ],
)
def test_a_host_is_shared_with_what_runs_on_this_machine(broker, provider, same):
    """What the suite has started, and what a URL of this machine names."""
    assert on_one_host(broker, provider) is same


@pytest.mark.parametrize(("url", "shared"), [("stomp://127.0.0.1:61613", True), ("stomp://10.0.0.1:61613", False)])
def test_a_run_on_another_host_does_not_have_the_deviation(url, shared, tmp_path):
    """From the run directory on; that a broker by URL is otherwise unknown is a deviation in both cases."""
    run = workload_run(vertical(1).only(4), broker=url)
    run.manifest["brokers"][url]["provider"] = "url"

    found = deviations(unaudited(run, tmp_path))

    assert (ONE_HOST in found) is shared
    assert any("given by its URL" in text for text in found)


def test_a_shared_host_leaves_a_result_compliant():
    """It is the only deviation that does; without any a result is compliant without a reservation."""
    alone = replace(wr.result(), deviations=(ONE_HOST,))

    assert alone.compliant
    assert verdict(alone).endswith("compliant: yes, except for one host")
    assert verdict(replace(alone, deviations=())).endswith("compliant: yes")
    assert not replace(alone, deviations=("no repeated measurement (section 3.4)",)).compliant


def test_the_disclosure_says_where_the_server_was():
    """On the clients' node, or not known."""
    here = wr.result(broker="stomp://127.0.0.1:61613")
    for result, expected in ((here, True), (wr.result(broker="stomp://10.0.0.1:61613"), None)):
        brokers = {result.key.broker: replace(result.broker, provider="url")}
        by_url = replace(result, manifest=replace(result.manifest, brokers=brokers))
        assert disclosure(by_url)["server_on_the_client_node"] is expected


def test_a_result_that_does_not_comply_says_why():
    """Where nothing deviates but the host, it is the verdict."""
    alone = replace(wr.result(), deviations=(ONE_HOST,))
    unverified = replace(alone, verdict=VerdictKind.UNVERIFIED)
    shorter = replace(alone, deviations=("no repeated measurement (section 3.4)",))

    assert verdict(unverified).endswith("compliant: no, because the verdict is not valid")
    assert verdict(shorter).endswith("compliant: no, 1 deviation")
    assert verdict(replace(shorter, deviations=(ONE_HOST, *shorter.deviations))).endswith("compliant: no, 2 deviations")
