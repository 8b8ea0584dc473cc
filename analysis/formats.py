"""Numbers as text, the same in every table and sentence. Nothing here knows a result or computes a statistic.

A number has four significant digits, but always all digits before the decimal point; what is not known is NOTHING.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

from analysis.results import Interval

#: Text shown for a missing number.
NOTHING = "\N{EN DASH}"

MIB = 2**20

#: Text of a number, in the unit of the column or sentence, with this many significant digits.
NumberFormat: TypeAlias = Callable[[float, int], str]


def number(value: float | None, digits: int = 4) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def estimated(interval: Interval | None) -> str:
    """The estimate alone."""
    return NOTHING if interval is None else number(interval.estimate)


def us(seconds: float | None, digits: int = 4) -> str:
    """In us, without the unit."""
    return NOTHING if seconds is None else number(seconds * 1e6, digits)


def ms(seconds: float | None, digits: int = 4) -> str:
    """In ms, without the unit."""
    return NOTHING if seconds is None else number(seconds * 1e3, digits)


def mib(size: float | None) -> str:
    """A size in bytes, or in bytes per second, in MiB without the unit."""
    return NOTHING if size is None else number(size / MIB)


def decimals(value: float | None, digits: int) -> str:
    """With this many digits behind the decimal point."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def percent(share: float | None, digits: int = 1, unknown: str = NOTHING) -> str:
    """A share in per cent, with this many digits behind the decimal point."""
    return unknown if share is None else f"{share:.{digits}%}"


def share_of(part: float, whole: float) -> str:
    return f"{100 * part / whole:.4g} %" if whole else NOTHING


def count(number_of: int, word: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number_of:,} {word}{'s' * (number_of != 1)}"


def span(numbers: Collection[int]) -> str:
    """`3`, or `3 to 5`, from the smallest to the largest."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def ends(interval: Interval, say: NumberFormat = number, digits: int = 4) -> str:
    """`low to high`; an end that the data do not determine is `open`."""
    if interval.low is None and interval.high is None:
        return NOTHING
    low, high = ("open" if end is None else say(end, digits) for end in (interval.low, interval.high))
    return f"{low} to {high}"


def ranged(interval: Interval | None, say: NumberFormat = number, digits: int = 4) -> str:
    """`estimate (low to high)`; the estimate alone where there is no interval."""
    if interval is None:
        return NOTHING
    known = interval.low is not None or interval.high is not None
    return say(interval.estimate, digits) + (f" ({ends(interval, say, digits)})" if known else "")


def plus_minus(interval: Interval | None, say: NumberFormat = number) -> str:
    """`estimate ± half-width`, for symmetric intervals; the half-width has two significant digits."""
    if interval is None:
        return NOTHING
    if interval.high is None:
        return say(interval.estimate, 4)
    return f"{say(interval.estimate, 4)} ± {say(interval.high - interval.estimate, 2)}"


def half_width(interval: Interval | None) -> str:
    """Half of the interval's width in per cent of the estimate, without the estimate's sign."""
    if interval is None or interval.low is None or interval.high is None:
        return NOTHING
    return f"{(interval.high - interval.low) / 2 / abs(interval.estimate):.1%}"
