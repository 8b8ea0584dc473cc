"""The verdict as the last pytest item: when it is there, where it stands, and when it fails."""

import json
import sys
import warnings
from importlib import import_module

import pytest

from analysis import plugin
from analysis.report import plot_svg
from tests.conftest import ROOT
from tests.support.judging import MEASUREMENT, SUITE, judged_session
from workloads.exit_codes import ExitCode
from workloads.schema import RunKind

pytest_plugins = ["pytester"]

# A session inside this process forgets what it has imported, and a module of C is loaded once: these are here before.
for _module in (
    *("analysis.throughput.answers", "analysis.throughput.pipeline", "analysis.throughput.overview"),
    "analysis.report.throughput_page",
):
    import_module(_module)
main = import_module("analysis.__main__").main


@pytest.fixture
def session(pytester, runs):
    """Runs pytest on a suite of two measured items and an ordinary one, with the run directory of this name."""
    return judged_session(pytester, runs)


def items(result):
    return [line.split(" ")[0].rpartition("::")[2] for line in result.outlines if "PASSED" in line or "FAILED" in line]


@pytest.mark.usefixtures("analysed_once")
def test_the_verdict_is_the_last_item_and_its_screen_closes_the_run(session, runs):
    """It follows every other item, whatever their order; the screen has result, verdict, next step, report and run."""
    result = session("valid", "--durations=0")

    assert items(result) == ["test_ordinary", "test_measures[b]", "test_measures[a]", "verdict[run]"]
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "*what was measured*",
            "*t_rcv*one message received*49*",
            "So 100,000 copies/s take *",
            "verdict: valid*",
            "model: good*",
            "next: *",
            "  python -m analysis predict --n-fltr 100 --replication 3*",
            f"*{runs / 'valid'}",
            f"report: {runs / 'valid' / 'report.html'}",
            f"run directory: {runs / 'valid'}",
        ]
    )
    lines = result.outlines
    begin = next(place for place, line in enumerate(lines) if "what was measured" in line)
    assert lines.index(f"run directory: {runs / 'valid'}") - begin <= 25
    assert "<svg" in (runs / "valid" / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("analysed_once", "undrawn")
def test_what_a_session_found_answers_later_questions(session, runs, capsys):
    """Its analysis is stored with the run, and the screen does not speak of it."""
    (runs / "valid" / "analysis.json").unlink(missing_ok=True)
    result = session("valid")
    capsys.readouterr()

    assert main(["fit", str(runs / "valid")]) == 0
    assert capsys.readouterr().err == f"{runs / 'valid'}: from the analysis stored with the run\n"
    assert "computed anew" not in result.stdout.str() + result.stderr.str()


@pytest.mark.usefixtures("analysed_once", "undrawn")
def test_a_report_that_cannot_be_written_does_not_cost_the_verdict(session, runs):
    """What was measured is shown and judged; instead of the report's path the screen has the reason."""
    place = runs / "invalid" / "report.html"
    place.unlink(missing_ok=True)  # of another test
    place.mkdir()
    try:
        result = session("invalid")
    finally:
        place.rmdir()

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*what was measured*", "verdict: invalid*"])
    result.stdout.fnmatch_lines([f"report: not written: {place}: the report cannot be written*--output*"])


@pytest.mark.usefixtures("analysed_once")
@pytest.mark.parametrize("arguments", [[], ["-W", "error"]])
def test_what_goes_wrong_in_a_figure_does_not_cost_the_report(session, runs, monkeypatch, arguments):
    """Neither an error nor a warning of the library, whatever the filters of the session: the report has the other
    figures, the tables and a finding for each, and the verdict is what it was."""
    draw = plot_svg.svg

    def bad(picture, salt):
        if picture.name.startswith("slices-"):
            raise ZeroDivisionError("no room")
        warnings.warn("axes collapsed", UserWarning, stacklevel=1)
        return draw(picture, salt)

    monkeypatch.setattr(plot_svg, "svg", bad)
    result = session("valid", *arguments)

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["verdict: valid*", f"report: {runs / 'valid' / 'report.html'}"])
    page = (runs / "valid" / "report.html").read_text(encoding="utf-8")
    assert "This figure could not be drawn" in page
    assert "ZeroDivisionError: no room" in page
    assert "axes collapsed" in page
    assert "<svg" in page


@pytest.fixture(scope="module")
def once():
    """What the analysis says of a run directory: for sessions that differ in what they make of it, asked once."""
    judge, said = plugin._KINDS[RunKind.THROUGHPUT], {}

    def judged(folder, stash):
        if folder not in said:
            found = judge(folder, stash)
            said[folder] = found, stash[plugin._TEXT]
        found, stash[plugin._TEXT] = said[folder]
        return found

    return judged


@pytest.mark.usefixtures("analysed_once")
@pytest.mark.parametrize(("arguments", "failed"), [([], 0), (["--strict"], 1), (["--strict-verdict"], 1)])
def test_an_invalid_run_fails_only_where_that_was_asked_for(session, once, monkeypatch, arguments, failed):
    """The screen is shown in either case; --strict makes the item fail with the reasons, without a traceback."""
    monkeypatch.setitem(plugin._KINDS, RunKind.THROUGHPUT, once)
    result = session("invalid", *arguments)

    result.assert_outcomes(passed=4 - failed, failed=failed)
    result.stdout.fnmatch_lines(["*what was measured*", "verdict: invalid*"])
    if failed:
        result.stdout.fnmatch_lines(
            ["verdict: invalid", "- copies lost by activemq: 1 in *", "FAILED verdict[[]run[]]*"]
        )
        assert "Traceback" not in result.stdout.str()
        assert "raise VerdictError" not in result.stdout.str()


def test_a_run_that_is_refused_is_always_an_error(session):
    """A directory that cannot support a verdict is an error, also without --strict, with what to do."""
    result = session("killed")

    result.assert_outcomes(passed=3, errors=1)
    assert result.ret == ExitCode.UNMEASURED
    result.stdout.fnmatch_lines(["*has no outcome: it is still running, or was killed*--partial*"])


def test_strict_may_stand_in_the_ini_file(pytester, session):
    """The ini keys of the two options are known, and the option of the same name is their default."""
    result = session(None, "-o", "strict_verdict=true", "-o", "no_analysis=true")

    result.assert_outcomes(passed=3)


def test_nothing_measured_is_a_skip(session):
    """Where every measurement was skipped, there is no directory and nothing to judge."""
    session(None).assert_outcomes(passed=3, skipped=1)


def test_no_analysis_leaves_the_item_out(session, runs):
    """--no-analysis records only, and says where."""
    result = session("valid", "--no-analysis")

    result.stdout.fnmatch_lines(["recorded, not judged", f"run directory: {runs / 'valid'}"])
    result.assert_outcomes(passed=3)
    assert "what was measured" not in result.stdout.str()


def test_a_workload_s_cases_are_judged_as_well(pytester, session):
    """The verdict follows the items of either kind."""
    pytester.makepyfile(test_cases="import pytest\n@pytest.mark.workload('vertical')\ndef test_performs():\n    pass\n")
    session(None, "-k", "performs").assert_outcomes(passed=1, skipped=1, deselected=3)


def test_ordinary_tests_have_no_verdict(session):
    """Without a measured item there is nothing to judge."""
    session("valid", "-k", "ordinary").assert_outcomes(passed=1, deselected=2)


def test_selection_cannot_lose_the_verdict(session):
    """-k selects cells; the verdict on what was selected stays."""
    result = session(None, "-k", "measures and b")

    result.assert_outcomes(passed=1, skipped=1, deselected=2)


def test_collecting_shows_the_item_and_runs_nothing(session):
    """--co lists the verdict among the items, and prints no screen."""
    result = session("valid", "--co", "-q")

    result.stdout.fnmatch_lines(["*verdict[[]run[]]*"])
    assert "what was measured" not in result.stdout.str()


@pytest.mark.usefixtures("analysed_once")
def test_what_was_seen_is_in_the_junit_report(session, once, monkeypatch, pytester, runs):
    """Verdict and directory are properties of the item, for whoever reads reports only."""
    monkeypatch.setitem(plugin._KINDS, RunKind.THROUGHPUT, once)
    session("invalid", "--junitxml=report.xml")

    report = (pytester.path / "report.xml").read_text()
    assert '<property name="verdict" value="invalid"' in report
    assert f'<property name="run_directory" value="{runs / "invalid"}"' in report


def test_collecting_and_measuring_import_no_spark(pytester, monkeypatch):
    """Spark and statsmodels come with the item, not with the plugin: checked in a process of its own."""
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    pytester.makeconftest(
        MEASUREMENT.format(folder="None", families=(), reports_only=False, cut_short="")
        + """
    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish():
        import json, sys
        heavy = {"pyspark", "pandas", "statsmodels", "scipy", "pyarrow", "matplotlib"}
        pathlib.Path("seen.json").write_text(json.dumps(sorted(heavy & set(sys.modules))))
"""
    )
    pytester.makepyfile(SUITE)

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = pytester.run(sys.executable, "-m", "pytest", "-p", "analysis.plugin")

    result.assert_outcomes(passed=3, skipped=1)
    assert json.loads((pytester.path / "seen.json").read_text()) == []
