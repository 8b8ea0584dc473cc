"""Destinations, filters and configurations side by side: by the tables what the workload counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.report import scenario_page
from analysis.scenario import console, tables
from analysis.scenario.planned_destinations import planned_destinations
from tests.support import scenario_results as wr
from tests.support.pages import Page
from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.figures import count
from workloads.jms2009ps.parameters import SubscriptionType, changed
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.status import VerdictKind

SET = replace(
    SCENARIOS[3],
    name="configuration_0123abcd",
    parameters=changed(SCENARIOS[3].parameters, subscription_type=SubscriptionType.SET),
)


@pytest.mark.parametrize("settings", [*SCENARIOS.values(), SET], ids=lambda settings: settings.name)
def test_what_a_broker_has_to_do_on_each_destination(settings):
    """Subscriptions, filters, messages, evaluations and rejections are those that the workload's figures count."""
    result = wr.configured(settings, 5)
    found = {row.name: row for row in planned_destinations(result, result.model)}
    figures = count(ConfiguredSupplyChain.configured(settings, 5))

    assert {name: (row.kind, row.subscriptions, row.filters) for name, row in found.items()} == {
        row.destination.name: (row.destination.kind.value, row.subscriptions, row.filters)
        for row in figures.destinations
    }
    for row in figures.destinations:
        assert found[row.destination.name].sent_per_s == pytest.approx(float(row.sent_per_s))
    assert sum(row.evaluated_per_s for row in found.values()) == pytest.approx(float(figures.filters.evaluated_per_s))
    assert sum(row.rejected_per_s for row in found.values()) == pytest.approx(float(figures.filters.rejected_per_s))


def test_the_busiest_destinations_come_first():
    """Fifty of them, with how many there are; the sums are of all, and rates that nobody measured say so."""
    result = wr.configured(SCENARIOS[1], 5)
    table = tables.destinations(result, result.model)
    *rows, total = table.rows

    assert len(rows) == tables.MOST == 50
    assert "the busiest 50 of 159" in table.caption
    assert "these rates follow from the tables" in table.caption
    assert rows[0].values[0] == "bench.workload.HQ1_StatInfoSMQ"
    assert total.values[:7] == ("all", "", "336", "0", "71.43", "0", "0")
    text = Page(scenario_page.html([wr.undrawn(result)])).text
    assert "Destinations of the broker: filters are subscriptions with a selector" in text


def side_by_side(results):
    return list(tables.configurations(results))


def test_configurations_side_by_side():
    """A row per cell with the means over its starts; CPU per message is of those sent and received."""
    results = [
        wr.configured(settings, 5, cpu_cores=cores, mean_ms=10 * cores, start=start)
        for settings, cores_by_start in ((SCENARIOS[1], (0.1, 0.3)), (SCENARIOS[3], (0.6, 0.4)))
        for start, cores in enumerate(cores_by_start, 1)
    ]
    (table,) = side_by_side(results[::-1])
    first, third = (row.values for row in table.rows)
    titles = [column.title for column in table.columns]
    of_third = dict(zip(titles, third, strict=True))

    assert (first[0], third[0]) == ("scenario_1-b0005", "scenario_3-b0005")
    assert (of_third["starts"], of_third["broker CPU"], of_third["delivery, mean"]) == ("2", "0.5", "5")
    per_message_us = 0.5e6 / (results[2].measured.sent_per_s + results[2].measured.received_per_s)
    assert float(of_third["broker CPU per message"].replace(",", "")) == pytest.approx(per_message_us, rel=0.001)
    assert (of_third["filters per message"], of_third["rejecting, per message"]) == ("91", "89.79")
    assert "filters by the tables" in table.caption
    assert table.caption.replace("µ", "u") in " ".join(console.summary(results).split())


def test_what_is_not_put_side_by_side():
    """Another broker, topology or consumption has a table of its own; one configuration alone has none, nor has a
    workload that leaves no choice."""
    first, third = (wr.configured(SCENARIOS[number], 5) for number in (1, 3))
    horizontal = [wr.configured(replace(SCENARIOS[number], topology="horizontal"), 5) for number in (1, 3)]
    relaxed = [wr.relaxed(result) for result in (first, third)]

    assert side_by_side([first, horizontal[1], relaxed[1], wr.configured(SCENARIOS[3], 5, broker="artemis")]) == []
    assert len(side_by_side([first, third, *horizontal, *relaxed])) == 3
    assert side_by_side([wr.result(), wr.result(start=2, cell="other-b0005")]) == []


def test_a_configuration_whose_audit_failed_is_greyed():
    """Its numbers are those of a broker that did not do what was asked."""
    first, third = (wr.configured(SCENARIOS[number], 5) for number in (1, 3))
    (table,) = side_by_side([first, replace(third, verdict=VerdictKind.INVALID)])

    assert [row.kind for row in table.rows] == ["", "greyed"]
