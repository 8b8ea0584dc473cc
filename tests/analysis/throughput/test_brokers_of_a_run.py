"""A run of three brokers that cannot all do the same: from its files to tables, JSON and report."""

import re
from dataclasses import replace

import numpy as np
import pytest

from analysis.errors import DataError
from analysis.report import throughput_page
from analysis.results import NotApplicable
from analysis.throughput import console, predict
from analysis.throughput.claims import claims
from analysis.throughput.fit import fit, fits
from analysis.throughput.json_output import fit_json, summary_json
from analysis.throughput.paper_fit import ols_as_in_paper
from analysis.throughput.predict import Question
from tests.support import run_directories as rd
from tests.support.fit_cells import cell, start_of
from tests.support.pages import Page
from tests.support.without_spark import analysed
from workloads.messaging import Destination, DestinationKind
from workloads.selectors import Equals
from workloads.status import CellStatus, ClaimVerdict, VerdictKind
from workloads.throughput.flow import PROFILES, Flow, Plan, Subscription, Template

FIRST, SECOND, THIRD = "activemq:5.18.3", "activemq:6.1.7,store=memory", "stomp+ssl://127.0.0.1:61614"

NO_FILTERS = "no filters on subscriptions"

GRADES = (1, 2, 5, 10, 20, 40)


def copies_plan(r):
    """Replication without filters."""
    flow = Flow(Destination(DestinationKind.TOPIC, f"bench.copies.{r}"), 2, (Template(),), (Subscription(),) * r)
    return Plan("copies", f"r{r:03d}", PROFILES["today"], (flow,))


def routed_plan(n):
    """Bindings that are looked up."""
    flow = Flow(
        Destination(DestinationKind.KEY, f"bench.routing.{n}"),
        2,
        (Template((("PLACE", "north"),)),),
        (Subscription(Equals("PLACE", "north")),) * n,
    )
    return Plan("routing", f"n{n:03d}", PROFILES["today"], (flow,))


def three_brokers():
    """Replication on two brokers, copies on three of which the last is 1.25 times as slow, routing on the last."""
    rng = np.random.default_rng(4)
    run = rd.measured_run(
        [(further, r) for further in (0, 640, 2560) for r in (1, 5, 10)], brokers=(FIRST, SECOND), starts=2
    )
    run.manifest["brokers"][THIRD] = rd.broker_facts(
        product="RabbitMQ",
        version="4.0",
        provider="url",
        tls="insecure",
        capabilities=rd.capability_facts(selectors=False),
    )
    run.manifest["options"]["client"] = "stomp.py"
    run.manifest["starts"] += [rd.start_facts(THIRD, start) for start in (1, 2)]
    for start in (1, 2):
        for broker, factor in ((FIRST, 1.0), (SECOND, 1.0), (THIRD, 1.25)):
            for r in GRADES:
                mean = factor * (rd.TIMES[0] + r * rd.TIMES[2])
                taken = [mean * float(np.exp(0.003 * rng.standard_normal())) for _ in range(7)]
                rd.add_cell(run, copies_plan(r), taken_s=taken, factors={"replication": r}, broker=broker, start=start)
                run.plans[-1]["fits_model"] = True
        rd.add_cell(run, routed_plan(3), taken_s=[1e-4, 1e-4], factors={"n": 3}, broker=THIRD, start=start)
    run.manifest["not_applicable"] = [
        *(
            {"broker": THIRD, "experiment": "replication", "cell": rd.cell_name(further, 1), "reason": NO_FILTERS}
            for further in (0, 640)
        ),
        *(
            {"broker": broker, "experiment": "routing", "cell": "n003", "reason": "no destinations of kind key"}
            for broker in (FIRST, SECOND)
        ),
        {"broker": THIRD, "experiment": "copies", "cell": "r080", "reason": "too many"},
    ]
    return run


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of three brokers, and of one that cannot be read."""
    folder = tmp_path_factory.mktemp("run")
    return analysed([three_brokers().write(folder / "three"), rd.unreadable_run().write(folder / "unknown")])


@pytest.fixture(scope="module")
def result(results):
    return results[0]


@pytest.fixture(scope="module")
def text(result):
    return console.summary([result])


# What a broker cannot do


@pytest.mark.parametrize(
    "said",
    [
        f"replication on {THIRD}: not applicable, {NO_FILTERS} (2 cells)",
        f"routing on {FIRST}: not applicable, no destinations of kind key (1 cell)",
        f"Cells of routing on {THIRD}, profile today, routing, not filtering: 95 %",
        "there are no filters in this experiment, so that it has no t_fltr",
        f"ratios to {FIRST}, 95 % intervals for these starts",
    ],
)
def test_the_summary_says(text, said):
    """A line for a whole experiment that a broker cannot do, once what is special about a table."""
    shown = " ".join(text.split())

    assert said in shown
    assert f"replication on {THIRD}, profile" not in shown
    assert shown.count("routing, not filtering") == 1


def test_a_cell_stands_in_its_table(text):
    """Without a number, with status and reason."""
    rates, rest = (match[0] for match in re.finditer(r"^\(r080\) .*\n.*$", text, re.MULTILINE))

    assert re.fullmatch(r"\(r080\)( +-)+ *", rates.splitlines()[0])
    assert re.fullmatch(r"\(r080\)( +-)+ +not-applicable *\n +too many", rest)


def test_json_never_says_0(result):
    """Status and reason, no start, and null for every number."""
    records = [one for one in summary_json([result])["cells"] if one["status"] == "not-applicable"]

    assert len(records) == 5
    keys = {key for one in summary_json([result])["cells"] for key in one}
    for one in records:
        assert set(one) == keys
        assert one["reason"]
        assert [one[key] for key in ("start", "received_per_s", "overall_per_s", "broker_cpu")] == [None] * 4


def test_it_is_no_finding(result):
    """Nothing is doubtful about it, and no fit has such a cell."""
    assert not any("applicable" in finding.what for finding in result.every_finding)
    assert all("r080" not in (*fit.cells_used, *map(str, fit.cells_excluded)) for fit in result.fits)


def test_claims_that_need_it_say_so(result):
    """The claims of an experiment that a broker cannot do are not decidable, with the reason."""
    rows = [claim for claim in result.claims if claim.broker == THIRD]

    assert rows
    assert {claim.verdict for claim in rows} == {ClaimVerdict.NOT_DECIDABLE}
    assert all(f"not applicable, {NO_FILTERS} (2 cells)" in claim.reason for claim in rows)
    assert not any("applicable" in claim.reason for claim in result.claims if claim.broker == FIRST)


def test_a_run_of_nothing_else(tmp_path):
    """Where no cell is applicable the run is readable, and its verdict is that nothing was measured."""
    (result,) = analysed([rd.nothing_measured(THIRD, NO_FILTERS).write(tmp_path / "nothing")])

    assert (result.cells, result.verdict) == ((), VerdictKind.UNVERIFIED)
    assert [finding.what for finding in result.findings] == ["nothing was measured"]
    assert f"and_filters on {THIRD}: not applicable, {NO_FILTERS} (1 cell)" in console.summary([result])


def test_measured_and_not_applicable_contradict(tmp_path):
    """What was recorded cannot be what the broker cannot do."""
    run = rd.measured_run()
    run.manifest["not_applicable"] = [
        {"broker": "activemq", "experiment": "replication", "cell": "f0000-r001", "reason": NO_FILTERS}
    ]

    with pytest.raises(DataError, match="not applicable on activemq by the manifest, but it was recorded"):
        analysed([run.write(tmp_path / "both")])


# Resources


def test_pauses_switches_and_disk(result, text):
    """2 % of the time in pauses, a thousand switches a second and half a million bytes, as they were recorded."""
    assert result.cells[0].gc_share == pytest.approx(0.02, rel=1e-3)
    assert " 2.0% " in text
    first = result.host[0]
    assert first.broker_context_switches_per_s == pytest.approx(1000, rel=0.01)
    assert first.broker_disk_bytes_per_s == pytest.approx(5e5, rel=0.01)
    assert summary_json([result])["host"][0]["broker_disk_bytes_per_s"] == first.broker_disk_bytes_per_s


def test_what_nobody_could_read_is_not_0(results):
    """A broker without a JVM or a process that can be read has no pauses, no switches and no disk."""
    _, result = results

    for those in (result.cells, result.rounds):
        assert {(one.gc_share, one.compiler_share) for one in those} == {(None, None)}
    (use,) = result.host
    assert (use.broker_context_switches_per_s, use.broker_disk_bytes_per_s) == (None, None)
    assert summary_json([result])["cells"][0]["gc_share"] is None


# A model without filters


def copies(times=rd.TIMES, *, seed=0, starts=1, noise=0.01, grades=GRADES):
    rng = np.random.default_rng(seed)
    return [
        replace(one, n_fltr=0, key=replace(one.key, experiment="copies", start=start))
        for start in range(1, starts + 1)
        for one in start_of(rng, cells=[(0, r) for r in grades], times=(times[0], 0.0, times[2]), noise=noise)
    ]


def test_copies_identify_two_parameters():
    """B = t_rcv + r t_tx comes back; nothing is said of filters, and the JSON has no t_fltr."""
    cells = copies(noise=0.0)
    model = fit(cells)

    assert {name: one.estimate for name, one in model.parameters.items()} == pytest.approx(
        {"t_rcv": rd.TIMES[0], "t_tx": rd.TIMES[2]}
    )
    assert model.degrees == model.layouts - 1
    least_squares = ols_as_in_paper(cells, tuple(model.parameters))
    assert least_squares == pytest.approx({"t_rcv": rd.TIMES[0], "t_tx": rd.TIMES[2]})


def test_a_cap_on_copies():
    """A cap on transmission is seen without filters as well."""
    cells = copies(grades=(1, 2, 3, 5, 8, 12, 20, 30, 40), noise=0.002)
    capped = [
        replace(
            one,
            processing_s=replace(one.processing_s, estimate=max(one.processing_s.estimate, 1.3e-5 * one.replication)),
        )
        for one in cells
    ]

    model = fit(capped)

    assert model.roofline.preferred
    assert set(model.roofline.capped) == {"f0000-r008", "f0000-r012", "f0000-r020", "f0000-r030", "f0000-r040"}
    assert model.parameters["t_tx"].estimate == pytest.approx(rd.TIMES[2], rel=0.05)


def test_the_model_of_copies_in_words(result):
    """Its formula has no filters."""
    record = [one for one in fit_json([result])["fits"] if (one["experiment"], one["broker"]) == ("copies", THIRD)]

    assert [one["model"] for one in record] == ["B = t_rcv + r t_tx"]
    assert list(record[0]["parameters"]) == ["t_rcv", "t_tx"]
    assert record[0]["parameters"]["t_tx"]["estimate_s"] == pytest.approx(1.25 * rd.TIMES[2], rel=0.03)


def test_copies_know_nothing_of_filters():
    """A prediction with filters is refused, far or not; one without is given."""
    model = fit(copies())

    with pytest.raises(DataError, match="no filters in this experiment"):
        predict.predict(model, Question(10, 3, extrapolate=True))
    found = predict.predict(model, Question(0, 3))
    assert found.processing_s.estimate == pytest.approx(rd.TIMES[0] + 3 * rd.TIMES[2], rel=0.05)


def test_a_constant_number_of_filters_is_refused():
    """n_fltr that is the same everywhere, and not 0, hides in t_rcv: no model, with the reason."""
    same = [replace(one, n_fltr=20) for one in copies()]

    found, errors = fits(same)

    assert found == ()
    assert "collinear" in str(next(iter(errors.values())))


def test_one_replication_grade_is_refused():
    """Copies that are as many in every cell tell no cost of a copy."""
    cells = [
        replace(cell(0, 1, [1e-4, 1e-4]), n_fltr=0, key=replace(cell(0, 1, [1e-4]).key, cell=f"x{number}"))
        for number in range(4)
    ]

    with pytest.raises(DataError, match="the replication grade is constant"):
        fit(cells)


# Side by side


def test_brokers_stand_beside_the_first(result):
    """Copies on three brokers: the last is 1.25 times as slow; replication on the two that have it."""
    experiments = {one.experiment: one for one in result.comparisons}

    assert set(experiments) == {"copies", "replication"}
    rows = {(row.what, row.broker): row for row in experiments["copies"].coefficients}
    assert rows["t_tx", THIRD].ratio.estimate == pytest.approx(1.25, rel=0.03)
    assert rows["t_tx", THIRD].ratio.low < 1.25 < rows["t_tx", THIRD].ratio.high
    cells = {(row.what, row.broker): row for row in experiments["copies"].cells}
    assert cells["r010", THIRD].words.startswith("slower by 2")
    assert cells["r010", SECOND].words in {"no difference seen", "not significant after Holm correction"}
    assert {row.broker for row in experiments["replication"].cells} == {FIRST, SECOND}


# Findings and titles


def test_an_unverified_certificate_is_a_finding(result):
    """Whoever answered: the run is unverified, for that broker."""
    (finding,) = [one for one in result.findings if "certificate" in one.what]

    assert (finding.broker, finding.consequence) == (THIRD, VerdictKind.UNVERIFIED)
    assert {one.verdict for one in result.fits if one.broker == FIRST} == {VerdictKind.VALID}
    assert {one.verdict for one in result.fits if one.broker == THIRD} == {VerdictKind.UNVERIFIED}


def test_the_title_says_what_measured_what(result):
    """Product, version, provider and protocol of each broker, and the client where it is not the suite's own."""
    assert result.title == (
        "grid quick, profile today, loop delivery, 2 starts, client stomp.py",
        f"{FIRST}: ActiveMQ Classic 5.18.3, jars, STOMP",
        f"{SECOND}: ActiveMQ Classic 5.18.3, jars, STOMP",
        f"{THIRD}: RabbitMQ 4.0, url, STOMP",
    )


@pytest.mark.usefixtures("undrawn")
def test_the_report_of_three_brokers(result):
    """Sections, anchors of their own, and the brokers in words."""
    html = throughput_page.html([result])
    ids = re.findall(r' id="([^"]*)"', html)

    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', html)) <= set(ids)
    assert "Comparison of brokers" in html
    assert f"Times relative to {FIRST}" in html
    assert "no filters on subscriptions (2 cells)" in html
    assert "Brokers, as they were started" in html
    assert re.search(r"protocol\s*(STOMP\s*){3}", Page(html).text)
    assert "no filters on subscriptions; acknowledgement" in html
    assert "STOMP" in html


def test_a_constant_above_300_that_is_in_doubt():
    """A cell in doubt was measured: the reason names it."""
    cells = [
        replace(
            cell(0, 1, [1e-4, 1.01e-4], experiment="filter_activation", fits_model=False),
            factors={"filter": kind, "subscribers": m},
            status=CellStatus.UNSTEADY if m == 500 else CellStatus.OK,
            reason="queues" if m == 500 else "",
        )
        for kind in ("none", "correlation", "property")
        for m in (310, 500)
    ]
    cells = [
        replace(one, key=replace(one.key, cell=f"{one.factors['filter']}-m{one.factors['subscribers']}"))
        for one in cells
    ]

    (row,) = [claim for claim in claims("run", cells, ()) if "above 300" in claim.claim]
    assert row.reason == (
        "two numbers of equal filters above 300 are needed (correlation); usable: 1, in doubt: "
        "filter_activation correlation-m500"
    )


def test_claims_of_a_broker_that_measured_nothing():
    """All its experiments are not applicable: each claim says so."""
    rows = claims("run", (), (), [NotApplicable("run", THIRD, "and_filters", "today", "s1-n01", NO_FILTERS)])

    assert {claim.section for claim in rows} == {"4.4"}
    assert all(NO_FILTERS in claim.reason for claim in rows)
