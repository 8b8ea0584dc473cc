"""The arithmetic of the table of drivers: what is printed, what follows from it, and how it grows."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from tests.workloads.logistics.sizes import SIZES, as_printed, corrected
from workloads.logistics.compiled import LogisticsModel
from workloads.logistics.dimensions import Addressing
from workloads.logistics.figures import (
    by_entity,
    drivers,
    entity_rows,
    figure_rows_json,
    figures_json,
    flows,
    identities,
    total,
    totals,
)
from workloads.logistics.profiles import Entity
from workloads.logistics.traffic import MESSAGES, body_bytes
from workloads.messaging import MOST_BODY_BYTES

#: Of a size -> its totals: published and delivered per minute, subscriptions of customers and all, joins per minute.
TOTALS = [
    (corrected(), ("2906/45", "61046/9", "10376248/125", "10376748/125", "17917/900")),
    (as_printed(), ("4569/100", "25325547/5000", "8301043/100", "8301443/100", "199/10")),
    (as_printed(10), ("4569/10", "25325547/500", "8301043/10", "8301173/10", "199")),
    (corrected(5), ("2906/9", "305230/9", "10376248/25", "10376448/25", "17917/180")),
    (corrected(10), ("5812/9", "610460/9", "20752496/25", "20752821/25", "17917/90")),
    # a monitored shipment needs two subscriptions to places where each key has a topic: 7545.6 more, and their joins
    (corrected(addressing=Addressing.TOPIC), ("2906/45", "61046/9", "11319448/125", "11319948/125", "19489/900")),
]


@pytest.mark.parametrize(("size", "sums"), TOTALS)
def test_totals_are_exact(size, sums):
    """Sums over all drivers are the same fractions as in the arithmetic on paper."""
    found = totals(size)

    assert tuple(found.values()) == tuple(map(Fraction, sums))


def test_the_table_as_printed():
    """Every number of Table 3 that is printed with two decimals comes back."""
    record = figures_json(as_printed())["drivers"]
    printed = {name: (row["published_per_min_exact"], row["factor_exact"]) for name, row in record.items()}

    assert printed == {
        "ShipmentOrder": ("291/50", "1"),
        "OrderConfirmation": ("291/50", "1"),
        "PickupOrder": ("291/50", "1"),
        "ShipmentScan": ("194/25", "2"),
        "ProofOfDelivery": ("291/50", "2"),
        "PositionData": ("883/100", "23737/50"),
        "EnvironmentData": ("291/50", "3559/25"),
    }
    assert record["ShipmentScan"]["subscriptions"] == {"HQ": 1, "C": 25152}
    assert record["ShipmentScan"]["subscription_joins_per_min"] == {"HQ": 0, "C": 5.82}
    assert record["OrderConfirmation"]["subscriptions"] == {"C": 8.43}
    assert record["ShipmentOrder"]["publisher_joins_per_min"] == {"C": 0.69}
    assert record["EnvironmentData"]["subscriptions"] == {"C": 7546}
    assert record["EnvironmentData"]["subscription_joins_per_min"] == {"C": 1.75}
    assert record["EnvironmentData"]["publisher_joins_per_min"] == {"V": 1.75, "LH": 0}


def test_the_table_corrected():
    """Scans, and environment data of vehicles and of hubs, follow from the assumptions of the paper."""
    record = figures_json(corrected())["drivers"]
    environment = record["EnvironmentData"]["by_entity"]

    assert record["ShipmentScan"]["published_per_min_exact"] == "1048/45"
    assert record["PositionData"]["factor_exact"] == "25152/53"
    assert record["PositionData"]["published_per_min"] * record["PositionData"]["factor"] == pytest.approx(4192)
    assert (environment["V"]["published_per_min_exact"], environment["V"]["factor_exact"]) == ("53/6", "37728/265")
    assert (environment["LH"]["published_per_min_exact"], environment["LH"]["factor_exact"]) == ("1/3", "18864/5")
    assert record["EnvironmentData"]["published_per_min"] == pytest.approx(55 / 6)
    assert record["EnvironmentData"]["publisher_joins_per_min"] == {"V": 0, "LH": 0}


#: Of a size -> customers' subscriptions, all, joins/s, published/s, delivered/s, life in s.
BY_THE_CLOCK = [
    (corrected(1, 1, 720), (1566.226, 1570.226, 4.507, 18.546, 1535.75, 360)),
    (corrected(1, 5, 720), (7831.131, 7835.131, 22.537, 76.730, 7678.74, 360)),
    (corrected(1, 10, 720), (15662.26, 15666.26, 45.074, 149.459, 15357.5, 360)),
    (corrected(1, 53, 60), (83009.984, 83013.984, 19.908, 64.578, 6782.889, 4320)),
    (corrected(2, 2, 720), (6264.9, 6269.9, 1081.8 / 60, 3971 / 60, 368580 / 60, 360)),
]


@pytest.mark.parametrize(("size", "numbers"), BY_THE_CLOCK)
def test_rates_by_the_clock(size, numbers):
    """Vehicles per hub scale everything but the hub's own messages; compression scales rates and shortens lives."""
    record = figures_json(size)
    sums, wall = record["totals"], record["wall"]
    found = (
        sums["customer_subscriptions"],
        sums["subscriptions"],
        wall["joins_per_s"],
        wall["published_per_s"],
        wall["delivered_per_s"],
        wall["life_s"],
    )

    assert found == pytest.approx(numbers, rel=1e-4)
    assert record["drivers"]["PositionData"]["factor"] == pytest.approx(25152 / 53)


#: Of a profile -> the identities that do not hold, with their values.
DEVIATING = {
    "corrected": {},
    "as-printed": {
        "joins * 3 days = subscriptions to positions": "628560/25",
        "joins * 3 days = subscriptions to environment": "7560",
        "scans per shipment": "4/3",
        "copies of positions per shipment": "20959771/29100",
        "copies of environment data per monitored shipment": "2071338/4375",
    },
}


@pytest.mark.parametrize("size", [corrected(), as_printed()])
def test_identities(size):
    """All hold for the corrected table; the printed one contradicts itself in five."""
    found = {each.name: each.value for each in identities(size) if each.deviation}

    assert len(identities(size)) == 8
    assert found == {name: Fraction(value) for name, value in DEVIATING[size.profile.name].items()}


#: Data of Figure 3 at BASE 10.
FIGURE_3 = {
    "as-printed": {
        "subscriptions": {"C": 830104.3, "LH": 10, "HQ": 3},
        "published_per_min": {"C": 58.2, "HQ": 116.4, "LH": 106.7, "V": 175.6},
        "received_per_min": {"C": 50398.894, "HQ": 194, "LH": 58.2},
    },
    "corrected": {
        "subscriptions": {"C": 830099.84, "LH": 10, "HQ": 3},
        "published_per_min": {"C": 58.222, "HQ": 116.444, "LH": 236.222, "V": 234.889},
        "received_per_min": {"C": 67421.333, "HQ": 349.333, "LH": 58.222},
    },
}


@pytest.mark.parametrize("size", [corrected, as_printed])
def test_figure_3(size):
    """Straight lines through 0, but for the three subscriptions of the headquarters."""
    rows = figure_rows_json([size(base) for base in (1, 5, 10)])

    for key, numbers in FIGURE_3[size().profile.name].items():
        assert rows[2][key] == pytest.approx(numbers, abs=5e-4)
        for row in rows[:2]:
            share = row["base"] / 10
            grown = {entity: number if number == 3 else number * share for entity, number in numbers.items()}
            assert row[key] == pytest.approx(grown, abs=5e-4)


@given(SIZES)
def test_any_size(size):
    """Sums over entities are those over drivers; joins times the time that members stay is the number that stand, for
    shipments and sessions (Little's law); no body is larger than any may be, with 8 bytes for each receiver."""
    rows, sums, minute_s = drivers(size), totals(size), size.minute_s
    entities, bodies = entity_rows(size), {row.name: body_bytes(size, number) for number, row in enumerate(MESSAGES)}

    assert total(entities["published_per_min"]) == sums["published_per_min"]
    assert total(entities["received_per_min"]) == sums["delivered_per_min"]
    assert total(entities["subscriptions"]) == sums["subscriptions"]
    assert total(by_entity(row.subscription_joins for row in rows.values())) == sums["joins_per_min"]
    assert total(entities["received_per_min"]) == sum(row.factor * row.all_published for row in rows.values())
    assert size.shipments_per_s * size.life_s == size.under_way
    stays_s = dict.fromkeys(("ShipmentScan", "ProofOfDelivery", "PositionData"), size.life_s)
    for name, stay_s in (stays_s | {"OrderConfirmation": size.session_s}).items():
        assert rows[name].subscription_joins[Entity.C] / minute_s * stay_s == rows[name].subscriptions[Entity.C]
    assert max(bodies.values()) <= MOST_BODY_BYTES
    assert bodies["environmentDataV"] == 64 + 8 * 142
    assert bodies["environmentDataLH"] <= 30_248


def test_the_table_beside_a_run():
    """Each message type is a row, with the subscriptions that hear it; environment data twice."""
    size = corrected(1, 5, 720)
    rows = {row.name: row for row in flows(LogisticsModel(size)).rows}
    topics = flows(LogisticsModel(corrected(1, 5, 720, addressing=Addressing.TOPIC))).rows

    assert len(rows) == 8
    assert sum(row.published for row in rows.values()) == totals(size)["published_per_min"]
    assert sum(row.published * row.factor for row in rows.values()) == totals(size)["delivered_per_min"]
    assert rows["EnvironmentData of LH"].factor == Fraction(18864, 5) * Fraction(5, 53)
    assert rows["ShipmentScan"].parties == "LH -> HQ, C"
    assert [row.hearing for row in rows.values()] == [
        None,
        (1, (0,)),
        None,
        (0, (0,)),
        (0, (1,)),
        (0, (2,)),
        (0, (3,)),
        (0, (3,)),
    ]
    assert [row.hearing for row in topics][-2:] == [(0, (3, 4)), (0, (3, 4))]
