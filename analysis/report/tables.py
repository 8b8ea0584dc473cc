"""Results -> tables as values: rows of text, in display order and with display units.

Measurements that must not be used stay in their table, greyed out, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from analysis.report.figures import PlotGroup
from analysis.results import (
    AuditResult,
    BrokerComparison,
    CellAudit,
    CellSummary,
    Claim,
    Excluded,
    FitResult,
    HostUse,
    Interval,
    LatencyResult,
    NotApplicable,
    RoundLevel,
    RunResult,
    formula,
)
from analysis.throughput.console import (
    MEANING,
    SCOPES,
    chance,
    compared_title,
    description,
    deviation,
    half_width,
    levels_said,
    meaning,
    ratio,
    routing,
    shares,
    variation,
)
from analysis.throughput.fit import PAPER, PARAMETERS
from workloads.schema import PREPARATION
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.lanes import LaneAudit

#: Text in place of a missing number.
NOTHING = "\N{EN DASH}"

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class TableColumn:
    """The header of a column."""

    title: str
    unit: str = ""
    #: right-aligned
    number: bool = True


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table."""

    values: tuple[str, ...]
    #: its style: "", "greyed", "sum", or a verdict
    kind: str = ""
    #: text below the row
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption, which is also its accessible name."""

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]


def setup(manifest: Mapping[str, Any]) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Groups of (name, value) from the manifest: host, options, time."""
    yield "Host", _facts(manifest.get("host", {}))
    yield "Options", _facts(manifest.get("options", {}))
    times = {"began": "created_utc", "ended": "ended_utc", "outcome": "outcome", "schema": "schema"}
    yield "Run", _facts({name: manifest[key] for name, key in times.items() if key in manifest})


def brokers(manifest: Mapping[str, Any]) -> Table:
    """A column per broker, a row per fact: common facts first, then all others in the manifest."""
    described: Mapping[str, Mapping[str, Any]] = manifest.get("brokers", {})
    names = dict.fromkeys([*_BROKER_FACTS, *(name for facts in described.values() for name in facts)])
    rows = tuple(
        TableRow((_name(name), *(_broker_fact(name, facts) for facts in described.values())))
        for name in names
        if any(name in facts for facts in described.values())
    )
    columns = (TableColumn("", number=False), *(TableColumn(label, number=False) for label in described))
    return Table("Brokers, as they were started", columns, rows)


_BROKER_FACTS = (
    "product",
    "version",
    "provider",
    "server",
    "java",
    "flags",
    "configuration_digest",
    "options",
    "capabilities",
)


def _broker_fact(name: str, facts: Mapping[str, Any]) -> str:
    value = facts.get(name)
    return _capabilities(value) if name == "capabilities" and isinstance(value, dict) else _value(name, value)


def _capabilities(row: Mapping[str, Any]) -> str:
    """The broker's capabilities as text."""
    prefetch = row.get("prefetch")
    return "; ".join(
        (
            f"STOMP {row.get('version')}",
            f"destinations: {', '.join(row.get('destinations') or ()) or 'none'}",
            "filters on subscriptions" if row.get("selectors") else "no filters on subscriptions",
            f"acknowledgement: {', '.join(row.get('ack_modes') or ()) or 'none'}",
            f"transactions: {row.get('transactions')}",
            "durable subscriptions" if row.get("durable") is not None else "no durable subscriptions",
            f"prefetch in {prefetch.get('unit')}" if prefetch else "no prefetch",
        )
    )


def _facts(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((_name(key), _value(key, value)) for key, value in values.items())


def _name(key: str) -> str:
    return key.removesuffix("_bytes").replace("_", " ")


def _value(key: str, value: Any) -> str:
    if value is None or value in ([], "", {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes") and isinstance(value, int):
        return f"{value / _MIB:,.0f} MiB"
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(name, of_name)}" for name, of_name in value.items())
    return str(value)


def parameters(fit: FitResult) -> Table:
    """A row per parameter; a column for each alternative estimate in the fit."""
    others: dict[str, Mapping[str, Any]] = {"least squares as in the paper": fit.ols_as_in_paper or {}}
    if fit.constrained:
        others["none below 0"] = fit.constrained.parameters
    if fit.roofline:
        others["with a transmission cap"] = fit.roofline.parameters
    others["the paper, ActiveMQ 4.0"] = PAPER
    rows = tuple(
        TableRow(
            (
                name,
                MEANING[name],
                _us(fit.parameters[name].estimate),
                _range(fit.parameters[name], 1e6),
                half_width(fit, name),
                *(_us_or_none(values.get(name)) for values in others.values()),
            )
        )
        for name in fit.parameters
    )
    columns = (
        TableColumn("parameter", number=False),
        TableColumn("time of the broker for", number=False),
        TableColumn("estimate", "µs"),
        TableColumn(f"95 % interval {SCOPES[fit.scope]}", "µs"),
        TableColumn("half-width"),
        *(TableColumn(title, "µs") for title in others),
    )
    return Table(f"{formula(fit.parameters)}: time of the broker per message received, {meaning(fit)}", columns, rows)


def _us_or_none(value: Interval | float | None) -> str:
    if isinstance(value, Interval):
        return _us(value.estimate) + (f" ({_range(value, 1e6)})" if value.ci95 else "")
    return NOTHING if value is None else _us(value)


def fit_facts(fit: FitResult) -> Iterator[tuple[str, str]]:
    lack = fit.lack_of_fit
    yield (
        "based on",
        f"{_count(len(fit.cells_used), 'cell')}, {_count(fit.layouts, 'layout')}, {_count(fit.starts, 'start')}",
    )
    for text in description(fit):
        yield "description", text.removeprefix("description: ")
    yield "largest residual", f"{lack.max_relative_deviation:.1%}"
    if lack.f is not None and lack.p is not None:
        yield "lack of fit", f"F {lack.f:.1f}, p {lack.p:.2g}"
    if fit.leave_one_out:
        left = fit.leave_one_out
        yield (
            "a cell predicted from all others",
            f"error {left.median:.1%} in the median, {left.largest:.1%} at most ({left.cell})",
        )
    for name, value in variation(fit):
        yield f"scatter of B, {name}", value
    if fit.constrained:
        yield "t_rcv at most", f"{_us(fit.constrained.t_rcv_at_most_s)} µs (one-sided 95 % bound)"
    if fit.roofline:
        cap = fit.roofline
        yield "cap on transmission", f"t_sat {_us_or_none(cap.t_sat_s)} µs per copy"
        yield (
            "with that cap",
            f"AICc lower by {cap.delta_aicc:.1f}, {'' if cap.preferred else 'not '}the better description",
        )
        yield "cells in the regime of the cap", ", ".join(cap.capped) or "none"
    for start, estimates in fit.per_start.items() if len(fit.per_start) > 1 else ():
        values = ", ".join(f"{name} {_us(value)} µs" for name, value in zip(fit.parameters, estimates, strict=True))
        yield f"start {start} alone", values


def fitted_cells(fit: FitResult) -> Table:
    """Used cells with their deviation, then those left out."""
    used = [
        TableRow(
            (
                point.cell,
                f"{point.n_fltr:,}",
                f"{point.replication:g}",
                _plus_minus(point.measured_s, 1e6),
                _us(point.fitted_s),
                deviation(point.deviation),
            )
        )
        for point in fit.points
    ]
    left_out = [
        TableRow((_place(cell), *[NOTHING] * 5), "greyed", f"left out: {cell.reason}") for cell in fit.cells_excluded
    ]
    columns = (
        TableColumn("cell", number=False),
        TableColumn("filters"),
        TableColumn("r"),
        TableColumn("B measured", "µs"),
        TableColumn("B fitted", "µs"),
        TableColumn("deviation"),
    )
    return Table("Cells of this model, used and left out", columns, (*used, *left_out))


def _place(cell: Excluded) -> str:
    return f"{cell.cell} (start {cell.start})" if cell.start else cell.cell


def side_by_side(results: Sequence[RunResult]) -> Table:
    rows = tuple(
        TableRow(
            (
                str(number),
                fit.run,
                fit.broker,
                f"{fit.experiment}, {fit.profile}",
                *(_us_or_none(fit.parameters.get(name)) for name in PARAMETERS),
                fit.verdict,
            ),
            "greyed" if fit.verdict == VerdictKind.INVALID else "",
        )
        for number, result in enumerate(results, 1)
        for fit in result.fits
    )
    columns = (
        TableColumn("#"),
        TableColumn("run", number=False),
        TableColumn("broker", number=False),
        TableColumn("experiment, profile", number=False),
        *(TableColumn(name, "µs, 95 %") for name in PARAMETERS),
        TableColumn("verdict", number=False),
    )
    return Table("Fitted times of every model", columns, rows)


def ratios(comparison: BrokerComparison) -> Iterator[Table]:
    """Comparison of the brokers' coefficients, then of their cells."""
    title = compared_title(comparison)
    head = (TableColumn("of", number=False), TableColumn("broker", number=False))
    tail = (TableColumn("conclusion", number=False),)
    if comparison.coefficients:
        yield Table(
            f"{title}. {chance(comparison.coefficients)}",
            (*head, TableColumn("time", "µs, 95 %"), TableColumn("ratio", "95 %"), *tail),
            tuple(
                TableRow((row.what, row.broker, _us_or_none(row.value_s), ratio(row.ratio), row.words), "", row.reason)
                for row in comparison.coefficients
            ),
        )
    yield Table(
        f"{title}. {chance(comparison.cells)}",
        (
            *head,
            TableColumn("B", "µs, 95 %"),
            TableColumn("received", "messages/s"),
            TableColumn("ratio of B", "95 %"),
            TableColumn("ratio of received", "95 %"),
            *tail,
        ),
        tuple(
            TableRow(
                (
                    row.what,
                    row.broker,
                    _us_or_none(row.value_s),
                    NOTHING if row.received_per_s is None else f"{row.received_per_s.estimate:,.0f}",
                    ratio(row.ratio),
                    ratio(row.received),
                    row.words,
                ),
                "" if row.value_s else "greyed",
                row.reason,
            )
            for row in comparison.cells
        ),
    )


def claims(claims: Sequence[Claim]) -> Iterator[Table]:
    columns = (
        TableColumn("section", number=False),
        TableColumn("claim", number=False),
        TableColumn("published", number=False),
        TableColumn("measured", number=False),
        TableColumn("verdict", number=False),
    )
    for broker, profile in dict.fromkeys((claim.broker, claim.profile) for claim in claims):
        rows = tuple(
            TableRow(
                (claim.section, claim.claim, claim.published, claim.measured or NOTHING, claim.verdict),
                claim.verdict.replace(" ", "-"),
                claim.reason,
            )
            for claim in claims
            if (claim.broker, claim.profile) == (broker, profile)
        )
        yield Table(f"Claims of the paper as measured on {broker}, profile {profile}", columns, rows)


_CELL_COLUMNS = (
    TableColumn("cell", number=False),
    TableColumn("start"),
    TableColumn("filters"),
    TableColumn("r"),
    TableColumn("received", "messages/s"),
    TableColumn("dispatched", "messages/s"),
    TableColumn("overall", "messages/s"),
    TableColumn("B", "µs"),
    TableColumn("mean of all slices", "µs"),
    TableColumn("broker CPU"),
    TableColumn("GC"),
    TableColumn("compiler"),
    TableColumn("load CPU"),
    TableColumn("load per copy", "µs"),
    TableColumn("layouts"),
    TableColumn("slices"),
    TableColumn("status", number=False),
)


def cells(group: PlotGroup, not_applicable: Sequence[NotApplicable]) -> Table:
    paces = {cell.pace for cell in group.cells}
    pace = "".join(f"; pace: {pace}" for pace in paces if pace) if len(paces) == 1 else ""
    return Table(
        f"Cells of {group.title}{routing(group.cells)}: rates with 95 % intervals over the layouts of a start; "
        f"greyed rows are excluded from the fit{pace}",
        _CELL_COLUMNS,
        (*(_cell(cell) for cell in group.cells), *map(_not_applicable, not_applicable)),
    )


def _not_applicable(cell: NotApplicable) -> TableRow:
    values = (cell.cell, *[NOTHING] * (len(_CELL_COLUMNS) - 2), str(CellStatus.NOT_APPLICABLE))
    return TableRow(values, "greyed", cell.reason)


def _cell(cell: CellSummary) -> TableRow:
    values = (
        cell.key.cell,
        str(cell.key.start),
        f"{cell.n_fltr:,}",
        f"{cell.replication:g}",
        _rate(cell.received_per_s),
        _rate(cell.dispatched_per_s),
        _rate(cell.overall_per_s),
        NOTHING if cell.processing_s is None else _plus_minus(cell.processing_s, 1e6),
        NOTHING if cell.mean_processing_s is None else _us(cell.mean_processing_s),
        _share(cell.broker_cpu),
        _part(cell.gc_share),
        _part(cell.compiler_share),
        _share(cell.load_cpu),
        NOTHING if cell.load_us_per_delivery is None else f"{cell.load_us_per_delivery:.2f}",
        str(cell.layouts),
        str(len(cell.windows)),
        cell.status,
    )
    return TableRow(values, "" if cell.status == CellStatus.OK else "greyed", cell.reason)


def rounds(of_start: Sequence[RoundLevel]) -> Table:
    """The levels of the rounds of one broker and start: a row for each layout and block."""
    rows = []
    for (layout, block), group in groupby(of_start, lambda level: (level.layout, level.block)):
        of_block = list(group)
        levels = ", ".join(f"{level.level:+.1%}" + "!" * level.disturbed for level in of_block)
        rows.append(TableRow((str(layout), str(block), f"{of_block[0].begin_s:,.0f}", levels, *shares(of_block))))
    columns = (
        TableColumn("layout"),
        TableColumn("block"),
        TableColumn("from", "s"),
        TableColumn("level of its rounds"),
        TableColumn("GC, most"),
        TableColumn("compiler, most"),
    )
    title = f"Rounds on {of_start[0].broker}, start {of_start[0].start}: {levels_said(of_start)}"
    return Table(title, columns, tuple(rows))


def audit(audit: AuditResult) -> Table:
    """A row for each cell that is not exact, a row for all others together, and the sum."""
    exact = [cell for cell in audit.cells if cell.copies.exact]
    preparation = sum(cell.key.experiment in PREPARATION for cell in exact)
    more = f", {preparation} of them {' or '.join(PREPARATION)}" if preparation else ""
    rows = [
        _audit_row(f"{cell.key} on {cell.key.broker}", [cell], VerdictKind.INVALID)
        for cell in audit.cells
        if not cell.copies.exact
    ]
    if exact:
        rows.append(_audit_row(f"{_count(len(exact), 'exact cell')}{more}", exact))
    rows.append(_audit_row("all", audit.cells, "sum"))
    columns = (
        TableColumn("cells", number=False),
        TableColumn("messages sent"),
        *(TableColumn(title) for title in ("copies expected", "delivered", "lost", "duplicated", "reordered")),
        TableColumn("misdelivered"),
    )
    return Table("Delivery audit, from the first subscription to the end of the drain", columns, tuple(rows))


def _audit_row(title: str, cells: Sequence[CellAudit], kind: str = "") -> TableRow:
    copies = sum((cell.copies for cell in cells), LaneAudit())
    counts = (
        sum(cell.sent for cell in cells),
        copies.expected,
        copies.delivered,
        copies.lost,
        copies.duplicated,
        copies.reordered,
        copies.misdelivered,
    )
    return TableRow((title, *(f"{count:,}" for count in counts)), kind)


def latency(results: Sequence[LatencyResult], broker: str, profile: str) -> Table:
    """A row for each percentile of each cell, so that each can be greyed out with its reason."""
    rows = []
    for cell in results:
        head = (cell.key.cell, str(cell.key.start), cell.arrivals, f"{cell.percent} %", f"{cell.planned_per_s:,.0f}")
        bad = cell.status != CellStatus.OK
        rows.append(
            TableRow(
                (
                    *head,
                    "mean",
                    _plus_minus(cell.mean_s, 1e3),
                    NOTHING,
                    _ms(cell.waiting_s),
                    _ms(cell.predicted_waiting_s),
                ),
                "greyed" if bad else "",
                "; ".join(filter(None, [cell.status if bad else "", cell.reason, _negative(cell)])),
            )
        )
        rows += [
            TableRow(
                (
                    *head,
                    f"p{found.rank:g}",
                    _estimate_and_range(found.latency_s, 1e3),
                    _ms(found.lateness_s),
                    "",
                    "",
                ),
                "greyed" if bad or found.greyed else "",
                found.reason,
            )
            for found in cell.percentiles
        ]
    columns = (
        TableColumn("cell", number=False),
        TableColumn("start"),
        TableColumn("arrivals", number=False),
        TableColumn("load"),
        TableColumn("planned", "messages/s"),
        TableColumn("of latency", number=False),
        TableColumn("latency, 95 %", "ms"),
        TableColumn("lateness of the generator", "ms"),
        TableColumn("waiting, measured", "ms"),
        TableColumn("waiting, M/GI/1", "ms"),
    )
    models = "; ".join(dict.fromkeys(cell.model for cell in results if cell.model))
    title = f"Latency on {broker}, profile {profile}, from the planned instant to the read"
    return Table(title + (f"; service time of M/GI/1: {models}" if models else ""), columns, tuple(rows))


def _negative(cell: LatencyResult) -> str:
    return f"{cell.negative:,} of {cell.copies:,} copies with a negative latency" if cell.negative else ""


def host(host: Sequence[HostUse]) -> Table:
    rows = tuple(
        TableRow(
            (
                use.broker,
                str(use.start),
                f"{use.seconds:,.0f}",
                "unknown" if use.broker_rss_bytes is None else f"{use.broker_rss_bytes / _MIB:,.0f}",
                f"{use.load_rss_bytes / _MIB:,.0f}",
                f"{use.memory_available_bytes / _MIB:,.0f}",
                f"{use.swap_growth_bytes / _MIB:,.0f}",
                NOTHING if use.disk_bytes_per_s is None else f"{use.disk_bytes_per_s / _MIB:.1f}",
                NOTHING if use.network_bytes_per_s is None else f"{use.network_bytes_per_s / _MIB:.1f}",
                NOTHING if use.broker_disk_bytes_per_s is None else f"{use.broker_disk_bytes_per_s / _MIB:.1f}",
                NOTHING if use.broker_context_switches_per_s is None else f"{use.broker_context_switches_per_s:,.0f}",
            )
        )
        for use in host
    )
    columns = (
        TableColumn("broker", number=False),
        TableColumn("start"),
        TableColumn("sampled", "s"),
        TableColumn("broker, most", "MiB"),
        TableColumn("load, most", "MiB"),
        TableColumn("available, least", "MiB"),
        TableColumn("swap, growth", "MiB"),
        TableColumn("disk", "MiB/s"),
        TableColumn("network", "MiB/s"),
        TableColumn("broker's disk", "MiB/s"),
        TableColumn("broker's context switches", "per s"),
    )
    return Table("Host under load", columns, rows)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"


def _number(value: float, digits: int = 4) -> str:
    """With `digits` significant digits, but always all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _us(seconds: float) -> str:
    return _number(seconds * 1e6)


def _ms(seconds: float | None) -> str:
    return NOTHING if seconds is None else _number(seconds * 1e3)


def _range(interval: Interval, factor: float) -> str:
    if interval.low is None or interval.high is None:
        return NOTHING
    return f"{_number(interval.low * factor)} to {_number(interval.high * factor)}"


def _estimate_and_range(interval: Interval, factor: float) -> str:
    estimate = _number(interval.estimate * factor)
    return f"{estimate} ({_range(interval, factor)})" if interval.ci95 else estimate


def _plus_minus(interval: Interval, factor: float) -> str:
    estimate = _number(interval.estimate * factor)
    if interval.high is None:
        return estimate
    return f"{estimate} ± {_number((interval.high - interval.estimate) * factor, 2)}"


def _rate(interval: Interval | None) -> str:
    if interval is None:
        return NOTHING
    if interval.high is None:
        return f"{interval.estimate:,.0f}"
    return f"{interval.estimate:,.0f} ± {interval.high - interval.estimate:,.0f}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"


def _part(value: float | None) -> str:
    """A share that is not known for every broker."""
    return NOTHING if value is None else f"{value:.1%}"
