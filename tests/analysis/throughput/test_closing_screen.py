"""The screen that closes a run: what it says in which order, and that it fits 25 lines of 100 columns."""

from dataclasses import replace

import pytest

from analysis.report import plot_svg, throughput_page
from analysis.results import Finding, Interval, NotApplicable
from analysis.text import SCREEN
from analysis.throughput import closing_screen
from analysis.throughput.overview import overview
from analysis.throughput.results import (
    AuditResult,
    BrokerComparison,
    CellAudit,
    CellDeviation,
    Description,
    Grade,
    HalfWidth,
    Negligible,
    Ratio,
    Scope,
)
from tests.support import pages, study_runs
from tests.support.pages import Page
from tests.support.run_directories import broker_facts, preset_options, study_manifest
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.lanes import LaneAudit

FOLDER = "results/20260101T000000000Z-study"

DOUBT = Finding("activemq was busy", "9% of its CPU set", "2%", "stop what else uses it", VerdictKind.UNVERIFIED)

LOST = Finding("copies lost by activemq", "1 in f0000-r001", "0", "measure again", VerdictKind.INVALID)

LOSSES = (LOST, *(replace(LOST, what=f"copies lost by broker {number}") for number in (2, 3)))


def screen(result, **changes):
    values = {"folder": FOLDER, "report": f"{FOLDER}/report.html", **changes}
    return closing_screen.text(overview(result), **values)


def described(grade, low, high):
    result = study_runs.small()
    found = Description(grade, (CellDeviation("f2560-r010", Interval((low + high) / 2, low, high)),), 0.04)
    return replace(result, fits=(replace(result.fits[0], description=found),))


def imprecise(half_width=0.21, layouts=8, of_fit=None, **changes):
    result = study_runs.small(**changes)
    precision = {**result.fits[0].precision, "t_fltr": HalfWidth(half_width, 0.15, holds=False)}
    wide = Finding(
        "the interval of t_fltr is too wide", "+-21%", "+-15%", "measure more layouts", VerdictKind.UNVERIFIED
    )
    fit = replace(result.fits[0], precision=precision, layouts=layouts, findings=(wide,), **(of_fit or {}))
    return replace(result, fits=(fit,))


def options(**changes):
    """The manifest of a run with these options."""
    return study_manifest(options=preset_options(**changes), brokers={"activemq": broker_facts()})


def lossy():
    result = study_runs.small(findings=(LOST,))
    cell = CellAudit(result.cells[0].key, 10, LaneAudit(expected=20, delivered=19, lost=1))
    return replace(result, audit=AuditResult(result.run, (cell,), (LOST,)))


def smoke():
    return study_runs.small(measures=False, fits=(), title=("grid smoke, 1 start", "activemq: ActiveMQ Classic, jars"))


def compared(brokers=("activemq:5.18.3", "artemis")):
    result = study_runs.study(brokers=brokers)
    rows = tuple(
        Ratio(name, broker, Interval(1e-5), Interval(1.3, 1.2, 1.4), words="slower by 30.0% [20.0%, 40.0%]")
        for name in study_runs.NAMES
        for broker in brokers[1:]
    )
    one = BrokerComparison(result.run, "replication", "today", brokers[0], Scope.THESE_STARTS, False, rows, ())
    return replace(result, comparisons=(one,))


def many():
    """Eight brokers with long names and eight experiments without a model."""
    result = study_runs.study(brokers=tuple(f"activemq:5.18.{n},store=memory,gc=parallel" for n in range(8)))
    others = tuple(study_runs.other_cells())
    return replace(result, cells=(*result.cells, *others), title=(*result.title, "and options " * 20))


def remote():
    return study_runs.small(manifest=study_manifest(brokers={"activemq": broker_facts(cpus=None)}))


def fitted(**changes):
    """The small study with a changed model."""
    result = study_runs.small()
    return replace(result, fits=(replace(result.fits[0], **changes),))


def of_times(**times):
    return fitted(parameters={**study_runs.small().fits[0].parameters, **times})


def negligible():
    """A filter that costs nothing measurable, beside a model that is rough: the longest screen of one model."""
    rough = described(Grade.ROUGH, -0.12, -0.08).fits[0]
    found = HalfWidth(0.03, 0.15, holds=True, negligible=Negligible(641, 0.031))
    return fitted(
        parameters={**rough.parameters, "t_fltr": Interval(-1e-10, -4e-10, 2e-10)},
        precision={**rough.precision, "t_fltr": found},
        description=rough.description,
    )


def imprecise_by_a_little():
    """A precision of 5 % that one coefficient missed within the limit of a valid run."""
    widths = {name: replace(width, limit=0.05) for name, width in study_runs.small().fits[0].precision.items()}
    return fitted(precision={**widths, "t_fltr": HalfWidth(0.07, 0.05, holds=False)})


def up_to(r):
    """A model of cells with so many copies at most."""
    return fitted(points=tuple(point for point in study_runs.small().fits[0].points if point.replication <= r))


def doubted(*findings):
    return study_runs.small(findings=findings)


def unsaturated():
    """Without a model; the slowest cell does not count."""
    *cells, slowest = sorted(study_runs.small().cells, key=lambda cell: cell.processing_s.estimate)
    return study_runs.small(fits=(), cells=(*cells, replace(slowest, status=CellStatus.NOT_SATURATED)))


def incapable():
    none = NotApplicable("run", "rabbitmq", "and_filters", "today", "s1-n01", "no filters")
    return study_runs.small(not_applicable=(none,) * 3)


def latencies():
    """Cells of an open loop."""
    latency = tuple(study_runs.latencies())
    cells = zip(study_runs.small().cells, latency, strict=False)
    return study_runs.small(
        fits=(), cells=tuple(replace(cell, key=of.key, fits_model=False) for cell, of in cells), latency=latency
    )


RESULTS = {
    "small": study_runs.small,
    "study": study_runs.study,
    "good": lambda: described(Grade.GOOD, -0.04, -0.01),
    "rough": lambda: described(Grade.ROUGH, -0.12, -0.08),
    "poor": lambda: described(Grade.POOR, -0.32, -0.28),
    "imprecise": imprecise,
    "negligible": negligible,
    "lossy": lossy,
    "smoke": smoke,
    "compared": compared,
    "many": many,
    "remote": remote,
    "no model": lambda: study_runs.small(fits=()),
    "claims": lambda: study_runs.small(fits=(), claims=study_runs.CLAIMS),
    "latency": lambda: study_runs.small(fits=(), cells=(), latency=tuple(study_runs.latencies())),
    "nothing": lambda: study_runs.small(fits=(), cells=(), rounds=(), findings=(DOUBT,)),
    "no title": lambda: study_runs.small(title=()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_it_fits_a_screen(name):
    """At most 25 lines of at most 100 columns, whatever was measured; it ends with report and run."""
    lines = screen(RESULTS[name](), prefix=".venv/bin/", run=FOLDER).splitlines()

    assert len(lines) <= closing_screen.LINES == 25
    assert max(map(len, lines)) <= SCREEN == 100
    assert lines[-2:] == [f"report: {FOLDER}/report.html", f"run directory: {FOLDER}"]
    assert "report: " not in screen(RESULTS[name](), report=None)


@pytest.mark.parametrize("name", RESULTS)
def test_the_report_begins_with_the_same(name, monkeypatch):
    """Verdict, reason, measured, costs, example, description, claims and the next command stand before the contents."""
    monkeypatch.setattr(plot_svg, "svg", lambda _picture, _salt: "")
    result = RESULTS[name]()
    shown = overview(result)
    begin = Page(throughput_page.html([result]).partition("<nav")[0]).text
    said = [shown.closing.meaning, shown.closing.reason[1:], shown.closing.step.words, shown.closing.step.command]
    said += [*shown.measured, *shown.besides, *(experiment.said for experiment in shown.experiments)]
    for model in shown.models:
        said += [model.formula, model.note, model.example, model.description, model.worst]
        said += [text[1:] for text in model.negligible]
        said += [text for row in model.costs.rows for text in row.values]

    for text in said:
        assert " ".join(text.split()) in begin


@pytest.mark.parametrize("name", ["small", "compared", "no model"])
def test_a_screen_in_full(name):
    """A single model with its table; two compact ones, whose run is not valid, so that the verdict comes first; no
    model: the fastest and the slowest cells."""
    shown = screen(RESULTS[name](), prefix=".venv/bin/", run=FOLDER)

    assert shown == pages.screen(f"study-{name.replace(' ', '-')}.txt")


@pytest.mark.parametrize(
    ("make", "said", "unsaid"),
    [
        (lambda: doubted(DOUBT, *LOSSES), "because copies lost by activemq: 1 in", "busy"),
        (lambda: doubted(DOUBT, *LOSSES), "(2 more reasons in the report)", "remark"),
        (lambda: doubted(replace(DOUBT, consequence=VerdictKind.VALID)), "is within +-15%; 1 remark", "busy"),
        (imprecise_by_a_little, "verdict: valid", "every interval"),
        (RESULTS["poor"], "use the cells, not these times", "So 100,000"),
        (lambda: fitted(findings=(LOST,)), "verdict: invalid", "So 100,000"),
        (lambda: of_times(t_rcv=Interval(1e-6, -1e-6, 3e-6)), "1 -1 to 3 covers 0 49", "limit 15%"),
        (lambda: of_times(t_tx=Interval(9e-6)), "t_tx one copy delivered 9 - - 15", "covers 0"),
        (lambda: up_to(2), " at 2 (it had 1)", "at ten"),  # which is extrapolated from five, not from two
        (unsaturated, "1 not ok, the report says why", "172"),
        (RESULTS["claims"], "reproduced: largest overall throughput with 10 subscribers against 1 (activemq)", "B ="),
        (latencies, " at 10 % load; p50 ", "us per message"),
        (smoke, "verdict: valid - every copy arrived once, in order, at the right subscriber because all 17,6", " us"),
        (incapable, "and_filters on rabbitmq: not applicable, no filters (3 cells)", "s1-n0"),
    ],
)
def test_what_is_said(make, said, unsaid):
    """The gravest reason, evidence only where it holds, no example from times that are not to be used, no half-width
    that is not there; experiments without a model in a line."""
    text = " ".join(screen(make()).split())

    assert said in text
    assert unsaid not in text


def test_the_example_is_the_model():
    """Copies/s over subscribers are messages/s, each of which takes B; a set of two CPUs takes both of them."""
    model = study_runs.small().fits[0]
    b = {
        r: sum(model.parameters[n].estimate * k for n, k in zip(study_runs.NAMES, (1, r, r), strict=True))
        for r in (1, 10)
    }

    one = f"{1e5 * b[1]:.2f} CPU cores at one subscriber per message, {1e4 * b[10]:.2f} at ten (it had 1)"
    assert one in screen(study_runs.small())
    two = study_runs.small(manifest=study_manifest(brokers={"activemq": broker_facts(cpus=[2, 3])}))
    assert f"{2e5 * b[1]:.2f} CPU cores at one" in screen(two)
    assert f"{1e5 * b[1]:.2f} times what it can do at one" in screen(remote())


@pytest.mark.parametrize(
    ("make", "command"),
    [
        (imprecise, "pytest microbench -k replication --layouts 16"),
        (lambda: imprecise(0.3, 8), "pytest microbench -k replication --layouts 32"),
        (lambda: imprecise(None, 3), "pytest microbench -k replication --layouts 8"),
        (lambda: imprecise(0.6, 8), "pytest microbench -k replication --starts 5"),
        (lossy, f"python -m analysis audit {FOLDER}"),
        (smoke, "pytest microbench -k replication --grid quick"),
        (lambda: described(Grade.POOR, -0.32, -0.28), f"python -m analysis summary {FOLDER}"),
        (lambda: study_runs.small(fits=()), f"python -m analysis summary {FOLDER}"),
        (lambda: study_runs.small(findings=(DOUBT,)), "pytest microbench -k replication"),
        (
            lambda: study_runs.small(findings=(DOUBT,), manifest=options(grid="today", starts=3, profile="paper")),
            "pytest microbench -k replication --grid today --profile paper --starts 3",
        ),
        (
            lambda: imprecise(0.2, 8, {"starts": 3}, manifest=options(grid="today", starts=3)),
            "pytest microbench -k replication --grid today --starts 3 --layouts 15",
        ),
        (
            lambda: imprecise(0.18, 12, {"starts": 5, "scope": Scope.BETWEEN_STARTS}, manifest=options(starts=5)),
            "pytest microbench -k replication --starts 8",
        ),
        (
            lambda: imprecise(manifest=options(precision=0.05, looks=[16, 24, 36, 48])),
            "pytest microbench -k replication --precision 5% --max-layouts 16",
        ),
        (
            lambda: study_runs.small(findings=(DOUBT,), manifest=options(rounds=4, slice_seconds=0.4, looks=[8])),
            "pytest microbench -k replication --rounds 4 --slice-seconds 0.4 --layouts 8",
        ),
    ],
)
def test_what_to_do_next(make, command):
    """One command: more layouts by the square root law, starts beyond that, a look at what was lost, or a use."""
    lines = screen(make(), run=FOLDER).splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("next: "))

    assert lines[place + 1] == f"  {command}"


def test_what_does_not_fit_is_counted():
    """Whole groups are left out, and the report has them."""
    text = screen(many())
    shown = overview(many())
    groups = 1 + len(shown.models) + len(shown.experiments) + len(shown.claims[:1])
    (line,) = [line for line in text.splitlines() if line.startswith("... and ")]

    assert line.endswith(" more in the report")
    there = text.count("; model: ") + 1
    assert int(line.split()[2]) == groups - there


def test_a_command_may_be_copied():
    """It begins with the directory of its program, and a long one goes on in the next line as a shell takes it."""
    lines = screen(replace(compared(("activemq:5.18.3,store=memory", "artemis:2.42.0,store=memory,gc=parallel",
        "stomp+ssl://broker.example:61614"))), prefix=".venv/bin/").splitlines()  # fmt: skip
    place = next(place for place, line in enumerate(lines) if line.startswith("next: "))

    assert lines[place + 1].startswith("  .venv/bin/pytest microbench -k replication --broker ")
    assert lines[place + 1].endswith(" \\")
    assert "--broker" in " ".join(lines[place + 2 : -2])
