"""The system under test as a picture: what the manifest says, and nothing that it does not say."""

import re
from dataclasses import replace

import pytest

from analysis.report.deployment_diagram import diagram
from tests.support import scenario_results as wr

RESULT = wr.result()


def drawn(label="activemq", session=None, **facts):
    """The diagram of a manifest that differs in these options of the session, or facts of its broker."""
    known = RESULT.manifest
    broker = replace(RESULT.broker, **facts)
    manifest = replace(known, options={**known.options, **(session or {})}, brokers={label: broker})
    return diagram(manifest, RESULT.plan, label)


def words(svg):
    return re.findall(r">([^<>]+)</text>", svg)


def test_what_stands_where():
    """Host, load with its CPUs, connections by kind, broker with CPUs and options, store on its file system."""
    said = words(drawn())

    assert "Load, CPU 0" in said
    assert "STOMP, 126 connections" in said
    assert "91 event handlers, 35 drivers" in said
    assert "56 queues, 103 topics" in said
    assert {"Broker activemq", "CPU 1", "Java 17.0.15", "heap 1024m"} <= set(said)
    assert {"Store", "kahadb, synced: always", "ext4 on a disk of 270 GB"} <= set(said)
    assert any(each.startswith("AMD EPYC, 2 CPUs, 24.0 GiB") for each in said)


@pytest.mark.parametrize("workers", [1, 4, 5, 32])
def test_many_workers(workers):
    """Each of a few load processes has its box; beyond four they are counted, so that the picture stays one."""
    said = words(drawn(session={"workers": workers, "load_cpus": list(range(workers))}))

    assert sum(bool(re.fullmatch(r"Worker \d+", each)) for each in said) == min(workers, 4)
    assert (f"and {workers - 4} more" in said) == (workers > 4)


def test_a_broker_that_ran_already():
    """It stands outside of the host, with what it says of itself; no store is made up for it."""
    svg = drawn("stomp://10.0.0.1:61613", provider="url", options={})
    said = words(svg)

    assert "already running on an unknown host" in said
    assert "Store" not in said
    assert "Host" in said
    assert "stroke-dasharray" in svg


def test_names_are_only_names():
    """A label is shown as it is, also where it looks like markup."""
    assert "<script>" not in drawn("<script>alert(1)</script>")
