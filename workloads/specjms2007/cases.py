"""What can be run of this workload, by name: the controlled topologies, a user's own, and each interaction alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workloads.supply_chain import freeform
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.topology import Topology, horizontal, vertical


@dataclass(frozen=True, slots=True)
class Text:
    """A freeform topology as its user wrote it, and where; `source` stands in messages."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """topology: at a BASE; the text is for freeform alone · killed: the broker is, in the middle of the load."""

    name: str
    topology: Callable[[int, Text], Topology]
    killed: bool = False

    def cell(self, base: int) -> str:
        """The id of the case at a BASE."""
        return f"{self.name}-b{base:04d}"


def _alone(number: int) -> Case:
    """An interaction of the vertical topology; its name has no `vertical`, by which that topology is selected."""
    return Case(f"interaction_{number}", lambda base, _: vertical(base).only(number))


VERTICAL = Case("vertical", lambda base, _: vertical(base))
HORIZONTAL = Case("horizontal", lambda base, _: horizontal(base))
FREEFORM = Case("freeform", lambda base, own: freeform.read(own.text, base, own.source))
ALONE = tuple(map(_alone, INTERACTIONS))
RECOVERABILITY = Case("recovery", lambda base, _: vertical(base), killed=True)
