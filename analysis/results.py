"""The values that results of every kind of run consist of. Nothing here computes a statistic or reads a file.

Units are in the names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workloads.exit_codes import ExitCode
from workloads.status import ClaimVerdict, VerdictKind

#: Version of the JSON objects of throughput runs and of reports; increased when the meaning of a key changes.
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


def most_severe_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, each once, by their consequence."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: -_SEVERITY.index(finding.consequence)))


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
