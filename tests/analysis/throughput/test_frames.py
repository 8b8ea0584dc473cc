"""What Spark reads of run directories: the results are those of the same rows counted one by one, whatever is read
side by side; what cannot be counted is refused."""

import numpy as np
import pytest

from analysis.errors import DataError
from analysis.frames import MANY_FILES, frames
from analysis.throughput import latency, pipeline
from analysis.throughput.reader import open_runs
from tests.bench_fit import from_directories
from tests.support import run_directories as rd
from tests.support import without_spark
from workloads.arrivals import ArrivalProcess
from workloads.schema import CAPACITY

MASTER = "local[2]"

FOUR = [(0, 1), (0, 2), (160, 1), (160, 2)]


def open_loops():
    """Of every kind of traffic: open loops beside their capacity, a queue, anchors; slices in no order."""
    run = rd.measured_run(FOUR, noise=0.01)
    plan = rd.open_loop_plan(50, ArrivalProcess.POISSON)
    rd.add_cell(run, rd.replication_plan(0, 1, experiment=CAPACITY, cell="latency-u50"), taken_s=[1e-3], block=1)
    rd.add_open_loop(run, plan, 50, slice_s=1.0)
    run.tables["latency"] += [dict(row) for row in run.tables["latency"]]  # of another worker
    rd.add_cell(run, rd.queue_plan(3), taken_s=[1e-4])
    run.tables["windows"].reverse()
    return run


def several_of_everything():
    """Brokers, starts and blocks; one broker lost and repeated something."""
    run = rd.measured_run(FOUR, brokers=("activemq", "artemis"), starts=2, blocks=2, layouts=4)
    lossy = run.rows("deliveries", broker="artemis", start=2, experiment="replication")
    lossy[0]["last_seq"] -= 1
    run.tables["deliveries"].append(lossy[4] | {"arrival": 1000})
    return run


def cut_short():
    """Killed in the first layout of the second start, and in the last block of the first one: what they lost is not
    held against the broker, what another layout lost is."""
    run = rd.measured_run(FOUR, blocks=2, starts=2)
    del run.manifest["outcome"], run.manifest["starts"][1]
    for row in run.rows("layouts"):
        if (row["start"] == 2 and row["layout"]) or (row["layout"] == 5 and row["block"]):
            run.tables["layouts"].remove(row)
            keys = {name: row[name] for name in rd.LAYOUT}
            run.tables["deliveries"].remove(run.rows("deliveries", **keys)[0])
    run.rows("deliveries", start=1, layout=2, experiment="replication")[0]["last_seq"] -= 1
    return run


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Names with blanks, signs of URIs and signs of patterns are names, not something to expand; some have a file of
    each table and layout, too many small ones for Spark to open them."""
    folder = tmp_path_factory.mktemp("runs")
    made = {
        "a+b %20 #1": open_loops(),
        "[x] {y,z} *?": several_of_everything(),
        "nothing": rd.nothing_measured("stomp+ssl://127.0.0.1:61614", "no filters on subscriptions"),
        "run:1,2": rd.unreadable_run(),
    }
    paths = [run.write(folder / name, by_layout=name.startswith("[")) for name, run in made.items()]
    assert len([*(paths[1] / "deliveries").iterdir()]) >= MANY_FILES
    (paths[-1] / "latency").rmdir()  # as of a run without open loops
    return [*paths, cut_short().write(folder / "killed", by_layout=True)]


@pytest.mark.usefixtures("spark")
def test_results_are_those_of_the_rows(paths):
    """Several runs with the same cells in one question: each row finds its own run, broker, start, cell and slice; of
    a run that was killed, those of complete layouts do."""
    whole, partial = paths[:-1], paths[-1:]

    assert pipeline.analysed(whole, master=MASTER) == without_spark.analysed(whole)
    (killed,) = pipeline.analysed(partial, master=MASTER, partial=True)
    assert (killed,) == without_spark.analysed(partial, partial=True)
    assert {cell.key.start for cell in killed.cells} == {1}
    assert killed.audit.copies.lost == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"measure": "delay"}, "'delay', expected at least 1 of latency or lateness"),
        ({"count": 0}, "counts 0 of 'latency'"),
        ({"cell": "elsewhere"}, "latency elsewhere"),
    ],
)
def test_what_is_no_count_is_refused(spark, tmp_path, change, said):
    """Unknown measures, counts of nothing and cells without a plan are not computed with."""
    run = rd.measured_run([(0, 1)], layouts=1, rounds=1, anchors=0)
    rd.add_open_loop(run, rd.open_loop_plan(50, ArrivalProcess.POISSON), 50, slice_s=2.0)
    run.tables["latency"][0] |= change

    runs = open_runs([run.write(tmp_path / "run")])
    with pytest.raises(DataError, match=said):
        latency.histograms(frames(spark, runs), runs)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_intervals_cover_the_truth_of_run_directories(tmp_path):
    """Four simulated runs, analysed in one call: each has its own fit, none sees a cap, and 12 intervals cover."""
    row = from_directories(tmp_path, 1, 4)

    assert (row.runs, row.saturated, row.invalid) == (4, 0, 0)
    assert sum(row.covered) * 4 >= 12 * 0.95 - 3 * np.sqrt(12 * 0.95 * 0.05)
    assert max(row.error) < 0.15
