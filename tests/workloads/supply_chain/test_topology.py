"""Topologies: locations, product families, rates and destinations, from BASE."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.oracles import parties_of
from tests.workloads.supply_chain.topologies import CONTROLLED, topologies
from workloads.errors import WorkloadError
from workloads.scenario.execution import Execution
from workloads.supply_chain.characterization import characterization
from workloads.supply_chain.interactions import Participant, Role
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import horizontal, vertical

#: Run and reporting rules, section 3.6.1, Table 1: of the whole system, over BASE.
TABLE_1 = {
    1: lambda base: 1.539201540 * base,
    2: lambda base: 2.133333334 * ceil(base / 5),
    3: lambda _: 6.000000000,
    4: lambda base: 3.378378378 * base,
    5: lambda base: 11.544011544 * base,
    6: lambda _: 11.385199240,
    7: lambda _: 9.230769230,
}

#: The same, Table 2, per BASE.
TABLE_2 = {1: 0.76190476, 2: 0.213333334, 3: 0.05, 4: 1.62162162, 5: 5.77200577, 6: 0.142314991, 7: 0.102564103}


@pytest.mark.parametrize("base", [1, 4, 5, 7, 13, 100])
def test_input_rates_are_those_of_the_rules(base):
    """Rates of the whole system agree with section 3.6.1 to its printed digits."""
    assert {number: float(horizontal(base).started_per_s(number)) for number in TABLE_1} == pytest.approx(
        {number: rate(base) for number, rate in TABLE_1.items()}, rel=2e-9
    )
    assert {number: float(vertical(base).started_per_s(number)) for number in TABLE_2} == pytest.approx(
        {number: rate * base for number, rate in TABLE_2.items()}, rel=2e-8
    )


@pytest.mark.parametrize(
    ("base", "supermarkets", "suppliers", "centres", "headquarters", "zeta"),
    [
        (1, 1, 1, 1, 1, "1"),  # rho would be 5
        (4, 4, 2, 1, 1, "2"),  # rho would be 5/4
        (5, 5, 2, 1, 1, "2"),
        (6, 6, 3, 2, 1, "5/2"),
        (7, 7, 3, 2, 1, "15/7"),
        (13, 13, 6, 3, 1, "30/13"),
        (20, 20, 8, 4, 1, "2"),
        (21, 21, 9, 5, 2, "15/7"),
        (100, 100, 40, 20, 5, "2"),
    ],
)
def test_horizontal_locations(base, supermarkets, suppliers, centres, headquarters, zeta):
    """Rules 1 to 6 of section 3.2; zeta = |SP| rho, with rho capped at 1 below BASE 5."""
    topology = horizontal(base)

    assert topology.locations == {
        Role.SM: supermarkets,
        Role.SP: suppliers,
        Role.DC: centres,
        Role.HQ: headquarters,
    }
    assert topology.families == base
    assert topology.rho == min(Fraction(5, base), 1)
    assert topology.zeta == Fraction(zeta)
    assert topology.delta == Fraction(supermarkets, centres)


@pytest.mark.parametrize("base", [1, 4, 7, 13])
def test_vertical_locations(base):
    """Rules 1 to 6 of section 3.3, whatever BASE is; 50 families have two suppliers and 50 three."""
    topology = vertical(base)
    suppliers = [len(of_family) for of_family in topology.suppliers_of]

    assert topology.locations == {Role.SM: 10, Role.SP: 5, Role.DC: 2, Role.HQ: 1}
    assert (topology.families, topology.rho, topology.zeta, topology.delta) == (100, Fraction(1, 2), Fraction(5, 2), 5)
    assert (suppliers.count(2), suppliers.count(3)) == (50, 50)


@pytest.mark.parametrize(
    ("topology", "queues", "topics", "subscriptions"),
    [
        (vertical(3), 56, 103, 280),
        (horizontal(5), 29, 8, 25),
        (horizontal(10), 54, 13, 50),
        (horizontal(100), 520, 103, 500),
    ],
    ids=["V", "H5", "H10", "H100"],
)
def test_destinations_are_as_many_as_computed(topology, queues, topics, subscriptions):
    """Queues per location by Table 1 (3 per SM, 6 per DC, 2 per SP, 4 per HQ instance), |families| + 3 topics."""
    record = characterization(topology)

    assert (record["queues"], record["topics"], record["topic_subscriptions"]) == (queues, topics, subscriptions)


def test_an_event_handler_stands_for_a_message_at_a_location():
    """Vertical has 6 for each SM, 6 for each DC, 3 for each SP and 4 for the HQ, by the destinations of Table 1."""
    model = SupplyChain(vertical(1))

    assert model.handlers == 91
    assert len(model.scenario.drivers) == 3 * 10 + 2 + 3 * 1  # I1, I4, I5 at supermarkets, I2 at centres, I3, I6, I7


@given(topology=st.sampled_from(CONTROLLED) | topologies())
def test_families_are_covered(topology):
    """Every supplier offers as many families, every family has suppliers, as evenly as whole numbers allow."""
    numbers = [len(suppliers) for suppliers in topology.suppliers_of]

    assert min(numbers) >= 1
    assert max(numbers) - min(numbers) <= 1
    assert sum(numbers) == topology.locations[Role.SP] * topology.families_per_supplier
    assert {len(set(families)) for families in topology.families_of} == {topology.families_per_supplier}
    assert all(
        (supplier in topology.suppliers_of[family]) == (family in families)
        for supplier, families in enumerate(topology.families_of)
        for family in range(topology.families)
    )


@pytest.mark.parametrize("base", [1, 4, 5, 7, 13, 21])
def test_supermarkets_are_spread_over_the_centres(base):
    """Every supermarket has one centre; two centres' supermarkets differ by one at most."""
    topology = horizontal(base)
    model = SupplyChain(topology)
    supplied = [parties_of(model, Execution(1, supermarket, 0))[Participant.DC] for supermarket in range(base)]
    numbers = [supplied.count(centre) for centre in range(topology.locations[Role.DC])]

    assert sum(numbers) == base
    assert max(numbers) - min(numbers) <= 1


def test_an_interaction_alone():
    """It has its own steps and rates at the same locations, and nothing of the others."""
    alone = vertical(5).only(2)

    assert {step.interaction for step in alone.steps} == {2}
    assert alone.locations == vertical(5).locations
    assert alone.started_per_s(2) == vertical(5).started_per_s(2)
    with pytest.raises(WorkloadError, match="vertical has no interaction 1; expected one of 2"):
        alone.only(1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"interactions": {}}, "no interaction runs; expected at least one of 1, 2, 3, 4, 5, 6, 7"),
        ({"handlers_per_queue": 0}, "handlers per queue: expected at least 1, got 0"),
        (
            {"locations": {Role.SM: 10, Role.SP: 0, Role.DC: 2, Role.HQ: 1}},
            "interaction 2 needs at least one SP, got 0",
        ),
        ({"families_per_supplier": 101}, "families per supplier: expected 1 to 100, got 101"),
        ({"families": 0, "families_per_supplier": 0}, "product families: expected 1 to"),
        ({"families_per_supplier": 19}, "5 suppliers with 19 .* without a supplier; .* >= 100, got 95"),
        ({"locations": {Role.SM: 10**7, Role.SP: 5, Role.DC: 2, Role.HQ: 1}}, "10000000 locations; expected at most"),
        ({"locations": {Role.SM: 10**6, Role.SP: 5, Role.DC: 2, Role.HQ: 1}}, "9000036 connections; expected at most"),
    ],
)
def test_a_topology_that_cannot_run_is_refused(changed, words):
    """Each refusal says what was expected and what was found."""
    with pytest.raises(WorkloadError, match=words):
        SupplyChain(replace(vertical(1), **changed))


@pytest.mark.parametrize("topology", [horizontal, vertical])
@pytest.mark.parametrize("base", [0, -5])
def test_base_begins_with_1(topology, base):
    """There is no load below BASE 1."""
    with pytest.raises(WorkloadError, match=f"BASE: expected a whole number from 1 on, got {base}"):
        topology(base)
