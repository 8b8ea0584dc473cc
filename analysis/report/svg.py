"""Boxes, lines and text -> SVG that is embedded in a page, for diagrams that are not plots. Knows no results.

As in `plot_svg`: text stays text, and colours are those of the page, so that the same diagram works in light and dark
mode and in print. Lengths are in px of the page at its full width.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from html import escape

WIDTH = 960

#: Height of a line of text, and approximate width of a letter, as multiples of the font size.
LEADING, LETTER = 1.35, 0.56


class Tone(StrEnum):
    """Colours of the page."""

    INK = "currentColor"
    SOFT = "var(--soft)"
    RULE = "var(--rule)"
    SHADE = "var(--shade)"
    PAGE = "var(--page)"
    FIRST = "var(--series-1)"
    SECOND = "var(--series-2)"


def svg(alt: str, height: float, elements: Iterable[str]) -> str:
    """An `<svg>` element; `alt` is the alternative text for screen readers."""
    head = f'<svg role="img" aria-label="{escape(alt)}" viewBox="0 0 {WIDTH} {height:g}" class="sketch">'
    return "\n".join([head, *elements, "</svg>"])


def text(
    x: float, y: float, words: str, *, size: float, middle: bool = False, tone: Tone = Tone.INK, bold: bool = False
) -> str:
    """A line of text; `y` is its base line, `x` its begin, or its middle."""
    weight = "; font-weight: 600" if bold else ""
    style = f"font-size: {size:g}px; text-anchor: {'middle' if middle else 'start'}; fill: {tone}{weight}"
    return f'<text x="{x:g}" y="{y:g}" style="{style}">{escape(words)}</text>'


def lines(x: float, y: float, words: Iterable[str], *, size: float, middle: bool = False, tone: Tone = Tone.INK) -> str:
    """Several lines below each other, the first on the base line `y`."""
    return "\n".join(
        text(x, y + number * size * LEADING, line, size=size, middle=middle, tone=tone)
        for number, line in enumerate(words)
    )


def line(points: Iterable[tuple[float, float]], tone: Tone, *, width: float = 1, dashed: bool = False) -> str:
    way = " ".join(f"{x:g},{y:g}" for x, y in points)
    dashes = "; stroke-dasharray: 5 4" if dashed else ""
    return f'<polyline points="{way}" style="fill: none; stroke: {tone}; stroke-width: {width:g}{dashes}"/>'


def box(x: float, y: float, width: float, height: float) -> str:
    style = f"fill: {Tone.SHADE}; stroke: {Tone.SOFT}; stroke-width: 1"
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" style="{style}"/>'


def head(x: float, y: float, tone: Tone, *, to_the_left: bool = False) -> str:
    """The head of an arrow whose point is at (x, y)."""
    back = x + 10 if to_the_left else x - 10
    return f'<polygon points="{x:g},{y:g} {back:g},{y - 4.5:g} {back:g},{y + 4.5:g}" style="fill: {tone}"/>'


def width_of(words: str, size: float) -> float:
    """Approximate width of a line of text; the browser's font is not known here."""
    return len(words) * size * LETTER
