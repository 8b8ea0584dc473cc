"""The periods of a workload's run, and how long each is.

Source: run and reporting rules of SPECjms2007, sections 1.6 and 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Period(StrEnum):
    """In the order in which they follow each other; the load is the same up to the drain, which starts nothing new.

    REPEAT is a second measurement (section 3.4). KILLED is the time from a broker's forced end until it answers again,
    with nobody connected; its stored messages come in the drain behind it, to handlers alone (section 4.2.3).
    """

    WARM_UP = "warm-up"
    MEASUREMENT = "measurement"
    REPEAT = "repeat"
    KILLED = "killed"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class Lengths:
    """In seconds; the drain ends as soon as nothing is under way, and at this limit at the latest."""

    warm_up_s: float
    measurement_s: float
    drain_s: float


LENGTHS: Mapping[str, Lengths] = {
    # Long enough for vertical BASE 5, whose interaction 3 starts once in four seconds: 20 starts are judged.
    "short": Lengths(warm_up_s=30, measurement_s=90, drain_s=60),
    # Section 3.1: at least ten minutes, at least thirty; the drain has no length there, and no wait is without a limit.
    "official": Lengths(warm_up_s=600, measurement_s=1800, drain_s=1800),
}

#: What lengths are called that a user has set one by one.
OWN = "own"

#: A search for the highest BASE probes no longer than this; what it finds is confirmed at the length asked for. A JVM
#: that is cold falls behind and catches up: with a warm-up of 15 s ActiveMQ on one core failed at BASE 64, because it
#: still delivered a fifth more than came in.
PROBE = Lengths(warm_up_s=30, measurement_s=20, drain_s=30)


def probing(lengths: Lengths) -> Lengths:
    """Of a probe: what was asked for, up to that of `PROBE`."""
    return Lengths(
        min(lengths.warm_up_s, PROBE.warm_up_s),
        min(lengths.measurement_s, PROBE.measurement_s),
        min(lengths.drain_s, PROBE.drain_s),
    )
