"""What the tests of this package share: any valid topology, and the published sizing parameters."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from workloads.supply_chain.interactions import INTERACTIONS, DeliveryOptions, Role
from workloads.supply_chain.sizes import SizeDistribution
from workloads.supply_chain.topology import Interaction, Topology, horizontal, running, vertical

#: Small, odd and published settings: BASE below 5, not a multiple of 5, one past a headquarters instance, Table 5's.
CONTROLLED = [horizontal(base) for base in (1, 4, 5, 7, 13, 21, 100)] + [vertical(base) for base in (1, 4, 7, 13)]

#: Made once: a strategy that is made for each draw is looked through for each draw.
ROLES = (Role.SM, Role.SP, Role.DC, Role.HQ)
LOCATIONS = st.tuples(*(st.integers(1, most) for most in (12, 6, 4, 3)))
NUMBERS = st.sets(st.sampled_from(sorted(INTERACTIONS)), min_size=1)
UP_TO_100, UP_TO_12, UP_TO_9, UP_TO_3 = (st.integers(1, most) for most in (100, 12, 9, 3))
TRIPLE = st.tuples(*[st.integers(0, 10)] * 3)
#: 60 has halves, thirds, quarters, fifths and sixths.
SHARES = st.tuples(*[st.integers(0, 60).map(lambda part: Fraction(part, 60))] * 2)
MODE = st.tuples(*[st.booleans()] * 3)


@st.composite
def topologies(draw) -> Topology:
    """Any that can run: every number of locations, families, rates, and any choice of interactions."""
    locations, families = dict(zip(ROLES, draw(LOCATIONS), strict=True)), draw(UP_TO_12)
    fewest = -(-families // locations[Role.SP])
    rates = {number: Fraction(draw(UP_TO_100), draw(UP_TO_100)) for number in sorted(draw(NUMBERS))}
    return Topology(
        "any",
        1,
        locations,
        running(rates),
        families,
        draw(st.integers(fewest, families)),
        draw(UP_TO_3),
    )


@st.composite
def own_topologies(draw) -> Topology:
    """Any that a user may write as well: with delivery modes and sizes of his own."""
    topology = draw(topologies())
    return replace(
        topology,
        name="freeform",
        base=draw(UP_TO_9),
        interactions={number: draw(_own(each)) for number, each in topology.interactions.items()},
    )


@st.composite
def _own(draw, interaction: Interaction) -> Interaction:
    steps = []
    for step in interaction.script.steps:
        persistent, transacted, durable = draw(MODE)
        steps.append(replace(step, mode=DeliveryOptions(persistent, transacted, step.receiver.plural and durable)))
    first, second = sorted(draw(SHARES))
    distribution = SizeDistribution(draw(TRIPLE), draw(TRIPLE), (first, second - first, 1 - second))
    return replace(interaction, script=replace(interaction.script, steps=tuple(steps)), size_distribution=distribution)
