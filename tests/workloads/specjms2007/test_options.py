"""The options of a session of a business workload: what is refused, and the lengths of its periods."""

from __future__ import annotations

import pytest

from fixtures.session.options import OPTIONS, RUNS, FaultOptions, ScenarioOptions, ThroughputOptions
from fixtures.session.scenario_plugin import Cases
from tests.support.sessions import Config, MeasuredItem
from workloads.errors import WorkloadError
from workloads.scenario.periods import LENGTHS, OWN, PROBE, Lengths, probing
from workloads.scenario.workload import CaseRequest
from workloads.schema import RunKind
from workloads.specjms2007 import WORKLOAD
from workloads.specjms2007.cases import FREEFORM, HORIZONTAL, VERTICAL

#: An impossible option -> what the refusal says.
IMPOSSIBLE = {
    "base": (-3, r"--base: expected a whole number from 1 on, got -3"),
    "record": ("ranges", r"--record: expected one of events for a business workload, got ranges"),
    "warmup_seconds": (-1.0, r"--warmup-seconds: expected 0 to 86400, got -1"),
    "measurement_seconds": (float("nan"), r"--measurement-seconds: expected 1 to 86400, got nan"),
    "drain_seconds": (float("inf"), r"--drain-seconds: expected 1 to 86400, got inf"),
    "freeform": ("/nowhere/own.toml", r"--freeform /nowhere/own\.toml: cannot be read"),
    "starts": (0, r"--starts: expected at least 1"),
}


@pytest.mark.parametrize("key", IMPOSSIBLE)
@pytest.mark.parametrize("source", ["command line", "ini file"])
def test_an_impossible_option_is_refused(key, source):
    """With its name, what was expected and what was given, wherever it was given."""
    value, why = IMPOSSIBLE[key]
    given, ini = ({key: value}, {}) if source == "command line" else ({}, {key: str(value)})

    with pytest.raises(WorkloadError, match=why):
        ScenarioOptions(Config(given, ini))


OF_RUNS = {
    RunKind.THROUGHPUT: ThroughputOptions,
    RunKind.WORKLOAD: ScenarioOptions,
    RunKind.FAULTS: FaultOptions,
}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, option in OPTIONS.items() for kind in RunKind if kind not in option.of]
)
def test_options_of_other_kinds_are_refused(name, kind):
    """What a kind of run does not have is refused where it is given for this session; a default of the ini file not."""
    wanted, key = OF_RUNS[kind], name.replace("-", "_")
    owners = ".*".join(RUNS[each] for each in RunKind if each in OPTIONS[name].of)

    wanted(Config({}, {key: "1"} if kind is RunKind.WORKLOAD else {})).refuse_others()
    with pytest.raises(WorkloadError, match=f"--{name} is an option of {owners}, .* selected is {RUNS[kind]}"):
        wanted(Config({key: "1"}, {})).refuse_others()


@pytest.mark.parametrize(
    ("given", "case", "why"),
    [
        ({"freeform": "OWN"}, VERTICAL, r"--freeform is for the case freeform, which was not selected: -k freeform"),
        ({"find_base": True, "starts": 2}, VERTICAL, r"one search per case.*reference, start 1; reference, start 2"),
        (
            {"find_base": True, "broker": ["reference", "reference:lose=9"]},
            VERTICAL,
            r"start 1; reference:lose=9, start 1",
        ),
        ({"base": 10**7}, HORIZONTAL, r"horizontal: product families: expected 1 to \d+, got 10000000"),
    ],
)
def test_a_selection_that_cannot_be_is_refused(given, case, why, tmp_path):
    """An option that no selected case has a use for, and a BASE that is out of reach; what was not selected is no
    reason."""
    (tmp_path / "own.toml").write_text("[locations]\nshops = 3\n")
    given = {key: str(tmp_path / "own.toml") if value == "OWN" else value for key, value in given.items()}
    cases = Cases(Config({"broker": ["reference"], **given}, {}))
    mark = pytest.mark.workload(VERTICAL, HORIZONTAL, FREEFORM).mark
    cell = case.cell(CaseRequest(given.get("base", 5)))

    with pytest.raises(WorkloadError, match=why):
        cases.order([MeasuredItem(slot, mark) for slot in cases.slots(mark) if slot.cell == cell])


@pytest.mark.parametrize(
    ("given", "name", "lengths"),
    [
        ({}, "short", LENGTHS["short"]),
        ({"length": "official"}, "official", Lengths(600, 1800, 1800)),
        ({"length": "official", "warmup_seconds": 600.0}, "official", LENGTHS["official"]),
        ({"length": "official", "measurement_seconds": 900.0}, OWN, Lengths(600, 900, 1800)),
        ({"warmup_seconds": 0.0, "drain_seconds": 5.0}, OWN, Lengths(0, 90, 5)),
    ],
)
def test_lengths(given, name, lengths):
    """A length is that of its name unless a period is set, which makes it the user's own and leaves the others."""
    wanted = ScenarioOptions(Config({"broker": ["reference"], **given}, {}))

    assert wanted.named_lengths(WORKLOAD) == (name, lengths)
    assert wanted.settings(WORKLOAD).options["length"] == name


def test_lengths_of_a_probe():
    """A search probes no longer than it was asked to measure, and never longer than a probe's own bound."""
    assert probing(LENGTHS["official"]) == PROBE == Lengths(30, 20, 30)
    assert probing(Lengths(2, 30, 1)) == Lengths(2, PROBE.measurement_s, 1)
