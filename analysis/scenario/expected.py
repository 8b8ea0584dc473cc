"""Every execution again from its id: which messages it should have had, from whom to where, and how large.

Casts repeat, so that a table of one period's casts is all that is needed: the executions meet it in a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from analysis.scenario.execution_ids import Laws
from analysis.scenario.reader import CaseRecord
from workloads.supply_chain.executions import Execution, assign, assignment_period
from workloads.supply_chain.interactions import MessageType, Participant
from workloads.supply_chain.topology import Topology

#: What identifies the cast of an execution, and what one of its messages is.
TEMPLATE = pa.schema(
    [
        ("cell_id", pa.int32()),
        ("interaction", pa.int32()),
        ("origin", pa.int32()),
        ("phase", pa.int64()),
        ("step", pa.int32()),
        ("sender", pa.int32()),
        ("destination", pa.int32()),
        ("copies", pa.int32()),
    ]
)

#: Body sizes by column.
SIZES = pa.schema([("cell_id", pa.int32()), ("step", pa.int32()), ("column", pa.int32()), ("due_bytes", pa.int32())])


def senders(topology: Topology, step: MessageType, parties: Mapping[Participant, int]) -> tuple[int, ...]:
    """Indexes of the locations that send a step's message in an execution with this cast, once each."""
    if step.sender is Participant.SUPPLIERS:
        return topology.suppliers_of[parties[Participant.SUPPLIERS]]
    return (parties[step.sender],)


def templates(cell: CaseRecord, most: Mapping[tuple[int, int], int]) -> pa.Table:
    """The messages of every cast that occurred; `most`: (interaction, origin) -> the largest number of an execution."""
    topology, steps = cell.topology, cell.steps
    copies = [one["copies"] for one in cell.plan["destinations"]]
    columns: list[list[int]] = [[] for _ in TEMPLATE]
    for (interaction, origin), largest in most.items():
        mine = [(number, step) for number, step in enumerate(steps) if step.interaction == interaction]
        for phase in range(min(largest + 1, assignment_period(topology, interaction))):
            parties = assign(topology, Execution(interaction, origin, phase))
            for number, step in mine:
                destination = cell.first_destination[step.message] + parties[step.receiver]
                for sender in senders(topology, step, parties):
                    row = (cell.number, interaction, origin, phase, number, sender, destination, copies[destination])
                    for column, value in zip(columns, row, strict=True):
                        column.append(value)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, TEMPLATE, strict=True)], schema=TEMPLATE
    )


def sizes(cells: Sequence[CaseRecord]) -> pa.Table:
    rows = [
        (cell.number, number, column, body_bytes)
        for cell in cells
        for number, step in enumerate(cell.steps)
        for column, body_bytes in enumerate(
            cell.topology.interactions[step.interaction].size_law.body_bytes(step.message)
        )
    ]
    columns = zip(*rows, strict=True)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SIZES, strict=True)], schema=SIZES
    )


def laws(cells: Sequence[CaseRecord]) -> Laws:
    found = {}
    for cell in cells:
        for interaction, one in cell.topology.interactions.items():
            period = assignment_period(cell.topology, interaction)
            found[cell.number, interaction] = period, tuple(begin for begin in one.size_law.begins if begin < 2**64)
    return found
