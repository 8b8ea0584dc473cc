"""What `pytest workloads` collects, what it says of it beforehand, and what it refuses before anything starts."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from fixtures.session.options import OPTIONS, ScenarioOptions, ThroughputOptions
from fixtures.session.scenario_plugin import Cases
from tests.support.sessions import PYTEST, Config, command, within
from workloads.errors import WorkloadError
from workloads.scenario.periods import LENGTHS, OWN, PROBE, Lengths, probing
from workloads.scenario.workload import CaseRequest, Text
from workloads.schedule import Slot
from workloads.schema import RunKind
from workloads.specjms2007 import WORKLOAD
from workloads.specjms2007.cases import ALONE, FREEFORM, HORIZONTAL, RECOVERABILITY, VERTICAL

FILE = "workloads/specjms2007/test_specjms2007.py"
ALL = {case.cell(CaseRequest(5)) for case in (VERTICAL, HORIZONTAL, FREEFORM, *ALONE, RECOVERABILITY)}
SHOW_HEAVY = (
    "import sys, pytest; code = pytest.main(sys.argv[1:]);"
    "print('loaded:', [name for name in ('pyspark', 'statsmodels', 'scipy') if name in sys.modules]); sys.exit(code)"
)
REFERENCE = ("--broker", "reference")

#: A selection -> the cells that it leaves.
SELECTED = {
    "specjms2007 and vertical": {"vertical-b0005"},
    "specjms2007 and interaction_2": {"interaction_2-b0005"},
}


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """What `--co` lists, of everything and of selections."""
    results = tmp_path_factory.mktemp("collected") / "results"
    collecting = ("workloads", "--co", "-q", *REFERENCE)
    whole = ("-k", "specjms2007", "--starts", "2")
    everything = command(sys.executable, "-c", SHOW_HEAVY, *collecting, *whole, results=results)
    selections = {words: within(*collecting, "-k", words, "--repeat", results=results) for words in SELECTED}
    return {"everything": everything} | selections


def cells(output: str) -> list[tuple[str, str, str]]:
    """Of the items that are listed: broker, start and cell."""
    return re.findall(rf"^{FILE}::test_\w+\[(.+)-s(\d)-(.+)\]$", output, re.MULTILINE)


def test_everything_is_an_item(collected):
    """Both topologies, the user's own, each interaction and the recovery, once in each start, which is in one piece."""
    items = cells(collected["everything"].output)

    assert collected["everything"].code == 0
    assert {(start, cell) for _, start, cell in items} == {(start, cell) for start in "12" for cell in ALL}
    assert len(items) == 2 * len(ALL)
    assert [start for _, start, _ in items] == ["1"] * len(ALL) + ["2"] * len(ALL)


@pytest.mark.parametrize("words", SELECTED)
def test_items_are_selected_by_their_names(collected, words):
    """-k with the workload's name and that of a topology or an interaction leaves that one alone."""
    assert {cell for _, _, cell in cells(collected[words].output)} == SELECTED[words]


def test_collecting_estimates_the_time(collected):
    """--co says how much will be run, in which periods, and how long that takes."""
    size = r"11 cells at BASE 5 x 2 starts of reference; warm-up 30 s, measurement 90 s, drain at most 60 s; strict"
    found = re.search(size + r" consumption; about (\d+) min", collected["everything"].output)
    repeated = re.search(r"90 s and once more, drain .* about (\d+) min", collected["specjms2007 and vertical"].output)

    assert 22 * 2 <= int(found[1]) <= 22 * 2.5
    assert 3 <= int(repeated[1]) <= 5


def test_collecting_starts_nothing(collected):
    """--co writes no results, and loads neither Spark nor a statistics library."""
    assert not collected["everything"].results.exists()
    assert "loaded: []" in collected["everything"].output


#: Of a session -> its words, and what the refusal says.
REFUSED = {
    "both kinds": (("workloads", "microbench"), r"one run directory holds one kind: name microbench or workloads"),
    "an unknown key": (
        ("workloads", "-k", "freeform", "--freeform", "OWN"),
        r"own\.toml: \[locations\]: unknown key 'shops'; expected supermarkets",
    ),
    "too few descriptors": (
        ("workloads", "-k", "horizontal", "--base", "20"),
        r"\d+ connections are planned, .*hard limit is 300: raise it",
    ),
    "nothing applicable": (
        ("workloads", "-k", "recoverability"),
        r"no cell is applicable: persistent messages do not outlive its process",
    ),
    "options that cannot be": (("workloads", "-k", "vertical", "--base", "0"), r"--base: expected .*, got 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_run_is_refused(tmp_path, name):
    """Exit code 4, with what was expected; no broker was started and no results were written."""
    words, why = REFUSED[name]
    (tmp_path / "own.toml").write_text("[locations]\nshops = 3\n")
    words = [str(tmp_path / "own.toml") if word == "OWN" else word for word in words]
    if name == "too few descriptors":  # of a process that may never have more
        limited = ("bash", "-c", 'ulimit -n 300 && exec "$@"', "bash", *PYTEST)
        ended = command(*limited, *words, *REFERENCE, results=tmp_path / "results")
    else:
        ended = within(*words, *REFERENCE, results=tmp_path / "results")

    assert re.search(why, ended.output), ended.output
    assert ended.code == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in ended.output
    assert not ended.results.exists()


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


OTHERS = {
    RunKind.THROUGHPUT: (ScenarioOptions, "the throughput study"),
    RunKind.WORKLOAD: (ThroughputOptions, "a business"),
}


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.of])
def test_options_of_the_other_kind_are_refused(name):
    """What a kind of run does not have is refused where it is given for this session; a default of the ini file not."""
    wanted, whose = OTHERS[OPTIONS[name].of]
    key = name.replace("-", "_")

    wanted(Config({}, {key: "1"} if wanted is ScenarioOptions else {})).refuse_others()
    with pytest.raises(WorkloadError, match=f"--{name} is an option of {whose}"):
        wanted(Config({key: "1"}, {})).refuse_others()


@dataclass
class Item:
    """What is asked of a pytest item when a session is ordered."""

    slot: Slot

    @property
    def callspec(self) -> SimpleNamespace:
        return SimpleNamespace(params={"slot": self.slot})

    def get_closest_marker(self, name: str) -> bool:
        return name == Cases.marker


@pytest.mark.parametrize(
    ("given", "case", "why"),
    [
        ({"freeform": "OWN"}, VERTICAL, r"--freeform is for the case freeform, which was not selected: -k freeform"),
        ({"find_base": True}, RECOVERABILITY, r"--find-base searches for a BASE, and recovery has no figure"),
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
    slots = cases.slots(pytest.mark.workload(VERTICAL, HORIZONTAL, FREEFORM, RECOVERABILITY).mark)

    with pytest.raises(WorkloadError, match=why):
        cases.order([Item(slot) for slot in slots if slot.cell == case.cell(CaseRequest(given.get("base", 5)))])


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
    assert probing(LENGTHS["official"]) == PROBE
    assert probing(Lengths(2, 30, 1)) == Lengths(2, PROBE.measurement_s, 1)


def test_cases_are_the_topologies_of_their_names():
    """Each case is the topology that its name says, an interaction that of the vertical one with it alone."""
    own = Text("own.toml", "[locations]\nsupermarkets = 2\nheadquarters = 1\n[interaction_6]\nrate_per_s = 1\n")

    assert [VERTICAL.model(CaseRequest(7)).name, HORIZONTAL.model(CaseRequest(7)).name] == ["vertical", "horizontal"]
    assert FREEFORM.model(CaseRequest(1, own)).topology.locations["SM"] == 2
    for number, case in enumerate(ALONE, 1):
        assert list(case.model(CaseRequest(7)).interactions) == [number]
        assert case.model(CaseRequest(7)).base == 7
    assert [case.name for case in (VERTICAL, HORIZONTAL, FREEFORM, *ALONE) if case.killed] == []
    assert RECOVERABILITY.killed
