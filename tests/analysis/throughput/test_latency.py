"""Latencies against queues whose answer is known: M/D/1, constant arrivals, a stall, a generator that is late."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy  # whose parts are loaded on their first use

from analysis.errors import DataError
from analysis.throughput import aggregate, fit, latency
from analysis.throughput.latency import RANKS, Histogram, mean_s, percentile_s
from tests.support import run_directories as rd
from tests.support import without_spark
from tests.support.simulations import covers, repetitions, slack
from workloads.arrivals import ArrivalProcess
from workloads.histogram import SUB_BITS, bucket_of
from workloads.schema import CAPACITY, Measure
from workloads.status import CellStatus, VerdictKind

SERVICE_S = 1e-3

#: A time is quoted as the middle of its bucket.
HALF_A_BUCKET = 0.5 / 2**SUB_BITS


def histogram(slices_s, rounds=1):
    """Times in s, by slice, in the buckets of the record; so many rounds per layout."""
    counts = [Counter(bucket_of(round(time * 1e9)) for time in times) for times in slices_s]
    buckets = sorted(set().union(*counts))
    return Histogram(
        tuple((1 + number // rounds, 0, 1 + number % rounds) for number in range(len(counts))),
        tuple(buckets),
        np.array([[count[bucket] for bucket in buckets] for count in counts]),
    )


def mm1(rng, *, utilisation=0.8, layouts=6, messages=1000):
    """Times in an M/M/1 queue with service times of 1 s on average, by layouts of the same number of messages."""
    count = (layouts + 1) * messages
    times = rd.waits_s(np.cumsum(rng.exponential(1 / utilisation, count)), services := rng.exponential(1, count))
    return (times + services)[messages:].reshape(layouts, messages)


@pytest.mark.parametrize("rank", RANKS)
def test_percentiles_are_those_of_the_times_themselves(rank):
    """From merged buckets come numpy's percentiles of all single times, within half a bucket."""
    times = mm1(np.random.default_rng(3))

    quoted = percentile_s(histogram(times), rank)

    truth = np.quantile(times, rank / 100, method="inverted_cdf")
    assert quoted.estimate == pytest.approx(truth, rel=HALF_A_BUCKET * 1.001)


def test_slices_are_merged_not_averaged():
    """A slice with many messages counts for as many: the percentile of all, not the mean of two percentiles."""
    times = [np.full(900, 1.0), np.full(100, 9.0)]

    assert percentile_s(histogram(times), 50).estimate == pytest.approx(1, rel=HALF_A_BUCKET)
    assert percentile_s(histogram(times), 99).estimate == pytest.approx(9, rel=HALF_A_BUCKET)
    assert mean_s(histogram(times)).estimate == pytest.approx(1.8, rel=HALF_A_BUCKET)


def test_independent_times_have_the_interval_of_order_statistics():
    """With very many layouts of independent times the ends are those of the binomial table: n = 10,000, p = 0.5."""
    times = np.random.default_rng(1).permutation(np.arange(1.0, 10_001.0)).reshape(1000, 10)

    quoted = percentile_s(histogram(times), 50)

    # 5000 +- 1.96 x 50: David and Nagaraja, section 7.1, in the normal approximation; the rest is bucket width
    assert quoted.low == pytest.approx(4902, rel=0.02)
    assert quoted.high == pytest.approx(5098, rel=0.02)


def test_four_layouts_promise_little():
    """Four hardly tell how much layouts differ: the ends hold the true p99 all the same, or are left open."""
    truth, runs = -np.log(0.01) / (1 - 0.8), repetitions(30, 100)
    quoted = [percentile_s(histogram(mm1(np.random.default_rng(seed), layouts=4)), 99) for seed in range(runs)]

    assert sum(covers(each, truth) for each in quoted) >= 0.95 * runs


def test_intervals_of_correlated_times_cover_the_truth():
    """Waiting times of neighbours are alike: the 95 % interval still holds the true percentile.

    The ends for independent times, told from the sorted times themselves, hold it far less often.
    """
    covered, naive, runs = Counter(), Counter(), repetitions(60, 200)
    for seed in range(runs):
        times = mm1(np.random.default_rng(seed))
        recorded_times, in_order = histogram(times), np.sort(times, axis=None)
        for rank in (50.0, 99.0):
            truth = -np.log(1 - rank / 100) / (1 - 0.8)  # time in M/M/1 is exponential, mean 1 / (1 - utilisation)
            quoted = percentile_s(recorded_times, rank)
            covered[rank] += covers(quoted, truth)
            first, last = scipy.stats.binom.ppf([0.025, 0.975], times.size, rank / 100).astype(int)
            naive[rank] += in_order[first - 1] <= truth <= in_order[last]

    assert {rank: count / runs for rank, count in covered.items()} == pytest.approx(
        dict.fromkeys((50.0, 99.0), 0.95), abs=7 / 6 * slack(0.95, runs)
    )
    assert max(naive.values()) / runs < 0.7


def test_too_few_copies_beyond_have_no_upper_end():
    """Of 200 independent times none may lie beyond the p99.9: it may be any higher, and that is shown."""
    times = np.random.default_rng(2).exponential(1, (100, 2))

    assert percentile_s(histogram(times), 99.9).high is None
    assert percentile_s(histogram(times), 50).ci95 is not None


def test_three_layouts_have_no_interval():
    """Too few tell how much layouts differ, however many rounds they have; the estimates stand without ends."""
    times = histogram(mm1(np.random.default_rng(1), layouts=6), rounds=2)

    for quoted in (percentile_s(times, 50), mean_s(times)):
        assert quoted.estimate > 0
        assert (quoted.low, quoted.high) == (None, None)


def test_the_rounds_of_a_layout_are_one_unit():
    """However the times of a layout are cut into rounds, the intervals are the same."""
    times = mm1(np.random.default_rng(1))
    whole, cut = histogram(times), histogram(times.reshape(24, 250), rounds=4)

    assert [percentile_s(cut, rank) for rank in RANKS] == [percentile_s(whole, rank) for rank in RANKS]
    assert mean_s(cut) == mean_s(whole)


def test_the_mean_has_the_t_interval_of_its_layouts():
    """With as many times in each it is scipy's, within a bucket."""
    times = mm1(np.random.default_rng(2))
    means = times.mean(axis=1)

    quoted = mean_s(histogram(times))

    low, high = scipy.stats.t.interval(0.95, len(means) - 1, means.mean(), scipy.stats.sem(means))
    assert (quoted.estimate, quoted.low, quoted.high) == pytest.approx((means.mean(), low, high), rel=HALF_A_BUCKET)


def test_the_ends_of_an_interval_are_bounds_of_buckets():
    """No end claims more than the resolution: each is the outer bound of a bucket that holds times."""
    times = histogram(mm1(np.random.default_rng(5)))
    quoted = percentile_s(times, 90)

    assert {bucket_of(round(quoted.low * 1e9)), bucket_of(round(quoted.high * 1e9))} <= set(times.buckets)
    assert bucket_of(round(quoted.low * 1e9) - 1) < bucket_of(round(quoted.low * 1e9))
    assert bucket_of(round(quoted.high * 1e9) + 1) > bucket_of(round(quoted.high * 1e9))


def judged(run, windows, times):
    """The latency results of a run by cell, its cells, and their findings; every audit was exact."""
    cells = aggregate.summarise(run, windows, set(run.cells), aggregate.estimated(run, windows))
    results = latency.latency(run, cells, times, fit.fits(cells)[0])
    cells = latency.marked(cells, results)
    return (
        {result.key.cell: result for result in results},
        {cell.key.cell: cell for cell in cells},
        list(latency.findings(cells, results)),
    )


def analysed(made, folder):
    """What is `judged` of each of these runs by its name."""
    found = {}
    for name, run in made.items():
        read, windows = without_spark.read_back(run.write(folder / name))
        found[name] = judged(read, windows, without_spark.histograms_of(read))
    return found


#: Runs that are analysed together, by their names: each is made of one with two closed-loop cells.
RUNS = {}


def recorded(make):
    """Puts a run among them; the function puts open loops beside its cells, and returns what a test has to know."""
    RUNS[make.__name__] = make
    return make


def closed_loops():
    return rd.measured_run([(0, 1), (20, 1)])


@pytest.fixture(scope="module")
def runs():
    """Each of RUNS as it was made, and what its function returned."""
    made = {}
    for name, make in RUNS.items():
        run = closed_loops()
        made[name] = run, make(run)
    return made


@pytest.fixture(scope="module")
def found(runs, tmp_path_factory):
    """What came of each of RUNS."""
    return analysed({name: run for name, (run, _) in runs.items()}, tmp_path_factory.mktemp("runs"))


def poisson(run, percent=50, **changes):
    return rd.add_open_loop(run, rd.open_loop_plan(percent, ArrivalProcess.POISSON), percent, **changes)


def constant(run, percent=50, **changes):
    plan = rd.open_loop_plan(percent, ArrivalProcess.CONSTANT)
    return rd.add_open_loop(run, plan, percent, ArrivalProcess.CONSTANT, **changes)


@recorded
def queue_of_known_answer(run):
    return poisson(run, 70, slice_s=24.0)


def test_a_queue_with_a_known_answer(runs, found):
    """M/D/1 at 70 %: mean waiting time rho s / (2 (1 - rho)) within the interval; percentiles those of all messages."""
    truth = runs["queue_of_known_answer"][1]
    results, cells, findings = found["queue_of_known_answer"]

    result = results["u70-poisson"]
    wait = 0.7 * SERVICE_S / (2 * 0.3)  # Pollaczek and Khinchine
    assert result.mean_s.low < SERVICE_S + wait < result.mean_s.high
    assert result.mean_s.estimate == pytest.approx(truth.mean(), rel=HALF_A_BUCKET)
    assert result.waiting_s == pytest.approx(wait, rel=0.1)
    assert result.predicted_waiting_s == pytest.approx(wait, rel=1e-6)
    assert result.model == "1 / capacity of the same flow in the same start"
    assert (result.planned_per_s, result.capacity_per_s) == (pytest.approx(700), pytest.approx(1000))
    assert (result.percent, result.arrivals, result.copies, result.negative) == (70, "poisson", len(truth), 0)
    for percentile in result.percentiles:
        quantile = np.quantile(truth, percentile.rank / 100, method="inverted_cdf")
        assert percentile.latency_s.estimate == pytest.approx(quantile, rel=HALF_A_BUCKET * 1.001)
        assert not percentile.greyed
    assert (cells["u70-poisson"].status, findings) == (CellStatus.OK, [])


@recorded
def stalled(run):
    poisson(run, 30, slice_s=6.0, stall_s=1.0)
    constant(run, 30, slice_s=6.0)


def test_a_stall_shows_at_its_full_length(found):
    """A broker that stands still for a second: all messages planned meanwhile waited, and p99 says so."""
    results, _, _ = found["stalled"]

    p50, _, p99, p999 = (quoted.latency_s.estimate for quoted in results["u30-poisson"].percentiles)
    assert p50 < 3 * SERVICE_S
    assert p99 > 0.3
    assert p999 > 0.9
    assert results["u30-constant"].percentiles[3].latency_s.estimate < 2 * SERVICE_S


@recorded
def constant_arrivals(run):
    constant(run)


def test_constant_arrivals_have_no_predicted_waiting_time(found):
    """M/GI/1 is about Poisson arrivals; elsewhere there is no number to compare with."""
    result = found["constant_arrivals"][0]["u50-constant"]

    assert (result.predicted_waiting_s, result.model) == (None, "")
    assert result.waiting_s == pytest.approx(0, abs=1e-5)


def fitted_run():
    """A run whose replication grid gives a model, and an open loop at 70 % of what that model says for its cell."""
    run = rd.measured_run(noise=0.001)
    service = rd.TIMES[0] + 20 * rd.TIMES[1] + 2 * rd.TIMES[2]
    plan = rd.open_loop_plan(70, ArrivalProcess.POISSON, replication=2)
    rd.add_open_loop(run, plan, 70, service_s=service, slice_s=2.0)
    return run, service


def test_the_prediction_uses_the_run_s_own_model(tmp_path):
    """Where the run has a fit, the service time is its B for the cell's filters and copies; where the fit says that the
    rate is beyond the capacity, there is no number, and the reason is told."""
    (run, service), (beyond, _) = fitted_run(), fitted_run()
    for row in beyond.rows("windows", experiment="latency"):
        row["planned_per_s"] *= 2

    found = analysed({"within": run, "beyond": beyond}, tmp_path)

    result = found["within"][0]["u70-poisson"]
    assert result.model == "the fit of replication in this run"
    assert result.predicted_waiting_s == pytest.approx(0.7 * service / (2 * 0.3), rel=0.05)
    assert result.copies == 2 * sum(row["received"] for row in run.rows("windows", experiment="latency"))
    refused = found["beyond"][0]["u70-poisson"]
    assert refused.predicted_waiting_s is None
    assert "the queue grows without bound" in refused.model


@recorded
def late_below_the_floor(run):
    poisson(run, lateness_s=0.9e-3)


@recorded
def late_beyond_the_floor(run):
    poisson(run, lateness_s=1.1e-3)


@pytest.mark.parametrize(
    ("name", "lateness_s", "greyed", "status"),
    [
        ("late_below_the_floor", 0.9e-3, [], CellStatus.OK),  # below the floor of 1 ms
        ("late_beyond_the_floor", 1.1e-3, [50, 90, 99, 99.9], CellStatus.GENERATOR_BOUND),
    ],
)
def test_the_generator_s_lateness_is_held_against_the_latency(found, name, lateness_s, greyed, status):
    """Late by more than 1 ms and a tenth of the latency at p50 or p90, the load was not the one that was planned."""
    results, cells, findings = found[name]

    result = results["u50-poisson"]
    assert [quoted.rank for quoted in result.percentiles if quoted.greyed] == greyed
    assert (result.status, cells["u50-poisson"].status) == (status, status)
    assert [finding.consequence for finding in findings] == ([VerdictKind.INVALID] if greyed else [])
    assert all(quoted.lateness_s == pytest.approx(lateness_s, rel=0.01) for quoted in result.percentiles)
    assert ("p50: generator lateness 1.1 ms, allowed 1 ms" in cells["u50-poisson"].reason) == bool(greyed)


@recorded
def late_by_less_than_a_tenth(run):
    constant(run, lateness_s=4e-3)
    for row in run.tables["latency"]:
        if row["measure"] == Measure.LATENCY:
            row["bucket"] = bucket_of(50_000_000)


def test_a_tenth_of_a_long_latency_is_allowed(found):
    """Where messages take 50 ms, a generator that is 4 ms late does not dominate them."""
    assert found["late_by_less_than_a_tenth"][0]["u50-constant"].status == CellStatus.OK


@recorded
def one_in_200_late(run):
    poisson(run)
    for row in [row for row in run.tables["latency"] if row["measure"] == Measure.LATENESS]:
        late = row["count"] // 200
        row["count"] -= late
        run.tables["latency"].append(row | {"bucket": bucket_of(30_000_000), "count": late})


def test_a_high_percentile_is_greyed_by_itself(found):
    """One message in 200 was put on late: p99.9 is greyed, the others stand, and the run stays valid."""
    results, cells, (finding,) = found["one_in_200_late"]

    assert [quoted.rank for quoted in results["u50-poisson"].percentiles if quoted.greyed] == [99.9]
    assert cells["u50-poisson"].status == CellStatus.OK
    assert (finding.what, finding.consequence) == (
        "high percentiles of activemq are dominated by generator lateness",
        VerdictKind.VALID,
    )


@recorded
def overloaded(run):
    poisson(run, lateness_s=1.0)
    for row in run.rows("windows", experiment="latency"):
        row["dispatched"] = row["dispatched"] * 9 // 10


def test_an_overload_is_not_blamed_on_the_generator(found):
    """A cell whose broker did not keep up stays unsteady, however late the generator was held up by it."""
    results, cells, findings = found["overloaded"]

    assert results["u50-poisson"].status == cells["u50-poisson"].status == CellStatus.UNSTEADY
    assert "backlog grew" in results["u50-poisson"].reason
    assert VerdictKind.INVALID not in {finding.consequence for finding in findings}


@recorded
def before_they_were_planned(run):
    poisson(run)
    keys = {"experiment": "latency", "measure": str(Measure.LATENCY)}
    whole = sum(row["count"] for row in run.rows("latency", **keys))
    run.tables["latency"].append(
        run.rows("latency", **keys, layout=1, round=1)[0] | {"bucket": bucket_of(-5_000), "count": 7}
    )
    return whole


def test_negative_latencies_are_kept_and_told(runs, found):
    """Copies that seem to come before they were planned are counted, enter every number, and give a finding."""
    whole = runs["before_they_were_planned"][1]
    results, _, (finding,) = found["before_they_were_planned"]

    assert (results["u50-poisson"].negative, results["u50-poisson"].copies) == (7, whole + 7)
    assert finding.measured.startswith(f"7 of {whole + 7} copies, in latency u50-poisson (start 1)")


@recorded
def times_that_do_not_count(run):
    truth = poisson(run)
    rows = run.rows("latency", experiment="latency", layout=1, round=1)
    for number in (0, 3):
        run.tables["latency"] += [row | {"round": number, "bucket": bucket_of(10**9)} for row in rows]
    return truth


def test_only_counted_slices_count(runs, found):
    """Times of a slice that made the broker warm, and of one that was never closed, are in no number."""
    result = found["times_that_do_not_count"][0]["u50-poisson"]

    assert result.percentiles[3].latency_s.estimate < 0.1
    assert result.copies == len(runs["times_that_do_not_count"][1])


def with_a_slow_round(run, share):
    plan = rd.open_loop_plan(50, ArrivalProcess.POISSON)
    rd.add_cell(run, replace(plan, experiment=CAPACITY, cell=f"latency-{plan.cell}"), taken_s=[SERVICE_S], block=1)
    rd.add_open_loop(run, plan, 50)
    down = {"layout": 3, "round": 2}
    for row in run.rows("windows", experiment=CAPACITY, **down):
        for count in ("received", "expected", "dispatched"):
            row[count] = round(row[count] * share)
    for row in run.rows("latency", measure=str(Measure.LATENCY), **down):
        row["bucket"] = bucket_of(10**9)


@recorded
def round_below_the_capacity(run):
    with_a_slow_round(run, 0.85)


@recorded
def round_near_the_capacity(run):
    with_a_slow_round(run, 0.95)


@pytest.mark.parametrize(("name", "left_out"), [("round_below_the_capacity", True), ("round_near_the_capacity", False)])
def test_a_round_whose_capacity_is_down_is_left_out(runs, found, name, left_out):
    """Below 90 % of the capacity's median a round's times are in no number, whatever they are; the reason counts it."""
    results, cells, findings = found[name]

    result, slices = results["u50-poisson"], runs[name][0].rows("windows", experiment="latency")
    kept = [row for row in slices if not left_out or (row["layout"], row["round"]) != (3, 2)]
    assert result.copies == sum(row["received"] for row in kept)
    assert (result.percentiles[3].latency_s.estimate < 0.1) == left_out
    assert result.reason == cells["u50-poisson"].reason
    assert ("1 " in result.reason and "left out" in result.reason) == left_out
    assert (result.status, findings) == (CellStatus.OK, [])


@recorded
def without_lateness(run):
    poisson(run)
    run.tables["latency"] = [row for row in run.tables["latency"] if row["measure"] == Measure.LATENCY]


def test_an_open_loop_without_times_is_unverified(found):
    """Where not all of its times were recorded the cell keeps its rates, and a finding says that nothing is known."""
    results, cells, (finding,) = found["without_lateness"]

    assert (results, cells["u50-poisson"].status) == ({}, CellStatus.OK)
    assert (finding.what, finding.consequence) == (
        "no latency of activemq was recorded",
        VerdictKind.UNVERIFIED,
    )


def test_an_open_loop_says_its_share_of_the_capacity(tmp_path):
    """Without it nobody knows what the rate is a share of."""
    run = closed_loops()
    poisson(run, slice_s=2.0)
    del run.plans[-1]["factors"]["percent"]

    with pytest.raises(DataError, match="percent None"):
        analysed({"run": run}, tmp_path)
