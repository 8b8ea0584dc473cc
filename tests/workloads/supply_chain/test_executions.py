"""What an execution's id fixes: parties, winners, numbers of messages."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.oracles import counts
from tests.workloads.supply_chain.topologies import CONTROLLED, topologies
from workloads.errors import WorkloadError
from workloads.scenario.execution import Execution
from workloads.supply_chain.executions import Count, assign, assignment_period, mean_counts
from workloads.supply_chain.interactions import INTERACTIONS, Participant, Role
from workloads.supply_chain.topology import Topology, horizontal, vertical

EXECUTIONS = st.builds(
    Execution, st.sampled_from(sorted(INTERACTIONS)), st.integers(0, 2**20 - 1), st.integers(0, 2**40 - 1)
)


def period_of(topology: Topology, interaction: int, origin: int) -> list[Execution]:
    return [Execution(interaction, origin, number) for number in range(assignment_period(topology, interaction))]


@given(one=EXECUTIONS, other=EXECUTIONS)
def test_an_id_is_a_positive_64_bit_integer_and_unique(one, other):
    """Ids travel in headers and stand in columns; from an id comes its execution."""
    assert 0 < one.id < 2**63
    assert Execution.of(one.id) == one
    assert (one.id == other.id) == (one == other)


@pytest.mark.parametrize("described", [(0, 0, 0), (8, 0, 0), (1, -1, 0), (1, 2**20, 0), (1, 0, -1), (1, 0, 2**40)])
def test_what_is_no_execution_is_refused(described):
    """Neither an unknown interaction nor a number that does not fit."""
    with pytest.raises(WorkloadError, match=f"no execution: interaction {described[0]}, .* expected 1 to 7"):
        Execution(*described)


def test_an_id_of_nothing_is_refused():
    """An id from a message that the suite did not send."""
    with pytest.raises(WorkloadError, match="no execution"):
        Execution.of(0)


def check_winners(topology: Topology) -> None:
    """In every period each family is called as often, and each of its suppliers wins as many of the calls."""
    for centre in range(topology.locations[Role.DC]):
        wins = Counter()
        for execution in period_of(topology, 2, centre):
            parts = assign(topology, execution)
            assert parts[Participant.DC] == centre
            assert parts[Participant.SP] in topology.suppliers_of[parts[Participant.SUPPLIERS]]
            wins[parts[Participant.SUPPLIERS], parts[Participant.SP]] += 1
        calls = len(period_of(topology, 2, centre)) // topology.families
        assert dict(wins) == {
            (family, supplier): Fraction(calls, len(suppliers))
            for family, suppliers in enumerate(topology.suppliers_of)
            for supplier in suppliers
        }


@pytest.mark.parametrize("topology", CONTROLLED, ids=lambda one: f"{one.name}-{one.base}")
def test_winners_are_uniform_over_a_familys_suppliers(topology):
    """An offer is accepted in 1 of zeta cases (section 3.1b), of the family's own zeta; exactly, not on average."""
    check_winners(topology)


@given(topology=topologies())
def test_winners_are_uniform_anywhere(topology):
    """The same in any topology."""
    assume(2 in topology.interactions)
    check_winners(topology)


@given(topology=topologies(), number=st.integers(0, 10**9), data=st.data())
def test_casts_are_locations_that_exist_and_repeat(topology, number, data):
    """Each party is cast with a destination that its messages have; after a period the same cast comes again."""
    interaction = data.draw(st.sampled_from(sorted(topology.interactions)))
    origin = data.draw(st.integers(0, topology.locations[INTERACTIONS[interaction].starter.role] - 1))
    parts = assign(topology, Execution(interaction, origin, number))

    assert parts[INTERACTIONS[interaction].starter] == origin
    for step in topology.interactions[interaction].script.steps:
        assert 0 <= parts[step.receiver] < len(topology.receivers(step))
        assert step.sender in parts
    assert parts == assign(topology, Execution(interaction, origin, number + assignment_period(topology, interaction)))


def test_centres_call_for_different_families_at_a_time():
    """Twenty centres with a hundred families begin five families apart, and go through all of them in turn."""
    topology = horizontal(100)
    called = [
        [assign(topology, Execution(2, centre, number))[Participant.SUPPLIERS] for number in range(100)]
        for centre in range(20)
    ]

    assert [families[0] for families in called] == list(range(0, 100, 5))
    assert all(sorted(families) == list(range(100)) for families in called)


def test_messages_to_the_headquarters_go_to_its_instances_in_turn():
    """BASE 21 has two instances: mapped by location they would get 11 and 10 supermarkets, not even shares (3.1)."""
    topology = horizontal(21)
    parts = [
        assign(topology, Execution(5, supermarket, number))[Participant.HQ]
        for supermarket in range(21)
        for number in range(10)
    ]

    assert parts.count(0) == parts.count(1) == 105


@pytest.mark.parametrize(
    ("topology", "sent", "received"),
    [(vertical(1), Fraction("9.5"), 11), (horizontal(5), 9, 10), (horizontal(100), 9, 10)],
    ids=["V", "H5", "H100"],
)
def test_messages_of_interaction_2(topology, sent, received):
    """zeta + 7 are sent and 2 zeta + 6 received per execution (sums of xi_2, section 3.1a)."""
    count = mean_counts(topology, 2).values()

    assert sum(each.sent for each in count) == sent
    assert sum(each.received for each in count) == received


@pytest.mark.parametrize("topology", CONTROLLED, ids=lambda one: f"{one.name}-{one.base}")
def test_messages_of_the_other_interactions(topology):
    """Interaction 1: 6 and 6; 3, 6 and 7: 1 sent, one received by each supermarket; 4 and 5: 1 and 1 (xi)."""
    supermarkets = topology.locations[Role.SM]

    for number, expected in {
        1: (6, 6),
        3: (1, supermarkets),
        4: (1, 1),
        5: (1, 1),
        6: (1, supermarkets),
        7: (1, supermarkets),
    }.items():
        count = mean_counts(topology, number).values()
        assert (sum(each.sent for each in count), sum(each.received for each in count)) == expected


@given(topology=topologies())
def test_counts_of_executions_average_to_the_mean(topology):
    """A call for offers counts its own family's suppliers; over a period the mean is zeta. Orders: always one."""
    for interaction in topology.interactions:
        period = [counts(topology, execution) for execution in period_of(topology, interaction, 0)]

        for message, mean in mean_counts(topology, interaction).items():
            sent, received = (
                sum(getattr(each[message], what) for each in period) / len(period) for what in ("sent", "received")
            )
            assert Count(sent, received) == mean
        if interaction == 2:
            assert {each["pOrder"] for each in period} == {Count(Fraction(1), Fraction(1))}
