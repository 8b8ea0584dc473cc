"""When a publisher may send: the one thing by which workloads differ in the load engine's loop.

A rule is a value; the engine asks it nothing. Times are offsets from the start of the load, in ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workloads.errors import WorkloadError


class Loop(StrEnum):
    """What gives a closed loop its credit back."""

    DELIVERY = "delivery"
    RECEIPT = "receipt"


@dataclass(frozen=True, slots=True)
class Credit:
    """Closed loop: the load sends as fast as credit comes back, with at most `in_flight` messages under way.

    By DELIVERY, publishers may send while the copies expected of what was sent, less those delivered or
    known lost, stay below `in_flight` messages' worth of copies. This bounds the backlog inside any broker
    without relying on the broker's own flow control. Where the profile has receipts, these must have come
    back as well. By RECEIPT only they count, each publisher with its own equal share of the credit: the
    form closest to synchronous publishers, which leaves the backlog to the broker.
    """

    in_flight: int
    loop: Loop = Loop.DELIVERY

    def __post_init__(self) -> None:
        if self.in_flight < 1:
            raise WorkloadError(f"messages in flight: expected at least 1, got {self.in_flight}")


@dataclass(frozen=True, slots=True)
class FixedRate:
    """Open loop: message i of the whole plan is due at i / rate, whatever the broker does.

    The publishers take turns, so that publisher p of P sends messages p, p + P, p + 2P, ...
    """

    rate_per_s: float

    def __post_init__(self) -> None:
        if not 0 < self.rate_per_s < 1e7:
            raise WorkloadError(f"rate: expected messages per second above 0 and below 1e7, got {self.rate_per_s}")

    @property
    def gap_ns(self) -> float:
        """Nanoseconds between two messages of the plan."""
        return 1e9 / self.rate_per_s


SendRule = Credit | FixedRate
