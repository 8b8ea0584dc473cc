"""A load that reacts: drivers start chains of messages at planned instants, event handlers consume and answer them.

A scenario knows no business. It is what an engine needs of one, as plain rows: who consumes what, in a transaction or
not, what is answered to it, and who sends on his own at which rate. A published workload compiles its tables to one.

A *chain* is all messages that come of one start: its execution's id, a *column* that says how large its messages are,
and *fields*, small numbers that say who takes part. All of it is fixed by the driver that starts it and copied into
every message, so that an answer is a look-up: it goes to `destinations[fields[field]]` with `body_bytes[column]` bytes.
Handlers keep no state.

*Producers* are handlers and drivers, numbered together: the handlers first, from 0. A message is known by its producer
and its *position*, which counts what that producer has sent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind

#: All destinations of business workloads are below it: brokers are set up so that nothing there makes a handler's
#: connection wait.
DESTINATION_PREFIX = "bench.workload"

#: What the stamp has room for.
FIELD_DIGITS = 5
MOST_FIELD = 10**FIELD_DIGITS - 1
MOST_PRODUCERS = 10**6
MOST_STEPS = 10**3


class Consumption(StrEnum):
    """How messages outside transactions are acknowledged; results of the two are never compared.

    STRICT: each before the next one is delivered: acknowledged one by one, one delivered ahead at most. RELAXED: by the
    broker as it delivers them, as many ahead as it likes. Inside transactions there is no difference but the number
    delivered ahead.
    """

    STRICT = "strict"
    RELAXED = "relaxed"


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A kind of message that a producer sends.

    step: its number among the scenario's · destinations: numbers of the scenario's, at the value of the chain's `field`
    · body_bytes: by the chain's column · transacted: sent in a transaction, else outside of any.
    """

    step: int
    field: int
    destinations: tuple[int, ...]
    body_bytes: tuple[int, ...]
    persistent: bool
    transacted: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler sends for a message; `only_from`: only where this field of the chain is the message's sender.

    A transacted answer to a transacted message is sent in the transaction that consumes it; to any other message, in a
    transaction of its own. What is not transacted leaves outside, behind the transaction.
    """

    outgoing: MessageSpec
    only_from: int | None = None


@dataclass(frozen=True, slots=True)
class Handler:
    """Consumes one step at one place, on one connection, on which it answers as well.

    place: for people, as in SM1 · sender: the place's number as it stands in fields · subscriptions: destinations, by
    number · transacted: consumes in a transaction · durable: its subscriptions outlive its connection.
    """

    number: int
    place: str
    sender: int
    step: int
    subscriptions: tuple[int, ...]
    transacted: bool
    durable: bool
    answers: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class Driver:
    """Starts chains at a rate, on a connection of its own; start k has the execution `first_execution + k`.

    phase: the first start, in gaps, 0 to 1: start k is due (k + phase) gaps after the begin of the load · fields: of
    start k those at k modulo their number · column_limits: a draw of 64 bits below the first of them is column 0, below
    the second column 1, and so on.
    """

    number: int
    place: str
    sender: int
    outgoing: MessageSpec
    rate_per_s: float
    phase: float
    first_execution: int
    fields: tuple[tuple[int, ...], ...]
    column_limits: tuple[int, ...]

    def execution(self, start: int) -> int:
        return self.first_execution + start

    def column(self, start: int) -> int:
        return bisect_right(self.column_limits, splitmix64(self.execution(start)))


@dataclass(frozen=True)
class Scenario:
    """steps: the names of the messages, by number. Raises WorkloadError for what the stamp has no room for."""

    name: str
    steps: tuple[str, ...]
    destinations: tuple[Destination, ...]
    handlers: tuple[Handler, ...]
    drivers: tuple[Driver, ...]

    def __post_init__(self) -> None:
        producers: list[Handler | Driver] = [*self.handlers, *self.drivers]
        numbers = [one.number for one in producers]
        if numbers != list(range(len(numbers))):
            raise WorkloadError(f"{self.name}: producers are numbered {numbers[:5]}...; expected 0, 1, 2, ...")
        if len(numbers) > MOST_PRODUCERS or len(self.steps) > MOST_STEPS:
            raise WorkloadError(
                f"{self.name}: {len(numbers)} handlers and drivers, {len(self.steps)} messages; expected at most "
                f"{MOST_PRODUCERS} and {MOST_STEPS}"
            )
        largest = max((value for driver in self.drivers for row in driver.fields for value in row), default=0)
        if max(largest, *(one.sender for one in producers)) > MOST_FIELD:
            raise WorkloadError(f"{self.name}: more than {MOST_FIELD + 1} locations or product families")

    @property
    def connections(self) -> int:
        return len(self.handlers) + len(self.drivers)

    @cached_property
    def copies(self) -> tuple[int, ...]:
        """How often a message to each destination is delivered: to every subscriber of a topic, once from a queue."""
        subscribers = Counter(number for handler in self.handlers for number in handler.subscriptions)
        return tuple(
            1 if destination.kind is DestinationKind.QUEUE else subscribers[number]
            for number, destination in enumerate(self.destinations)
        )

    @property
    def durable(self) -> bool:
        return any(handler.durable for handler in self.handlers)

    @property
    def transacted(self) -> bool:
        """Whether anything is consumed or sent in a transaction."""
        answers = [answer.outgoing for handler in self.handlers for answer in handler.answers]
        sent = [*answers, *(driver.outgoing for driver in self.drivers)]
        return any(handler.transacted for handler in self.handlers) or any(one.transacted for one in sent)


def splitmix64(position: int) -> int:
    """Number `position` of the SplitMix64 sequence with seed 0: evenly distributed over 0 to 2**64 - 1.

    Source: Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, 2014. Plain 64-bit arithmetic, which
    numpy and Spark can repeat.
    """
    state = position * 0x9E3779B97F4A7C15 % 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return state ^ state >> 31
