"""A workload without published run rules: its limits are borrowed, and nothing is said about compliance."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from analysis.report import scenario_page
from analysis.scenario import console, json_output
from analysis.scenario.deviations import deviations
from analysis.scenario.disclosure import disclosure
from tests.analysis.scenario.conftest import unaudited
from tests.support import scenario_results as wr
from tests.support.pages import Page
from tests.support.scenario_runs import request_of, workload_run
from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.json_value import json_value
from workloads.registry import WORKLOADS
from workloads.status import VerdictKind

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


@pytest.mark.usefixtures("undrawn")
def test_a_page_of_another_host_does_not_name_one_machine():
    """Whatever rules there are, it is the broker's place that counts."""
    far = wr.result(broker="stomp://10.0.0.1:61613")
    brokers = {label: replace(facts, provider="url") for label, facts in far.manifest.brokers.items()}
    far = replace(far, manifest=replace(far.manifest, brokers=brokers))

    assert "with clients and server on one machine" not in scenario_page.html([far])
    assert "with clients and server on one machine" in scenario_page.html([wr.result()])
