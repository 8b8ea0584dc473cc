"""Deviations of a run from the published rules, and findings that make its result doubtful, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.results import Finding
from analysis.scenario.aggregates import EXACT_ROWS
from analysis.scenario.audit import AuditInput
from analysis.scenario.one_host import on_one_host
from analysis.scenario.results import ONE_HOST, AuditRow, AuditVerdict, PeriodResult, Recovery
from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.limits import LATENESS, LATENESS_FLOOR, LOAD_CPU
from workloads.scenario import limits
from workloads.scenario.model import Consumption
from workloads.scenario.periods import Period
from workloads.schema import BY_URL
from workloads.status import VerdictKind

#: Number of destinations named in a finding, those with the largest backlog.
NAMED = 5

#: Provider of the suite's own broker for tests.
_REFERENCE = "reference"


def store(material: AuditInput) -> str:
    """Where persistent messages were stored, and whether a confirmed message was on disk."""
    facts = _facts(material)
    options = facts.get("options") or {}
    words = [f"store={options['store']}"] if options.get("store") else []
    words += [f"sync={options['sync']}"] if options.get("sync") else []
    synced = {True: "synced", False: "not synced", None: "not known whether synced"}[_synced(material)]
    return f"{', '.join(words)}: {synced}" if words else synced


def deviations(material: AuditInput) -> tuple[str, ...]:
    """The deviations from the run rules, each with its section."""
    return (*_host(material), *_lengths(material), *_delivery(material), *_setting(material))


def _host(material: AuditInput) -> Iterator[str]:
    if on_one_host(material.cell.key.broker, _facts(material)):
        yield ONE_HOST


def _lengths(material: AuditInput) -> Iterator[str]:
    if material.killed:
        return
    for period, rule in material.cell.workload.lengths.items():
        length = material.elapsed_s(period) if period in material.periods else 0.0
        if length < rule.limit:
            yield f"the {period} of {length:.0f} s is shorter than {rule.limit:.0f} s (section 3.1)"
    if Period.REPEAT not in material.periods:
        yield "no repeated measurement (section 3.4)"
    elif material.elapsed_s(Period.REPEAT) < 0.999 * material.elapsed_s(Period.MEASUREMENT):
        yield "the repeated measurement is shorter than the first (section 3.4)"


def _delivery(material: AuditInput) -> Iterator[str]:
    plan, steps = material.cell.plan, material.cell.steps
    if any(step.transacted for step in steps) and plan["transactions"] != Transactions.FULL:
        words = {
            Transactions.SEND_ONLY: "messages consumed in a transaction are acknowledged outside it",
            Transactions.NONE: "there are no transactions",
        }
        yield f"{words[Transactions(plan['transactions'])]} (sections 4.2.2 and 4.3)"
    facts = _facts(material)
    row = facts.get("capabilities") or {}
    if any(step.transacted for step in steps) and not row.get("atomic", True):
        yield "a COMMIT is confirmed before the queues have its messages, and may take effect in part (section 4.3)"
    if plan["consumption"] != Consumption.STRICT:
        yield "a message may be delivered before the previous one is acknowledged (section 4.2.1)"
    if any(step.persistent for step in steps) and _synced(material) is not True:
        yield f"persistent messages may be confirmed before they are on disk: {store(material)} (section 5.1)"
    marked = row.get("crash_marked")
    kinds = {str(step.kind) for step in steps if step.persistent}
    if marked is not None and (unmarked := sorted(kinds - set(marked))):
        yield f"{' and '.join(unmarked)} redeliveries after a crash lack the redelivered flag (section 4.2.2)"
    if facts.get("provider") == BY_URL:
        yield "the broker was given by its URL: its host, configuration and store are not known (section 6.1)"
    if facts.get("provider") == _REFERENCE or str(facts.get("product", "")).lower().startswith(_REFERENCE):
        yield "the suite's own test broker is not a product (section 2.4)"


def _setting(material: AuditInput) -> Iterator[str]:
    yield from material.cell.model.deviations
    if material.cell.plan["arrivals"] != ArrivalProcess.CONSTANT:
        yield "starts are drawn at random, not paced (section 3.6.1)"


def findings(
    material: AuditInput, rows: Sequence[AuditRow], periods: Sequence[PeriodResult], backlog: Mapping[str, int],
    recovery: Recovery | None,
) -> Iterator[Finding]:  # fmt: skip
    """Failed tests, tests that were not judged, and further remarks."""
    broker = material.cell.key.broker
    for rule in dict.fromkeys(row.rule for row in rows):
        failed = [row for row in rows if row.rule == rule and row.verdict is AuditVerdict.FAIL]
        unjudged = [row for row in rows if row.rule == rule and row.verdict is AuditVerdict.NOT_JUDGED]
        if failed:
            places = "" if len(failed) == 1 else f" and {len(failed) - 1} more"
            yield Finding(
                f"{rule.name} fails",
                f"{failed[0].scope}: {failed[0].why or failed[0].observed}{places}",
                f"{rule.limit:g} {rule.unit}; {rule.source}",
                "there is no valid result at this BASE; `python -m analysis audit` lists every row, and the run "
                "directory has the broker's log",
                VerdictKind.INVALID,
                broker,
            )
        if unjudged:
            places = "" if len(unjudged) == 1 else f" and {len(unjudged) - 1} more"
            yield Finding(
                f"{rule.name} was not judged",
                f"{unjudged[0].scope}: {unjudged[0].why}{places}",
                f"{rule.limit:g} {rule.unit}; {rule.source}",
                "measure longer (--length official), or at a higher BASE",
                VerdictKind.UNVERIFIED,
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
            "at the destination with the largest backlog, the broker or its consumer does not keep up",
            broker=broker,
        )
    yield from _in_doubt(material, recovery)
    for period in periods:
        yield from _load(material, period)
    if sum(material.cell.run.manifest.get("rows", {}).get(table, 0) for table in ("received",)) > EXACT_ROWS:
        yield Finding(
            "percentiles are approximate",
            f"more than {EXACT_ROWS} deliveries",
            "their rank is off by 1/10000 at most",
            "no action needed; a p90 is between p89.99 and p90.01",
        )


def _in_doubt(material: AuditInput, recovery: Recovery | None) -> Iterator[Finding]:
    broker = material.cell.key.broker
    if recovery is not None:
        yield Finding(
            "the broker was killed",
            f"recovered after {recovery.seconds_to_recovery:.1f} s: {recovery.stored_at_the_kill} copies were received "
            f"after the kill, {recovery.redelivered} of them redelivered; {recovery.in_doubt} transactions with "
            f"unknown outcome; {store(material)}",
            f"{limits.RECOVERY.limit:g} {limits.RECOVERY.unit}; {limits.RECOVERY.source}",
            "killing a process loses its memory, but the operating system still writes its pending data to disk: "
            "whether the store was synced is known only from its configuration",
            broker=broker,
        )
        yield Finding(
            "non-persistent messages are not audited",
            "those in flight at the kill are lost",
            "only persistent messages must survive a crash of the broker (section 4.2)",
            "no action needed",
            broker=broker,
        )
    elif material.counts.in_doubt:
        yield Finding(
            "transactions in doubt",
            f"{sum(material.counts.in_doubt.values())} messages of unconfirmed transactions were not received",
            "0, unless a connection broke",
            "read the broker's log; these messages count neither as sent nor as lost",
            VerdictKind.UNVERIFIED,
            broker,
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
    workers: Any = material.cell.run.manifest["options"].get("workers", 1)
    if period.load_cpu > LOAD_CPU.limit * workers:
        yield Finding(
            f"load CPU in the {period.period}",
            f"{period.load_cpu:.0%} of a core for {workers} workers",
            f"{LOAD_CPU.limit:g} {LOAD_CPU.unit}",
            "the load generator itself may cause the delivery times: use more workers (--workers)",
            broker=broker,
        )


def _facts(material: AuditInput) -> dict[str, Any]:
    return dict(material.cell.run.manifest["brokers"].get(material.cell.key.broker, {}))


def _synced(material: AuditInput) -> bool | None:
    """Whether the store is synced, from the recorded capabilities or, in older records, from the options."""
    facts = _facts(material)
    known = (facts.get("capabilities") or {}).get("synced")
    options = facts.get("options") or {}
    if options.get("store") == "memory" or options.get("sync", "always") != "always":
        return False
    if known is None and options.get("sync") == "always":
        return True
    return known
