"""What `pytest workloads` collects of this workload, and what it refuses before anything starts."""

from __future__ import annotations

import re

import pytest

from tests.support.sessions import within
from workloads.capabilities import Capabilities
from workloads.jms2009ps.cases import CONFIGURATION, OF_PAPER
from workloads.jms2009ps.configuration import NONDURABLE, read
from workloads.jms2009ps.configuration_record import configuration_digest
from workloads.scenario.applicability import missing_capability_of_scenario
from workloads.scenario.model import Consumption
from workloads.scenario.workload import CaseRequest, Text

FILE = "workloads/jms2009ps/test_jms2009ps.py"
COLLECTING = ("workloads", "--co", "-q", "--broker", "reference")


def cells(output):
    """The cells that are listed."""
    return re.findall(rf"^{FILE}::test_\w+\[reference-s1-(.+)\]$", output, re.MULTILINE)


def digest_of(text):
    return configuration_digest(read(text, "any"))[:8]


def test_a_scenario_is_selected_by_its_name(tmp_path):
    """-k with the workload's name and that of a scenario leaves that one alone, at the BASE asked for."""
    ended = within(*COLLECTING, "-k", "jms2009ps and scenario_2", "--base", "7", results=tmp_path / "results")

    assert ended.code == 0, ended.output
    assert cells(ended.output) == ["scenario_2-b0007"]


def test_all_cases(tmp_path):
    """The scenarios, and the file that comes with the suite, with a digest of what it says."""
    ended = within(*COLLECTING, "-k", "jms2009ps", results=tmp_path / "results")
    own = f"configuration_{digest_of(NONDURABLE.read_text(encoding='utf-8'))}-b0005"

    assert sorted(cells(ended.output)) == [own, "scenario_1-b0005", "scenario_2-b0005", "scenario_3-b0005"]


def test_files_are_cells(tmp_path):
    """Each file is a cell of its own; two that say the same are one."""
    texts = {"one.toml": "scenario = 2", "two.toml": "scenario = 3", "again.toml": "scenario = 3  # the same"}
    words = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        words += ["--configuration", str(tmp_path / name)]
    ended = within(*COLLECTING, "-k", "jms2009ps and configuration", *words, results=tmp_path / "results")

    assert sorted(cells(ended.output)) == sorted(
        f"configuration_{digest_of(text)}-b0005" for text in ("scenario = 2", "scenario = 3")
    )


#: Of a session -> its words, the text of the file, and what the refusal says.
REFUSED = {
    "a wrong file": (("-k", "jms2009ps"), "[all]\nqueues = true", r"own\.toml: \[all\]: unknown key 'queues'"),
    "a wrong file, not selected": (("-k", "scenario_1"), "scenario = 4", r"own\.toml: scenario: expected 1, 2 or 3"),
    "a file, not selected": (
        ("-k", "scenario_1"),
        "scenario = 2",
        r"--configuration is for the case configuration, which was not selected: -k configuration",
    ),
    "no such file": (("-k", "jms2009ps"), None, r"--configuration .*own\.toml: cannot be read"),
    "two workloads": (
        ("-k", "scenario_1 or configuration or interaction_4"),
        "scenario = 2",
        r"cases of .* and .* were selected, and one run directory holds one workload: select one with -k",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_run_is_refused(tmp_path, name):
    """Exit code 4, with what was expected; no results were written."""
    words, text, why = REFUSED[name]
    file = tmp_path / "own.toml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    ended = within(*COLLECTING, *words, "--configuration", str(file), results=tmp_path / "results")

    assert re.search(why, ended.output), ended.output
    assert ended.code == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in ended.output
    assert not ended.results.exists()


def test_brokers_without_filters():
    """The scenarios with selectors are not applicable to such a broker, for this reason; the first has none."""
    row = Capabilities({}, selectors=False)
    reasons = [
        missing_capability_of_scenario(case.model(CaseRequest(1)).scenario, Consumption.RELAXED, row)
        for case in OF_PAPER
    ]

    assert ["no filters on subscriptions" in reason for reason in reasons] == [False, True, True]


def test_cells_tell_files_apart():
    """The id has the configuration's digest: what a file is called and what its comments say is no part of it."""
    texts = [Text("a.toml", "scenario = 2"), Text("b.toml", "scenario = 2  # again"), Text("c.toml", "scenario = 3")]
    first, second, third = (CONFIGURATION.cell(CaseRequest(5, text)) for text in texts)

    assert first == second
    assert first != third
    assert re.fullmatch(r"configuration_[0-9a-f]{8}-b0005", first)
