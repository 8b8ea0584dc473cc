"""Vectorized decoding of execution ids for Spark's Python processes; uses numpy only, so that they start quickly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

#: Columns of a decoded execution: `phase` is its position in `InteractionModel.period`, `column` selects its sizes.
TAKEN_APART = "cell_id int, execution long, interaction int, origin int, phase long, column int"

#: The same as in `Execution.id`, which is not imported: that would take each process longer than the decoding itself.
_NUMBER_BITS, _ORIGIN_BITS = 40, 20
#: Lowest bit of the interaction's number in an id.
INTERACTION_AT = _NUMBER_BITS + _ORIGIN_BITS

#: (cell, interaction) -> its period, and the draws at which its columns from 1 on begin.
Laws: TypeAlias = Mapping[tuple[int, int], tuple[int, tuple[int, ...]]]


def taking_apart(laws: Laws) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow: rows of (cell_id, execution) -> rows of TAKEN_APART."""

    def take_apart(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            cell, execution = (column.to_numpy() for column in batch.columns)
            interaction = execution >> INTERACTION_AT
            origin = execution >> _NUMBER_BITS & (1 << _ORIGIN_BITS) - 1
            number = execution & (1 << _NUMBER_BITS) - 1
            draw = splitmix64(execution)
            phase, column = np.full(len(execution), -1), np.full(len(execution), -1)
            for (of_cell, of_interaction), (period, begins) in laws.items():
                mine = (cell == of_cell) & (interaction == of_interaction)
                phase[mine] = number[mine] % period
                column[mine] = sum((draw[mine] >= np.uint64(begin)).astype(np.int64) for begin in begins)
            arrays = (cell, execution, interaction, origin, phase, column)
            types = (pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.int64(), pa.int32())
            yield pa.RecordBatch.from_arrays(
                [pa.array(array).cast(type_) for array, type_ in zip(arrays, types, strict=True)],
                names=[column.split()[0] for column in TAKEN_APART.split(", ")],
            )

    return take_apart


def splitmix64(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """`workloads.scenario.model.splitmix64`, vectorized."""
    with np.errstate(over="ignore"):
        state = positions.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return state ^ state >> np.uint64(31)
