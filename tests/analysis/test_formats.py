"""Numbers as text: significant digits, missing numbers and open ends of intervals."""

import pytest

from analysis.formats import NOTHING, count, ends, half_width, number, plus_minus, ranged, us
from analysis.results import Interval


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 4, "0"),
        (0.123456, 4, "0.1235"),
        (999.94, 4, "999.9"),
        (1234567.8, 4, "1,234,568"),
        (-1500, 4, "-1,500"),
        (123.4, 3, "123"),
        (None, 4, NOTHING),
    ],
)
def test_significant_digits(value, digits, text):
    """Large numbers keep all digits before the point; a missing number is not 0."""
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(2e-6, 1e-6, 3e-6), "2 (1 to 3)"),
        (Interval(2e-6, 1e-6, None), "2 (1 to open)"),
        (Interval(2e-6), "2"),
        (None, NOTHING),
    ],
)
def test_an_interval_with_its_ends(interval, text):
    """An end that the data do not determine is open; without both ends there is no interval."""
    assert ranged(interval, us) == text


def test_an_interval_without_its_estimate():
    """The ends by themselves are missing as a whole, not open on both sides."""
    assert ends(Interval(2.0, 1.0, 3.0)) == "1 to 3"
    assert ends(Interval(2.0)) == NOTHING


def test_a_symmetric_interval():
    """Its half-width has two significant digits, and is nothing where there is no interval."""
    assert plus_minus(Interval(36873.2, 33567.0, 40179.4)) == "36,873 \N{PLUS-MINUS SIGN} 3,306"
    assert plus_minus(Interval(27.12, 25.0, 29.24)) == "27.12 \N{PLUS-MINUS SIGN} 2.1"
    assert plus_minus(Interval(27.12)) == "27.12"
    assert half_width(Interval(4.0, 3.0, 5.0)) == "25.0%"
    assert half_width(Interval(-4.0, -5.0, -3.0)) == "25.0%"
    assert half_width(Interval(4.0)) == NOTHING


def test_a_count_with_its_noun():
    """The plural has an s."""
    assert [count(amount, "cell") for amount in (0, 1, 2000)] == ["0 cells", "1 cell", "2,000 cells"]
