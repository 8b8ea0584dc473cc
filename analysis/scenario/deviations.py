"""Deviations of a run from its workload's run rules, and findings that make its result doubtful, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.results import Finding
from analysis.scenario.aggregates import EXACT_ROWS, ROUNDED_BITS
from analysis.scenario.audit import AuditInput
from analysis.scenario.one_host import on_one_host
from analysis.scenario.results import AuditRow, AuditVerdict, PeriodResult
from workloads.command_line import analysing
from workloads.limits import LATENESS, LATENESS_FLOOR, LOAD_CPU, Rule
from workloads.scenario import limits
from workloads.scenario.deviations import Conduct
from workloads.scenario.periods import Period
from workloads.schema import BY_URL
from workloads.status import VerdictKind

#: Number of addresses named in a finding, those with the largest backlog.
NAMED = 5

#: Provider of the suite's own broker for tests.
_REFERENCE = "reference"

_NO_RESULT = (
    f"there is no valid result at this BASE; `{analysing('audit')}` lists every row, and the run directory has the "
    "broker's log"
)

#: What a verdict of a test means for the result: the words, and the consequence.
_CONSEQUENCES = {
    AuditVerdict.FAIL: ("fails", VerdictKind.INVALID),
    AuditVerdict.NOT_JUDGED: ("was not judged", VerdictKind.UNVERIFIED),
}


def store(material: AuditInput) -> str:
    """Where persistent messages were stored, and whether a confirmed message was on disk."""
    broker = material.cell.broker
    words = [f"{name}={value}" for name in ("store", "sync") if (value := broker.options.get(name))]
    synced = {True: "synced", False: "not synced", None: "not known whether synced"}[broker.capabilities.synced]
    return f"{', '.join(words)}: {synced}" if words else synced


def deviations(material: AuditInput) -> tuple[str, ...] | None:
    """The deviations from the run rules of the workload, each with its section; None if it has no run rules."""
    rows = material.cell.workload.deviations
    if rows is None:
        return None
    run = conduct(material)
    return tuple(str(row).format(run=run) for row in rows if row.applies(run))


def conduct(material: AuditInput) -> Conduct:
    """How the run of a cell was conducted."""
    cell, broker = material.cell, material.cell.broker
    return Conduct(
        published=cell.model.published,
        one_host=on_one_host(cell.key.broker, broker.provider),
        by_url=broker.provider == BY_URL,
        reference=_REFERENCE in {broker.provider, (broker.product or "").lower()[: len(_REFERENCE)]},
        store=store(material),
        synced=broker.capabilities.synced,
        atomic=broker.capabilities.atomic,
        lengths_s={period: material.elapsed_s(period) if period in material.periods else 0.0 for period in Period},
        consumption=cell.plan.consumption,
        transactions=cell.plan.transactions,
        arrivals=cell.plan.arrivals,
        transacted=any(step.transacted for step in cell.steps),
        kept=frozenset(step.kind for step in cell.steps if step.kept),
        crash_marked=frozenset(broker.capabilities.crash_marked),
    )


def findings(
    material: AuditInput, rows: Sequence[AuditRow], periods: Sequence[PeriodResult], backlog: Mapping[str, int]
) -> Iterator[Finding]:
    """Failed tests, tests that were not judged, and further remarks."""
    broker = material.cell.key.broker
    for rule in dict.fromkeys(row.rule for row in rows):
        for verdict, (words, consequence) in _CONSEQUENCES.items():
            if found := [row for row in rows if row.rule == rule and row.verdict is verdict]:
                more = "" if len(found) == 1 else f" and {len(found) - 1} more"
                yield Finding(
                    f"{rule.name} {words}",
                    f"{found[0].scope}: {found[0].why or found[0].observed}{more}",
                    f"{rule.limit:g} {rule.unit}; {rule.source}",
                    _NO_RESULT if verdict is AuditVerdict.FAIL else _longer(rule, found),
                    consequence,
                    broker,
                )
    behind = sum(backlog.values()) > sum(period.received_per_s for period in periods[:1])
    if behind and any(row.verdict is AuditVerdict.FAIL for row in rows):
        named = ", ".join(f"{name} {number}" for name, number in list(backlog.items())[:NAMED])
        more = f", and {len(backlog) - NAMED} more" if len(backlog) > NAMED else ""
        yield Finding(
            "backlog at the end of the measurement",
            f"{sum(backlog.values())} copies: {named}{more}",
            "the copies received in one second",
            "at the address with the largest backlog, the broker or its consumer does not keep up",
            broker=broker,
        )
    yield from _in_doubt(material)
    for period in periods:
        yield from _load(material, period)
    if not material.counts.exact:
        yield Finding(
            "percentiles are of rounded times",
            f"more than {EXACT_ROWS} deliveries in the runs that were read",
            f"each time is rounded by 1/{1 << ROUNDED_BITS} of it at most",
            "no action needed; a p90 of 100 ms is between 99.9 and 100.1 ms",
        )


def _longer(rule: Rule, rows: Sequence[AuditRow]) -> str:
    """What suffices for tests to be judged."""
    option, what = ("--warmup-seconds", "warm up") if rule is limits.LEVEL else ("--measurement-seconds", "measure")
    known = [row.suffices_s for row in rows if row.suffices_s is not None]
    longer = f"{what} longer ({option}{f' {max(known)} suffices' if len(known) == len(rows) else ''})"
    return longer if rule is limits.BACKLOG else f"{longer}, or at a higher BASE"


def _in_doubt(material: AuditInput) -> Iterator[Finding]:
    if material.counts.in_doubt:
        yield Finding(
            "transactions in doubt",
            f"{sum(material.counts.in_doubt.values())} messages of unconfirmed transactions were not received",
            "0, unless a connection broke",
            "read the broker's log; these messages count neither as sent nor as lost",
            VerdictKind.UNVERIFIED,
            material.cell.key.broker,
        )


def _load(material: AuditInput, period: PeriodResult) -> Iterator[Finding]:
    """Findings about the load generator; the verdict depends on the rule of pacing misses only."""
    broker, late = material.cell.key.broker, period.lateness
    slowest = max((handler.delivery.p99_ms or 0.0 for handler in period.handlers), default=0.0)
    limit = max(LATENESS_FLOOR.limit * 1e3, LATENESS.limit * slowest)
    if late.p99_ms is not None and late.p99_ms > limit:
        yield Finding(
            f"generator lateness in the {period.period}",
            f"p99 of the starts {late.p99_ms:.1f} ms late, p90 {late.p90_ms:.1f} ms",
            f"{limit:.1f} ms, a tenth of the slowest handler's p99; the rules allow 20 % pacing misses",
            "assign a separate CPU to the load, or choose a lower BASE",
            broker=broker,
        )
    workers = material.cell.run.options.all_workers
    if period.load_cpu > LOAD_CPU.limit * workers:
        yield Finding(
            f"load CPU in the {period.period}",
            f"{period.load_cpu:.0%} of a core for {workers} workers",
            f"{LOAD_CPU.limit:g} {LOAD_CPU.unit}",
            "the load generator itself may cause the delivery times: use more workers (--workers)",
            broker=broker,
        )
