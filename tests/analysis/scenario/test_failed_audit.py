"""What a user gets of a workload whose audit failed: by the last item of the session, and by the command."""

import json
from dataclasses import replace
from importlib import import_module

import pytest

from analysis.__main__ import main
from analysis.scenario import pipeline
from tests.analysis.scenario.conftest import SMALL
from tests.support import scenario_runs
from tests.support.judging import judged_session
from workloads.scenario.periods import Lengths

pytest_plugins = ["pytester"]

# A session inside this process forgets what it has imported, and a module of C is loaded once: these are here before.
for _module in (
    "analysis.store",
    "analysis.report.scenario_page",
    "analysis.scenario.console",
    "analysis.scenario.disclosure",
):
    import_module(_module)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with a run."""
    folder = tmp_path_factory.mktemp("runs")
    scenario_runs.workload_run(SMALL, lengths=Lengths(1, 1, 1)).write(folder / "workload")
    return folder


@pytest.fixture(autouse=True)
def _analysed_already(results, monkeypatch):
    """The run has the result of a cell in which a message was lost, among other faults."""

    def analysed(paths, **_):
        return tuple(replace(results["several"], path=path.resolve()) for path in paths)

    monkeypatch.setattr(pipeline, "analysed", analysed)


@pytest.mark.usefixtures("undrawn")
def test_the_item_fails_always(pytester, runs):
    """Without --strict as well; tables, report and disclosure are there all the same."""
    result = judged_session(pytester, runs)("workload")

    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "- everything received fails: *",
            "*what was measured*",
            "This workload is derived from the published SPECjms2007 papers*",
            "verdict: invalid*",
            f"report: {runs / 'workload' / 'report.html'}",
            f"disclosure: {runs / 'workload' / 'disclosure.json'}",
        ]
    )


def test_the_command_line(runs, capsys):
    """`audit --json`: one object; exit code 1 with --strict."""
    assert main(["audit", str(runs / "workload"), "--json", "--strict"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [cell["passes"] for cell in said["cells"]] == [False]
    assert said["verdict"] == "invalid"
