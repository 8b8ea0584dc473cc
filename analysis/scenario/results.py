"""The results of analysing a business workload, as plain values; computes no statistics and reads no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from analysis.results import CellKey, Finding, Interval, NotApplicable
from analysis.scenario.one_host import on_one_host
from workloads.limits import Rule
from workloads.manifest import BrokerRecord, LoggedMessage, Manifest
from workloads.registry import WORKLOADS
from workloads.scenario import deviations
from workloads.scenario.model import Consumption
from workloads.scenario.periods import Period
from workloads.scenario.published_flows import PublishedFlow
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.scenario.workload import Model, Workload
from workloads.schema import Severity
from workloads.status import VerdictKind

#: The deviation from the run rules that leaves a result compliant.
ONE_HOST = str(deviations.ONE_HOST)


class AuditVerdict(StrEnum):
    """The verdict of a test; NOT_JUDGED: the run is too short or a value is missing, see `AuditRow.why`."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One test of the audit, applied to one place: an interaction, an event handler, a destination or the whole run."""

    rule: Rule
    #: The place, for example "interaction 2", "SM1 orderConf" or "run".
    scope: str
    #: The observed value in the rule's unit; relative deviations are signed. None if there was nothing to observe.
    observed: float | None
    verdict: AuditVerdict
    #: The count that the model predicts.
    expected: float | None = None
    #: After a failure the first example; after a pass what was tested, where that is not in the rule; otherwise the
    #: reason why the test was not judged.
    why: str = ""
    #: None if the test covers the whole run.
    period: Period | None = None
    #: If it was not judged, the length in s with which it would be: of the warm-up for the rule of steady throughput,
    #: otherwise of the measurement. None if that is not known.
    suffices_s: int | None = None


@dataclass(frozen=True, slots=True)
class DeliveryTimes:
    """Percentiles and mean of a duration, in ms; None if there was no message."""

    #: Messages measured.
    count: int
    p50_ms: float | None = None
    p90_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    #: The exact sum over all messages, divided by their number.
    mean_ms: float | None = None


@dataclass(frozen=True, slots=True)
class InteractionResult:
    """The counts and times of an interaction in one period."""

    number: int
    title: str
    #: Planned executions per second.
    planned_per_s: float
    #: Executions started, and those that the model predicts: of Poisson arrivals, the plan as drawn.
    started: int
    expected_started: float
    #: Executions started per second.
    started_per_s: float
    #: Messages sent.
    sent: int
    #: Messages that the model predicts at the planned rate.
    expected_sent: float
    #: Messages received.
    received: int
    #: Messages that the model predicts at the planned rate.
    expected_received: float
    #: Starts that missed their schedule by more than one mean gap.
    pacing_misses: int
    #: Executions started in the period whose messages were all sent and received by the end of the run.
    completed: int
    #: From sending the first message of an execution to receiving its last one.
    end_to_end: DeliveryTimes


@dataclass(frozen=True, slots=True)
class StepResult:
    """A message type of the workload in one period."""

    #: Number of the interaction.
    interaction: int
    #: Name of the message type.
    message: str
    sent: int
    received: int
    received_bytes: int
    #: From sending to receipt, of the messages received in the period.
    delivery: DeliveryTimes


@dataclass(frozen=True, slots=True)
class HandlerResult:
    """An event handler in one period."""

    #: Number of the event handler in the plan.
    handler: int
    #: Name of its location, for example SM1.
    place: str
    #: Name of the message type that it consumes.
    message: str
    received: int
    #: From sending to receipt.
    delivery: DeliveryTimes


@dataclass(frozen=True, slots=True)
class DestinationResult:
    """A destination of the broker in one period."""

    #: Number of the destination in the plan.
    destination: int
    name: str
    #: Copies received.
    received: int
    #: From sending to receipt, of all its addresses.
    delivery: DeliveryTimes


@dataclass(frozen=True, slots=True)
class PeriodResult:
    """A measured period."""

    period: Period
    #: Length of the period.
    seconds: float
    #: Messages sent per second.
    sent_per_s: float
    #: Copies received per second.
    received_per_s: float
    received_kb_per_s: float
    #: CPU use of the broker, in cores; None if unknown.
    broker_cpu: float | None
    #: CPU use of the load generator, in cores.
    load_cpu: float
    #: CPU time of the load generator per message sent or received, in us; None if unknown.
    load_us_per_message: float | None
    #: Growth of the broker's files; None if unknown.
    store_growth_bytes_per_s: float | None
    #: From the planned instant of a start to its sending.
    lateness: DeliveryTimes
    #: From sending to receipt, of all copies received in the period.
    delivery: DeliveryTimes
    interactions: tuple[InteractionResult, ...]
    steps: tuple[StepResult, ...]
    handlers: tuple[HandlerResult, ...]
    destinations: tuple[DestinationResult, ...]

    @property
    def broker_s_per_message(self) -> float | None:
        """CPU time of the broker per message sent or received, in s; None if unknown."""
        messages_per_s = self.sent_per_s + self.received_per_s
        return None if self.broker_cpu is None or not messages_per_s else self.broker_cpu / messages_per_s


@dataclass(frozen=True, slots=True)
class PopulationResult:
    """The subscriptions of a population in one period; a planned number is that of its law."""

    #: Number of the population in the scenario.
    number: int
    label: str
    period: Period
    #: Joins that were begun, and those planned.
    joins: int
    planned_joins: int
    #: Leaves that were begun, and those planned.
    leaves: int
    planned_leaves: int
    #: Joins and leaves that were due, and those of them that were later than one mean gap, or never begun.
    due: int
    late: int
    #: Time average of the subscriptions from the receipt of SUBSCRIBE to the writing of UNSUBSCRIBE, and that planned.
    standing: float
    planned_standing: float
    #: From the writing of SUBSCRIBE to its receipt.
    join: DeliveryTimes
    #: From the planned instant to the receipt, with the lateness of the load generator.
    join_planned: DeliveryTimes
    #: When a join took effect lies between these two, from the writing of SUBSCRIBE on: the last message that the
    #: subscription did not get, as far as there is one, and the receipt of the SEND of the first that it got.
    effect_after: DeliveryTimes
    effect_before: DeliveryTimes
    #: From the writing of UNSUBSCRIBE to its receipt.
    leave: DeliveryTimes


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The sessions of a population over the whole run."""

    label: str
    #: Sessions that should have begun.
    planned: int
    #: Those that did not connect, subscribe, or send what was planned.
    failed: int
    #: From the opening of a connection to the accepted login.
    connect: DeliveryTimes
    #: From the opening of a connection to the receipt of SUBSCRIBE.
    join: DeliveryTimes
    #: From UNSUBSCRIBE to the confirmed end of the connection.
    leave: DeliveryTimes


@dataclass(frozen=True, slots=True)
class CopyCounts:
    """Copies of a message type over the whole run, by what its subscriptions had to get.

    The copies of event handlers are included: their subscriptions stand all the time.
    """

    #: Name of the message type.
    message: str
    sent: int
    #: Copies that had to come, and those of them that came.
    must: int
    must_received: int
    #: Copies that could come, and those of them that came.
    may: int
    may_received: int
    #: Copies that came and must not have come.
    must_not: int
    #: Of those that could come: received after the receipt of UNSUBSCRIBE.
    behind: int
    #: Of those that could come: received while that receipt was awaited.
    closing: int


@dataclass(frozen=True, slots=True)
class RankTimes:
    """Delivery times of the copies that have the same place among the copies of their message, in a period."""

    #: Name of the message type.
    message: str
    period: Period
    #: The place: first, last, or between.
    place: str
    delivery: DeliveryTimes


@dataclass(frozen=True, slots=True)
class SetupResult:
    """The subscribing of the initial members, before the load."""

    seconds: float
    subscriptions: int
    #: Subscriptions per second.
    per_s: float


@dataclass(frozen=True, slots=True)
class SubscriptionMemory:
    """The broker's memory for subscriptions; None where it is not known."""

    #: What was measured.
    source: str
    #: Of a subscription: the growth in the set-up, per subscription.
    bytes_per_subscription: float | None
    #: Subscriptions that left, in the measured periods and up to the end of the run.
    departed: int
    #: What a departed subscription leaves behind: slope of the lower envelope over the departures of the measured
    #: periods.
    bytes_per_departed: Interval | None
    #: The growth from before the set-up to when all have left, per departed subscription.
    left_per_departed: float | None
    #: Why the slope is not judged; empty if it is.
    not_judged: str


@dataclass(frozen=True, slots=True)
class FlowResult:
    """A row of the published table of flows: measured values beside those of the model."""

    #: Of the model.
    published: PublishedFlow
    #: In the same units.
    sent: float
    subscriptions: float
    publishers: float
    joins: float
    leaves: float
    publisher_joins: float
    #: Copies per message; None if nothing was sent.
    factor: float | None


@dataclass(frozen=True, slots=True)
class ChurnSecond:
    """One second of the subscriptions of members."""

    #: Number of the second, from the start of the load.
    second: int
    #: Subscriptions at its end.
    standing: int
    joins: int
    leaves: int


@dataclass(frozen=True, slots=True)
class JoinSlice:
    """The latency of joins in one slice of the run."""

    #: Start of the slice, in seconds from the start of the load.
    begin_s: float
    p50_ms: float
    p90_ms: float


@dataclass(frozen=True, slots=True)
class ChurnResult:
    """What came and went in a cell with populations."""

    #: By period and population.
    populations: tuple[PopulationResult, ...]
    sessions: tuple[SessionResult, ...]
    copies: tuple[CopyCounts, ...]
    ranks: tuple[RankTimes, ...]
    #: None if it was not recorded.
    setup: SetupResult | None
    memory: SubscriptionMemory
    #: The measurement beside the published table; none if the workload has none.
    flows: tuple[FlowResult, ...]
    seconds: tuple[ChurnSecond, ...]
    slices: tuple[JoinSlice, ...]


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the run, as plotted in the figures."""

    #: Number of the second, from the start of the load.
    second: int
    #: Messages sent.
    sent: int
    #: Copies received for the first time; redeliveries are not counted.
    received: int
    #: Copies of messages that count as sent, not yet received at the end of the second.
    backlog: int
    #: CPU use of the broker, in cores; None if unknown.
    broker_cpu: float | None
    delivery_p50_ms: float | None
    delivery_p90_ms: float | None


@dataclass(frozen=True, slots=True)
class PeriodSlice:
    """The delivery times of an address in one slice of the run; `WorkloadResult.slice_s` is a slice's length."""

    #: Name of the message type.
    message: str
    #: Label of the address.
    address: str
    #: Start of the slice, in seconds from the start of the load.
    begin_s: float
    #: 90th percentile of the time from sending to receipt, of the copies delivered in the slice.
    p90_ms: float


@dataclass(frozen=True, slots=True)
class Span:
    """A period of the run."""

    period: Period
    #: Start of the period, in seconds from the start of the load.
    begin_s: float
    #: Length of the period.
    seconds: float


@dataclass(frozen=True, slots=True)
class LoggedWarnings(LoggedMessage):
    """Warnings in the log of a broker start or of a library of the load generator."""

    #: Name of the log.
    source: str


@dataclass(frozen=True, slots=True)
class Warnings:
    """The warnings and errors of one broker start."""

    #: Whether the broker's log is known.
    logged: bool
    messages: tuple[LoggedWarnings, ...] = ()
    #: Number of messages that exceeded the limit of what a run keeps.
    others: int = 0

    def count(self, severity: Severity) -> int:
        return sum(message.count for message in self.messages if message.severity is severity)


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """The result of one cell of a business workload."""

    #: Name of the run.
    run: str
    #: Run directory.
    path: Path
    key: CellKey
    #: Name of the model.
    topology: str
    #: Scale of the workload.
    base: int
    transactions: str
    #: The measured periods.
    periods: tuple[PeriodResult, ...]
    audit: tuple[AuditRow, ...]
    findings: tuple[Finding, ...]
    #: Deviations from the run rules, each with its section; None if no run rules are published for the workload.
    deviations: tuple[str, ...] | None
    verdict: VerdictKind
    seconds: tuple[Second, ...]
    #: Seconds of each message type, by its name.
    seconds_by_step: Mapping[str, tuple[Second, ...]]
    #: Delivery times by address and time.
    slices: tuple[PeriodSlice, ...]
    #: Length of a slice, in whole seconds.
    slice_s: int
    #: Copies not yet received at the end of the measurement, by label of the address, the most first.
    backlog_by_address: Mapping[str, int]
    #: The same copies by name of the broker's destination.
    backlog_by_destination: Mapping[str, int]
    #: The entry of the cell in plan.json.
    plan: ScenarioPlan
    #: Of the run.
    manifest: Manifest
    #: All periods of the run, measured or not.
    spans: tuple[Span, ...] = ()
    #: Where persistent messages were stored, and whether the store was synced.
    store: str = ""
    #: Cells of this run that a broker does not support.
    not_applicable: tuple[NotApplicable, ...] = ()
    #: Subscriptions that come and go; None in a workload without populations.
    churn: ChurnResult | None = None
    #: Warnings of the broker start; they may stem from any cell of that start.
    warnings: Warnings = Warnings(logged=False)

    @property
    def workload(self) -> Workload:
        return WORKLOADS[self.plan.workload]

    @property
    def model(self) -> Model:
        """The model, made again of its request."""
        return self.workload.model_of(self.plan.request)

    @property
    def broker(self) -> BrokerRecord:
        """The broker as it was started."""
        return self.manifest.brokers[self.key.broker]

    @property
    def consumption(self) -> Consumption:
        return self.plan.consumption

    @property
    def one_host(self) -> bool:
        """Whether clients and server ran on one host."""
        return on_one_host(self.key.broker, self.broker.provider)

    @property
    def figure_name(self) -> str:
        """Name of this suite's own figure of merit."""
        return self.workload.figure_name(self.topology)

    @property
    def figure(self) -> int:
        """Its value, where the audit passed."""
        return self.workload.figure_value(self.model)

    @property
    def audit_failed(self) -> bool:
        """Whether a test failed; others may not have been judged."""
        return bool(self.failed)

    @property
    def first_failure(self) -> str | None:
        """The first failed test and its place, in the order of the rules."""
        return f"{self.failed[0].rule.name}, {self.failed[0].scope}" if self.failed else None

    @property
    def p90_ms(self) -> float | None:
        """90th percentile of the delivery time at the slowest event handler in the measurement period, in ms.

        None if nothing was received.
        """
        handlers = () if self.measured is None else self.measured.handlers
        percentiles = (handler.delivery.p90_ms for handler in handlers)
        return max((value for value in percentiles if value is not None), default=None)

    @property
    def failed(self) -> tuple[AuditRow, ...]:
        """The failed rows, in the order of the tests."""
        return tuple(row for row in self.audit if row.verdict is AuditVerdict.FAIL)

    @property
    def compliant(self) -> bool | None:
        """Whether the result is valid and deviates from the run rules at most by running everything on one host.

        None if no run rules are published for the workload.
        """
        if self.deviations is None:
            return None
        return self.verdict == VerdictKind.VALID and set(self.deviations) <= {ONE_HOST}

    @property
    def measured(self) -> PeriodResult | None:
        """The measurement period; None in a run without one."""
        return next((result for result in self.periods if result.period is Period.MEASUREMENT), None)


def disclaimers(results: Sequence[WorkloadResult]) -> tuple[str, ...]:
    """The disclaimers of the results' workloads, each of them once."""
    return tuple(dict.fromkeys(result.workload.disclaimer for result in results))
