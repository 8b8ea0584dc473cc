"""The claims of the paper about its three scenarios, judged on results that have its figures, and on others."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.report import scenario_page
from analysis.scenario import console, json_output
from analysis.scenario.claims import claims
from tests.support import scenario_results as wr
from tests.support.pages import Page
from workloads.jms2009ps.claims import CLAIMS, CPU_PERCENT_PER_BASE, DELIVERY_MS
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.scenario import limits
from workloads.status import ClaimVerdict, VerdictKind

REPRODUCED, NOT_REPRODUCED, NOT_DECIDABLE = ClaimVerdict

BASE = 10

#: What a start does to all of its cells: their ratios have nothing of it.
LEVELS = (1.0, 1.9, 0.7)

#: What is left: by scenario, of each start.
SCATTER = {1: (1.0, 1.02, 0.99), 2: (1.01, 1.0, 0.98), 3: (0.99, 1.01, 1.0)}

PAPER_CPU = {number: 8 * percent / 100 * BASE for number, percent in zip(SCENARIOS, CPU_PERCENT_PER_BASE, strict=True)}
PAPER_MS = dict(zip(SCENARIOS, DELIVERY_MS, strict=True))


def a_run(cpu_cores=None, mean_ms=None, starts=3, scenarios=tuple(SCENARIOS), **more):
    """A result of each scenario in each start, with these means."""
    cpu_cores, mean_ms = cpu_cores or PAPER_CPU, mean_ms or PAPER_MS
    return [
        wr.configured(
            SCENARIOS[number],
            BASE,
            cpu_cores=cpu_cores[number] * LEVELS[start] * SCATTER[number][start],
            mean_ms=mean_ms[number] * LEVELS[start] * SCATTER[number][start],
            start=start + 1,
            **more,
        )
        for start in range(starts)
        for number in scenarios
    ]


def judged(results):
    return {claim.claim: claim for claim in claims(results)}


def the(text, rows):
    (row,) = (row for claim, row in rows.items() if text in claim)
    return row


@pytest.fixture(scope="module")
def published():
    return a_run()


@pytest.fixture(scope="module")
def as_published(published):
    return judged(published)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("twice the CPU", REPRODUCED),
        ("cost more CPU", REPRODUCED),
        ("no significant impact", REPRODUCED),
        ("longer from scenario to scenario", REPRODUCED),
        ("13 and 26 times", NOT_DECIDABLE),
        ("sustains the highest load", NOT_DECIDABLE),
        ("6 and 12 times lower", NOT_DECIDABLE),
        ("a single topic is limited", NOT_DECIDABLE),
        ("messages sent and received", REPRODUCED),
        ("number of subscriptions", NOT_REPRODUCED),
        ("number of event handlers", REPRODUCED),
    ],
)
def test_the_figures_of_the_paper(as_published, claim, verdict):
    """They support what can be judged at one BASE; that subscriptions are as many is refuted by counting them."""
    assert the(claim, as_published).verdict == verdict, the(claim, as_published)
    assert len(as_published) == len(CLAIMS.rows) == 11


def test_each_row_has_its_reason(as_published):
    """With the section, what was published, and why; what is not judged says what it would need."""
    assert all(row.section and row.published and row.reason for row in as_published.values())
    assert {row.section for row in as_published.values()} == {"3", "4.2", "4.3"}
    assert "as many broker CPUs as the paper (8)" in the("6 and 12 times", as_published).reason
    assert "several CPUs" in the("a single topic", as_published).reason
    assert "--find-base" in the("highest load", as_published).reason


def test_a_ratio_is_of_cells_of_the_same_start(published, as_published):
    """The interval is Student's over the logarithms of the starts' ratios; a start's own level cancels."""
    text = the("complexity of selectors", as_published).measured
    cores = {
        number: [of.measured.broker_cpu for of in published if of.key.cell.startswith(f"scenario_{number}")]
        for number in (2, 3)
    }
    logs = np.log(cores[3]) - np.log(cores[2])
    expected = np.exp([logs.mean(), *scipy.stats.t.interval(0.95, len(logs) - 1, logs.mean(), scipy.stats.sem(logs))])

    shown = re.search(r"scenario_3 / scenario_2 ([\d.]+) \[([\d.]+), ([\d.]+)\]", text).groups()
    assert tuple(map(float, shown)) == pytest.approx(tuple(expected), rel=0.005)
    assert "over 3 starts" in the("complexity of selectors", as_published).reason


def test_absolute_values_stand_beside_the_ratio(as_published):
    """In units that depend on neither BASE nor cores; those of the plan are exact, and without an interval."""
    assert re.search(r"\(.* against .* core-ms per s and BASE\)", the("twice the CPU", as_published).measured)
    shown = the("13 and 26 times", as_published)
    assert re.search(r"\(.* against .* ms\).*\(.* against .* ms\)", shown.measured)
    counted = the("number of subscriptions", as_published)
    assert "91 against 336 by the plan" in counted.measured
    assert "without an interval" in counted.reason
    assert "91 against 91 by the plan" in the("event handlers", as_published).measured


def test_results_that_contradict_the_paper():
    """Selectors that cost nothing, and a third scenario that is faster than the second, refute what they contradict."""
    rows = judged(a_run(dict.fromkeys(SCENARIOS, 0.5), {1: 5.0, 2: 9.0, 3: 4.0}))

    assert the("twice the CPU", rows).verdict == NOT_REPRODUCED
    assert the("cost more CPU", rows).verdict == NOT_DECIDABLE
    assert the("longer from scenario", rows).verdict == NOT_REPRODUCED
    assert the("complexity of selectors", rows).verdict == REPRODUCED


def test_counts_that_differ():
    """An interaction of which more than 5 % is missing in one scenario is named."""
    results = []
    for result in a_run():
        period = result.periods[0]
        if result.key.cell.startswith("scenario_3"):
            fewer = [
                replace(of, received=round(0.9 * of.received)) if of.number == 5 else of for of in period.interactions
            ]
            period = replace(period, interactions=tuple(fewer))
        results.append(replace(result, periods=(period,)))
    row = the("messages sent and received", judged(results))

    assert row.verdict == NOT_REPRODUCED
    assert "messages received, by interaction, scenario_3 / scenario_1, interaction 5 0.9 " in row.measured
    assert "in each of 28 comparisons: 27 reproduced, 1 not reproduced" in row.reason


def test_too_few_starts():
    """Two starts have no interval that says anything: the reason names what to do; counts of the plan need none."""
    rows = judged(a_run(starts=2))

    for claim in ("twice the CPU", "longer from scenario", "messages sent and received"):
        assert the(claim, rows).verdict == NOT_DECIDABLE
        assert "2 starts have both; an interval needs 3 (--starts 3)" in the(claim, rows).reason
        assert (the(claim, rows).measured, the(claim, rows).cells) == ("", ())
    assert the("number of subscriptions", rows).verdict == NOT_REPRODUCED


def test_a_missing_scenario_is_named():
    """What it is not needed for is judged; a scenario alone is compared with nothing."""
    results = a_run(scenarios=(2, 3))
    rows = judged(results)

    assert the("twice the CPU", rows).reason == "not measured: scenario_1"
    assert the("complexity of selectors", rows).verdict == REPRODUCED
    assert claims(a_run(scenarios=(2,))) == ()


def test_a_cell_whose_audit_failed_does_not_count():
    """It is left out; where no start is left the reason says what failed."""
    results = [
        wr.failing(result, limits.DELIVERY, "SM1 orderConf", 1, "")
        if result.key.cell.startswith("scenario_3")
        else result
        for result in a_run()
    ]
    row = the("complexity of selectors", judged(results))

    assert {result.verdict for result in results} == {VerdictKind.VALID, VerdictKind.INVALID}
    assert row.verdict == NOT_DECIDABLE
    assert "the audit failed: scenario_3-b0010, start 1: everything received, SM1 orderConf" in row.reason


def test_cpu_that_is_not_known():
    """A broker by URL has no CPU time: what needs it is open, the others are judged."""
    results = [
        replace(result, periods=tuple(replace(period, broker_cpu=None) for period in result.periods))
        for result in a_run()
    ]
    rows = judged(results)

    assert the("cost more CPU", rows).reason == "scenario_2-b0010, start 1: the broker's CPU is not known"
    assert the("longer from scenario", rows).verdict == REPRODUCED


def test_brokers_are_not_mixed(published):
    """Each broker has its own rows, though a run has several; a workload without claims has none."""
    other = a_run(dict.fromkeys(SCENARIOS, 0.5), broker="artemis")
    rows = claims([*published, *other])

    by_broker = {(row.broker, row.claim): row.verdict for row in rows}
    assert len(by_broker) == len(rows) == 22
    cost = CLAIMS.rows[0].claim
    assert (by_broker["activemq", cost], by_broker["artemis", cost]) == (REPRODUCED, NOT_REPRODUCED)
    assert claims([wr.result(), wr.result(start=2)]) == ()


def test_wherever_a_result_is_shown(published):
    """On the screen, as JSON and on the page: each claim with its verdict and its reason."""
    screen = " ".join(console.summary(published).split())
    record = json.loads(json.dumps(json_output.summary_json(published), allow_nan=False))
    page = Page(scenario_page.html([wr.undrawn(result) for result in published[:3]])).text

    assert "Claims of Sachs et al. 2010 as measured on activemq, consumption strict" in screen
    assert screen.index("Claims of Sachs") > screen.index("Configurations side by side on activemq")
    assert [row["claim"] for row in record["claims"]] == [row.claim for row in CLAIMS.rows]
    assert {row["verdict"] for row in record["claims"]} == set(ClaimVerdict)
    assert {row["consumption"] for row in record["claims"]} == {"strict"}
    for row in CLAIMS.rows:
        assert row.claim in page
    assert "Configurations side by side on activemq" in page
    assert json_output.summary_json([wr.result()])["claims"] == []
