"""Joins the two halves: the plugins that measure and the plugin that judges. No logic of its own."""

pytest_plugins = ["fixtures.throughput_plugin", "fixtures.workload_plugin", "fixtures.plugin", "analysis.plugin"]
