"""Joins the two halves: the plugins that measure and the plugin that judges. No logic of its own."""

pytest_plugins = [
    "fixtures.session.failures_plugin",
    "fixtures.session.throughput_plugin",
    "fixtures.session.scenario_plugin",
    "fixtures.session.faults_plugin",
    "fixtures.session.release_gates",
    "fixtures.plugin",
    "analysis.plugin",
]
