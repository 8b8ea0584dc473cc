"""`python -m workloads describe`: what a workload is, before anything runs."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from workloads.__main__ import main
from workloads.registry import WORKLOADS

SHOP = """\
shop, BASE 2: 40.00 messages sent per second, 5 connections, 3 event handlers, 2 drivers
file: shop.toml
places: 2 shop, 1 warehouse

messages
message       over      destinations  delivery      bytes    sent/s
------------  ------  --------------  ----------  -------  --------
order         queue                1  persistent      800     20.00
confirmation  queue                2  plain           200     20.00

who sends what to whom
  shop1 and 1 alike -- order --> warehouse1
    warehouse1 -- confirmation --> one of 2 (shop1, ...)
"""


def test_a_file_is_described(capsys):
    """Places, messages with rates and sizes, and who sends what to whom."""
    assert main(["describe", str(ROOT / "workloads" / "own" / "shop.toml"), "--base", "2"]) == 0
    assert capsys.readouterr().out.startswith(SHOP)


def test_sizes_groups_and_handlers_are_described(capsys):
    """How often each size is sent, who of several gets a copy, and how many handlers compete."""
    for example in ("prices", "pipeline"):
        assert main(["describe", str(ROOT / "workloads" / "own" / f"{example}.toml"), "--base", "1"]) == 0
    said = capsys.readouterr().out

    for words in (
        "200 (90 %), 2000 (9 %), 20000 (1 %)",
        "headquarters1 -- price --> some of 8 (branch1, ...)\n",
        "headquarters1 -- closing --> all 8 (branch1, ...)\n",
        "    branch1 and 7 alike -- report --> headquarters1\n",
        "source1 -- received --> check1, 4 handlers\n",
    ):
        assert words in said, said


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_described(name, capsys):
    """With all its messages, and its disclaimer at the end."""
    workload = WORKLOADS[name]
    assert main(["describe", name, "--base", "2"]) == 0
    said = capsys.readouterr().out
    case = next(iter(workload.cases.values()))

    assert " ".join(said.split()).endswith(workload.disclaimer)
    if case.files is None:
        model = case.model(workload.request(2))
        arrows = [line.split(" -- ")[1].split(" --> ")[0] for line in said.splitlines() if " --> " in line]
        assert sorted(arrows) == sorted(model.scenario.steps)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.toml",), "nowhere.toml: cannot be read"),
        (("logistics", "--case", "vertical"), "--case: expected one of corrected"),
        (("specjms2007", "--base", "0"), "BASE: expected a whole number from 1 on, got 0"),
    ],
    ids=str,
)
def test_what_cannot_be_described_is_refused(words, said, capsys):
    """With exit code 2 and the reason on standard error."""
    assert main(["describe", *words]) == 2
    assert said in capsys.readouterr().err
