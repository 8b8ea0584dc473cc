"""Runs -> the page: first the content of the closing screen, then findings, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from analysis.report import figures, manifest_facts
from analysis.report.drawings import Drawings, slug
from analysis.report.figures import PlotGroup
from analysis.report.page import NAME, Chapter, Facts, Listing, Page, Part, Section, Soft, VerdictBox, write_text
from analysis.results import JSON_SCHEMA, worst
from analysis.table import grouped
from analysis.text import alike, capital, counted_verdicts
from analysis.throughput import tables
from analysis.throughput.console import nowhere
from analysis.throughput.overview import RunOverview, overview
from analysis.throughput.results import BrokerComparison, FitResult, RunResult
from analysis.throughput.tables import by_start

_LIMITS = Markup("""
<li>The experiments and the model are derived from a published paper: Henjes, Schlosser, Menth, Himmler,
<cite>Throughput Performance of the ActiveMQ JMS Server</cite> (2006). The authors of the paper are not involved in
this suite or this run. The values of the paper, for ActiveMQ 4.0 on a 3.2 GHz CPU, are shown beside the measured ones
to compare proportions only.</li>
<li>Nothing here is a SPEC result; SPEC has not reviewed any of it, and none of it may be compared with a SPEC
result.</li>
<li>A rate is valid for this broker on this host, with these options and this load engine. Rates and times of two runs
are not comparable; ratios within a run are.</li>
<li>An interval for these starts does not cover further starts of the broker; an interval between starts does, on this
host.</li>
<li>A greyed row or a hollow point was measured but violated a limit that was fixed in advance; it is shown with the
reason and excluded from the fit.</li>
<li>The latency of a message counts from the planned instant of its sending, even if the broker or the load was
late.</li>
""")


def write(results: Sequence[RunResult], output: Path | None = None) -> Path:
    """Writes the report of these runs, completely or not at all; returns its path. Raises DataError where it fails."""
    return write_text(output or Path(results[0].path) / NAME, html(results))


def record(results: Sequence[RunResult], path: Path) -> dict[str, Any]:
    """`report`: its path, and the verdict."""
    return {"schema": JSON_SCHEMA, "report": str(path), "verdict": worst(result.verdict for result in results)}


def html(results: Sequence[RunResult]) -> str:
    """The page."""
    several = len(results) > 1
    drawings = Drawings()
    title = f"{len(results)} runs" if several else f"Run {results[0].run}"
    verdicts = [result.verdict for result in results]
    overview = tuple(f"{number}: {result.run}: {'; '.join(result.title)}" for number, result in enumerate(results, 1))
    page = Page(
        title=title,
        window=f"{title}: {worst(verdicts)}",
        top=(Listing(overview, style="ran"), VerdictBox(worst(verdicts), counted_verdicts(verdicts, "runs"))),
        chapters=tuple(
            _chapter(f"run-{number}", f"verdict of run {number}" if several else "verdict", result, drawings)
            for number, result in enumerate(results, 1)
        ),
        overview=tuple(_side_by_side(results, drawings)),
        limits=_LIMITS,
    )
    return page.html()


def _side_by_side(results: Sequence[RunResult], drawings: Drawings) -> Iterator[Section]:
    if picture := figures.coefficients(results):
        warning = Markup(
            "<strong>Absolute values of two runs are not comparable; ratios within a run are.</strong> Nothing is "
            "averaged or fitted over runs or brokers."
        )
        parts = (warning, drawings.figure("all", picture), tables.side_by_side(results))
        yield Section("side-by-side", "Comparison of models", parts)


def _chapter(anchor: str, label: str, result: RunResult, drawings: Drawings) -> Chapter:
    """The chapter of a run; `label` is the accessible name of its verdict."""
    shown = overview(result)
    top = (
        Listing((*result.title, *manifest_facts.title_lines(result.manifest)), style="ran"),
        VerdictBox(result.verdict, shown.closing.meaning, label),
        Section("", "", tuple(_overview(shown)), style="overview", label="overview"),
    )
    sections = tuple(_sections(anchor, result, drawings))
    findings = alike([*result.every_finding, *drawings.findings])
    return Chapter(anchor, result.run, top, tuple(findings), sections)


def _overview(shown: RunOverview) -> Iterator[Part]:
    """The content of the closing screen; the claims one by one and the cells only where there is no model."""
    yield f"{capital(shown.closing.reason)}."
    yield from map(Soft, shown.measured)
    for model in shown.models:
        yield model.costs
        yield Soft(model.note)
        yield from (f"{capital(said)}." for said in model.negligible)
        if model.example:
            yield f"So {model.example}."
        if model.description:
            yield Markup("<strong>{}</strong><br>{}").format(model.description, model.worst)
    yield from shown.besides
    for experiment in shown.experiments:
        if experiment.cells and not shown.models and len(shown.experiments) == 1:
            yield experiment.cells
            if experiment.more:
                yield Soft(experiment.more)
        else:
            yield experiment.said
    yield from shown.claims[:1]
    if shown.claims and not shown.models:
        yield Listing(shown.claims[1:])
    if shown.closing.step:
        yield shown.closing.step


def _sections(anchor: str, result: RunResult, drawings: Drawings) -> Iterator[Section]:
    groups = figures.groups(result)
    if result.measures:
        unfitted = "; ".join(result.refused) or "No experiment of this run varies filters and copies independently."
        models = tuple(_model(anchor, fit, drawings) for fit in result.fits)
        yield Section(f"{anchor}-models", "Fitted models", models or (f"No model was fitted. {unfitted}",))
    if result.comparisons:
        explained = (
            "The starts of the brokers alternated, in an order that was reversed each time. Each time is divided by "
            "that of the first broker."
        )
        compared = (_compared(anchor, comparison, drawings) for comparison in result.comparisons)
        yield Section(f"{anchor}-brokers", "Comparison of brokers", (explained, *compared))
    if claims := tuple(tables.claims(result.claims)):
        explained = "Each claim is judged by a sign or a ratio; absolute values are given for comparison only."
        yield Section(f"{anchor}-claims", "Claims of the paper", (explained, *claims), style="claims")
    if result.measures and (rounds := tuple(_rounds(anchor, result, drawings))):
        yield Section(f"{anchor}-rounds", "Rounds", rounds)
    yield Section(f"{anchor}-cells", "Measurements", tuple(_measurements(anchor, groups, result, drawings)))
    yield Section(f"{anchor}-audit", "Delivery audit", (tables.audit(result.audit),))
    if result.latency:
        yield Section(f"{anchor}-latency", "Latency", tuple(_latency(anchor, result, drawings)))
    if result.host:
        yield Section(f"{anchor}-host", "Host under load", (tables.host(result.host),))
    yield manifest_facts.system(anchor, result.path, result.manifest, result.manifest.brokers)


def _model(anchor: str, fit: FitResult, drawings: Drawings) -> Section:
    title = f"{fit.experiment} on {fit.broker}, profile {fit.profile}"
    parts: tuple[Part, ...] = (
        tables.parameters(fit),
        Facts(tuple(tables.model_facts(fit))),
        *drawings.figures(anchor, figures.against_plane(fit) if fit.points else None),
        tables.fitted_cells(fit),
    )
    return Section(slug(f"{anchor}-model-{title}"), title, parts, verdict=fit.verdict)


def _compared(anchor: str, comparison: BrokerComparison, drawings: Drawings) -> Section:
    """The comparison of the brokers of a run in an experiment."""
    sheets = filter(None, (tables.compared_coefficients(comparison), tables.compared_cells(comparison)))
    drawn_ratios = drawings.figures(anchor, figures.ratios(comparison))
    return Section("", f"{comparison.experiment}, profile {comparison.profile}", (*drawn_ratios, *sheets))


def _rounds(anchor: str, result: RunResult, drawings: Drawings) -> Iterator[Section]:
    """The rounds of every start that has a slice to show: every slice, and the levels of the rounds."""
    starts = grouped(result.cells, lambda cell: (cell.key.broker, cell.key.start))
    levels = by_start(result.rounds)
    for key in sorted(starts.keys() | levels.keys()):
        title = f"{key[0]}, start {key[1]}"
        parts: list[Part] = [*drawings.figures(anchor, figures.slices(starts.get(key, ())))]
        if key in levels:
            parts.append(tables.rounds(levels[key]))
        if parts:
            yield Section("", title, tuple(parts))


def _measurements(anchor: str, groups: Sequence[PlotGroup], result: RunResult, drawings: Drawings) -> Iterator[Part]:
    """Each experiment: its figures, then its cells; a smoke grid has no figures, since its numbers mean nothing."""
    if not result.measures:
        yield "A smoke grid tests correctness only: its rates mean nothing and are not plotted."
    for group in groups:
        pictures = figures.of_group(group) if result.measures else ()
        cells = tables.cells(group.cells, result.not_applicable)
        anchored = slug(f"{anchor}-cells-{group.title}")
        yield Section(anchored, group.title, (*drawings.figures(anchor, *pictures), cells))
    yield from nowhere(result.cells, result.not_applicable)


def _latency(anchor: str, result: RunResult, drawings: Drawings) -> Iterator[Part]:
    by_broker = grouped(result.latency, lambda cell: (cell.key.broker, cell.profile))
    for (broker, profile), chosen in by_broker.items():
        yield drawings.figure(anchor, figures.latency(chosen, broker, profile))
        yield tables.latency(chosen)
