"""The tables of a throughput run as values; the terminal and the report render the same ones.

A measurement that must not be used keeps its row, greyed, with the reason below it. Numbers are only formatted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from analysis.claims import table
from analysis.formats import NOTHING, count, ends, estimated, half_width, mib, ms, number, plus_minus, ranged, us
from analysis.results import (
    AuditResult,
    BrokerComparison,
    CellAudit,
    CellSummary,
    Claim,
    Excluded,
    FitResult,
    FittedCell,
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
from analysis.table import ItemColumn, Table, TableColumn, TableRow, grouped, headers, rows
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
        headers(_CELL_COLUMNS),
        (*rows(of_unit, _CELL_COLUMNS, _cell_kind, lambda cell: cell.reason), *map(_not_applicable, none)),
        keys=2,
    )


def _cell_kind(cell: CellSummary | LatencyResult) -> str:
    return "" if cell.status == CellStatus.OK else "greyed"


#: The time per message of an open loop is that of the plan, not the broker's: it is not shown.
_CELL_COLUMNS: tuple[ItemColumn[CellSummary], ...] = (
    ItemColumn("cell", lambda cell: cell.key.cell, number=False),
    ItemColumn("start", lambda cell: str(cell.key.start)),
    ItemColumn("filters", lambda cell: f"{cell.n_fltr:,}"),
    ItemColumn("r", lambda cell: f"{cell.replication:g}"),
    ItemColumn("received", lambda cell: plus_minus(cell.received_per_s), "messages/s"),
    ItemColumn("dispatched", lambda cell: plus_minus(cell.dispatched_per_s), "messages/s"),
    ItemColumn("overall", lambda cell: plus_minus(cell.overall_per_s), "messages/s"),
    ItemColumn("B", lambda cell: NOTHING if cell.open_loop else plus_minus(cell.processing_s, us), "µs"),
    ItemColumn("mean of all slices", lambda cell: NOTHING if cell.open_loop else us(cell.mean_processing_s), "µs"),
    ItemColumn("broker CPU", lambda cell: _share(cell.broker_cpu)),
    ItemColumn("GC", lambda cell: _part(cell.gc_share)),
    ItemColumn("compiler", lambda cell: _part(cell.compiler_share)),
    ItemColumn("load CPU", lambda cell: _share(cell.load_cpu)),
    ItemColumn("load per copy", lambda cell: _decimals(cell.load_us_per_delivery), "µs"),
    ItemColumn("layouts", lambda cell: str(cell.layouts)),
    ItemColumn("slices", lambda cell: str(len(cell.windows))),
    ItemColumn("status", lambda cell: cell.status, number=False),
)


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
    layouts = grouped(of_start, lambda level: (level.layout, level.block)).values()
    title = f"Rounds on {of_start[0].broker}, start {of_start[0].start}: {levels_said(of_start)}"
    return Table(title, headers(_ROUND_COLUMNS), tuple(rows(layouts, _ROUND_COLUMNS)))


_ROUND_COLUMNS: tuple[ItemColumn[list[RoundLevel]], ...] = (
    ItemColumn("layout", lambda of: str(of[0].layout)),
    ItemColumn("block", lambda of: str(of[0].block)),
    ItemColumn("from", lambda of: f"{of[0].begin_s:,.0f}", "s"),
    ItemColumn("level of its rounds", lambda of: ", ".join(f"{each.level:+.1%}" + "!" * each.disturbed for each in of)),
    ItemColumn("GC, most", lambda of: _most(each.gc_share for each in of)),
    ItemColumn("compiler, most", lambda of: _most(each.compiler_share for each in of)),
    ItemColumn("stolen", lambda of: _part(of[0].stolen_share)),
)


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
    shown = [
        _Audited(str(cell.key), cell.key.broker, [cell], "" if cell.copies.exact else VerdictKind.INVALID)
        for cell in audit.cells
        if every_cell or not cell.copies.exact
    ]
    if exact:
        preparation = sum(cell.key.experiment in PREPARATION for cell in exact)
        more = f", {preparation} of them {' or '.join(PREPARATION)}" if preparation else ""
        shown.append(_Audited(f"{count(len(exact), 'exact cell')}{more}", "", exact))
    shown.append(_Audited("all", "", audit.cells, "sum"))
    title = "Delivery audit, from the first subscription to the end of the drain"
    return Table(title, headers(_AUDIT_COLUMNS), tuple(rows(shown, _AUDIT_COLUMNS, lambda row: row.kind)), keys=2)


@dataclass(frozen=True, slots=True)
class _Audited:
    """Cells that share a row."""

    title: str
    broker: str
    cells: Sequence[CellAudit]
    kind: str = ""

    @property
    def copies(self) -> LaneAudit:
        return sum((cell.copies for cell in self.cells), LaneAudit())


_AUDIT_COLUMNS: tuple[ItemColumn[_Audited], ...] = (
    ItemColumn("cell", lambda row: row.title, number=False),
    ItemColumn("broker", lambda row: row.broker, number=False),
    ItemColumn("messages sent", lambda row: f"{sum(cell.sent for cell in row.cells):,}"),
    ItemColumn("copies expected", lambda row: f"{row.copies.expected:,}"),
    ItemColumn("delivered", lambda row: f"{row.copies.delivered:,}"),
    ItemColumn("lost", lambda row: f"{row.copies.lost:,}"),
    ItemColumn("duplicated", lambda row: f"{row.copies.duplicated:,}"),
    ItemColumn("reordered", lambda row: f"{row.copies.reordered:,}"),
    ItemColumn("misdelivered", lambda row: f"{row.copies.misdelivered:,}"),
)


# The model


def parameters(fit: FitResult) -> Table:
    """A row per parameter; a column for each alternative estimate in the fit."""
    others: dict[str, Mapping[str, Any]] = {"least squares as in the paper": fit.ols_as_in_paper or {}}
    if fit.constrained:
        others["none below 0"] = fit.constrained.parameters
    if fit.roofline:
        others["with a transmission cap"] = fit.roofline.parameters
    others["the paper, ActiveMQ 4.0"] = PAPER
    columns: tuple[ItemColumn[tuple[str, Interval]], ...] = (
        ItemColumn("parameter", lambda of: of[0], number=False),
        ItemColumn("time of the broker for", lambda of: MEANING[of[0]], number=False),
        ItemColumn("estimate", lambda of: us(of[1].estimate), "µs"),
        ItemColumn(f"95 % interval {SCOPES[fit.scope]}", lambda of: ends(of[1], us), "µs"),
        ItemColumn("half-width", lambda of: relative_half_width(fit, of[0])),
        *(ItemColumn(title, partial(_other_time, values), "µs") for title, values in others.items()),
    )
    title = f"{formula(fit.parameters)}: time of the broker per message received, {_variables(fit)}"
    return Table(title, headers(columns), tuple(rows(fit.parameters.items(), columns)))


def _other_time(values: Mapping[str, Any], of: tuple[str, Interval]) -> str:
    value = values.get(of[0])
    return ranged(value, us) if isinstance(value, Interval) else us(value)


def _variables(fit: FitResult) -> str:
    if "t_fltr" in fit.parameters:
        return "with n_fltr filters installed (matching ones included) and r copies delivered of every message"
    return "with r copies delivered of every message; there are no filters in this experiment, so that it has no t_fltr"


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
    left_out = (
        TableRow((_cell_name(cell), *[NOTHING] * 5), "greyed", f"left out: {cell.reason}")
        for cell in fit.cells_excluded
    )
    title = "Cells of this model, used and left out"
    return Table(title, headers(_FITTED_COLUMNS), (*rows(fit.points, _FITTED_COLUMNS), *left_out))


_FITTED_COLUMNS: tuple[ItemColumn[FittedCell], ...] = (
    ItemColumn("cell", lambda point: point.cell, number=False),
    ItemColumn("filters", lambda point: f"{point.n_fltr:,}"),
    ItemColumn("r", lambda point: f"{point.replication:g}"),
    ItemColumn("B measured", lambda point: plus_minus(point.measured_s, us), "µs"),
    ItemColumn("B fitted", lambda point: us(point.fitted_s), "µs"),
    ItemColumn("deviation", lambda point: deviation(point.deviation)),
)


def _cell_name(cell: Excluded) -> str:
    return f"{cell.cell} (start {cell.start})" if cell.start else cell.cell


def side_by_side(results: Sequence[RunResult]) -> Table:
    """The times of the models of several runs."""
    fits = [(number, fit) for number, result in enumerate(results, 1) for fit in result.fits]
    columns: tuple[ItemColumn[tuple[int, FitResult]], ...] = (
        ItemColumn("#", lambda of: str(of[0])),
        ItemColumn("run", lambda of: of[1].run, number=False),
        ItemColumn("broker", lambda of: of[1].broker, number=False),
        ItemColumn("experiment, profile", lambda of: f"{of[1].experiment}, {of[1].profile}", number=False),
        *(ItemColumn(name, partial(_fitted_time, name), "µs, 95 %") for name in PARAMETERS),
        ItemColumn("verdict", lambda of: of[1].verdict, number=False),
    )
    shown = rows(fits, columns, lambda of: "greyed" if of[1].verdict == VerdictKind.INVALID else "")
    return Table("Fitted times of every model", headers(columns), tuple(shown))


def _fitted_time(name: str, of: tuple[int, FitResult]) -> str:
    return ranged(of[1].parameters.get(name), us)


# The brokers of a run, and the claims of the paper


def compared_coefficients(comparison: BrokerComparison) -> Table | None:
    """The coefficients of all brokers, divided by those of the first; None without a model."""
    if not comparison.coefficients:
        return None
    return _compared(
        comparison,
        comparison.coefficients,
        ItemColumn("time", lambda row: ranged(row.value_s, us), "µs, 95 %"),
        ItemColumn("ratio", lambda row: ranged(row.ratio), "95 %"),
    )


def compared_cells(comparison: BrokerComparison) -> Table:
    """The cells of all brokers, divided by those of the first."""
    return _compared(
        comparison,
        comparison.cells,
        ItemColumn("B", lambda row: ranged(row.value_s, us), "µs, 95 %"),
        ItemColumn("received", lambda row: estimated(row.received_per_s), "messages/s"),
        ItemColumn("ratio of B", lambda row: ranged(row.ratio), "95 %"),
        ItemColumn("ratio of received", lambda row: ranged(row.received), "95 %"),
    )


def _compared(comparison: BrokerComparison, ratios: Sequence[Ratio], *values: ItemColumn[Ratio]) -> Table:
    columns: tuple[ItemColumn[Ratio], ...] = (
        ItemColumn("of", lambda row: row.what, number=False),
        ItemColumn("broker", lambda row: row.broker, number=False),
        *values,
        ItemColumn("conclusion", lambda row: row.words, number=False),
    )
    shown = rows(ratios, columns, lambda row: "" if row.value_s else "greyed", lambda row: row.reason)
    return Table(f"{compared_title(comparison)}. {chance(ratios)}", headers(columns), tuple(shown), keys=2)


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
    """What the brokers and the load took of the host in each start."""
    return Table("Host under load", headers(_HOST_COLUMNS), tuple(rows(host, _HOST_COLUMNS)), keys=2)


_HOST_COLUMNS: tuple[ItemColumn[HostUse], ...] = (
    ItemColumn("broker", lambda use: use.broker, number=False),
    ItemColumn("start", lambda use: str(use.start)),
    ItemColumn("sampled", lambda use: number(use.seconds), "s"),
    ItemColumn(
        "broker, most", lambda use: "unknown" if use.broker_rss_bytes is None else mib(use.broker_rss_bytes), "MiB"
    ),
    ItemColumn("load, most", lambda use: mib(use.load_rss_bytes), "MiB"),
    ItemColumn("available, least", lambda use: mib(use.memory_available_bytes), "MiB"),
    ItemColumn("swap, growth", lambda use: mib(use.swap_growth_bytes), "MiB"),
    ItemColumn("disk", lambda use: mib(use.disk_bytes_per_s), "MiB/s"),
    ItemColumn("network", lambda use: mib(use.network_bytes_per_s), "MiB/s"),
    ItemColumn("broker's disk", lambda use: mib(use.broker_disk_bytes_per_s), "MiB/s"),
    ItemColumn("broker's context switches", lambda use: number(use.broker_context_switches_per_s), "per s"),
)


def _decimals(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"


def _part(value: float | None) -> str:
    """A share that is not known for every broker."""
    return NOTHING if value is None else f"{value:.1%}"
