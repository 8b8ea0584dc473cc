"""Delivery times of several groupings from one pass over the copies: exact, for as many as fit into memory.

Spark would repeat every copy for each grouping. With a copy for each subscription of a message, copies are many and
their groups few, so that each group's times are collected once, and put together here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

#: Sums of a group.
_SUMS = ("copies", "of_members", "bytes")


def grouped_times(table: DataFrame, groupings: Sequence[Sequence[str]], ranks: Sequence[float]) -> list[Row]:
    """A row for each group of each grouping; the columns by which it does not group are null.

    table: copies with took_ns, heard, of_members and body_bytes, and the columns of the groupings
    ranks: percentiles from 0 to 1, interpolated

    Columns: those of the groupings; copies, of_members and bytes; n, percentiles, longest, total and shortest of
    took_ns.
    """
    names = list(dict.fromkeys(name for grouping in groupings for name in grouping))
    collected = (
        table.groupBy(*names)
        .agg(
            F.collect_list("took_ns").alias("took_ns"),
            F.sum("heard").alias("copies"),
            F.sum("of_members").alias("of_members"),
            F.sum("body_bytes").alias("bytes"),
        )
        .toArrow()
    )
    return [row for grouping in groupings for row in _of_grouping(collected, names, grouping, ranks)]


def _of_grouping(
    collected: pa.Table, names: Sequence[str], grouping: Sequence[str], ranks: Sequence[float]
) -> Iterator[Row]:
    lists = collected["took_ns"].combine_chunks()
    took_ns, offsets = lists.values.to_numpy(), lists.offsets.to_numpy()
    sums = {name: collected[name].to_numpy() for name in _SUMS}
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for at, key in enumerate(zip(*(collected[name].to_pylist() for name in grouping), strict=True)):
        groups[key].append(at)
    for key, places in groups.items():
        mine = np.concatenate([took_ns[offsets[at] : offsets[at + 1]] for at in places])
        found = dict.fromkeys(names) | dict(zip(grouping, key, strict=True))
        yield Row(
            **found,
            **{name: int(column[places].sum()) for name, column in sums.items()},
            n=len(mine),
            percentiles=np.quantile(mine, ranks).tolist(),
            longest=int(mine.max()),
            total=int(mine.sum()),
            shortest=int(mine.min()),
        )
