"""Tables as plain text, for the commands that describe a workload without running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabulate import tabulate


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The table below its title."""
    text: str = tabulate(rows, headers=heads, floatfmt=",.2f")
    return f"{title}\n{text}"


def alike(names: Sequence[str]) -> str:
    """The first name, and how many others share its row."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} alike"
