"""What an analysis of a business workload says, as plain values. Nothing here computes a statistic or reads a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from analysis.results import CellKey, Finding, NotApplicable
from workloads.limits import Rule
from workloads.registry import WORKLOADS
from workloads.scenario.periods import Period
from workloads.scenario.workload import Model, Workload
from workloads.schema import Severity
from workloads.status import VerdictKind

#: A deviation from the run rules that leaves a result compliant.
ONE_HOST = "clients and server share one host (section 3.9)"


class AuditVerdict(StrEnum):
    """NOT_JUDGED: the run is too short, or something is not known, for the test to say anything; `why` has it."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One test at one place."""

    rule: Rule
    #: As in "interaction 2", "SM1 orderConf", "run".
    scope: str
    #: In the rule's unit, a relative deviation with its sign; None where there is nothing to observe.
    observed: float | None
    verdict: AuditVerdict
    #: The count that the model has.
    expected: float | None = None
    #: Of a failure the first example, else why it was not judged.
    why: str = ""
    #: None where the test is about the whole run.
    period: Period | None = None


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """All rows of one rule in one period, and the worst of them: failed before not judged, then the farthest off."""

    worst: AuditRow
    rows: int
    failed: int
    not_judged: int


def tests(audit: Sequence[AuditRow]) -> tuple[AuditCheck, ...]:
    """In the order in which the rules stand."""
    groups: dict[tuple[Rule, Period | None], list[AuditRow]] = {}
    for row in audit:
        groups.setdefault((row.rule, row.period), []).append(row)
    return tuple(
        AuditCheck(
            max(rows, key=lambda row: (_GRAVITY.index(row.verdict), abs(row.observed or 0.0))),
            len(rows),
            sum(row.verdict is AuditVerdict.FAIL for row in rows),
            sum(row.verdict is AuditVerdict.NOT_JUDGED for row in rows),
        )
        for rows in groups.values()
    )


_GRAVITY = (AuditVerdict.PASS, AuditVerdict.NOT_JUDGED, AuditVerdict.FAIL)


@dataclass(frozen=True, slots=True)
class DeliveryTimes:
    """Percentiles, in ms; of no message, None."""

    count: int
    p50_ms: float | None = None
    p90_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None


@dataclass(frozen=True, slots=True)
class InteractionResult:
    """An interaction in one period.

    planned_per_s, started_per_s: executions · sent, received: messages, with what the model expects of the rate ·
    pacing_misses: starts that were behind schedule · completed: executions started in the period whose every message
    was sent and received, in the end · end_to_end: from the first message's sending to the last one's receipt.
    """

    number: int
    title: str
    planned_per_s: float
    started: int
    started_per_s: float
    sent: int
    expected_sent: float
    received: int
    expected_received: float
    pacing_misses: int
    completed: int
    end_to_end: DeliveryTimes


@dataclass(frozen=True, slots=True)
class StepResult:
    """A message of the workload in one period; delivery: sent to received, of those received in the period."""

    interaction: int
    message: str
    sent: int
    received: int
    received_bytes: int
    delivery: DeliveryTimes


@dataclass(frozen=True, slots=True)
class HandlerResult:
    """An event handler in one period; `place` as in SM1."""

    handler: int
    place: str
    message: str
    received: int
    delivery: DeliveryTimes


@dataclass(frozen=True, slots=True)
class PeriodResult:
    """A measured period.

    broker_cpu, load_cpu: in cores; None where unknown · load_us_per_message: CPU time of the load per message sent or
    received · store_growth_bytes_per_s: of the broker's files.
    """

    period: Period
    seconds: float
    sent_per_s: float
    received_per_s: float
    received_kb_per_s: float
    broker_cpu: float | None
    load_cpu: float
    load_us_per_message: float | None
    store_growth_bytes_per_s: float | None
    lateness: DeliveryTimes
    interactions: tuple[InteractionResult, ...]
    steps: tuple[StepResult, ...]
    handlers: tuple[HandlerResult, ...]


@dataclass(frozen=True, slots=True)
class Recovery:
    """The broker was killed under load and started again with nobody connected.

    seconds_to_recovery: from the kill to the last receipt of a message that was sent before · stored_at_the_kill:
    copies that came afterwards · redelivered: of these, those that had been delivered before · in_doubt: transactions
    of which nobody heard whether they took effect.
    """

    seconds_to_recovery: float
    stored_at_the_kill: int
    redelivered: int
    in_doubt: int


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the run, for pictures: counted from the begin of the load.

    received: first copies · backlog: copies sent, of messages that count, and not yet received at its end.
    """

    second: int
    sent: int
    received: int
    backlog: int
    broker_cpu: float | None
    delivery_p50_ms: float | None
    delivery_p90_ms: float | None


@dataclass(frozen=True, slots=True)
class PeriodSlice:
    """What a destination delivered in one slice of the run, in ms from sending to receipt; see `slice_s`."""

    message: str
    destination: str
    begin_s: float
    copies: int
    p50_ms: float
    p90_ms: float


@dataclass(frozen=True, slots=True)
class Span:
    """A period of the run, its begin counted from that of the load."""

    period: Period
    begin_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class LoggedWarnings:
    """What the log of the broker's start, or a library of the load, warned of, and how often.

    source: which log · text: the first one; those that differ in numbers only are counted with it · first: its instant,
    as it stands there.
    """

    source: str
    severity: Severity
    text: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class Warnings:
    """Of a start. logged: whether the broker's log is known · others: messages beyond those that the run has kept."""

    logged: bool
    messages: tuple[LoggedWarnings, ...] = ()
    others: int = 0

    def count(self, severity: Severity) -> int:
        return sum(one.count for one in self.messages if one.severity is severity)


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """A cell of a workload."""

    run: str
    path: Path
    key: CellKey
    broker_title: str
    #: The name of the model.
    topology: str
    base: int
    consumption: str
    transactions: str
    #: Those that were measured.
    periods: tuple[PeriodResult, ...]
    audit: tuple[AuditRow, ...]
    recovery: Recovery | None
    findings: tuple[Finding, ...]
    #: From the run rules, each with its section.
    deviations: tuple[str, ...]
    verdict: VerdictKind
    seconds: tuple[Second, ...]
    #: By message name.
    seconds_by_step: Mapping[str, tuple[Second, ...]]
    #: Percentiles by destination and time.
    slices: tuple[PeriodSlice, ...]
    #: Length of a slice.
    slice_s: int
    backlog_by_destination: Mapping[str, int]
    #: The entry of the cell in plan.json.
    plan: Mapping[str, Any]
    #: All of it.
    manifest: Mapping[str, Any]
    #: All periods.
    spans: tuple[Span, ...] = ()
    #: Where persistent messages were kept, and whether synced.
    store: str = ""
    #: Cells of this run that a broker cannot do.
    not_applicable: tuple[NotApplicable, ...] = ()
    #: Of the broker's start, in whichever cell they came.
    warnings: Warnings = Warnings(logged=False)

    @property
    def workload(self) -> Workload:
        return WORKLOADS[self.plan["workload"]]

    @property
    def model(self) -> Model:
        """Rebuilt from the plan."""
        return self.workload.from_json(self.plan["topology"])

    @property
    def figure_name(self) -> str:
        """Of our own figure."""
        return self.workload.figure_name(self.topology)

    @property
    def passes(self) -> bool:
        """No test failed; some may not have been judged."""
        return not self.failed

    @property
    def first_failure(self) -> str | None:
        """The test and the place, in the order of the rules."""
        return f"{self.failed[0].rule.name}, {self.failed[0].scope}" if self.failed else None

    @property
    def tests(self) -> tuple[AuditCheck, ...]:
        """One for each rule and period."""
        return tests(self.audit)

    @property
    def unjudged(self) -> tuple[AuditRow, ...]:
        return tuple(row for row in self.audit if row.verdict is AuditVerdict.NOT_JUDGED)

    @property
    def p90_ms(self) -> float | None:
        """Of the delivery time at the slowest event handler, in the measurement; None where nothing was received."""
        handlers = () if self.measured is None else self.measured.handlers
        return max((one.delivery.p90_ms for one in handlers if one.delivery.p90_ms is not None), default=None)

    @property
    def failed(self) -> tuple[AuditRow, ...]:
        """In the order in which the tests stand; the first of them is named first."""
        return tuple(row for row in self.audit if row.verdict is AuditVerdict.FAIL)

    @property
    def compliant(self) -> bool:
        """By the run rules, but for having clients and server on one host."""
        return self.verdict == VerdictKind.VALID and set(self.deviations) <= {ONE_HOST}

    @property
    def measured(self) -> PeriodResult | None:
        """The measurement period; None in a run without one."""
        return next((one for one in self.periods if one.period is Period.MEASUREMENT), None)


def disclaimers(results: Sequence[WorkloadResult]) -> tuple[str, ...]:
    """Of the workloads that the results are of, each once."""
    return tuple(dict.fromkeys(result.workload.disclaimer for result in results))
