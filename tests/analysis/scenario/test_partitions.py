"""What Spark computes of a workload depends on the recorded rows, not on how they are cut into partitions."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from analysis.scenario import aggregates, pipeline
from tests.support import scenario_runs as wr
from tests.support.scenario_runs import Fault, Planted
from workloads.scenario.periods import Lengths
from workloads.supply_chain.topology import vertical

ROWS = 4_000


@contextmanager
def partitioned(spark, **changes):
    """These settings of Spark for a while; `__` stands for a dot."""
    before = {name.replace("__", "."): spark.conf.get(name.replace("__", ".")) for name in changes}
    try:
        for name, value in changes.items():
            spark.conf.set(name.replace("__", "."), value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.fixture(scope="module")
def took_ns():
    """Times over nine decades, some of them negative, and 0."""
    rng = np.random.default_rng(1)
    times = np.exp(rng.uniform(0, np.log(1e11), ROWS)).astype(np.int64)
    return np.concatenate([times, -times[:100], [0]])


def percentiles(spark, took_ns, partitions, *, exact=False):
    table = spark.createDataFrame(pa.table({"took_ns": took_ns})).repartition(partitions, F.col("took_ns") % 1000)
    (row,) = table.agg(*aggregates._Query(spark, None, exact=exact)._times()).collect()
    return row


def test_percentiles_of_rounded_times_depend_on_no_partitions(spark, took_ns):
    """They are equal to the last digit, whatever the number and the order of the parts that are merged."""
    alone = percentiles(spark, took_ns, 1)

    assert percentiles(spark, took_ns[::-1].copy(), 5) == alone
    assert percentiles(spark, np.sort(took_ns), 3) == alone


def test_rounded_times_are_near_the_exact_ones(spark, took_ns):
    """Within half a part in 1024 for any magnitude and sign; number, sum and maximum are not rounded."""
    rounded, exact = (percentiles(spark, took_ns, 2, exact=way) for way in (False, True))

    assert rounded["percentiles"] == pytest.approx(exact["percentiles"], rel=1 / 2048)
    assert rounded["percentiles"] != exact["percentiles"]
    assert (rounded["n"], rounded["total"], rounded["longest"]) == (exact["n"], exact["total"], exact["longest"])


def test_rounding_keeps_order_and_sign(spark):
    """The middle of all times with the same highest bits; small times are unchanged."""
    values = np.array([0, 1, -1, 2047, -2047, 2048, 2049, 4095, 10**18, -(10**18)])
    rows = spark.createDataFrame(pa.table({"took_ns": values})).select(F.expr(aggregates.ROUNDED).alias("it")).collect()
    rounded = [row["it"] for row in rows]

    assert rounded[:5] == values[:5].tolist()
    assert rounded[5:8] == [2049, 2049, 4095]
    assert rounded[9] == -rounded[8]
    assert rounded[8] == pytest.approx(10**18, rel=1 / 2048)


@pytest.mark.hosts
def test_results_do_not_depend_on_partitions(spark, tmp_path, monkeypatch):
    """Files cut in many pieces, five partitions that Spark merges as it likes: every number and word is the same."""
    monkeypatch.setattr(aggregates, "EXACT_ROWS", 0)
    run = wr.empty_run()
    lengths = Lengths(warm_up_s=3, measurement_s=5, drain_s=20)
    wr.add_cell(run, vertical(5), cell="planted", planted=[Planted(Fault.DUPLICATE, "order", 1)], lengths=lengths)
    path = run.write(tmp_path / "run")

    usual = pipeline.analysed([path], master="")
    with partitioned(
        spark,
        spark__sql__shuffle__partitions="5",
        spark__sql__adaptive__enabled="true",
        spark__sql__files__maxPartitionBytes="20000",
        spark__sql__files__openCostInBytes="0",
    ):
        other = pipeline.analysed([path], master="")

    assert other == usual
