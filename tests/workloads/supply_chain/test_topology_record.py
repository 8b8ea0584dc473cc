"""What is written down of a topology, and the way back."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import DataError
from analysis.record_reading import read
from tests.support.records import through_json
from workloads.errors import WorkloadError
from workloads.supply_chain import topology_record as room
from workloads.supply_chain.sizes import SizeDistribution
from workloads.supply_chain.topology import vertical
from workloads.supply_chain.topology_record import TopologyRecord, digest


def to_json(topology):
    return through_json(TopologyRecord.of(topology))


def from_json(record):
    return read(TopologyRecord, record, "topology").rebuilt()


def test_rates_stay_exact():
    """No rate is rounded to a binary fraction on its way."""
    record = to_json(vertical(1))

    assert record["interactions"][0]["rate_per_s"] == "8/105"  # 16/21 over ten supermarkets
    assert from_json(record).interactions[1].rate_per_s == Fraction(16, 210)


#: The place of each kind of value in a record, and what is expected there.
PLACES = [
    ((), "topology: expected `object`"),
    (("base",), "topology: base: expected `int`"),
    (("locations", "SM"), r'topology: locations\["SM"\]: expected `int`'),
    (("families",), "topology: families: expected `int`"),
    (("interactions", 1), r"topology: interactions\[1\]: expected `object`"),
    (("interactions", 1, "rate_per_s"), r"interactions\[1\].rate_per_s: expected `Fraction`"),
    (("interactions", 1, "size", "y", 2), r"interactions\[1\].size.y\[2\]: expected `int`"),
    (("interactions", 1, "size", "probabilities", 0), r"size.probabilities\[0\]: expected `Fraction`"),
    (("interactions", 1, "modes", "offer", "durable"), r'interactions\[1\].modes\["offer"\].durable: expected `bool`'),
]


def damaged(path: tuple, value) -> object:
    record = to_json(vertical(5))
    if not path:
        return value
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return record


@pytest.mark.parametrize(("path", "words"), PLACES, ids=[".".join(map(str, path)) for path, _ in PLACES])
def test_a_damaged_record_is_refused_with_the_place(path, words):
    """Every value is checked, and the place of the first that is wrong stands in the message."""
    with pytest.raises(DataError, match=words):
        from_json(damaged(path, None))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("base",), 0, "base: expected a whole number from 1 on, got 0"),
        (("base",), True, "base: expected `int`, got `bool`"),
        (("locations", "SM"), -1, "locations: expected a whole number from 0 on of each of SM, SP"),
        (("locations",), {"SM": 10}, "locations: expected a whole number from 0 on of each of SM, SP"),
        (("locations", "shop"), 1, "locations: invalid enum value 'shop'"),
        (("locations", "DC"), 0, "vertical: interaction 1 needs at least one DC, got 0"),
        (("families_per_supplier",), 1, "leave some of the 100 without a supplier"),
        (("interactions",), [], "no interaction runs"),
        (("interactions", 1, "number"), 3, r"\[1\].modes: expected the keys "),
        (("interactions", 1, "number"), True, r"\[1\].number: expected `int`, got `bool`"),
        (("interactions", 1, "rate_per_s"), "0", "interaction 2: expected a rate above 0, got 0"),
        (("interactions", 1, "rate_per_s"), "1/0", "rate_per_s: expected `Fraction`, such as 16/21"),
        (("interactions", 1, "rate_per_s"), "-1", "interaction 2: expected a rate above 0, got -1"),
        (("interactions", 1, "rate_per_s"), "2/4", "rate_per_s: expected `Fraction`"),
        (("interactions", 1, "rate_per_s"), "9" * 5000, "rate_per_s: expected `Fraction`"),
        (("interactions", 1, "size", "x"), [1, 2, 10**6], r"\[1\].callForOffers: a body of .* at most 65536"),
        (("interactions", 1, "size", "probabilities"), ["1", "1", "1"], "three fractions with the sum 1"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_is_refused(path, value, words):
    """Neither what no topology has, nor a topology that cannot run."""
    with pytest.raises((DataError, WorkloadError), match=words):
        from_json(damaged(path, value))


def test_an_interaction_stands_there_once():
    """The second of two rows would silently take the place of the first."""
    record = to_json(vertical(5))
    record["interactions"].append(deepcopy(record["interactions"][0]))

    with pytest.raises(WorkloadError, match=r"interactions\[7\].number: expected each interaction once, got 1"):
        from_json(record)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "name", "SM"]), inner),
    max_leaves=4,
)


@given(path=st.sampled_from([path for path, _ in PLACES]), value=VALUES)
def test_whatever_stands_there_gives_a_topology_or_a_refusal(path, value):
    """A damaged file never ends in any other error."""
    record = damaged(path, value)
    try:
        topology = from_json(record)
    except (DataError, WorkloadError):
        return
    assert to_json(topology) == record


def test_the_digest_is_that_of_the_model(monkeypatch):
    """It is the same in every process, and another one when any of the tables says something else."""
    published = digest()
    assert len(published) == 64

    for table, key, value in (
        ("SIZE_DISTRIBUTIONS", 1, SizeDistribution(x=(5, 100, 701))),
        ("VERTICAL_PER_S", 1, Fraction(1)),
        ("HORIZONTAL_PER_S", 1, Fraction(1)),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(room, table, {**getattr(room, table), key: value})
            assert digest() != published
    assert digest() == published
