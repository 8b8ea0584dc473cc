"""A table as a value, which the report renders as HTML and the terminal as text. Knows no results.

Text is ASCII, at most WIDTH columns wide as far as the values allow it: first long texts are wrapped, then the table is
split into several blocks of columns, each of which begins with the columns that name the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill, wrap
from typing import Any, Generic, Self, TypeVar

from tabulate import SEPARATING_LINE, tabulate

#: Columns of a terminal.
WIDTH = 120

#: Width to which titles are wrapped where their values are narrower.
_TITLE = 8

#: Widths to which texts are wrapped, None for not at all: the first one with which the table fits.
_TEXT = (None, *range(30, 18, -2))

#: The one for a table that has to be split.
_SPLIT = 30

#: Signs of the report, and what a terminal shows for them.
_ASCII = {"\N{EN DASH}": "-", "\N{MICRO SIGN}": "u", "\N{PLUS-MINUS SIGN} ": "+-", "\N{PLUS-MINUS SIGN}": "+-"}

_GAP = 2

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class TableColumn(Generic[_Item]):
    """A column of a table of items: its header, and the text of its cell."""

    title: str
    text: Callable[[_Item], str]
    unit: str = ""
    #: right-aligned
    number: bool = True
    #: left out of the text: it explains what a reader of a terminal can look up
    report_only: bool = False


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table."""

    values: tuple[str, ...]
    #: its style: "", "greyed", "sum", or a verdict; in text the name of a greyed row is in parentheses
    kind: str = ""
    #: text below the row
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption, which is also its accessible name."""

    caption: str
    columns: tuple[TableColumn[Any], ...]
    rows: tuple[TableRow, ...]
    #: number of leading columns that name a row
    keys: int = 1

    @classmethod
    def of(
        cls,
        caption: str,
        items: Iterable[_Item],
        *columns: TableColumn[_Item],
        kind: Callable[[_Item], str] | None = None,
        note: Callable[[_Item], str] | None = None,
        more: Iterable[TableRow] = (),
        keys: int = 1,
    ) -> Self:
        """A row for each item, with its kind and note, then `more` rows."""
        rows = (
            TableRow(
                tuple(column.text(item) for column in columns), kind(item) if kind else "", note(item) if note else ""
            )
            for item in items
        )
        return cls(caption, columns, (*rows, *more), keys)


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """The items of each table by its key, in the order of their first occurrence."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def ascii_text(text: str) -> str:
    """The text with the signs of the report as a terminal shows them."""
    for sign, replacement in _ASCII.items():
        text = text.replace(sign, replacement)
    return text


def render_text(table: Table) -> str:
    """The caption, then the rows with their notes; a table that was split has an empty line between its blocks."""
    shown = [index for index, column in enumerate(table.columns) if not column.report_only]
    layouts = {width: [_column(table, index, width) for index in shown] for width in _TEXT}
    columns = next((layout for layout in layouts.values() if _width(layout) <= WIDTH), layouts[_SPLIT])
    align = ["right" if table.columns[index].number else "left" for index in shown]
    blocks = list(_blocks(columns, table.keys))
    notes = [ascii_text(row.note) for row in table.rows]
    texts = [
        _block([columns[at] for at in block], [align[at] for at in block], notes if block is blocks[-1] else ())
        for block in blocks
    ]
    return "\n".join([fill(ascii_text(table.caption), WIDTH, break_on_hyphens=False), "\n\n".join(texts)])


def _column(table: Table, index: int, width: int | None) -> list[str]:
    """The title and the values of a column, with line breaks; texts are wrapped where a width is given."""
    column = table.columns[index]
    values = [row.values[index] for row in table.rows]
    if index == 0:
        values = [
            f"({value})" if row.kind == "greyed" else value for row, value in zip(table.rows, values, strict=True)
        ]
    if width is not None and not column.number:
        values = ["\n".join(_wrapped(value, width)) for value in values]
    title = _wrapped(column.title, max([_TITLE, *map(_longest, values)]))
    return [ascii_text(text) for text in ("\n".join([*title, *filter(None, [column.unit])]), *values)]


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(_longest, column)) for column in columns) + _GAP * (len(columns) - 1)


def _longest(text: str) -> int:
    return max(map(len, text.split("\n")))


def _blocks(columns: Sequence[Sequence[str]], keys: int) -> Iterator[list[int]]:
    """The indexes of the columns of each block: as many as fit, at least one besides the keys."""
    naming = list(range(keys))
    block = list(naming)
    for index in range(keys, len(columns)):
        if len(block) > keys and _width([columns[at] for at in (*block, index)]) > WIDTH:
            yield block
            block = list(naming)
        block.append(index)
    yield block


def _block(columns: Sequence[Sequence[str]], align: Sequence[str], notes: Sequence[str]) -> str:
    """Aligned columns under a line, each row with its note below it."""
    head, *rows = zip(*columns, strict=True)
    # Without headers, because tabulate makes columns with headers wider; hence a line above and below all rows.
    lines = str(
        tabulate([head, SEPARATING_LINE, *rows], tablefmt="simple", disable_numparse=True, colalign=align)
    ).splitlines()[1:-1]
    if not any(notes):
        return "\n".join(lines)
    below = 1 + _height(head)
    texts = lines[:below]
    for row, note in zip(rows, notes, strict=True):
        texts += lines[below : below + _height(row)]
        texts += wrap(note, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        below += _height(row)
    return "\n".join(texts)


def _height(row: Sequence[str]) -> int:
    return max(text.count("\n") for text in row) + 1
