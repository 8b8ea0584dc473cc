"""Sizes of bodies against the paper's Tables 2 and 4."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.errors import WorkloadError
from workloads.messaging import MOST_BODY_BYTES
from workloads.scenario.execution import Execution
from workloads.scenario.model import size_class
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.sizes import COEFFICIENTS, SIZE_DISTRIBUTIONS, SizeDistribution

#: Sachs et al. 2009, Table 4: sizes at 95, 4 and 1 %, and average, in KByte; priceUpdate is 0.2310 in Table 2, which
#: fits the bandwidth of Table 5.
TABLE_4 = {
    "orderConf": (2.02, 7.39, 41.29, 2.63),
    "statInfoOrderDC": (0.22, 1.67, 10.83, 0.39),
    "shipInfo": (1.28, 8.76, 55.95, 2.13),
    "shipDep": (1.12, 8.59, 55.79, 1.96),
    "order": (1.74, 7.10, 41.01, 2.34),
    "shipConf": (0.81, 2.73, 14.83, 1.03),
    "callForOffers": (1.35, 7.06, 36.52, 1.93),
    "offer": (1.69, 9.65, 50.71, 2.50),
    "pOrder": (1.86, 9.85, 51.07, 2.67),
    "pShipConf": (1.01, 3.65, 17.29, 1.28),
    "statInfoShipDC": (1.02, 3.68, 17.38, 1.29),
    "pOrderConf": (2.07, 9.79, 49.56, 2.86),
    "invoice": (1.70, 7.92, 39.95, 2.33),
    "pShipInfo": (0.98, 3.62, 17.26, 1.24),
    "inventoryInfo": (1.48, 10.22, 49.03, 2.31),
    "productAnnouncement": (1.21, 0.28, 10.51, 1.26),
    "creditCardHL": (1.01, 8.49, 50.00, 1.80),
}

#: The sizing parameter by interaction and column: the integers x = (size - b) / m1 of Tables 2 and 4.
SIZING = {1: (5, 100, 700), 2: (3, 35, 200), 4: (10, 100, 500), 6: (100, 10, 1000), 7: (50, 500, 3000)}

SIZES = {step.message: SIZE_DISTRIBUTIONS[number] for number, script in INTERACTIONS.items() for step in script.steps}
NUMBERS = {step.message: number for number, script in INTERACTIONS.items() for step in script.steps}
TRIPLES = st.tuples(*[st.integers(0, 3000)] * 3)


@pytest.mark.parametrize("message", TABLE_4)
def test_sizes_are_those_of_table_4(message):
    """Each size lies within what Table 4's two decimals and Table 2's four leave open; a body has whole bytes."""
    *sizes, average = TABLE_4[message]
    distribution = SIZES[message]

    for body_bytes, kbyte, x in zip(distribution.body_bytes(message), sizes, SIZING[NUMBERS[message]], strict=True):
        assert body_bytes / 1000 == pytest.approx(kbyte, abs=0.005 + 0.00005 * (x + 1) + 0.0005)
    assert float(distribution.mean_bytes(message)) / 1000 == pytest.approx(average, abs=0.0055)


def test_sizes_without_three_values():
    """statInfoSM lies between 4.7 and 24.78 KB with a mean of 5.27 (section 3.2); priceUpdate is 0.2310 (Table 2)."""
    statistics = SIZES["statInfoSM"].body_bytes("statInfoSM")

    assert min(statistics) == pytest.approx(4700, abs=50)
    assert max(statistics) == pytest.approx(24780, abs=5)
    assert float(SIZES["statInfoSM"].mean_bytes("statInfoSM")) == pytest.approx(5270, abs=5)
    assert SIZES["priceUpdate"].body_bytes("priceUpdate") == (231, 231, 231)


@given(x=TRIPLES, y=TRIPLES, message=st.sampled_from(sorted(COEFFICIENTS)))
def test_sizes_follow_the_formula_or_are_refused(x, y, message):
    """x (m1 + m2 y) + b (section 3.1), to half a byte; never beyond what the load can carry."""
    row = COEFFICIENTS[message]
    exact = [first * (row.m1 + row.m2 * second) + row.b for first, second in zip(x, y, strict=True)]
    distribution = SizeDistribution(x, y)

    if max(exact) >= MOST_BODY_BYTES + Fraction(1, 2):
        with pytest.raises(WorkloadError, match=f"{message}: a body of .* at most {MOST_BODY_BYTES}"):
            distribution.body_bytes(message)
    else:
        sizes = distribution.body_bytes(message)
        assert all(abs(size - body) <= Fraction(1, 2) for size, body in zip(sizes, exact, strict=True))
        assert min(sizes) <= distribution.mean_bytes(message) <= max(sizes)
        assert 0 < min(sizes) <= max(sizes) <= MOST_BODY_BYTES


@pytest.mark.parametrize(("draw", "expected"), [(0.0, 0), (0.9499, 0), (0.9501, 1), (0.9899, 1), (0.9901, 2), (1.0, 2)])
def test_columns_have_95_4_and_1_percent_of_the_draws(draw, expected):
    """Table 4, heading."""
    assert bisect_right(SizeDistribution().begins, min(int(draw * 2**64), 2**64 - 1)) == expected


def columns(interaction: int, origin: int, number_of: int) -> list[int]:
    bounds = SIZE_DISTRIBUTIONS[interaction].begins
    return [size_class(bounds, Execution(interaction, origin, number).id) for number in range(number_of)]


def test_executions_draw_their_column_evenly():
    """Over 20 000 executions of a driver each column has its share, within four standard deviations of a fair draw."""
    number_of = 20_000
    drawn = columns(1, 0, number_of)

    for place, probability in enumerate((0.95, 0.04, 0.01)):
        deviation = (number_of * probability * (1 - probability)) ** 0.5
        assert drawn.count(place) == pytest.approx(number_of * probability, abs=4 * deviation)


def test_executions_draw_on_their_own():
    """Equal numbers at other locations or in other interactions share no draw: the whole id counts."""
    drawn = {tuple(columns(interaction, origin, 500)) for interaction in (1, 4, 5) for origin in range(10)}

    assert len(drawn) == 30
