"""The results of analysing a throughput run, as plain values; computes no statistics and reads no files.

Units are in the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from analysis.results import CellKey, Claim, Finding, Interval, NotApplicable, most_severe_first, per, verdict
from workloads.manifest import StudyManifest
from workloads.schema import Window
from workloads.status import CellStatus, VerdictKind
from workloads.throughput.flow import Factor
from workloads.throughput.lanes import LaneAudit


@dataclass(frozen=True, slots=True)
class CellSummary:
    """The numbers of one cell; rates and times are over its counted slices, None where there is no counted slice."""

    key: CellKey
    profile: str
    factors: Mapping[str, Factor]
    #: the load shape that the cell asked for; None for the closed loop of the run
    pace: str | None
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
        return most_severe_first([*self.findings, *(finding for fit in self.fits for finding in fit.findings)])
