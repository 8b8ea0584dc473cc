"""The tables of a throughput run as values; the terminal and the report render the same ones.

A measurement that must not be used keeps its row, greyed, with the reason below it. Numbers are only formatted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor
from typing import Any

from analysis.claims import table
from analysis.formats import (
    NOTHING,
    count,
    decimals,
    ends,
    estimated,
    half_width,
    mib,
    ms,
    number,
    percent,
    plus_minus,
    ranged,
    us,
)
from analysis.results import Claim, Interval, NotApplicable
from analysis.table import Table, TableColumn, TableRow, grouped
from analysis.throughput.cost_model import PAPER, PARAMETERS
from analysis.throughput.results import (
    AuditResult,
    BrokerComparison,
    CellAudit,
    CellSummary,
    Excluded,
    FitResult,
    Grade,
    HostUse,
    LatencyResult,
    Ratio,
    RoundLevel,
    RunResult,
    Scope,
    formula,
)
from workloads.limits import DISTURBED_LEVEL, GOOD, ROOFLINE, ROUGH
from workloads.schema import PREPARATION
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.lanes import LaneAudit

#: What each parameter of the model is the time for.
MEANING: Mapping[str, str] = {
    "t_rcv": "one message received",
    "t_fltr": "one filter installed",
    "t_tx": "one copy delivered",
}

#: The same where a message is a replay of what the broker retains, by experiment: nothing of it is in the paper.
_OF_REPLAYS = {"retained": {"t_rcv": "one subscription and its end", "t_tx": "one retained message"}}

#: In place of the half-width of a coefficient that is.
NEGLIGIBLE = "negligible"

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
    return Table.of(
        f"Cells of {experiment} on {broker}, profile {profile}{routed}{pace}: 95 % intervals over the layouts of a "
        f"start; a row that is not ok has its reason below it{excluded}",
        of_unit,
        *_CELL_COLUMNS,
        kind=lambda cell: "" if cell.status == CellStatus.OK else "greyed",
        note=lambda cell: cell.reason,
        more=map(_not_applicable, none),
        keys=2,
    )


#: The time per message of an open loop is that of the plan, not the broker's: it is not shown.
_CELL_COLUMNS: tuple[TableColumn[CellSummary], ...] = (
    TableColumn("cell", lambda cell: cell.key.cell, number=False),
    TableColumn("start", lambda cell: str(cell.key.start)),
    TableColumn("filters", lambda cell: f"{cell.n_fltr:,}"),
    TableColumn("r", lambda cell: f"{cell.replication:g}"),
    TableColumn("received", lambda cell: plus_minus(cell.received_per_s), "messages/s"),
    TableColumn("dispatched", lambda cell: plus_minus(cell.dispatched_per_s), "messages/s"),
    TableColumn("overall", lambda cell: plus_minus(cell.overall_per_s), "messages/s"),
    TableColumn("B", lambda cell: NOTHING if cell.open_loop else plus_minus(cell.processing_s, us), "µs"),
    TableColumn("mean of all slices", lambda cell: NOTHING if cell.open_loop else us(cell.mean_processing_s), "µs"),
    TableColumn("broker CPU", lambda cell: percent(cell.broker_cpu, 0, "unknown")),
    TableColumn("GC", lambda cell: percent(cell.gc_share)),
    TableColumn("compiler", lambda cell: percent(cell.compiler_share)),
    TableColumn("load CPU", lambda cell: percent(cell.load_cpu, 0, "unknown")),
    TableColumn("load per copy", lambda cell: decimals(cell.load_us_per_delivery, 2), "µs"),
    TableColumn("layouts", lambda cell: str(cell.layouts)),
    TableColumn("slices", lambda cell: str(len(cell.windows))),
    TableColumn("status", lambda cell: cell.status, number=False),
)


def _not_applicable(cell: NotApplicable) -> TableRow:
    values = (cell.cell, *[NOTHING] * (len(_CELL_COLUMNS) - 2), str(CellStatus.NOT_APPLICABLE))
    return TableRow(values, "greyed", cell.reason)


def by_start(rounds: Iterable[RoundLevel]) -> dict[tuple[str, int], list[RoundLevel]]:
    """The rounds of each broker and start, in the order in which they were measured."""
    ordered = sorted(rounds, key=lambda level: (level.broker, level.start, level.begin_s))
    return grouped(ordered, lambda level: (level.broker, level.start))


def rounds(of_start: Sequence[RoundLevel]) -> Table:
    """The levels of the rounds of one broker and start: a row for each layout and block."""
    layouts = grouped(of_start, lambda level: (level.layout, level.block)).values()
    disturbed = sum(level.disturbed for level in of_start)
    return Table.of(
        f"Rounds on {of_start[0].broker}, start {of_start[0].start}: {len(of_start)} rounds, {disturbed} of them "
        f"disturbed (!), {DISTURBED_LEVEL.limit:.0%} or more slower than the median undisturbed round",
        layouts,
        TableColumn("layout", lambda of: str(of[0].layout)),
        TableColumn("block", lambda of: str(of[0].block)),
        TableColumn("from", lambda of: f"{of[0].begin_s:,.0f}", "s"),
        TableColumn("level of its rounds", lambda of: ", ".join(f"{r.level:+.1%}" + "!" * r.disturbed for r in of)),
        TableColumn("GC, most", lambda of: _most(each.gc_share for each in of)),
        TableColumn("compiler, most", lambda of: _most(each.compiler_share for each in of)),
        TableColumn("stolen", lambda of: percent(of[0].stolen_share)),
    )


def _most(values: Iterable[float | None]) -> str:
    return percent(max((value for value in values if value is not None), default=None))


# Latency


def latency(of_broker: Sequence[LatencyResult]) -> Table:
    """The latencies of one broker and profile: a row for each percentile, so that each can have its reason."""
    models = "; ".join(dict.fromkeys(cell.model for cell in of_broker if cell.model))
    first = of_broker[0]
    return Table.of(
        f"Latency on {first.key.broker}, profile {first.profile}, from the planned instant to the read, with 95 % "
        "intervals; open: too few copies lie beyond" + (f"; service time of M/GI/1: {models}" if models else ""),
        [row for cell in of_broker for row in _latency_rows(cell)],
        TableColumn("cell", lambda row: row.cell.key.cell, number=False),
        TableColumn("start", lambda row: str(row.cell.key.start)),
        TableColumn("arrivals", lambda row: row.cell.arrivals, number=False),
        TableColumn("load", lambda row: f"{row.cell.percent} %"),
        TableColumn("planned", lambda row: f"{row.cell.planned_per_s:,.0f}", "messages/s"),
        TableColumn("of latency", lambda row: row.of, number=False),
        TableColumn("latency", lambda row: ranged(row.latency_s, ms), "ms"),
        TableColumn("lateness of the generator", lambda row: ms(row.lateness_s), "ms"),
        TableColumn("waiting, measured", lambda row: row.waiting(row.cell.waiting_s), "ms"),
        TableColumn("waiting, M/GI/1", lambda row: row.waiting(row.cell.predicted_waiting_s), "ms"),
        kind=lambda row: "greyed" if row.cell.status != CellStatus.OK or row.greyed else "",
        note=lambda row: row.note,
    )


@dataclass(frozen=True, slots=True)
class _LatencyRow:
    """The mean of a cell, which has no lateness, or one of its percentiles."""

    cell: LatencyResult
    of: str
    latency_s: Interval
    note: str
    lateness_s: float | None = None
    greyed: bool = False

    def waiting(self, seconds: float | None) -> str:
        """The waiting times stand beside the mean."""
        return ms(seconds) if self.lateness_s is None else ""


def _latency_rows(cell: LatencyResult) -> Iterator[_LatencyRow]:
    status = cell.status if cell.status != CellStatus.OK else ""
    negative = f"{cell.negative:,} of {cell.copies:,} copies with a negative latency" if cell.negative else ""
    yield _LatencyRow(cell, "mean", cell.mean_s, "; ".join(filter(None, [status, cell.reason, negative])))
    for found in cell.percentiles:
        yield _LatencyRow(cell, f"p{found.rank:g}", found.latency_s, found.reason, found.lateness_s, found.greyed)


# The audit


def audit(audit: AuditResult, *, every_cell: bool = False) -> Table:
    """A row for each cell and the sum; without `every_cell` the exact cells share a row."""
    exact = [cell for cell in audit.cells if cell.copies.exact and not every_cell]
    shown = [
        _Audited(str(cell.key), cell.key.broker, [cell], VerdictKind.INVALID if cell.failed else "")
        for cell in audit.cells
        if every_cell or not cell.copies.exact
    ]
    if exact:
        preparation = sum(cell.key.experiment in PREPARATION for cell in exact)
        more = f", {preparation} of them {' or '.join(PREPARATION)}" if preparation else ""
        shown.append(_Audited(f"{count(len(exact), 'exact cell')}{more}", "", exact))
    shown.append(_Audited("all", "", audit.cells, "sum"))
    return Table.of(
        "Delivery audit, from the first subscription to the end of the drain",
        shown,
        TableColumn("cell", lambda row: row.title, number=False),
        TableColumn("broker", lambda row: row.broker, number=False),
        TableColumn("messages sent", lambda row: f"{sum(cell.sent for cell in row.cells):,}"),
        TableColumn("copies expected", lambda row: f"{row.copies.expected:,}"),
        TableColumn("delivered", lambda row: f"{row.copies.delivered:,}"),
        TableColumn("lost", lambda row: f"{row.copies.lost:,}"),
        TableColumn("duplicated", lambda row: f"{row.copies.duplicated:,}"),
        TableColumn("reordered", lambda row: f"{row.copies.reordered:,}"),
        TableColumn("misdelivered", lambda row: f"{row.copies.misdelivered:,}"),
        kind=lambda row: row.kind,
        keys=2,
    )


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


# The model


def is_of_replays(fit: FitResult) -> bool:
    """Whether its messages are replays, so that its times are not those of the paper's model."""
    return fit.experiment in _OF_REPLAYS


def meanings(fit: FitResult) -> Mapping[str, str]:
    """What each parameter of a fit is the time for."""
    return _OF_REPLAYS.get(fit.experiment, MEANING)


def parameters(fit: FitResult) -> Table:
    """A row per parameter; a column for each alternative estimate in the fit."""
    meaning = meanings(fit)
    others: dict[str, Mapping[str, Any]] = {"least squares as in the paper": fit.ols_as_in_paper or {}}
    if fit.roofline:
        others["with a transmission cap"] = fit.roofline.parameters
    if not is_of_replays(fit):
        others["the paper, ActiveMQ 4.0"] = PAPER
    return Table.of(
        f"{formula(fit.parameters)}: time of the broker per message received, {_variables(fit)}",
        fit.parameters.items(),
        TableColumn("parameter", lambda of: of[0], number=False),
        TableColumn("time of the broker for", lambda of: meaning[of[0]], number=False),
        TableColumn("estimate", lambda of: us(of[1].estimate), "µs"),
        TableColumn(f"95 % interval {SCOPES[fit.scope]}", lambda of: ends(of[1], us), "µs"),
        TableColumn("half-width", lambda of: relative_half_width(fit, of[0])),
        *(TableColumn(title, partial(_other_time, values), "µs") for title, values in others.items()),
    )


def _other_time(values: Mapping[str, Any], of: tuple[str, Interval]) -> str:
    value = values.get(of[0])
    return ranged(value, us) if isinstance(value, Interval) else us(value)


def _variables(fit: FitResult) -> str:
    if is_of_replays(fit):
        return "which is a replay of r retained messages to a new subscription"
    if "t_fltr" in fit.parameters:
        return "with n_fltr filters installed (matching ones included) and r copies delivered of every message"
    return "with r copies delivered of every message; there are no filters in this experiment, so that it has no t_fltr"


def relative_half_width(fit: FitResult, name: str) -> str:
    """Half-width of a coefficient's interval, relative to its estimate, with the limit where it is exceeded; NEGLIGIBLE
    where the coefficient is."""
    interval, limit = fit.parameters[name], fit.precision.get(name)
    if limit is not None and limit.negligible is not None:
        return NEGLIGIBLE
    text = "covers 0" if interval.ci95 is not None and not interval.beyond(0) else half_width(interval)
    if interval.ci95 is None:
        return text
    return text if limit is None or limit.holds else f"{text} (limit {limit.limit:.0%})"


def negligible(fit: FitResult) -> Iterator[str]:
    """A sentence for each negligible coefficient: how much it may cost at most."""
    for name, interval in fit.parameters.items():
        found = fit.precision[name].negligible if name in fit.precision else None
        if found is None or interval.low is None or interval.high is None:
            continue
        cost = "nothing measurable" if interval.low <= 0 else "next to nothing"
        share = f"less than {(floor(1000 * found.share) + 1) / 1000:.1%} of a message's time"
        number_of = "" if found.times == 1 else f"{found.times:,.0f} of them "
        if interval.high < 0:
            most = f"its interval ends below 0, {number_of and f'with {number_of}'}by {share}"
        else:
            most = f"at most {us(interval.high, 3)} \N{MICRO SIGN}s, {number_of and f'so {number_of}'}{share}"
        yield f"{meanings(fit)[name]} costs {cost}: {most}"


def model_facts(fit: FitResult) -> Iterator[tuple[str, str]]:
    """What else was found about a model: (name, text)."""
    lack, scatter = fit.lack_of_fit, fit.variation
    sizes = ((len(fit.cells_used), "cell"), (fit.layouts, "layout"), (fit.starts, "start"))
    yield "based on", ", ".join(count(*size) for size in sizes)
    if found := fit.description:
        worst = "; ".join(f"{cell.cell} {deviation(cell.deviation)}" for cell in found.worst)
        yield "description", f"{found.grade} - {GRADES[found.grade]}; rms {found.rms:.1%}; {worst}"
    yield "largest residual", f"{lack.max_relative_deviation:.1%}"
    if lack.f is not None and lack.p is not None:
        yield "lack of fit", f"F {lack.f:.1f}, p {lack.p:.2g}"
    if small := "; ".join(negligible(fit)):
        yield NEGLIGIBLE, small
    parts = {
        "slices of a layout": scatter.slices,
        "layouts beyond that": scatter.layouts,
        "starts beyond that": scatter.between_starts,
    }
    if known := [f"{name} {value:.1%}" for name, value in parts.items() if value is not None]:
        yield "scatter of B (relative standard deviation)", ", ".join(known)
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
    return Table.of(
        "Cells of this model, used and left out",
        fit.points,
        TableColumn("cell", lambda point: point.cell, number=False),
        TableColumn("filters", lambda point: f"{point.n_fltr:,}"),
        TableColumn("r", lambda point: f"{point.replication:g}"),
        TableColumn("B measured", lambda point: plus_minus(point.measured_s, us), "µs"),
        TableColumn("B fitted", lambda point: us(point.fitted_s), "µs"),
        TableColumn("deviation", lambda point: deviation(point.deviation)),
        more=left_out,
    )


def _cell_name(cell: Excluded) -> str:
    return f"{cell.cell} (start {cell.start})" if cell.start else cell.cell


def side_by_side(results: Sequence[RunResult]) -> Table:
    """The times of the models of several runs."""
    fits = [(number, fit) for number, result in enumerate(results, 1) for fit in result.fits]
    return Table.of(
        "Fitted times of every model",
        fits,
        TableColumn("#", lambda of: str(of[0])),
        TableColumn("run", lambda of: of[1].run, number=False),
        TableColumn("broker", lambda of: of[1].broker, number=False),
        TableColumn("experiment, profile", lambda of: f"{of[1].experiment}, {of[1].profile}", number=False),
        *(TableColumn(name, partial(_fitted_time, name), "µs, 95 %") for name in PARAMETERS),
        TableColumn("verdict", lambda of: of[1].verdict, number=False),
        kind=lambda of: "greyed" if of[1].verdict == VerdictKind.INVALID else "",
    )


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
        TableColumn("time", lambda row: ranged(row.value_s, us), "µs, 95 %"),
        TableColumn("ratio", lambda row: ranged(row.ratio), "95 %"),
    )


def compared_cells(comparison: BrokerComparison) -> Table:
    """The cells of all brokers, divided by those of the first."""
    return _compared(
        comparison,
        comparison.cells,
        TableColumn("B", lambda row: ranged(row.value_s, us), "µs, 95 %"),
        TableColumn("received", lambda row: estimated(row.received_per_s), "messages/s"),
        TableColumn("ratio of B", lambda row: ranged(row.ratio), "95 %"),
        TableColumn("ratio of received", lambda row: ranged(row.received), "95 %"),
    )


def _compared(comparison: BrokerComparison, ratios: Sequence[Ratio], *values: TableColumn[Ratio]) -> Table:
    return Table.of(
        f"{compared_title(comparison)}. {chance(ratios)}",
        ratios,
        TableColumn("of", lambda row: row.what, number=False),
        TableColumn("broker", lambda row: row.broker, number=False),
        *values,
        TableColumn("conclusion", lambda row: row.words, number=False),
        kind=lambda row: "" if row.value_s else "greyed",
        note=lambda row: row.reason,
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
    """What the brokers and the load took of the host in each start."""
    return Table.of(
        "Host under load",
        host,
        TableColumn("broker", lambda use: use.broker, number=False),
        TableColumn("start", lambda use: str(use.start)),
        TableColumn("sampled", lambda use: number(use.seconds), "s"),
        TableColumn(
            "broker, most", lambda use: "unknown" if use.broker_rss_bytes is None else mib(use.broker_rss_bytes), "MiB"
        ),
        TableColumn("load, most", lambda use: mib(use.load_rss_bytes), "MiB"),
        TableColumn("available, least", lambda use: mib(use.memory_available_bytes), "MiB"),
        TableColumn("swap, growth", lambda use: mib(use.swap_growth_bytes), "MiB"),
        TableColumn("disk", lambda use: mib(use.disk_bytes_per_s), "MiB/s"),
        TableColumn("network", lambda use: mib(use.network_bytes_per_s), "MiB/s"),
        TableColumn("broker's disk", lambda use: mib(use.broker_disk_bytes_per_s), "MiB/s"),
        TableColumn("broker's context switches", lambda use: number(use.broker_context_switches_per_s), "per s"),
        keys=2,
    )
