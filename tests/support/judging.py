"""pytest with the half of the suite that judges, on a run directory that is there already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.plugins_known import plugins_known

#: Two measured items and an ordinary one, and the measuring half in place of the real one.
SUITE = """
    import pytest

    @pytest.mark.experiment("replication")
    @pytest.mark.parametrize("cell", ["a", "b"])
    def test_measures(cell):
        pass

    def test_ordinary():
        pass
"""

MEASUREMENT = """
    import pathlib, pytest

    class Measurement:
        run_directory = {folder}
        families = {families}
        measures = True
        reports_only = {reports_only}
        cut_short = {cut_short!r}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(items):
        items.reverse()

    def pytest_configure(config):
        config.addinivalue_line("markers", "experiment(name): measured")
        config.addinivalue_line("markers", "workload(name): performed")
        config.pluginmanager.register(Measurement(), "measurement")
"""


def judged_session(pytester, runs: Path, families: tuple[str, ...] = ()) -> Callable:
    """Runs pytest on the suite with the run directory of a name; warnings are errors, as in this repository.

    families: those of a gate
    """

    def run(name, *arguments, reports_only=False, cut_short=""):
        pytester.makeini("[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n")
        folder = "None" if name is None else f"pathlib.Path({str(runs / name)!r})"
        pytester.makeconftest(
            MEASUREMENT.format(folder=folder, families=families, reports_only=reports_only, cut_short=cut_short)
        )
        pytester.makepyfile(test_suite=SUITE)
        plugins = ("-p", "fixtures.session.failures_plugin", "-p", "analysis.plugin", "-p", "no:xdist")
        with plugins_known():
            return pytester.runpytest_inprocess(*plugins, "-v", *arguments)

    return run
