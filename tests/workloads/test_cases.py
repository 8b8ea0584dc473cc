"""What `pytest workloads` collects, what it says of it beforehand, and what it refuses before anything starts."""

from __future__ import annotations

import re
import sys
from itertools import product

import pytest

from tests.support.sessions import PYTEST, command, within
from tests.support.throughput_runs import SHOW_HEAVY
from workloads.capabilities import Capabilities
from workloads.exit_codes import ExitCode
from workloads.jms2009ps.cases import CONFIGURATION, OF_PAPER
from workloads.jms2009ps.configuration import NONDURABLE, read
from workloads.jms2009ps.digests import configuration_digest
from workloads.logistics import WORKLOAD as LOGISTICS
from workloads.logistics.profiles import PROFILES
from workloads.scenario.applicability import missing_capability_of_scenario
from workloads.scenario.model import Consumption
from workloads.scenario.workload import CaseRequest, Text
from workloads.specjms2007.cases import ALONE, CASES, FREEFORM, HORIZONTAL, RECOVERABILITY, VERTICAL

COLLECTING = ("workloads", "--co", "-q", "--broker", "reference")


def cells(output: str) -> list[tuple[str, str]]:
    """Of the items that are listed: start and cell."""
    return re.findall(r"^workloads/\w+/test_\w+\.py::test_\w+\[reference-s(\d)-(.+)\]$", output, re.MULTILINE)


def own(text: str) -> str:
    """The cell of a configuration with this text."""
    return f"configuration_{configuration_digest(read(text, 'any'))[:8]}-b0005"


def test_everything_is_an_item(tmp_path):
    """All cases once in each start, which is in one piece; --co says how much that is and how long it takes, writes no
    results, and loads neither Spark nor a statistics library."""
    words = (*COLLECTING, "-k", "specjms2007", "--starts", "2")
    ended = command(sys.executable, "-c", SHOW_HEAVY, *words, results=tmp_path / "results")
    size = r"10 cells at BASE 5 x 2 starts of reference; warm-up 30 s, measurement 90 s, drain at most 60 s; strict"
    minutes = int(re.search(size + r" consumption; about (\d+) min", ended.output)[1])
    every = {case.cell(CaseRequest(5)) for case in CASES.values()}

    assert ended.code == 0, ended.output
    assert len(cells(ended.output)) == 2 * len(every)
    assert set(cells(ended.output)) == set(product("12", every))
    assert [start for start, _ in cells(ended.output)] == ["1"] * len(every) + ["2"] * len(every)
    assert 20 * 2 <= minutes <= 20 * 2.5
    assert "loaded: []" in ended.output
    assert not ended.results.exists()


#: Words of a session -> the cells that it lists, and what it says of them.
SELECTED = {
    ("-k", "specjms2007 and vertical", "--repeat"): (
        {"vertical-b0005"},
        r"90 s and once more, drain .* about [345] min",
    ),
    ("-k", "jms2009ps", "--base", "5"): (
        {f"scenario_{number}-b0005" for number in "123"} | {own(NONDURABLE.read_text(encoding="utf-8"))},
        "4 cells at BASE 5",
    ),
    ("-k", "jms2009ps and configuration", *(f"--configuration={name}.toml" for name in ("two", "three", "again"))): (
        {own("scenario = 2"), own("scenario = 3")},
        "2 cells",
    ),
    ("-k", "logistics"): (
        {"corrected-v05-k0720-selector-m4-b0001", "as_printed-v05-k0720-selector-m4-b0001"},
        r"selector-m4-b0001: .* [\d,]+ subscriptions .* come and go; \d+ connections; .* messages/s",
    ),
    ("-k", "logistics and corrected", "--preset", "smoke", "--addressing", "topic", "--compression", "100"): (
        {"corrected-v01-k0100-topic-m4-b0001"},
        r"about \d+ min",
    ),
}


@pytest.fixture
def files(tmp_path):
    """Files of configurations, two of which say the same, and one that is wrong for each workload."""
    texts = {
        "two": "scenario = 2",
        "three": "scenario = 3",
        "again": "scenario = 3  # the same",
        "queues": "[all]\nqueues = true",
        "shops": "[locations]\nshops = 3\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return lambda words: [re.sub(r"(\w+\.toml)", lambda match: str(tmp_path / match[1]), word) for word in words]


@pytest.mark.parametrize("words", SELECTED, ids=" ".join)
def test_items_are_selected_by_their_names(words, files, tmp_path):
    """-k with a workload's name and that of a case; each file is a cell; an option beats the preset."""
    expected, said = SELECTED[words]
    ended = within(*COLLECTING, *files(words), results=tmp_path / "results")

    assert ended.code == 0, ended.output
    assert {cell for _, cell in cells(ended.output)} == expected
    assert re.search(said, ended.output), ended.output


#: Words of a session -> what the refusal says.
REFUSED = {
    ("workloads", "microbench"): r"one run directory holds one kind: name microbench or workloads",
    ("workloads", "-k", "freeform", "--freeform", "shops.toml"): (
        r"shops\.toml, line 2: \[locations\]: unknown key 'shops'; expected supermarkets"
    ),
    ("workloads", "-k", "horizontal", "--base", "20"): r"\d+ connections are planned, .*hard limit is 300: raise it",
    (
        "workloads",
        "-k",
        "recoverability",
        "--grid",
        "quick",
    ): r"--grid is an option of the experiment faults, which was",
    (
        "workloads",
        "-k",
        "jms2009ps",
        "--configuration",
        "queues.toml",
    ): r"queues\.toml, line 2: \[all\]: unknown key 'queues'",
    ("workloads", "-k", "scenario_1", "--configuration", "two.toml"): (
        r"--configuration is for the case configuration, which was not selected: -k configuration"
    ),
    ("workloads", "-k", "jms2009ps", "--configuration", "none.toml"): r"--configuration .*none\.toml: cannot be read",
    ("workloads", "-k", "scenario_1 or interaction_4"): (
        r"cases of .* and .* were selected, and one run directory holds one workload: select one with -k"
    ),
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_cannot_be_run_is_refused(words, files, tmp_path):
    """With what was expected; no broker was started and no results were written. Exit code 4, and 11 where it is the
    host that lacks something."""
    options = (*files(words), "--broker", "reference")
    if "horizontal" in words:  # of a process that may never have more descriptors
        limited = ("bash", "-c", 'ulimit -n 300 && exec "$@"', "bash", *PYTEST)
        ended = command(*limited, *options, results=tmp_path / "results")
    else:
        ended = within(*options, results=tmp_path / "results")

    assert re.search(REFUSED[words], ended.output), ended.output
    assert ended.code == (ExitCode.UNMEASURED if "hard limit" in REFUSED[words] else pytest.ExitCode.USAGE_ERROR)
    assert "Traceback" not in ended.output
    assert not ended.results.exists()


def test_cases_are_the_topologies_of_their_names():
    """Each case is the topology that its name says, an interaction that of the vertical one with it alone."""
    text = Text("own.toml", "[locations]\nsupermarkets = 2\nheadquarters = 1\n[interaction_6]\nrate_per_s = 1\n")

    assert [VERTICAL.model(CaseRequest(7)).name, HORIZONTAL.model(CaseRequest(7)).name] == ["vertical", "horizontal"]
    assert dict(FREEFORM.model(CaseRequest(1, text)).facts)["locations"] == "2 SM, 0 SP, 0 DC, 1 HQ"
    for number, case in enumerate(ALONE, 1):
        assert list(case.model(CaseRequest(7)).interactions) == [number]
        assert case.model(CaseRequest(7)).base == 7
    assert RECOVERABILITY.model(CaseRequest(7)).name == "vertical"
    assert RECOVERABILITY.name not in CASES


def test_cells_tell_files_apart():
    """The id has the configuration's digest: what a file is called and what its comments say is no part of it."""
    texts = [Text("a.toml", "scenario = 2"), Text("b.toml", "scenario = 2  # again"), Text("c.toml", "scenario = 3")]
    first, second, third = (CONFIGURATION.cell(CaseRequest(5, text)) for text in texts)

    assert first == second == own("scenario = 2")
    assert first != third


def test_brokers_without_filters():
    """The scenarios with selectors are not applicable to such a broker, for this reason; the first has none."""
    row = Capabilities({}, selectors=False)
    reasons = [
        missing_capability_of_scenario(case.model(CaseRequest(1)).scenario, Consumption.RELAXED, row)
        for case in OF_PAPER
    ]

    assert ["no filters on subscriptions" in reason for reason in reasons] == [False, True, True]


def test_presets():
    """Each fits, with a warm-up that covers the time until all sessions are there; cases are the profiles."""
    for name, preset in LOGISTICS.presets.items():
        for case in LOGISTICS.cases.values():
            assert LOGISTICS.least_warm_up_s(case.model(LOGISTICS.request(preset=name))) <= preset.lengths.warm_up_s
    assert next(iter(LOGISTICS.presets)) == "small"
    assert [case.replace("_", "-") for case in LOGISTICS.cases] == list(PROFILES)
