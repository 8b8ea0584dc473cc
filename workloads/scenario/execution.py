"""Ids of executions: one run through an interaction, started at one place, as a positive 64-bit integer.

Everything about an execution is a pure function of its id, so that drivers, event handlers and the audit agree on it
without communication.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.errors import WorkloadError

#: Bits of an id, from the highest: interaction, starting place, number.
_INTERACTION_BITS, _ORIGIN_BITS, NUMBER_BITS = 3, 20, 40

#: The highest number of an interaction.
MOST_INTERACTION = (1 << _INTERACTION_BITS) - 1


@dataclass(frozen=True, slots=True)
class Execution:
    """One run through an interaction. Raises WorkloadError if a value exceeds its bits in the id."""

    #: Number of the interaction, from 1.
    interaction: int
    #: Index of the place that starts it.
    origin: int
    #: Number of the execution at its origin, from 0.
    number: int

    def __post_init__(self) -> None:
        if not (
            0 < self.interaction <= MOST_INTERACTION
            and 0 <= self.origin < 1 << _ORIGIN_BITS
            and 0 <= self.number < 1 << NUMBER_BITS
        ):
            raise WorkloadError(
                f"no execution: interaction {self.interaction}, origin {self.origin}, number {self.number}; expected 1 "
                f"to {MOST_INTERACTION}, an index below 2**{_ORIGIN_BITS}, a number below 2**{NUMBER_BITS}"
            )

    @property
    def id(self) -> int:
        return (self.interaction << _ORIGIN_BITS | self.origin) << NUMBER_BITS | self.number

    @classmethod
    def of(cls, execution_id: int) -> Execution:
        """The execution with this id; raises WorkloadError if there is none."""
        place, number = divmod(execution_id, 1 << NUMBER_BITS)
        interaction, origin = divmod(place, 1 << _ORIGIN_BITS)
        return cls(interaction, origin, number)
