"""Gates with faults: from the repetitions of both brokers to the verdict, and which items fail."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from analysis.faults.results import BrokerFaults, FaultRepetition, FaultResult
from analysis.gate import console, faults
from analysis.gate.asked import options_of
from analysis.gate.items import failure
from analysis.gate.results import gate_json
from analysis.gate.verdict import ALPHA, GateVerdict
from analysis.report import gate_page
from analysis.results import NotApplicable
from fixtures.session.options import FaultOptions
from tests.support import run_directories as rd
from tests.support.fault_lives import life_of
from tests.support.pages import words
from tests.support.sessions import Config
from tests.support.simulations import repetitions as so_many
from tests.support.simulations import slack
from workloads.faults.accounting import Account, Promise
from workloads.faults.course import Course
from workloads.faults.faults import FAULTS, WAYS, FaultCell
from workloads.gate import CORRECTNESS, FEWEST_PAIRS, GateRole

CELLS = tuple(FaultCell(FAULTS[name], WAYS["stored"]) for name in ("kill", "freeze-03s", "reset"))
KILL = f"{CELLS[0].id} away"
_, _, LIFE = life_of()
PROMISED = Promise(stored=True, marked=True, source="a page")


def options(**given):
    """As the manifest of such a gate has them."""
    wanted = FaultOptions(Config({"baseline": "activemq:5.17.0", "broker": ["activemq:5.18.3"]} | given, {}))
    return json.loads(json.dumps(wanted.settings().options))


def repetition(number, away_s, gone_s, *, account, overdue):
    none = dict.fromkeys(Course.__slots__)
    course = Course(**none | {"away_s": away_s, "backlog_gone_s": gone_s})
    return FaultRepetition(number, account, course, replace(LIFE, overdue=overdue), {}, None, None, ())


def judged(
    times_s,
    *,
    counts=None,
    promise=PROMISED,
    overdue=None,
    left_out=(),
    **given,
):
    """The result of a gate.

    times_s: of a role, the index of a cell and the number of a repetition: away, and backlog gone
    counts: by role, what is counted in the third repetition of the first cell
    overdue: by role, what was not back in it
    left_out: cells that are not applicable
    """
    asked = options(**given)
    manifest = replace(
        rd.study_manifest(brokers={role.value: rd.BROKER for role in GateRole}), options=asked, kind="faults"
    )
    found = []
    for role in GateRole:
        results = []
        for index, cell in enumerate(CELLS):
            lives = []
            for number in range(1, asked["repetitions"] + 1):
                struck = index == 0 and number == 3
                account = Account(confirmed=1000, **(counts or {}).get(role, {}) if struck else {})
                said = (overdue or {}).get(role, "") if struck else ""
                lives.append(repetition(number, *times_s(role, index, number), account=account, overdue=said))
            if cell.id not in left_out:
                results.append(FaultResult(cell, promise, tuple(lives)))
        missing = tuple(NotApplicable("gate", role.value, "faults", "", id_, "no transactions") for id_ in left_out)
        title = f"activemq, {role}"
        found.append(BrokerFaults("gate", "gate", role.value, title, manifest, None, tuple(results), missing, ()))
    return faults.of_results(found, options_of(manifest, found[0].path), partial=False)


def alike(_role, _index, number):
    """Times of a broker that differs from itself by a few per cent."""
    return 4.0 + 0.02 * (number % 3), 9.0 + 0.05 * (number % 2)


def slower(role, index, number):
    """The candidate is away three times as long after the first fault."""
    away, gone = alike(role, index, number)
    return (away * 3 if (role, index) == (GateRole.CANDIDATE, 0) else away), gone


def drawn(generator, longer=1.0):
    """Times with the scatter of restarts: 15 %, and a connection that waits for up to half a second more."""

    def times_s(role, index, _number):
        factor = longer if (role, index) == (GateRole.CANDIDATE, 0) else 1.0
        away = factor * 4.0 * generator.lognormal(0, 0.15) + generator.uniform(0, 0.5)
        return away, (away + 5.0 * generator.lognormal(0, 0.15)) * generator.choice((0, 1), p=(0.1, 0.9))

    return times_s


# The verdict


def test_brokers_that_do_not_differ_are_rarely_red():
    """No more often than the error that all families share, also where a backlog is gone at once now and then."""
    generator, runs = np.random.default_rng(7), so_many(60, 400)
    red = sum(judged(drawn(generator)).verdict is GateVerdict.REGRESSED for _ in range(runs))

    assert red / runs <= ALPHA / 2 + slack(ALPHA / 2, runs)


def test_an_outage_three_times_as_long_is_red():
    """In almost every gate of five repetitions, and it is that family of that cell."""
    generator, runs = np.random.default_rng(8), so_many(30, 200)
    found = [judged(drawn(generator, longer=3.0)) for _ in range(runs)]
    red = [result for result in found if result.verdict is GateVerdict.REGRESSED]

    assert len(red) >= 0.9 * runs
    assert all(failure(result, KILL, strict=False).startswith(f"regressed: {KILL}") for result in red)


def test_the_ratio_has_its_medians():
    """Of both brokers, on the screen, on the page and in the object; only the family that changed has regressed."""
    result = judged(slower)
    (kill, *others) = gate_json([result])["families"]
    page = words(gate_page.html(result, rd.study_manifest(brokers={"candidate": rd.BROKER})))

    assert (kill["family"], kill["verdict"], kill["ratio"]) == (KILL, "regressed", pytest.approx(3))
    assert kill["medians_s"] == pytest.approx([4.02, 12.06])
    assert {each["verdict"] for each in others} == {"pass"}
    row = next(line.split() for line in console.text([result]).splitlines() if line.startswith(KILL))
    assert row[2:5] == ["4.0,", "12.1", "+200.0%"]
    assert "Change of the times after a fault" in page
    assert f"{KILL} | 4.0, 12.1 | +200.0%" in page
    assert "3 cells of faults, 5 pairs of lives" in page


def test_short_times_are_no_outages():
    """What is shorter than a late message differs from nothing."""
    times = {GateRole.BASELINE: (0.01, 0.0), GateRole.CANDIDATE: (0.09, 0.0)}
    result = judged(lambda role, _index, _number: times[role])

    assert result.verdict is GateVerdict.PASS
    assert {family.ratio.estimate for family in result.families} == {1}


def test_a_time_that_does_not_exist_has_no_ratio():
    """Deliveries that never came back in one repetition: nothing is shown of that cell."""
    result = judged(
        lambda role, index, number: (None, 9.0) if (index, number) == (0, 2) else alike(role, index, number)
    )

    assert result.families[0].verdict is GateVerdict.INCONCLUSIVE
    assert result.families[0].ratio is None
    assert KILL not in result.medians_s
    assert {family.verdict for family in result.families[1:]} == {GateVerdict.PASS}
    assert "--repetitions 10" in console.text([judged(drawn(np.random.default_rng(1)), margin="1%")])


# Promises


@pytest.mark.parametrize("name", ["lost", "twice_unmarked", "unexpected", "misdelivered"])
def test_what_only_the_candidate_breaks(name):
    """One message in one repetition is enough; its item fails, whatever the times say."""
    result = judged(alike, counts={GateRole.CANDIDATE: {name: 1}})

    assert (result.verdict, result.judged) == (GateVerdict.FAILED, GateVerdict.PASS)
    assert "the candidate broke a promise that the baseline kept" in console.text([result])
    why = failure(result, CORRECTNESS, strict=False)
    assert "under kill-stored: 1 " in why
    assert failure(result, KILL, strict=True) == ""


@pytest.mark.parametrize(
    ("counts", "promise", "remark"),
    [
        (
            {role: {"lost": 3} for role in GateRole},
            PROMISED,
            "kill-stored: the baseline does not keep it: 3 lost of what was confirmed",
        ),
        (
            {GateRole.BASELINE: {"unexpected": 2}},
            PROMISED,
            "the baseline does not keep it: 2 delivered though refused",
        ),
        (
            {GateRole.CANDIDATE: {"lost": 4}},
            Promise(stored=False, marked=False),
            "kill-stored: new, but promised by neither: 4 lost of what was confirmed",
        ),
        (
            {GateRole.CANDIDATE: {"reordered": 5}},
            PROMISED,
            "new, but promised by neither: 5 overtaken by later ones",
        ),
        (
            {GateRole.CANDIDATE: {"kept": 6}},
            PROMISED,
            "new, but promised by neither: 6 delivered only after consumers had connected anew",
        ),
    ],
)
def test_what_is_old_or_not_promised_is_a_remark(counts, promise, remark):
    """What the baseline breaks as well, it alone, or what neither promises to keep."""
    result = judged(alike, counts=counts, promise=promise)

    assert result.verdict is GateVerdict.PASS
    assert remark in " ".join(finding.reason for finding in result.findings)


def test_a_candidate_that_stays_away():
    """It fails, unless the baseline does as well."""
    said = "3 publishers not connected 60 s after the fault"
    alone = judged(alike, overdue={GateRole.CANDIDATE: said})
    both = judged(alike, overdue=dict.fromkeys(GateRole, said))

    assert alone.verdict is GateVerdict.FAILED
    assert said in failure(alone, CORRECTNESS, strict=False)
    assert both.verdict is GateVerdict.PASS


def test_cells_that_neither_can_do_are_not_judged():
    """Their items are skipped with the reason; all others are judged."""
    result = judged(alike, left_out=("reset-stored",))

    assert result.not_applicable == dict.fromkeys(("reset-stored away", "reset-stored backlog gone"), "no transactions")
    assert len(result.families) == 4


def test_the_fewest_repetitions_are_those_of_an_interval():
    assert judged(alike).pairs == FEWEST_PAIRS == options()["repetitions"]
