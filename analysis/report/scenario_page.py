"""Results of a business workload -> the page: disclaimer, verdict, deviations, then audit, periods, interactions.

A page never combines two workloads, two topologies, or strict and relaxed consumption (run rules, section 2.1.4): such
results are refused if they belong to several runs, and get separate pages if they belong to one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.errors import DataError
from analysis.report import manifest_facts, scenario_figures
from analysis.report.deployment_diagram import diagram
from analysis.report.drawings import Drawings, Figure, slug
from analysis.report.heatmap import grid
from analysis.report.sequence_diagram import flow
from analysis.report.throughput_page import NAME, template, write_text
from analysis.results import JSON_SCHEMA, worst
from analysis.scenario import claims, tables
from analysis.scenario.churn_tables import churn_tables
from analysis.scenario.console import VERDICTS
from analysis.scenario.disclosure import storage, withheld
from analysis.scenario.planned_destinations import planned_destinations
from analysis.scenario.results import Recovery, WorkloadResult, disclaimers
from analysis.table import Table, TableColumn, TableRow, grouped
from analysis.text import Alike, alike, counted_verdicts
from workloads.manifest import BrokerRecord
from workloads.messaging import DestinationKind
from workloads.scenario.workload import Model
from workloads.supply_chain.supply_chain import SupplyChain

_TEMPLATE = "workload.html.j2"

_PHASES = {"warm_up_s": "warm-up", "measurement_s": "measurement", "drain_s": "drain, at most"}


@dataclass(frozen=True, slots=True)
class InteractionShown:
    """The part of a chapter about one interaction."""

    #: HTML id.
    anchor: str
    number: int
    title: str
    #: A sequence diagram as SVG; empty if the workload has none.
    flow: str
    #: Delivery times of its messages over time.
    delivery: Figure | None
    #: The same by address, as SVG.
    grid: str
    #: A sentence on the addresses that the grid omits.
    left_out: str
    #: Its messages with their delivery times; None if nothing was measured.
    steps: Table | None


@dataclass(frozen=True, slots=True)
class CaseChapter:
    """The part of the page about one result."""

    anchor: str
    #: Its name where the page has several chapters.
    heading: str
    result: WorkloadResult
    title: tuple[str, ...]
    meaning: str
    figure_name: str
    figure: str
    findings: tuple[Alike, ...]
    warnings: Table | None
    audit: Table
    recovery: tuple[tuple[str, str], ...]
    phases: tuple[tuple[str, str], ...]
    periods: Table
    courses: tuple[Figure, ...]
    backlog: Table | None
    rates: Figure | None
    rate_tables: tuple[Table, ...]
    interactions: tuple[InteractionShown, ...]
    handlers: tuple[Table, ...]
    destinations: Table
    #: About subscriptions that come and go; none without populations.
    subscriptions: tuple[Table, ...]
    subscription_figures: tuple[Figure, ...]
    storage: Table
    diagram: str
    brokers: Table
    setup: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def write(results: Sequence[WorkloadResult], output: Path | None = None) -> tuple[Path, ...]:
    """Writes the page of these results; if one run has several kinds of results, one page for each kind.

    Raises DataError if results of several runs must not share a page, or if a page cannot be written.
    """
    kinds = _kinds(results)
    if len(kinds) > 1 and len({result.run for result in results}) > 1:
        raise DataError(_refusal(results))
    path = output or Path(results[0].path) / NAME
    written = []
    for words, of_kind in zip(_names(kinds), kinds.values(), strict=True):
        name = path if len(kinds) == 1 else path.with_name(f"{path.stem}-{slug('-'.join(words))}{path.suffix}")
        write_text(name, html(of_kind))
        written.append(name)
    return tuple(written)


def record(results: Sequence[WorkloadResult], paths: Sequence[Path]) -> dict[str, Any]:
    """`report`: the paths of the pages and the worst verdict, after the disclaimer."""
    return {
        "disclaimer": "\n\n".join(disclaimers(results)),
        "schema": JSON_SCHEMA,
        "reports": list(map(str, paths)),
        "verdict": worst(result.verdict for result in results),
    }


def html(results: Sequence[WorkloadResult]) -> str:
    """The page of results of one kind; raises DataError for several kinds."""
    if len(_kinds(results)) > 1:
        raise DataError(_refusal(results))
    several = len(results) > 1
    drawings = Drawings()
    chapters = [_chapter(f"result-{number}", result, drawings) for number, result in enumerate(results, 1)]
    runs = list(dict.fromkeys(result.run for result in results))
    picture = scenario_figures.capacity(results)
    verdict = worst(result.verdict for result in results)
    return template(_TEMPLATE).render(
        title=f"Run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs side by side",
        workload=results[0].workload,
        several=several,
        one_host=any(result.one_host for result in results),
        verdict=verdict,
        meaning=counted_verdicts([result.verdict for result in results], "results"),
        chapters=chapters,
        overview=tables.several(results),
        configurations=tuple(tables.configurations(results)),
        claims=tuple(claims.tables(results)),
        capacity=picture and drawings.figure("all", picture),
        not_applicable=_not_applicable(results[0]),
    )


def _kinds(results: Sequence[WorkloadResult]) -> dict[tuple[str, ...], list[WorkloadResult]]:
    """The results grouped by workload and by what keeps results apart, in their order."""
    return grouped(results, lambda result: (result.workload.name, *tables.kind(result)))


def _names(kinds: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The kinds for display: without the workload if all kinds have the same one."""
    found = list(kinds)
    several = len({workload for workload, *_ in found}) > 1
    return [kind if several else kind[1:] for kind in found]


def _refusal(results: Sequence[WorkloadResult]) -> str:
    kinds = ", ".join(map(" ".join, _names(_kinds(results))))
    return (
        "results of different workloads or topologies, or of strict and relaxed consumption, are never put side by "
        f"side ({kinds}; run rules, section 2.1.4): ask for a report of each run by itself"
    )


def _chapter(anchor: str, result: WorkloadResult, drawings: Drawings) -> CaseChapter:
    model = result.model
    reason = withheld(result)
    rates = scenario_figures.rates(result)
    courses = (scenario_figures.backlog(result), scenario_figures.course(result))
    chapter = CaseChapter(
        anchor=anchor,
        heading=f"{result.key.cell} on {result.key.broker}",
        result=result,
        title=tuple(_title(result)),
        meaning=VERDICTS[result.verdict],
        figure_name=result.figure_name,
        figure=f"no figure: {reason}" if reason else str(result.figure),
        findings=(),
        warnings=tables.warnings(result.warnings),
        audit=tables.audit(result),
        recovery=tuple(_recovery(result.recovery)) if result.recovery else (),
        phases=tuple(_phases(result)),
        periods=tables.periods(result),
        courses=tuple(drawings.figure(anchor, picture) for picture in courses if picture is not None),
        backlog=tables.backlog(result),
        rates=None if rates is None else drawings.figure(anchor, rates),
        rate_tables=tuple(sheet for period in result.periods for sheet in tables.interactions(period)),
        interactions=tuple(_interaction(anchor, result, model, number, drawings) for number in model.interactions),
        handlers=tuple(tables.handlers(period) for period in result.periods if period.handlers),
        destinations=tables.destinations(result, model),
        subscriptions=() if result.churn is None else tuple(churn_tables(result.churn, result.workload.flows(model))),
        subscription_figures=tuple(_subscription_figures(anchor, result, model, drawings)),
        storage=tables.storage(storage(result)),
        diagram=diagram(result.manifest, result.plan, result.key.broker),
        brokers=manifest_facts.brokers(_of_broker(result)),
        setup=(*manifest_facts.setup(result.manifest), ("Topology", tuple(_topology(result, model)))),
    )
    return replace(chapter, findings=tuple(alike([*result.findings, *drawings.findings])))


def _subscription_figures(anchor: str, result: WorkloadResult, model: Model, drawings: Drawings) -> Iterator[Figure]:
    """The subscriptions over time, then the figures of the model."""
    if picture := scenario_figures.subscriptions(result):
        yield drawings.figure(anchor, picture)
        for found in result.workload.figures(model):
            yield drawings.figure(anchor, scenario_figures.of_model(found))


def _title(result: WorkloadResult) -> Iterator[str]:
    arrivals = result.plan.arrivals
    yield f"{result.key.cell}, start {result.key.start}, on {result.broker_title}"
    yield (
        f"{result.topology} topology, BASE {result.base}; {result.consumption} consumption, transactions: "
        f"{result.transactions}, {arrivals} arrivals"
    )
    yield from manifest_facts.title_lines(result.manifest)


def _recovery(of: Recovery) -> Iterator[tuple[str, str]]:
    yield "seconds to recovery", f"{of.seconds_to_recovery:.1f}"
    yield "copies stored at the kill", f"{of.stored_at_the_kill:,}"
    yield "redelivered", f"{of.redelivered:,}"
    yield "in transactions with unknown outcome", f"{of.in_doubt:,}"


def _phases(result: WorkloadResult) -> Iterator[tuple[str, str]]:
    lengths = result.plan.lengths
    asked = (f"{name} {getattr(lengths, key):g} s" for key, name in _PHASES.items())
    yield f"asked for ({lengths.name})", ", ".join(asked)
    for span in result.spans:
        yield str(span.period), f"from {span.begin_s:,.1f} s on, {span.seconds:,.1f} s"


def _interaction(
    anchor: str, result: WorkloadResult, model: Model, number: int, drawings: Drawings
) -> InteractionShown:
    messages = [step.message for step in model.steps if step.interaction == number]
    picture = scenario_figures.delivery(result, number, messages)
    return InteractionShown(
        slug(f"{anchor}-interaction-{number}"),
        number,
        model.interactions[number].title,
        flow(model.topology, number) if isinstance(model, SupplyChain) else "",
        None if picture is None else drawings.figure(anchor, picture),
        *grid(result, messages),
        tables.steps(result.periods, number),
    )


def _topology(result: WorkloadResult, model: Model) -> Iterator[tuple[str, str]]:
    yield from model.facts
    kinds = [destination.kind for destination in result.plan.destinations]
    queues, topics = kinds.count(DestinationKind.QUEUE), kinds.count(DestinationKind.TOPIC)
    yield "destinations", f"{queues:,} queues, {topics:,} topics"
    yield "subscriptions", f"{sum(each.subscriptions for each in planned_destinations(result, model)):,}"
    populations = result.plan.populations
    drivers = model.connections - model.handlers - sum(population.connections for population in populations)
    shared = "".join(f", {of.connections:,} {of.label}" for of in populations)
    yield "connections", f"{model.handlers:,} event handlers, {drivers:,} drivers{shared}"
    yield "digest of the tables", result.workload.digest()


def _of_broker(result: WorkloadResult) -> dict[str, BrokerRecord]:
    """Only this result's broker: the run's other brokers have separate chapters."""
    return {result.key.broker: result.broker}


def _not_applicable(result: WorkloadResult) -> Table:
    columns = (
        TableColumn("section", number=False),
        TableColumn("asks for", number=False),
        TableColumn("why not", number=False),
    )
    return Table("Of a full disclosure", columns, tuple(TableRow(row) for row in result.workload.not_applicable))
