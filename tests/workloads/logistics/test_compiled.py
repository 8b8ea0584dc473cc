"""The model for load and audit: destinations, keys, populations, drivers, and what an execution is expected to send."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count, takewhile

import pytest

from tests.workloads.logistics.sizes import as_printed, corrected
from workloads.errors import WorkloadError
from workloads.logistics import WORKLOAD
from workloads.logistics.compiled import SESSIONS, TRACKING, LogisticsModel
from workloads.logistics.dimensions import Addressing
from workloads.logistics.figures import drivers
from workloads.logistics.profiles import Entity
from workloads.logistics.traffic import (
    MESSAGES,
    OF_HUBS,
    OF_VEHICLES,
    POSITION,
    PROOF,
    SCAN,
    ChainField,
)
from workloads.scenario.execution import Execution
from workloads.scenario.message import KEY_PLACE
from workloads.scenario.model import DESTINATION_PREFIX

SMOKE = LogisticsModel(corrected(1, 1, 720))
TWO_HUBS = LogisticsModel(corrected(2, 2, 720))
TOPICS = LogisticsModel(corrected(2, 2, 720, addressing=Addressing.TOPIC))

#: The drivers that customers track a shipment by.
TRACKED = ("ShipmentScan", "ProofOfDelivery", "PositionData", "EnvironmentData")


def destinations(model):
    """Names of the destinations, without what all share."""
    return [each.name.removeprefix(f"{DESTINATION_PREFIX}.logistics.") for each in model.scenario.destinations]


def test_destinations_by_selector():
    """A topic per message type to customers, with a selector per key; queues for orders and for each hub."""
    scenario = TWO_HUBS.scenario
    tracking, sessions = scenario.populations
    keys = tracking.law.member(4).keys
    selectors = [each.selector(mine) for each, mine in zip(tracking.subscriptions, keys, strict=True) if mine]

    assert destinations(TWO_HUBS) == [
        "HQ.shipmentOrder",
        "all.orderConfirmation",
        "LH1.pickupOrder",
        "LH2.pickupOrder",
        "all.shipmentScan",
        "all.proofOfDelivery",
        "all.positionData",
        "all.environmentData",
    ]
    assert selectors == ["Shipment = 'S00004'", "Shipment = 'S00004'", "Vehicle = 'V00000'"]
    monitored = next(number for number in range(100) if tracking.law.member(number).keys[3])
    places = tracking.law.member(monitored).keys[3]
    assert tracking.subscriptions[3].selector(places) == f"Place IN ('V{places[0]:05d}', 'Z{places[1]:05d}')"
    assert sessions.subscriptions[0].selector((12,)) == "Customer = 'C00012'"
    assert scenario.filtered
    assert scenario.durable
    assert not scenario.transacted


def test_destinations_by_topic():
    """A key takes the place of a word; the headquarters hear all keys; a place needs a subscription of its own."""
    tracking = TOPICS.scenario.populations[TRACKING]
    monitored = next(number for number in range(100) if tracking.law.member(number).subscriptions == 5)

    assert destinations(TOPICS) == [
        "HQ.shipmentOrder",
        f"{KEY_PLACE}.orderConfirmation",
        "LH1.pickupOrder",
        "LH2.pickupOrder",
        f"{KEY_PLACE}.shipmentScan",
        f"{KEY_PLACE}.proofOfDelivery",
        f"{KEY_PLACE}.positionData",
        f"{KEY_PLACE}.environmentData",
        "*.shipmentScan",
        "*.proofOfDelivery",
    ]
    assert not TOPICS.scenario.filtered
    assert all(each.selector((1,)) is None for each in tracking.subscriptions)
    assert [len(keys) for keys in tracking.law.member(monitored).keys] == [1, 1, 1, 1, 1]
    assert Counter(tracking.law.member(number).subscriptions for number in range(40)) == {3: 28, 5: 12}


def test_keys_of_the_messages():
    """Each message type to customers has a key and a receipt, and its key is one that its subscribers have."""
    scenario = SMOKE.scenario
    living = [SMOKE.scenario.populations[TRACKING].law.member(number) for number in range(475)]
    heard = [{key for member in living for key in member.keys[place]} for place in range(4)]
    places = {SCAN: 0, PROOF: 1, POSITION: 2, OF_VEHICLES: 3, OF_HUBS: 3}

    for driver in scenario.drivers:
        key = driver.outgoing.key
        sent = {row[key.field] for row in driver.fields}
        assert driver.outgoing.receipt
        if driver.outgoing.step in {SCAN, PROOF}:
            assert sent == set(range(SMOKE.size.slots)) > heard[places[driver.outgoing.step]]
        else:
            assert sent <= heard[places[driver.outgoing.step]]
    assert [row.key is None for row in MESSAGES] == [not scenario.messages[step].receipt for step in range(8)]
    assert heard[3] == {0, 1, 2}


@pytest.mark.parametrize("size", [as_printed(1, 5, 720), corrected(3, 1, 9)])
def test_rates_of_sessions_are_those_of_the_table(size):
    """Counted over 3000 minutes of the model, orders are those of the profile to 0.3 %, at every hub in turn."""
    model = LogisticsModel(size)
    law, begin_ns = model.scenario.populations[SESSIONS].law, int(size.session_s * 10**9)
    end_ns = begin_ns + int(3000 * size.minute_s * 10**9)
    members = takewhile(lambda number: law.member(number).joins_ns < end_ns, count())
    orders = [order for number in members for order in law.orders(number) if begin_ns <= order.planned_ns < end_ns]
    expected = float(drivers(size)["ShipmentOrder"].all_published * 3000)

    assert len(orders) == pytest.approx(expected, rel=0.003, abs=4 * size.base)
    hubs = {model.expected(Execution.of(order.execution))[-1].address.party for order in orders[:9]}
    assert hubs == set(range(size.base))


@pytest.mark.parametrize("size", [as_printed(1, 5, 720), corrected(2, 2, 720)])
def test_copies_and_joins_are_those_of_the_table(size):
    """Members that hear a message, and members that join: as in the profile, within an event or 0.3 %."""
    scenario, table = LogisticsModel(size).scenario, drivers(size)
    law = scenario.populations[TRACKING].law
    living = [law.member(number) for number in range(law.initial)]
    heard = Counter(key for member in living for key in member.keys[2])
    places = Counter(key for member in living for key in member.keys[3])
    zones = [number for key, number in places.items() if key >= size.vehicles]
    later = (law.member(number) for number in range(law.initial, 10**6))
    joined = sum(1 for _ in takewhile(lambda member: member.joins_ns < 600 * 10**9, later))

    def close(found, published):
        return abs(found - float(published)) <= max(1, 0.003 * float(published))

    assert all(close(number, table["PositionData"].factor) for number in heard.values())
    assert close(sum(zones) / len(zones), table["EnvironmentData"].factors[Entity.LH])
    assert all(close(places[key], table["EnvironmentData"].factors[Entity.V]) for key in range(size.vehicles))
    assert close(len(living), table["ShipmentScan"].subscriptions[Entity.C])
    tracked = sum(table[name].subscriptions[Entity.C] for name in TRACKED)
    assert scenario.initial_subscriptions == pytest.approx(float(tracked), abs=5)
    assert scenario.chain_fields == len(ChainField)
    assert close(
        sum(map(bool, (member.keys[3] for member in living))), table["EnvironmentData"].subscriptions[Entity.C]
    )
    assert close(joined, table["ShipmentScan"].subscription_joins[Entity.C] / size.minute_s * 600)


def test_too_many_keys_for_a_run():
    """Four hubs at full size have more shipments than keys; they are described, but not run."""
    large = LogisticsModel(corrected(4))

    with pytest.raises(WorkloadError, match=r"--base 4 with --vehicles 53: \d{6} keys of shipments are needed"):
        _ = large.scenario
    assert LogisticsModel(corrected(3)).size.slots <= 100_000


@pytest.mark.parametrize(
    ("field", "value", "option"),
    [
        ("base", 0, "base"),
        ("base", 10_001, "base"),
        ("vehicles_per_hub", 0, "vehicles"),
        ("vehicles_per_hub", 54, "vehicles"),
        ("compression", 0, "compression"),
        ("compression", 4321, "compression"),
        ("customers_per_connection", 0, "customers-per-connection"),
    ],
)
def test_sizes_that_cannot_be(field, value, option):
    """Refused with the option and the value."""
    with pytest.raises(WorkloadError, match=f"--{option}: expected a whole number from 1 to .*, got {value}"):
        replace(corrected(), **{field: value})


def test_quantities_that_keep_results_apart():
    """Profile, hubs, vehicles, compression, addressing, sharing of connections: each alone tells two models apart."""
    sizes = [
        corrected(),
        as_printed(),
        corrected(2),
        corrected(1, 52),
        corrected(1, 53, 2),
        corrected(addressing=Addressing.TOPIC),
        corrected(customers_per_connection=1),
    ]
    found = [tuple(WORKLOAD.apart(LogisticsModel(size)).items()) for size in sizes]

    assert len(set(found)) == len(sizes)


def test_orders_come_together():
    """A session's eight or nine orders are within seconds: an edge of a period may cut off all of them."""
    found = {number: interaction.together for number, interaction in SMOKE.interactions.items()}

    assert found == {1: 9, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}
