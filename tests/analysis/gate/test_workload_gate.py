"""Gates with a business workload: from what a session asks for to the verdict, and which items fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.gate import answers, scenario
from analysis.gate.asked import options_of
from analysis.gate.items import failure
from analysis.gate.verdict import GateVerdict
from analysis.run_description import manifests
from analysis.scenario import pipeline as workload_pipeline
from fixtures.session.options import ScenarioOptions
from tests.analysis.scenario.conftest import SMALL
from tests.support import run_directories as rd
from tests.support import scenario_results as wr
from tests.support import scenario_runs as runs
from tests.support.sessions import Config
from workloads.gate import CORRECTNESS, FEWEST_PAIRS, SCENARIO_FAMILIES, GateRole
from workloads.registry import WORKLOADS
from workloads.scenario import limits

CPU = SCENARIO_FAMILIES[0]

#: A gate of two versions on the command line.
ASKED = {"baseline": "activemq:5.18.3", "broker": ["activemq:6.1.7"]}


def options(**given):
    """As the manifest of such a gate has them."""
    wanted = ScenarioOptions(Config(ASKED | given, {}))
    return json.loads(json.dumps(wanted.settings(WORKLOADS[runs.WORKLOAD]).options))


def lives(cpu=lambda _pair: 1.0):
    """Five pairs of lives in which the candidate takes so many times the baseline's CPU time; None if nobody knows."""
    for number in range(1, FEWEST_PAIRS + 1):
        for role in GateRole:
            found = wr.result(SMALL, broker=role.value, start=number)
            (period,) = found.periods
            factor = cpu(number) if role is GateRole.CANDIDATE else 1.0
            used = None if factor is None else period.broker_cpu * factor
            yield replace(found, periods=(replace(period, broker_cpu=used),))


def steady(pair):
    return 1 + 0.001 * (pair % 3 - 1)


def lossy():
    """The candidate loses an order in the last pair of lives."""
    *others, last = lives()
    return [*others, wr.failing(last, limits.DELIVERY, "DC1 order", 1, "1 missing")]


def scattered():
    return lives(lambda pair: 1 + 0.2 * (pair % 3 - 1))


#: By the name: the results of all lives, and further options of the gate.
RUNS = {
    "pass": (lambda: lives(steady), {}),
    "regressed": (lambda: lives(lambda pair: 1.2 * steady(pair)), {}),
    "inconclusive": (scattered, {}),
    "not inferior": (scattered, {"policy": "non-inferiority"}),
    "unknown": (lambda: lives(lambda _: None), {}),
    "failed": (lossy, {}),
}


def judged(found, **given):
    """The result of a gate whose manifest has these options."""
    brokers = {role.value: rd.BROKER for role in GateRole}
    manifest = replace(found[0].manifest, options=found[0].manifest.options | options(**given), brokers=brokers)
    results = [replace(each, manifest=manifest) for each in found]
    return scenario.of_results(results, Path("gate"), options_of(manifest, Path("gate")), partial=False)


@pytest.fixture(scope="module")
def results():
    """The result of each run, by its name."""
    return {name: judged(list(make()), **given) for name, (make, given) in RUNS.items()}


def test_a_gate_is_judged_from_its_run_directory(tmp_path, monkeypatch):
    """What the analysis says of a workload is judged by the rules of its manifest: the candidate loses an order in one
    of its lives; all else is the same on both sides."""
    run = runs.empty_run(GateRole.BASELINE)
    run.manifest["options"] |= options()
    run.manifest["brokers"] = {role.value: rd.broker_facts() for role in GateRole}
    ((manifest, folder),) = manifests([run.write(tmp_path / "gate")])
    results = [replace(each, path=folder, manifest=manifest) for each in lossy()]
    monkeypatch.setattr(workload_pipeline, "analysed", lambda paths, **_: results if paths == [folder] else [])
    (found,) = answers.judged([folder], master="local[2]")

    assert (found.verdict, found.pairs, found.path) == (GateVerdict.FAILED, FEWEST_PAIRS, str(folder))
    assert [finding.what for finding in found.findings] == [
        f"the audit of small-b0001 on the candidate failed in pair {FEWEST_PAIRS}"
    ]
    assert {family.verdict for family in found.families} == {GateVerdict.PASS}


@pytest.mark.parametrize(
    ("name", "verdict", "cpu", "failed", "strict"),
    [
        ("pass", "pass", "pass", [], []),
        ("regressed", "regressed", "regressed", [CPU], [CPU]),
        ("inconclusive", "inconclusive", "inconclusive", [], [CPU]),
        ("not inferior", "inconclusive", "inconclusive", [CPU], [CPU]),
        ("unknown", "inconclusive", "inconclusive", [], [CPU]),
        ("failed", "failed", "pass", [CORRECTNESS], [CORRECTNESS]),
    ],
)
def test_the_verdict_of_a_run(results, name, verdict, cpu, failed, strict):
    """What the options of a session say is understood; delivery times that are equal pass. All families decide, so that
    the item of one that is inconclusive fails where that was asked for."""
    found = results[name]
    verdicts = {family.family: family.verdict for family in found.families}
    items = (CORRECTNESS, *SCENARIO_FAMILIES)

    assert (found.verdict, found.pairs) == (GateVerdict(verdict), FEWEST_PAIRS)
    assert tuple(verdicts) == SCENARIO_FAMILIES
    assert verdicts == dict.fromkeys(SCENARIO_FAMILIES, GateVerdict.PASS) | {CPU: GateVerdict(cpu)}
    assert [item for item in items if failure(found, item, strict=False)] == failed
    assert [item for item in items if failure(found, item, strict=True)] == strict


def test_the_ratio_is_exact(results):
    """Candidate to baseline, over five pairs of lives."""
    (cpu, median, p90) = results["regressed"].families

    assert cpu.ratio.estimate == pytest.approx(1.2, rel=0.002)
    assert (median.ratio.estimate, p90.ratio.estimate) == (1, 1)
