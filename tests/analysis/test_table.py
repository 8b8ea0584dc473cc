"""A table as text: within the width of a terminal, with every value, its notes, and ASCII only."""

import pytest

from analysis.table import WIDTH, Table, TableColumn, TableRow, render_text

NAMES = (TableColumn("cell", number=False), TableColumn("start"))


def wide(columns, rows=3):
    """Columns of 12 characters each behind two that name the row."""
    return Table(
        "Cells",
        (*NAMES, *(TableColumn(f"column {place}", "us") for place in range(columns))),
        tuple(
            TableRow((f"f{row}", "1", *(f"{row}{place:03d}.123456" for place in range(columns))), note=f"note {row}")
            for row in range(rows)
        ),
        keys=2,
    )


def test_a_table_in_full():
    """Caption, titles with their units below, a line, and rows whose numbers are right-aligned."""
    table = Table(
        "Cells of a run",
        (TableColumn("cell", number=False), TableColumn("mean of all slices", "\N{MICRO SIGN}s"), TableColumn("x")),
        (
            TableRow(("f1", "7 \N{PLUS-MINUS SIGN} 2", "\N{EN DASH}")),
            TableRow(("f10", "1,000 \N{PLUS-MINUS SIGN} 50", "9")),
        ),
    )

    assert [line.rstrip() for line in render_text(table).splitlines()] == [
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
    table = wide(columns)
    text = render_text(table)
    blocks = text.split("\n\n")

    assert max(map(len, text.splitlines())) <= WIDTH
    for row in table.rows:
        assert all(text.count(value) == 1 for value in row.values[2:])
        assert all(f"\n{row.values[0]} " in block for block in blocks)
        assert [row.note in block for block in blocks] == [False] * (len(blocks) - 1) + [True]


def test_a_note_stands_below_its_row():
    """Also below a row of several lines, whose long text was wrapped because the table is too wide."""
    words = "several words that are wrapped " * 4
    table = Table(
        "Claims",
        (TableColumn("claim", number=False), TableColumn("published", number=False)),
        (TableRow((words, "94"), note="the first reason"), TableRow(("short", words), note="the second reason")),
    )
    lines = render_text(table).splitlines()

    first, second = lines.index("    the first reason"), lines.index("    the second reason")
    assert " ".join(" ".join(lines[3:first]).replace(" 94 ", " ").split()) == words.strip()
    assert lines[first + 1].startswith("short ")
    assert second == len(lines) - 1
    assert max(map(len, lines)) <= WIDTH


def test_a_greyed_row_is_in_parentheses():
    """A terminal has no grey: the name of the row is marked."""
    table = Table("Cells", NAMES, (TableRow(("f1", "1"), "greyed", "unsteady"), TableRow(("f2", "1"))))

    assert [line.split()[0] for line in render_text(table).splitlines()[3:]] == ["(f1)", "unsteady", "f2"]


def test_what_only_the_report_explains():
    """A column of the report only is left out of the text."""
    table = Table(
        "Audit", (*NAMES, TableColumn("of what", number=False, report_only=True)), (TableRow(("f1", "1", "copies")),)
    )

    assert "copies" not in render_text(table)
    assert "of what" not in render_text(table)


def test_a_table_without_rows():
    """Its caption and its titles are shown."""
    assert [line.rstrip() for line in render_text(Table("Cells", NAMES, ())).splitlines()] == [
        "Cells",
        "cell  start",
        "----  -----",
    ]
