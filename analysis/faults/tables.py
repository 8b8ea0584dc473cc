"""The results of faults as tables, for terminal and page."""

from __future__ import annotations

from collections.abc import Callable

from analysis.faults.results import BrokerFaults, FaultRepetition, FaultResult
from analysis.formats import count
from analysis.table import Table, TableColumn


def caption(result: BrokerFaults) -> str:
    """What was measured, in a sentence."""
    lives = [each.life for each in result.repetitions]
    if not lives:
        return f"{result.title}: no fault was measured"
    ways = ", ".join(dict.fromkeys(fault.cell.way.name for fault in result.faults))
    rates = sorted(life.rate_per_s for life in lives)
    rate = f"{rates[0]:,.0f}" if rates[0] == rates[-1] else f"{rates[0]:,.0f} to {rates[-1]:,.0f}"
    first, share = lives[0], ""
    if first.capacity_per_s is not None:
        share = f" ({first.rate_per_s / first.capacity_per_s:.0%} of capacity)"
    places = ", ".join(dict.fromkeys(life.place for life in lives))
    what = ", ".join(dict.fromkeys(fault.business.title for fault in result.faults if fault.business is not None))
    return (
        f"{result.title}: {what or f'{ways} ({places}), confirmed'}; {first.publishers} publishers, {first.consumers} "
        f"consumers, {rate} messages/s{share}, "
        f"{count(result.options.repetitions, 'repetition')}; "
        "times in s from the fault (away: for how long), median (range)"
    )


def overview(result: BrokerFaults) -> Table:
    """A row for each fault."""
    return Table.of(
        caption(result),
        result.faults,
        TableColumn("fault", lambda fault: fault.cell.id, number=False),
        TableColumn("lost of confirmed", lambda fault: f"{fault.account.lost:,} of {fault.account.confirmed:,}"),
        TableColumn(
            "unknown, of these delivered", lambda fault: f"{fault.account.unknown:,}, {fault.account.recovered:,}"
        ),
        TableColumn("refused", lambda fault: f"{fault.account.refused:,}"),
        TableColumn(
            "twice: marked, unmarked",
            lambda fault: f"{fault.account.twice_marked:,}, {fault.account.twice_unmarked:,}",
        ),
        TableColumn("delivery away", _spread(lambda each: each.course.away_s)),
        TableColumn("90 % again", _spread(lambda each: each.course.back_s)),
        TableColumn("backlog gone", _spread(lambda each: each.course.backlog_gone_s)),
        kind=lambda fault: "invalid" if fault.failed else "",
    )


def details(result: BrokerFaults) -> Table:
    """The other figures of each fault."""
    return Table.of(
        "Further figures; times in s from the fault, median (range) over the repetitions",
        result.faults,
        TableColumn("fault", lambda fault: fault.cell.id, number=False),
        TableColumn("noticed", _spread(lambda each: each.course.noticed_s)),
        TableColumn("ready", _spread(lambda each: each.course.ready_s)),
        TableColumn("first confirmation", _spread(lambda each: each.course.confirmed_s)),
        TableColumn("first delivery", _spread(lambda each: each.course.delivered_s)),
        TableColumn("connected again", _spread(lambda each: each.life.attempts)),
        TableColumn("of these refused", _spread(lambda each: each.life.refusals)),
        TableColumn("kept", lambda fault: f"{fault.account.kept:,}"),
        TableColumn("reordered", lambda fault: f"{fault.account.reordered:,}"),
        TableColumn("delivered though refused", lambda fault: f"{fault.account.refused_delivered:,}"),
        TableColumn("unexpected", lambda fault: f"{fault.account.unexpected:,}"),
        TableColumn("misdelivered", lambda fault: f"{fault.account.misdelivered:,}"),
        TableColumn("transactions in part", lambda fault: f"{fault.account.partial:,}"),
        TableColumn("broker CPU", _spread(lambda each: each.broker_cpu), unit="cores"),
        TableColumn(
            "broker memory",
            _spread(lambda each: None if each.broker_rss_bytes is None else each.broker_rss_bytes / 2**20),
            unit="MiB",
        ),
    )


def promises(result: BrokerFaults) -> Table:
    """What was promised under each fault."""
    return Table.of(
        "What is promised, and by whom",
        result.faults,
        TableColumn("fault", lambda fault: fault.cell.id, number=False),
        TableColumn("what is done", lambda fault: fault.cell.fault.how, number=False),
        TableColumn("confirmed messages", lambda fault: "kept" if fault.promise.stored else "-", number=False),
        TableColumn("further copies", lambda fault: "marked" if fault.promise.marked else "-", number=False),
        TableColumn("transactions", lambda fault: "whole" if fault.promise.whole else "-", number=False),
        TableColumn("source", lambda fault: fault.promise.source or "-", number=False),
    )


def _spread(of: Callable[[FaultRepetition], float | None]) -> Callable[[FaultResult], str]:
    def text(fault: FaultResult) -> str:
        found = fault.spread(of)
        if found is None:
            return "-"
        middle, low, high = map(_number, found)
        return middle if low == high else f"{middle} ({low}-{high})"

    return text


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or isinstance(value, int) else f"{value:.1f}"
