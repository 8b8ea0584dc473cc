"""B of every slice over time: a row for each cell, a column for each round, which shows disturbances of the host.

A slice is shaded by its deviation from its cell's B at the median undisturbed round; shades are the same in every
figure. A disturbance of the host colours whole columns, a change of the broker a row. The tooltip of a slice has its
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from analysis.report.svg import WIDTH, Anchor, Tone, cell, line, svg, text
from analysis.results import CellSummary
from workloads.schema import Window

#: Largest number of rows: the cells whose slices scatter most; all others are in the tables.
MOST_ROWS = 40

#: Upper limit of the relative deviation, tone and shade.
_TONES = (
    (-0.10, Tone.FIRST, 0.8),
    (-0.05, Tone.FIRST, 0.4),
    (0.05, Tone.RULE, 0.5),
    (0.10, Tone.SECOND, 0.35),
    (0.20, Tone.SECOND, 0.65),
    (inf, Tone.SECOND, 1.0),
)

_LEFT, _TOP, _ROW = 215.0, 50.0, 13.0

#: Gap between two layouts, in px.
_GAP = 4.0


def heat(cells: Sequence[CellSummary]) -> tuple[str, str]:
    """An `<svg>` element for the cells of a broker and start, and a sentence on the cells left out; both empty where no
    cell has a time per message to compare with. Open loops are left out: their B is given by the plan."""
    ordered = sorted(cells, key=lambda each: each.key)
    rows = [(of_row, found) for of_row in ordered if not of_row.open_loop and (found := _slices(of_row))]
    if not rows:
        return "", ""
    chosen = sorted(range(len(rows)), key=lambda row: -_scatter(rows[row][1]))[:MOST_ROWS]
    shown = [rows[row] for row in sorted(chosen)]
    begin_ns = min(window.begin_ns for _, found in rows for window, _ in found)
    columns = _columns([window for _, found in rows for window, _ in found])
    widths = (WIDTH - _LEFT - 8 - _GAP * len({layout for layout, *_ in columns})) / len(columns)
    alone = len({of_row.key.experiment for of_row, _ in shown}) == 1
    elements = [*_legend(), *_layouts(columns, widths, _TOP + _ROW * len(shown))]
    for number, (of_row, found) in enumerate(shown):
        y = _TOP + _ROW * number
        name = of_row.key.cell if alone else f"{of_row.key.experiment} {of_row.key.cell}"
        elements.append(text(_LEFT - 8, y + _ROW - 3, name, size=10.5, anchor=Anchor.END))
        elements += (
            _slice_cell(of_row, window, deviation, _x(columns, window, widths), y, widths, begin_ns)
            for window, deviation in found
        )
    slowest = max(((deviation, of_row) for of_row, found in rows for _, deviation in found), key=lambda each: each[0])
    alt = (
        f"Grid of {len(shown)} cells by {len(columns)} rounds: how much slower each slice was than its cell; the "
        f"slowest is one of {slowest[1].key.cell} with {slowest[0]:+.0%}."
    )
    left_out = f"Of {len(rows)} cells the {len(shown)} that scatter most." if len(rows) > len(shown) else ""
    return svg(alt, _TOP + _ROW * len(shown) + 6, elements), left_out


def _slices(of_row: CellSummary) -> list[tuple[Window, float]]:
    """The slices of a cell, with their relative deviations from the cell's B."""
    if of_row.processing_s is None or of_row.processing_s.estimate <= 0:
        return []
    taken_s = of_row.processing_s.estimate
    return [(window, window.processing_s / taken_s - 1) for window in of_row.windows if window.messages]


def _scatter(found: Sequence[tuple[Window, float]]) -> float:
    return max(abs(deviation) for _, deviation in found)


def _columns(windows: Sequence[Window]) -> dict[tuple[int, int, int], int]:
    """(layout, block, round) -> its index on the axis, in the order in which they were measured."""
    begins: dict[tuple[int, int, int], int] = {}
    for window in windows:
        key = window.layout, window.block, window.round
        begins[key] = min(window.begin_ns, begins.get(key, window.begin_ns))
    return {key: index for index, key in enumerate(sorted(begins, key=lambda key: begins[key]))}


def _x(columns: dict[tuple[int, int, int], int], window: Window, width: float) -> float:
    index = columns[window.layout, window.block, window.round]
    return _LEFT + index * width + _GAP * len({layout for layout, *_ in list(columns)[:index]} - {window.layout})


def _legend() -> Iterator[str]:
    """A patch for each shade, followed by its meaning."""
    low = -inf
    for index, (limit, tone, shade) in enumerate(_TONES):
        x = _LEFT + 122 * index
        name = f"{low:+.0%} to {limit:+.0%}"
        if low == -inf:
            name = f"below {limit:+.0%}"
        elif limit == inf:
            name = f"above {low:+.0%}"
        yield cell(x, 4, 16, 11, tone, shade, name)
        yield text(x + 21, 13.5, name, size=11, tone=Tone.SOFT)
        low = limit


def _layouts(columns: dict[tuple[int, int, int], int], width: float, bottom: float) -> Iterator[str]:
    """A line at the begin of each layout, and its number where there is room for it."""
    order = list(columns)
    begins = [order[0], *(after for before, after in pairwise(order) if after[0] != before[0])]
    room = (WIDTH - _LEFT) / len(begins)
    for number, key in enumerate(begins):
        x = _LEFT + columns[key] * width + _GAP * (number - 0.5)
        yield line([(x, _TOP - 14), (x, bottom)], Tone.SOFT, dashed=True)
        if room > 16:
            yield text(x + 3, _TOP - 5, f"layout {key[0]}" if room > 64 else str(key[0]), size=11, tone=Tone.SOFT)


def _slice_cell(
    of_row: CellSummary, window: Window, deviation: float, x: float, y: float, width: float, begin_ns: int
) -> str:
    tone, shade = next((tone, shade) for limit, tone, shade in _TONES if deviation <= limit)
    at_s = (window.begin_ns - begin_ns) / 1e9
    tooltip = (
        f"{of_row.key.cell}, layout {window.layout} round {window.round}, {at_s:,.0f} s: {deviation:+.1%}, "
        f"{window.processing_s * 1e6:,.4g} us"
    )
    return cell(x + 0.5, y + 1, max(1.0, width - 1), _ROW - 2, tone, shade, tooltip)
