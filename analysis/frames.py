"""The tables of run directories as Spark data frames, every row with the number of its cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructField, StructType

from analysis.errors import DataError
from analysis.results import CellKey
from analysis.run_directory import KEY_NAMES, LAYOUT_COLUMNS, LAYOUT_NAMES, AnyRun, known_cells, read_table
from workloads.schema import KEYS, TABLES_OF, Column, ColumnType, RunKind

#: A record that is not larger takes less CPU uncompiled, as most of it went into compiling what runs once or twice:
#: half with 3 MB (a quick study), 70 % with 16 MB (1 million deliveries), 90 % with 49 MB.
SMALL_BYTES = 16 << 20

#: From so many files of a small table on, they are not read by Spark.
MANY_FILES = 8

#: The `cell_id` of a row that matches no planned cell.
UNPLANNED = -1

#: What the rows of a data frame have besides the columns of their table.
_RUN = Column("run", ColumnType.STRING, "name of the run")
_CELL = Column("cell_id", ColumnType.INT32, "number of the cell")

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
    #: by name, each read when it is asked for; the column `cell_id` is an index of `keys`, or UNPLANNED
    tables: Mapping[str, DataFrame]


class _Tables(dict[str, DataFrame]):
    """Tables by name, each made when it is asked for."""

    def __init__(self, make: Callable[[str], DataFrame]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, table: str) -> DataFrame:
        self[table] = self._make(table)
        return self[table]


def is_small(files: Iterable[Path]) -> bool:
    """Whether these files together are no more than a small record."""
    return sum(file.stat().st_size for file in files) <= SMALL_BYTES


def frames(spark: SparkSession, runs: Sequence[AnyRun]) -> Frames:
    """All tables of all runs, which must be of the same kind, every row with the number of its cell.

    A cell's number is looked up by the full key, so that rows of different runs, brokers or starts are never mixed. Of
    a partial run the rows of incomplete layouts (of a workload: cells) are left out; otherwise a row that matches no
    planned cell has the number UNPLANNED.
    """
    keys = tuple(key for run in runs for key in known_cells(run))

    def made(table: str) -> DataFrame:
        with reading(runs):
            return _table(spark, runs, table, keys)

    return Frames(keys, _Tables(made))


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


def _schema(columns: Sequence[Column]) -> StructType:
    return StructType([StructField(column.name, _SPARK[column.type], column.nullable) for column in columns])


def _small(spark: SparkSession, rows: Sequence[Sequence[Any]], columns: Sequence[Column]) -> DataFrame:
    """The rows as a data frame, marked to be sent to every executor where it is joined with another.

    Spark gets it as one batch of columns, which its plans contain; rows that are Python objects would be read by a job
    of their own in every query.
    """
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(of, pa.type_for_alias(column.type)) for of, column in zip(values, columns, strict=True)]
    return F.broadcast(spark.createDataFrame(pa.Table.from_arrays(arrays, names=[column.name for column in columns])))


def _address(file: Path) -> str:
    """The address of a file for Spark, which interprets it as a glob pattern: special characters are escaped."""
    return "file://" + re.sub(r"([\\{}\[\]*?])", r"\\\1", str(file))


def _table(spark: SparkSession, runs: Sequence[AnyRun], table: str, keys: Sequence[CellKey]) -> DataFrame:
    return reduce(DataFrame.unionByName, (_rows(spark, run, table, keys) for run in runs))


def _rows(spark: SparkSession, run: AnyRun, table: str, keys: Sequence[CellKey]) -> DataFrame:
    """The rows of a run. Spark takes longer to open a small file than pyarrow to read it."""
    files, columns = run.files[table], TABLES_OF[run.manifest.kind][table]
    # What is not known of a partial workload are its incomplete cells.
    known_only = run.partial and run.manifest.kind is RunKind.WORKLOAD
    if not files:
        return spark.createDataFrame([], _schema((*columns, _RUN, _CELL)))
    if len(files) >= MANY_FILES and is_small(files):
        found = _numbered(_complete(read_table(files, [column.name for column in columns]), run), run, keys)
        if known_only:
            found = found.filter(pc.not_equal(found["cell_id"], UNPLANNED))
        return spark.createDataFrame(found.combine_chunks(), _schema((*columns, _RUN, _CELL)))
    rows = spark.read.schema(_schema(columns)).parquet(*map(_address, files))
    if run.partial and run.laid_out:
        layouts = _small(spark, [layout.key for layout in run.laid_out], LAYOUT_COLUMNS)
        rows = rows.join(layouts, LAYOUT_NAMES, "leftsemi")
    numbered = _small(spark, [(*key, number) for key, number in _numbers(run, keys)], (*KEYS, _CELL))
    rows = rows.join(numbered, KEY_NAMES, "inner" if known_only else "left")
    return rows.withColumns({"run": F.lit(run.name), "cell_id": F.coalesce("cell_id", F.lit(UNPLANNED))})


def _numbers(run: AnyRun, keys: Sequence[CellKey]) -> list[tuple[tuple[Any, ...], int]]:
    """The values of KEYS of each known cell of a run, and its number."""
    return [
        ((key.broker, key.start, key.experiment, key.cell), number)
        for number, key in enumerate(keys)
        if key.run == run.name
    ]


def _complete(rows: pa.Table, run: AnyRun) -> pa.Table:
    """Of a partial run, the rows of its complete layouts."""
    if not (run.partial and run.laid_out):
        return rows
    complete = pa.array([_joined(layout.key) for layout in run.laid_out])
    return rows.filter(pc.is_in(_join(rows, LAYOUT_NAMES), complete))


def _numbered(rows: pa.Table, run: AnyRun, keys: Sequence[CellKey]) -> pa.Table:
    """The rows with the name of their run and the number of their cell."""
    numbers = _numbers(run, keys)
    places = pc.index_in(_join(rows, KEY_NAMES), pa.array([_joined(key) for key, _ in numbers], pa.string()))
    cells = pa.array([number for _, number in numbers] + [UNPLANNED], pa.int32())
    found = rows.append_column("run", pa.array([run.name] * len(rows), pa.string()))
    return found.append_column("cell_id", cells.take(pc.fill_null(places, len(numbers)).combine_chunks()))


def _join(rows: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Text by row that is equal where these columns are."""
    return pc.binary_join_element_wise(*(pc.cast(rows[name], pa.string()) for name in names), "\0")


def _joined(values: Iterable[Any]) -> str:
    """The text that `_join` has for a row of these values."""
    return "\0".join(map(str, values))
