"""When a publisher may send: the only difference between workloads in the load engine's loop.

A rule is a plain value that the engine interprets. Times are offsets from the start of the load, in ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workloads.arrivals import ArrivalProcess
from workloads.errors import WorkloadError


class CreditBy(StrEnum):
    """The event that returns credit to a closed loop."""

    DELIVERY = "delivery"
    RECEIPT = "receipt"


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Closed loop: the load sends as fast as credit is returned, with at most `in_flight` messages in flight.

    With DELIVERY, publishers may send while the copies expected of what was sent, less those delivered or
    known lost, stay below the copies of `in_flight` messages. This bounds the backlog inside any broker
    without relying on the broker's flow control. Where the profile has receipts, these must have arrived
    as well. With RECEIPT only receipts count, and each publisher has an equal share of the credit: this is
    closest to synchronous publishers, and does not bound the backlog inside the broker.
    """

    in_flight: int
    loop: CreditBy = CreditBy.DELIVERY

    def __post_init__(self) -> None:
        if self.in_flight < 1:
            raise WorkloadError(f"messages in flight: expected at least 1, got {self.in_flight}")


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Open loop: every message has a planned instant, independent of the broker.

    Constant arrivals: message i of the whole plan is due at i / rate; the publishers take turns, so that
    publisher p of P sends messages p, p + P, p + 2P, ... Poisson arrivals: every publisher draws independent
    exponential gaps of mean P / rate from `seed` and its number, so that the superposition is a Poisson
    stream of the given rate.
    """

    rate_per_s: float
    arrivals: ArrivalProcess = ArrivalProcess.CONSTANT
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise WorkloadError(f"seed of the arrivals: expected 0 or more, got {self.seed}")
        if not 0 < self.rate_per_s < 1e7:
            raise WorkloadError(f"rate: expected messages per second above 0 and below 1e7, got {self.rate_per_s}")

    @property
    def gap_ns(self) -> float:
        """Nanoseconds between two messages of the plan."""
        return 1e9 / self.rate_per_s


SendRule = ClosedLoop | OpenLoop


@dataclass(frozen=True, slots=True)
class SyncPublishers:
    """Synchronous publishers: each has at most `in_flight` messages without a receipt.

    The load then pauses only briefly between reads; that pause is part of every round trip.
    """

    in_flight: int

    def __post_init__(self) -> None:
        if self.in_flight < 1:
            raise WorkloadError(f"messages in flight per publisher: expected at least 1, got {self.in_flight}")

    def __str__(self) -> str:
        return f"receipt, {self.in_flight} in flight per publisher"


@dataclass(frozen=True, slots=True)
class ShareOfCapacity:
    """An open loop at a share of the capacity that the same flow has in the same start."""

    percent: int
    arrivals: ArrivalProcess

    def __post_init__(self) -> None:
        if not 1 <= self.percent <= 99:
            raise WorkloadError(f"utilisation: expected 1 to 99 % of the capacity, got {self.percent}")

    def __str__(self) -> str:
        return f"{self.percent} % of capacity, {self.arrivals} arrivals"


@dataclass(frozen=True, slots=True)
class AtCapacity:
    """A closed loop that measures the capacity of an open loop's flow: messages are sent almost individually."""

    def __str__(self) -> str:
        return "capacity, sent singly"


#: A load shape that replaces the closed loop of the run in a cell.
LoadOverride = SyncPublishers | ShareOfCapacity | AtCapacity
