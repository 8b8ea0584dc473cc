"""Runs -> the page: first the content of the closing screen, then findings, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from analysis.atomic import written_whole
from analysis.errors import DataError
from analysis.report import figures, manifest_facts
from analysis.report.drawings import Drawings, Figure, slug
from analysis.report.figures import Picture, PlotGroup
from analysis.report.rounds_figure import heat
from analysis.results import JSON_SCHEMA, BrokerComparison, FitResult, RunResult, worst
from analysis.table import Table, grouped
from analysis.text import Alike, alike, counted_verdicts
from analysis.throughput import tables
from analysis.throughput.console import nowhere
from analysis.throughput.glance import Glance, glance
from analysis.throughput.tables import by_start, unit

#: Default name of the file, in the first run directory.
NAME = "report.html"

_TEMPLATE = "page.html.j2"


@dataclass(frozen=True, slots=True)
class ModelSection:
    """The section of a fit."""

    anchor: str
    title: str
    fit: FitResult
    parameters: Table
    facts: tuple[tuple[str, str], ...]
    cells: Table
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class ExperimentSection:
    """The section of an experiment: its figures, then its cells."""

    anchor: str
    title: str
    figures: tuple[Figure, ...]
    cells: Table


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of the brokers of a run in an experiment."""

    title: str
    figure: Figure | None
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of a broker and start: their levels over time, and every slice."""

    title: str
    figures: tuple[Figure, ...]
    levels: Table | None


@dataclass(frozen=True, slots=True)
class BrokerChapter:
    """The chapter of a run."""

    anchor: str
    #: its name where the page has several chapters
    heading: str
    result: RunResult
    title: tuple[str, ...]
    glance: Glance
    findings: tuple[Alike, ...]
    brokers: Table
    setup: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    models: tuple[ModelSection, ...]
    ratios: tuple[Compared, ...]
    claims: tuple[Table, ...]
    rounds: tuple[Rounds, ...]
    experiments: tuple[ExperimentSection, ...]
    not_applicable: tuple[str, ...]
    audit: Table
    latency: tuple[tuple[Table, Figure], ...]
    host: Table | None


def write(results: Sequence[RunResult], output: Path | None = None) -> Path:
    """Writes the report of these runs, completely or not at all; returns its path. Raises DataError where it fails."""
    path = output or Path(results[0].path) / NAME
    write_text(path, html(results))
    return path


def write_text(path: Path, text: str) -> None:
    """Writes a page, completely or not at all. Raises DataError where it fails."""
    try:
        with written_whole(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise DataError(
            f"{path}: the report cannot be written: {error.strerror}; name another file with "
            "`python -m analysis report --output FILE`"
        ) from error


def record(results: Sequence[RunResult], path: Path) -> dict[str, Any]:
    """`report`: its path, and the verdict."""
    return {"schema": JSON_SCHEMA, "report": str(path), "verdict": worst(result.verdict for result in results)}


def html(results: Sequence[RunResult]) -> str:
    several = len(results) > 1
    drawings = Drawings()
    chapters = [_chapter(f"run-{number}", result, drawings) for number, result in enumerate(results, 1)]
    picture = figures.coefficients(results)
    return template(_TEMPLATE).render(
        title=f"{len(results)} runs" if several else f"Run {results[0].run}",
        several=several,
        verdict=worst(result.verdict for result in results),
        meaning=(
            counted_verdicts([result.verdict for result in results], "runs") if several else chapters[0].glance.meaning
        ),
        chapters=chapters,
        overview_lines=[
            f"{number}: {result.run}: {'; '.join(result.title)}" for number, result in enumerate(results, 1)
        ],
        side_by_side=picture and (tables.side_by_side(results), drawings.figure("all", picture)),
    )


def template(name: str) -> Template:
    """A page template; values are escaped, and a missing value is an error."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _chapter(anchor: str, result: RunResult, drawings: Drawings) -> BrokerChapter:
    groups = figures.groups(result)
    chapter = BrokerChapter(
        anchor=anchor,
        heading=result.run,
        result=result,
        title=(*result.title, *manifest_facts.title_lines(result.manifest)),
        glance=glance(result),
        findings=(),
        brokers=manifest_facts.brokers(result.manifest.brokers),
        setup=tuple(manifest_facts.setup(result.manifest)),
        models=tuple(_model(anchor, fit, groups, drawings) for fit in result.fits),
        ratios=tuple(_compared(anchor, comparison, drawings) for comparison in result.comparisons),
        claims=tuple(tables.claims(result.claims)),
        rounds=tuple(_rounds(anchor, result, drawings)) if result.measures else (),
        experiments=tuple(_experiment(anchor, group, result, drawings) for group in groups),
        not_applicable=tuple(nowhere(result.cells, result.not_applicable)),
        audit=tables.audit(result.audit),
        latency=tuple(_latency(anchor, result, drawings)),
        host=tables.host(result.host) if result.host else None,
    )
    return replace(chapter, findings=tuple(alike([*result.every_finding, *drawings.findings])))


def _model(anchor: str, fit: FitResult, groups: Sequence[PlotGroup], drawings: Drawings) -> ModelSection:
    of_fit = (fit.experiment, fit.broker, fit.profile)
    cells = [cell for group in groups for cell in group.cells if unit(cell) == of_fit]
    title = f"{fit.experiment} on {fit.broker}, profile {fit.profile}"
    drawn = (figures.against_plane(fit), figures.residuals(fit, cells))
    return ModelSection(
        anchor=slug(f"{anchor}-model-{title}"),
        title=title,
        fit=fit,
        parameters=tables.parameters(fit),
        facts=tuple(tables.model_facts(fit)),
        cells=tables.fitted_cells(fit),
        figures=tuple(drawings.figure(anchor, picture) for picture in drawn) if fit.points else (),
    )


def _compared(anchor: str, comparison: BrokerComparison, drawings: Drawings) -> Compared:
    picture = figures.ratios(comparison)
    return Compared(
        f"{comparison.experiment}, profile {comparison.profile}",
        None if picture is None else drawings.figure(anchor, picture),
        tuple(filter(None, (tables.compared_coefficients(comparison), tables.compared_cells(comparison)))),
    )


def _rounds(anchor: str, result: RunResult, drawings: Drawings) -> Iterator[Rounds]:
    """The rounds of every start that has a slice to show."""
    starts = grouped(result.cells, lambda cell: (cell.key.broker, cell.key.start))
    levels = by_start(result.rounds)
    drawn = dict(zip(levels, figures.levels(result.rounds), strict=True))
    for key in sorted(starts.keys() | levels.keys()):
        title = f"{key[0]}, start {key[1]}"
        shown = [drawings.figure(anchor, drawn[key])] if key in drawn else []
        grid, left_out = heat(starts.get(key, []))
        if grid:
            shown.append(_heat(slug(f"{anchor}-slices-{title}"), title, grid, left_out))
        if shown:
            yield Rounds(title, tuple(shown), tables.rounds(levels[key]) if key in levels else None)


def _heat(anchor: str, title: str, grid: str, left_out: str) -> Figure:
    caption = (
        "B of every slice relative to that of its cell: a row for each cell, a column for each round in the order of "
        "time. A disturbed host colours whole columns; a row that changes shows a change of that cell only. "
        f"{left_out}"
    )
    return Figure(anchor, Picture(anchor, f"Every slice on {title}", caption.strip(), "", ()), grid)


def _experiment(anchor: str, group: PlotGroup, result: RunResult, drawings: Drawings) -> ExperimentSection:
    """The section of an experiment; a smoke grid has no figures, since its numbers mean nothing."""
    return ExperimentSection(
        anchor=slug(f"{anchor}-cells-{group.title}"),
        title=group.title,
        figures=tuple(drawings.figure(anchor, picture) for picture in figures.of_group(group))
        if result.measures
        else (),
        cells=tables.cells(group.cells, result.not_applicable),
    )


def _latency(anchor: str, result: RunResult, drawings: Drawings) -> Iterator[tuple[Table, Figure]]:
    by_broker = grouped(result.latency, lambda cell: (cell.key.broker, cell.profile))
    for (broker, profile), chosen in by_broker.items():
        yield tables.latency(chosen), drawings.figure(anchor, figures.latency(chosen, broker, profile))
