"""Joins the two halves: the plugin that measures and the plugin that judges. No logic of its own."""

pytest_plugins = ["fixtures.plugin", "analysis.plugin"]
