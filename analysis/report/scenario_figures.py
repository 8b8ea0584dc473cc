"""Results of a workload -> pictures as values: time series of the run, and results over BASE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf

from analysis.report.figures import MOST_ROWS, Heat, Panel, Picture, PlotPoint, Series, Shade, ShadeTone
from analysis.results import Interval
from analysis.scenario.results import Second, WorkloadResult
from analysis.table import grouped
from workloads.scenario.limits import DELIVERY_TIME

#: Maximum number of points of a line; in longer runs each point is the highest of several seconds.
MOST_POINTS = 300

_SECONDS = "s from the start of the load"


def backlog(result: WorkloadResult) -> Picture | None:
    """The backlog over the whole run; None if no second was recorded."""
    line = _line(result.seconds, lambda at: at.backlog)
    if not line:
        return None
    panel = Panel("", _SECONDS, "copies", (Series("", line=line),), even=True, level=True, borders=_borders(result))
    return Picture(
        "backlog",
        "Backlog through the periods",
        "Copies that were sent and committed but not yet received, at the end of each second"
        f"{_thinned(result.seconds)}. Dotted: start of each period.",
        f"Line of the backlog over time; {max(at.backlog for at in result.seconds):,} copies at most.",
        (panel,),
        low=True,
    )


def course(result: WorkloadResult) -> Picture | None:
    """Throughput, delivery time and the broker's CPU over the whole run; None if no second was recorded."""
    if not result.seconds:
        return None
    panels = (
        ("throughput", "messages/s", (("sent", lambda at: at.sent), ("received", lambda at: at.received))),
        (
            "delivery time",
            "ms",
            (("p50", lambda at: at.delivery_p50_ms), ("p90", lambda at: at.delivery_p90_ms)),
        ),
        ("broker CPU", "cores", (("broker CPU", lambda at: at.broker_cpu),)),
    )
    drawn = tuple(
        panel
        for title, label, lines in panels
        if (panel := _over_time(title, label, result.seconds, lines, _borders(result, named=False))) is not None
    )
    return Picture(
        "course",
        "The course of the run",
        f"Messages per second, delivery time from sent to received, CPU of the broker{_thinned(result.seconds)}. "
        "Dotted: start of each period.",
        "Lines of throughput, delivery time and broker CPU over time.",
        drawn,
        low=True,
    )


def delivery(result: WorkloadResult, interaction: int, messages: Sequence[str]) -> Picture | None:
    """Percentiles of each message's delivery time over time; None if nothing was received."""
    lines = (
        ("p50", lambda at: at.delivery_p50_ms),
        ("p90", lambda at: at.delivery_p90_ms),
    )
    borders = _borders(result, named=False)
    panels = {
        message: _over_time(message, "delivery time in ms", result.seconds_by_step.get(message, ()), lines, borders)
        for message in messages
    }
    drawn = tuple(panel for panel in panels.values() if panel is not None)
    if not drawn:
        return None
    return Picture(
        f"delivery-{interaction}",
        f"Delivery time of each message of interaction {interaction}",
        f"From sent to received, of the messages received in each second{_thinned(result.seconds)}. Dotted: start of "
        f"each period, and the limit of {DELIVERY_TIME.limit:,.0f} ms if it is near.",
        f"Percentiles of delivery time over time for {', '.join(panels)}; the table below has those of the period.",
        drawn,
        missing=tuple(message for message, panel in panels.items() if panel is None),
        low=True,
    )


def addresses(result: WorkloadResult, interaction: int, messages: Sequence[str]) -> Picture | None:
    """Delivery times of an interaction's addresses over the run, the slowest first; None if nothing was received."""
    found = grouped((part for part in result.slices if part.message in messages), lambda part: part.address)
    slowest = {address: max(part.p90_ms for part in parts) for address, parts in found.items()}
    ordered = sorted(slowest, key=lambda address: slowest[address], reverse=True)
    if not ordered:
        return None
    shown = ordered[:MOST_ROWS]
    last = max(int(part.begin_s) // result.slice_s for parts in found.values() for part in parts)
    heat = Heat.of(
        [number * result.slice_s for number in range(last + 2)],
        [[(int(part.begin_s) // result.slice_s, part.p90_ms) for part in found[address]] for address in shown],
        _DELIVERY,
    )
    cut = f" The {len(shown)} slowest of {len(ordered)} addresses." if len(ordered) > len(shown) else ""
    borders = _borders(result, named=False)
    return Picture(
        f"interaction-{interaction}-grid",
        f"Delivery time by address, interaction {interaction}",
        f"90th percentile in ms of the messages received in slices of {result.slice_s} s, the slowest address first; "
        f"empty: nothing was received. Dotted: start of each period.{cut}",
        f"Grid of delivery times by address and time; the slowest is {ordered[0]} with {slowest[ordered[0]]:,.1f} ms "
        "as its highest 90th percentile.",
        (Panel("", _SECONDS, "", (), rows=tuple(shown), borders=borders, heat=heat),),
        low=True,
    )


#: Shades of delivery times in ms: one for each decade, and another colour above the limit of the rules.
_DELIVERY = (
    *(
        Shade(f"up to {limit_ms:,.0f} ms", limit_ms, ShadeTone.LOW, opacity)
        for limit_ms, opacity in ((1, 0.12), (10, 0.3), (100, 0.5), (1000, 0.75), (DELIVERY_TIME.limit, 1.0))
    ),
    Shade("above", inf, ShadeTone.WRONG, 1.0),
)


def capacity(results: Sequence[WorkloadResult]) -> Picture | None:
    """The broker's CPU and the slowest handler over BASE, one series per broker; None with fewer than two BASEs."""
    shown = [entry for entry in results if entry.measured is not None]
    if len({entry.base for entry in shown}) < 2:
        return None
    panels = tuple(
        Panel(title, "BASE", label, series)
        for title, label, value in (
            ("utilisation", "broker CPU in cores", lambda entry: entry.measured.broker_cpu),
            ("slowest event handler", "p90 of delivery in ms", lambda entry: entry.p90_ms),
        )
        if (series := tuple(_against_base(shown, value)))
    )
    return Picture(
        "capacity",
        f"Against BASE, {shown[0].topology}",
        "CPU of the broker, and the 90th percentile of delivery time of the slowest event handler, in the measurement "
        "period. Hollow: the audit failed.",
        "Utilisation and delivery time over BASE; the table has the numbers.",
        panels,
        hollow=tuple(f"{entry.key.cell}: {entry.failed[0].rule.name}" for entry in shown if entry.failed),
    )


def subscriptions(result: WorkloadResult) -> Picture | None:
    """Subscriptions of members, joins, leaves and the latency of joins over the run; None without populations."""
    churn = result.churn
    if churn is None or not churn.seconds:
        return None
    borders = _borders(result, named=False)
    standing = tuple((float(at.second), float(at.standing)) for at in churn.seconds)
    changes = tuple(
        Series(name, line=tuple((float(at.second), float(getattr(at, name))) for at in churn.seconds))
        for name in ("joins", "leaves")
    )
    latency = tuple(
        Series(label, line=tuple((at.begin_s, getattr(at, name)) for at in churn.slices))
        for label, name in (("p50", "p50_ms"), ("p90", "p90_ms"))
    )
    panels = (
        Panel("subscriptions standing", "s", "subscriptions", (Series("", line=standing),), even=True, borders=borders),
        Panel("joins and leaves", "s", "per second", changes, even=True, level=True, borders=borders),
        Panel("latency of joins", "s", "ms", latency, even=True, borders=borders),
    )
    return Picture(
        "subscriptions",
        "Subscriptions that come and go",
        "Subscriptions that are confirmed and not being ended; joins and leaves in each second; from SUBSCRIBE to its "
        f"receipt, of the joins in each {result.slice_s} s. Dotted: start of each period.",
        f"Lines of subscriptions over time, {max(at.standing for at in churn.seconds):,} at most.",
        panels if len(churn.slices) > 1 else panels[:2],
        low=True,
    )


def _against_base(
    results: Sequence[WorkloadResult], value: Callable[[WorkloadResult], float | None]
) -> Iterable[Series]:
    for broker in dict.fromkeys(entry.key.broker for entry in results):
        points = [
            PlotPoint(entry.base, Interval(y), entry.key.start, hollow=bool(entry.failed))
            for entry in sorted(results, key=lambda entry: (entry.key.start, entry.base))
            if entry.key.broker == broker and (y := value(entry)) is not None
        ]
        if points:
            yield Series(broker, tuple(points), joined=True)


def _over_time(
    title: str,
    label: str,
    seconds: Sequence[Second],
    lines: Sequence[tuple[str, Callable[[Second], float | None]]],
    borders: tuple[tuple[float, str], ...],
) -> Panel | None:
    series = tuple(Series(name, line=line) for name, of in lines if (line := _line(seconds, of)))
    if not series:
        return None
    highest = max(y for entry in series for _, y in entry.line)
    near = label.endswith("ms") and highest > DELIVERY_TIME.limit / 10
    return Panel(
        title,
        "s",
        label,
        series,
        levels=(DELIVERY_TIME.limit,) if near else (),
        even=True,
        level=not label.endswith("ms"),
        borders=borders,
    )


def _line(seconds: Sequence[Second], of: Callable[[Second], float | None]) -> tuple[tuple[float, float], ...]:
    """The highest value of every group of seconds, so that no peak is smoothed away."""
    width = _width(seconds)
    found: dict[int, tuple[float, float]] = {}
    for at in seconds:
        value = of(at)
        group = at.second // width
        if value is not None and (group not in found or value > found[group][1]):
            found[group] = (at.second, value)
    line = tuple(found.values())
    # A single point would be invisible: it is drawn one second long.
    return line if len(line) != 1 else (line[0], (line[0][0] + 1, line[0][1]))


def _width(seconds: Sequence[Second]) -> int:
    return -(-(seconds[-1].second + 1) // MOST_POINTS) if seconds else 1


def _thinned(seconds: Sequence[Second]) -> str:
    width = _width(seconds)
    return "" if width == 1 else f"; the highest of every {width} s"


def _borders(result: WorkloadResult, *, named: bool = True) -> tuple[tuple[float, str], ...]:
    return tuple((span.begin_s, str(span.period) if named else "") for span in result.spans)
