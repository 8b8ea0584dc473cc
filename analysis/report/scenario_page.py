"""Results of a business workload -> the page: disclaimer, verdict, deviations, then audit, periods, interactions.

A page never combines two workloads, two topologies, or strict and relaxed consumption (run rules, section 2.1.4): such
results are refused if they belong to several runs, and get separate pages if they belong to one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from analysis.errors import DataError
from analysis.report import manifest_facts, scenario_figures
from analysis.report.drawings import Drawings, drawn, slug
from analysis.report.page import NAME, Chapter, Facts, Listing, Page, Part, Section, VerdictBox, write_text
from analysis.report.sequence_diagram import flow
from analysis.results import JSON_SCHEMA, worst
from analysis.scenario import claims, tables
from analysis.scenario.churn_tables import churn_tables
from analysis.scenario.console import VERDICTS
from analysis.scenario.disclosure import storage, withheld
from analysis.scenario.planned_destinations import planned_destinations
from analysis.scenario.results import WorkloadResult, disclaimers
from analysis.table import Table, TableColumn, grouped
from analysis.text import alike, counted_verdicts
from workloads.messaging import DestinationKind
from workloads.scenario.business_model import BusinessModel
from workloads.scenario.workload import Model

_LIMITS = Markup("""
<li>{provenance}</li>
<li>Results of different workloads or topologies, of strict and relaxed consumption, or of other benchmarks are not
comparable and never share a page.</li>
<li>A rate is valid for this broker on {place}.</li>
<li>Delivery time counts from sending to receipt, as the rules require; the delay of the starts is reported
separately.</li>
""")

_PHASES = {"warm_up_s": "warm-up", "measurement_s": "measurement", "drain_s": "drain, at most"}


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
        written.append(write_text(name, html(of_kind)))
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
    drawings = Drawings()
    runs = list(dict.fromkeys(result.run for result in results))
    title = f"Run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs side by side"
    verdicts = [result.verdict for result in results]
    workload = results[0].workload
    one_host = any(result.one_host for result in results)
    not_applicable = ("Sections of the run rules that do not apply to this run, and why.", _not_applicable(results[0]))
    page = Page(
        title=title,
        window=title,
        subject=workload.subject,
        disclaimer=workload.disclaimer,
        top=(VerdictBox(worst(verdicts), counted_verdicts(verdicts, "results")),),
        chapters=tuple(_chapter(f"result-{number}", result, drawings) for number, result in enumerate(results, 1)),
        overview=tuple(_overview(results, drawings)),
        closing=(Section("not-applicable", "Requirements that do not apply", not_applicable),),
        limits=_LIMITS.format(
            provenance=workload.provenance,
            place="its host, with clients and server on one machine" if one_host else "its host",
        ),
    )
    return page.html()


def _overview(results: Sequence[WorkloadResult], drawings: Drawings) -> Iterator[Section]:
    """Several results side by side, and the claims."""
    if len(results) > 1:
        capacity = drawings.figures("all", scenario_figures.capacity(results))
        parts: tuple[Part, ...] = (*capacity, tables.several(results), *tables.configurations(results))
        yield Section("results", "Results", parts, style="results")
    if judged := tuple(claims.tables(results)):
        explained = (
            "Each claim is judged by ratios between cells of the same start; absolute values are given for comparison "
            "only."
        )
        yield Section("claims", "Claims of the paper", (explained, *judged), style="claims")


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


def _chapter(anchor: str, result: WorkloadResult, drawings: Drawings) -> Chapter:
    top = (
        Listing(tuple(_title(result)), style="ran"),
        VerdictBox(result.verdict, VERDICTS[result.verdict], f"verdict of {result.key.cell}"),
        Facts(tuple(_judged(result))),
    )
    heading = f"{result.key.cell} on {result.key.broker}"
    sections = tuple(_sections(anchor, result, drawings))
    findings = alike([*result.findings, *drawings.findings])
    return Chapter(anchor, heading, top, tuple(findings), sections)


def _judged(result: WorkloadResult) -> Iterator[tuple[str, str | Listing]]:
    """The figure, and whether the rules or the limits of the workload were kept."""
    reason = withheld(result)
    yield result.figure_name, f"no figure: {reason}" if reason else str(result.figure)
    if result.deviations is None:
        yield "limits", result.workload.borrowed_limits
        return
    exceptions = ", except for the deviations listed here" if result.deviations else ""
    yield "published rules", f"compliant{exceptions}" if result.compliant else "non-compliant"
    yield "deviations from the rules", Listing(result.deviations or ("none",), style="deviations")


def _sections(anchor: str, result: WorkloadResult, drawings: Drawings) -> Iterator[Section]:
    model = result.model
    none = (
        "None in the broker's log, and none from the load."
        if result.warnings.logged
        else "None from the load; the broker's log is not known."
    )
    yield Section(f"{anchor}-warnings", "Warnings", (tables.warnings(result.warnings) or none,))
    yield Section(f"{anchor}-audit", "Audit", (tables.audit(result),), style="audit")
    yield Section(f"{anchor}-periods", "Periods", tuple(_periods(anchor, result, drawings)))
    yield Section(f"{anchor}-interactions", "Interactions", tuple(_interactions(anchor, result, model, drawings)))
    if handlers := tuple(tables.handlers(period) for period in result.periods if period.handlers):
        yield Section(f"{anchor}-handlers", "Event handlers", handlers)
    yield Section(f"{anchor}-destinations", "Destinations", (tables.destinations(result, model),))
    if result.churn is not None:
        over_time = drawings.figures(anchor, scenario_figures.subscriptions(result))
        sheets = churn_tables(result.churn, result.workload.flows(model))
        yield Section(f"{anchor}-subscribing", "Subscriptions", (*over_time, *sheets))
    yield Section(f"{anchor}-storage", "Storage", (tables.storage(storage(result)),))
    yield manifest_facts.system(
        anchor,
        result.path,
        result.manifest,
        {result.key.broker: result.broker},  # the run's other brokers have separate chapters
        Section("", "Workload", (Facts(tuple(_topology(result, model))),)),
    )


def _periods(anchor: str, result: WorkloadResult, drawings: Drawings) -> Iterator[Part]:
    yield Facts(tuple(_phases(result)))
    if result.periods:
        yield tables.periods(result)
    yield from drawings.figures(anchor, scenario_figures.backlog(result), scenario_figures.course(result))
    if backlog := tables.backlog(result):
        yield backlog


def _interactions(anchor: str, result: WorkloadResult, model: Model, drawings: Drawings) -> Iterator[Part]:
    """The rates of all, then each interaction."""
    for period in result.periods:
        yield from tables.interactions(period)
    for number, interaction in model.interactions.items():
        own = slug(f"{anchor}-interaction-{number}")
        parts = _interaction(anchor, own, result, model, number, drawings)
        yield Section(own, f"{number} {interaction.title}", tuple(parts))


def _interaction(
    anchor: str, own: str, result: WorkloadResult, model: Model, number: int, drawings: Drawings
) -> Iterator[Part]:
    """Who sends what to whom, then the delivery times over time, by address and in numbers; `own` is its anchor."""
    messages = [step.message for step in model.steps if step.interaction == number]
    if isinstance(model, BusinessModel):
        yield drawn(
            f"{own}-flow",
            f"Flow of interaction {number}",
            "From top to bottom: the trigger of each message, its sender, its receiver and its kind of delivery. Solid "
            "line: transacted; two heads: to every subscriber of a topic.",
            flow(model, number),
        )
    pictures = (draw(result, number, messages) for draw in (scenario_figures.delivery, scenario_figures.addresses))
    yield from drawings.figures(anchor, *pictures)
    if steps := tables.steps(result.periods, number):
        yield steps


def _title(result: WorkloadResult) -> Iterator[str]:
    yield f"{result.key.cell}, start {result.key.start}, on {result.broker.title}"
    yield (
        f"{result.topology}, BASE {result.base}; {result.consumption} consumption, transactions: "
        f"{result.transactions}, {result.plan.arrivals} arrivals"
    )
    yield from manifest_facts.title_lines(result.manifest)


def _phases(result: WorkloadResult) -> Iterator[tuple[str, str]]:
    lengths = result.plan.lengths
    asked = (f"{name} {getattr(lengths, key):g} s" for key, name in _PHASES.items())
    yield f"asked for ({lengths.name})", ", ".join(asked)
    for span in result.spans:
        yield str(span.period), f"from {span.begin_s:,.1f} s on, {span.seconds:,.1f} s"


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


def _not_applicable(result: WorkloadResult) -> Table:
    return Table.of(
        "Of a full disclosure",
        result.workload.not_applicable,
        TableColumn("section", lambda row: row[0], number=False),
        TableColumn("asks for", lambda row: row[1], number=False),
        TableColumn("why not", lambda row: row[2], number=False),
    )
