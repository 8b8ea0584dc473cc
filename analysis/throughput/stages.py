"""What Spark's Python processes do in the audit of a run, on batches of columns: its two stages.

A process of Spark imports this module and what it imports, before it does anything: no more than it needs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain, groupby
from operator import add, itemgetter
from typing import NamedTuple, TypeAlias

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
HEARD_TYPES = ", ".join(f"{name} {'int' if name in (*AUDIENCE, 'subscription') else 'long'}" for name in HEARD)
_SUBSCRIPTION = HEARD.index("subscription")

#: Sums by cell. `sent` are messages; `broken` are rows of sends whose numbers do not follow those of the row before;
#: `disordered` are runs that overlap the one before in the order of arrival.
SUMS = ("sent", "broken", "disordered", *COUNTS)
JUDGED = "cell_id int, " + ", ".join(f"{name} long" for name in SUMS)

#: The `arrival` of a row with the number of copies expected by a pair; it sorts before every delivery.
EXPECTATION = -1

#: The audience, and the subscription, of a row of what was sent in a lane; no subscription has this number.
SENDER = -(1 << 31)

#: Rows of expectations at a time.
EXPECTED_ROWS = 1 << 20

#: Rows that are Python objects at a time, which take ten times the memory of the batch.
JUDGED_ROWS = 1 << 14


class Lanes(NamedTuple):
    """A group of lanes of a plan, as in `workloads.throughput.study_plan.LaneGroup`; `lanes` is its `count`."""

    first: int
    step: int
    lanes: int
    receivers: tuple[tuple[int, int], ...]
    shared: bool


#: By the number of a cell.
LanesOf: TypeAlias = Mapping[int, Sequence[Lanes]]
Ints: TypeAlias = npt.NDArray[np.int64]


def expect(plan: LanesOf, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Stage 1 of what was sent, rows of STRETCH, lane, first_seq and last_seq: a row for the lane itself, and one for
    each of its receivers with the number of copies that it must get."""
    for batch in batches:
        *stretch, lane, first, last = (column.to_numpy() for column in batch.columns)
        count, sender, nobody = last - first + 1, np.full(len(lane), SENDER), np.full(len(lane), EXPECTATION)
        yield _batch(HEARD_TYPES, [*stretch, sender, lane, sender, nobody, nobody, first, last, count])
        for cell in np.unique(stretch[0]).tolist():
            for group in plan.get(cell, ()):
                rows = np.flatnonzero((stretch[0] == cell) & _in_group(lane, group))
                for subscriptions in (np.arange(begin, end + 1) for begin, end in group.receivers):
                    step = max(1, EXPECTED_ROWS // len(subscriptions))
                    for of_rows in (rows[at : at + step] for at in range(0, len(rows), step)):
                        repeated, who = np.repeat(of_rows, len(subscriptions)), np.tile(subscriptions, len(of_rows))
                        audience = np.full(len(who), group.receivers[0][0]) if group.shared else who
                        none, zero = np.full(len(who), EXPECTATION), np.zeros(len(who), np.int64)
                        keys = (*(column[repeated] for column in stretch), audience, lane[repeated], who)
                        yield _batch(HEARD_TYPES, [*keys, none, none, zero, none, count[repeated]])


def hear(plan: LanesOf, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Stage 1 of what arrived, as `collapse`, each run with its audience: in a shared lane the first of its receivers,
    otherwise, and outside the plan, its subscription."""
    for batch in collapse(batches):
        *stretch, subscription, lane, arrival, until, first, last, sent = (
            column.to_numpy() for column in batch.columns
        )
        audience = subscription.copy()
        for cell in np.unique(stretch[0]).tolist():
            for group in (group for group in plan.get(cell, ()) if group.shared):
                of_group = (stretch[0] == cell) & _in_group(lane, group)
                for begin, end in group.receivers:
                    audience[of_group & (begin <= subscription) & (subscription <= end)] = group.receivers[0][0]
        yield _batch(HEARD_TYPES, [*stretch, audience, lane, subscription, arrival, until, first, last, sent])


def _in_group(lane: Ints, group: Lanes) -> npt.NDArray[np.bool_]:
    place, rest = np.divmod(lane - group.first, group.step)
    found: npt.NDArray[np.bool_] = (rest == 0) & (place >= 0) & (place < group.lanes)
    return found


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
    cells: dict[int, list[int]] = {}
    for (cell, _, _, audience, _), heard in groupby(rows, key=itemgetter(*range(len(AUDIENCE)))):
        total = cells.setdefault(cell, [0] * len(SUMS))
        if audience == SENDER:
            found = (*_lane(heard), *[0] * (len(SUMS) - 2))
        else:
            copies, disordered = _audience(heard)
            found = (0, 0, disordered, *_values(copies))
        cells[cell] = list(map(add, total, found))
    if cells:
        yield _batch(
            JUDGED, [np.array(column) for column in zip(*((cell, *sums) for cell, sums in cells.items()), strict=True)]
        )


def _lane(rows: Iterator[tuple[int, ...]]) -> tuple[int, int]:
    """The number of messages sent in a lane, and of rows that break the sequence 0, 1, 2, ..."""
    sent, broken, following = 0, 0, 0
    for *_, first, last, count in rows:
        broken += first != following or count < 1
        sent, following = sent + count, last + 1
    return sent, broken


def _audience(rows: Iterator[tuple[int, ...]]) -> tuple[LaneAudit, int]:
    """The audit of a lane at an audience, and the number of runs that overlap the preceding one in arrival order."""
    sent, disordered = EXPECTATION, 0
    handlers: list[Iterator[tuple[int, int]]] = []
    for _, of_subscription in groupby(rows, key=itemgetter(_SUBSCRIPTION)):
        before, expected = EXPECTATION, EXPECTATION
        firsts, lasts = array("q"), array("q")  # a stream with a fault in every message has as many runs
        for *_, arrival, until, first, last, of_lane in of_subscription:
            if arrival == EXPECTATION:
                expected = max(expected, 0) + of_lane  # each row of what was sent has one
                continue
            disordered += arrival <= before
            before = until
            firsts.append(first)
            lasts.append(last)
        sent = max(sent, expected)
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
