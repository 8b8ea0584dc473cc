"""The supply chain's page: disclaimer first, everything that was judged, pictures that can be read, one topology."""

import re
from dataclasses import replace

import pytest

from analysis.errors import DataError
from analysis.report import scenario_figures, scenario_page
from analysis.scenario import tables
from analysis.scenario.results import AuditVerdict
from tests.support import scenario_results as wr
from tests.support.pages import Page
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.messaging import Destination, DestinationKind
from workloads.scenario import limits
from workloads.scenario.scenario_plan import PlannedAddress
from workloads.specjms2007 import DISCLAIMER
from workloads.status import VerdictKind
from workloads.supply_chain.topology import horizontal, vertical

RESULT = wr.result(repeat=True)

#: One interaction is drawn in no time.
SMALL = wr.result(vertical(5).only(4))


@pytest.mark.usefixtures("undrawn")
def test_the_title_has_no_verdict():
    """Nor has it a figure: what stands in the browser's frame is without the disclaimer."""
    page = scenario_page.html([wr.failed()])

    assert not set(VerdictKind) & set(re.search(r"<title>(.*)</title>", page)[1].split())


def test_a_wide_result_stays_readable():
    """Of hundreds of event handlers the slowest 50 are shown, of failures the 50 worst, with how many there are."""
    wide = wr.result(horizontal(40))
    handlers = tables.handlers(wide.measured)
    p90 = sorted((one.delivery.p90_ms for one in wide.measured.handlers), reverse=True)
    rows = [
        replace(row, verdict=AuditVerdict.FAIL, observed=5000.0 + place)
        for place, row in enumerate(row for row in wide.audit if row.rule == limits.DELIVERY_TIME)
    ]
    audit = tables.audit(replace(wide, audit=tuple(rows))).rows

    assert len(handlers.rows) == 50
    assert [row.values[-3] for row in handlers.rows] == [f"{value:.4g}" for value in p90[:50]]
    assert f"the slowest 50 of {len(p90)}; the disclosure has all" in handlers.caption
    assert len(audit) == 51
    assert audit[-1].values[3] == f"and {len(rows) - 50} more places; the disclosure has all"
    assert f"{5000 + len(rows) - 1:,}" in audit[-2].values[4]


def test_the_worst_place_stands_for_those_that_pass():
    """A row for all that passes in a period, with the place that is farthest off, and one for what was not judged."""
    rows = [row for row in tables.audit(RESULT).rows if row.values[0] == limits.SENT.name]
    passed, unjudged = rows[:2]

    assert [row.values[2] for row in rows] == ["measurement", "measurement", "repeat", "repeat"]
    assert passed.values[1] == "section 3.6"
    assert passed.values[3:5] == ("interaction 7 (and 5 more)", "+0.7%")
    assert passed.values[6] == "± 5.0%"
    assert (unjudged.kind, unjudged.note) == ("greyed", "too short: 15 of 20 executions")


def test_the_slowest_handler_of_a_message():
    """Each message has the place and the 90th percentile of its slowest event handler in that period."""
    found = tables.steps(RESULT.periods, 1)
    (row,) = (row for row in found.rows if row.values[0] == "order" and row.values[2] == "repeat")
    period = RESULT.periods[1]
    slowest = max(
        (handler for handler in period.handlers if handler.message == "order"),
        key=lambda handler: (handler.delivery.p90_ms, -handler.handler),
    )

    assert row.values[-1] == f"{slowest.place}: {slowest.delivery.p90_ms:.4g}"


def test_the_borders_of_the_periods():
    """The backlog's picture has a line and a name where each period begins."""
    (panel,) = scenario_figures.backlog(RESULT).panels

    assert panel.borders == ((0.0, "warm-up"), (30.0, "measurement"), (120.0, "repeat"), (210.0, "drain"))


def test_a_long_run_keeps_its_peaks():
    """However long it ran, a line has 300 points at most, and the highest second is one of them."""
    long = wr.result(vertical(5).only(4), seconds=4000)
    peak = replace(long.seconds[1234], backlog=10**6)
    picture = scenario_figures.backlog(replace(long, seconds=(*long.seconds[:1234], peak, *long.seconds[1235:])))

    (line,) = (series.line for series in picture.panels[0].series)
    assert len(line) <= 300
    assert (1234, 10**6) in line
    assert "the highest of every 14 s" in picture.caption


def test_the_limit_where_it_is_near():
    """Delivery times that come near the 5000 ms of the rules have that line in their picture; others do not."""
    near, far = (
        scenario_figures.delivery(wr.result(vertical(5).only(4), p50_ms=p50_ms), 4, ["inventoryInfo"])
        for p50_ms in (1000.0, 3.0)
    )

    assert near.panels[0].levels == (5000,)
    assert far.panels[0].levels == ()


def test_a_message_that_nobody_received():
    """It has no line; it is named below the picture."""
    of = wr.result(vertical(5).only(2))
    seconds = {message: line for message, line in of.seconds_by_step.items() if message != "invoice"}

    picture = scenario_figures.delivery(replace(of, seconds_by_step=seconds), 2, ["offer", "invoice"])
    assert [panel.title for panel in picture.panels] == ["offer"]
    assert picture.missing == ("invoice",)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (wr.result(horizontal(5).only(4), run="other"), "vertical strict, horizontal strict"),
        (wr.relaxed(replace(SMALL, run="other")), "vertical strict, vertical relaxed"),
        (wr.configured(SCENARIOS[1], 5), "specjms2007 vertical strict, jms2009ps vertical strict"),
    ],
)
def test_never_side_by_side(other, said, tmp_path):
    """Runs of two topologies or workloads, or strict beside relaxed, are refused; nothing is written."""
    why = rf"different workloads or topologies.* never put side by side \({said}; .*report of each run by itself"
    for attempt in (scenario_page.html, lambda results: scenario_page.write(results, tmp_path / "report.html")):
        with pytest.raises(DataError, match=why):
            attempt([SMALL, other])
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("undrawn")
def test_a_page_for_each_topology_of_one_run(tmp_path):
    """A run of both topologies gets two pages, each with its own alone, the disclaimer on both."""
    results = [
        replace(wr.result(topology.only(3), path=tmp_path), run="r") for topology in (vertical(5), horizontal(5))
    ]

    paths = scenario_page.write(results)
    assert [path.name for path in paths] == ["report-vertical-strict.html", "report-horizontal-strict.html"]
    for path, other in zip(paths, ("horizontal-b", "vertical-b"), strict=True):
        text = path.read_text(encoding="utf-8")
        assert DISCLAIMER in text
        assert other not in text


@pytest.mark.usefixtures("undrawn")
def test_several_of_one_topology():
    """They share a page: a table with a line each, utilisation and delivery time over BASE, hollow where one failed."""
    results = [wr.result(vertical(base).only(4)) for base in (5, 10, 20)]
    results[2] = wr.failing(results[2], limits.DELIVERY_TIME, "SM1 inventoryInfo", 7200.0, "")
    picture = scenario_figures.capacity(results)

    assert [[point.x for point in panel.series[0].points] for panel in picture.panels] == [[5, 10, 20]] * 2
    assert [point.hollow for point in picture.panels[0].series[0].points] == [False, False, True]
    text = Page(scenario_page.html(results)).text
    assert "the worst of 3 results (2 valid, 1 invalid)" in text
    assert "Results of vertical" in text
    assert text.index(DISCLAIMER) < text.index("Results of vertical")


def test_where_the_backlog_stood():
    """Addresses with messages under way at the end of the measurement are listed, the largest first; beside them the
    copies of all addresses of their destination.
    """
    plan = replace(
        SMALL.plan,
        addresses=tuple(PlannedAddress(label, to, {}, 1, 0) for label, to in (("a", 0), ("b", 1), ("c", 1))),
        destinations=tuple(Destination(DestinationKind.TOPIC, name) for name in ("first", "second")),
    )
    counts = {"backlog_by_address": {"a": 2, "b": 30, "c": 1}, "backlog_by_destination": {"first": 2, "second": 31}}
    left = replace(SMALL, plan=plan, **counts)

    assert [row.values for row in tables.backlog(left).rows] == [
        ("b", "30", "second", "31"),
        ("a", "2", "first", "2"),
        ("c", "1", "second", "31"),
    ]
    assert tables.backlog(SMALL) is None
