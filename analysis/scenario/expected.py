"""The expected messages of every execution, computed from its id: sender, address and size of each.

The messages of an origin's executions repeat periodically, except for the sizes: one period is tabulated and joined
with the executions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from analysis.scenario.execution_ids import Laws
from analysis.scenario.reader import CaseRecord
from workloads.scenario.execution import Execution

#: Columns that identify an execution within its period, and columns of one of its messages.
TEMPLATE = pa.schema(
    [
        ("cell_id", pa.int32()),
        ("interaction", pa.int32()),
        ("origin", pa.int32()),
        ("phase", pa.int64()),
        ("step", pa.int32()),
        ("sender", pa.int32()),
        ("address", pa.int32()),
        ("copies", pa.int32()),
    ]
)

#: Body sizes by column.
SIZES = pa.schema([("cell_id", pa.int32()), ("step", pa.int32()), ("column", pa.int32()), ("due_bytes", pa.int32())])


def templates(cell: CaseRecord, most: Mapping[tuple[int, int], int]) -> pa.Table:
    """The messages of one period; `most`: (interaction, origin) -> the highest number of an execution."""
    copies = [address.copies for address in cell.plan.addresses]
    columns: list[list[int]] = [[] for _ in TEMPLATE]
    for (interaction, origin), largest in most.items():
        for phase in range(min(largest + 1, cell.model.interactions[interaction].period)):
            for message in cell.model.expected(Execution(interaction, origin, phase)):
                number = cell.address_numbers[message.address]
                row = (
                    *(cell.number, interaction, origin, phase),
                    *(message.address.step, message.sender, number, copies[number]),
                )
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
        for column, body_bytes in enumerate(step.body_bytes)
    ]
    columns = zip(*rows, strict=True)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SIZES, strict=True)], schema=SIZES
    )


def laws(cells: Sequence[CaseRecord]) -> Laws:
    return {
        (cell.number, number): (
            interaction_spec.period,
            tuple(limit for limit in interaction_spec.size_class_bounds if limit < 2**64),
        )
        for cell in cells
        for number, interaction_spec in cell.model.interactions.items()
    }
