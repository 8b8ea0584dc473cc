"""A page of the report as a value, which `page.html.j2` renders: it has a macro for each kind of part.

The module of a page chooses the parts and their order; of HTML it has only what is emphasised within its sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.atomic import written_whole
from analysis.report.drawings import Figure
from analysis.table import Table
from analysis.text import Alike, NextStep, capital
from workloads.command_line import analysing

#: Default name of the file, in the first run directory.
NAME = "report.html"


@dataclass(frozen=True, slots=True)
class Soft:
    """A paragraph in a soft colour, of what is said in passing."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of texts."""

    texts: tuple[str, ...]
    #: class of the style sheet
    style: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values."""

    pairs: tuple[tuple[str, str | Listing], ...]


@dataclass(frozen=True, slots=True)
class VerdictBox:
    """A verdict with its meaning, in a box of its colour."""

    verdict: str
    meaning: str
    #: accessible name
    label: str = "verdict"
    #: the kind of verdict that has the colour; empty for the verdict itself
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Parts under a heading."""

    #: HTML id; one without it is not in the table of contents
    anchor: str
    #: empty for parts that are only laid out together
    title: str
    parts: tuple[Part, ...]
    #: class of the style sheet
    style: str = ""
    #: accessible name of a section without a title
    label: str = ""
    #: shown with the title
    verdict: str = ""

    @property
    def contents(self) -> tuple[Section, ...]:
        """The sections within it that the table of contents lists."""
        return tuple(part for part in self.parts if isinstance(part, Section) and part.anchor)


#: A text is a paragraph.
Part: TypeAlias = str | Soft | Listing | Facts | VerdictBox | Table | Figure | NextStep | Section


@dataclass(frozen=True, slots=True)
class Chapter:
    """The part of a page about one result."""

    anchor: str
    #: its name where the page has several chapters
    heading: str
    #: its verdict, and what a reader must see first
    top: tuple[Part, ...]
    findings: tuple[Alike, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of one or several chapters."""

    title: str
    #: title of the browser's window
    window: str
    chapters: tuple[Chapter, ...]
    #: items of the list of what must not be concluded from the page
    limits: Markup
    #: the verdict over several chapters; a single one's own top is shown instead
    top: tuple[Part, ...] = ()
    #: sections before the chapters
    overview: tuple[Section, ...] = ()
    #: sections after the chapters
    closing: tuple[Section, ...] = ()
    #: what the report is about
    subject: str = ""
    #: shown before everything else
    disclaimer: str = ""

    def html(self) -> str:
        """The page as HTML; texts are escaped, and a missing value is an error."""
        environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        environment.filters["capital"] = capital
        environment.filters["kind"] = lambda part: "str" if isinstance(part, str) else type(part).__name__
        return environment.get_template("page.html.j2").render(page=self)


def write_text(path: Path, text: str) -> Path:
    """Writes a page, completely or not at all; returns its path. Raises DataError where it fails."""
    with written_whole(path, "report", f"name another file with `{analysing('report --output FILE')}`") as file:
        file.write(text.encode())
    return path
