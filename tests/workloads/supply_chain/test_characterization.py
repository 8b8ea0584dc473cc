"""The characterization against the papers: it must come out of the tables, to the digits that they print."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given

from tests.workloads.supply_chain.topologies import CONTROLLED, topologies
from workloads.supply_chain.characterization import (
    Volume,
    by_group,
    by_interaction,
    by_location,
    characterization,
    figures,
    sums,
    total,
)
from workloads.supply_chain.interactions import DestinationGroup, Role
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


@pytest.mark.parametrize("base", [1, 7, 50])
def test_vertical_totals(base):
    """The xi of section 3.1a at the rules' rates, per BASE: 14.28660 sent, 17.26051 received, 50.74 KB/s."""
    whole = total(by_interaction(vertical(base)))
    groups = by_group(by_interaction(vertical(base)))
    persistent, other = (
        groups[DestinationGroup.B] + groups[DestinationGroup.D],
        groups[DestinationGroup.A] + groups[DestinationGroup.C],
    )

    assert float(whole.sent_per_s / base) == pytest.approx(14.28660, abs=5e-6)
    assert float(whole.received_per_s / base) == pytest.approx(17.26051, abs=5e-6)
    assert float(whole.received_bytes_per_s / base / 1000) == pytest.approx(50.74, abs=0.005)
    assert float(persistent.sent_per_s / base) == pytest.approx(7.2945, abs=5e-5)
    assert float(persistent.received_per_s / base) == pytest.approx(8.0645, abs=5e-5)
    assert float(other.sent_per_s / base) == pytest.approx(6.9921, abs=5e-5)
    assert float(other.received_per_s / base) == pytest.approx(9.1960, abs=5e-5)
    assert float(whole.received_per_s / whole.sent_per_s) == pytest.approx(
        1.2082, abs=5e-5
    )  # mean replication: xi received / sent


@pytest.mark.parametrize("base", [5, 10, 100])
def test_horizontal_totals(base):
    """The xi of section 3.1a at the rules' rates: 55.040 received per BASE, 28.00 BASE + 26.6 sent."""
    whole = total(by_interaction(horizontal(base)))

    assert float(whole.received_per_s / base) == pytest.approx(55.040, abs=5e-4)
    assert float(whole.sent_per_s) == pytest.approx(28.00 * base + 26.6, rel=5e-4)


def test_horizontal_totals_at_100():
    """The same at BASE 100, with Table 2's sizes: 2826.4 sent, 5504.0 received, 12 587 KB/s."""
    whole = total(by_interaction(horizontal(100)))

    assert float(whole.sent_per_s) == pytest.approx(2826.4, abs=0.05)
    assert float(whole.received_per_s) == pytest.approx(5504.0, abs=0.05)
    assert float(whole.received_bytes_per_s / 1000) == pytest.approx(12_587, abs=1)


def test_horizontal_below_5_is_capped():
    """The xi with zeta = 1: BASE 1 has 67.84 messages/s, as many sent as received."""
    whole = total(by_interaction(horizontal(1)))

    assert float(whole.received_per_s) == pytest.approx(67.84, abs=0.005)
    assert whole.sent_per_s == whole.received_per_s


@pytest.mark.parametrize(
    ("topology", "point_to_point", "of_it_persistent", "publish_subscribe_persistent"),
    [(horizontal(5), 50.09, 51.00, 24.95), (vertical(1), 79.83, None, 29.68)],
    ids=["H", "V"],
)
def test_the_goals_of_the_mix(topology, point_to_point, of_it_persistent, publish_subscribe_persistent):
    """Sections 3.2 and 3.3: half point-to-point and half of that persistent, four fifths vertically; from Table 5."""
    a, b, c, d = (volume.received_per_s for volume in by_group(by_interaction(topology)).values())

    assert float(100 * (c + d) / (a + b + c + d)) == pytest.approx(point_to_point, abs=0.005)
    assert float(100 * b / (a + b)) == pytest.approx(publish_subscribe_persistent, abs=0.005)
    if of_it_persistent is not None:
        assert float(100 * d / (c + d)) == pytest.approx(of_it_persistent, abs=0.005)


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
def test_traffic_by_interaction_is_the_papers(topology):
    """xi of every interaction and group, sent and received, exactly; whatever the paper has as 0 is not there."""
    found = sums(by_interaction(topology), lambda row: (row.step.interaction, row.step.group.value))

    assert {key: (volume.sent_per_s, volume.received_per_s) for key, volume in found.items()} == published_xi(topology)


@NAMED
def test_traffic_by_location_is_the_papers(topology):
    """chi of every type of location and group, sent and received, exactly, as the mean over its locations."""
    found = sums(by_location(topology), lambda row: (row.location.role, row.step.group.value))
    numbers = topology.locations | {Role.HQ: 1}

    assert {
        (role, group): (volume.sent_per_s / numbers[role], volume.received_per_s / numbers[role])
        for (role, group), volume in found.items()
    } == published_chi(topology)


@NAMED
def test_locations_of_a_role_are_alike_where_the_numbers_allow(topology):
    """Supermarkets and headquarters always; the others where their supermarkets, or families' suppliers, are even."""
    found = sums(by_location(topology), lambda row: row.location)
    different = {role: len({volume for location, volume in found.items() if location.role is role}) for role in Role}

    assert different[Role.SM] == different[Role.HQ] == 1
    assert (different[Role.DC] == 1) == (topology.delta.denominator == 1)
    assert different[Role.SP] == 1 or topology.zeta.denominator > 1


def check_sums(topology: Topology) -> None:
    by_triggers = sums(by_interaction(topology), lambda row: (row.step.message, row.step.group))
    by_parties = sums(by_location(topology), lambda row: (row.step.message, row.step.group))

    assert by_triggers == by_parties
    assert total(by_interaction(topology)) == total(by_location(topology)) != Volume()


@NAMED
def test_sums_over_locations_are_those_over_interactions(topology):
    """Two ways of counting, by triggers and by parties, agree exactly: messages and bytes, sent and received."""
    check_sums(topology)


@given(topology=topologies())
def test_sums_agree_anywhere(topology):
    """The same in any valid topology, with any interactions switched on."""
    check_sums(topology)


@NAMED
def test_the_record_is_json(topology):
    """The printed object has what scripts look for."""
    record = json.loads(json.dumps(characterization(topology), allow_nan=False))

    assert list(record["message_mix_percent"]) == ["a", "b", "c", "d"]
    assert sum(record["message_mix_percent"].values()) == pytest.approx(100)
    for key in ("sent_per_s", "received_per_s", "received_kb_per_s"):
        assert record[key] == pytest.approx(sum(group[key] for group in record["groups"].values()))
        assert record[key] == pytest.approx(
            sum(group[key] for groups in record["per_location"].values() for group in groups.values())
        )
        assert record[key] == pytest.approx(sum(message[key] for message in record["messages"].values()))


def test_figures_grow_with_base():
    """Figures 3 to 6: locations by BASE, messages and KBytes in proportion to it, the mix constant (section 3.2)."""
    first, *others = figures(map(horizontal, range(20, 101, 20)))

    assert [row["locations"] for row in others] == [
        {"SM": base, "SP": 2 * base // 5, "DC": base // 5, "HQ": base // 20} for base in range(40, 101, 20)
    ]
    for times, row in enumerate(others, 2):
        for group in "abcd":
            assert row["received_per_s"][group] == pytest.approx(times * first["received_per_s"][group])
            assert row["received_kb_per_s"][group] == pytest.approx(times * first["received_kb_per_s"][group])
            assert row["message_mix_percent"][group] == pytest.approx(TABLE_5["horizontal"][group][0], abs=0.01)


def test_vertical_figures_keep_the_locations():
    """Figures 7 to 9: a fixed set of locations, traffic in proportion to BASE (section 3.3)."""
    rows = figures(map(vertical, (1, 10)))

    assert rows[0]["locations"] == rows[1]["locations"] == {"SM": 10, "SP": 5, "DC": 2, "HQ": 1}
    assert sum(rows[0]["received_per_s"].values()) == pytest.approx(17.26051, abs=5e-6)
    assert sum(rows[1]["received_kb_per_s"].values()) == pytest.approx(507.4, abs=0.05)
