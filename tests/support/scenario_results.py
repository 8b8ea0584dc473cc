"""Results of a workload, made up by hand: what an analysis would say of a run, without a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.record_reading import read
from analysis.results import CellKey, Finding
from analysis.scenario.results import (
    AuditRow,
    AuditVerdict,
    DeliveryTimes,
    DestinationResult,
    HandlerResult,
    InteractionResult,
    PeriodResult,
    PeriodSlice,
    Second,
    Span,
    StepResult,
    WorkloadResult,
)
from tests.support import run_directories as rd
from tests.support.scenario_runs import request_of
from workloads import jms2009ps
from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.parameters import Configuration
from workloads.manifest import Manifest
from workloads.scenario import limits
from workloads.scenario.model import Consumption
from workloads.scenario.periods import LENGTHS, Period
from workloads.scenario.scenario_plan import ScenarioPlan
from workloads.schema import RunKind
from workloads.status import VerdictKind
from workloads.supply_chain.characterization import Traffic, by_interaction
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Topology, vertical

HOST = {
    "kernel": "6.1.0",
    "machine": "x86_64",
    "cpu_model": "AMD EPYC",
    "cpus": 2,
    "cpus_available": [0, 1],
    "memory_bytes": 24 * 2**30,
    "python": "CPython 3.11.7",
    "platform": "Linux-6.1.0-x86_64",
    "packages": {"numpy": "2.1.0", "pyarrow": "18.0"},
    "system": None,
    "os": "Debian GNU/Linux 12 (bookworm)",
    "cpu_sockets": 1,
    "cpu_cores": 2,
    "cpu_mhz": 2600,
    "cpu_caches": {"L1 data": "32K for CPU 0", "L2": "1024K for CPU 0", "L3": "32768K for CPU 0-1"},
    "store": {
        "filesystem": "ext4",
        "disk": None,
        "disk_rotates": False,
        "disk_write_cache": "write back",
        "size_bytes": 270 * 10**9,
        "free_bytes": 75 * 10**9,
    },
}

#: With the whole disk's caution: clients and server on one host.
#: Of the percentiles over time of each address.
SLICE_S = 5

DEVIATION = "clients and server share one host (section 3.9)"


def times(count: int, p50_ms: float) -> DeliveryTimes:
    if not count:
        return DeliveryTimes(0)
    return DeliveryTimes(count, p50_ms, 1.6 * p50_ms, 3.2 * p50_ms, 7.5 * p50_ms, 1.2 * p50_ms)


def result(
    topology: Topology | None = None,
    *,
    model: SupplyChain | None = None,
    workload: str = "specjms2007",
    cell: str | None = None,
    start: int = 1,
    repeat: bool = False,
    broker: str = "activemq",
    seconds: int | None = None,
    p50_ms: float = 3.0,
    growth_bytes_per_s: float | None = 41_500.0,
    run: str = "20260101T000000000Z-specjms2007-vertical",
    path: Path = Path("results/20260101T000000000Z-specjms2007-vertical"),
    options: dict[str, Any] | None = None,
    **changes: Any,
) -> WorkloadResult:
    """A run of `short` lengths in which everything went as it should; its messages are those of the model.

    model: of another workload; otherwise that of the topology
    """
    model = model or SupplyChain(topology or vertical(5))
    topology = model.topology
    lengths = LENGTHS["short"]
    cell = cell or f"{topology.name}-b{topology.base:04d}"
    scenario = model.scenario
    plan = ScenarioPlan.of(
        workload,
        request_of(workload, model),
        model,
        cell,
        consumption=Consumption.STRICT,
        transactions=Transactions.FULL,
        arrivals=ArrivalProcess.CONSTANT,
        seed=1,
        length="short",
        lengths=lengths,
        repeat=repeat,
    )
    measured = (Period.MEASUREMENT, Period.REPEAT) if repeat else (Period.MEASUREMENT,)
    traffic = by_interaction(topology)
    periods = tuple(
        _period(topology, traffic, scenario, one, lengths.measurement_s, p50_ms, growth_bytes_per_s) for one in measured
    )
    spans, at = [], 0.0
    under_load = ((Period.WARM_UP, lengths.warm_up_s), *((one, lengths.measurement_s) for one in measured))
    for period, length in (*under_load, (Period.DRAIN, 1.4)):
        spans.append(Span(period, at, length))
        at += length
    manifest = rd.manifest(
        kind=str(RunKind.WORKLOAD),
        host=HOST,
        brokers={
            broker: rd.broker_facts(
                java="17.0.15",
                cpus=[1],
                flags=["-Xmx1024m", "-XX:+UseSerialGC"],
                flags_in_effect=["-XX:MaxHeapSize=1073741824"],
                options={
                    "heap": "1024m",
                    "gc": "serial",
                    "connector": "stomp+nio",
                    "store": "kahadb",
                    "sync": "always",
                },
                capabilities=rd.capability_facts(),
            )
        },
        options={"broker": [broker], "workers": 1, "load_cpus": [0], "broker_cpus": [1], **(options or {})},
    )
    found = WorkloadResult(
        run=run,
        path=path,
        key=CellKey(run, broker, start, workload, cell),
        topology=topology.name,
        base=topology.base,
        transactions="full",
        periods=periods,
        audit=tuple(_audit(topology, periods)),
        findings=(Finding("generator lateness", "p99 3.1 ms", "1 ms", "give the load a CPU of its own"),),
        deviations=(DEVIATION,),
        verdict=VerdictKind.VALID,
        seconds=_seconds(seconds or int(at), scenario_rate(traffic), p50_ms, 1),
        seconds_by_step={
            row.step.message: _seconds(seconds or int(at), float(row.volume.received_per_s), p50_ms, place)
            for place, row in enumerate(traffic, 2)
        },
        slices=tuple(_slices(topology, int(at), p50_ms)),
        slice_s=SLICE_S,
        backlog_by_address={},
        backlog_by_destination={},
        plan=plan,
        manifest=read(Manifest, manifest, "manifest.json"),
        spans=tuple(spans),
        store="store=kahadb, sync=always: synced",
    )
    return replace(found, **changes)


def relaxed(of: WorkloadResult) -> WorkloadResult:
    """The same, measured with relaxed consumption."""
    return replace(of, plan=replace(of.plan, consumption=Consumption.RELAXED))


#: Results of the configurable workload, by what tells them apart: each is made once.
_CONFIGURED: dict[tuple[Any, ...], WorkloadResult] = {}


def configured(
    settings: Configuration,
    base: int = 10,
    *,
    cpu_cores: float = 0.5,
    mean_ms: float = 5.0,
    start: int = 1,
    broker: str = "activemq",
) -> WorkloadResult:
    """A result of the configurable workload, with this use of the broker's CPU and this mean delivery time."""
    key = settings.name, settings.topology, base, start, broker
    if key not in _CONFIGURED:
        _CONFIGURED[key] = result(
            model=ConfiguredSupplyChain.configured(settings, base),
            workload=jms2009ps.WORKLOAD.name,
            cell=f"{settings.name}-b{base:04d}",
            run="20260101T000000000Z-jms2009ps",
            start=start,
            broker=broker,
        )
    (period,) = _CONFIGURED[key].periods
    delivery = replace(period.delivery, mean_ms=mean_ms)
    return replace(_CONFIGURED[key], periods=(replace(period, broker_cpu=cpu_cores, delivery=delivery),))


def undrawn(result: WorkloadResult) -> WorkloadResult:
    """The same without what most pictures of its page are drawn from, which takes seconds."""
    return replace(result, seconds=(), seconds_by_step={}, slices=())


def scenario_rate(traffic: Sequence[Traffic]) -> float:
    return float(sum(row.volume.received_per_s for row in traffic))


def _period(topology, traffic, scenario, period, length_s, p50_ms, growth) -> PeriodResult:
    interactions = []
    for number, one in topology.interactions.items():
        mine = [row.volume for row in traffic if row.step.interaction == number]
        rate = float(topology.started_per_s(number))
        sent = float(sum(volume.sent_per_s for volume in mine)) * length_s
        received = float(sum(volume.received_per_s for volume in mine)) * length_s
        started = round(rate * length_s)
        interactions.append(
            InteractionResult(
                number,
                one.script.title,
                rate,
                started,
                rate * length_s,
                started / length_s,
                round(sent),
                sent,
                round(received * 1.003),
                received,
                started // 100,
                started,
                times(started, p50_ms * 4),
            )
        )
    steps = tuple(
        StepResult(
            row.step.interaction,
            row.step.message,
            round(row.volume.sent_per_s * length_s),
            round(row.volume.received_per_s * length_s),
            round(row.volume.received_bytes_per_s * length_s),
            times(round(row.volume.received_per_s * length_s), p50_ms),
        )
        for row in traffic
    )
    handlers = tuple(
        HandlerResult(
            one.number, one.place, scenario.steps[one.step], 20 + one.number, times(20, p50_ms * (1 + one.number / 100))
        )
        for one in scenario.handlers
    )
    sent_per_s = float(sum(row.volume.sent_per_s for row in traffic))
    received_per_s = float(sum(row.volume.received_per_s for row in traffic))
    return PeriodResult(
        period=period,
        seconds=length_s,
        sent_per_s=sent_per_s,
        received_per_s=received_per_s,
        received_kb_per_s=float(sum(row.volume.received_bytes_per_s for row in traffic)) / 1000,
        broker_cpu=received_per_s * 60e-6,
        load_cpu=received_per_s * 25e-6,
        load_us_per_message=22.4,
        store_growth_bytes_per_s=growth,
        lateness=times(100, 0.1),
        delivery=times(round(received_per_s * length_s), p50_ms),
        interactions=tuple(interactions),
        steps=steps,
        handlers=handlers,
        destinations=tuple(
            DestinationResult(number, destination.name, 10, times(10, p50_ms))
            for number, destination in enumerate(scenario.destinations)
        ),
    )


def _audit(topology: Topology, periods: tuple[PeriodResult, ...]):
    for period in periods:
        for rule in (limits.INPUT_RATE, limits.SENT, limits.RECEIVED, limits.PACING):
            for one in period.interactions:
                judged = one.number != 3 or rule not in {limits.SENT, limits.RECEIVED}
                yield AuditRow(
                    rule,
                    f"interaction {one.number}",
                    0.001 * one.number,
                    AuditVerdict.PASS if judged else AuditVerdict.NOT_JUDGED,
                    expected=None if rule == limits.PACING else one.expected_sent,
                    why="" if judged else "too short: 15 of 20 executions",
                    period=period.period,
                )
        for handler in period.handlers:
            yield AuditRow(
                limits.DELIVERY_TIME,
                f"{handler.place} {handler.message}",
                handler.delivery.p90_ms,
                AuditVerdict.PASS,
                period=period.period,
            )
    for rule in (limits.DELIVERY, limits.DUPLICATES, limits.ORDER, limits.LOCATION, limits.CHAINS, limits.CLOCK):
        yield AuditRow(rule, "run", 0, AuditVerdict.PASS)
    for rule in (limits.LEVEL, limits.BACKLOG):
        yield AuditRow(rule, "run", 0.002, AuditVerdict.PASS, period=Period.MEASUREMENT)


def failing(of: WorkloadResult, rule, scope: str, observed: float, why: str) -> WorkloadResult:
    """The same with a further row that fails."""
    row = AuditRow(rule, scope, observed, AuditVerdict.FAIL, why=why, period=Period.MEASUREMENT)
    audit = sorted(
        (*of.audit, row), key=lambda one: list(dict.fromkeys(r.rule.name for r in of.audit)).index(one.rule.name)
    )
    return replace(of, audit=tuple(audit), verdict=VerdictKind.INVALID)


def failed(broker: str = "activemq") -> WorkloadResult:
    """A run of one interaction, with a repeated measurement, in which a message was lost."""
    alone = result(vertical(5).only(4), broker=broker, repeat=True)
    return failing(alone, limits.DELIVERY, broker, 1, f"execution 4711 of {broker}")


def _seconds(number: int, rate_per_s: float, p50_ms: float, seed: int) -> tuple[Second, ...]:
    rng = np.random.default_rng(seed)
    received = rng.poisson(rate_per_s, number)
    slow = p50_ms * rng.lognormal(0, 0.2, number)
    return tuple(
        Second(
            second,
            int(received[second]),
            int(received[second]),
            int(rng.poisson(rate_per_s * p50_ms / 1000 + 1)),
            float(received[second] * 60e-6),
            float(slow[second]) if received[second] else None,
            float(1.7 * slow[second]) if received[second] else None,
        )
        for second in range(number)
    )


def _slices(topology: Topology, length_s: int, p50_ms: float) -> Iterator[PeriodSlice]:
    """Of every address, the later the slower."""
    of = SupplyChain(topology).scenario
    messages = {to: message.step for message in of.messages.values() for to in message.addresses}
    for number, address in enumerate(of.addresses):
        for begin in range(0, length_s, SLICE_S):
            slow = p50_ms * (1 + number / 10 + begin / 100)
            yield PeriodSlice(of.steps[messages[number]], address.label, begin, 1.7 * slow)
