"""JSON values as typed records: what fits is read, what does not is refused with its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import pytest

from analysis.errors import DataError
from analysis.structure import OpenRecord, read


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Wheel:
    spokes: int
    #: may be absent
    width: float | None = None


@dataclass(frozen=True, slots=True)
class Vehicle(OpenRecord):
    colour: Colour
    brand: str
    sold: bool
    gear: Literal["auto", "manual"] | None
    wheels: tuple[Wheel, ...]
    size: tuple[int, int]
    prices: Mapping[str, float]
    more: Any


FITS = {
    "colour": "red", "brand": "x", "sold": False, "gear": None, "wheels": [{"spokes": 3}, {"spokes": 4, "width": 2}],
    "size": [1, 2], "prices": {"here": 5}, "more": [None],
}  # fmt: skip


def refusal(**changes):
    with pytest.raises(DataError) as error:
        read(Vehicle, FITS | changes, "file.json")
    return str(error.value)


def test_a_value_that_fits():
    """Records, words and tuples take the place of objects, texts and lists; whole numbers serve as floats."""
    found = read(Vehicle, FITS | {"gear": "auto", "further": 1}, "file.json")

    assert found == Vehicle(
        Colour.RED, "x", sold=False, gear="auto", wheels=(Wheel(3), Wheel(4, 2.0)), size=(1, 2), prices={"here": 5.0},
        more=[None],
    )  # fmt: skip
    assert found.colour is Colour.RED
    assert type(found.prices["here"]) is float


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"colour": "green"}, 'colour is "green", expected one of red, blue;'),
        ({"gear": "none"}, 'gear is "none", expected one of auto, manual or null;'),
        ({"sold": 1}, "sold is 1, expected true or false;"),
        ({"brand": None}, "brand is null, expected a text;"),
        ({"wheels": {}}, "wheels is an object, expected a list;"),
        ({"wheels": [{"spokes": 3}, {"spokes": True}]}, "wheels[1].spokes is true, expected a whole number;"),
        ({"wheels": [{"spokes": 3.0}]}, "wheels[0].spokes is 3.0, expected a whole number;"),
        ({"wheels": [{"spokes": 3, "width": "2"}]}, "wheels[0].width is a text, expected a number or null;"),
        ({"wheels": [{"width": 2}]}, "wheels[0].spokes is missing, expected a whole number;"),
        ({"wheels": [{"spokes": 3, "hub": 1}]}, "wheels[0].hub is unknown, expected spokes, width;"),
        ({"wheels": [3]}, "wheels[0] is 3, expected an object;"),
        ({"size": [1]}, "size is a list, expected a list of 2;"),
        ({"prices": {"here": "5"}}, 'prices["here"] is a text, expected a number;'),
    ],
)
def test_a_value_that_does_not_fit(changes, words):
    """The refusal has the file, the path inside it, what is there, what was expected, and what to do next."""
    said = refusal(**changes)

    assert said.startswith(f"file.json: {words}")
    assert said.endswith("measure again")


def test_no_text_is_quoted_where_none_is_expected():
    """A text in a wrong place may be a password; only in place of a word of the suite it is shown."""
    for name in ("sold", "wheels", "size", "prices"):
        assert "hunter2" not in refusal(**{name: "hunter2"})
    assert "hunter2" not in refusal(colour=["hunter2"], gear={"password": "hunter2"})


def test_what_is_no_object_at_all():
    """The whole value is named by the file alone."""
    with pytest.raises(DataError, match=r"file\.json: it is a list, expected an object"):
        read(Vehicle, [], "file.json")
