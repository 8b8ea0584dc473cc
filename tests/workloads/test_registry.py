"""The workloads of the suite: each is found by its name, and its cases say whose they are."""

from __future__ import annotations

import json

import pytest

from analysis.record_reading import read
from workloads.json_value import json_value
from workloads.registry import WORKLOADS
from workloads.scenario.model import DESTINATION_PREFIX
from workloads.scenario.workload import NO_TEXT, Text


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_whole(name):
    """Names agree; every case's model comes back from JSON the same; its addresses are the scenario's, their
    destinations have the common prefix.
    """
    workload = WORKLOADS[name]

    assert workload.name == name
    assert workload.disclaimer
    assert len(workload.digest()) == 64
    assert "vertical" in workload.figure_name("vertical")
    for key, case in workload.cases.items():
        assert (case.name, case.workload) == (key, name)
        file = None if case.files is None else case.files.default
        own = NO_TEXT if file is None else Text(file.name, file.read_text(encoding="utf-8"))
        model = case.model(workload.request(1, own))
        written = json.loads(json.dumps(json_value([model.record, model.configuration])))
        kinds = (workload.record, workload.configuration)
        read_again = [read(kind, value, "plan.json") for kind, value in zip(kinds, written, strict=True)]
        assert workload.rebuild(*read_again) == model
        assert all(destination.name.startswith(f"{DESTINATION_PREFIX}.") for destination in model.scenario.destinations)
        labels = [f"{model.party(address)} {model.steps[address.step].message}" for address in model.addresses]
        assert [each.label for each in model.scenario.addresses] == labels


def test_the_figure_is_what_a_search_changes():
    """BASE of a supply chain, the compression of logistics: the highest that passed is the result."""
    for workload in WORKLOADS.values():
        quantity = workload.searched
        for case in (case for case in workload.cases.values() if case.files is None):
            request = quantity.changed(workload.request(2), 30)
            assert workload.figure_value(case.model(request)) == quantity.value(request) == 30
