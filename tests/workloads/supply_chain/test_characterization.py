"""The traffic against the papers, computed and of the compiled rows: to the digits that they print."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.models import Walker, starts_of
from tests.workloads.supply_chain.topologies import CONTROLLED, topologies
from workloads.scenario.execution import Execution
from workloads.supply_chain.characterization import (
    by_interaction,
    by_location,
    characterization,
    figures,
    sums,
    total,
)
from workloads.supply_chain.interactions import Role
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Topology, horizontal, vertical

NAMED = pytest.mark.parametrize("topology", CONTROLLED, ids=lambda one: f"{one.name}-{one.base}")

#: Sachs et al. 2009, Table 5: share of the messages achieved, and of the bandwidth used, in percent.
TABLE_5 = {
    "horizontal": {"a": (37.46, 24.66), "b": (12.45, 2.41), "c": (24.55, 49.19), "d": (25.55, 23.74)},
    "vertical": {"a": (14.19, 7.19), "b": (5.99, 2.25), "c": (39.09, 61.03), "d": (40.74, 29.52)},
}


@pytest.mark.parametrize(
    "topology",
    [*map(horizontal, (5, 10, 20, 100)), *map(vertical, (1, 4, 7, 13, 100))],
    ids=lambda one: f"{one.name}-{one.base}",
)
def test_the_mix_is_table_5(topology):
    """Shares of messages to 0.01 points and of bytes to 0.05; horizontal where BASE is a multiple of 5."""
    record = characterization(topology)

    for group, (messages, bandwidth) in TABLE_5[topology.name].items():
        assert record["message_mix_percent"][group] == pytest.approx(messages, abs=0.01)
        assert record["bandwidth_percent"][group] == pytest.approx(bandwidth, abs=0.05)


#: The xi of section 3.1a at the rules' rates, with Table 2's sizes: messages sent and received, and KBytes received,
#: per second. Below BASE 5 zeta is 1: as many are received as sent.
TOTALS = [
    (
        vertical(1),
        pytest.approx(14.28660, abs=5e-6),
        pytest.approx(17.26051, abs=5e-6),
        pytest.approx(50.74, abs=0.005),
    ),
    (
        vertical(50),
        pytest.approx(50 * 14.28660, abs=3e-4),
        pytest.approx(50 * 17.26051, abs=3e-4),
        pytest.approx(50 * 50.74, abs=0.3),
    ),
    (horizontal(1), pytest.approx(67.84, abs=0.005), pytest.approx(67.84, abs=0.005), ANY),
    (horizontal(5), pytest.approx(5 * 28.00 + 26.6, rel=5e-4), pytest.approx(5 * 55.040, abs=3e-3), ANY),
    (horizontal(10), pytest.approx(10 * 28.00 + 26.6, rel=5e-4), pytest.approx(10 * 55.040, abs=5e-3), ANY),
    (horizontal(100), pytest.approx(2826.4, abs=0.05), pytest.approx(5504.0, abs=0.05), pytest.approx(12_587, abs=1)),
]


@pytest.mark.parametrize("row", TOTALS, ids=lambda row: f"{row[0].name}-{row[0].base}")
def test_totals(row):
    """Of the whole system."""
    topology, *expected = row
    whole = total(by_interaction(topology))

    assert [
        float(whole.sent_per_s),
        float(whole.received_per_s),
        float(whole.received_bytes_per_s / 1000),
    ] == expected


def published_xi(topology: Topology) -> dict[tuple[int, str], tuple[Fraction, Fraction]]:
    """Section 3.1a, sent and received; interaction 5 in group c, as Table 1 has it."""
    lam = {number: each.rate_per_s for number, each in topology.interactions.items()}
    sm, dc = topology.locations[Role.SM], topology.locations[Role.DC]
    zeta = topology.zeta
    return {
        (1, "c"): (lam[1] * sm, lam[1] * sm),
        (1, "d"): (5 * lam[1] * sm, 5 * lam[1] * sm),
        (2, "b"): (lam[2] * dc, zeta * lam[2] * dc),
        (2, "c"): (lam[2] * dc, lam[2] * dc),
        (2, "d"): ((zeta + 5) * lam[2] * dc, (zeta + 5) * lam[2] * dc),
        (3, "b"): (lam[3], lam[3] * sm),
        (4, "d"): (lam[4] * sm, lam[4] * sm),
        (5, "c"): (lam[5] * sm, lam[5] * sm),
        (6, "a"): (lam[6], lam[6] * sm),
        (7, "a"): (lam[7], lam[7] * sm),
    }


def published_chi(topology: Topology) -> dict[tuple[Role, str], tuple[Fraction, Fraction]]:
    """Section 3.1b, sent and received by a location of each type on average; the HQ's for all instances."""
    lam = {number: each.rate_per_s for number, each in topology.interactions.items()}
    sm, dc, sp = (topology.locations[role] for role in (Role.SM, Role.DC, Role.SP))
    rho, zeta, delta = topology.rho, topology.zeta, topology.delta
    nothing = Fraction()
    return {
        (Role.SM, "a"): (nothing, lam[6] + lam[7]),
        (Role.SM, "b"): (nothing, lam[3]),
        (Role.SM, "c"): (lam[5], nothing),
        (Role.SM, "d"): (2 * lam[1] + lam[4], 2 * lam[1] + lam[4]),
        (Role.SP, "b"): (nothing, rho * lam[2] * dc),
        (Role.SP, "d"): (rho * lam[2] * dc + 3 * lam[2] * dc / sp, 2 * lam[2] * dc / sp),
        (Role.DC, "b"): (lam[2], nothing),
        (Role.DC, "c"): (delta * lam[1] + lam[2], nothing),
        (Role.DC, "d"): (3 * lam[1] * delta + 2 * lam[2], 3 * lam[1] * delta + lam[2] * (zeta + 2)),
        (Role.HQ, "a"): (lam[6] + lam[7], nothing),
        (Role.HQ, "b"): (lam[3], nothing),
        (Role.HQ, "c"): (nothing, lam[1] * sm + lam[2] * dc + lam[5] * sm),
        (Role.HQ, "d"): (nothing, lam[2] * dc),
    }


@NAMED
def test_traffic_is_the_papers(topology):
    """xi of every interaction and group and chi of every type of location and group, exactly; no others are there."""
    xi = sums(by_interaction(topology), lambda row: (row.step.interaction, row.step.group.value))
    chi = sums(by_location(topology), lambda row: (row.location.role, row.step.group.value))
    numbers = topology.locations | {Role.HQ: 1}

    assert {key: (volume.sent_per_s, volume.received_per_s) for key, volume in xi.items()} == published_xi(topology)
    assert {
        (role, group): (volume.sent_per_s / numbers[role], volume.received_per_s / numbers[role])
        for (role, group), volume in chi.items()
    } == published_chi(topology)


@settings(max_examples=25)
@given(topology=st.sampled_from([each for each in CONTROLLED if each.base < 100]) | topologies())
def test_every_location_has_the_traffic_computed_for_it(topology):
    """chi of each location: over a period it sends and receives what is computed, execution by execution."""
    model = SupplyChain(topology)
    walker, walked = Walker(model), defaultdict(lambda: [Fraction(), Fraction()])
    for driver in model.scenario.drivers:
        interaction = Execution.of(driver.first_execution).interaction
        starters = topology.locations[topology.interactions[interaction].starter.role]
        each = topology.started_per_s(interaction) / starters / len(driver.fields)
        for found in map(walker.walk, starts_of(driver, range(len(driver.fields)))):
            for message in found.sent:
                step = topology.steps[message.address.step]
                walked[step.message, step.sender.role, message.sender][0] += each
            for message, handler in found.received:
                step = topology.steps[message.address.step]
                walked[step.message, step.receiver.role, handler.sender][1] += each
    computed = {
        (row.step.message, row.location.role, row.location.index): [row.volume.sent_per_s, row.volume.received_per_s]
        for row in by_location(topology)
    }

    assert dict(walked) == {key: rates for key, rates in computed.items() if any(rates)}
    assert sums(by_interaction(topology), lambda row: row.step) == sums(by_location(topology), lambda row: row.step)


@pytest.mark.parametrize("topology", CONTROLLED[1::3], ids=lambda one: f"{one.name}-{one.base}")
def test_the_record_is_json(topology):
    """The printed object has what scripts look for, with equal sums by group, location and message."""
    record = json.loads(json.dumps(characterization(topology), allow_nan=False))

    assert list(record["message_mix_percent"]) == ["a", "b", "c", "d"]
    for key in ("sent_per_s", "received_per_s", "received_kb_per_s"):
        of_locations = [group for groups in record["per_location"].values() for group in groups.values()]
        for parts in (record["groups"].values(), of_locations, record["messages"].values()):
            assert record[key] == pytest.approx(sum(part[key] for part in parts))


def test_figures_grow_with_base():
    """Figures 3 to 6: locations by BASE, messages and KBytes in proportion to it, the mix constant (section 3.2)."""
    first, *others = figures(map(horizontal, range(20, 61, 20)))

    assert [row["locations"] for row in others] == [
        {"SM": base, "SP": 2 * base // 5, "DC": base // 5, "HQ": base // 20} for base in range(40, 61, 20)
    ]
    for times, row in enumerate(others, 2):
        for group in "abcd":
            assert row["received_per_s"][group] == pytest.approx(times * first["received_per_s"][group])
            assert row["received_kb_per_s"][group] == pytest.approx(times * first["received_kb_per_s"][group])
            assert row["message_mix_percent"][group] == pytest.approx(TABLE_5["horizontal"][group][0], abs=0.01)
