"""Predictions against the paper's own, formulas written out, and the command as a script calls it."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.__main__ import main
from analysis.errors import DataError
from analysis.results import JSON_SCHEMA
from analysis.throughput.cost_model import PAPER, PARAMETERS
from analysis.throughput.fit import fit
from analysis.throughput.predict import Question, RunPredictions, predict, predictions, text
from tests.bench_fit import slow_down
from tests.support import run_directories as rd
from tests.support.fit_cells import start_of
from tests.support.simulations import about, covers, repetitions
from workloads.limits import EXTRAPOLATION

PAPER_GRID = [(further, r) for further in (5, 10, 20, 40, 60, 80, 160) for r in (1, 2, 5, 10, 20, 40)]


@pytest.fixture(scope="module")
def paper():
    """A broker with the paper's constants, measured without noise on its grid."""
    return fit(start_of(cells=PAPER_GRID, times=tuple(PAPER[name] for name in PARAMETERS)))


@pytest.fixture(scope="module")
def today():
    """One start of 8 layouts with 2 % noise."""
    return fit(start_of(np.random.default_rng(5), layout_noise=0.02, noise=0.01))


@pytest.mark.parametrize(
    ("n_fltr", "r", "received", "overall"),
    # 1 / (49 + 0.16 n_fltr + 15 r) us, (r + 1) / B: section 4.5 with its constants, by hand.
    [(0, 1, 15_625, 31_250), (0, 10, 5_025, 55_276), (25, 20, 2_833, 59_490), (200, 40, 1_468, 60_206)],
)
def test_capacity_is_that_of_the_paper_s_constants(paper, n_fltr, r, received, overall):
    """Received and overall throughput at r = 1 and 10 as its text derives them, and at r = 20 and 40."""
    found = predict(paper, Question(n_fltr, r))

    assert found.received_per_s.estimate == pytest.approx(received, abs=0.5)
    assert found.overall_per_s.estimate == pytest.approx(overall, rel=1e-4)
    assert (found.utilisation, found.waiting_s) == (None, None)


def test_interval_of_the_capacity_is_that_of_b_turned_round(today):
    """1 / (B + t s) to 1 / (B - t s) with s^2 = x' C x and the 7 degrees of freedom of 8 layouts, written out."""
    x = np.array([1, 1000, 3])
    b = x @ [today.parameters[name].estimate for name in PARAMETERS]
    half = scipy.stats.t.ppf(0.975, 7) * np.sqrt(x @ np.array(today.covariance) @ x)

    found = predict(today, Question(1000, 3))

    assert found.processing_s.ci95 == pytest.approx([b - half, b + half])
    assert found.received_per_s.ci95 == pytest.approx([1 / (b + half), 1 / (b - half)])
    assert found.overall_per_s.ci95 == pytest.approx([4 / (b + half), 4 / (b - half)])


def test_over_starts_it_is_the_interval_of_the_starts_predictions():
    """As linear as B is, its t interval over five starts is that of what each start predicts."""
    rng = np.random.default_rng(2)
    result = fit([each for start in range(1, 6) for each in start_of(rng, cell_noise=0.02, start=start)])
    each = [np.dot(estimates, [1, 1000, 3]) for estimates in result.per_start.values()]
    half = scipy.stats.t.ppf(0.975, 4) * np.std(each, ddof=1) / np.sqrt(5)

    found = predict(result, Question(1000, 3)).processing_s

    assert found.estimate == pytest.approx(np.mean(each))
    assert found.high - found.estimate == pytest.approx(half)


def test_intervals_cover_new_points():
    """B at a point that was not measured lies in its interval in 95 % of the runs (3 sigma)."""
    truth = rd.TIMES[0] + 1000 * rd.TIMES[1] + 3 * rd.TIMES[2]
    runs, covered = repetitions(30, 100), 0
    for seed in range(runs):
        result = fit(start_of(np.random.default_rng(seed), layout_noise=0.02, noise=0.01))
        interval = predict(result, Question(1000, 3)).processing_s
        covered += covers(interval, truth)

    assert covered / runs == about(0.95, runs)


def test_without_an_interval_of_the_fit_there_is_an_estimate():
    """Three layouts give none: capacity, utilisation and waiting stand without ends."""
    found = predict(fit(start_of(np.random.default_rng(1), noise=0.01, layouts=3)), Question(1000, 3, rate_per_s=8000))

    for each in (found.processing_s, found.received_per_s, found.utilisation, found.waiting_s):
        assert each.estimate > 0
        assert (each.low, each.high) == (None, None)


def test_utilisation_and_waiting_at_a_rate(paper):
    """At 8000 messages/s and B = 64 us: load 0.512, and 0.512 / (2 x 0.488) x 64 us = 33.57 us of waiting (M/D/1)."""
    found = predict(paper, Question(0, 1, rate_per_s=8000))

    assert found.utilisation.estimate == pytest.approx(0.512)
    assert found.waiting_s.estimate == pytest.approx(33.57e-6, rel=1e-3)


def test_waiting_has_an_open_end_where_the_rate_may_be_too_much(today):
    """Between the capacity and the lower end of its interval, no waiting time can be excluded."""
    capacity = predict(today, Question(1000, 3)).received_per_s
    rate = (capacity.low + capacity.estimate) / 2

    found = predict(today, Question(1000, 3, rate_per_s=rate)).waiting_s

    assert found.low < found.estimate
    assert found.high is None


@pytest.mark.parametrize("share", [1.0, 1.5])
def test_a_rate_at_the_capacity_is_refused(paper, share):
    """The queue grows without bound: no utilisation above 1 and no negative waiting time, but the capacity by name."""
    with pytest.raises(DataError, match=r"not below the capacity of 15625 messages/s .* grows without bound"):
        predict(paper, Question(0, 1, rate_per_s=15_625.1 * share))


@pytest.mark.parametrize(
    ("question", "named"),
    [
        (Question(5141, 1), "n_fltr 5141 is more than 2 times the largest value of this fit, 2570"),
        (Question(100, 21), "r 21 .* this fit, 10"),
    ],
)
def test_far_outside_the_grid_is_refused_unless_asked(today, question, named):
    """Beyond twice the largest cell: refused with what was measured; with `extrapolate` answered, and marked."""
    with pytest.raises(DataError, match=rf"{named}.*--extrapolate"):
        predict(today, question)

    assert predict(today, replace(question, extrapolate=True)).far


@pytest.mark.parametrize("question", [Question(5140, 1), Question(100, 20), Question(0, 1)])
def test_near_the_grid_is_not_extrapolated(today, question):
    """As far as the rule allows it is a prediction like any other."""
    assert EXTRAPOLATION.limit == 2
    assert predict(today, question).far == ""


def test_an_impossible_b_is_refused():
    """A negative t_rcv, which is never clamped, gives no capacity where it outweighs the rest."""
    result = fit(start_of(times=(-2e-5, 2e-8, 6e-5), noise=0.001))

    with pytest.raises(DataError, match="a time must be positive"):
        predict(result, Question(0, 0.1))


def test_under_a_cap_copies_decide():
    """Where r t_sat is above the plane, it is B, with the interval of t_sat; elsewhere it is the plane."""
    result = fit(start_of(np.random.default_rng(3), layout_noise=0.01, t_sat_s=2 * rd.TIMES[2]))

    capped, free = predict(result, Question(10, 10)), predict(result, Question(2000, 1))

    assert capped.at_cap
    assert capped.processing_s.ci95 == pytest.approx([10 * end for end in result.roofline.t_sat_s.ci95])
    assert not free.at_cap
    assert free.processing_s.estimate == pytest.approx(rd.TIMES @ np.array([1, 2000, 1]), rel=0.03)


def test_cells_at_the_cap_count_as_measured():
    """r = 10 was measured although its cells are no part of the plane: r = 20 is not far."""
    cells = [(further, r) for further in (0, 160, 640) for r in (1, 2, 10)]
    result = fit(start_of(np.random.default_rng(3), cells=cells, layout_noise=0.003, t_sat_s=2 * rd.TIMES[2]))
    assert max(point.replication for point in result.points) < 10

    assert predict(result, Question(10, 20)).at_cap


def test_a_prediction_reads_well(today):
    """Capacity, B, utilisation and waiting with their intervals, the assumption, the warning and the verdict."""
    asked = predict(today, Question(9000, 3, rate_per_s=1000, extrapolate=True))

    lines = text([RunPredictions((asked,), ("no fit for artemis",), asked.fit.verdict)]).splitlines()

    assert lines[0].endswith("n_fltr 9000, r 3; 95 % intervals for these starts")
    low, high = asked.received_per_s.ci95
    assert lines[1].startswith(
        f"capacity: {asked.received_per_s.estimate:,.0f} ({low:,.0f} to {high:,.0f}) messages/s in"
    )
    assert lines[3].startswith("at 1000 messages/s: utilisation ")
    assert "M/D/1" in lines[4]
    assert "the model was not tested there" in lines[5]
    assert lines[6] == "verdict of the model: valid"
    assert lines[-1] == "no prediction: no fit for artemis"


def test_one_refusal_does_not_hide_the_other_answers(paper, today):
    """A rate that one broker carries and another does not: an answer, and the other's reason; with none, a refusal."""
    results = [SimpleNamespace(path=name, fits=(each,), refused=()) for name, each in (("a", paper), ("b", today))]

    first, second = predictions(results, Question(0, 1, rate_per_s=20_000))

    assert (first.predicted, len(first.refused)) == ((), 1)
    assert (len(second.predicted), second.refused) == (1, ())
    with pytest.raises(DataError, match="15625"):
        predictions(results[:1], Question(0, 1, rate_per_s=20_000))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """One broker, two brokers, a smoke run, and one whose transmission is capped."""
    folder = tmp_path_factory.mktemp("runs")
    rd.measured_run(messages=1).write(folder / "one")
    rd.measured_run(messages=1, brokers=("activemq", "artemis")).write(folder / "two")
    rd.measured_run(messages=1, options={"grid": "smoke"}).write(folder / "smoke")
    capped = rd.measured_run(messages=1, noise=0.01)
    slow_down(capped, 1.5 * rd.TIMES[2])
    capped.write(folder / "capped")
    return folder


@pytest.fixture
def inside(recorded, analysed_once, monkeypatch):
    """The folder of the runs is the current one."""
    monkeypatch.chdir(recorded)


@pytest.mark.usefixtures("inside")
def test_the_verb_answers_for_every_fit(capsys):
    """One prediction per fit in JSON with `schema`, near what the run was made of, and the refusals beside them."""
    assert main(["predict", "--n-fltr", "1000", "--replication", "3", "--rate", "8000", "--json", "one", "two"]) == 0

    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == JSON_SCHEMA
    assert [(each["run"], each["broker"]) for each in record["predictions"]] == [
        ("one", "activemq"),
        ("two", "activemq"),
        ("two", "artemis"),
    ]
    for each in record["predictions"]:
        assert each["received_per_s"]["estimate"] == pytest.approx(1 / 77e-6, rel=0.02)
        assert each["processing"]["ci95_s"][0] < each["processing"]["estimate_s"] < each["processing"]["ci95_s"][1]
        assert each["utilisation"]["estimate"] == pytest.approx(0.616, rel=0.02)
        assert each["waiting"]["estimate_s"] == pytest.approx(0.616 / (2 * 0.384) * 77e-6, rel=0.05)
    assert record["refused"] == []


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--n-fltr 9000 --replication 3 one", 2, "--extrapolate"),
        ("--n-fltr 1000 --replication 3 smoke", 2, "no model is fitted"),
        ("--n-fltr 100 --replication 9 capped --strict", 0, "by the cap"),
    ],
)
def test_the_verb_answers_or_refuses(capsys, arguments, code, said):
    """Text and exit code 0, or one line on standard error and 2; a capped run is still valid."""
    assert main(["predict", *arguments.split()]) == code

    captured = capsys.readouterr()
    assert said in (captured.err if code else captured.out)
    assert bool(captured.out) == (code == 0)


@pytest.mark.parametrize("arguments", ["", "--n-fltr 5", "--n-fltr -1 --replication 2", "--n-fltr x --replication 2"])
def test_what_is_not_a_question_is_a_usage_error(arguments, capsys):
    """Without n_fltr and r, or with amounts that are none, argparse refuses with its exit code."""
    with pytest.raises(SystemExit) as exit_:
        main(["predict", *arguments.split()])

    assert exit_.value.code == 2
    assert "usage:" in capsys.readouterr().err
