"""The tables of a throughput run as values; the terminal and the report render the same ones.

A measurement that must not be used keeps its row, greyed, with the reason below it. Numbers are only formatted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from analysis.claims import table
from analysis.formats import NOTHING, count, ends, half_width, mib, ms, number, plus_minus, ranged, us
from analysis.results import (
    AuditResult,
    BrokerComparison,
    CellAudit,
    CellSummary,
    Claim,
    Excluded,
    FitResult,
    Grade,
    HostUse,
    Interval,
    LatencyResult,
    NotApplicable,
    Ratio,
    RoundLevel,
    RunResult,
    Scope,
    formula,
)
from analysis.table import Table, TableColumn, TableRow, grouped
from analysis.throughput.fit import PAPER, PARAMETERS
from workloads.limits import DISTURBED_LEVEL, GOOD, ROOFLINE, ROUGH
from workloads.schema import PREPARATION
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.lanes import LaneAudit

#: What each parameter of the model is the time for.
MEANING = {
    "t_rcv": "one message received",
    "t_fltr": "one filter installed",
    "t_tx": "one copy delivered",
}

#: How well the model describes the cells, independent of the verdict: by the ends of the cells' intervals nearer to 0.
GRADES = {
    Grade.GOOD: f"no cell is known to be more than {GOOD.limit:.0%} off",
    Grade.ROUGH: f"no cell is known to be more than {ROUGH.limit:.0%} off",
    Grade.POOR: f"a cell is more than {ROUGH.limit:.0%} off: use the cells, not these times",
}

#: What an interval covers; follows `95 % interval`.
SCOPES = {
    Scope.THESE_STARTS: "for these starts",
    Scope.BETWEEN_STARTS: "between starts",
}

#: In the caption of a table: a binding is looked up, a filter is evaluated.
_ROUTED = ", routing, not filtering"

#: Experiment, broker, and profile: the cells of a table.
Unit = tuple[str, str, str]


def unit(cell: CellSummary | LatencyResult) -> Unit:
    return cell.key.experiment, cell.key.broker, cell.profile


# The cells and their rounds


def cells(of_unit: Sequence[CellSummary], not_applicable: Iterable[NotApplicable]) -> Table:
    """The cells of one experiment on one broker under one profile; those not applicable to the broker come last.

    not_applicable: of the whole run
    """
    experiment, broker, profile = unit(of_unit[0])
    routed = _ROUTED if any(cell.routed for cell in of_unit) else ""
    paces = {cell.pace for cell in of_unit}
    pace = "".join(f", {pace}" for pace in paces if pace) if len(paces) == 1 else ""
    excluded = ", and is excluded from the fit" if any(cell.fits_model for cell in of_unit) else ""
    none = [entry for entry in not_applicable if (entry.experiment, entry.broker, entry.profile) == unit(of_unit[0])]
    return Table(
        f"Cells of {experiment} on {broker}, profile {profile}{routed}{pace}: 95 % intervals over the layouts of a "
        f"start; a row that is not ok has its reason below it{excluded}",
        _CELL_COLUMNS,
        (*map(_cell, of_unit), *map(_not_applicable, none)),
        keys=2,
    )


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


def _cell(cell: CellSummary) -> TableRow:
    """The time per message of an open loop is that of the plan, not the broker's: it is not shown."""
    values = (
        cell.key.cell,
        str(cell.key.start),
        f"{cell.n_fltr:,}",
        f"{cell.replication:g}",
        plus_minus(cell.received_per_s),
        plus_minus(cell.dispatched_per_s),
        plus_minus(cell.overall_per_s),
        NOTHING if cell.open_loop else plus_minus(cell.processing_s, us),
        NOTHING if cell.open_loop else us(cell.mean_processing_s),
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


def _not_applicable(cell: NotApplicable) -> TableRow:
    values = (cell.cell, *[NOTHING] * (len(_CELL_COLUMNS) - 2), str(CellStatus.NOT_APPLICABLE))
    return TableRow(values, "greyed", cell.reason)


def by_start(rounds: Iterable[RoundLevel]) -> dict[tuple[str, int], list[RoundLevel]]:
    """The rounds of each broker and start, in the order in which they were measured."""
    ordered = sorted(rounds, key=lambda level: (level.broker, level.start, level.begin_s))
    return grouped(ordered, lambda level: (level.broker, level.start))


def levels_said(rounds: Sequence[RoundLevel]) -> str:
    """The number of rounds, and how many of them were disturbed."""
    disturbed = sum(level.disturbed for level in rounds)
    return (
        f"{len(rounds)} rounds, {disturbed} of them disturbed (!), {DISTURBED_LEVEL.limit:.0%} or more slower than the "
        "median undisturbed round"
    )


def rounds(of_start: Sequence[RoundLevel]) -> Table:
    """The levels of the rounds of one broker and start: a row for each layout and block."""
    rows = []
    for (layout, block), group in groupby(of_start, lambda level: (level.layout, level.block)):
        of_block = list(group)
        levels = ", ".join(f"{level.level:+.1%}" + "!" * level.disturbed for level in of_block)
        shares = _most(level.gc_share for level in of_block), _most(level.compiler_share for level in of_block)
        stolen = _part(of_block[0].stolen_share)
        rows.append(TableRow((str(layout), str(block), f"{of_block[0].begin_s:,.0f}", levels, *shares, stolen)))
    columns = (
        TableColumn("layout"),
        TableColumn("block"),
        TableColumn("from", "s"),
        TableColumn("level of its rounds"),
        TableColumn("GC, most"),
        TableColumn("compiler, most"),
        TableColumn("stolen"),
    )
    title = f"Rounds on {of_start[0].broker}, start {of_start[0].start}: {levels_said(of_start)}"
    return Table(title, columns, tuple(rows))


def _most(values: Iterable[float | None]) -> str:
    return _part(max((value for value in values if value is not None), default=None))


# Latency


def latency(of_broker: Sequence[LatencyResult]) -> Table:
    """The latencies of one broker and profile: a row for each percentile, so that each can have its reason."""
    models = "; ".join(dict.fromkeys(cell.model for cell in of_broker if cell.model))
    first = of_broker[0]
    return Table(
        f"Latency on {first.key.broker}, profile {first.profile}, from the planned instant to the read, with 95 % "
        "intervals; open: too few copies lie beyond" + (f"; service time of M/GI/1: {models}" if models else ""),
        (
            TableColumn("cell", number=False),
            TableColumn("start"),
            TableColumn("arrivals", number=False),
            TableColumn("load"),
            TableColumn("planned", "messages/s"),
            TableColumn("of latency", number=False),
            TableColumn("latency", "ms"),
            TableColumn("lateness of the generator", "ms"),
            TableColumn("waiting, measured", "ms"),
            TableColumn("waiting, M/GI/1", "ms"),
        ),
        tuple(row for cell in of_broker for row in _latency(cell)),
    )


def _latency(cell: LatencyResult) -> Iterator[TableRow]:
    head = (cell.key.cell, str(cell.key.start), cell.arrivals, f"{cell.percent} %", f"{cell.planned_per_s:,.0f}")
    bad = cell.status != CellStatus.OK
    negative = f"{cell.negative:,} of {cell.copies:,} copies with a negative latency" if cell.negative else ""
    waiting = (ms(cell.waiting_s), ms(cell.predicted_waiting_s))
    yield TableRow(
        (*head, "mean", ranged(cell.mean_s, ms), NOTHING, *waiting),
        "greyed" if bad else "",
        "; ".join(filter(None, [cell.status if bad else "", cell.reason, negative])),
    )
    for found in cell.percentiles:
        yield TableRow(
            (*head, f"p{found.rank:g}", ranged(found.latency_s, ms), ms(found.lateness_s), "", ""),
            "greyed" if bad or found.greyed else "",
            found.reason,
        )


# The audit


def audit(audit: AuditResult, *, every_cell: bool = False) -> Table:
    """A row for each cell and the sum; without `every_cell` the exact cells share a row."""
    exact = [cell for cell in audit.cells if cell.copies.exact and not every_cell]
    rows = [
        _audit_row(str(cell.key), cell.key.broker, [cell], "" if cell.copies.exact else VerdictKind.INVALID)
        for cell in audit.cells
        if every_cell or not cell.copies.exact
    ]
    if exact:
        preparation = sum(cell.key.experiment in PREPARATION for cell in exact)
        more = f", {preparation} of them {' or '.join(PREPARATION)}" if preparation else ""
        rows.append(_audit_row(f"{count(len(exact), 'exact cell')}{more}", "", exact))
    rows.append(_audit_row("all", "", audit.cells, "sum"))
    columns = (
        TableColumn("cell", number=False),
        TableColumn("broker", number=False),
        TableColumn("messages sent"),
        *(TableColumn(title) for title in ("copies expected", "delivered", "lost", "duplicated", "reordered")),
        TableColumn("misdelivered"),
    )
    return Table("Delivery audit, from the first subscription to the end of the drain", columns, tuple(rows), keys=2)


def _audit_row(title: str, broker: str, cells: Sequence[CellAudit], kind: str = "") -> TableRow:
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
    return TableRow((title, broker, *(f"{number_of:,}" for number_of in counts)), kind)


# The model


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
                us(interval.estimate),
                ends(interval, us),
                relative_half_width(fit, name),
                *(_time(values.get(name)) for values in others.values()),
            )
        )
        for name, interval in fit.parameters.items()
    )
    columns = (
        TableColumn("parameter", number=False),
        TableColumn("time of the broker for", number=False),
        TableColumn("estimate", "µs"),
        TableColumn(f"95 % interval {SCOPES[fit.scope]}", "µs"),
        TableColumn("half-width"),
        *(TableColumn(title, "µs") for title in others),
    )
    return Table(
        f"{formula(fit.parameters)}: time of the broker per message received, {_variables(fit)}", columns, rows
    )


def _variables(fit: FitResult) -> str:
    if "t_fltr" in fit.parameters:
        return "with n_fltr filters installed (matching ones included) and r copies delivered of every message"
    return "with r copies delivered of every message; there are no filters in this experiment, so that it has no t_fltr"


def _time(value: Interval | float | None) -> str:
    return ranged(value, us) if isinstance(value, Interval) else us(value)


def relative_half_width(fit: FitResult, name: str) -> str:
    """Half-width of a coefficient's interval, relative to its estimate, with the limit where it is exceeded."""
    interval, limit = fit.parameters[name], fit.precision.get(name)
    text = half_width(interval)
    if interval.ci95 is None:
        return text
    if not interval.beyond(0):
        text = "covers 0"
    return text if limit is None or limit.holds else f"{text} (limit {limit.limit:.0%})"


def model_facts(fit: FitResult) -> Iterator[tuple[str, str]]:
    """What else was found about a model: (name, text)."""
    lack, scatter, alone = fit.lack_of_fit, fit.variation, fit.leave_one_out
    sizes = ((len(fit.cells_used), "cell"), (fit.layouts, "layout"), (fit.starts, "start"))
    yield "based on", ", ".join(count(*size) for size in sizes)
    if found := fit.description:
        worst = "; ".join(f"{cell.cell} {deviation(cell.deviation)}" for cell in found.worst)
        yield "description", f"{found.grade} - {GRADES[found.grade]}; rms {found.rms:.1%}; {worst}"
    yield "largest residual", f"{lack.max_relative_deviation:.1%}"
    if lack.f is not None and lack.p is not None:
        yield "lack of fit", f"F {lack.f:.1f}, p {lack.p:.2g}"
    if alone:
        error = f"error {alone.median:.1%} (median), {alone.largest:.1%} at most ({alone.cell})"
        yield "each cell predicted from all others", error
    parts = {
        "slices of a layout": scatter.slices,
        "layouts beyond that": scatter.layouts,
        "starts beyond that": scatter.between_starts,
    }
    if known := [f"{name} {value:.1%}" for name, value in parts.items() if value is not None]:
        yield "scatter of B (relative standard deviation)", ", ".join(known)
    if fit.constrained:
        yield "t_rcv, not below 0", f"at most {us(fit.constrained.t_rcv_at_most_s)} µs (one-sided 95 % bound)"
    if cap := fit.roofline:
        yield "with a cap, B = max(plane, r t_sat)", f"t_sat {ranged(cap.t_sat_s, us)} µs per copy"
        better = "the better description"
        if not cap.preferred:
            better = "not preferred" + (", being poor itself" if cap.delta_aicc > ROOFLINE.limit else "")
        yield "AICc of the plane less that of the cap", f"{cap.delta_aicc:+.1f}: the cap is {better}"
        yield "capped cells", ", ".join(cap.capped) or "none"
    for index, name in enumerate(fit.parameters if fit.starts > 1 else ()):
        yield f"{name} by start", f"{', '.join(us(of[index]) for _, of in sorted(fit.per_start.items()))} µs"


def deviation(found: Interval) -> str:
    """A cell's relative deviation from the model, with its interval."""
    if found.low is None or found.high is None:
        return f"{found.estimate:+.1%}"
    return f"{found.estimate:+.1%} (95 % {found.low:+.1%} to {found.high:+.1%})"


def fitted_cells(fit: FitResult) -> Table:
    """Used cells with their deviation, then those left out."""
    used = [
        TableRow(
            (
                point.cell,
                f"{point.n_fltr:,}",
                f"{point.replication:g}",
                plus_minus(point.measured_s, us),
                us(point.fitted_s),
                deviation(point.deviation),
            )
        )
        for point in fit.points
    ]
    left_out = [
        TableRow((_cell_name(cell), *[NOTHING] * 5), "greyed", f"left out: {cell.reason}")
        for cell in fit.cells_excluded
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


def _cell_name(cell: Excluded) -> str:
    return f"{cell.cell} (start {cell.start})" if cell.start else cell.cell


def side_by_side(results: Sequence[RunResult]) -> Table:
    """The times of the models of several runs."""
    rows = tuple(
        TableRow(
            (
                str(number),
                fit.run,
                fit.broker,
                f"{fit.experiment}, {fit.profile}",
                *(ranged(fit.parameters.get(name), us) for name in PARAMETERS),
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


# The brokers of a run, and the claims of the paper


def compared_coefficients(comparison: BrokerComparison) -> Table | None:
    """The coefficients of all brokers, divided by those of the first; None without a model."""
    if not comparison.coefficients:
        return None
    columns = (TableColumn("time", "µs, 95 %"), TableColumn("ratio", "95 %"))
    return _compared(
        comparison,
        columns,
        [(row, (ranged(row.value_s, us), ranged(row.ratio))) for row in comparison.coefficients],
    )


def compared_cells(comparison: BrokerComparison) -> Table:
    """The cells of all brokers, divided by those of the first."""
    columns = (
        TableColumn("B", "µs, 95 %"),
        TableColumn("received", "messages/s"),
        TableColumn("ratio of B", "95 %"),
        TableColumn("ratio of received", "95 %"),
    )
    rows = []
    for row in comparison.cells:
        received = NOTHING if row.received_per_s is None else number(row.received_per_s.estimate)
        rows.append((row, (ranged(row.value_s, us), received, ranged(row.ratio), ranged(row.received))))
    return _compared(comparison, columns, rows)


def _compared(
    comparison: BrokerComparison, columns: Iterable[TableColumn], rows: Sequence[tuple[Ratio, tuple[str, ...]]]
) -> Table:
    return Table(
        f"{compared_title(comparison)}. {chance([row for row, _ in rows])}",
        (
            TableColumn("of", number=False),
            TableColumn("broker", number=False),
            *columns,
            TableColumn("conclusion", number=False),
        ),
        tuple(
            TableRow((row.what, row.broker, *values, row.words), "" if row.value_s else "greyed", row.reason)
            for row, values in rows
        ),
        keys=2,
    )


def compared_title(comparison: BrokerComparison) -> str:
    return (
        f"Comparison of brokers in {comparison.experiment}{_ROUTED if comparison.routed else ''}, "
        f"profile {comparison.profile}: ratios to {comparison.against}, 95 % intervals {SCOPES[comparison.scope]}; "
        "slower and faster in per cent of its time"
    )


def chance(rows: Sequence[Ratio]) -> str:
    """How many intervals are expected to exclude 1 by chance where nothing differs."""
    number_of = sum(row.ratio is not None for row in rows)
    if not number_of:
        return "No ratio, for the reasons below the rows"
    return (
        f"{count(number_of, 'ratio')}: where nothing differs, {0.05 * number_of:.1f} intervals are expected to "
        "exclude 1 by chance; conclusions hold at 5 % for the whole table (Holm)"
    )


def claims(every: Iterable[Claim]) -> Iterator[Table]:
    """The claims of the paper: a table for each broker and profile."""
    return table(every, "Henjes et al. 2006", "profile")


# The host


def host(host: Sequence[HostUse]) -> Table:
    rows = tuple(
        TableRow(
            (
                use.broker,
                str(use.start),
                number(use.seconds),
                "unknown" if use.broker_rss_bytes is None else mib(use.broker_rss_bytes),
                mib(use.load_rss_bytes),
                mib(use.memory_available_bytes),
                mib(use.swap_growth_bytes),
                mib(use.disk_bytes_per_s),
                mib(use.network_bytes_per_s),
                mib(use.broker_disk_bytes_per_s),
                number(use.broker_context_switches_per_s),
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
    return Table("Host under load", columns, rows, keys=2)


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"


def _part(value: float | None) -> str:
    """A share that is not known for every broker."""
    return NOTHING if value is None else f"{value:.1%}"
