"""The memory of a broker for its subscriptions: what one of them takes, and what one leaves behind when it has gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pyspark.sql import Row

from analysis.results import Interval
from analysis.scenario.results import SubscriptionMemory
from analysis.scenario.steady import BATCHES, slope_of
from workloads.scenario.limits import TELLING_MEMORY_S

#: Where the memory is taken from: source in words, prefix of the columns of `setup`, and column of `samples`. The
#: resident memory of a JVM with a fixed heap says nothing, so that it is the last choice.
_SOURCES = (
    ("heap after a full collection", "broker_heap", "broker_heap_after_gc_bytes"),
    ("resident memory", "broker_rss", "broker_rss_bytes"),
)


def subscription_memory(
    setup: Mapping[str, Any] | None,
    samples: Sequence[Mapping[str, Any] | Row],
    spans: Sequence[tuple[int, int]],
    departed: int,
) -> SubscriptionMemory:
    """The memory of subscriptions.

    setup: the row of the table `setup`; None if there is none
    samples: the rows of `samples`, in the order of their instants
    spans: begin and end of the measured periods, which follow each other
    departed: subscriptions that have left when the last memory of `setup` is read: in the end, all of them
    """
    begin_ns, end_ns = (min((begin for begin, _ in spans), default=0), max((end for _, end in spans), default=0))
    inside = [row for row in samples if begin_ns <= row["at_ns"] < end_ns]
    source, prefix, column = next(
        (found for found in _SOURCES if setup is not None and setup[f"{found[1]}_after_bytes"] is not None),
        next((found for found in _SOURCES if any(row[found[2]] is not None for row in inside)), _SOURCES[-1]),
    )
    before, after, left = (
        None if setup is None else setup[f"{prefix}_{when}_bytes"] for when in ("before", "after", "left")
    )
    subscriptions = 0 if setup is None else setup["subscriptions"]
    slope, why = envelope_slope([(row["left"], row[column]) for row in inside if row[column] is not None])
    if (end_ns - begin_ns) / 1e9 < TELLING_MEMORY_S:
        why = f"judged in runs of {TELLING_MEMORY_S:g} s and more, measured {(end_ns - begin_ns) / 1e9:.0f} s"
    each = _per(before, after, subscriptions)
    if not why and not each:
        why = "the memory of a subscription is not known"
    return SubscriptionMemory(
        source=source,
        bytes_per_subscription=each,
        departed=departed,
        bytes_per_departed=slope,
        left_per_departed=_per(before, left, departed),
        not_judged=why,
    )


def _per(before: int | None, after: int | None, number: int) -> float | None:
    """The growth for each of a number; None if it is not known."""
    return None if before is None or after is None or not number else (after - before) / number


def envelope_slope(values: Sequence[tuple[int, int]]) -> tuple[Interval | None, str]:
    """Bytes per departure: slope of the lower envelope over the departures so far; or why there is none.

    values: (departures so far, bytes in use) in the order of time. A heap also holds what is not yet collected, so that
    the lowest value of each part counts: of as many parts as for a trend of the backlog, for the same reason.
    """
    each = len(values) // BATCHES
    if each < 2:
        return None, f"{len(values)} values"
    batches = [values[at * each : (at + 1) * each] for at in range(BATCHES)]
    gone, used = np.array([min(batch, key=lambda value: value[1]) for batch in batches], dtype=float).T
    if gone[0] == gone[-1]:
        return None, "no subscription left"
    return slope_of(gone, used), ""
