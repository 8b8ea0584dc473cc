"""What an execution's id fixes: its parties, and who wins its call for offers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.oracles import parties_of
from tests.workloads.supply_chain.topologies import CONTROLLED, topologies
from workloads.errors import WorkloadError
from workloads.scenario.execution import Execution
from workloads.supply_chain.interactions import INTERACTIONS, Participant, Role
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Topology, horizontal

EXECUTIONS = st.builds(
    Execution, st.sampled_from(sorted(INTERACTIONS)), st.integers(0, 2**20 - 1), st.integers(0, 2**40 - 1)
)


@given(one=EXECUTIONS, other=EXECUTIONS)
def test_an_id_is_a_positive_64_bit_integer_and_unique(one, other):
    """Ids travel in headers and stand in columns; from an id comes its execution."""
    assert 0 < one.id < 2**63
    assert Execution.of(one.id) == one
    assert (one.id == other.id) == (one == other)


@pytest.mark.parametrize("described", [(0, 0, 0), (8, 0, 0), (1, -1, 0), (1, 2**20, 0), (1, 0, -1), (1, 0, 2**40)])
def test_what_is_no_execution_is_refused(described):
    """Neither an unknown interaction, nor a number that does not fit, nor an id that this suite did not send."""
    with pytest.raises(WorkloadError, match=f"no execution: interaction {described[0]}, .* expected 1 to 7"):
        Execution(*described)
    with pytest.raises(WorkloadError, match="no execution"):
        Execution.of(0)


def check_winners(topology: Topology) -> None:
    """In every period each family is called as often, and each of its suppliers wins as many of the calls."""
    model = SupplyChain(topology)
    period = model.interactions[2].period
    for centre in range(topology.locations[Role.DC]):
        wins = Counter()
        for number in range(period):
            parts = parties_of(model, Execution(2, centre, number))
            assert parts[Participant.DC] == centre
            wins[parts[Participant.SUPPLIERS], parts[Participant.SP]] += 1
        assert dict(wins) == {
            (family, supplier): Fraction(period // topology.families, len(suppliers))
            for family, suppliers in enumerate(topology.suppliers_of)
            for supplier in suppliers
        }


@pytest.mark.parametrize("topology", CONTROLLED[:6], ids=lambda one: f"{one.name}-{one.base}")
def test_winners_are_uniform_over_a_familys_suppliers(topology):
    """An offer is accepted in 1 of zeta cases (section 3.1b), of the family's own zeta; exactly, not on average."""
    check_winners(topology)


@given(topology=topologies())
def test_winners_are_uniform_anywhere(topology):
    """The same in any topology."""
    assume(2 in topology.interactions)
    check_winners(topology)


def test_centres_call_for_different_families_at_a_time():
    """Twenty centres with a hundred families begin five families apart, and go through all of them in turn."""
    model = SupplyChain(horizontal(100))
    called = [
        [parties_of(model, Execution(2, centre, number))[Participant.SUPPLIERS] for number in range(100)]
        for centre in range(20)
    ]

    assert [families[0] for families in called] == list(range(0, 100, 5))
    assert all(sorted(families) == list(range(100)) for families in called)


def test_messages_to_the_headquarters_go_to_its_instances_in_turn():
    """BASE 21 has two instances: mapped by location they would get 11 and 10 supermarkets, not even shares (3.1)."""
    model = SupplyChain(horizontal(21))
    parts = [
        parties_of(model, Execution(5, supermarket, number))[Participant.HQ]
        for supermarket in range(21)
        for number in range(10)
    ]

    assert parts.count(0) == parts.count(1) == 105
