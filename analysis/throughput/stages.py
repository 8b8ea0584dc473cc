"""What Spark's Python processes do in the audit of a run: its two stages, on batches of columns.

A process of Spark imports this module and what it imports, before it does anything: no more than it needs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain, groupby
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workloads.throughput.lanes import LaneAudit, audit_lane, audit_shared_lane

#: The scope within which the sequence numbers of a lane are consecutive: a cell in a layout of a block.
STRETCH = ("cell_id", "layout", "block")
PAIR = (*STRETCH, "subscription", "lane")
AUDIENCE = (*STRETCH, "audience", "lane")
COUNTS = tuple(field.name for field in fields(LaneAudit))

#: Runs that may still continue in another batch; `arrival` is that of the first row, `until` that of the last.
RUNS = (
    "cell_id int, layout int, block int, subscription int, lane int, "
    "arrival long, until long, first_seq long, last_seq long, sent long"
)
#: The columns that the second stage reads, in this order.
HEARD = (*AUDIENCE, "subscription", "arrival", "until", "first_seq", "last_seq", "sent")
_SUBSCRIPTION = HEARD.index("subscription")
JUDGED = "cell_id int, disordered long, " + ", ".join(f"{name} long" for name in COUNTS)

#: The `arrival` of the row with the number of copies expected by a pair; it sorts before every delivery.
EXPECTATION = -1

#: Rows that are Python objects at a time, which take ten times the memory of the batch.
JUDGED_ROWS = 1 << 14


def collapse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Stage 1: merges consecutive rows of a batch that have the same subscription and lane."""
    for batch in batches:
        *pair, arrival, first, last = (column.to_numpy() for column in batch.columns)
        if batch.num_rows == 0:
            continue
        if first.min() < 0 or arrival.min() < 0 or (last < first).any():
            raise ValueError("deliveries: a row has a negative number, or its last_seq is below its first_seq")
        order = np.lexsort((arrival, *reversed(pair)))
        *pair, arrival, first, last = (column[order] for column in (*pair, arrival, first, last))
        continues = first[1:] == last[:-1] + 1
        for column in pair:
            continues &= column[1:] == column[:-1]
        # The order of two rows with the same arrival number is unknown: they stay separate, and stage 2 reports them.
        continues &= arrival[1:] != arrival[:-1]
        begin = np.flatnonzero(np.concatenate(([True], ~continues)))
        end = np.append(begin[1:], len(first)) - 1
        columns = (*(column[begin] for column in pair), arrival[begin], arrival[end], first[begin], last[end])
        yield _batch(RUNS, [*columns, np.full(len(begin), EXPECTATION)])


def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Stage 2: rows as HEARD, sorted, passed audience by audience to the lane audit."""
    rows = chain.from_iterable(
        zip(*(column.to_numpy().tolist() for column in part.columns), strict=True)
        for batch in batches
        for part in (batch.slice(at, JUDGED_ROWS) for at in range(0, batch.num_rows, JUDGED_ROWS))
    )
    cells: dict[int, tuple[LaneAudit, int]] = {}
    for (cell, *_), heard in groupby(rows, key=itemgetter(*range(len(AUDIENCE)))):
        total, disordered = cells.get(cell, (LaneAudit(), 0))
        found, unclear = _audience(heard)
        cells[cell] = total + found, disordered + unclear
    judged = [(cell, disordered, *_values(total)) for cell, (total, disordered) in cells.items()]
    if judged:
        yield _batch(JUDGED, [np.array(column) for column in zip(*judged, strict=True)])


def _audience(rows: Iterator[tuple[int, ...]]) -> tuple[LaneAudit, int]:
    """The audit of a lane at an audience, and the number of runs that overlap the preceding one in arrival order."""
    sent, disordered = EXPECTATION, 0
    handlers: list[Iterator[tuple[int, int]]] = []
    for _, of_subscription in groupby(rows, key=itemgetter(_SUBSCRIPTION)):
        before = EXPECTATION
        firsts, lasts = array("q"), array("q")  # a stream with a fault in every message has as many runs
        for *_, arrival, until, first, last, of_lane in of_subscription:
            if arrival == EXPECTATION:
                sent = of_lane
                continue
            disordered += arrival <= before
            before = until
            firsts.append(first)
            lasts.append(last)
        handlers.append(zip(firsts, lasts, strict=True))
    if len(handlers) > 1:  # all of them are in the plan
        return audit_shared_lane(handlers, max(sent, 0)), disordered
    return audit_lane(handlers[0], max(sent, 0), sent != EXPECTATION), disordered


def _values(audit: LaneAudit) -> tuple[int, ...]:
    return tuple(getattr(audit, name) for name in COUNTS)


def _batch(columns: str, arrays: Sequence[npt.NDArray[np.int64]]) -> pa.RecordBatch:
    types = {"int": pa.int32(), "long": pa.int64()}
    named = [column.split() for column in columns.split(", ")]
    return pa.RecordBatch.from_arrays(
        [pa.array(array, types[kind]) for array, (_, kind) in zip(arrays, named, strict=True)],
        names=[name for name, _ in named],
    )
