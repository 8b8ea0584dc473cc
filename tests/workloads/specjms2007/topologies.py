"""What the tests of this package share: any valid topology, and the published sizing parameters."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from workloads.specjms2007.interactions import SCRIPTS, Mode, Role
from workloads.specjms2007.sizes import SizeLaw
from workloads.specjms2007.topology import Interaction, Topology, horizontal, running, vertical

#: Small, odd and published settings: BASE below 5, not a multiple of 5, one past a headquarters instance, Table 5's.
CONTROLLED = [horizontal(base) for base in (1, 4, 5, 7, 13, 21, 100)] + [vertical(base) for base in (1, 4, 7, 13)]


@st.composite
def topologies(draw) -> Topology:
    """Any that can run: every number of locations, families, rates, and any choice of interactions."""
    locations = {
        role: draw(st.integers(1, most)) for role, most in ((Role.SM, 12), (Role.SP, 6), (Role.DC, 4), (Role.HQ, 3))
    }
    families = draw(st.integers(1, 12))
    fewest = -(-families // locations[Role.SP])
    numbers = draw(st.sets(st.sampled_from(sorted(SCRIPTS)), min_size=1))
    rates = {number: Fraction(draw(st.integers(1, 100)), draw(st.integers(1, 100))) for number in sorted(numbers)}
    return Topology(
        "any",
        1,
        locations,
        running(rates),
        families,
        draw(st.integers(fewest, families)),
        draw(st.integers(1, 3)),
    )


@st.composite
def own_topologies(draw) -> Topology:
    """Any that a user may write as well: with delivery modes and sizes of his own."""
    topology = draw(topologies())
    return replace(
        topology,
        name="freeform",
        base=draw(st.integers(1, 9)),
        interactions={number: draw(_own(one)) for number, one in topology.interactions.items()},
    )


@st.composite
def _own(draw, interaction: Interaction) -> Interaction:
    steps = tuple(
        replace(
            step,
            mode=Mode(draw(st.booleans()), draw(st.booleans()), step.receiver.plural and draw(st.booleans())),
        )
        for step in interaction.script.steps
    )
    triple = st.tuples(*[st.integers(0, 10)] * 3)
    first, second = sorted(draw(st.tuples(*[st.fractions(0, 1, max_denominator=50)] * 2)))
    law = SizeLaw(draw(triple), draw(triple), (first, second - first, 1 - second))
    return replace(interaction, script=replace(interaction.script, steps=steps), size_law=law)
