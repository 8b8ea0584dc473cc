"""Results of a run of faults as plain values: a broker's faults, and the repetitions of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from analysis.results import Finding, NotApplicable, verdict
from workloads.faults.accounting import Account, Promise
from workloads.faults.course import Course
from workloads.faults.faults import FaultBusiness, FaultCell
from workloads.manifest import FaultRunOptions, Manifest
from workloads.schema import FaultLifeRow
from workloads.status import VerdictKind


@dataclass(frozen=True, slots=True)
class Tenth:
    """What the load did in a tenth of a second, in messages per second."""

    #: Begin, s from the fault.
    at_s: float
    written_per_s: float
    confirmed_per_s: float
    delivered_per_s: float


@dataclass(frozen=True, slots=True)
class FaultRepetition:
    """A repetition of a fault."""

    number: int
    account: Account
    course: Course
    life: FaultLifeRow
    #: What it breaks of the promise, by the name of the count: in words, with the first messages.
    broken: Mapping[str, str]
    #: CPU seconds of the broker per second from the fault on until nothing was late; None where unknown.
    broker_cpu: float | None
    #: Its largest resident memory after the fault; None where unknown.
    broker_rss_bytes: int | None
    tenths: tuple[Tenth, ...]

    @property
    def failed(self) -> bool:
        """Whether a promise was broken, or the broker was not back in time."""
        return bool(self.broken or self.life.overdue)


@dataclass(frozen=True)
class FaultResult:
    """A fault in a mode of delivery, with its repetitions."""

    cell: FaultCell
    promise: Promise
    repetitions: tuple[FaultRepetition, ...]
    #: The load; None where it is that of the experiment.
    business: FaultBusiness | None = None

    @cached_property
    def account(self) -> Account:
        """Of all repetitions."""
        return sum((each.account for each in self.repetitions), Account())

    @property
    def failed(self) -> bool:
        return any(each.failed for each in self.repetitions)

    def spread(self, of: Callable[[FaultRepetition], float | None]) -> tuple[float, float, float] | None:
        """Median, smallest and largest value over the repetitions; None where one of them has none."""
        values = [of(each) for each in self.repetitions]
        known = [value for value in values if value is not None]
        return None if len(known) < len(values) or not known else (median(known), min(known), max(known))


@dataclass(frozen=True)
class BrokerFaults:
    """The faults of a broker in a run."""

    run: str
    path: str
    broker: str
    title: str
    manifest: Manifest
    options: FaultRunOptions
    faults: tuple[FaultResult, ...]
    not_applicable: tuple[NotApplicable, ...]
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> VerdictKind:
        return verdict(self.findings)

    @property
    def audit_failed(self) -> bool:
        return any(fault.failed for fault in self.faults)

    @property
    def disclaimers(self) -> tuple[str, ...]:
        """To be said with the result."""
        return tuple(dict.fromkeys(fault.business.disclaimer for fault in self.faults if fault.business is not None))

    @property
    def repetitions(self) -> list[FaultRepetition]:
        return [each for fault in self.faults for each in fault.repetitions]
