"""Freeform topologies from TOML: what a user may say, and how a mistake is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from workloads.errors import WorkloadError
from workloads.supply_chain.characterization import by_group, by_interaction, characterization
from workloads.supply_chain.freeform import EXAMPLE, read
from workloads.supply_chain.interactions import DURABLE, PLAIN, SAFE, DeliveryOptions, DestinationGroup, Role
from workloads.supply_chain.sizes import PROBABILITIES
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import vertical

EXAMPLE_TEXT = ROOT.joinpath("workloads", "supply_chain", EXAMPLE).read_text(encoding="utf-8")

#: Section 3.3 with the rates of the rules' Table 2, per location.
VERTICAL = """
[locations]
supermarkets = 10
distribution_centres = 2
suppliers = 5
headquarters = 1

[product_families]
number = 100
rho = 0.5

[interaction_1]
rate_per_s = { per_base = 0.0761904761904762 }
[interaction_2]
rate_per_s = { per_base = 0.106666666666667 }
[interaction_3]
rate_per_s = { per_base = 0.05 }
[interaction_4]
rate_per_s = { per_base = 0.162162162162162 }
[interaction_5]
rate_per_s = { per_base = 0.577200577200577 }
[interaction_6]
rate_per_s = { per_base = 0.142314990512334 }
[interaction_7]
rate_per_s = { per_base = 0.102564102564103 }
"""

INTERACTION_4 = """
[locations]
supermarkets = 3

[interaction_4]
rate_per_s = 2
"""


def test_a_freeform_text_can_say_what_vertical_is():
    """The same locations, families and steps, and rates to the digits written."""
    built, said = vertical(5), read(VERTICAL, 5)
    shared = read("handlers_per_queue = 3\n" + VERTICAL)

    assert said.locations == built.locations
    assert said.steps == built.steps
    assert (said.families, said.families_per_supplier) == (100, 50)
    assert SupplyChain(shared).handlers == 3 * 56 + 5 + 3 * 10
    for number, interaction in built.interactions.items():
        assert said.interactions[number].size_distribution == interaction.size_distribution
        assert float(said.interactions[number].rate_per_s) == pytest.approx(float(interaction.rate_per_s), rel=1e-13)


@pytest.mark.parametrize("base", [1, 10, 200])
def test_the_papers_example_is_there(base):
    """Section 3.1: interactions 6 and 7 with an increasing number of supermarkets load publish/subscribe alone."""
    topology = read(EXAMPLE_TEXT, base, EXAMPLE)
    record = characterization(topology)

    assert sorted(topology.interactions) == [6, 7]
    assert record["message_mix_percent"] == {"a": 100, "b": 0, "c": 0, "d": 0}
    assert (record["queues"], record["topics"], record["topic_subscriptions"]) == (0, 2, 2 * base)
    assert record["sent_per_s"] == pytest.approx(11.385199240 + 9.230769230)
    assert record["received_per_s"] == pytest.approx(base * record["sent_per_s"])


def test_what_does_not_run_has_no_location_traffic_or_handler():
    """Locations of a kind that is left out are none, and interactions without a table are off."""
    topology = read(INTERACTION_4)

    assert topology.locations == {Role.SM: 3, Role.SP: 0, Role.DC: 0, Role.HQ: 0}
    assert [handler.place for handler in SupplyChain(topology).scenario.handlers] == ["SM1", "SM2", "SM3"]
    assert characterization(topology)["received_per_s"] == 6


def test_an_interaction_can_be_switched_off_and_keep_its_table():
    """`enabled = false` takes it out, and nothing else."""
    both = read(VERTICAL)
    one = read(VERTICAL.replace("[interaction_2]\n", "[interaction_2]\nenabled = false\n"))

    assert sorted(one.interactions) == [1, 3, 4, 5, 6, 7]
    assert one == replace(both, interactions={n: i for n, i in both.interactions.items() if n != 2})


def test_locations_and_families_grow_with_base_rounded_up():
    """The horizontal topology's rules can be said: one supermarket, 2/5 of a supplier, 1/5 of a centre per BASE."""
    text = """
[locations]
supermarkets = { per_base = 1 }
suppliers = { per_base = 0.4 }
distribution_centres = { per_base = 0.2 }
headquarters = { per_base = 0.05 }
[product_families]
number = { per_base = 1 }
rho = 1
[interaction_2]
rate_per_s = 1
"""
    assert read(text, 7).locations == {Role.SM: 7, Role.SP: 3, Role.DC: 2, Role.HQ: 1}
    assert read(text, 7).families == 7
    assert read(text, 10).locations == {Role.SM: 10, Role.SP: 4, Role.DC: 2, Role.HQ: 1}


def test_delivery_modes_change_the_group():
    """A message that becomes persistent counts as such; what is not said stays as published."""
    text = (
        VERTICAL
        + """
[interaction_7.messages.creditCardHL]
persistent = true
durable = true
[interaction_1.messages.order]
transacted = false
"""
    )
    topology = read(text)
    steps = {step.message: step for step in topology.steps}
    published = {step.message: step for step in vertical(1).steps}

    assert steps.pop("creditCardHL").mode == DeliveryOptions(persistent=True, transacted=False, durable=True)
    assert steps.pop("order").mode == DeliveryOptions(persistent=True, transacted=False)
    assert all(published[message] == step for message, step in steps.items())
    assert {step.mode for step in steps.values()} == {PLAIN, SAFE, DURABLE}
    moved = by_group(by_interaction(topology))[DestinationGroup.B].received_per_s
    assert float(moved) == pytest.approx(10 * 0.102564103 + 10 * 0.05 + 2.5 * 0.213333334)


def test_sizes_can_be_set():
    """x, y where there is one, and the probabilities; the formula of Table 2 does the rest."""
    text = (
        VERTICAL
        + """
[interaction_4.size]
x = [0, 1, 2]
probabilities = [0.5, 0.25, 0.25]
[interaction_5.size]
y = [1, 1, 1]
"""
    )
    topology = read(text)

    inventory = topology.interactions[4].size_distribution
    assert inventory.body_bytes("inventoryInfo") == (514, 611, 708)  # 0.0970 x + 0.5137 KB
    assert inventory.mean_bytes("inventoryInfo") == Fraction("586.75")
    sales = topology.interactions[5].size_distribution
    assert sales.body_bytes("statInfoSM") == (2876,) * 3  # 5 (0.0139 + 0.3650) + 0.9813
    assert sales.probabilities == PROBABILITIES


REFUSALS = {
    "not TOML": ("[locations", "mine.toml: not TOML: .*table declaration"),
    "nothing": ("", "mine.toml: freeform: no interaction runs"),
    "unknown table": (
        INTERACTION_4 + "[interaction_8]\nrate_per_s = 1\n",
        "mine.toml: unknown key 'interaction_8'; expected",
    ),
    "unknown location": (
        INTERACTION_4.replace("supermarkets", "supermarket"),
        r"mine.toml: \[locations\]: unknown key 'supermarket'; expected supermarkets, suppliers, ",
    ),
    "unknown key": (
        INTERACTION_4.replace("rate_per_s", "rate"),
        r"mine.toml: \[interaction_4\]: unknown key 'rate'; expected enabled, rate_per_s, size, messages",
    ),
    "unknown key in a table that is off": (
        INTERACTION_4 + "[interaction_5]\nenabled = false\nrate_per_s = 1\nspeed = 3\n",
        r"\[interaction_5\]: unknown key 'speed'",
    ),
    "unknown message": (
        INTERACTION_4 + "[interaction_4.messages.order]\npersistent = false\n",
        r"\[interaction_4.messages\]: unknown key 'order'; expected inventoryInfo",
    ),
    "unknown mode": (
        INTERACTION_4 + "[interaction_4.messages.inventoryInfo]\nfast = true\n",
        r"\[interaction_4.messages.inventoryInfo\]: unknown key 'fast'; expected persistent, transacted$",
    ),
    "mode of no kind": (
        INTERACTION_4 + "[interaction_4.messages.inventoryInfo]\npersistent = 1\n",
        "persistent: expected true or false, got 1",
    ),
    "no table": ("interaction_4 = 2\n", "mine.toml: interaction_4: expected a table, got 2"),
    "empty table": ("[interaction_4]\n", r"\[interaction_4\]: 'rate_per_s' is missing"),
    "no rate": (INTERACTION_4.replace("= 2", "= 0"), r"rate_per_s: expected more than 0 .*enabled = false"),
    "negative rate": (INTERACTION_4.replace("= 2", "= -2"), "rate_per_s: expected a number from 0 on, got -2"),
    "endless rate": (INTERACTION_4.replace("= 2", "= inf"), "rate_per_s: expected a number from 0 on, got inf"),
    "rate in words": (INTERACTION_4.replace("= 2", "= 'often'"), "expected a number from 0 on, got 'often'"),
    "rate per what": (INTERACTION_4.replace("= 2", "= { per_sm = 2 }"), "expected a number or { per_base = number }"),
    "half a supermarket": (
        INTERACTION_4.replace("= 3", "= 2.5"),
        r"\[locations\]: supermarkets: expected a whole number, got 2.5",
    ),
    "size of a fixed message": (
        "[locations]\nsupermarkets=1\nheadquarters=1\n[interaction_3]\nrate_per_s=1\n[interaction_3.size]\nx=[1,2,3]\n",
        r"\[interaction_3.size\]: unknown key 'x'; expected none here",
    ),
    "y": (
        INTERACTION_4 + "[interaction_4.size]\ny = [1, 2, 3]\n",
        r"\[interaction_4.size\]: unknown key 'y'; expected x, probabilities",
    ),
    "two sizes": (INTERACTION_4 + "[interaction_4.size]\nx = [1, 2]\n", "x: expected a list of three numbers"),
    "half a line": (INTERACTION_4 + "[interaction_4.size]\nx = [1, 2, 2.5]\n", "x: expected three whole numbers"),
    "too large": (
        INTERACTION_4 + "[interaction_4.size]\nx = [1, 2, 1000]\n",
        r"\[interaction_4.size\]: inventoryInfo: a body of 97514 bytes; expected at most 65536",
    ),
    "probabilities": (
        INTERACTION_4 + "[interaction_4.size]\nprobabilities = [0.9, 0.1, 0.1]\n",
        r"probabilities: expected three numbers with the sum 1, got \[0.9, 0.1, 0.1\]",
    ),
    "rho": (VERTICAL.replace("rho = 0.5", "rho = 0.333"), "rho: expected a share of the 100 families .* got 0.333"),
    "rho above 1": (VERTICAL.replace("rho = 0.5", "rho = 1.5"), "rho: expected a share"),
    "no rho": (VERTICAL.replace("rho = 0.5", ""), "families per supplier: expected 1 to 100, got 0"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_mistakes_are_refused(case):
    """Each refusal names the file, the place and the key, and what was expected; the line is tested elsewhere."""
    text, words = REFUSALS[case]

    with pytest.raises(WorkloadError) as refused:
        read(text, 1, "mine.toml")
    assert re.search(words, re.sub(r"(?<=toml), line \d+", "", str(refused.value)))


def test_a_base_that_changes_nothing_is_refused():
    """An option that cannot be honoured is not taken silently."""
    with pytest.raises(WorkloadError, match="BASE 2, but nothing grows with it; expected a"):
        read(INTERACTION_4, 2)
    with pytest.raises(WorkloadError, match="BASE: expected a whole number from 1 on, got 0"):
        read(EXAMPLE_TEXT, 0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "per_base", "rate_per_s"]), inner)
    ),
    max_leaves=4,
)


def toml(value) -> str:
    match value:
        case None:
            return "{}"
        case bool():
            return str(value).lower()
        case str():
            return "'" + "".join(character for character in value if character.isalnum()) + "'"
        case dict():
            return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
    return str(value)


@given(
    key=st.sampled_from(["supermarkets = 3", "rate_per_s = 2", "x = [10, 100, 500]", "persistent = true"]), value=VALUES
)
def test_no_value_gives_anything_but_a_topology_or_a_refusal(key, value):
    """Whatever stands behind a key, there is a topology that runs, or a WorkloadError; never another error."""
    text = (
        INTERACTION_4
        + "[interaction_4.size]\nx = [10, 100, 500]\n[interaction_4.messages.inventoryInfo]\npersistent = true\n"
    )
    name = key.split(" ")[0]
    try:
        topology = read(text.replace(key, f"{name} = {toml(value)}"))
    except WorkloadError:
        return
    assert characterization(topology)["received_per_s"] > 0
