"""Delivery times of an interaction's addresses over the run: a row for each address, a cell for each slice.

Each decade has a shade, which is the same in every picture, so that two pictures can be compared; values above the
limit of the rules have a separate colour. A tooltip shows the values of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from analysis.report.svg import WIDTH, Anchor, Tone, cell, line, svg, text
from analysis.scenario.results import PeriodSlice, WorkloadResult
from workloads.scenario.limits import DELIVERY_TIME

#: Maximum number of rows, for the slowest addresses; the others are in the tables, by event handler.
MOST_ROWS = 40

#: Upper limit in ms, tone and shade; the last but one is the limit of the rules.
_TONES = (
    (1.0, Tone.FIRST, 0.12),
    (10.0, Tone.FIRST, 0.3),
    (100.0, Tone.FIRST, 0.5),
    (1000.0, Tone.FIRST, 0.75),
    (DELIVERY_TIME.limit, Tone.FIRST, 1.0),
    (inf, Tone.WRONG, 1.0),
)

_LEFT, _TOP, _ROW = 210.0, 46.0, 13.0


def grid(result: WorkloadResult, messages: Sequence[str]) -> tuple[str, str]:
    """An `<svg>` element and a sentence on the addresses that it omits; both empty if nothing was received."""
    found: dict[str, list[PeriodSlice]] = {}
    for part in result.slices:
        if part.message in messages:
            found.setdefault(part.address, []).append(part)
    if not found:
        return "", ""
    rows = sorted(found.values(), key=_slowest_ms, reverse=True)
    shown = rows[:MOST_ROWS]
    bottom = _TOP + _ROW * len(shown)
    end_s = max(span.begin_s + span.seconds for span in result.spans)
    scale = (WIDTH - _LEFT - 8) / max(end_s, max(part.begin_s for row in rows for part in row) + result.slice_s)
    elements = [*_legend(), *_borders(result, scale, bottom)]
    for number, row in enumerate(shown):
        y = _TOP + _ROW * number
        elements.append(text(_LEFT - 8, y + _ROW - 3, row[0].address, size=10.5, anchor=Anchor.END))
        elements += (_cell(part, _LEFT + part.begin_s * scale, y, result.slice_s, scale) for part in row)
    alt = (
        f"Grid of delivery times by address and time; the slowest is {rows[0][0].address} with "
        f"{_slowest_ms(rows[0]):,.1f} ms as its highest 90th percentile."
    )
    said = f"The {len(shown)} slowest of {len(rows)} addresses." if len(rows) > len(shown) else ""
    return svg(alt, bottom + 6, elements), said


def _slowest_ms(row: Sequence[PeriodSlice]) -> float:
    return max(part.p90_ms for part in row)


def _legend() -> Iterator[str]:
    """A patch for each shade, followed by its meaning."""
    for index, (limit_ms, tone, shade) in enumerate(_TONES):
        x = _LEFT + 122 * index
        name = f"up to {limit_ms:,.0f} ms" if limit_ms < inf else "above"
        yield cell(x, 4, 16, 11, tone, shade, name)
        yield text(x + 21, 13.5, name, size=11, tone=Tone.SOFT)


def _borders(result: WorkloadResult, scale: float, bottom: float) -> Iterator[str]:
    for span in result.spans:
        x = _LEFT + span.begin_s * scale
        yield line([(x, _TOP - 8), (x, bottom)], Tone.SOFT, dashed=True)
        if span.seconds * scale > 60:  # a short drain has no room for its name
            yield text(x + 4, _TOP - 4, f"{span.period}, from {span.begin_s:,.0f} s", size=11, tone=Tone.SOFT)


def _cell(part: PeriodSlice, x: float, y: float, slice_s: int, scale: float) -> str:
    tone, shade = next((tone, shade) for limit_ms, tone, shade in _TONES if part.p90_ms <= limit_ms)
    said = (
        f"{part.address}, {part.begin_s:,.0f} to {part.begin_s + slice_s:,.0f} s: "
        f"p50 {part.p50_ms:,.1f} ms, p90 {part.p90_ms:,.1f} ms of {part.copies:,} copies"
    )
    return cell(x + 0.5, y + 1, max(1.0, slice_s * scale - 1), _ROW - 2, tone, shade, said)
