"""The expected messages of every execution, computed from its id: sender, address and size of each.

The messages of an origin's executions repeat periodically, except for the sizes: one period is tabulated and joined
with the executions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.scenario.execution_ids import Laws
from analysis.scenario.reader import CaseRecord
from workloads.scenario.execution import Execution

#: Columns that identify an execution within its period, and columns of one of its messages.
TEMPLATE = "cell_id int, interaction int, origin int, phase long, step int, sender int, address int, copies int"

#: Body sizes by column.
SIZES = "cell_id int, step int, column int, due_bytes int"


def templates(cell: CaseRecord, most: Mapping[tuple[int, int], int]) -> Iterator[tuple[int, ...]]:
    """The messages of one period; `most`: (interaction, origin) -> the highest number of an execution."""
    for (interaction, origin), largest in most.items():
        for phase in range(min(largest + 1, cell.model.interactions[interaction].period)):
            for message in cell.model.expected(Execution(interaction, origin, phase)):
                number = cell.address_numbers[message.address]
                copies = cell.plan.addresses[number].copies
                at = (cell.number, interaction, origin, phase)
                yield (*at, message.address.step, message.sender, number, copies)


def sizes(cells: Sequence[CaseRecord]) -> list[tuple[int, ...]]:
    return [
        (cell.number, number, column, body_bytes)
        for cell in cells
        for number, step in enumerate(cell.steps)
        for column, body_bytes in enumerate(step.body_bytes)
    ]


def laws(cells: Sequence[CaseRecord]) -> Laws:
    return {
        (cell.number, number): (
            interaction_spec.period,
            tuple(limit for limit in interaction_spec.size_class_bounds if limit < 2**64),
        )
        for cell in cells
        for number, interaction_spec in cell.model.interactions.items()
    }
