"""Pictures -> SVG that is embedded in a page: text stays text, colours are those of the page. Knows no results.

matplotlib uses placeholder colours; in its SVG they are replaced by `currentColor` and the CSS variables of the page,
so that the same drawing works in light and dark mode and in print. The SVG does not depend on the time of drawing.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from analysis.report.figures import Heat, Panel, Picture, PlotPoint, Series, ShadeTone

#: Placeholder colour in matplotlib -> colour of the page. Seven series have distinct colours.
INK, RULE, PAGE, WRONG = "#0a0a01", "#0a0a02", "#0a0a03", "#0a0a04"
SERIES = tuple(f"#0b0b0{number}" for number in range(1, 8))
_CSS = {INK: "currentColor", RULE: "var(--rule)", PAGE: "var(--page)", WRONG: "var(--invalid)"} | {
    colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, 1)
}

#: Colours of the shades of a heat map.
_TONES = {ShadeTone.LOW: SERIES[0], ShadeTone.USUAL: RULE, ShadeTone.HIGH: SERIES[1], ShadeTone.WRONG: WRONG}

#: Series differ in markers and dashes as well as in colour.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (2, 1)), (0, (1, 1)))

_SETTINGS: Mapping[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.2,
    "legend.labelspacing": 0.3,
}

#: Number of points of a series from which on its markers are small, and their size.
_MANY, _SMALL = 150, 2.5

_WIDTH_INCHES = 9.6

#: Share of an axis that the name of a border needs.
_CLOSE = 0.1

#: Factor by which an axis is extended for the names of its borders.
_HEADROOM = 1.15


def svg(picture: Picture, salt: str) -> str:
    """An `<svg>` element; `salt` is the picture's name on its page, from which its identifiers are generated."""
    columns = min(len(picture.panels), 3) if picture.low else _columns(picture.panels)
    lines = -(-len(picture.panels) // columns)
    height = 2.4 if picture.low else 3.7
    if picture.panels[0].rows:
        height = max(1.2 + (0.2 if picture.low else 0.34) * len(picture.panels[0].rows), 2.0)
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": salt}):
        figure = Figure(figsize=(_WIDTH_INCHES, height * lines), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
        axes = figure.subplots(lines, columns, squeeze=False, sharey=bool(picture.panels[0].rows))
        for index, panel in enumerate(picture.panels):
            _draw(axes[index // columns][index % columns], panel, legend_columns=5 - columns)
        for index in range(len(picture.panels), lines * columns):
            axes[index // columns][index % columns].set_visible(False)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _for_page(buffer.getvalue(), picture)


def _columns(panels: Sequence[Panel]) -> int:
    return 3 if len(panels) in {3, 5, 6} else min(len(panels), 2)


def _draw(axes: Axes, panel: Panel, legend_columns: int) -> None:
    if panel.heat:
        _draw_heat(axes, panel, panel.heat)
        return
    axes.set_axisbelow(True)
    for band in panel.bands:
        (axes.axvspan if panel.rows else axes.axhspan)(-band, band, color=RULE, alpha=0.35, linewidth=0, zorder=0)
    for level in panel.levels:
        across = axes.axvline if panel.rows else axes.axhline
        across(level, color=INK, linewidth=0.8, linestyle="-" if level == 0 else (0, (1, 3)))
    for index, series in enumerate(panel.series):
        _draw_series(axes, series, index, sideways=bool(panel.rows))
    if panel.rows:
        _name_rows(axes, panel)
    else:
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.y_label)
        _scale(axes, panel)
        _draw_borders(axes, panel)
    labelled = any(series.label for series in panel.series)
    if labelled:
        axes.legend(
            *_handles(axes, panel),
            title=panel.title or None,
            title_fontproperties={"weight": "bold"},
            alignment="left",
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            ncols=legend_columns,
        )
    elif panel.title:
        axes.set_title(panel.title, loc="left", fontsize=9, fontweight="bold")


def _draw_heat(axes: Axes, panel: Panel, heat: Heat) -> None:
    """The rows from top to bottom; the legend has each shade, whether or not there is a value in it."""
    colours = [to_rgba(_TONES[shade.tone], shade.opacity) for shade in heat.shades]
    axes.grid(visible=False)
    axes.pcolormesh(
        heat.edges,
        [row - 0.5 for row in range(len(panel.rows) + 1)],
        np.ma.masked_invalid(heat.places),
        cmap=ListedColormap(colours),
        vmin=0,
        vmax=len(colours),
        edgecolors=PAGE,
        linewidth=0.3,
    )
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.invert_yaxis()
    axes.set_xlabel(panel.x_label)
    for x, _ in panel.borders:
        axes.axvline(x, color=INK, linewidth=0.6, linestyle=(0, (1, 3)))
    if named := [border for border in panel.borders if border[1]]:
        axes.set_xticks(*zip(*named, strict=True))
    axes.legend(
        [Patch(color=colour) for colour in colours],
        [shade.name for shade in heat.shades],
        loc="lower right",  # from there it may reach over the names of the rows
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(colours),
    )


def _draw_borders(axes: Axes, panel: Panel) -> None:
    """Names are above the data; a name that would overlap the preceding one is a line lower."""
    low, high = axes.get_xlim()
    if any(name for _, name in panel.borders) and not panel.y_is_wide:
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, bottom + (top - bottom) * _HEADROOM)
    lower, before = 0, low - (high - low)
    for x, name in panel.borders:
        axes.axvline(x, color=INK, linewidth=0.6, linestyle=(0, (1, 3)))
        if name:
            lower = lower + 1 if x - before < _CLOSE * (high - low) else 0
            before = x
            at = (3, -2 - 10 * lower)
            axes.annotate(name, (x, 1), at, ("data", "axes fraction"), "offset points", va="top", fontsize=8)


def _draw_series(axes: Axes, series: Series, index: int, *, sideways: bool) -> None:
    colour, marker = SERIES[index % len(SERIES)], _MARKERS[index % len(_MARKERS)]
    if series.model:
        axes.plot(*zip(*series.model, strict=True), color=colour, linewidth=1.1, linestyle=(0, (4, 2)), zorder=2)
    if series.line:
        axes.plot(*zip(*series.line, strict=True), color=colour, linewidth=1.2, linestyle=_dashes(index), zorder=2)
    if series.joined:
        for start in sorted({point.start for point in series.points}):
            line = [(point.x, point.y.estimate) for point in series.points if point.start == start]
            axes.plot(*zip(*line, strict=True), color=colour, linewidth=0.9, alpha=0.55, zorder=2)
    for hollow in (False, True):
        points = [point for point in series.points if point.hollow == hollow]
        if points:
            _draw_points(axes, points, colour, marker, hollow=hollow, sideways=sideways)


def _draw_points(
    axes: Axes, points: Sequence[PlotPoint], colour: str, marker: str, *, hollow: bool, sideways: bool
) -> None:
    places, values = [point.x for point in points], [point.y.estimate for point in points]
    reach = [
        [0.0 if p.y.low is None else p.y.estimate - p.y.low for p in points],
        [0.0 if p.y.high is None else p.y.high - p.y.estimate for p in points],
    ]
    horizontal, vertical = (values, places) if sideways else (places, values)
    axes.errorbar(
        horizontal,
        vertical,
        **{"xerr" if sideways else "yerr": reach},  # type: ignore[arg-type]
        linestyle="none",
        marker=marker,
        markersize=_SMALL if len(points) > _MANY else None,
        color=colour,
        markerfacecolor=PAGE if hollow else colour,
        markeredgewidth=1.0,
        elinewidth=1.0,
        capsize=2.0,
        alpha=0.6 if hollow else 1.0,
        zorder=3,
    )


def _handles(axes: Axes, panel: Panel) -> tuple[list[Artist], list[str]]:
    """The legend entry of each series, whether or not it has a filled point."""
    handles: list[Artist] = []
    for index, series in enumerate(panel.series):
        colour, marker = SERIES[index % len(SERIES)], _MARKERS[index % len(_MARKERS)]
        style = (0, (4, 2)) if series.model else "-" if series.joined else "none"
        if series.line:
            marker, style = "", _dashes(index)
        handles += axes.plot([], [], color=colour, marker=marker, linestyle=style, linewidth=1.0)
    return handles, [series.label for series in panel.series]


def _dashes(index: int) -> Any:
    return _DASHES[index % len(_DASHES)]


def _name_rows(axes: Axes, panel: Panel) -> None:
    axes.set_yticks(range(len(panel.rows)), panel.rows)
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    axes.set_xlabel(panel.y_label)
    axes.axvline(1 if panel.ratios else 0, color=INK, linewidth=0.8)
    axes.margins(x=0.1)
    if panel.ratios:
        axes.set_xscale("log", nonpositive="clip")
        # An end at or below 0 cannot be shown on this axis.
        values = [1.0, *panel.levels, *(value for series in panel.series for value in _ratio_reach(series))]
        axes.set_xlim(min(values) / 1.05, max(values) * 1.05)
        axes.xaxis.set_major_locator(MaxNLocator(7) if max(values) < 3 * min(values) else LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(_PLAIN)


def _ratio_reach(series: Series) -> list[float]:
    ends = [end for point in series.points for end in (point.y.estimate, point.y.low, point.y.high)]
    return [end for end in ends if end is not None and end > 0]


_PLAIN = FuncFormatter(lambda value, _position: f"{value:,.6g}".replace("-", "\N{MINUS SIGN}"))


def _scale(axes: Axes, panel: Panel) -> None:
    values = [value for series in panel.series for value in series.values]
    places = sorted({point.x for series in panel.series for point in series.points})
    for axis, wide, span, name in (
        (axes.xaxis, panel.x_is_wide, places, "x"),
        (axes.yaxis, panel.y_is_wide, values, "y"),
    ):
        if wide:
            getattr(axes, f"set_{name}scale")("log", nonpositive="clip")
            decades = max(span) / min(span)
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 500 else (1.0,)))
            axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(_PLAIN)
    if panel.x_is_wide and len(places) <= 8:
        axes.xaxis.set_major_locator(FixedLocator(places))
    if not panel.y_is_wide and not panel.bands and min([*values, *panel.levels], default=0) >= 0:
        axes.set_ylim(bottom=0)


def _for_page(document: str, picture: Picture) -> str:
    element = document[document.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", element, flags=re.DOTALL)
    element = re.sub(r'(<g) id="[^"]*"', r"\1", element)
    element = re.sub(r' xmlns(:xlink)?="[^"]*"| version="1.1"', "", element).replace("xlink:href", "href")
    element = re.sub(r' (width|height)="[\d.]+pt"', "", element, count=2)
    element = re.sub(r" font-family: [^;\"]*;", "", element)
    element = re.sub(r' transform="rotate\(-0 [^"]*"', "", element)
    element = re.sub("|".join(_CSS), lambda match: _CSS[match[0]], element)
    element = re.sub(r"\s*\n\s*", "\n", element)
    return element.replace("<svg", f'<svg role="img" aria-label="{escape(picture.alt)}"', 1).strip()
