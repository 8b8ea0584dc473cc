"""B of every slice over time: a row for each cell, a column for each round, which shows disturbances of the host.

A slice is shaded by its deviation from its cell's B at the median undisturbed round; shades are the same in every
figure. A disturbance of the host colours whole columns, a change of the broker a row. The tooltip of a slice has its
numbers. Of more rounds than there is room for, neighbours share a column, which shows the slowest of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf

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

#: Largest number of columns: those of a long run are still wide enough to be seen.
MOST_COLUMNS = 240

#: Gap between two layouts, in px; the share of the width that all gaps take at most.
_GAP, _GAPS = 4.0, 0.25

#: Room that the number of a layout needs, and from which on each layout has a line, in px.
_NAME, _APART = 24.0, 8.0

#: Layout, block, round.
_Round = tuple[int, int, int]


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
    columns = _Columns.of([window for _, found in rows for window, _ in found])
    alone = len({of_row.key.experiment for of_row, _ in shown}) == 1
    elements = [*_legend(), *_layouts(columns, _TOP + _ROW * len(shown))]
    for number, (of_row, found) in enumerate(shown):
        y = _TOP + _ROW * number
        name = of_row.key.cell if alone else f"{of_row.key.experiment} {of_row.key.cell}"
        elements.append(text(_LEFT - 8, y + _ROW - 3, name, size=10.5, anchor=Anchor.END))
        slowest_of: dict[int, tuple[Window, float]] = {}
        for window, deviation in found:
            column = columns.at[window.layout, window.block, window.round]
            if column not in slowest_of or deviation > slowest_of[column][1]:
                slowest_of[column] = window, deviation
        elements += (
            _slice_cell(of_row, window, deviation, columns.x[column], y, columns.width, begin_ns)
            for column, (window, deviation) in slowest_of.items()
        )
    slowest = max(((deviation, of_row) for of_row, found in rows for _, deviation in found), key=lambda each: each[0])
    alt = (
        f"Grid of {len(shown)} cells by {len(columns.at)} rounds: how much slower each slice was than its cell; the "
        f"slowest is one of {slowest[1].key.cell} with {slowest[0]:+.0%}."
    )
    left_out = f"Of {len(rows)} cells the {len(shown)} that scatter most." if len(rows) > len(shown) else ""
    if columns.merged > 1:
        left_out = f"{left_out} Each column is the slowest of {columns.merged} rounds in a row.".strip()
    return svg(alt, _TOP + _ROW * len(shown) + 6, elements), left_out


def _slices(of_row: CellSummary) -> list[tuple[Window, float]]:
    """The slices of a cell, with their relative deviations from the cell's B."""
    if of_row.processing_s is None or of_row.processing_s.estimate <= 0:
        return []
    taken_s = of_row.processing_s.estimate
    return [(window, window.processing_s / taken_s - 1) for window in of_row.windows if window.messages]


def _scatter(found: Sequence[tuple[Window, float]]) -> float:
    return max(abs(deviation) for _, deviation in found)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the rounds are on the axis, in the order in which they were measured."""

    #: round -> index of its column
    at: Mapping[_Round, int]
    #: left edge of each column, in px
    x: tuple[float, ...]
    width: float
    #: number of rounds that share a column
    merged: int
    #: number of each layout, and index of the column at which it begins
    layouts: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, windows: Sequence[Window]) -> _Columns:
        begins: dict[_Round, int] = {}
        for window in windows:
            key = window.layout, window.block, window.round
            begins[key] = min(window.begin_ns, begins.get(key, window.begin_ns))
        ordered = sorted(begins, key=lambda key: begins[key])
        merged = ceil(len(ordered) / MOST_COLUMNS)
        at = {key: index // merged for index, key in enumerate(ordered)}
        layouts = tuple(
            (key[0], at[key]) for index, key in enumerate(ordered) if not index or ordered[index - 1][0] != key[0]
        )
        room = WIDTH - _LEFT - 8
        gap = min(_GAP, _GAPS * room / len(layouts)) if merged == 1 else 0.0
        count = 1 + at[ordered[-1]]
        width = (room - gap * len(layouts)) / count
        before = [sum(1 for _, begin in layouts if 0 < begin <= column) for column in range(count)]
        return cls(
            at, tuple(_LEFT + column * width + gap * before[column] for column in range(count)), width, merged, layouts
        )


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


def _layouts(columns: _Columns, bottom: float) -> Iterator[str]:
    """A line at the begin of layouts, and their numbers, as far as there is room for them."""
    room = (WIDTH - _LEFT) / len(columns.layouts)
    every = max(1, ceil(_NAME / room))
    for index, (number, column) in enumerate(columns.layouts):
        if index % every and room < _APART:
            continue
        x = columns.x[column] - _GAP / 2
        yield line([(x, _TOP - 14), (x, bottom)], Tone.SOFT, dashed=True)
        if not index % every:
            yield text(x + 3, _TOP - 5, f"layout {number}" if room > 64 else str(number), size=11, tone=Tone.SOFT)


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
