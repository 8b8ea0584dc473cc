"""Draws the figures of a page. What goes wrong in one of them costs the page nothing else: it becomes a finding."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from analysis.report import plot_svg
from analysis.report.figures import Picture
from analysis.results import Finding


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its drawing and its anchor on the page."""

    anchor: str
    picture: Picture
    #: empty where it could not be drawn
    svg: str
    #: drawn at full width, and scrolled where there is less room
    wide: bool = False


class Drawings:
    """The figures of a page, drawn one by one."""

    def __init__(self) -> None:
        #: what went wrong so far, and what the library warned of
        self.findings: list[Finding] = []

    def figures(self, anchor: str, *pictures: Picture | None) -> tuple[Figure, ...]:
        """Those pictures that there are, as SVG; `anchor` is that of the chapter they belong to."""
        return tuple(self.figure(anchor, picture) for picture in pictures if picture is not None)

    def figure(self, anchor: str, picture: Picture) -> Figure:
        """A picture as SVG; `anchor` is that of the chapter it belongs to."""
        name = slug(f"{anchor}-{picture.name}")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                svg = plot_svg.svg(picture, name)
            except Exception as error:  # noqa: BLE001 - whatever it is, the tables and the verdict must be shown
                svg = ""
                self._note(f"the figure `{picture.title}` could not be drawn", f"{type(error).__name__}: {error}")
        for warning in warned:
            self._note(f"the figure `{picture.title}` may be hard to read", str(warning.message))
        return Figure(name, picture, svg)

    def _note(self, what: str, measured: str) -> None:
        self.findings.append(
            Finding(
                what=what,
                measured=measured,
                limit="every figure drawn without a warning of the library",
                advice="nothing for the result: the tables have its numbers; please report it",
            )
        )


def drawn(anchor: str, title: str, caption: str, svg: str) -> Figure:
    """A diagram, which is an SVG already and has its alternative text."""
    return Figure(anchor, Picture(anchor, title, caption, "", ()), svg, wide=True)


def slug(text: str) -> str:
    """A unique anchor for every text, also for labels that differ in punctuation only."""
    return re.sub(r"[^A-Za-z0-9 -]", lambda sign: f".{ord(sign[0]):x}.", text).replace(" ", "_")
