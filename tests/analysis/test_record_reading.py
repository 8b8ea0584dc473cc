"""JSON values as typed records: what fits is read, what does not is refused with its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal

import pytest

from analysis.errors import DataError
from analysis.record_reading import read


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Wheel:
    spokes: int
    #: may be absent
    share: Fraction | None = None
    gear: Literal["auto", "manual"] | None = None


@dataclass(frozen=True, slots=True)
class Vehicle:
    colour: Colour
    brand: str
    wheels: tuple[Wheel, ...]
    prices: Mapping[str, float]
    more: Any


FITS = {"colour": "red", "brand": "x", "wheels": [{"spokes": 3, "share": "1/2"}], "prices": {"here": 5}, "more": [None]}


def test_a_value_that_fits():
    """Records, words and tuples take the place of objects, texts and lists; further keys are not read."""
    found = read(Vehicle, FITS | {"further": 1}, "file.json")

    assert found == Vehicle(Colour.RED, "x", (Wheel(3, Fraction(1, 2)),), {"here": 5.0}, [None])
    assert type(found.prices["here"]) is float


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"colour": "green"}, "colour: invalid enum value 'green', expected one of red, blue;"),
        ({"brand": None}, "brand: expected `str`, got `null`;"),
        ({"wheels": [{"spokes": 3}, {"spokes": True}]}, "wheels[1].spokes: expected `int`, got `bool`;"),
        ({"wheels": [{}]}, "wheels[0].spokes is missing;"),
        (
            {"wheels": [{"spokes": 1, "gear": "none"}]},
            "wheels[0].gear: invalid enum value 'none', expected one of auto, manual;",
        ),
        ({"prices": {"here": "secret"}}, 'prices["here"]: expected `float`, got `str`;'),
        (
            {"wheels": [{"spokes": 1, "share": "secret"}]},
            "wheels[0].share: expected `Fraction`, such as 16/21, got another value;",
        ),
    ],
)
def test_a_value_that_does_not_fit(changes, words):
    """The refusal has the file, the path inside it, what was expected, and what to do next; no text that may be a
    secret is quoted."""
    with pytest.raises(DataError) as error:
        read(Vehicle, FITS | changes, "file.json")

    assert str(error.value).startswith(f"file.json: {words}")
    assert str(error.value).endswith("measure again")
    assert "secret" not in str(error.value)


def test_what_is_no_object():
    with pytest.raises(DataError, match=r"^file.json: expected `object`, got `array`;"):
        read(Vehicle, [], "file.json")
