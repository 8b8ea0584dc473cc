"""The periods of a workload's run, and their lengths.

Source: run and reporting rules of SPECjms2007, sections 1.6 and 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Period(StrEnum):
    """The periods in their order; the load is constant until the drain, in which no execution is started."""

    WARM_UP = "warm-up"
    MEASUREMENT = "measurement"
    #: A second measurement (section 3.4).
    REPEAT = "repeat"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of the periods."""

    warm_up_s: float
    measurement_s: float
    #: Limit of the drain, which ends as soon as no message is in flight.
    drain_s: float


LENGTHS: Mapping[str, Lengths] = {
    # Long enough for vertical BASE 5, whose interaction 3 starts once in four seconds: 20 starts are judged.
    "short": Lengths(warm_up_s=30, measurement_s=90, drain_s=60),
    # Section 3.1: at least 10 and 30 minutes; it gives no length for the drain, which needs a limit here.
    "official": Lengths(warm_up_s=600, measurement_s=1800, drain_s=1800),
}

#: Name of the lengths unless a user names others.
DEFAULT_LENGTH = "short"

#: Name of lengths that a user has set individually.
OWN = "own"

#: Maximum lengths of a probe in the search for the highest BASE; the result is confirmed at the requested lengths. A
#: cold JVM falls behind and then catches up: with a warm-up of 15 s, ActiveMQ on one core failed at BASE 64 because it
#: still delivered a fifth more messages than it received.
PROBE = Lengths(warm_up_s=30, measurement_s=20, drain_s=30)


def probing(lengths: Lengths) -> Lengths:
    """The lengths of a probe: the requested ones, limited by `PROBE`."""
    return Lengths(
        min(lengths.warm_up_s, PROBE.warm_up_s),
        min(lengths.measurement_s, PROBE.measurement_s),
        min(lengths.drain_s, PROBE.drain_s),
    )
