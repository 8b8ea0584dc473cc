"""Results as text for a terminal: readable without the paper, verdict last. Numbers are only formatted here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from analysis.results import (
    AuditResult,
    BrokerComparison,
    CellAudit,
    CellSummary,
    Claim,
    FitResult,
    Grade,
    HostUse,
    Interval,
    LatencyResult,
    NotApplicable,
    Percentile,
    Ratio,
    RoundLevel,
    RunResult,
    Scope,
    formula,
    reasons,
)
from analysis.text import cut, findings, headline, table, verdict_line
from analysis.throughput.fit import PAPER
from workloads.limits import DISTURBED_LEVEL, GOOD, ROUGH
from workloads.schema import PREPARATION
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.lanes import LaneAudit

#: What each parameter of the model is the time for.
MEANING = {
    "t_rcv": "one message received",
    "t_fltr": "one filter installed",
    "t_tx": "one copy delivered",
}

VERDICTS = {
    VerdictKind.VALID: "the numbers may be believed, within their intervals",
    VerdictKind.UNVERIFIED: "the numbers may be right, but a check is missing or an interval too wide",
    VerdictKind.INVALID: "the numbers must not be used",
}

#: The same for the audit alone.
AUDIT_VERDICTS = {
    VerdictKind.VALID: "every copy arrived once, in order, at the right subscriber",
    VerdictKind.UNVERIFIED: "nothing is known to be wrong, but not all traffic could be followed",
    VerdictKind.INVALID: "messages were lost, duplicated, reordered or misdelivered",
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

_MIB = 2**20


#: In the title of a table: a binding is looked up, a filter is evaluated.
ROUTED = ", routing, not filtering"


def summary(results: Sequence[RunResult]) -> str:
    """Cells, latencies, audit, models, claims, host, findings, verdict and directory of each run."""
    return _side_by_side(results, cells=True)


def model(results: Sequence[RunResult]) -> str:
    """The models of each run, with their findings."""
    return _side_by_side(results, cells=False)


def audit(results: Sequence[AuditResult]) -> str:
    """Every cell's messages, then findings and verdict of the audit."""
    return "\n\n".join(
        "\n\n".join(
            [
                headline(f"Delivery audit of {result.run}"),
                _audit_table(result, every_cell=True),
                *findings(result.findings),
                verdict_line(result.verdict, AUDIT_VERDICTS),
            ]
        )
        for result in results
    )


def _side_by_side(results: Sequence[RunResult], *, cells: bool) -> str:
    several = ["Several runs: nothing is averaged or fitted over runs."] if len(results) > 1 else []
    return "\n\n".join([*several, *(_run(result, cells=cells) for result in results)])


def _run(result: RunResult, *, cells: bool) -> str:
    parts = [headline(f"Run {result.run}"), "\n".join(result.title)]
    if cells:
        parts += [*_cells(result.cells, result.not_applicable), *_latencies(result.latency), *_rounds(result.rounds)]
        parts += ["Delivery audit\n" + _audit_table(result.audit, every_cell=False)]
    parts += [_model(fit) for fit in result.fits]
    parts += [_compared(comparison, cells=cells) for comparison in result.comparisons]
    if cells:
        parts += _claims(result.claims)
    if cells and result.host:
        parts.append("Host under load\n" + _host(result.host))
    words = VERDICTS if result.measures else AUDIT_VERDICTS
    parts += [*findings(result.every_finding), f"{verdict_line(result.verdict, words)}\nrun directory: {result.path}"]
    return "\n\n".join(parts)


def _cells(cells: Sequence[CellSummary], not_applicable: Sequence[NotApplicable]) -> Iterator[str]:
    """A table per broker, experiment and profile, then a line for each experiment not applicable to its broker."""
    for (broker, experiment, profile), group in groupby(
        sorted(cells, key=lambda cell: (cell.key.broker, cell.key.experiment, cell.profile, cell.key)),
        key=lambda cell: (cell.key.broker, cell.key.experiment, cell.profile),
    ):
        of_table = list(group)
        brackets = "excluded from the fit" if any(cell.fits_model for cell in of_table) else "not ok: see why"
        paces = {cell.pace for cell in of_table}
        pace = paces.pop() if len(paces) == 1 else None
        title = (
            f"{experiment} on {broker}, profile {profile}{routing(of_table)}{f', {pace}' if pace else ''}: "
            f"messages/s with 95 % intervals over the layouts of a start; rows in parentheses are {brackets}"
        )
        rows = [_cell(cell) for cell in of_table]
        rows += [
            [entry.cell, *["-"] * (len(_CELL_HEADERS) - 3), CellStatus.NOT_APPLICABLE, entry.reason]
            for entry in not_applicable
            if (entry.broker, entry.experiment, entry.profile) == (broker, experiment, profile)
        ]
        yield (title + "\n" + table(rows, _CELL_HEADERS, left=1))
    if lines := nowhere(cells, not_applicable):
        yield "\n".join(lines)


def routing(cells: Iterable[CellSummary]) -> str:
    """The part of a table's title that marks routed cells."""
    return ROUTED if any(cell.routed for cell in cells) else ""


def nowhere(cells: Sequence[CellSummary], not_applicable: Sequence[NotApplicable]) -> list[str]:
    """A line for each experiment without any cell applicable to the broker."""
    measured = {(cell.key.broker, cell.key.experiment, cell.profile) for cell in cells}
    groups: dict[tuple[str, str], list[NotApplicable]] = {}
    for entry in not_applicable:
        if (entry.broker, entry.experiment, entry.profile) not in measured:
            groups.setdefault((entry.experiment, entry.broker), []).append(entry)
    return [f"{experiment} on {broker}: {reasons(group)}" for (experiment, broker), group in groups.items()]


_CELL_HEADERS = (
    "cell",
    "start",
    "received",
    "dispatched",
    "overall",
    "B in us",
    "mean",
    "broker CPU",
    "GC",
    "compiler",
    "load CPU",
    "us/copy",
    "layouts",
    "slices",
    "status",
    "why",
)


def _cell(cell: CellSummary) -> list[str]:
    row = [
        cell.key.cell,
        str(cell.key.start),
        _rate(cell.received_per_s),
        _rate(cell.dispatched_per_s),
        _rate(cell.overall_per_s),
        "-" if cell.processing_s is None or cell.open_loop else f"{cell.processing_s.estimate * 1e6:.2f}",
        "-" if cell.mean_processing_s is None or cell.open_loop else f"{cell.mean_processing_s * 1e6:.2f}",
        _share(cell.broker_cpu),
        _part(cell.gc_share),
        _part(cell.compiler_share),
        _share(cell.load_cpu),
        "-" if cell.load_us_per_delivery is None else f"{cell.load_us_per_delivery:.2f}",
        str(cell.layouts),
        str(len(cell.windows)),
    ]
    if cell.status != CellStatus.OK:
        row = [f"({value})" for value in row]
    return [*row, cell.status, cell.reason]


def _latencies(results: Sequence[LatencyResult]) -> Iterator[str]:
    def of_table(result: LatencyResult) -> tuple[str, str, str]:
        return result.key.broker, result.key.experiment, result.profile

    for (broker, experiment, profile), group in groupby(sorted(results, key=lambda r: (of_table(r), r.key)), of_table):
        rows = list(group)
        ranks = [f"p{percentile.rank:g}" for percentile in rows[0].percentiles]
        headers = ("cell", "start", "load", "planned/s", *ranks, f"lateness {'/'.join(ranks)}", "mean wait")
        models = dict.fromkeys(result.model for result in rows if result.model)
        yield "\n".join(
            [
                f"Latency of {experiment} on {broker}, profile {profile}: ms from planned to read, 95 % intervals",
                "?: too few copies lie beyond; in parentheses: dominated by generator lateness",
                table([_latency(result) for result in rows], (*headers, "M/GI/1", "status", "why"), left=1),
                *(f"M/GI/1: mean wait predicted for Poisson arrivals, service time from {model}" for model in models),
            ]
        )


def _latency(result: LatencyResult) -> list[str]:
    ok = result.status == CellStatus.OK
    percentiles = result.percentiles
    greyed = [f"p{percentile.rank:g}: {percentile.reason}" for percentile in percentiles if percentile.greyed and ok]
    predicted = result.predicted_waiting_s
    return [
        result.key.cell if ok else f"({result.key.cell})",
        str(result.key.start),
        f"{result.percent} % {result.arrivals}",
        f"{result.planned_per_s:.0f}",
        *(f"({_percentile(quoted)})" if quoted.greyed or not ok else _percentile(quoted) for quoted in percentiles),
        "/".join(_ms(percentile.lateness_s) for percentile in percentiles),
        _ms(result.waiting_s),
        "-" if predicted is None else _ms(predicted),
        result.status,
        "; ".join([*([result.reason] if result.reason else []), *greyed]),
    ]


def _percentile(percentile: Percentile) -> str:
    latency = percentile.latency_s
    low, high = ("?" if end is None else _ms(end) for end in (latency.low, latency.high))
    return f"{_ms(latency.estimate)} [{low}, {high}]"


def _ms(seconds: float) -> str:
    """In ms with three digits, without an exponent for large values."""
    value = seconds * 1e3
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _rounds(rounds: Sequence[RoundLevel]) -> Iterator[str]:
    """A table per start, a line per layout; disturbed rounds are marked."""
    for (broker, start), of_start in by_start(rounds):
        rows = []
        for (layout, block), group in groupby(of_start, lambda level: (level.layout, level.block)):
            of_block = list(group)
            levels = ", ".join(f"{level.level:+.1%}" + "!" * level.disturbed for level in of_block)
            rows.append([layout, block, f"{of_block[0].begin_s:.0f}", levels, *shares(of_block)])
        headers = ("layout", "block", "from s", "level of its rounds", "GC", "compiler")
        yield f"Rounds on {broker}, start {start}: {levels_said(of_start)}\n" + table(rows, headers, left=2)


def by_start(rounds: Iterable[RoundLevel]) -> list[tuple[tuple[str, int], list[RoundLevel]]]:
    """The rounds of each broker and start, in the order in which they were measured."""
    ordered = sorted(rounds, key=lambda level: (level.broker, level.start, level.begin_s))
    return [(key, list(group)) for key, group in groupby(ordered, lambda level: (level.broker, level.start))]


def levels_said(rounds: Sequence[RoundLevel]) -> str:
    """The number of rounds, and how many of them were disturbed."""
    disturbed = sum(level.disturbed for level in rounds)
    return (
        f"{len(rounds)} rounds, {disturbed} of them disturbed (!), {DISTURBED_LEVEL.limit:.0%} or more slower than the "
        "median round"
    )


def shares(rounds: Sequence[RoundLevel]) -> tuple[str, str]:
    """The largest shares of garbage collection and of the compiler in these rounds."""
    return _most([level.gc_share for level in rounds]), _most([level.compiler_share for level in rounds])


def _most(values: Iterable[float | None]) -> str:
    return _part(max((value for value in values if value is not None), default=None))


def _claims(claims: Sequence[Claim]) -> Iterator[str]:
    def of_table(claim: Claim) -> tuple[str, str]:
        return claim.broker, claim.profile

    for (broker, profile), group in groupby(sorted(claims, key=of_table), of_table):
        rows = [
            [claim.section, claim.claim, claim.published, claim.measured or "-", claim.verdict, claim.reason]
            for claim in group
        ]
        headers = ("section", "claim", "published", "measured", "verdict", "why")
        yield f"Claims of Henjes et al. 2006, on {broker}, profile {profile}\n" + table(
            rows, headers, left=len(headers)
        )


def _rate(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    if interval.high is None:
        return f"{interval.estimate:.0f}"
    return f"{interval.estimate:.0f} +-{interval.high - interval.estimate:.0f}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"


def _part(value: float | None) -> str:
    """A share that is not known for every broker."""
    return "-" if value is None else f"{value:.1%}"


def _audit_table(result: AuditResult, *, every_cell: bool) -> str:
    """A line per cell; or, without every_cell, one line for all exact cells and a line for each other cell."""
    shown = [cell for cell in result.cells if every_cell or not cell.copies.exact]
    exact = [cell for cell in result.cells if cell.copies.exact]
    rows = [_audit_row(str(cell.key), cell.key.broker, [cell]) for cell in shown]
    if exact and not every_cell:
        preparation = sum(cell.key.experiment in PREPARATION for cell in exact)
        more = f", {preparation} of them {' or '.join(PREPARATION)}" if preparation else ""
        rows.append(_audit_row(f"{len(exact)} exact cells{more}", "", exact))
    rows.append(_audit_row("all", "", result.cells))
    headers = (
        "cell",
        "broker",
        "messages sent",
        "copies expected",
        "delivered",
        "lost",
        "duplicated",
        "reordered",
        "misdelivered",
    )
    return table(rows, headers, left=1)


def _audit_row(title: str, broker: str, cells: Sequence[CellAudit]) -> list[str]:
    copies = sum((cell.copies for cell in cells), LaneAudit())
    counts = (copies.expected, copies.delivered, copies.lost, copies.duplicated, copies.reordered, copies.misdelivered)
    return [title, broker, str(sum(cell.sent for cell in cells)), *map(str, counts)]


def _model(fit: FitResult) -> str:
    rows = [
        [
            name,
            MEANING[name],
            f"{fit.parameters[name].estimate * 1e6:.4g}",
            _range_us(fit.parameters[name]),
            half_width(fit, name),
            "-" if fit.ols_as_in_paper is None else f"{fit.ols_as_in_paper[name] * 1e6:.4g}",
            f"{PAPER[name] * 1e6:.4g}",
        ]
        for name in fit.parameters
    ]
    headers = (
        "",
        "time of the broker for",
        "us",
        f"95 % interval {SCOPES[fit.scope]}",
        "half-width",
        "least squares as in the paper",
        "the paper, ActiveMQ 4.0",
    )
    lack = fit.lack_of_fit
    lines = [
        f"Model of {fit.experiment} on {fit.broker}, profile {fit.profile}, times in us per message received:",
        formula(fit.parameters),
        meaning(fit),
        table(rows, headers, left=2),
        f"{len(fit.cells_used)} cells, {fit.layouts} layouts, {fit.starts} start{'s' * (fit.starts != 1)}; "
        f"largest residual {lack.max_relative_deviation:.1%}"
        + ("" if lack.f is None or lack.p is None else f"; lack of fit: F {lack.f:.1f}, p {lack.p:.2g}"),
    ]
    lines += [*description(fit), *_beside(fit)]
    left_out = [f"left out: {cell.cell} (start {cell.start}): {cell.reason}" for cell in fit.cells_excluded]
    return "\n".join([*lines, *cut(left_out, "left out"), f"verdict of this model: {fit.verdict}"])


def description(fit: FitResult) -> list[str]:
    """How well the model describes the cells, and the cells that decided it; empty where that is not known."""
    found = fit.description
    if found is None:
        return []
    worst = "; ".join(f"{cell.cell} {deviation(cell.deviation)}" for cell in found.worst)
    return [f"description: {found.grade} - {GRADES[found.grade]}; rms {found.rms:.1%}; {worst}"]


def deviation(found: Interval) -> str:
    """A cell's relative deviation from the model, with its interval."""
    if found.low is None or found.high is None:
        return f"{found.estimate:+.1%}"
    return f"{found.estimate:+.1%} (95 % {found.low:+.1%} to {found.high:+.1%})"


def half_width(fit: FitResult, name: str) -> str:
    """Half-width of a coefficient's interval, relative to its estimate, with the limit where it is exceeded."""
    interval, precision = fit.parameters[name], fit.precision.get(name)
    if interval.low is None or interval.high is None:
        return "-"
    text = f"{(interval.high - interval.low) / 2 / interval.estimate:.1%}"
    if interval.low <= 0 <= interval.high:
        text = "covers 0"
    if precision is None or precision.holds:
        return text
    return f"{text} (limit {precision.limit:.0%})"


def meaning(fit: FitResult) -> str:
    """The variables of the model, as text."""
    if "t_fltr" in fit.parameters:
        return "with n_fltr filters installed (matching ones included) and r copies delivered of every message"
    return "with r copies delivered of every message; there are no filters in this experiment, so that it has no t_fltr"


def _beside(fit: FitResult) -> Iterator[str]:
    """Further results for the same cells, a line each."""
    if fit.starts > 1:
        for index, name in enumerate(fit.parameters):
            yield f"{name} by start: " + ", ".join(f"{of[index] * 1e6:.4g}" for _, of in sorted(fit.per_start.items()))
    if scatter := variation(fit):
        words = ", ".join(f"{name} {value}" for name, value in scatter)
        yield f"scatter of B (relative standard deviation): {words}"
    if (alone := fit.leave_one_out) is not None:
        yield (
            f"each cell predicted from all others: error {alone.median:.1%} (median), {alone.largest:.1%} at most "
            f"({alone.cell})"
        )
    if (capped := fit.roofline) is not None:
        word = "the better description" if capped.preferred else "not preferred"
        times = ", ".join(f"{name} {of.estimate * 1e6:.4g}" for name, of in capped.parameters.items())
        yield (
            f"with a cap, B = max(plane, r t_sat): t_sat {capped.t_sat_s.estimate * 1e6:.4g} "
            f"({_range_us(capped.t_sat_s)}), {times}; {word}, AICc of the plane less that of the cap "
            f"{capped.delta_aicc:+.1f}; capped cells: {', '.join(capped.capped) or 'none'}"
        )
    if (bound := fit.constrained) is not None:
        times = ", ".join(f"{name} {estimate * 1e6:.4g}" for name, estimate in bound.parameters.items())
        yield f"with no time below 0: {times}; t_rcv is at most {bound.t_rcv_at_most_s * 1e6:.4g} (one-sided 95 %)"


def variation(fit: FitResult) -> list[tuple[str, str]]:
    """The known components of the scatter of B."""
    of = fit.variation
    named = {
        "slices of a layout": of.slices,
        "layouts beyond that": of.layouts,
        "starts beyond that": of.between_starts,
    }
    return [(name, f"{value:.1%}") for name, value in named.items() if value is not None]


def _compared(comparison: BrokerComparison, *, cells: bool) -> str:
    """The coefficients of all brokers, and their cells, each divided by that of the first."""
    lines = [compared_title(comparison)]
    if comparison.coefficients:
        rows = [
            [
                row.what,
                row.broker,
                "-" if row.value_s is None else f"{row.value_s.estimate * 1e6:.4g}",
                "-" if row.value_s is None else _range_us(row.value_s),
                ratio(row.ratio),
                row.words,
                row.reason,
            ]
            for row in comparison.coefficients
        ]
        lines.append(table(rows, ("", "broker", "us", "95 % interval", "ratio", "conclusion", "why"), left=2))
        lines.append(chance(comparison.coefficients))
    if cells:
        rows = [
            [
                row.what,
                row.broker,
                "-" if row.value_s is None else f"{row.value_s.estimate * 1e6:.2f}",
                "-" if row.received_per_s is None else f"{row.received_per_s.estimate:.0f}",
                ratio(row.ratio),
                ratio(row.received),
                row.words,
                row.reason,
            ]
            for row in comparison.cells
        ]
        headers = ("cell", "broker", "B in us", "received/s", "ratio of B", "of received", "conclusion", "why")
        lines += [table(rows, headers, left=2), chance(comparison.cells)]
    return "\n".join(lines)


def compared_title(comparison: BrokerComparison) -> str:
    return (
        f"Comparison of brokers in {comparison.experiment}{ROUTED if comparison.routed else ''}, "
        f"profile {comparison.profile}: ratios to {comparison.against}, 95 % intervals {SCOPES[comparison.scope]}; "
        "slower and faster in per cent of its time"
    )


def ratio(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    if interval.low is None and interval.high is None:
        return f"{interval.estimate:.3f}"
    low, high = ("open" if end is None else f"{end:.3f}" for end in (interval.low, interval.high))
    return f"{interval.estimate:.3f} [{low}, {high}]"


def chance(rows: Sequence[Ratio]) -> str:
    """How many intervals are expected to exclude 1 by chance where nothing differs."""
    number = sum(row.ratio is not None for row in rows)
    if not number:
        return "no ratio: the last column says why"
    return (
        f"{number} ratio{'s' * (number != 1)}: where nothing differs, {0.05 * number:.1f} intervals are expected to "
        "exclude 1 by chance; conclusions hold at 5 % for the whole table (Holm)"
    )


def _range_us(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return "-"
    return f"{interval.low * 1e6:.4g} to {interval.high * 1e6:.4g}"


def _host(host: Sequence[HostUse]) -> str:
    rows = [
        [
            use.broker,
            use.start,
            "unknown" if use.broker_rss_bytes is None else f"{use.broker_rss_bytes / _MIB:.0f}",
            f"{use.load_rss_bytes / _MIB:.0f}",
            f"{use.memory_available_bytes / _MIB:.0f}",
            f"{use.swap_growth_bytes / _MIB:.0f}",
            "-" if use.disk_bytes_per_s is None else f"{use.disk_bytes_per_s / _MIB:.1f}",
            "-" if use.network_bytes_per_s is None else f"{use.network_bytes_per_s / _MIB:.1f}",
            "-" if use.broker_disk_bytes_per_s is None else f"{use.broker_disk_bytes_per_s / _MIB:.1f}",
            "-" if use.broker_context_switches_per_s is None else f"{use.broker_context_switches_per_s:.0f}",
        ]
        for use in host
    ]
    headers = (
        "broker",
        "start",
        "broker MiB, most",
        "load MiB, most",
        "available MiB, least",
        "swap MiB, growth",
        "disk MiB/s",
        "network MiB/s",
        "broker disk MiB/s",
        "broker switches/s",
    )
    return table(rows, headers, left=1)
