"""What an analysis says, as plain values and as JSON. Nothing here computes a statistic or reads a file.

Units are in the names. The JSON objects are the interface for scripts: their keys are fixed, and `schema`
counts up when one of them changes its meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from workloads.schema import Window
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.flow import Factor
from workloads.throughput.lanes import LaneAudit

#: Version of the JSON objects below.
JSON_SCHEMA = 2

#: From the best to the worst; a verdict is the worst consequence of its findings.
_SEVERITY = (VerdictKind.VALID, VerdictKind.UNVERIFIED, VerdictKind.INVALID)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95 % confidence interval; without ends where the data give none."""

    estimate: float
    low: float | None = None
    high: float | None = None

    @property
    def ci95(self) -> list[float] | None:
        return None if self.low is None or self.high is None else [self.low, self.high]

    def within(self, limit: float) -> bool:
        """The whole interval lies inside +- limit."""
        return self.low is not None and self.high is not None and -limit <= self.low and self.high <= limit

    def beyond(self, limit: float) -> bool:
        """The whole interval lies outside +- limit."""
        return self.low is not None and self.high is not None and (self.low > limit or self.high < -limit)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that makes a number doubtful: what was measured, the limit, and what to do about it.

    `consequence` is what the verdict becomes at least; `broker` limits the finding to one broker of the run.
    """

    what: str
    measured: str
    limit: str
    advice: str
    consequence: VerdictKind = VerdictKind.VALID
    broker: str | None = None


def worst(kinds: Iterable[VerdictKind]) -> VerdictKind:
    """The verdict that covers all of these; `valid` when there are none."""
    return max(kinds, key=_SEVERITY.index, default=VerdictKind.VALID)


def verdict(findings: Iterable[Finding]) -> VerdictKind:
    return worst(finding.consequence for finding in findings)


@dataclass(frozen=True, slots=True, order=True)
class CellKey:
    """One measurement of one cell. Nothing is ever averaged over two runs or two brokers."""

    run: str
    broker: str
    start: int
    experiment: str
    cell: str

    def __str__(self) -> str:
        return f"{self.experiment} {self.cell} (start {self.start})"


@dataclass(frozen=True, slots=True)
class CellSummary:
    """A cell in numbers. Rates and times are over its counted slices; None where there is none.

    processing_s: B, seconds per message received at the median round, pauses for garbage collection included; its
    interval is over the layouts of the start · replicates_s: the same estimate with one layout left out, in the order
    of the start's layouts; empty where there is no interval · mean_processing_s: time over messages of all counted
    slices, which no round's level is taken from · received_per_s, dispatched_per_s, overall_per_s: messages into the
    broker, copies out of it, their sum, all three from processing_s · broker_cpu: fraction of its CPU set, None where
    unknown · gc_share, compiler_share: fraction of the time that its JVM paused for garbage collection, and of the
    broker's CPU time that the JVM's compiler took, None where that is unknown · routed: bindings decide what a
    subscription gets, and no filter · load_cpu: of a core, per worker · conservation: dispatched / expected over all
    counted slices · layouts: how many of the start have the cell · pace: what the cell asked for instead of the run's
    closed loop, in words · reason: why the status is not `ok`, or what else to know · pilot_s: as replicates_s, of the
    estimate from the pilot's layouts alone; empty where no pilot decided on the number of layouts.
    """

    key: CellKey
    profile: str
    factors: Mapping[str, Factor]
    pace: str | None
    connections: int
    n_fltr: int
    routed: bool
    replication: float
    fits_model: bool
    received_per_s: Interval | None
    dispatched_per_s: Interval | None
    overall_per_s: Interval | None
    processing_s: Interval | None
    replicates_s: tuple[float, ...]
    mean_processing_s: float | None
    broker_cpu: float | None
    gc_share: float | None
    compiler_share: float | None
    load_cpu: float | None
    load_us_per_delivery: float | None
    conservation: float | None
    windows: tuple[Window, ...]
    layouts: int
    status: CellStatus
    reason: str = ""
    pilot_s: tuple[float, ...] = ()

    @property
    def planned_per_s(self) -> float | None:
        """Messages per second that an open loop asks for; None in a closed loop, or without a slice."""
        return self.windows[0].planned_per_s if self.windows else None

    @property
    def open_loop(self) -> bool:
        return self.planned_per_s is not None


@dataclass(frozen=True, slots=True, order=True)
class NotApplicable:
    """A cell that a broker cannot do, so that it was not measured; `reason` in words. It is no measurement of 0."""

    run: str
    broker: str
    experiment: str
    profile: str
    cell: str
    reason: str


def reasons(group: Sequence[NotApplicable]) -> str:
    """`not applicable, no filters on subscriptions (6 cells)`."""
    count = Counter(one.reason for one in group)
    return "not applicable, " + "; ".join(
        f"{reason} ({number} cell{'s' * (number != 1)})" for reason, number in count.items()
    )


@dataclass(frozen=True, slots=True)
class CellAudit:
    """What became of the messages of one cell: `sent` messages, and their copies."""

    key: CellKey
    sent: int
    copies: LaneAudit


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The audit of one run: every cell, warm-up included."""

    run: str
    cells: tuple[CellAudit, ...]
    findings: tuple[Finding, ...]

    @property
    def sent(self) -> int:
        return sum(cell.sent for cell in self.cells)

    @property
    def copies(self) -> LaneAudit:
        return sum((cell.copies for cell in self.cells), LaneAudit())

    @property
    def verdict(self) -> VerdictKind:
        return verdict(self.findings)


@dataclass(frozen=True, slots=True)
class RoundLevel:
    """How much slower all cells of a round were than in the median round of their start.

    level: factor - 1 · disturbed: whether it is beyond the limit of `workloads.limits.DISTURBED_LEVEL` · begin_s: from
    the start's first counted slice · gc_share, compiler_share: as in CellSummary, over the round's slices.
    """

    run: str
    broker: str
    start: int
    layout: int
    block: int
    round: int
    begin_s: float
    level: float
    disturbed: bool
    gc_share: float | None
    compiler_share: float | None


class Scope(StrEnum):
    """What an interval of the model covers: the lives that were measured, or the next one as well."""

    THESE_STARTS = "these starts"
    BETWEEN_STARTS = "between starts"


class Grade(StrEnum):
    """How well the plane describes the cells; a result about the model, whatever the numbers are worth."""

    GOOD = "good"
    ROUGH = "rough"
    POOR = "poor"


@dataclass(frozen=True, slots=True)
class Deviation:
    """A cell's measured / plane - 1, with its interval."""

    cell: str
    deviation: Interval


@dataclass(frozen=True, slots=True)
class Description:
    """How well the plane describes the cells: the limits are on the near end of each deviation's interval.

    worst: the cells that decided the grade, largest deviation first; the largest one where all are good · rms: root
    mean square of all cells' deviations.
    """

    grade: Grade
    worst: tuple[Deviation, ...]
    rms: float


@dataclass(frozen=True, slots=True)
class HalfWidth:
    """Half-width of a coefficient's 95 % interval beside its limit: relative to the estimate, or, where the interval
    covers 0, relative to the smallest B of the cells. half_width is None without an interval."""

    half_width: float | None
    limit: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Excluded:
    """A cell that was left out of a fit; `start` 0 stands for all starts."""

    cell: str
    start: int
    reason: str


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """F test of the cells' deviations from the plane against the scatter of the layouts; None where it has no degrees
    of freedom. max_relative_deviation: largest |measured mean / fitted - 1| of a cell that was used."""

    f: float | None
    p: float | None
    max_relative_deviation: float


@dataclass(frozen=True, slots=True)
class FittedCell:
    """A cell that entered a fit: B measured (mean over the starts; its interval as the fit's scope says), B fitted,
    and the first divided by the second, less 1."""

    cell: str
    n_fltr: int
    replication: float
    measured_s: Interval
    fitted_s: float
    deviation: Interval


@dataclass(frozen=True, slots=True)
class Roofline:
    """The alternative B = max(t_rcv + n_fltr t_fltr + r t_tx, r t_sat), for a cap on transmission.

    delta_aicc: AICc of the plane less that of the roofline; preferred: whether the roofline is the better description
    (by the limit in `workloads.limits`) · capped: the cells in the regime of the cap · parameters: of the plane on the
    other cells, so that their intervals hold given these regimes · points: the capped cells with B measured and
    r t_sat.
    """

    parameters: Mapping[str, Interval]
    t_sat_s: Interval
    capped: tuple[str, ...]
    delta_aicc: float
    preferred: bool
    points: tuple[FittedCell, ...] = ()


@dataclass(frozen=True, slots=True)
class Constrained:
    """The fit with no parameter below 0, beside the free one where t_rcv's interval covers 0; `t_rcv_at_most_s` is
    the one-sided 95 % bound of a cost that is not negative."""

    parameters: Mapping[str, float]
    t_rcv_at_most_s: float


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Relative error of B predicted for each cell from all others: median and largest absolute value, and its cell."""

    median: float
    largest: float
    cell: str


@dataclass(frozen=True, slots=True)
class Variation:
    """Relative standard deviation of B, pooled over the cells: of the slices of a cell within its layout, less the
    level of their rounds; of the layouts beyond that; of the starts beyond that. reason: why `between_starts` is None,
    as with one start; empty where it is not."""

    slices: float | None
    layouts: float | None
    between_starts: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FitResult:
    """B = t_rcv + n_fltr t_fltr + r t_tx on the cells of one (run, broker, experiment, profile); times in s.

    parameters: those that the cells identify; without filters in the experiment there is no t_fltr · per_start: the
    estimates of each start · covariance: of the parameters in s^2, both in the order of `parameters`, the latter for
    predictions (None where the scope gives none) · degrees: of freedom of their t intervals · ols_as_in_paper:
    least squares on r in {1, 2, 5, 10} as the paper did it, None where the cells do not allow it · roofline: None
    where no split of the cells allows one; where it is preferred, its capped cells are in cells_excluded, and
    parameters, points, lack_of_fit and leave_one_out are about the others.
    """

    run: str
    broker: str
    experiment: str
    profile: str
    starts: int
    scope: Scope
    parameters: Mapping[str, Interval]
    per_start: Mapping[int, tuple[float, ...]]
    ols_as_in_paper: Mapping[str, float] | None
    cells_used: tuple[str, ...]
    cells_excluded: tuple[Excluded, ...]
    lack_of_fit: LackOfFit
    findings: tuple[Finding, ...]
    points: tuple[FittedCell, ...] = ()
    covariance: tuple[tuple[float, ...], ...] | None = None
    degrees: int = 0
    roofline: Roofline | None = None
    constrained: Constrained | None = None
    leave_one_out: LeaveOneOut | None = None
    variation: Variation = Variation(None, None, None)
    description: Description | None = None
    precision: Mapping[str, HalfWidth] = field(default_factory=dict)
    layouts: int = 0

    @property
    def verdict(self) -> VerdictKind:
        return verdict(self.findings)

    def also(self, findings: Iterable[Finding]) -> FitResult:
        """The same fit, judged by further findings as well."""
        return replace(self, findings=(*findings, *self.findings))


def formula(parameters: Iterable[str]) -> str:
    """The model with these parameters, as it is written."""
    return "B = " + " + ".join(_TERMS[name] for name in parameters)


_TERMS = {"t_rcv": "t_rcv", "t_fltr": "n_fltr t_fltr", "t_tx": "r t_tx"}


@dataclass(frozen=True, slots=True)
class Ratio:
    """A coefficient or a cell of one broker, and its time divided by that of the first broker of the comparison.

    what: `t_rcv`, `t_fltr`, `t_tx`, or a cell's id · value_s: the time itself (a cell: B, the mean over its starts) ·
    ratio: None for the first broker, and where there is none · p, p_holm: of the test that the ratio is 1, and
    adjusted for its whole table · words: what may be said of it · reason: why there is no ratio, or why nothing is
    said of it.
    """

    what: str
    broker: str
    value_s: Interval | None
    ratio: Interval | None
    p: float | None = None
    p_holm: float | None = None
    words: str = ""
    reason: str = ""

    @property
    def received(self) -> Interval | None:
        """The ratio of the received rates: a rate is the reciprocal of its time, and the ends change places."""
        return None if self.ratio is None else _reciprocal(self.ratio)

    @property
    def received_per_s(self) -> Interval | None:
        return None if self.value_s is None else _reciprocal(self.value_s)


def _reciprocal(interval: Interval) -> Interval:
    """Of something positive."""
    if interval.low is None or interval.high is None:
        return Interval(1 / interval.estimate)
    return Interval(1 / interval.estimate, 1 / interval.high, 1 / interval.low if interval.low > 0 else None)


@dataclass(frozen=True, slots=True)
class BrokerComparison:
    """Brokers of one run beside each other in one experiment: all divided by `against`, the first of them."""

    run: str
    experiment: str
    profile: str
    against: str
    scope: Scope
    routed: bool
    coefficients: tuple[Ratio, ...]
    cells: tuple[Ratio, ...]


class ClaimVerdict(StrEnum):
    """What a run says about a claim of the paper."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_DECIDABLE = "not decidable"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of Henjes et al. 2006 beside what was measured on one broker under one profile.

    published, measured: in words, with units; `measured` has intervals and absolute values, or is empty ·
    reason: by which comparison the verdict was reached, or what is missing · cells: what it rests on.
    """

    run: str
    broker: str
    profile: str
    section: str
    claim: str
    published: str
    measured: str
    verdict: ClaimVerdict
    reason: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile of the latency and of the generator's lateness; greyed where the lateness dominates it.

    rank: 50, 90, 99, 99.9 · latency_s: an end of its interval is None where too few copies lie beyond the percentile
    · reason: why it is greyed, empty where it is not.
    """

    rank: float
    latency_s: Interval
    lateness_s: float
    reason: str

    @property
    def greyed(self) -> bool:
        return bool(self.reason)


@dataclass(frozen=True, slots=True)
class LatencyResult:
    """Latency of one open-loop cell, from the planned instant to the read, over its counted slices; times in s.

    planned_per_s: the rate asked for, `percent` of capacity_per_s, which the same flow had in the same start ·
    copies: measured copies · negative: copies with a negative latency, which are counted and kept · mean_s: with an
    interval over the slices · waiting_s: mean latency less the least latency seen · predicted_waiting_s: mean waiting
    time of M/GI/1 at this load, None where the arrivals are not Poisson or the model does not carry the load · model:
    where the service time of that prediction comes from, empty where there is none · status: of the cell,
    generator-bound where the generator was too late.
    """

    key: CellKey
    profile: str
    arrivals: str
    percent: int
    planned_per_s: float
    received_per_s: float
    capacity_per_s: float
    copies: int
    negative: int
    mean_s: Interval
    percentiles: tuple[Percentile, ...]
    waiting_s: float
    predicted_waiting_s: float | None
    model: str
    status: CellStatus
    reason: str


@dataclass(frozen=True, slots=True)
class HostUse:
    """What a start took of the host while it was loaded; None where nothing was sampled.

    Rates are means from the first sample to the last, over all disks and interfaces of the host; those of the broker
    are of its own processes.
    """

    run: str
    broker: str
    start: int
    seconds: float
    broker_rss_bytes: int | None
    load_rss_bytes: int
    memory_available_bytes: int
    swap_growth_bytes: int
    disk_bytes_per_s: float | None
    network_bytes_per_s: float | None
    broker_context_switches_per_s: float | None = None
    broker_disk_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """All that is said about one run.

    measures: False for a smoke grid, whose numbers mean nothing · rounds: the levels of all counted rounds · refused:
    why there is no model where one was to be fitted · not_applicable: what a broker of the run cannot do ·
    comparisons: of its brokers with the first one · manifest: as the run directory has it, to be shown.
    """

    run: str
    path: str
    title: tuple[str, ...]
    measures: bool
    audit: AuditResult
    cells: tuple[CellSummary, ...]
    fits: tuple[FitResult, ...]
    host: tuple[HostUse, ...]
    findings: tuple[Finding, ...]
    rounds: tuple[RoundLevel, ...] = ()
    refused: tuple[str, ...] = field(default=())
    claims: tuple[Claim, ...] = ()
    latency: tuple[LatencyResult, ...] = ()
    not_applicable: tuple[NotApplicable, ...] = ()
    comparisons: tuple[BrokerComparison, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> VerdictKind:
        return verdict(self.every_finding)

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """Those of the run and of its models, each once, the gravest first."""
        found = dict.fromkeys([*self.findings, *(finding for fit in self.fits for finding in fit.findings)])
        return tuple(sorted(found, key=lambda finding: -_SEVERITY.index(finding.consequence)))


def summary_json(results: Sequence[RunResult]) -> dict[str, Any]:
    """`summary`: the cells of all runs, the levels of their rounds, their latencies, the paper's claims, the hosts, and
    the worst verdict.

    A cell that is not applicable to its broker has no start and no number, and stands behind the measured ones.
    """
    return {
        "schema": JSON_SCHEMA,
        "cells": [
            record
            for result in results
            for record in (*map(_cell, result.cells), *map(_not_applicable, result.not_applicable))
        ],
        "layouts": [record for result in results for record in _layouts(result.rounds)],
        "latency": [_latency(cell) for result in results for cell in result.latency],
        "claims": [asdict(claim) for result in results for claim in result.claims],
        "ratios": [record for result in results for comparison in result.comparisons for record in _ratios(comparison)],
        "host": [asdict(use) for result in results for use in result.host],
        "verdict": worst(result.verdict for result in results),
        "findings": [_finding(finding, result.run) for result in results for finding in result.every_finding],
        "runs": [{"run": result.run, "path": result.path, "verdict": result.verdict} for result in results],
    }


def audit_json(results: Sequence[AuditResult]) -> dict[str, Any]:
    """`audit`: messages and copies in all, then per cell."""
    total = sum((result.copies for result in results), LaneAudit())
    return {
        "schema": JSON_SCHEMA,
        "messages": {"sent": sum(result.sent for result in results), **asdict(total)},
        "cells": [
            {**asdict(cell.key), "sent": cell.sent, **asdict(cell.copies)}
            for result in results
            for cell in result.cells
        ],
        "verdict": worst(result.verdict for result in results),
        "findings": [_finding(finding, result.run) for result in results for finding in result.findings],
    }


def fit_json(results: Sequence[RunResult]) -> dict[str, Any]:
    """`fit`: one entry per (run, broker, experiment, profile)."""
    return {
        "schema": JSON_SCHEMA,
        "fits": [_fit(fit) for result in results for fit in result.fits],
        "verdict": worst(result.verdict for result in results),
    }


def _cell(cell: CellSummary) -> dict[str, Any]:
    return {
        **asdict(cell.key),
        "profile": cell.profile,
        "factors": dict(cell.factors),
        "pace": cell.pace,
        "planned_per_s": cell.planned_per_s,
        **{name: _rate(getattr(cell, name)) for name in _RATES},
        "processing_s": cell.processing_s and _seconds(cell.processing_s),
        **{name: getattr(cell, name) for name in _NUMBERS},
        "layouts": cell.layouts,
        "slices": len(cell.windows),
        "status": cell.status,
        "reason": cell.reason,
    }


def _not_applicable(cell: NotApplicable) -> dict[str, Any]:
    return {
        **asdict(cell),
        "start": None,
        "factors": {},
        "pace": None,
        **dict.fromkeys(("planned_per_s", *_RATES, "processing_s", *_NUMBERS)),
        "layouts": 0,
        "slices": 0,
        "status": CellStatus.NOT_APPLICABLE,
    }


_RATES = ("received_per_s", "dispatched_per_s", "overall_per_s")

_NUMBERS = ("mean_processing_s", "broker_cpu", "gc_share", "compiler_share", "load_cpu", "load_us_per_delivery")


def _layouts(rounds: Iterable[RoundLevel]) -> Iterator[dict[str, Any]]:
    """One record per layout of a start, with its rounds in the order in which they were measured."""
    found: dict[tuple[str, str, int, int], list[RoundLevel]] = {}
    for one in sorted(rounds, key=lambda one: (one.broker, one.start, one.layout, one.begin_s)):
        found.setdefault((one.run, one.broker, one.start, one.layout), []).append(one)
    for (run, broker, start, layout), of_layout in found.items():
        yield {
            "run": run,
            "broker": broker,
            "start": start,
            "layout": layout,
            "rounds": [{name: getattr(one, name) for name in _OF_ROUND} for one in of_layout],
        }


_OF_ROUND = ("block", "round", "level", "disturbed", "gc_share", "compiler_share")


def _latency(cell: LatencyResult) -> dict[str, Any]:
    """An interval of a percentile may have one end only: where too few copies lie beyond it, the upper one is null."""
    record = {name: getattr(cell, name) for name in LatencyResult.__slots__ if name not in _LATENCY_PARTS}
    return {
        **asdict(cell.key),
        **record,
        "mean": _seconds(cell.mean_s),
        "percentiles": [
            {
                "rank": one.rank,
                "estimate_s": one.latency_s.estimate,
                "ci95_s": [one.latency_s.low, one.latency_s.high],
                "lateness_s": one.lateness_s,
                "greyed": one.greyed,
                "reason": one.reason,
            }
            for one in cell.percentiles
        ],
    }


_LATENCY_PARTS = ("key", "mean_s", "percentiles")


def _rate(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else {"estimate": interval.estimate, "ci95": interval.ci95}


def _ratios(comparison: BrokerComparison) -> Iterator[dict[str, Any]]:
    """A record per broker and coefficient, and per broker and cell; the first broker's have no ratio."""
    for kind, rows in (("coefficient", comparison.coefficients), ("cell", comparison.cells)):
        for row in rows:
            yield {
                "run": comparison.run,
                "experiment": comparison.experiment,
                "profile": comparison.profile,
                "scope": comparison.scope,
                "kind": kind,
                "what": row.what,
                "broker": row.broker,
                "against": comparison.against,
                "value": row.value_s and _seconds(row.value_s),
                "ratio": _rate(row.ratio),
                "received_ratio": _rate(row.received) if kind == "cell" else None,
                "p": row.p,
                "p_holm": row.p_holm,
                "words": row.words,
                "reason": row.reason,
            }


def _seconds(interval: Interval) -> dict[str, Any]:
    return {"estimate_s": interval.estimate, "ci95_s": interval.ci95}


def _point(point: FittedCell) -> dict[str, Any]:
    return {
        "cell": point.cell,
        "n_fltr": point.n_fltr,
        "replication": point.replication,
        "measured_s": _seconds(point.measured_s),
        "fitted_s": point.fitted_s,
        "deviation": _rate(point.deviation),
    }


def _roofline(roofline: Roofline) -> dict[str, Any]:
    return {
        "preferred": roofline.preferred,
        "delta_aicc": roofline.delta_aicc,
        "parameters": {name: _seconds(interval) for name, interval in roofline.parameters.items()},
        "t_sat": _seconds(roofline.t_sat_s),
        "capped": [_point(point) for point in roofline.points],
    }


def _fit(fit: FitResult) -> dict[str, Any]:
    paper = fit.ols_as_in_paper
    return {
        "run": fit.run,
        "broker": fit.broker,
        "experiment": fit.experiment,
        "profile": fit.profile,
        "starts": fit.starts,
        "layouts": fit.layouts,
        "scope": fit.scope,
        "model": formula(fit.parameters),
        "parameters": {name: _seconds(interval) for name, interval in fit.parameters.items()},
        "precision": {name: asdict(precision) for name, precision in fit.precision.items()},
        "description": _description(fit.description),
        "ols_as_in_paper": paper and {name: {"estimate_s": estimate} for name, estimate in paper.items()},
        "cells_used": list(fit.cells_used),
        "cells_excluded": [asdict(excluded) for excluded in fit.cells_excluded],
        "lack_of_fit": asdict(fit.lack_of_fit),
        "per_start": {str(start): list(estimates) for start, estimates in fit.per_start.items()},
        "covariance_s2": fit.covariance and [list(row) for row in fit.covariance],
        "degrees": fit.degrees,
        "points": [_point(point) for point in fit.points],
        "roofline": fit.roofline and _roofline(fit.roofline),
        "constrained": fit.constrained and asdict(fit.constrained),
        "leave_one_out": fit.leave_one_out and asdict(fit.leave_one_out),
        "variation": asdict(fit.variation),
        "verdict": fit.verdict,
        "findings": [_finding(finding, fit.run) for finding in fit.findings],
    }


def _description(found: Description | None) -> dict[str, Any]:
    if found is None:
        return {"grade": None, "worst": [], "rms": None}
    worst_cells = [
        {"cell": one.cell, "deviation": one.deviation.estimate, "ci95": one.deviation.ci95} for one in found.worst
    ]
    return {"grade": found.grade, "worst": worst_cells, "rms": found.rms}


def _finding(finding: Finding, run: str) -> dict[str, Any]:
    return {"run": run, **asdict(finding)}
