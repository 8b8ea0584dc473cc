"""Results as text for a terminal: read without the paper, verdict last. Numbers are only formatted here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from tabulate import tabulate

from analysis.fit import PAPER, PARAMETERS
from analysis.results import AuditResult, CellAudit, CellSummary, Finding, FitResult, HostUse, Interval, RunResult
from workloads.lanes import LaneAudit
from workloads.records import WARM_UP
from workloads.rules import Status, VerdictKind

MEANING = {
    "t_rcv": "one message received",
    "t_fltr": "one filter installed",
    "t_tx": "one copy delivered",
}

VERDICTS = {
    VerdictKind.VALID: "the numbers may be believed, within their intervals",
    VerdictKind.UNVERIFIED: "a check could not be made; the numbers may be right, nothing shows it",
    VerdictKind.INVALID: "the numbers must not be used",
}

#: The same where nothing but the audit was asked.
AUDIT_VERDICTS = {
    VerdictKind.VALID: "every copy came once, in order, to the right subscriber",
    VerdictKind.UNVERIFIED: "nothing is known to be wrong, but not all traffic could be followed",
    VerdictKind.INVALID: "messages were lost, duplicated, reordered or misdelivered",
}

_MIB = 2**20


def summary(results: Sequence[RunResult]) -> str:
    """Cells, audit, model, host, findings, verdict and directory of each run."""
    return _side_by_side(results, cells=True)


def model(results: Sequence[RunResult]) -> str:
    """The models of each run, with their findings."""
    return _side_by_side(results, cells=False)


def audit(results: Sequence[AuditResult]) -> str:
    """Every cell's messages, then findings and verdict of the audit."""
    return "\n\n".join(
        "\n\n".join(
            [
                _headline(f"Audit of {result.run}"),
                _audit_table(result, every_cell=True),
                *_findings(result.findings),
                _verdict(result.verdict, AUDIT_VERDICTS),
            ]
        )
        for result in results
    )


def _side_by_side(results: Sequence[RunResult], *, cells: bool) -> str:
    several = ["Several runs, side by side: nothing is averaged or fitted over runs."] if len(results) > 1 else []
    return "\n\n".join([*several, *(_run(result, cells=cells) for result in results)])


def _run(result: RunResult, *, cells: bool) -> str:
    parts = [_headline(f"Run {result.run}"), "\n".join(result.title)]
    if cells:
        parts += [*_cells(result.cells), "Audit: every copy followed\n" + _audit_table(result.audit, every_cell=False)]
    parts += [_model(fit) for fit in result.fits]
    if cells and result.host:
        parts.append("Host under load\n" + _host(result.host))
    words = VERDICTS if result.measures else AUDIT_VERDICTS
    parts += [*_findings(result.every_finding), f"{_verdict(result.verdict, words)}\nrun directory: {result.path}"]
    return "\n\n".join(parts)


def _headline(text: str) -> str:
    return f"{text}\n{'=' * len(text)}"


def _cells(cells: Sequence[CellSummary]) -> Iterator[str]:
    for (broker, experiment, profile), group in groupby(
        sorted(cells, key=lambda cell: (cell.key.broker, cell.key.experiment, cell.profile, cell.key)),
        key=lambda cell: (cell.key.broker, cell.key.experiment, cell.profile),
    ):
        title = (
            f"{experiment} on {broker}, profile {profile}: messages/s with 95 % intervals within one start; "
            "rows in ( ) enter no model"
        )
        yield (title + "\n" + _table([_cell(cell) for cell in group], _CELL_HEADERS, left=1))


_CELL_HEADERS = (
    "cell",
    "start",
    "received",
    "dispatched",
    "overall",
    "B in us",
    "broker CPU",
    "load CPU",
    "us/copy",
    "windows",
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
        "-" if cell.processing_s is None else f"{cell.processing_s.estimate * 1e6:.2f}",
        _share(cell.broker_cpu),
        _share(cell.load_cpu),
        "-" if cell.load_us_per_delivery is None else f"{cell.load_us_per_delivery:.2f}",
        f"{len(cell.windows)}" + (f" (+{cell.contaminated} contaminated)" if cell.contaminated else ""),
    ]
    if cell.status != Status.OK:
        row = [f"({value})" for value in row]
    return [*row, cell.status, cell.reason]


def _rate(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    if interval.high is None:
        return f"{interval.estimate:.0f}"
    return f"{interval.estimate:.0f} +-{interval.high - interval.estimate:.0f}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"


def _audit_table(result: AuditResult, *, every_cell: bool) -> str:
    """All cells, or one line for the exact ones and one for each that is not."""
    shown = [cell for cell in result.cells if every_cell or not cell.copies.exact]
    exact = [cell for cell in result.cells if cell.copies.exact]
    rows = [_audit_row(str(cell.key), cell.key.broker, [cell]) for cell in shown]
    if exact and not every_cell:
        warm_up = sum(cell.key.experiment == WARM_UP for cell in exact)
        more = f", {warm_up} of them warm-up" if warm_up else ""
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
    return _table(rows, headers, left=1)


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
            "-" if fit.ols_as_in_paper is None else f"{fit.ols_as_in_paper[name] * 1e6:.4g}",
            f"{PAPER[name] * 1e6:.4g}",
        ]
        for name in PARAMETERS
    ]
    headers = (
        "",
        "time of the broker for",
        "us",
        f"95 % interval, {fit.scope}",
        "least squares as in the paper",
        "the paper, ActiveMQ 4.0",
    )
    lack = fit.lack_of_fit
    lines = [
        f"Model of {fit.experiment} on {fit.broker}, profile {fit.profile}, times in us per message received:",
        "B = t_rcv + n_fltr t_fltr + r t_tx",
        "with n_fltr filters installed (matching ones included) and r copies delivered of every message",
        _table(rows, headers, left=2),
        f"{len(fit.cells_used)} cells, {fit.starts} start{'s' * (fit.starts != 1)}; "
        f"no cell lies farther than {lack.max_relative_deviation:.1%} off"
        + ("" if lack.f is None or lack.p is None else f"; lack of fit F {lack.f:.1f}, p {lack.p:.2g}"),
    ]
    lines += [f"left out: {cell.cell} (start {cell.start}): {cell.reason}" for cell in fit.cells_excluded]
    return "\n".join([*lines, f"verdict of this model: {fit.verdict}"])


def _table(rows: Sequence[Sequence[object]], headers: Sequence[str], left: int) -> str:
    """Text to the left in the first `left` columns and in those headed `why`, numbers to the right."""
    align = ["left" if place < left or title in {"status", "why"} else "right" for place, title in enumerate(headers)]
    return str(tabulate(rows, headers, disable_numparse=True, colalign=align))


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
    )
    return _table(rows, headers, left=1)


def _findings(findings: Iterable[Finding]) -> list[str]:
    lines = [
        f"- {finding.what}: {finding.measured} (limit: {finding.limit}). {_capital(finding.advice)}."
        + ("" if finding.consequence == VerdictKind.VALID else f" [{finding.consequence}]")
        for finding in findings
    ]
    return ["Findings\n" + "\n".join(lines)] if lines else []


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verdict(kind: VerdictKind, words: Mapping[VerdictKind, str]) -> str:
    return f"verdict: {kind} - {words[kind]}"
