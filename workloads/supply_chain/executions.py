"""The properties that an execution's id determines: its parties, the sizes of its messages, and their number.

Everything is a pure function of the id, so that drivers, event handlers and the audit agree without communication.

* Calls for offers go through the product families in turn; each distribution centre starts at a different family.
* The supplier that gets the order rotates, so that each of a family's suppliers wins the same number of calls, with
  exactly one order per call. (Drawing with 1 / zeta per offer would give some calls no order and others several.)
* Messages to the headquarters go to its instances in turn, by execution number and starting location.
* The column of the sizes is drawn with the SplitMix64 generator (Steele, Lea, Flood 2014): plain 64-bit arithmetic on
  the id, so that numpy and Spark can compute the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TypeAlias

from workloads.scenario.execution import Execution
from workloads.supply_chain.interactions import INTERACTIONS, MessageType, Participant, Role
from workloads.supply_chain.topology import Topology

#: The index assigned to each party: of a location, of a product family (suppliers), or 0 (supermarkets).
Cast: TypeAlias = Mapping[Participant, int]


def assign(topology: Topology, execution: Execution) -> Cast:
    """The parties of an execution; a message goes to `topology.receivers(step)[cast[step.receiver]]`."""
    script = INTERACTIONS[execution.interaction]
    parties = {party for step in script.steps for party in (step.sender, step.receiver)}
    return {
        party: execution.origin if party is script.starter else _LAWS[party](topology, execution)
        for party in Participant
        if party in parties
    }


def assignment_period(topology: Topology, interaction: int) -> int:
    """Number of executions of one origin after which the assignments repeat, the rows of a table of assignments."""
    period = 1
    parties = {step.receiver for step in INTERACTIONS[interaction].steps}
    if Participant.HQ in parties:
        period = lcm(period, topology.locations[Role.HQ])
    if Participant.SUPPLIERS in parties:
        period = lcm(period, topology.families * lcm(*map(len, topology.suppliers_of)))
    return period


@dataclass(frozen=True, slots=True)
class Count:
    """Messages of one step per execution; a message on a topic is received once by each subscriber."""

    sent: Fraction
    received: Fraction


def mean_counts(topology: Topology, interaction: int) -> dict[str, Count]:
    """Average messages of each step per execution: families are called in turn, so zeta is the plain mean.

    Computed from the triggers alone: each receipt triggers a message, or only that from `after_from`.
    """
    steps, single = INTERACTIONS[interaction].steps, Fraction(1)
    size = {Participant.SUPERMARKETS: Fraction(topology.locations[Role.SM])}  # locations that a party consists of
    if any(step.receiver is Participant.SUPPLIERS for step in steps):
        size[Participant.SUPPLIERS] = topology.zeta
    found: dict[str, tuple[MessageType, Count]] = {}
    for step in steps:
        sent = single
        if step.after is not None:
            before, count = found[step.after]
            sent = count.received
            if step.after_from is not None:
                sent *= size.get(step.after_from, single) / size.get(before.sender, single)
        found[step.message] = (step, Count(sent, sent * size.get(step.receiver, single)))
    return {message: count for message, (_, count) in found.items()}


def _family(topology: Topology, execution: Execution) -> int:
    first = execution.origin * topology.families // topology.locations[Role.DC]
    return (execution.number + first) % topology.families


def _winner(topology: Topology, execution: Execution) -> int:
    family = _family(topology, execution)
    suppliers = topology.suppliers_of[family]
    calls_before = execution.number // topology.families  # of this family, by this distribution centre
    return suppliers[(calls_before + family + execution.origin) % len(suppliers)]


_LAWS: Mapping[Participant, Callable[[Topology, Execution], int]] = {
    Participant.DC: lambda topology, execution: topology.distribution_centre_of(execution.origin),
    Participant.HQ: lambda topology, execution: (execution.number + execution.origin) % topology.locations[Role.HQ],
    Participant.SUPPLIERS: _family,
    Participant.SP: _winner,
    Participant.SUPERMARKETS: lambda _topology, _execution: 0,
}
