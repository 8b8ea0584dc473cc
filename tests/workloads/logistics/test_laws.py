"""The laws of a shipment's life and of a customer's session, enumerated."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import count, takewhile
from math import floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.logistics.sizes import SIZES, SMALL, as_printed, corrected
from workloads.logistics.dimensions import LEAD_S
from workloads.logistics.laws import STAGE_DAYS, STAGES, Customers, Shipments
from workloads.logistics.membership import SessionLaw, TrackingLaw
from workloads.logistics.profiles import LIFE_DAYS
from workloads.scenario.execution import Execution

NUMBERS = st.integers(0, 10**6)
#: The second before an UNSUBSCRIBE in which the audit does not count on messages.
MARGIN_S = 1


def alive(shipments, at_s):
    """The shipments that are under way at an instant, which is not that of a join."""
    first = max(0, floor(at_s * shipments.size.shipments_per_s - 1))
    joined = takewhile(lambda number: shipments.joins_s(number) <= at_s, count(first))
    return [number for number in joined if at_s < shipments.leaves_s(number)]


def scanned_s(shipments, number, stage):
    """When a shipment is scanned at a stage."""
    return shipments.joins_s(number) + STAGE_DAYS[stage] / LIFE_DAYS * shipments.size.life_s


@settings(max_examples=12)
@given(SIZES, NUMBERS)
def test_any_ten_fleets_of_shipments_have_exactly_three_tenths_monitored(size, first):
    """Of any 10 V consecutive shipments, and of those of each vehicle among them."""
    shipments = Shipments(size)
    monitored = [number for number in range(first, first + 10 * size.vehicles) if shipments.monitored(number)]

    assert len(monitored) == 3 * size.vehicles
    assert set(Counter(map(shipments.vehicle, monitored)).values()) == {3}


@settings(max_examples=5)
@given(SMALL, st.fractions(0, 10))
def test_who_is_alive(size, lives):
    """At any instant: the number that the model says, with keys of their own, evenly over vehicles and hubs."""
    shipments = Shipments(size)
    found = alive(shipments, lives * size.life_s)
    vehicles, hubs = Counter(map(shipments.vehicle, found)), Counter(map(shipments.hub, found))
    monitored = [number for number in found if shipments.monitored(number)]

    assert abs(len(found) - size.under_way) <= 1
    assert len(set(map(shipments.slot, found))) == len(found)
    assert len(vehicles) == size.vehicles
    assert set(vehicles.values()) <= {474, 475}
    assert max(hubs.values()) - min(hubs.values()) <= 1
    assert set(Counter(map(shipments.vehicle, monitored)).values()) <= {141, 142, 143, 144}


@settings(max_examples=5)
@given(SMALL)
def test_zones_share_the_monitored_shipments_of_a_hub(size):
    """In turn, so that each hub's zones have equal shares; all of them are zones of that hub."""
    shipments = Shipments(size)
    found = [number for number in alive(shipments, size.life_s) if shipments.monitored(number)]
    zones = Counter(map(shipments.zone, found))

    assert sum(zones.values()) == len(found)
    assert sorted(zones) == sorted(zone for hub in range(size.base) for zone in shipments.zones_of(hub))
    assert len(zones) == size.zones
    assert all(shipments.zone(number) in shipments.zones_of(shipments.hub(number)) for number in found)
    share = len(found) / size.zones
    assert all(abs(number - share) <= max(2, 0.02 * share) for number in zones.values())


@settings(max_examples=12)
@given(SIZES)
def test_those_that_join_before_the_load_are_the_first(size):
    """The initial members are those with a negative join; instants in ns are the exact ones rounded down."""
    shipments = Shipments(size)
    law = TrackingLaw(Customers(shipments))

    assert law.member(law.initial - 1).joins_ns < 0 <= law.member(law.initial).joins_ns
    assert shipments.leaves_s(0) > 0
    for number in (0, law.initial, law.initial + 17):
        member = law.member(number)
        assert member.joins_ns == floor(shipments.joins_s(number) * 10**9)
        assert member.leaves_ns == floor(shipments.leaves_s(number) * 10**9)
        assert 0 <= member.connection < size.connections


@settings(max_examples=20)
@given(SIZES, NUMBERS)
def test_a_life_is_in_order(size, number):
    """Order, a while, join, scans, proof of delivery, more than the margin, leave; the customer's number fits."""
    shipments = Shipments(size)
    customers = Customers(shipments)
    customer = shipments.customer(number)
    ordered = customers.ordered(customer)
    joins_s, leaves_s = shipments.joins_s(number), shipments.leaves_s(number)
    scans = [scanned_s(shipments, number, stage) for stage in shipments.stages(number)]

    assert number in ordered
    assert len(ordered) in {8, 9}
    assert customers.orders_s(customer)[number - ordered.start] <= joins_s - LEAD_S
    assert customers.orders_s(customer)[-1] == shipments.joins_s(ordered.start) - LEAD_S
    assert scans == sorted(scans)
    for at_s in (*scans, shipments.delivered_s(number)):
        assert joins_s + LEAD_S < at_s < leaves_s - MARGIN_S
    assert scans[-1] < shipments.delivered_s(number)


@given(NUMBERS)
def test_scans_of_a_shipment(first):
    """Four each, or in the printed profile four over any three consecutive shipments, at each stage once."""
    stages = [stage for number in range(first, first + 3) for stage in Shipments(as_printed()).stages(number)]

    assert sorted(stages) == list(range(STAGES))
    assert Shipments(corrected()).stages(first) == tuple(range(STAGES))


@settings(max_examples=6)
@given(SMALL.filter(lambda size: size.vehicles <= 8))
def test_drivers_follow_the_shipments(size):
    """The starts of all drivers of scans and deliveries are those of the law, each once: shipment, hub and instant."""
    shipments = Shipments(size)
    gap_s, until_s = 1 / size.shipments_per_s, 7 * size.vehicles / size.shipments_per_s
    last = floor(size.shipments_per_s * (until_s + size.life_s)) + 1
    due = Counter(
        (number, stage, shipments.hub(number if stage < 2 else number + 1), at_s)
        for number in range(last)
        for stage in shipments.stages(number)
        if 0 <= (at_s := scanned_s(shipments, number, stage)) < until_s
    )
    proved = Counter(
        (number, shipments.vehicle(number), at_s)
        for number in range(last)
        if 0 <= (at_s := shipments.delivered_s(number)) < until_s
    )

    found = Counter()
    for hub in range(size.base):
        for stage in range(STAGES):
            if (row := shipments.scans(hub, stage)) is not None:
                assert 0 <= row.offset < 1
                found.update(
                    (row.first + row.step * start, stage, hub, at_s)
                    for start in range(7 * size.vehicles)
                    if (at_s := (start + row.offset) * row.step * gap_s) < until_s
                )
    assert found == due
    rows = {vehicle: shipments.deliveries(vehicle) for vehicle in range(size.vehicles)}
    found = Counter(
        (row.first + row.step * start, vehicle, at_s)
        for vehicle, row in rows.items()
        for start in range(8)
        if (at_s := (start + row.offset) * row.step * gap_s) < until_s
    )
    assert found == proved


@settings(max_examples=12)
@given(SIZES)
def test_sessions(size):
    """None begins before the load, the first as early as it can; their orders are within, one for each shipment."""
    customers = Customers(Shipments(size))
    law = SessionLaw(customers)
    members = [law.member(number) for number in range(20)]
    orders = [order for number in range(20) for order in law.orders(number)]
    numbers = [Execution.of(order.execution).number for order in orders]

    assert law.initial == 0
    assert customers.begins_s(customers.first) >= 0 > customers.begins_s(customers.first - 1)
    assert [member.joins_ns for member in members] == sorted(member.joins_ns for member in members)
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    for member in members:
        planned = [order.planned_ns for order in law.orders(member.number)]
        assert member.joins_ns < planned[0]
        assert planned[-1] < member.leaves_ns
        assert member.leaves_ns - member.joins_ns == pytest.approx(float(size.session_s) * 1e9, abs=2)


@pytest.mark.parametrize("size", [corrected(1, 5, 720), as_printed(1, 5, 720)])
def test_sessions_are_as_many_as_published(size):
    """After the ramp, as many sessions are open on average as the table has parallel publishers."""
    customers = Customers(Shipments(size))
    begin_s, end_s = size.session_s, size.session_s + 5000
    open_s = Fraction()
    number = customers.first
    while (begins_s := customers.begins_s(number)) < end_s:
        open_s += max(0, min(end_s, customers.ends_s(number)) - max(begin_s, begins_s))
        number += 1

    assert float(open_s / 5000) == pytest.approx(float(size.profile.sessions_alive * size.scale), rel=1e-3)
