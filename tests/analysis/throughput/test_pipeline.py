"""The whole way from run directories to results, JSON and text; what Spark has a part in is in test_frames.py."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from analysis import planning
from analysis.errors import DataError
from analysis.results import JSON_SCHEMA, Claim, Finding, Interval
from analysis.text import findings as text_findings
from analysis.throughput import answers, console, fit, judgement
from analysis.throughput.json_output import audit_json, fit_json, summary_json
from analysis.throughput.results import Excluded, Roofline, Variation
from tests.conftest import table_rows
from tests.support import run_directories as rd
from tests.support import without_spark
from workloads.arrivals import ArrivalProcess
from workloads.histogram import bucket_of
from workloads.schema import ANCHOR, CAPACITY, WARM_UP_LAYOUT
from workloads.status import ClaimVerdict, VerdictKind
from workloads.throughput.load_shape import SyncPublishers


def everything_right():
    return rd.measured_run()


def lost_in_warm_up():
    run = rd.measured_run()
    run.rows("deliveries", layout=WARM_UP_LAYOUT)[0]["last_seq"] -= 1
    return run


def one_of_two_brokers_lost():
    run = rd.measured_run(brokers=("activemq", "artemis"))
    run.rows("deliveries", broker="artemis", experiment="replication")[0]["last_seq"] -= 1
    return run


def one_cell_not_saturated():
    run = rd.measured_run()
    for row in run.rows("windows", cell="f0640-r005"):
        row["broker_cpu_ns"] //= 2
    return run


def three_starts():
    return rd.measured_run(starts=3, start_noise=0.03, seed=5)


def twice_as_slow():
    return rd.measured_run(times=tuple(2 * t for t in rd.TIMES))


def smoke():
    return rd.measured_run(options={"grid": "smoke"})


def without_a_model():
    return rd.measured_run(experiment="body_size", fits_model=False)


def few_cells_by_choice():
    return rd.measured_run([(0, 1), (0, 2), (160, 1)])


def few_cells_left():
    run = rd.measured_run([(0, 1), (0, 2), (160, 1), (160, 2)])
    for row in run.rows("windows", cell="f0160-r002"):
        row["broker_cpu_ns"] = 0
    return run


def remote_broker():
    run = rd.measured_run()
    run.manifest["brokers"]["activemq"] |= {"cpus": None, "cpu_known": False}
    run.manifest["starts"][0]["idle_cpu"] = None
    for row in run.tables["windows"]:
        row["broker_cpu_ns"] = None
    return run


def open_loops():
    """A grid with its model, and beside it open loops at three loads: steady, late at its p99.9, overloaded."""
    run = rd.measured_run(noise=0.001)
    service = rd.TIMES[0] + 20 * rd.TIMES[1] + rd.TIMES[2]
    for percent in (30, 50, 70):
        plan = rd.open_loop_plan(percent, ArrivalProcess.POISSON)
        capacity = replace(plan, experiment=CAPACITY, cell=f"latency-{plan.cell}")
        rd.add_cell(run, capacity, taken_s=[service, 1.1 * service], block=1)
        rd.add_open_loop(run, plan, percent, service_s=service, slice_s=0.5, seed=percent)
    for row in run.rows("windows", cell="u70-poisson"):
        row["dispatched"] = row["dispatched"] * 9 // 10
    for row in run.rows("latency", cell="u50-poisson", measure="lateness"):
        late = row["count"] // 200
        row["count"] -= late
        run.tables["latency"].append(row | {"bucket": bucket_of(30_000_000), "count": late})
    return run


def not_warm():
    """The warm-up ended early, and cells with many filters became faster from layout to layout."""
    run = rd.measured_run(layouts=6)
    run.manifest["starts"][0] |= {"warm": False, "contrast_change": 0.06}
    for layout in range(6):
        for r in (1, 2, 5, 10):
            rd.stretch(run, 1 + (6 - layout) / 20, layout=layout, cell=rd.cell_name(2560, r))
    return run


def mostly_disturbed():
    """Ten of sixteen rounds were 30 % slower."""
    run = rd.measured_run(layouts=8)
    for number in range(10):
        rd.stretch(run, 1.3, layout=1 + number % 8, round=1 + number // 8)
    return run


def in_blocks():
    return rd.measured_run(blocks=2, layout_noise=0.01)


def three_layouts():
    return rd.measured_run(layouts=3)


def three_layouts_without_a_model():
    return rd.measured_run([(0, 1), (0, 2), (0, 5), (0, 10)], layouts=3, experiment="body_size", fits_model=False)


def loads_of_another_capacity():
    """In the counted rounds the broker could do a quarter more than in the warm-up."""
    run = open_loops()
    rd.stretch(run, 0.8, experiment=CAPACITY)
    return run


def asked_for_a_precision():
    return rd.measured_run(layouts=7, options={"layouts": 5, "precision": 0.05})


def own_pace():
    """The publishers of section 4.1: one of them alone leaves the broker half idle."""
    run = rd.measured_run([(0, 1), (0, 2)], experiment="publishers_subscribers", fits_model=False)
    for plan in run.plans:
        if plan["experiment"] != ANCHOR:
            plan["pace"] = str(SyncPublishers(1))
    for row in run.rows("windows", experiment="publishers_subscribers"):
        row["broker_cpu_ns"] //= 2
    return run


RUNS = {
    make.__name__: make
    for make in (
        everything_right,
        lost_in_warm_up,
        one_of_two_brokers_lost,
        one_cell_not_saturated,
        three_starts,
        twice_as_slow,
        smoke,
        without_a_model,
        few_cells_by_choice,
        few_cells_left,
        remote_broker,
        open_loops,
        own_pace,
        not_warm,
        mostly_disturbed,
        in_blocks,
        three_layouts,
        three_layouts_without_a_model,
        loads_of_another_capacity,
        asked_for_a_precision,
    )
}


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    """All runs, read side by side in one analysis; and for which precision the fits of each were asked."""
    folder = tmp_path_factory.mktemp("runs")
    paths = [make().write(folder / name) for name, make in RUNS.items()]
    fits, asked = fit.fits, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judgement, "fits", lambda cells, precision: asked.append(precision) or fits(cells, precision))
        return without_spark.analysed(paths), asked


@pytest.fixture(scope="module")
def results(analysis):
    """What came of each run, by its name."""
    return {result.run: result for result in analysis[0]}


@pytest.mark.parametrize(
    ("run", "expected", "models"),
    [
        ("everything_right", "valid", ["valid"]),
        ("lost_in_warm_up", "invalid", ["invalid"]),
        ("one_of_two_brokers_lost", "invalid", ["valid", "invalid"]),  # activemq, artemis
        ("one_cell_not_saturated", "valid", ["valid"]),
        ("three_starts", "valid", ["valid"]),
        ("twice_as_slow", "valid", ["valid"]),
        ("smoke", "valid", []),
        ("without_a_model", "valid", []),
        ("few_cells_by_choice", "valid", []),
        ("few_cells_left", "invalid", []),
        ("remote_broker", "unverified", ["unverified"]),
        ("open_loops", "valid", ["valid"]),
        ("own_pace", "valid", []),
        ("not_warm", "unverified", ["unverified"]),
        ("mostly_disturbed", "unverified", ["unverified"]),
        ("in_blocks", "valid", ["valid"]),
        ("three_layouts", "unverified", ["unverified"]),
        ("three_layouts_without_a_model", "unverified", []),
        ("loads_of_another_capacity", "unverified", ["unverified"]),
        ("asked_for_a_precision", "valid", ["valid"]),
    ],
)
def test_verdicts(results, run, expected, models):
    """Each run has its own verdict, and each model that of its broker; none depends on what else is read."""
    assert results[run].verdict == expected
    assert [fit.verdict for fit in results[run].fits] == models


def test_the_model_comes_back(results):
    """From Parquet to the fit: the three times within 2 %, and nothing found but that it was one start."""
    result = results["everything_right"]

    (fit,) = result.fits
    for (name, interval), truth in zip(fit.parameters.items(), rd.TIMES, strict=True):
        assert interval.estimate == pytest.approx(truth, rel=0.02), name
    assert result.findings == ()
    assert [finding.what for finding in fit.findings] == ["replication: one start only"]


def test_no_interval_is_said(results):
    """Cells without a model, each in three layouts: nobody knows how exact they are."""
    (finding,) = [each for each in results["three_layouts_without_a_model"].findings if "too few layouts" in each.what]

    assert (finding.what, finding.measured) == ("body_size: too few layouts for an interval", "3 layouts")
    assert (finding.limit, finding.advice) == ("at least 4 in every start", "--layouts 8")


def test_a_load_is_what_it_is_called(results):
    """A rate of 70 % of the capacity in the warm-up is 56 % of one that is a quarter larger, and is not called 70 %."""
    (finding,) = [each for each in results["loads_of_another_capacity"].findings if "named after" in each.what]

    assert finding.measured.startswith("3 of 3; ")
    ((named, had),) = re.findall(r"u(\d\d)-poisson.* has (\d+) % of ", finding.measured)
    assert int(had) == pytest.approx(0.8 * int(named), rel=0.06)  # the capacity varies by 10 %
    assert not any("named after" in each.what for each in results["open_loops"].findings)


def test_runs_stand_side_by_side(results):
    """A run that is twice as slow has twice the times, and cells of its own: nothing is mixed between runs."""
    once, twice = (results[name].fits[0].parameters["t_rcv"].estimate for name in ("everything_right", "twice_as_slow"))

    assert twice / once == pytest.approx(2, rel=0.05)
    record = summary_json([results["everything_right"], results["few_cells_left"]])
    assert record["verdict"] == "invalid"
    assert [run["verdict"] for run in record["runs"]] == ["valid", "invalid"]
    assert [run["brokers"] for run in record["runs"]] == [{"activemq": "ActiveMQ Classic 5.18.3, jars, STOMP"}] * 2
    assert len({(cell["run"], cell["cell"]) for cell in record["cells"]}) == 16 + 4


def test_few_starts_give_intervals_of_these_lives(results):
    """Three starts that differ by 3 %: their mean with an interval over their layouts, and each by itself."""
    (fit,) = results["three_starts"].fits

    assert (fit.starts, fit.scope) == (3, "these starts")
    for interval, truth in zip(fit.parameters.values(), rd.TIMES, strict=True):
        assert interval.low < interval.estimate < interval.high
        assert interval.estimate == pytest.approx(truth, rel=0.1)
    assert fit.variation.between_starts == pytest.approx(0.03, rel=0.9)
    assert len(results["three_starts"].cells) == 48


def test_a_loss_is_named_first(results):
    """One lost copy in the warm-up heads the findings, and the model repeats it."""
    result = results["lost_in_warm_up"]

    assert result.findings[0].what == "copies lost by activemq"
    assert result.fits[0].findings[0] == result.findings[0]
    text = console.summary([result])
    assert "verdict: invalid" in text
    assert text.count("copies lost by activemq") == 1


def test_several_runs_are_announced(results):
    """Text about several runs says that nothing is put together; text about one does not."""
    two = [results["everything_right"], results["smoke"]]

    assert "nothing is averaged or fitted over runs" in console.summary(two)
    assert "averaged" not in console.summary(two[:1])


def test_the_gravest_findings_come_first(results):
    """Findings that decide the verdict stand before those that only explain."""
    severities = [finding.consequence for finding in results["few_cells_left"].every_finding]

    assert severities[0] == VerdictKind.INVALID
    assert severities == sorted(severities, key=[VerdictKind.INVALID, VerdictKind.UNVERIFIED, VerdictKind.VALID].index)


def test_a_doubtful_cell_stays_visible(results):
    """A cell that is left out stands in the table in brackets, its status and reason below it, and under the model."""
    text = console.summary([results["one_cell_not_saturated"]])

    assert re.search(r"^\(f0640-r005\) .* not-saturated *\n +broker CPU 0\.49", text, re.MULTILINE)
    assert "left out: f0640-r005 (start 1): not-saturated: broker CPU 0.49" in text


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("smoke", "smoke grid shows correctness only"),
        ("without_a_model", "no model to fit"),
        ("few_cells_by_choice", "3 usable cells"),
        ("few_cells_left", "3 usable cells"),
    ],
)
def test_asking_for_a_model_that_cannot_be_is_refused(results, run, said):
    """Cells and verdict are shown by the summary; the verb `fit` says why there is no model."""
    assert results[run].cells
    with pytest.raises(DataError, match=said):
        answers.with_models((results[run],))


def test_a_smoke_grid_says_that_it_measures_nothing(results):
    """Its only finding is what it is."""
    assert [finding.what for finding in results["smoke"].findings] == ["a smoke grid was run"]


def test_an_unknown_cpu_is_shown_as_unknown(results):
    """Not as 0 and not as a pass."""
    assert {cell.broker_cpu for cell in results["remote_broker"].cells} == {None}
    assert "unknown" in console.summary([results["remote_broker"]])


def test_a_partial_run_is_never_valid(tmp_path):
    """An interrupted run gives its complete layouts and says what is missing; it is unverified at best."""
    run = rd.measured_run()
    run.manifest["outcome"] = "interrupted"
    run.tables["layouts"].pop()

    (result,) = without_spark.analysed([run.write(tmp_path / "run")], partial=True)

    assert (result.verdict, result.audit.verdict) == (VerdictKind.UNVERIFIED, VerdictKind.UNVERIFIED)
    assert {cell.layouts for cell in result.cells} == {4}
    assert "16 of 16 cells, 4 of 5 layouts" in console.summary([result])


def test_rounds_have_levels(results):
    """Every counted round of every start and block, with its level; a smoke grid has none."""
    rounds = results["in_blocks"].rounds

    assert len(rounds) == 5 * 2 * 2
    assert not any(one.disturbed for one in rounds)
    assert {(one.gc_share, one.compiler_share) for one in rounds} != {(None, None)}
    assert results["smoke"].rounds == ()
    assert len(results["three_starts"].rounds) == 3 * 5 * 2
    assert sum(one.disturbed for one in results["mostly_disturbed"].rounds) == 10


def test_a_precision_that_was_asked_for_reaches_the_fit(analysis):
    """The run's own option decides how wide the intervals may be; it is not that of a run read beside it."""
    results, asked = analysis
    measured = [result.run for result in results]

    assert dict(zip((result.run for result in results), asked, strict=True)) == dict.fromkeys(measured) | {
        "asked_for_a_precision": 0.05
    }


#: What a look at a start of a run says, where it is not that all is well.
SAID = {
    "lost_in_warm_up": r"copies of replication f\d+-r\d+ were not delivered exactly: no layout mends that",
    "few_cells_left": "no model: more layouts do not mend that",
    "not_warm": "cells still change from layout to layout.*",
    "mostly_disturbed": r"62% of the slices disturbed \(limit 60%\), the host is restless",
    "three_layouts": "3 layouts give no interval",
    "three_layouts_without_a_model": "3 layouts give no interval",
}


@pytest.mark.parametrize("run", [name for name in RUNS if name not in {"three_starts", "one_of_two_brokers_lost"}])
def test_a_look_decides_by_what_decides_the_verdict(results, run):
    """After the last layout it finds the same open points as the analysis of the finished run; only they make a start
    go on, and not where something is wrong that no layout mends."""
    result = results[run]
    if not result.measures:
        return
    windows = {}
    for row in table_rows(Path(result.path), "windows", status="ok"):
        windows.setdefault((row["experiment"], row["cell"]), []).append(rd.window_of(row))
    exact = {(cell.key.experiment, cell.key.cell) for cell in result.audit.cells if cell.copies.exact}

    more, said = planning.look(Path(result.path), "activemq", 1, windows, exact)

    final = [finding for finding in result.every_finding if finding.consequence == VerdictKind.INVALID]
    points = [finding.open_point for finding in result.every_finding if finding.open_point]
    assert more == (bool(points) and not final)
    assert all(point in said for point in points[:3]) or final
    # a precision asked for is an open point of a run that is valid all the same
    assert more <= (result.verdict == VerdictKind.UNVERIFIED) or run == "asked_for_a_precision"
    assert re.fullmatch(SAID.get(run, r"enough, every interval is within its limit|t_\w+ .*"), said)


def test_the_text_explains_itself(results):
    """Units, meanings, the paper's values, the verdict and the directory stand in the text; the verdict comes last."""
    result = results["everything_right"]
    text = console.summary([result])

    for words in ("messages/s", "one message received", "49", "0.16", "15", "95 %", "these starts", "expected"):
        assert words in text
    assert text.splitlines()[-2].startswith("verdict: valid")
    assert text.splitlines()[-1] == f"run directory: {result.path}"


def test_preparation_and_open_loops_enter_no_model(results):
    """Capacities are no cells; open loops are cells beside the grid, and the model knows neither."""
    result = results["open_loops"]

    assert {cell.key.experiment for cell in result.cells} == {"replication", "latency"}
    (fit,) = result.fits
    assert set(fit.cells_used) == {rd.cell_name(*cell) for cell in rd.CELLS}
    assert CAPACITY in {cell.key.experiment for cell in result.audit.cells}


def test_latencies_stand_beside_the_load(results):
    """Rows of each open loop: mean and percentiles with intervals, lateness, measured and predicted wait; doubts in
    brackets, with the reason below."""
    result = results["open_loops"]
    text = console.summary([result])
    lines = section(text, "Latency on activemq").splitlines()

    def row(name, quantity):
        (place,) = [place for place, line in enumerate(lines) if line.startswith(name) and f" {quantity} " in line]
        return lines[place], lines[place + 1]

    steady, late = result.latency[0], result.latency[1]
    assert [one.key.cell for one in result.latency] == ["u30-poisson", "u50-poisson", "u70-poisson"]
    p50 = steady.percentiles[0].latency_s
    assert f"{p50.estimate * 1e3:.4g} ({p50.low * 1e3:.4g} to {p50.high * 1e3:.4g})" in row("u30-poisson", "p50")[0]
    mean, _ = row("u30-poisson", "mean")
    assert mean.rstrip().endswith(f"{steady.predicted_waiting_s * 1e3:.4g}")
    assert re.search(r"poisson +30 %", mean)
    assert late.percentiles[3].greyed
    doubtful, reason = row("(u50-poisson)", "p99.9")
    assert f"{late.percentiles[3].latency_s.estimate * 1e3:.4g} (" in doubtful
    assert "generator lateness 29.9 ms" in reason
    assert row("u50-poisson", "p50")
    assert "unsteady" in row("(u70-poisson)", "mean")[1]
    assert "backlog grew by" in row("(u70-poisson)", "mean")[1]
    assert "service time of M/GI/1: " in " ".join(lines)
    assert "the fit of replication in this run" in " ".join(lines)
    assert "1 unsteady of 3" in text


def test_a_pace_stands_above_its_cells(results):
    """Cells with a loop of their own say so, and show in brackets that the broker was not loaded."""
    text = section(console.summary([results["own_pace"]]), "Cells of publishers_subscribers on activemq")

    assert "receipt, 1 in flight per publisher" in text
    assert "(f0000-r001)" in text
    assert "a row that is not ok has its reason below it" in " ".join(text.split())
    assert "the fit" not in text


def test_each_experiment_has_a_table_of_its_own(results):
    """Cells of two experiments of one run never stand in one table."""
    text = console.summary([results["open_loops"]])

    assert "u30-poisson" not in section(text, "Cells of replication on activemq")
    assert "f0000-r001" not in section(text, "Cells of latency on activemq")


def section(text, begin):
    """The paragraph that begins so."""
    (found,) = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith(begin)]
    return found


def test_what_else_was_fitted_is_told(results):
    """Roofline with its capped cells, scatter, each start."""
    (fit,) = results["three_starts"].fits
    more = replace(
        fit,
        roofline=Roofline(fit.parameters, Interval(2e-5, 1.9e-5, 2.1e-5), ("f0000-r010", "f0000-r005"), 12.5, True),
        variation=Variation(0.011, 0.021, 0.032),
        cells_excluded=tuple(Excluded(f"f{number:04d}", 1, "not-saturated") for number in range(30)),
    )
    text = console.model([replace(results["three_starts"], fits=(more,))])

    assert "t_sat 20 (19 to 21)" in text
    assert "the better description" in text
    assert "capped cells: f0000-r010, f0000-r005" in text
    assert "slices of a layout 1.1%, layouts beyond that 2.1%, starts beyond that 3.2%" in text
    assert text.count("left out: ") == 8 + 1
    assert "22 more, which --json lists" in text
    by_start = next(line for line in text.splitlines() if line.startswith("t_tx by start: "))
    assert by_start.count(",") == 2
    assert "by start" not in console.model([results["everything_right"]])


CLAIM = Claim(
    "run", "activemq", "today", "4.1", "one subscriber cannot fully load the server", "below 95 % CPU",
    "0.61 of the CPU with 1 subscriber", ClaimVerdict.REPRODUCED, "broker CPU below its limit", ("p20-s001",),
)  # fmt: skip


def test_claims_stand_in_a_table(results):
    """Each claim with its section, the published and the measured value, its verdict and why."""
    result = replace(results["own_pace"], claims=(CLAIM, replace(CLAIM, measured="", broker="artemis")))
    text = console.summary([result])

    table = " ".join(section(text, "Claims of Henjes et al. 2006 as measured on activemq, profile today").split())
    for words in ("4.1", "below 95 % CPU", "reproduced", "broker CPU below its limit"):
        assert words in table
    assert section(text, "Claims of Henjes et al. 2006 as measured on artemis")


def test_many_findings_stay_readable():
    """Findings that differ only in what was measured stand together, the first of them by name, the rest counted."""
    alike = [Finding(f"cell {number} lies off the fit", f"{number} %", "5 %", "look at it") for number in range(40)]
    other = Finding("a loss", "1", "0", "nothing may be believed", VerdictKind.INVALID)

    (text,) = text_findings([other, *alike])

    assert "- a loss: 1 (limit: 0). Nothing may be believed. [invalid]" in text
    assert "- 40 alike (limit: 5 %). Look at it." in text
    assert "cell 7 lies off the fit: 7 %" in text
    assert "cell 8 " not in text
    assert "32 more" in text


def test_the_json_of_latency_and_claims(results):
    """Percentiles with both ends of their interval, of which one may be null; claims as they stand in the table."""
    result = replace(results["open_loops"], claims=(CLAIM,))
    record = plain(summary_json([result]))

    assert [one["cell"] for one in record["latency"]] == ["u30-poisson", "u50-poisson", "u70-poisson"]
    first = record["latency"][0]
    assert set(first) == {
        "run", "broker", "start", "experiment", "cell", "profile", "arrivals", "percent", "planned_per_s",
        "received_per_s", "capacity_per_s", "copies", "negative", "mean", "percentiles", "waiting_s",
        "predicted_waiting_s", "model", "status", "reason",
    }  # fmt: skip
    assert [one["rank"] for one in first["percentiles"]] == [50, 90, 99, 99.9]
    low, high = first["percentiles"][0]["ci95_s"]
    assert low < first["percentiles"][0]["estimate_s"] < high
    assert [one["greyed"] for one in record["latency"][1]["percentiles"]] == [False, False, False, True]
    assert record["claims"][0] | {"cells": ("p20-s001",)} == asdict(CLAIM)
    cell = next(cell for cell in record["cells"] if cell["cell"] == "u30-poisson")
    assert cell["factors"] == {"percent": 30, "arrivals": "poisson"}
    assert cell["pace"] == "30 % of capacity, poisson arrivals"
    assert cell["planned_per_s"] == first["planned_per_s"]


def test_the_json_of_summary(results):
    """The keys that scripts rely on, per cell with intervals, and nothing that JSON cannot say."""
    record = plain(summary_json([results["everything_right"]]))

    assert (record["schema"], record["verdict"], len(record["cells"])) == (JSON_SCHEMA, "valid", 16)
    cell = record["cells"][0]
    assert set(cell) >= {
        "broker", "start", "experiment", "cell", "broker_cpu", "load_cpu", "load_us_per_delivery", "status",
    }  # fmt: skip
    for rate in ("received_per_s", "dispatched_per_s", "overall_per_s"):
        low, high = cell[rate]["ci95"]
        assert low < cell[rate]["estimate"] < high


def test_the_json_of_fit(results):
    """The keys that scripts rely on."""
    (fit,) = plain(fit_json([results["one_cell_not_saturated"]]))["fits"]

    assert set(fit) >= {
        "broker", "experiment", "profile", "starts", "parameters", "ols_as_in_paper", "cells_used", "cells_excluded",
        "lack_of_fit", "verdict", "findings",
    }  # fmt: skip
    assert list(fit["parameters"]) == ["t_rcv", "t_fltr", "t_tx"]
    assert all(set(parameter) == {"estimate_s", "ci95_s"} for parameter in fit["parameters"].values())
    assert set(fit["lack_of_fit"]) == {"f", "p", "max_relative_deviation"}
    assert (fit["broker"], fit["experiment"], fit["profile"], fit["starts"]) == ("activemq", "replication", "today", 1)
    assert len(fit["cells_used"]) == 15
    (excluded,) = fit["cells_excluded"]
    assert excluded["cell"] == "f0640-r005"
    assert excluded["reason"].startswith("not-saturated")
    assert {"what", "measured", "limit", "advice"} <= set(fit["findings"][0])


def test_the_json_of_audit(results):
    """The sums, and the same per cell, warm-up and preparation included."""
    record = plain(audit_json([results["lost_in_warm_up"].audit]))

    counts = {"sent", "expected", "delivered", "lost", "duplicated", "reordered", "misdelivered"}
    assert set(record["messages"]) == counts
    assert all(counts < set(cell) for cell in record["cells"])
    assert len(record["cells"]) == 16
    for count in counts:
        assert record["messages"][count] == sum(cell[count] for cell in record["cells"])
    assert (record["messages"]["lost"], record["verdict"], len(record["findings"])) == (1, "invalid", 1)


def plain(record):
    """The object as a script reads it."""
    return json.loads(json.dumps(record, allow_nan=False))
