"""What a gate shows: its screen within 15 lines of 100 columns, Markdown, the JSON object, and which item fails why."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from analysis.gate import console
from analysis.gate.items import failure
from analysis.gate.results import RoleActivity, gate_json
from analysis.gate.verdict import GateVerdict, worst
from analysis.results import Finding, Interval
from tests.support.gates import family, result, rules
from tests.support.pages import screen
from workloads.gate import ALL_CELLS, CORRECTNESS, LOOKS, SCENARIO_FAMILIES, GateRole, Policy
from workloads.status import VerdictKind
from workloads.throughput.families import COSTS

FAMILIES = (*COSTS, ALL_CELLS)

LOST = Finding(
    what="copies lost by candidate",
    measured="97 in candidate start 1 replication f0000-r001, candidate start 2 replication f0000-r001, candidate "
    "start 3 replication f0000-r001, candidate start 4 replication f0000-r001 and 26 more cells",
    limit="0",
    advice="no other result of this run may be used; `python -m analysis audit` lists the cells, the broker's log is "
    "in the run directory",
    consequence=VerdictKind.INVALID,
)
BUSY = Finding(
    what="the broker that was not under load was busy",
    measured="70 of 120 pairs of adjacent slices had to be left out",
    limit="33% of the pairs of adjacent slices",
    advice="look for what keeps an idle broker busy: expiry, page-outs, background threads",
    consequence=VerdictKind.UNVERIFIED,
)


UNKNOWN = Finding(
    what="CPU of candidate is not known",
    measured="its process or its CPU set could not be read",
    limit="broker CPU: 0.95 of its CPU set, at least",
    advice="name its process with --broker-pid, or nobody knows if the broker was the bottleneck",
)


def of_all(verdict, ratio=1.2, names=FAMILIES, **changes):
    """A gate all of whose families have this verdict."""
    return result(verdict, *(family(name, verdict, ratio) for name in names), **changes)


#: By what they say.
RESULTS = {
    "pass": of_all(GateVerdict.PASS, 1.0),
    "faster": of_all(GateVerdict.FASTER, 0.8),
    "regressed": of_all(GateVerdict.REGRESSED, 2.345),
    "inconclusive": of_all(GateVerdict.INCONCLUSIVE, 1.04, pairs=LOOKS[-1]),
    "inconclusive, few pairs": of_all(GateVerdict.INCONCLUSIVE, 1.04, pairs=5),
    "not above 0": of_all(GateVerdict.INCONCLUSIVE, None),
    "failed": of_all(GateVerdict.PASS, 1.0, overriding=GateVerdict.FAILED, findings=(LOST, LOST, BUSY)),
    "contaminated": of_all(GateVerdict.REGRESSED, 2.0, overriding=GateVerdict.CONTAMINATED, findings=(BUSY,)),
    "calibration": of_all(
        GateVerdict.INCONCLUSIVE, 1.01, rules=rules(calibrate=True, looks=(8,), confirming=0), broker="activemq:5.18.3"
    ),
    "remarks": of_all(GateVerdict.PASS, 1.0, findings=(UNKNOWN, UNKNOWN, UNKNOWN)),
    "workload": of_all(GateVerdict.INCONCLUSIVE, 1.04, SCENARIO_FAMILIES, what="specjms2007 vertical-b0020", pairs=5),
    "long names": of_all(
        GateVerdict.INCONCLUSIVE,
        1.04,
        baseline="reference:t_rcv=300us,t_fltr=15us,t_tx=100us,noise=2%",
        broker="reference:t_rcv=300us,t_fltr=15us,t_tx=200us,noise=2%",
        what="20 cells of and_filters, or_filters, replication",
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_screen_is_short(name):
    """At most 15 lines of 100 columns, whatever the verdict."""
    lines = console.text([RESULTS[name]]).splitlines()

    assert len(lines) <= 15
    assert max(map(len, lines)) <= 100
    assert not any(line != line.rstrip() for line in lines)


@pytest.mark.parametrize("name", ["regressed", "failed"])
def test_a_screen_in_full(name):
    """Both brokers, every family, the verdict with its meaning, what it rests on, and what to do now, however long."""
    assert console.text([RESULTS[name]]) == screen(f"gate-{name}.txt")


def test_markdown_in_full():
    """The same for a page of a CI system, with the pauses of the brokers."""
    activity = {role: RoleActivity(0.021, 0.004) for role in GateRole}

    markdown = console.markdown([replace(RESULTS["inconclusive"], activity=activity)])
    assert markdown == screen("gate-inconclusive.md")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pass", "verdict: pass - the candidate is not slower by the margin because"),
        ("faster", "verdict: faster - the candidate is faster by more than the margin because t_rcv -20.0%; t_fltr"),
        (
            "inconclusive",
            "because t_tx -0.2% to +8.2%, margin 5.0%; all cells -0.2% to +8.2%, margin 5.0% next: a",
        ),
        ("inconclusive, few pairs", "next: more pairs of lives narrow the intervals: --pairs 10"),
        ("not above 0", "no ratio - 5.0% - inconclusive verdict: "),
        ("not above 0", "next: the report has what was measured of each cell"),
        ("remarks", "remarks: CPU of candidate is not known; CPU of"),
        (
            "contaminated",
            "verdict: contaminated - the conditions of the comparison were not met because the broker",
        ),
        ("contaminated", "70 of 120 pairs of adjacent slices had to be left out (limit: 33% of the pairs"),
        ("contaminated", "next: look for what keeps an idle broker busy"),
        ("calibration", "Calibration: activemq:5.18.3 against itself, 6 cells of replication, 8 pairs baseline: "),
        (
            "calibration",
            "smallest margin that a gate can have here: t_rcv 3.0%, t_fltr 3.0%, t_tx 3.0%, all",
        ),
        ("workload", "because CPU per message -0.2% to +8.2%, margin 5.0%;"),
    ],
)
def test_the_screen_says_why(name, said):
    """What each verdict says, what it rests on, and what to do now."""
    assert said in " ".join(console.text([RESULTS[name]]).split())


def test_a_calibration_asks_for_nothing():
    """More pairs of lives are no advice, since the smallest margin follows from their scatter; a fault has its own."""
    wrong = replace(RESULTS["calibration"], overriding=GateVerdict.FAILED, findings=(LOST,))

    assert "next:" not in console.text([RESULTS["calibration"]])
    assert "next: no other result" in console.text([wrong])


@pytest.mark.parametrize("name", RESULTS)
def test_brokers_by_url_are_these_processes(name):
    """Headline, verdict and failures say so, on the screen and in Markdown; otherwise nothing does."""
    of_processes = replace(RESULTS[name], of_processes=True)
    texts = [" ".join(render([of_processes]).split()) for render in (console.text, console.markdown)]
    failures = [failure(of_processes, found.family, strict=True) for found in of_processes.families]

    assert [text.count("of these processes") for text in texts] == [2, 2]
    assert all("of these processes" in why for why in failures if why)
    assert "these processes" not in console.text([RESULTS[name]]) + console.markdown([RESULTS[name]])


# JSON


def test_json_has_its_keys():
    """As the method says: the names of both brokers, families and cells with ratio and interval, the verdict."""
    record = json.loads(json.dumps(gate_json([RESULTS["regressed"]]), allow_nan=False))
    families = record.pop("families")

    assert [found["family"] for found in families] == list(FAMILIES)
    assert families[0] == {
        "family": "t_rcv",
        "ratio": 2.345,
        "ci95": pytest.approx([0.96 * 2.345, 1.04 * 2.345]),
        "robust_ratio": 2.345,
        "smallest_detectable": 0.062,
        "scatter_of_pairs": 0.028,
        "margin": 0.05,
        "verdict": "regressed",
    }
    assert record == {
        "schema": 1,
        "run": "20260101T000000000Z-replication-gate",
        "baseline": "activemq:5.18.3",
        "broker": "activemq:6.1.7",
        "titles": {"baseline": "ActiveMQ Classic 5.18.3, jars", "candidate": "ActiveMQ Classic 6.1.7, jars"},
        "pairs": 8,
        "margin": 0.05,
        "policy": "blame",
        "of_processes": False,
        "cells": [{"cell": "replication f0000-r001", "ratio": 1.2, "ci95": [1.15, 1.25], "by_pair": [1.15, 1.25]}],
        "order_effect": None,
        "slice_scatter": None,
        "findings": [],
        "verdict": "regressed",
    }


def test_json_of_what_is_not_known():
    """The ratio of a cost that is not above 0 is null, and so is all that follows from it; a finding has no verdict."""
    (family, *_) = gate_json([RESULTS["not above 0"]])["families"]
    (_, _, busy) = gate_json([RESULTS["failed"]])["findings"]

    unknown = {name for name, value in family.items() if value is None}
    assert unknown == {"ratio", "ci95", "smallest_detectable", "robust_ratio", "scatter_of_pairs"}
    assert busy.keys() == {"what", "measured", "limit", "advice"}
    effect = gate_json([replace(RESULTS["pass"], order_effect=Interval(1.01, 0.99, 1.03))])["order_effect"]
    assert effect == {"ratio": 1.01, "ci95": [0.99, 1.03]}


def test_several_gates():
    """A list of records; the worst verdict is that of all."""
    record = gate_json([RESULTS["pass"], RESULTS["failed"], RESULTS["regressed"]])

    assert [gate["verdict"] for gate in record["gates"]] == ["pass", "failed", "regressed"]
    assert record["schema"] == 1
    assert worst(RESULTS[name].verdict for name in ("pass", "regressed")) is GateVerdict.REGRESSED
    assert worst(RESULTS[name].verdict for name in ("regressed", "contaminated", "failed")) is GateVerdict.FAILED


# Items


def failing(shown, *, strict=False, names=FAMILIES):
    return [item for item in (CORRECTNESS, *names) if failure(shown, item, strict=strict)]


@pytest.mark.parametrize(
    ("name", "items", "strict"),
    [
        ("pass", [], []),
        ("faster", [], []),
        ("regressed", FAMILIES, FAMILIES),
        ("inconclusive", [], ["t_tx", ALL_CELLS]),
        ("not above 0", [], ["t_tx", ALL_CELLS]),
        ("failed", [CORRECTNESS], [CORRECTNESS]),
        ("contaminated", [CORRECTNESS], [CORRECTNESS]),
        ("calibration", [], []),
        ("workload", [], SCENARIO_FAMILIES),
    ],
)
def test_which_items_fail(name, items, strict):
    """A shown regression always, what could not be decided only where that was asked for; faults before all else."""
    shown = RESULTS[name]
    names = [found.family for found in shown.families]

    assert failing(shown, names=names) == list(items)
    assert failing(shown, names=names, strict=True) == list(strict)
    policy = replace(shown.rules, policy=Policy.NON_INFERIORITY)
    assert failing(replace(shown, rules=policy), names=names) == list(strict)


def test_a_failure_has_its_numbers():
    """Brokers, change, interval, margin and pairs; of a fault what was measured and its limit."""
    assert failure(RESULTS["regressed"], "t_tx", strict=False) == (
        "regressed: t_tx of activemq:6.1.7 against activemq:5.18.3: +134.5%, 95 % interval +125.1% to +143.9%; margin "
        "5.0%, over 8 pairs"
    )
    assert "no ratio, since it is unknown or not above 0" in failure(RESULTS["not above 0"], "t_tx", strict=True)
    lost = failure(RESULTS["failed"], CORRECTNESS, strict=False)
    assert lost.startswith(
        "failed: messages were lost, duplicated, reordered or misdelivered\ncopies lost by candidate"
    )
    assert "(limit: 0)" in lost


def test_a_family_that_was_not_judged_fails():
    """An item whose family is missing in the result is never a pass."""
    only = result(GateVerdict.PASS, family(ALL_CELLS, GateVerdict.PASS, 1.0))

    assert failing(only) == list(COSTS)
    assert failure(only, "t_tx", strict=False) == "t_tx: was to be judged, and was not measured"
