"""Delivery times of several groupings from one pass are those that Spark computes grouping by grouping."""

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from analysis.scenario.aggregates import duration_columns
from analysis.scenario.grouped_times import grouped_times

GROUPINGS = (("cell_id", "period"), ("cell_id", "second", "step"))


def test_one_pass_is_as_good_as_one_for_each_grouping(spark):
    """Counts, sums, extremes and interpolated percentiles of every group; the other columns are null."""
    rows = [
        (at % 2, "measurement" if at % 5 else "warm-up", at // 20, at % 3, at * 7919 % 1000, 1, at % 2, 10 + at % 4)
        for at in range(200)
    ]
    names = ("cell_id", "period", "second", "step", "took_ns", "heard", "of_members", "body_bytes")
    table = spark.createDataFrame(pa.table(dict(zip(names, map(pa.array, zip(*rows, strict=True)), strict=True))))

    found = grouped_times(table, GROUPINGS, (0.5, 0.9, 0.99))

    expected = [
        row
        for grouping in GROUPINGS
        for row in table.groupBy(*grouping)
        .agg(
            F.sum("heard").alias("copies"),
            F.sum("of_members").alias("of_members"),
            F.sum("body_bytes").alias("bytes"),
            F.min("took_ns").alias("shortest"),
            *duration_columns(exact=True),
        )
        .collect()
    ]
    assert len(found) == len(expected)
    by_group = {tuple(row[name] for name in ("cell_id", "period", "second", "step")): row for row in found}
    for row in expected:
        values = row.asDict()
        group = tuple(values.get(name) for name in ("cell_id", "period", "second", "step"))
        mine = by_group[group].asDict()
        assert [round(value, 6) for value in mine["percentiles"]] == [
            round(value, 6) for value in values["percentiles"]
        ]
        assert {name: mine[name] for name in values if name != "percentiles"} == {
            name: value for name, value in values.items() if name != "percentiles"
        }
