"""Results of an analysis, as plain values and as JSON. Nothing here computes a statistic or reads a file.

Units are in the names. The JSON objects are the interface for scripts: their keys are fixed, and `schema`
is increased when the meaning of a key changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from workloads.exit_codes import ExitCode
from workloads.manifest import StudyManifest
from workloads.schema import Window
from workloads.status import CellStatus, ClaimVerdict, VerdictKind
from workloads.throughput.flow import Factor
from workloads.throughput.lanes import LaneAudit

#: Version of the JSON objects below.
JSON_SCHEMA = 2

#: From the best to the worst; a verdict is the worst consequence of its findings.
_SEVERITY = (VerdictKind.VALID, VerdictKind.UNVERIFIED, VerdictKind.INVALID)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95 % confidence interval; an end is None where the data do not determine it."""

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


def per(numerator: float, time: Interval) -> Interval:
    """numerator / time: the ends of the interval are swapped, and the upper one is None where the time may be 0."""
    if time.low is None or time.high is None:
        return Interval(numerator / time.estimate)
    return Interval(numerator / time.estimate, numerator / time.high, numerator / time.low if time.low > 0 else None)


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason to doubt a number: what was measured, the limit, and what to do about it."""

    what: str
    measured: str
    limit: str
    advice: str
    #: the verdict is this one or a worse one
    consequence: VerdictKind = VerdictKind.VALID
    #: the only broker of the run that is affected; None where all are
    broker: str | None = None
    #: what further layouts may mend, in a few words; empty where they cannot
    open_point: str = ""

    @property
    def reason(self) -> str:
        return f"{self.what}: {self.measured} (limit: {self.limit})"


def worst(kinds: Iterable[VerdictKind]) -> VerdictKind:
    """The worst of these verdicts; `valid` when there are none."""
    return max(kinds, key=_SEVERITY.index, default=VerdictKind.VALID)


def verdict(findings: Iterable[Finding]) -> VerdictKind:
    return worst(finding.consequence for finding in findings)


def code_of(verdict: VerdictKind, *, audit_failed: bool) -> ExitCode:
    """The exit code where only a valid result is accepted: a doubt is no accusation, a failed audit is."""
    if verdict == VerdictKind.VALID:
        return ExitCode.OK
    return ExitCode.SHOWN if audit_failed else ExitCode.CONTAMINATED


@dataclass(frozen=True, slots=True, order=True)
class CellKey:
    """One measurement of one cell. Nothing is ever averaged over several runs or brokers."""

    run: str
    broker: str
    start: int
    experiment: str
    cell: str

    def __str__(self) -> str:
        return f"{self.experiment} {self.cell} (start {self.start})"


@dataclass(frozen=True, slots=True)
class CellSummary:
    """The numbers of one cell; rates and times are over its counted slices, None where there is no counted slice."""

    key: CellKey
    profile: str
    factors: Mapping[str, Factor]
    #: the load shape that the cell asked for; None for the closed loop of the run
    pace: str | None
    connections: int
    n_fltr: int
    #: bindings, not filters, decide which messages a subscription gets
    routed: bool
    replication: float
    fits_model: bool
    #: messages into the broker per second, from `processing_s`
    received_per_s: Interval | None
    #: copies out of the broker per second, from `processing_s`
    dispatched_per_s: Interval | None
    #: sum of the two
    overall_per_s: Interval | None
    #: B, seconds per message received at the median undisturbed round, pauses for garbage collection included;
    #: its interval is over the layouts of the start
    processing_s: Interval | None
    #: the same estimate, in s, with one layout left out, in the order of the start's layouts; empty where there is no
    #: interval
    replicates_s: tuple[float, ...]
    #: time divided by messages over all counted slices, in s, not adjusted for the levels of the rounds
    mean_processing_s: float | None
    #: CPU time of the broker as a fraction of its CPU set; None where unknown
    broker_cpu: float | None
    #: fraction of the time for which the broker's JVM paused for garbage collection; None where unknown
    gc_share: float | None
    #: fraction of the broker's CPU time used by the JVM's compiler; None where unknown
    compiler_share: float | None
    #: CPU time per worker as a fraction of a core
    load_cpu: float | None
    #: CPU time of the load per copy delivered, in us
    load_us_per_delivery: float | None
    #: dispatched / expected over all counted slices
    conservation: float | None
    #: the counted slices
    windows: tuple[Window, ...]
    #: number of the start's layouts that have the cell
    layouts: int
    status: CellStatus
    #: why the status is not `ok`, or a remark
    reason: str = ""

    @property
    def planned_per_s(self) -> float | None:
        """Messages per second that an open loop asks for; None in a closed loop, or without a slice."""
        return self.windows[0].planned_per_s if self.windows else None

    @property
    def open_loop(self) -> bool:
        return self.planned_per_s is not None


@dataclass(frozen=True, slots=True, order=True)
class NotApplicable:
    """A cell that was not measured because the broker lacks what it needs. It is not a measurement of 0."""

    run: str
    broker: str
    experiment: str
    profile: str
    cell: str
    reason: str


def reasons(group: Sequence[NotApplicable]) -> str:
    """`not applicable, no filters on subscriptions (6 cells)`."""
    count = Counter(cell.reason for cell in group)
    return "not applicable, " + "; ".join(
        f"{reason} ({number} cell{'s' * (number != 1)})" for reason, number in count.items()
    )


@dataclass(frozen=True, slots=True)
class CellAudit:
    """Delivery audit of one cell."""

    key: CellKey
    #: messages sent
    sent: int
    #: counts of their copies
    copies: LaneAudit
    #: whether the protocol lets the broker drop them, since nobody has to acknowledge them
    droppable: bool = False

    @property
    def lossy(self) -> bool:
        """Whether copies are missing, and only copies that the broker may drop."""
        return self.droppable and self.copies.only_lost

    @property
    def failed(self) -> bool:
        return not self.copies.as_promised(droppable=self.droppable)


@dataclass(frozen=True, slots=True)
class AuditResult:
    """Delivery audit of one run: every cell, warm-up included."""

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

    @property
    def audit_failed(self) -> bool:
        """Whether copies were duplicated, reordered or misdelivered, or lost where none may be."""
        return any(cell.failed for cell in self.cells)


@dataclass(frozen=True, slots=True)
class RoundLevel:
    """How much slower all cells of a round were than in the median undisturbed round of their start."""

    run: str
    broker: str
    start: int
    layout: int
    block: int
    round: int
    #: seconds since the begin of the start's first counted slice
    begin_s: float
    #: number of its slices, without those of open loops
    slices: int
    #: ratio to the median undisturbed round, less 1
    level: float
    #: whether the level exceeds `workloads.limits.DISTURBED_LEVEL`
    disturbed: bool
    #: as in CellSummary, over the round's slices
    gc_share: float | None
    #: as in CellSummary, over the round's slices
    compiler_share: float | None
    #: share of the time of the broker's CPUs that the hypervisor gave to other machines, of the layout; None where
    #: unknown
    stolen_share: float | None


class Scope(StrEnum):
    """What an interval of the model covers: the broker starts that were measured, or a further start as well."""

    THESE_STARTS = "these starts"
    BETWEEN_STARTS = "between starts"


class Grade(StrEnum):
    """How well the plane describes the cells; a result about the model, independent of the verdict."""

    GOOD = "good"
    ROUGH = "rough"
    POOR = "poor"


@dataclass(frozen=True, slots=True)
class CellDeviation:
    """The deviation of a cell from the plane."""

    cell: str
    #: measured / plane - 1
    deviation: Interval


@dataclass(frozen=True, slots=True)
class Description:
    """How well the plane describes the cells: the limits apply to the end of each deviation's interval nearer to 0."""

    grade: Grade
    #: the cells that determined the grade, largest deviation first; only the largest where all are good
    worst: tuple[CellDeviation, ...]
    #: root mean square of all cells' relative deviations
    rms: float


@dataclass(frozen=True, slots=True)
class Negligible:
    """How much a coefficient may matter that is negligible by `workloads.limits.NEGLIGIBLE`."""

    #: how often the cell where it matters most has it in its B: the cell's filters, its copies, or 1
    times: float
    #: what the upper end of the interval, so many times, is of that cell's B; of an interval below 0 the lower end,
    #: without its sign
    share: float


@dataclass(frozen=True, slots=True)
class HalfWidth:
    """Half-width of a coefficient's 95 % interval and its limit, relative to the estimate.

    Where the interval covers 0, both are shares of B: that which the half-width has of it in the cell where it matters
    most, with that cell's filters and copies.
    """

    #: None without an interval
    half_width: float | None
    limit: float
    #: the half-width is within the limit, or the coefficient is negligible
    holds: bool
    #: None where the coefficient is not negligible
    negligible: Negligible | None = None


@dataclass(frozen=True, slots=True)
class Excluded:
    """A cell that was left out of a fit."""

    cell: str
    #: 0 for all starts
    start: int
    reason: str


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """F test of the cells' deviations from the plane against the scatter of the layouts."""

    #: F statistic; None without degrees of freedom
    f: float | None
    #: None without degrees of freedom
    p: float | None
    #: largest |measured mean / fitted - 1| of a cell that was used
    max_relative_deviation: float


@dataclass(frozen=True, slots=True)
class FittedCell:
    """A cell that entered a fit."""

    cell: str
    n_fltr: int
    replication: float
    #: measured B in s, mean over the starts; the interval covers the scope of the fit
    measured_s: Interval
    #: B of the model, in s
    fitted_s: float
    #: measured_s / fitted_s - 1
    deviation: Interval


@dataclass(frozen=True, slots=True)
class Roofline:
    """The alternative model B = max(t_rcv + n_fltr t_fltr + r t_tx, r t_sat), for a cap on transmission."""

    #: of the plane fitted to the cells that are not capped, in s; the intervals are conditional on this split
    parameters: Mapping[str, Interval]
    #: seconds per copy at the cap
    t_sat_s: Interval
    #: the cells in the regime of the cap
    capped: tuple[str, ...]
    #: AICc of the plane less that of the roofline
    delta_aicc: float
    #: the better description: delta_aicc exceeds `workloads.limits.ROOFLINE`, and the grade with a cap is not poor
    preferred: bool
    #: the capped cells with measured B and r t_sat
    points: tuple[FittedCell, ...] = ()


@dataclass(frozen=True, slots=True)
class Variation:
    """Components of the relative standard deviation of B, pooled over the cells."""

    #: of the slices of a cell within its layout, after removing the levels of their rounds
    slices: float | None
    #: of the layouts, beyond what the slices explain
    layouts: float | None
    #: of the starts, beyond what slices and layouts explain
    between_starts: float | None
    #: why `between_starts` is None, for example a single start; empty where it is not None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FitResult:
    """The fit of B = t_rcv + n_fltr t_fltr + r t_tx to the cells of one (run, broker, experiment, profile).

    Where the roofline is preferred, its capped cells are in `cells_excluded`, and parameters, points and lack_of_fit
    refer to the other cells.
    """

    run: str
    broker: str
    experiment: str
    profile: str
    #: number of broker starts
    starts: int
    #: what the intervals cover
    scope: Scope
    #: estimates in s of the parameters that the cells identify; without filters in the experiment there is no t_fltr
    parameters: Mapping[str, Interval]
    #: by start: estimates in s, in the order of `parameters`
    per_start: Mapping[int, tuple[float, ...]]
    cells_used: tuple[str, ...]
    cells_excluded: tuple[Excluded, ...]
    lack_of_fit: LackOfFit
    findings: tuple[Finding, ...]
    #: least squares on r in {1, 2, 5, 10} as in the paper, in s; None where the cells do not allow it
    ols_as_in_paper: Mapping[str, float] | None = None
    points: tuple[FittedCell, ...] = ()
    #: of the parameters, in s^2, in the order of `parameters`, for predictions; None where the scope gives none
    covariance: tuple[tuple[float, ...], ...] | None = None
    #: degrees of freedom of the t intervals
    degrees: int = 0
    #: half-width of a t interval in standard errors, for predictions; None without degrees of freedom
    t_quantile: float | None = None
    #: None where no split of the cells allows one
    roofline: Roofline | None = None
    variation: Variation = Variation(None, None, None)
    description: Description | None = None
    #: by parameter
    precision: Mapping[str, HalfWidth] = field(default_factory=dict)
    #: number of layouts
    layouts: int = 0

    @property
    def verdict(self) -> VerdictKind:
        return verdict(self.findings)

    def also(self, findings: Iterable[Finding]) -> FitResult:
        """The same fit with further findings."""
        return replace(self, findings=(*findings, *self.findings))


def formula(parameters: Iterable[str]) -> str:
    """The equation of the model with these parameters."""
    return "B = " + " + ".join(_TERMS[name] for name in parameters)


_TERMS = {"t_rcv": "t_rcv", "t_fltr": "n_fltr t_fltr", "t_tx": "r t_tx"}


@dataclass(frozen=True, slots=True)
class Ratio:
    """A coefficient or a cell of one broker, and its time divided by that of the first broker of the comparison."""

    #: `t_rcv`, `t_fltr`, `t_tx`, or a cell's id
    what: str
    broker: str
    #: the time in s (of a cell: B, the mean over its starts)
    value_s: Interval | None
    #: None for the first broker, and where there is no ratio
    ratio: Interval | None
    #: of the test that the ratio is 1
    p: float | None = None
    #: the same, Holm-adjusted for the whole table
    p_holm: float | None = None
    #: the conclusion
    words: str = ""
    #: why there is no ratio, or no conclusion
    reason: str = ""

    @property
    def received(self) -> Interval | None:
        """The ratio of the received rates: a rate is the reciprocal of its time, which swaps the interval's ends."""
        return None if self.ratio is None else per(1, self.ratio)

    @property
    def received_per_s(self) -> Interval | None:
        return None if self.value_s is None else per(1, self.value_s)


@dataclass(frozen=True, slots=True)
class BrokerComparison:
    """Comparison of the brokers of one run in one experiment."""

    run: str
    experiment: str
    profile: str
    #: the first broker, by which all others are divided
    against: str
    scope: Scope
    routed: bool
    coefficients: tuple[Ratio, ...]
    cells: tuple[Ratio, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a publication and what was measured on one broker under one profile."""

    run: str
    broker: str
    #: of a business workload: how its messages are consumed
    profile: str
    #: of the publication
    section: str
    claim: str
    #: text with units
    published: str
    #: text with units, intervals and absolute values; may be empty
    measured: str
    verdict: ClaimVerdict
    #: the comparison that the verdict is based on, or what is missing
    reason: str
    #: the cells that the verdict is based on
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile of the latency and of the generator's lateness; greyed out where lateness dominates it."""

    #: 50, 90, 99 or 99.9
    rank: float
    #: an end of its interval is None where too few copies lie beyond the percentile
    latency_s: Interval
    lateness_s: float
    #: why it is greyed out; empty where it is not
    reason: str

    @property
    def greyed(self) -> bool:
        return bool(self.reason)


@dataclass(frozen=True, slots=True)
class LatencyResult:
    """Latency of one open-loop cell, from the planned instant to the read, over its counted slices."""

    key: CellKey
    profile: str
    #: kind of the arrival process
    arrivals: str
    #: planned rate in percent of the capacity
    percent: int
    #: messages per second asked for: `percent` of `capacity_per_s`
    planned_per_s: float
    #: messages per second that the broker received
    received_per_s: float
    #: messages per second of the same flow in a closed loop in the same start
    capacity_per_s: float
    #: measured copies
    copies: int
    #: copies with a negative latency, which are counted and kept
    negative: int
    #: mean latency with an interval over the slices
    mean_s: Interval
    percentiles: tuple[Percentile, ...]
    #: mean latency less the smallest latency observed
    waiting_s: float
    #: mean waiting time of M/GI/1 at this load; None where the arrivals are not Poisson or the load exceeds the
    #: capacity of the model
    predicted_waiting_s: float | None
    #: source of the service time of that prediction; empty where there is none
    model: str
    #: of the cell; generator-bound where the generator was too late
    status: CellStatus
    reason: str


@dataclass(frozen=True, slots=True)
class HostUse:
    """Host resources used by a start while it was loaded; None where nothing was sampled.

    Rates are means from the first sample to the last, over all disks and interfaces of the host; those of the broker
    are over its own processes.
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
    """The complete analysis of one run."""

    run: str
    path: str
    title: tuple[str, ...]
    #: False for a smoke grid, whose numbers mean nothing
    measures: bool
    audit: AuditResult
    cells: tuple[CellSummary, ...]
    fits: tuple[FitResult, ...]
    host: tuple[HostUse, ...]
    findings: tuple[Finding, ...]
    manifest: StudyManifest
    #: the levels of all counted rounds
    rounds: tuple[RoundLevel, ...] = ()
    #: why there is no model where one was to be fitted
    refused: tuple[str, ...] = field(default=())
    claims: tuple[Claim, ...] = ()
    latency: tuple[LatencyResult, ...] = ()
    #: cells that a broker of the run cannot do
    not_applicable: tuple[NotApplicable, ...] = ()
    #: of the run's brokers with the first of them
    comparisons: tuple[BrokerComparison, ...] = ()

    @property
    def verdict(self) -> VerdictKind:
        return verdict(self.every_finding)

    @property
    def audit_failed(self) -> bool:
        """Whether copies were lost, duplicated, reordered or misdelivered."""
        return self.audit.audit_failed

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """Findings of the run and of its models, without duplicates, the most severe first."""
        found = dict.fromkeys([*self.findings, *(finding for fit in self.fits for finding in fit.findings)])
        return tuple(sorted(found, key=lambda finding: -_SEVERITY.index(finding.consequence)))


def summary_json(results: Sequence[RunResult]) -> dict[str, Any]:
    """`summary`: the cells of all runs, the levels of their rounds, their latencies, the paper's claims, the hosts, and
    the worst verdict.

    A cell that is not applicable to its broker has no start and no numbers, and is listed after the measured cells.
    """
    return {
        "schema": JSON_SCHEMA,
        "cells": [
            record
            for result in results
            for record in (*map(_cell, result.cells), *map(_not_applicable, result.not_applicable))
        ],
        "layouts": [record for result in results for record in _layouts(result.rounds)],
        "looks": [{"run": result.run, **asdict(look)} for result in results for look in result.manifest.looks],
        "latency": [_latency(cell) for result in results for cell in result.latency],
        "claims": [asdict(claim) for result in results for claim in result.claims],
        "ratios": [record for result in results for comparison in result.comparisons for record in _ratios(comparison)],
        "host": [asdict(use) for result in results for use in result.host],
        "verdict": worst(result.verdict for result in results),
        "findings": [_finding(finding, result.run) for result in results for finding in result.every_finding],
        "runs": [
            {
                "run": result.run,
                "path": result.path,
                "verdict": result.verdict,
                "brokers": {label: broker.title for label, broker in result.manifest.brokers.items()},
            }
            for result in results
        ],
    }


def audit_json(results: Sequence[AuditResult]) -> dict[str, Any]:
    """`audit`: messages and copies in total, then per cell."""
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
    """`fit`: an entry per (run, broker, experiment, profile)."""
    return {
        "schema": JSON_SCHEMA,
        "fits": [_fit(fit) for result in results for fit in result.fits],
        "verdict": worst(result.verdict for result in results),
    }


def _fields(record: Any, *left_out: str) -> dict[str, Any]:
    """The fields of a record as JSON values, but for those left out."""
    return {
        field.name: _json(getattr(record, field.name), field.name)
        for field in fields(record)
        if field.name not in left_out
    }


def _json(value: Any, name: str) -> Any:
    """The value of a field; an interval in seconds, as the name says, has the unit in its keys."""
    if isinstance(value, Interval):
        unit = "_s" if name.endswith("_s") and not name.endswith("_per_s") else ""
        return {f"estimate{unit}": value.estimate, f"ci95{unit}": value.ci95}
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _json(each, name) for key, each in value.items()}
    return [_json(each, name) for each in value] if isinstance(value, tuple) else value


def _cell(cell: CellSummary) -> dict[str, Any]:
    record = _fields(cell, *_NOT_WRITTEN)
    return {**asdict(cell.key), **record, "planned_per_s": cell.planned_per_s, "slices": len(cell.windows)}


#: Fields of a cell that have no key.
_NOT_WRITTEN = (
    *("key", "connections", "n_fltr", "routed", "replication", "fits_model", "replicates_s", "conservation", "windows"),
)


def _not_applicable(cell: NotApplicable) -> dict[str, Any]:
    """The keys of a cell that was measured."""
    unknown = dict.fromkeys(field.name for field in fields(CellSummary) if field.name not in _NOT_WRITTEN)
    counted = {"factors": {}, "layouts": 0, "slices": 0, "status": CellStatus.NOT_APPLICABLE}
    return {"start": None, "planned_per_s": None, **unknown, **asdict(cell), **counted}


def _layouts(rounds: Iterable[RoundLevel]) -> Iterator[dict[str, Any]]:
    """A record per layout of a start, with its rounds in the order in which they were measured."""
    found: dict[tuple[str, str, int, int], list[RoundLevel]] = {}
    for level in sorted(rounds, key=lambda level: (level.broker, level.start, level.layout, level.begin_s)):
        found.setdefault((level.run, level.broker, level.start, level.layout), []).append(level)
    of_layout = ("run", "broker", "start", "layout", "stolen_share")
    for levels in found.values():
        each = [_fields(level, *of_layout, "begin_s", "slices") for level in levels]
        yield {**{name: getattr(levels[0], name) for name in of_layout}, "rounds": each}


def _latency(cell: LatencyResult) -> dict[str, Any]:
    """The interval of a percentile may have a lower end only: the upper end is null where too few copies exceed it."""
    percentiles = [
        {
            **_fields(percentile, "latency_s"),
            "estimate_s": percentile.latency_s.estimate,
            "ci95_s": [percentile.latency_s.low, percentile.latency_s.high],
            "greyed": percentile.greyed,
        }
        for percentile in cell.percentiles
    ]
    mean = _json(cell.mean_s, "mean_s")
    return {**asdict(cell.key), **_fields(cell, "key", "mean_s"), "mean": mean, "percentiles": percentiles}


def _ratios(comparison: BrokerComparison) -> Iterator[dict[str, Any]]:
    """A record per broker and coefficient, and per broker and cell; the first broker's have no ratio."""
    for kind, rows in (("coefficient", comparison.coefficients), ("cell", comparison.cells)):
        for row in rows:
            yield {
                **_fields(comparison, "routed", "coefficients", "cells"),
                "kind": kind,
                **_fields(row, "value_s"),
                "value": _json(row.value_s, "value_s"),
                "received_ratio": _json(row.received, "received") if kind == "cell" else None,
            }


def _fit(fit: FitResult) -> dict[str, Any]:
    paper, cap = fit.ols_as_in_paper, fit.roofline
    return {
        **_fields(fit, "covariance", "t_quantile"),
        "model": formula(fit.parameters),
        "parameters": _json(fit.parameters, "times_s"),
        "description": _description(fit.description),
        "ols_as_in_paper": paper and {name: {"estimate_s": estimate} for name, estimate in paper.items()},
        "covariance_s2": fit.covariance,
        "roofline": cap
        and {
            **_fields(cap, "t_sat_s", "points"),
            "parameters": _json(cap.parameters, "times_s"),
            "t_sat": _json(cap.t_sat_s, "t_sat_s"),
            "capped": _json(cap.points, "points"),
        },
        "verdict": fit.verdict,
        "findings": [_finding(finding, fit.run) for finding in fit.findings],
    }


def _description(found: Description | None) -> dict[str, Any]:
    if found is None:
        return {"grade": None, "worst": [], "rms": None}
    worst_cells = [
        {"cell": cell.cell, "deviation": cell.deviation.estimate, "ci95": cell.deviation.ci95} for cell in found.worst
    ]
    return {"grade": found.grade, "worst": worst_cells, "rms": found.rms}


def _finding(finding: Finding, run: str) -> dict[str, Any]:
    return {"run": run, **asdict(finding)}
