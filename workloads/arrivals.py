"""How the instants of an open loop are drawn."""

from __future__ import annotations

from enum import StrEnum


class ArrivalProcess(StrEnum):
    """The distribution of the planned instants of an open loop."""

    CONSTANT = "constant"
    POISSON = "poisson"
