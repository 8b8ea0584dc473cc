"""The limits and the words that were fixed before any result: a change is a decision, and is made here as well."""

from __future__ import annotations

import pytest

from workloads import limits
from workloads.limits import Rule
from workloads.status import CellStatus, VerdictKind, WindowStatus

#: What a number may deviate by and still be believed.
LIMITS = {
    "CONSERVATION": 0.01,
    "BROKER_CPU": 0.95,
    "LOAD_CPU": 0.75,
    "IDLE_CPU": 0.02,
    "WARM_CONTRASTS": 0.03,
    "WARM_COMPILER": 0.01,
    "LAYOUTS": 4,
    "PRECISION": 0.15,
    "CELL_PRECISION": 0.10,
    "STOLEN": 0.05,
    "DISTURBED": 0.6,
    "DISTURBED_LEVEL": 0.10,
    "GOOD": 0.05,
    "ROUGH": 0.15,
    "NEGLIGIBLE": 0.05,
    "CARRY_OVER": 0.01,
    "ROBUST_MEAN": 0.02,
    "IDLE_BROKER": 0.03,
    "BACKLOG": 0.20,
    "CAPACITY_DROP": 0.10,
}

ALL = [value for value in vars(limits).values() if isinstance(value, Rule)]


@pytest.mark.parametrize(("name", "limit"), LIMITS.items())
def test_a_limit_is_the_one_that_was_fixed(name, limit):
    """What may be believed was decided before any result was seen."""
    assert getattr(limits, name).limit == limit


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_limits_and_why(rule):
    """A finding quotes name, limit, unit and source: none of them may be missing, and no name may be there twice."""
    assert rule.name
    assert rule.unit
    assert rule.source
    assert [other.name for other in ALL].count(rule.name) == 1


def test_the_words_for_cells_and_verdicts_are_fixed():
    """Scripts read them in the JSON output."""
    assert set(CellStatus) == {
        "ok",
        "not-saturated",
        "generator-bound",
        "unsteady",
        "audit-failed",
        "lossy",
        "not-applicable",
    }
    assert set(WindowStatus) == {"ok", "warm-up"}
    assert set(VerdictKind) == {"valid", "invalid", "unverified"}
