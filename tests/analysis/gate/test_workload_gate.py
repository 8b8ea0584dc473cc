"""Gates with a business workload: from what a session asks for to the verdict, and which items fail."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache

import pytest

from analysis.gate import pipeline
from analysis.gate.items import failure
from analysis.gate.verdict import GateVerdict
from fixtures.session.options import ScenarioOptions
from tests.analysis.scenario.conftest import LENGTHS, SMALL
from tests.support import run_directories as rd
from tests.support import scenario_runs as wr
from tests.support.scenario_runs import Fault, Planted
from tests.support.sessions import Config
from workloads.gate import CORRECTNESS, FEWEST_PAIRS, SCENARIO_FAMILIES, GateRole
from workloads.registry import WORKLOADS

#: Analyses of six runs, one after the other.
pytestmark = pytest.mark.brokers

CPU = SCENARIO_FAMILIES[0]

#: A gate of two versions on the command line.
ASKED = {"baseline": "activemq:5.18.3", "broker": ["activemq:6.1.7"]}


def options(**given):
    """As the manifest of such a gate has them."""
    wanted = ScenarioOptions(Config(ASKED | given, {}))
    return json.loads(json.dumps(wanted.settings(WORKLOADS[wr.WORKLOAD]).options))


@cache
def simulated():
    """Five pairs of lives in which both brokers do the same."""
    run = wr.empty_run(GateRole.BASELINE)
    run.manifest["brokers"] = {role.value: rd.broker_facts(options={}) for role in GateRole}
    lives = [(role, number) for number in range(1, FEWEST_PAIRS + 1) for role in GateRole]
    run.manifest["starts"] = [rd.start_facts(role.value, number) for role, number in lives]
    for role, number in lives:
        wr.add_cell(run, SMALL, lengths=LENGTHS, broker=role.value, start=number)
    return run


def gate(cpu=lambda _pair: 1.0, **given):
    """A gate whose candidate takes so many times the baseline's CPU time in a pair of lives."""
    run = deepcopy(simulated())
    run.manifest["options"] |= options(**given)
    for row in run.rows("periods", broker=GateRole.CANDIDATE):
        row["broker_cpu_ns"] = round(row["broker_cpu_ns"] * cpu(row["start"]))
    return run


def steady(pair):
    return 1 + 0.001 * (pair % 3 - 1)


def unknown():
    """The candidate is named by URL, and nobody knows its CPU time."""
    run = gate(steady)
    for row in run.rows("periods", broker=GateRole.CANDIDATE):
        row["broker_cpu_ns"] = None
    return run


def lossy():
    """The candidate loses an order in the last pair of lives."""
    run = gate()
    last = {"broker": GateRole.CANDIDATE.value, "start": FEWEST_PAIRS}
    run.manifest["schedule"] = [slot for slot in run.manifest["schedule"] if not last.items() <= slot.items()]
    for table, rows in run.tables.items():
        run.tables[table] = [row for row in rows if not last.items() <= row.items()]
    wr.add_cell(run, SMALL, planted=Planted(Fault.LOSE, "order"), lengths=LENGTHS, **last)
    return run


RUNS = {
    "pass": lambda: gate(steady),
    "regressed": lambda: gate(lambda pair: 1.2 * steady(pair)),
    "inconclusive": lambda: gate(lambda pair: 1 + 0.2 * (pair % 3 - 1)),
    "not inferior": lambda: gate(lambda pair: 1 + 0.2 * (pair % 3 - 1), policy="non-inferiority"),
    "unknown": unknown,
    "failed": lossy,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory, spark):
    """The result of each run, by its name."""
    folder = tmp_path_factory.mktemp("gates")
    found = {}
    for name, make in RUNS.items():
        make().write(folder / name)
        (found[name],) = pipeline.judged([folder / name], master="local[2]")
    return found


@pytest.mark.parametrize(
    ("name", "verdict", "cpu"),
    [
        ("pass", "pass", "pass"),
        ("regressed", "regressed", "regressed"),
        ("inconclusive", "inconclusive", "inconclusive"),
        ("not inferior", "inconclusive", "inconclusive"),
        ("unknown", "inconclusive", "inconclusive"),
        ("failed", "failed", "pass"),
    ],
)
def test_the_verdict_of_a_run(results, name, verdict, cpu):
    """What the options of a session say is understood; delivery times that are equal pass."""
    found = results[name]
    verdicts = {family.family: family.verdict for family in found.families}

    assert (found.verdict, found.pairs) == (GateVerdict(verdict), FEWEST_PAIRS)
    assert tuple(verdicts) == SCENARIO_FAMILIES
    assert verdicts == dict.fromkeys(SCENARIO_FAMILIES, GateVerdict.PASS) | {CPU: GateVerdict(cpu)}


def test_the_ratio_is_exact(results):
    """Candidate to baseline, over five pairs of lives."""
    (cpu, median, p90) = results["regressed"].families

    assert cpu.ratio.estimate == pytest.approx(1.2, rel=0.002)
    assert (median.ratio.estimate, p90.ratio.estimate) == (1, 1)


@pytest.mark.parametrize(
    ("name", "failed", "strict"),
    [
        ("pass", [], []),
        ("regressed", [CPU], [CPU]),
        ("inconclusive", [], [CPU]),
        ("not inferior", [CPU], [CPU]),
        ("unknown", [], [CPU]),
        ("failed", [CORRECTNESS], [CORRECTNESS]),
    ],
)
def test_which_items_fail(results, name, failed, strict):
    """All its families decide, so that `inconclusive` fails where that was asked for."""
    items = (CORRECTNESS, *SCENARIO_FAMILIES)

    assert [item for item in items if failure(results[name], item, strict=False)] == failed
    assert [item for item in items if failure(results[name], item, strict=True)] == strict
