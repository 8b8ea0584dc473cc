"""What a reader of the results has to know: broken promises, and what breaks none but matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_high

from analysis.faults.results import FaultResult
from analysis.results import Finding
from workloads.capabilities import Capabilities
from workloads.faults.faults import RELAYED, Deed
from workloads.status import VerdictKind

#: A gap in the deliveries of all others, from which on a stalled consumer is said to hold them up, s.
STARVING_S = 1.0


def findings(faults: Sequence[FaultResult], capabilities: Capabilities) -> Iterator[Finding]:
    """Those of a broker's faults."""
    for fault in faults:
        name = fault.cell.id
        for each in fault.repetitions:
            for count, text in each.broken.items():
                source = f", by {page}" if (page := fault.promise.source_of(count)) else ""
                yield Finding(
                    what=f"{name}, repetition {each.number}, breaks a promise",
                    measured=text,
                    limit=f"none{source}",
                    advice="the messages are named by lane and number, with instants from the fault",
                    consequence=VerdictKind.INVALID,
                )
            if each.life.overdue:
                yield Finding(
                    what=f"{name}, repetition {each.number}: not all is as before the fault",
                    measured=each.life.overdue,
                    limit="all clients connected, and messages on time",
                    advice="read the broker's log in the run directory",
                    consequence=VerdictKind.INVALID,
                )
        yield from _remarks(fault, capabilities)
    yield from _relay(faults)


def _remarks(fault: FaultResult, capabilities: Capabilities) -> Iterator[Finding]:
    account, name = fault.account, fault.cell.id
    why_not = "it is not persistent" if not fault.cell.way.persistent else "nothing is promised of a restart"
    if account.lost and not fault.promise.stored:
        yield _remark(f"{name}: {account.lost:,} of {account.confirmed:,} confirmed messages lost", why_not)
    if account.kept:
        yield _remark(
            f"{name}: {account.kept:,} messages came only to consumers that connected anew after the drain",
            "kept by the broker, so neither lost nor delivered",
        )
    if account.twice_unmarked and not fault.promise.marked:
        yield _remark(
            f"{name}: {account.twice_unmarked:,} copies came again without a mark",
            "the broker marks none" if not capabilities.redelivered else "no mark is promised after a restart",
        )
    if account.partial and not fault.promise.whole:
        yield _remark(
            f"{name}: {account.partial:,} transactions took effect in part",
            "a commit is confirmed before it has taken effect",
        )
    if account.refused_delivered and not account.unexpected:
        yield _remark(
            f"{name}: {account.refused_delivered:,} of {account.refused:,} refused messages were delivered",
            "the protocol does not say that what is refused was not taken",
        )
    if account.reordered:
        yield _remark(f"{name}: {account.reordered:,} copies overtaken by later ones", "order ends with a connection")
    ended = sum(each.life.ready_ns is not None for each in fault.repetitions)
    if fault.cell.fault.deed is Deed.FILL and ended:
        yield _remark(
            f"{name}: the broker ended by itself in {ended} of {len(fault.repetitions)} repetitions",
            "it was started again when the disk had room",
        )
    held = fault.spread(lambda each: each.course.away_s) if fault.cell.fault.deed is Deed.STALL else None
    if held is not None and held[2] > STARVING_S:
        yield _remark(f"{name}: the other consumers got nothing for {held[2]:.1f} s", "they read all the time")


def _remark(measured: str, limit: str) -> Finding:
    return Finding(what="remark", measured=measured, limit=limit, advice="nothing promised is broken")


def _relay(faults: Sequence[FaultResult]) -> Iterator[Finding]:
    """What the relay costs: the time of a confirmation before the fault, with it and without."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for fault in faults:
        for each in fault.repetitions:
            if each.course.confirmation_ms is not None:
                times[fault.cell.fault.deed in RELAYED].append(each.course.confirmation_ms)
    if times[True] and times[False]:
        through, without = map(median_high, (times[True], times[False]))
        yield _remark(
            f"a confirmation took {through:.1f} ms through the relay and {without:.1f} ms without, before the fault",
            "the medians over the repetitions",
        )
