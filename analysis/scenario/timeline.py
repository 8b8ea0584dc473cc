"""The course of a run: every second of it, and the backlog at the end of the measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate, islice, pairwise

from pyspark.sql import Row

from analysis.scenario.aggregates import Counts
from analysis.scenario.churn_counts import ChurnCounts
from analysis.scenario.copy_classes import CopyClass
from analysis.scenario.reader import CaseRecord
from analysis.scenario.results import Second
from workloads.scenario.periods import Period


def backlog_by_address(cell: CaseRecord, counts: Counts, churned: ChurnCounts | None = None) -> Mapping[int, int]:
    """Copies in flight at the end of the measurement, by address, the most first; addresses without any are omitted.

    Messages sent or received before the first period, while the load's processes were started, count as well. So do
    messages in doubt: they are in a broker that no longer confirms anything, or in its connection. Of the copies for
    members of populations those count that must come.
    """
    order = tuple(Period)
    until = (None, *order[: order.index(Period.MEASUREMENT) + 1])
    copies = [address.copies for address in cell.plan.addresses]
    found: Counter[int] = Counter()
    sent = [(at, row["n"]) for at, row in counts.sent.items()]
    for (period, address), number in (*sent, *counts.in_doubt.items()):
        found[address] += number * copies[address] if period in until else 0
    for (period, address, _), row in counts.heard.items():
        found[address] -= row["n"] if period in until else 0
    for row in () if churned is None else churned.due:
        if row["class"] == CopyClass.MUST and (row["period"] or None) in until:
            read = row["got"] == 1 and row["read"] in until
            found[row["address"]] += 0 if read else row["n"]
    return dict(sorted(((at, n) for at, n in found.items() if n > 0), key=lambda entry: (-entry[1], entry[0])))


def summed_by_destination(cell: CaseRecord, backlog: Mapping[int, int]) -> Mapping[str, int]:
    """The same copies by the broker's destination, the most first; a destination may have several addresses."""
    found: Counter[str] = Counter()
    for address, number in backlog.items():
        found[cell.plan.destinations[cell.plan.addresses[address].destination].name] += number
    return dict(found.most_common())


def seconds(
    sent: Iterable[Mapping[str, int] | Row],
    heard: Iterable[Row],
    cpu: Mapping[int, float],
    waiting: Iterable[Row] = (),
) -> tuple[Second, ...]:
    """Every second of the load, including those without any messages; `cpu`: cores by second.

    Messages sent before the first second, while the load's processes were started, are part of the backlog. Copies of
    members of populations are part of it as far as `waiting` says, see `ChurnCounts`.
    """
    sent_by = {row["second"]: row for row in sent}
    heard_by = {row["second"]: row for row in heard}
    last = max((*sent_by, *heard_by), default=-1)
    every = range(last + 1)
    changes: Counter[int] = Counter({row["second"]: row["change"] for row in waiting})
    changes.update({at: row["copies"] for at, row in sent_by.items()})
    changes.subtract({at: row["copies"] - row["of_members"] for at, row in heard_by.items()})
    flows = [changes[at] for at in every]
    early = sum(change for at, change in changes.items() if at < 0)
    return tuple(
        Second(
            at,
            sent_by[at]["n"] if at in sent_by else 0,
            heard_by[at]["copies"] if at in heard_by else 0,
            backlog,
            cpu.get(at),
            *(
                (value / 1e6 for value in heard_by[at]["percentiles"][:2])
                if at in heard_by and heard_by[at]["n"]
                else (None, None)
            ),
        )
        for at, backlog in zip(every, islice(accumulate(flows, initial=early), 1, None), strict=True)
    )


def together(rows: Iterable[Row]) -> list[Mapping[str, int]]:
    """The messages sent in each second, summed over all steps."""
    found: dict[int, dict[str, int]] = {}
    for row in rows:
        one = found.setdefault(row["second"], {"second": row["second"], "n": 0, "copies": 0})
        one["n"] += row["n"]
        one["copies"] += row["copies"]
    return list(found.values())


def cpu(samples: Iterable[Row], load_ns: int) -> Mapping[int, float]:
    """CPU use of the broker in cores, by second; empty if unknown. The samples are about one second apart."""
    found = {}
    for before, after in pairwise(samples):
        used, took = (after["broker_cpu_ns"], before["broker_cpu_ns"]), after["at_ns"] - before["at_ns"]
        if None not in used and took > 0:
            found[((before["at_ns"] + after["at_ns"]) // 2 - load_ns) // 1_000_000_000] = (used[0] - used[1]) / took
    return found
