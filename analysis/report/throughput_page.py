"""Runs -> the page: first the content of the closing screen, then findings, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from analysis.atomic import written_whole
from analysis.errors import DataError
from analysis.report import figures, plot_svg, tables
from analysis.report.figures import Picture, PlotGroup
from analysis.report.rounds_figure import heat
from analysis.report.tables import Table
from analysis.results import JSON_SCHEMA, BrokerComparison, CellSummary, FitResult, RunResult, worst
from analysis.text import Alike, alike
from analysis.throughput.console import by_start, nowhere
from analysis.throughput.glance import CELL_COLUMNS, Glance, glance
from workloads.status import VerdictKind

#: Default name of the file, in the first run directory.
NAME = "report.html"

_TEMPLATE = "page.html.j2"


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its drawing and its anchor on the page."""

    anchor: str
    picture: Picture
    svg: str


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
    result: RunResult
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
    chapters = [_chapter(f"run-{number}", result) for number, result in enumerate(results, 1)]
    picture = figures.coefficients(results)
    return template(_TEMPLATE).render(
        title=f"{len(results)} runs" if several else f"Run {results[0].run}",
        several=several,
        verdict=worst(result.verdict for result in results),
        meaning=_overall(results) if several else chapters[0].glance.meaning,
        chapters=chapters,
        cell_columns=CELL_COLUMNS,
        side_by_side=picture and (tables.side_by_side(results), figure("all", picture)),
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


def _overall(results: Sequence[RunResult]) -> str:
    counts = {kind: sum(result.verdict == kind for result in results) for kind in VerdictKind}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"the worst of {len(results)} runs ({said}); each has its own verdict below"


def _chapter(anchor: str, result: RunResult) -> BrokerChapter:
    groups = figures.groups(result)
    return BrokerChapter(
        anchor=anchor,
        result=result,
        glance=glance(result),
        findings=tuple(alike(result.every_finding)),
        brokers=tables.brokers(result.manifest),
        setup=tuple(tables.setup(result.manifest)),
        models=tuple(_model(anchor, fit, groups) for fit in result.fits),
        ratios=tuple(_compared(anchor, comparison) for comparison in result.comparisons),
        claims=tuple(tables.claims(result.claims)),
        rounds=tuple(_rounds(anchor, result)) if result.measures else (),
        experiments=tuple(_experiment(anchor, group, result) for group in groups),
        not_applicable=tuple(nowhere(result.cells, result.not_applicable)),
        audit=tables.audit(result.audit),
        latency=tuple(_latency(anchor, result)),
        host=tables.host(result.host) if result.host else None,
    )


def _model(anchor: str, fit: FitResult, groups: Sequence[PlotGroup]) -> ModelSection:
    unit = fit.broker, fit.experiment, fit.profile
    cells = [
        cell for group in groups for cell in group.cells if unit == (group.broker, group.experiment, group.profile)
    ]
    title = f"{fit.experiment} on {fit.broker}, profile {fit.profile}"
    drawn = (figures.against_plane(fit), figures.residuals(fit, cells))
    return ModelSection(
        anchor=slug(f"{anchor}-model-{title}"),
        title=title,
        fit=fit,
        parameters=tables.parameters(fit),
        facts=tuple(tables.fit_facts(fit)),
        cells=tables.fitted_cells(fit),
        figures=tuple(figure(anchor, picture) for picture in drawn) if fit.points else (),
    )


def _compared(anchor: str, comparison: BrokerComparison) -> Compared:
    picture = figures.ratios(comparison)
    return Compared(
        f"{comparison.experiment}, profile {comparison.profile}",
        None if picture is None else figure(anchor, picture),
        tuple(tables.ratios(comparison)),
    )


def _rounds(anchor: str, result: RunResult) -> Iterator[Rounds]:
    """The rounds of every start that has a slice to show."""
    starts: dict[tuple[str, int], list[CellSummary]] = {}
    for cell in result.cells:
        starts.setdefault((cell.key.broker, cell.key.start), []).append(cell)
    levels = dict(by_start(result.rounds))
    drawn = dict(zip(levels, figures.levels(result.rounds), strict=True))
    for key in sorted(starts.keys() | levels.keys()):
        title = f"{key[0]}, start {key[1]}"
        shown = [figure(anchor, drawn[key])] if key in drawn else []
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


def _experiment(anchor: str, group: PlotGroup, result: RunResult) -> ExperimentSection:
    """The section of an experiment; a smoke grid has no figures, since its numbers mean nothing."""
    return ExperimentSection(
        anchor=slug(f"{anchor}-cells-{group.title}"),
        title=group.title,
        figures=tuple(figure(anchor, picture) for picture in figures.of_group(group)) if result.measures else (),
        cells=tables.cells(
            group,
            [
                cell
                for cell in result.not_applicable
                if (cell.broker, cell.experiment, cell.profile) == (group.broker, group.experiment, group.profile)
            ],
        ),
    )


def _latency(anchor: str, result: RunResult) -> Iterator[tuple[Table, Figure]]:
    for broker, profile in dict.fromkeys((cell.key.broker, cell.profile) for cell in result.latency):
        chosen = [cell for cell in result.latency if (cell.key.broker, cell.profile) == (broker, profile)]
        picture = figures.latency(chosen, broker, profile)
        yield tables.latency(chosen, broker, profile), figure(anchor, picture)


def figure(anchor: str, picture: Picture) -> Figure:
    """A picture as SVG; `anchor` is that of the section it belongs to."""
    name = slug(f"{anchor}-{picture.name}")
    return Figure(name, picture, plot_svg.svg(picture, name))


def slug(text: str) -> str:
    """A unique anchor for every text, also for labels that differ in punctuation only."""
    return re.sub(r"[^A-Za-z0-9 -]", lambda sign: f".{ord(sign[0]):x}.", text).replace(" ", "_")
