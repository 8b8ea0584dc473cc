"""What `pytest workloads` collects of this workload, and what it refuses before anything starts."""

from __future__ import annotations

import re

import pytest

from tests.support.sessions import within
from workloads.logistics import WORKLOAD
from workloads.logistics.cases import PRESETS
from workloads.logistics.dimensions import LogisticsSize
from workloads.logistics.profiles import PROFILES

FILE = "workloads/logistics/test_logistics.py"
COLLECTING = ("workloads", "--co", "-q", "--broker", "reference")


def cells(output):
    """The cells that are listed."""
    return re.findall(rf"^{FILE}::test_\w+\[reference-s1-(.+)\]$", output, re.MULTILINE)


#: Words of a session -> the cells that it lists.
SELECTED = {
    ("-k", "logistics"): {"corrected-v05-k0720-selector-m4-b0001", "as_printed-v05-k0720-selector-m4-b0001"},
    ("-k", "logistics and corrected", "--preset", "smoke", "--addressing", "topic"): {
        "corrected-v01-k0720-topic-m4-b0001"
    },
    ("-k", "logistics and as_printed", "--preset", "medium", "--compression", "30", "--base", "2"): {
        "as_printed-v10-k0030-selector-m4-b0002"
    },
}


@pytest.mark.parametrize("words", SELECTED, ids=" ".join)
def test_cells(tmp_path, words):
    """Profiles are cases; an option beats the preset; --co says subscriptions, connections and how long it takes."""
    ended = within(*COLLECTING, *words, results=tmp_path / "results")

    assert ended.code == 0, ended.output
    assert set(cells(ended.output)) == SELECTED[words]
    for name in SELECTED[words]:
        assert re.search(
            rf"{name}: .* [\d,]+ subscriptions .* come and go; \d+ connections; .* messages/s", ended.output
        ), ended.output
    assert re.search(r"about \d+ min", ended.output)


#: Words of a session -> what the refusal says.
REFUSED = {
    ("--vehicles", "54"): r"--vehicles: expected a whole number from 1 to 53, got 54",
    ("--preset", "full", "--base", "4"): r"--base 4 with --vehicles 53: \d+ keys of shipments are needed",
    ("--arrivals", "poisson"): r"--arrivals poisson: the stages of a shipment follow its begin",
    ("--find-base",): r"--find-base is an option of .*, not of logistics",
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_cannot_be_run_is_refused(tmp_path, words):
    """Exit code 4, with the option and what was expected; nothing was started."""
    ended = within(*COLLECTING, "-k", "logistics", *words, results=tmp_path / "results")

    assert re.search(REFUSED[words], ended.output), ended.output
    assert ended.code == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in ended.output


def test_presets():
    """Each is a size that fits, with a warm-up that covers the time until all sessions are there."""
    for name, preset in PRESETS.items():
        request = WORKLOAD.request(preset=name)
        for case in WORKLOAD.cases.values():
            model = case.model(request)
            assert isinstance(model.size, LogisticsSize)
            assert WORKLOAD.least_warm_up_s(model) <= preset.lengths.warm_up_s
    assert next(iter(PRESETS)) == "small"
    assert [case.replace("_", "-") for case in WORKLOAD.cases] == list(PROFILES)
