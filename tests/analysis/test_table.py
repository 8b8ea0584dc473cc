"""A table as text: within the width of a terminal, with every value, its notes, and ASCII only."""

from itertools import zip_longest
from operator import itemgetter

import pytest

from analysis.table import WIDTH, Table, TableColumn, TableRow, render_text


def table(caption, titles, rows, units=(), **changes):
    """A table of rows that are their cells; of the titles the first is a text, all others numbers."""
    columns = (
        TableColumn(title, itemgetter(place), unit, number=place > 0)
        for place, (title, unit) in enumerate(zip_longest(titles, units, fillvalue=""))
    )
    return Table.of(caption, rows, *columns, **changes)


def wide(columns, rows=3):
    """Columns of 12 characters each behind two that name the row."""
    return table(
        "Cells",
        ("cell", "start", *(f"column {place}" for place in range(columns))),
        [(f"f{row}", "1", *(f"{row}{place:03d}.123456" for place in range(columns))) for row in range(rows)],
        ("", "", *["us"] * columns),
        note=lambda row: f"note {row[0]}",
        keys=2,
    )


def test_a_table_in_full():
    """Caption, titles with their units below, a line, and rows whose numbers are right-aligned."""
    shown = table(
        "Cells of a run",
        ("cell", "mean of all slices", "x"),
        [("f1", "7 \N{PLUS-MINUS SIGN} 2", "\N{EN DASH}"), ("f10", "1,000 \N{PLUS-MINUS SIGN} 50", "9")],
        ("", "\N{MICRO SIGN}s"),
    )

    assert [line.rstrip() for line in render_text(shown).splitlines()] == [
        "Cells of a run",
        "cell     mean of  x",
        "      all slices",
        "              us",
        "----  ----------  -",
        "f1         7 +-2  -",
        "f10   1,000 +-50  9",
    ]


@pytest.mark.parametrize("columns", [1, 7, 8, 16, 30])
def test_a_wide_table_is_split(columns):
    """No line is too wide; every block names its rows, every value stands once, and the notes are in the last block."""
    shown = wide(columns)
    text = render_text(shown)
    blocks = text.split("\n\n")

    assert max(map(len, text.splitlines())) <= WIDTH
    for row in shown.rows:
        assert all(text.count(value) == 1 for value in row.values[2:])
        assert all(f"\n{row.values[0]} " in block for block in blocks)
        assert [row.note in block for block in blocks] == [False] * (len(blocks) - 1) + [True]


def test_a_note_stands_below_its_row():
    """Also below a row of several lines, whose long text was wrapped because the table is too wide."""
    words = "several words that are wrapped " * 4
    claims = Table.of(
        "Claims",
        [(words, "94", "the first reason"), ("short", words, "the second reason")],
        TableColumn("claim", itemgetter(0), number=False),
        TableColumn("published", itemgetter(1), number=False),
        note=itemgetter(2),
    )
    lines = render_text(claims).splitlines()

    first, second = lines.index("    the first reason"), lines.index("    the second reason")
    assert " ".join(" ".join(lines[3:first]).replace(" 94 ", " ").split()) == words.strip()
    assert lines[first + 1].startswith("short ")
    assert second == len(lines) - 1
    assert max(map(len, lines)) <= WIDTH


def test_a_greyed_row_is_in_parentheses():
    """A terminal has no grey: the name of the row is marked."""
    greyed = TableRow(("f2", "1"), "greyed", "unsteady")
    shown = table("Cells", ("cell", "start"), [("f1", "1")], kind=lambda _: "greyed", more=(greyed,))

    assert [line.split()[0] for line in render_text(shown).splitlines()[3:]] == ["(f1)", "(f2)", "unsteady"]


def test_what_only_the_report_explains():
    """A column of the report only is left out of the text."""
    of_what = TableColumn("of what", itemgetter(1), number=False, report_only=True)
    shown = Table.of("Audit", [("f1", "copies")], TableColumn("cell", itemgetter(0)), of_what)

    assert "copies" not in render_text(shown)
    assert "of what" not in render_text(shown)


def test_a_table_without_rows():
    """Its caption and its titles are shown."""
    assert [line.rstrip() for line in render_text(table("Cells", ("cell", "start"), ())).splitlines()] == [
        "Cells",
        "cell  start",
        "----  -----",
    ]
