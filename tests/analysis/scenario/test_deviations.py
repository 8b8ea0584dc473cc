"""Deviations from published run rules: that clients and server share a host only where they do; and a workload without
such rules, whose limits are borrowed."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from analysis.report import scenario_page
from analysis.scenario import console, json_output
from analysis.scenario.deviations import deviations
from analysis.scenario.disclosure import disclosure
from analysis.scenario.one_host import on_one_host
from analysis.scenario.results import ONE_HOST
from tests.analysis.scenario.conftest import unaudited
from tests.support import scenario_results as wr
from tests.support.pages import Page
from tests.support.scenario_runs import request_of, workload_run
from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.json_value import json_value
from workloads.registry import WORKLOADS
from workloads.status import VerdictKind
from workloads.supply_chain.topology import vertical

# --- clients and server on one host ----------------------------------------------------------------------------------


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
    assert console.verdict(alone).endswith("compliant: yes, except for one host")
    assert console.verdict(replace(alone, deviations=())).endswith("compliant: yes")
    assert not replace(alone, deviations=("no repeated measurement (section 3.4)",)).compliant


def by_url(host):
    """A result of a broker that runs already on this host."""
    result = wr.result(broker=f"stomp://{host}:61613")
    brokers = {result.key.broker: replace(result.broker, provider="url")}
    return replace(result, manifest=replace(result.manifest, brokers=brokers))


def test_the_disclosure_says_where_the_server_was():
    """On the clients' node, or not known."""
    for host, expected in (("127.0.0.1", True), ("10.0.0.1", None)):
        assert disclosure(by_url(host))["server_on_the_client_node"] is expected


def test_a_result_that_does_not_comply_says_why():
    """Where nothing deviates but the host, it is the verdict."""
    alone = replace(wr.result(), deviations=(ONE_HOST,))
    unverified = replace(alone, verdict=VerdictKind.UNVERIFIED)
    shorter = replace(alone, deviations=("no repeated measurement (section 3.4)",))

    assert console.verdict(unverified).endswith("compliant: no, because the verdict is not valid")
    assert console.verdict(shorter).endswith("compliant: no, 1 deviation")
    both = replace(shorter, deviations=(ONE_HOST, *shorter.deviations))
    assert console.verdict(both).endswith("compliant: no, 2 deviations")


@pytest.mark.usefixtures("undrawn")
def test_a_page_of_another_host_does_not_name_one_machine():
    """Whatever rules there are, it is the broker's place that counts."""
    assert "with clients and server on one machine" not in scenario_page.html([by_url("10.0.0.1")])
    assert "with clients and server on one machine" in scenario_page.html([wr.result()])


# --- a workload without run rules ------------------------------------------------------------------------------------

MODEL = ConfiguredSupplyChain.configured(SCENARIOS[1], 1)
PLAIN = wr.result(MODEL.topology)
PLAN = replace(PLAIN.plan, workload="jms2009ps", request=request_of("jms2009ps", MODEL))
RESULT = replace(PLAIN, plan=PLAN, deviations=None)

#: The result, and the same where the verdict is another.
RESULTS = [replace(RESULT, verdict=verdict) for verdict in (VerdictKind.VALID, VerdictKind.UNVERIFIED)]

BORROWED = "borrowed from the run and reporting rules of SPECjms2007; no run rules are published for this workload"


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_says_whether_it_has_run_rules(name):
    """Only a workload without rules has borrowed limits; only one with rules has rows for what deviates from them."""
    workload = WORKLOADS[name]

    assert (workload.deviations is None) == (name != "specjms2007")
    assert workload.borrowed_limits == ("" if name == "specjms2007" else BORROWED)


def test_a_run_without_run_rules_has_no_deviations(tmp_path):
    """The same conduct deviates from the rules of the one workload, and from nothing in the other."""
    own = {"workload": "jms2009ps", "request": json_value(PLAN.request)}
    found = {
        name: deviations(unaudited(workload_run(MODEL.topology, **plan), tmp_path / name))
        for name, plan in (("with", {}), ("without", own))
    }

    assert found["with"]
    assert found["without"] is None


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.verdict)
def test_the_screen_says_whose_limits_they_are(result):
    """One line on the limits instead of the deviations; the verdict stays, without a word on compliance."""
    for text in (console.summary([result]), console.audit([result])):
        assert f"\nlimits: {BORROWED}\n" in text
        assert f"verdict: {result.verdict}" in text
        assert not re.search("complian|deviations from", text, re.IGNORECASE)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.verdict)
def test_the_page_says_whose_limits_they_are(result):
    """As the screen does; that clients and server share a machine is said all the same."""
    text = Page(scenario_page.html([result])).text

    assert f"limits {BORROWED}" in text
    assert "with clients and server on one machine" in text
    assert not re.search("complian|deviations from|published rules ", text, re.IGNORECASE)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.verdict)
def test_json_leaves_compliance_open(result):
    """Both keys are there and null, in the disclosure and for scripts."""
    said = json.loads(json.dumps(disclosure(result)))["test_info"]
    (cell,) = json.loads(json.dumps(json_output.summary_json([result])))["cells"]

    for found in (said, cell):
        assert (found["compliant"], found["deviations"]) == (None, None)
        assert found["verdict"] == result.verdict
