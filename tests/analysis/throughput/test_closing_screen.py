"""The screen that closes a run: what it says in which order, and that it fits 25 lines of 100 columns."""

from dataclasses import replace

import pytest

from analysis.report import plot_svg, throughput_page
from analysis.results import (
    AuditResult,
    BrokerComparison,
    CellAudit,
    CellDeviation,
    Description,
    Finding,
    Grade,
    HalfWidth,
    Interval,
    NotApplicable,
    Ratio,
    Scope,
)
from analysis.throughput import closing_screen
from analysis.throughput.glance import glance
from tests.support import study_runs
from tests.support.pages import Page
from tests.support.run_directories import broker_facts, preset_options, study_manifest
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.lanes import LaneAudit

FOLDER = "results/20260101T000000000Z-study"

DOUBT = Finding("activemq was busy", "9% of its CPU set", "2%", "stop what else uses it", VerdictKind.UNVERIFIED)

LOST = Finding("copies lost by activemq", "1 in f0000-r001", "0", "measure again", VerdictKind.INVALID)


def screen(result, **changes):
    values = {"folder": FOLDER, "report": f"{FOLDER}/report.html", **changes}
    return closing_screen.text(glance(result), **values)


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


RESULTS = {
    "small": study_runs.small,
    "study": study_runs.study,
    "good": lambda: described(Grade.GOOD, -0.04, -0.01),
    "rough": lambda: described(Grade.ROUGH, -0.12, -0.08),
    "poor": lambda: described(Grade.POOR, -0.32, -0.28),
    "imprecise": imprecise,
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
    assert max(map(len, lines)) <= closing_screen.WIDTH == 100
    assert lines[-2:] == [f"report: {FOLDER}/report.html", f"run directory: {FOLDER}"]


@pytest.mark.parametrize("name", RESULTS)
def test_the_report_begins_with_the_same(name, monkeypatch):
    """Verdict, reason, measured, costs, example, description, claims and the next command stand before the contents."""
    monkeypatch.setattr(plot_svg, "svg", lambda _picture, _salt: "")
    result = RESULTS[name]()
    shown = glance(result)
    begin = Page(throughput_page.html([result]).partition("<nav")[0]).text
    said = [shown.meaning, shown.reason[1:], shown.step.words, shown.step.command, *shown.measured, *shown.besides]
    said += [experiment.said for experiment in shown.experiments]
    for model in shown.models:
        said += [model.formula, model.note, model.example, model.description, model.worst]
        said += [text for row in model.costs.rows for text in row.values]

    for text in said:
        assert " ".join(text.split()) in begin


def test_one_model_in_full():
    """Each time with its meaning, interval, half-width and the paper's; example, verdict and description follow."""
    text = screen(study_runs.small())
    parts = (
        "activemq: ActiveMQ Classic 5.18.3, jars",
        "replication, 16 cells in 8 layouts x 2 rounds; grid quick, profile today, loop delivery, 1 start",
        "B = t_rcv + n_fltr t_fltr + r t_tx",
        "one message received",
        "one filter installed",
        "one copy delivered",
        "Henjes et al. 2006, ActiveMQ 4.0 on a 3.2 GHz CPU",
        "So 100,000 copies/s take",
        "verdict: valid - the numbers may be believed",
        "because all 17,640,000 copies arrived once, in order; every interval is within +-15%",
        "model: good - no cell is known to be more than 5% off (16 cells)",
        "largest deviation",
        "next: ask what your own load takes",
        "  python -m analysis predict --n-fltr 100 --replication 3 --rate ",
        "report: ",
    )

    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    row = next(line for line in text.splitlines() if "one message received" in line).split()
    estimate = study_runs.small().fits[0].parameters["t_rcv"].estimate * 1e6
    assert (float(row[4]), row[-2:]) == (pytest.approx(estimate, rel=0.005), ["6.5%", "49"])


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


def test_an_example_beyond_the_cells_is_not_given():
    """Ten subscribers are extrapolated from five, not from two."""
    result = study_runs.small()
    points = tuple(point for point in result.fits[0].points if point.replication <= 2)

    assert ", 1." in screen(result).partition("So ")[2].partition("\n")[0]
    few = screen(replace(result, fits=(replace(result.fits[0], points=points),)))
    assert "at one subscriber per message, " in few
    assert " at 2 (it had 1)" in few


@pytest.mark.parametrize(
    ("make", "kind", "because"),
    [
        (imprecise, "unverified", "because the interval of t_fltr is too wide: +-21% (limit: +-15%)"),
        (lambda: study_runs.small(findings=(DOUBT,)), "unverified", "because activemq was busy: 9% of its CPU set"),
        (
            lambda: study_runs.small(findings=(DOUBT, LOST)),
            "invalid",
            "because copies lost by activemq: 1 in f0000-r001",
        ),
    ],
)
def test_doubt_comes_first(make, kind, because):
    """A run that is not valid says so in the first line, and why in the next."""
    lines = screen(make()).splitlines()

    assert lines[0].startswith(f"verdict: {kind} - ")
    assert lines[1].strip().startswith(because)


def test_one_reason_and_how_many_more():
    """Only the first of the gravest findings; the others are counted."""
    more = [replace(LOST, what=f"copies lost by broker {n}") for n in range(3)]
    text = screen(study_runs.small(findings=(DOUBT, *more)))

    assert "because copies lost by broker 0: " in text
    assert "(2 more reasons in the report)" in text
    assert "busy" not in text


def test_remarks_are_counted():
    """Findings that change nothing are in the report."""
    text = screen(study_runs.small(findings=(replace(DOUBT, consequence=VerdictKind.VALID),)))

    assert "every interval is within +-15%; 1 remark" in " ".join(text.split())


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


def test_an_interval_that_is_wider_than_asked_is_no_evidence():
    """A precision of 5 % that was missed by a little leaves the run valid, but nobody says that all are within it."""
    result = study_runs.small()
    precision = {name: replace(width, limit=0.05) for name, width in result.fits[0].precision.items()}
    precision["t_fltr"] = HalfWidth(0.07, 0.05, holds=False)
    text = screen(replace(result, fits=(replace(result.fits[0], precision=precision),)))

    assert "verdict: valid" in text
    assert "every interval" not in text
    assert "every interval is within +-15%" in " ".join(screen(result).split())


def test_a_command_may_be_copied():
    """It begins with the directory of its program, and a long one goes on in the next line as a shell takes it."""
    lines = screen(replace(compared(("activemq:5.18.3,store=memory", "artemis:2.42.0,store=memory,gc=parallel",
        "stomp+ssl://broker.example:61614"))), prefix=".venv/bin/").splitlines()  # fmt: skip
    place = next(place for place, line in enumerate(lines) if line.startswith("next: "))

    assert lines[place + 1].startswith("  .venv/bin/pytest microbench -k replication --broker ")
    assert lines[place + 1].endswith(" \\")
    assert "--broker" in " ".join(lines[place + 2 : -2])


def test_a_poor_description_gives_no_example():
    """Nor does an invalid model: those times are not to be used."""
    assert "So 100,000" not in screen(described(Grade.POOR, -0.32, -0.28))
    assert "use the cells, not these times" in screen(described(Grade.POOR, -0.32, -0.28))
    result = study_runs.small()
    assert "So 100,000" not in screen(replace(result, fits=(replace(result.fits[0], findings=(LOST,)),)))


def test_the_worst_cell_is_the_reason():
    """Its deviation with the interval whose near end decides."""
    text = screen(described(Grade.ROUGH, -0.12, -0.08))

    assert "model: rough - no cell is known to be more than 15% off (16 cells)" in text
    assert "  largest deviation f2560-r010 -10.0% (95 % -12.0% to -8.0%)" in text


def test_an_interval_that_is_not_there_or_covers_0():
    """No half-width is made up."""
    result = study_runs.small()
    times = {**result.fits[0].parameters, "t_rcv": Interval(1e-6, -1e-6, 3e-6), "t_tx": Interval(9e-6)}
    text = screen(replace(result, fits=(replace(result.fits[0], parameters=times),)))

    assert "covers 0" in next(line for line in text.splitlines() if "t_rcv  " in line)
    assert next(line for line in text.splitlines() if "t_tx  " in line).split()[-3:] == ["-", "-", "15"]


def test_several_models_are_compact():
    """Three lines each, the meaning of the times once, and what is said of the brokers beside the first."""
    text = screen(compared())

    assert text.count("one message received") == 1
    for broker in ("activemq:5.18.3", "artemis"):
        assert f"replication on {broker}; model: good, largest deviation " in text
    assert text.count("t_rcv 3") + text.count("t_rcv 2") == 2
    assert "artemis vs activemq:5.18.3, replication: t_rcv slower by 30.0%, t_fltr slower by 30.0%, t_tx" in text


def test_what_does_not_fit_is_counted():
    """Whole groups are left out, and the report has them."""
    text = screen(many())
    shown = glance(many())
    groups = 1 + len(shown.models) + len(shown.experiments) + len(shown.claims[:1])
    (line,) = [line for line in text.splitlines() if line.startswith("... and ")]

    assert line.endswith(" more in the report")
    there = text.count("; model: ") + 1
    assert int(line.split()[2]) == groups - there


def test_an_experiment_without_a_model():
    """Its fastest and slowest cells as a table; the others are counted."""
    text = screen(study_runs.small(fits=()))
    taken = sorted(cell.processing_s.estimate for cell in study_runs.small().cells)

    rows = [line.split() for line in text.splitlines() if line.startswith("  f")]
    assert len(rows) == 8
    assert [float(row[1]) for row in rows[::7]] == pytest.approx([taken[0] * 1e6, taken[-1] * 1e6], rel=0.01)
    assert "and 8 cells between these, in the report" in text
    assert "delivered/s" in text


def test_a_cell_that_does_not_count_is_no_extreme():
    """It is counted among those that are not ok."""
    result = study_runs.small(fits=())
    slowest = max(result.cells, key=lambda cell: cell.processing_s.estimate)
    cells = tuple(replace(cell, status=CellStatus.NOT_SATURATED) if cell is slowest else cell for cell in result.cells)
    text = screen(replace(result, cells=cells))

    assert f"({slowest.key.cell})" not in text
    assert "1 not ok, the report says why" in " ".join(text.split())


def test_claims_are_judged():
    """Of a run without a model each claim, of one with a model how many."""
    text = screen(study_runs.small(fits=(), claims=study_runs.CLAIMS))

    assert "claims of the paper: 1 reproduced, 1 not reproduced, 1 not decidable" in text
    assert "  reproduced: largest overall throughput with 10 subscribers against 1 (activemq)" in text
    assert "largest overall" not in screen(study_runs.small(claims=study_runs.CLAIMS))


def test_latencies_at_both_ends():
    """Median and 99th percentile at the smallest and the largest load."""
    cells = tuple(
        replace(cell, key=each.key, fits_model=False)
        for cell, each in zip(study_runs.small().cells, study_runs.latencies(), strict=False)
    )
    text = screen(study_runs.small(fits=(), cells=cells, latency=tuple(study_runs.latencies())))

    said = " ".join(text.split())
    assert "latency on activemq, 12 cells: p50 " in said
    assert " at 10 % load; p50 " in said
    assert " at 95 % load" in said


def test_a_smoke_grid_has_its_audit_only():
    """What came, and no number."""
    text = screen(smoke())

    assert "verdict: valid - every copy arrived once, in order, at the right subscriber" in text
    assert "because all 17,640,000 copies arrived once, in order" in text
    assert " us" not in text


def test_what_a_broker_cannot_do():
    """One line for each experiment."""
    none = tuple(NotApplicable("run", "rabbitmq", "and_filters", "today", f"s1-n0{n}", "no filters") for n in range(3))

    assert "and_filters on rabbitmq: not applicable, no filters (3 cells)" in screen(
        study_runs.small(not_applicable=none)
    )


def test_before_the_report_is_written():
    """No path is promised that is not there."""
    assert "report: " not in screen(study_runs.small(), report=None)
