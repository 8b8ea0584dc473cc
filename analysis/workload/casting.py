"""Every execution again from its id: which messages it should have had, from whom to where, and how large.

Casts repeat, so that a table of one period's casts is all that is needed: the executions meet it in a join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.workload.load import Cell
from workloads.specjms2007.executions import Execution, cast, cast_period
from workloads.specjms2007.interactions import Party, Step
from workloads.specjms2007.topology import Topology

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

#: An execution taken apart; `column` is its sizes'.
TAKEN_APART = "cell_id int, execution long, interaction int, origin int, number long, phase long, column int"

_NUMBER_BITS, _ORIGIN_BITS = 40, 20

#: (cell, interaction) -> executions after which its casts repeat, and the draws at which its columns begin.
Laws: TypeAlias = Mapping[tuple[int, int], tuple[int, tuple[int, ...]]]


def senders(topology: Topology, step: Step, parties: Mapping[Party, int]) -> tuple[int, ...]:
    """Indexes of the locations that send a step's message in an execution with this cast, once each."""
    if step.sender is Party.SUPPLIERS:
        return topology.suppliers_of[parties[Party.SUPPLIERS]]
    return (parties[step.sender],)


def templates(cell: Cell, most: Mapping[tuple[int, int], int]) -> pa.Table:
    """The messages of every cast that occurred; `most`: (interaction, origin) -> the largest number of an execution."""
    topology, steps = cell.topology, cell.steps
    copies = [one["copies"] for one in cell.plan["destinations"]]
    columns: list[list[int]] = [[] for _ in TEMPLATE]
    for (interaction, origin), largest in most.items():
        mine = [(number, step) for number, step in enumerate(steps) if step.interaction == interaction]
        for phase in range(min(largest + 1, cast_period(topology, interaction))):
            parties = cast(topology, Execution(interaction, origin, phase))
            for number, step in mine:
                destination = cell.first_destination[step.message] + parties[step.receiver]
                for sender in senders(topology, step, parties):
                    row = (cell.number, interaction, origin, phase, number, sender, destination, copies[destination])
                    for column, value in zip(columns, row, strict=True):
                        column.append(value)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, TEMPLATE, strict=True)], schema=TEMPLATE
    )


def sizes(cells: Sequence[Cell]) -> pa.Table:
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


def laws(cells: Sequence[Cell]) -> Laws:
    found = {}
    for cell in cells:
        for interaction, one in cell.topology.interactions.items():
            first, second, _ = one.size_law.probabilities
            begins = tuple(-(-share.numerator * 2**64 // share.denominator) for share in (first, first + second))
            period = cast_period(cell.topology, interaction)
            found[cell.number, interaction] = period, tuple(begin for begin in begins if begin < 2**64)
    return found


def taking_apart(laws: Laws) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For mapInArrow: rows of (cell_id, execution) -> TAKEN_APART; ids that are no execution's keep column -1."""

    def take_apart(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            cell, execution = (column.to_numpy() for column in batch.columns)
            interaction = execution >> (_NUMBER_BITS + _ORIGIN_BITS)
            origin = execution >> _NUMBER_BITS & (1 << _ORIGIN_BITS) - 1
            number = execution & (1 << _NUMBER_BITS) - 1
            draw = splitmix64(execution)
            phase, column = np.full(len(execution), -1), np.full(len(execution), -1)
            for (of_cell, of_interaction), (period, begins) in laws.items():
                mine = (cell == of_cell) & (interaction == of_interaction)
                phase[mine] = number[mine] % period
                column[mine] = sum((draw[mine] >= np.uint64(begin)).astype(np.int64) for begin in begins)
            arrays = (cell, execution, interaction, origin, number, phase, column)
            types = (pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.int64(), pa.int64(), pa.int32())
            yield pa.RecordBatch.from_arrays(
                [pa.array(array).cast(type_) for array, type_ in zip(arrays, types, strict=True)],
                names=[column.split()[0] for column in TAKEN_APART.split(", ")],
            )

    return take_apart


def splitmix64(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """`workloads.scenario.splitmix64`, for many at once."""
    with np.errstate(over="ignore"):
        state = positions.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return state ^ state >> np.uint64(31)
