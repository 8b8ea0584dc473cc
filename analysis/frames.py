"""The tables of run directories as Spark data frames, every row with the number of its cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructField, StructType

from analysis.errors import DataError
from analysis.results import CellKey
from analysis.run_directory import KEY_NAMES, LAYOUT_COLUMNS, LAYOUT_NAMES, AnyRun, read_table
from workloads.schema import KEYS, TABLES_OF, Column, ColumnType, RunKind

#: A record that is not larger takes less CPU uncompiled, as most of it went into compiling what runs once or twice:
#: half with 3 MB (a quick study), 70 % with 16 MB (1 million deliveries), 90 % with 49 MB.
SMALL_BYTES = 16 << 20

#: From so many files of a small table on, they are not read by Spark.
MANY_FILES = 8

#: The `cell_id` of a row that matches no planned cell.
UNPLANNED = -1

_SPARK = {
    ColumnType.INT64: LongType(),
    ColumnType.INT32: IntegerType(),
    ColumnType.FLOAT64: DoubleType(),
    ColumnType.STRING: StringType(),
}


@dataclass(frozen=True, slots=True)
class Frames:
    """The tables of all runs whose rows belong to cells."""

    keys: tuple[CellKey, ...]
    #: by name; the column `cell_id` is an index of `keys`, or UNPLANNED
    tables: Mapping[str, DataFrame]


def is_small(files: Iterable[Path]) -> bool:
    """Whether these files together are no more than a small record."""
    return sum(file.stat().st_size for file in files) <= SMALL_BYTES


def frames(spark: SparkSession, runs: Sequence[AnyRun]) -> Frames:
    """All tables of all runs, which must be of the same kind, every row with the number of its cell.

    A cell's number is looked up by the full key, so that rows of different runs, brokers or starts are never mixed. Of
    a partial run the rows of incomplete layouts (of a workload: cells) are left out; otherwise a row that matches no
    planned cell has the number UNPLANNED.
    """
    keys = tuple(key for run in runs for key in _known(run))
    numbered = _small(
        spark,
        [(key.run, key.broker, key.start, key.experiment, key.cell, number) for number, key in enumerate(keys)],
        pa.schema([("run", pa.string()), *_arrow(KEYS), ("cell_id", pa.int32())]),
    )
    with reading(runs):
        return Frames(
            keys,
            {
                table: _table(spark, runs, table, numbered)
                for table, columns in TABLES_OF[runs[0].manifest.kind].items()
                if set(KEYS) <= set(columns)
            },
        )


def of_rows(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: pa.Schema) -> DataFrame:
    """The rows as a data frame.

    Spark gets it as one batch of columns, which its plans contain; rows that are Python objects would be read by a job
    of their own in every query.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=schema))


def refuse_unplanned(table: DataFrame, name: str) -> None:
    """Raises DataError that names the cells of rows without a plan; called where there are such rows."""
    rows = table.where(F.col("cell_id") == UNPLANNED).select("run", *KEY_NAMES).distinct().limit(3).collect()
    cells = ", ".join(str(CellKey(*row)) for row in rows)
    raise DataError(
        f"{name}: rows of {cells} match no planned cell and no recorded start; the run directory was changed after it "
        "was written, or combined from two runs: measure again"
    )


@contextmanager
def reading(runs: Sequence[AnyRun]) -> Iterator[None]:
    """Turns Spark's errors about unreadable data into a DataError."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        where = ", ".join(str(run.path) for run in runs)
        cause = next((line for line in str(error).splitlines() if "Error" in line or "Exception" in line), str(error))
        raise DataError(
            f"{where}: cannot be read: {cause.strip()[:500]}; copy the run directory again, or measure again"
        ) from error


def _arrow(columns: Sequence[Column]) -> list[tuple[str, pa.DataType]]:
    return [(column.name, pa.type_for_alias(column.type)) for column in columns]


def _field(column: Column) -> StructField:
    return StructField(column.name, _SPARK[column.type], column.nullable)


def _known(run: AnyRun) -> tuple[CellKey, ...]:
    """The cells that a row may belong to: every planned cell of every start; of a partial workload its complete cells.

    The manifest of a killed run may lack the last start, which is then taken from its layouts.
    """
    if run.partial and run.manifest.kind is RunKind.WORKLOAD:
        return run.cells
    starts = [(start.broker, start.start) for start in run.manifest.starts]
    if run.partial:
        starts += [(layout.broker, layout.start) for layout in run.laid_out]
    return tuple(
        CellKey(run.name, broker, start, experiment, cell)
        for broker, start in dict.fromkeys(starts)
        for experiment, cell in run.plans
    )


def _small(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: pa.Schema) -> DataFrame:
    """The rows as a data frame, marked to be sent to every executor where it is joined with another."""
    return F.broadcast(of_rows(spark, rows, schema))


def _address(file: Path) -> str:
    """The address of a file for Spark, which interprets it as a glob pattern: special characters are escaped."""
    return "file://" + re.sub(r"([\\{}\[\]*?])", r"\\\1", str(file))


def _rows(spark: SparkSession, files: Sequence[Path], schema: StructType) -> DataFrame:
    """The rows of these files. Spark takes longer to open a small file than pyarrow to read it."""
    if not files:
        return spark.createDataFrame([], schema)
    if len(files) < MANY_FILES or not is_small(files):
        return spark.read.schema(schema).parquet(*map(_address, files))
    return spark.createDataFrame(read_table(files, schema.names), schema)


def _table(spark: SparkSession, runs: Sequence[AnyRun], table: str, numbered: DataFrame) -> DataFrame:
    schema = StructType([_field(column) for column in TABLES_OF[runs[0].manifest.kind][table]])
    parts: list[DataFrame] = []
    for run in runs:
        rows = _rows(spark, run.files[table], schema)
        if run.partial and run.laid_out:
            layouts = _small(spark, [layout.key for layout in run.laid_out], pa.schema(_arrow(LAYOUT_COLUMNS)))
            rows = rows.join(layouts, LAYOUT_NAMES, "leftsemi")
        parts.append(rows.withColumn("run", F.lit(run.name)))
    how = "inner" if runs[0].partial and runs[0].manifest.kind is RunKind.WORKLOAD else "left"
    found = reduce(DataFrame.unionByName, parts).join(numbered, ["run", *KEY_NAMES], how)
    return found.withColumn("cell_id", F.coalesce("cell_id", F.lit(UNPLANNED)))
