"""The settings, presets and requests of a workload."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workloads.errors import WorkloadError
from workloads.registry import WORKLOADS
from workloads.scenario.periods import Lengths
from workloads.scenario.workload import BASE_SEARCHED, CaseRequest, SearchedQuantity, SettingSpec, WorkloadPreset

SPEED = SettingSpec("speed", int, 1, "how fast", 1, 9)
WAY = SettingSpec("way", ("left", "right"), "left", "where to")
SHOP = replace(
    WORKLOADS["specjms2007"],
    settings=(SPEED, WAY),
    presets={
        "slow": WorkloadPreset({"speed": 2}, Lengths(1, 2, 3)),
        "fast": WorkloadPreset({"speed": 9, "way": "right"}, Lengths(1, 2, 3)),
    },
    default_base=7,
)


@pytest.mark.parametrize(
    ("given", "preset", "settings"),
    [
        ({}, None, {"speed": 2, "way": "left"}),
        ({}, "fast", {"speed": 9, "way": "right"}),
        ({"way": "left"}, "fast", {"speed": 9, "way": "left"}),
        ({"speed": 3}, None, {"speed": 3, "way": "left"}),
    ],
)
def test_a_value_given_beats_the_preset_and_that_the_default(given, preset, settings):
    """A request has every setting; the first preset is the default one."""
    assert SHOP.request(given=given, preset=preset) == CaseRequest(7, settings=settings)


@pytest.mark.parametrize(
    ("given", "preset", "why"),
    [
        ({"speed": 10}, None, "--speed: expected a whole number from 1 to 9, got 10"),
        ({"speed": True}, None, "--speed: expected a whole number from 1 to 9, got True"),
        ({"way": "up"}, None, "--way: expected one of left, right, got 'up'"),
        ({"colour": 1}, None, "--colour is no setting of specjms2007"),
        ({}, "faster", "--preset: expected one of slow, fast, got 'faster'"),
    ],
)
def test_a_value_that_a_setting_cannot_have_is_refused(given, preset, why):
    """With the name of the option, what was expected and what was given."""
    with pytest.raises(WorkloadError, match=why):
        SHOP.request(given=given, preset=preset)


def test_a_workload_without_presets_refuses_one():
    """No preset is silently ignored."""
    with pytest.raises(WorkloadError, match="--preset: expected one of none, got 'small'"):
        WORKLOADS["specjms2007"].request(preset="small")


def test_a_search_changes_one_quantity():
    """BASE, or the setting that the workload names, and nothing else of a request."""
    request = SHOP.request(3)
    speed = SearchedQuantity("find-speed", "speed", "speed", 1, 9)

    assert BASE_SEARCHED.value(request) == 3
    assert BASE_SEARCHED.changed(request, 4) == replace(request, base=4)
    assert speed.value(request) == 2
    assert speed.changed(request, 5) == replace(request, settings={"speed": 5, "way": "left"})
