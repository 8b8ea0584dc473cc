"""A reactive load: drivers start chains of messages at planned instants, event handlers consume and answer them.

A scenario is independent of the business that it models. It has what the load engine needs, as plain rows: which
handler consumes which messages, in a transaction or not, how it answers them, and which driver sends at which rate. A
published workload compiles its tables to a scenario.

An *address* is a message type and a party that receives it. It says who must get a message; the broker's *destination*
and the properties of its messages say how it gets there. Several addresses may share a destination: then the selectors
of subscriptions tell their messages apart.

A *chain* is all messages that result from one start. It has the id of its execution, a *column* that selects the sizes
of its messages, and *fields*, small numbers that identify the participants. The driver that starts a chain sets all of
them, and they are copied into every message, so that an answer is a look-up: it goes to `addresses[fields[field]]`
with `body_bytes[column]` bytes. Handlers keep no state.

Subscribers that come and go are members of a *population* (`workloads.scenario.population`). They hear messages by
their *keys* (`workloads.scenario.message`). Which of them get a copy depends on who is subscribed at that instant, so
neither the addresses of handlers nor any number of copies of an address include them.

*Producers* are handlers, drivers and sessions (members of a population that send), numbered together: the handlers
first, from 0, and the sessions last, by the number of the member. A message is identified by its producer and its
*position*, the number of messages that the producer has sent before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.message import KEY_PLACE, MOST_FIELD, MessageSpec
from workloads.scenario.population import Population

#: Prefix of all destinations of business workloads; brokers are configured so that no destination below it blocks the
#: connection of a handler.
DESTINATION_PREFIX = "bench.workload"

#: Limits of the message stamp.
MOST_PRODUCERS = 10**6
MOST_STEPS = 10**3

#: A process has at most 2**20 descriptors by default (Linux, fs.nr_open), and each connection needs one.
MOST_CONNECTIONS = 1 << 20


class Consumption(StrEnum):
    """How messages outside transactions are acknowledged; results of the two modes are never compared.

    Inside transactions the modes differ only in the prefetch.
    """

    #: Messages are acknowledged individually, with a prefetch of at most one.
    STRICT = "strict"
    #: The broker acknowledges messages as it delivers them, with unlimited prefetch.
    RELAXED = "relaxed"


@dataclass(frozen=True, slots=True)
class Address:
    """A message type and a party that receives it."""

    #: For display, for example "DC1 order".
    label: str
    #: Number of the broker's destination in the scenario.
    destination: int
    #: Names and values of the headers that all its messages have, for the selectors of subscriptions.
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HandlerSubscription:
    """A subscription of an event handler."""

    #: Number of the broker's destination in the scenario.
    destination: int
    #: Selects among the messages of a topic; None: all of them.
    selector: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a handler to a message.

    A transacted answer to a transacted message is sent in the transaction that consumes the message; a transacted
    answer to any other message is sent in a separate transaction. Other answers are sent after the transaction.
    """

    outgoing: MessageSpec
    #: Index of a field of the chain: the answer is sent only if the field's value is the sender of the message.
    only_from: int | None = None


@dataclass(frozen=True, slots=True)
class Producer:
    """A handler or driver."""

    #: Number of the producer.
    number: int
    #: Name of the location for display, for example SM1.
    place: str
    #: Number of the location, as used in fields.
    sender: int
    #: Number of the step that it consumes or starts.
    step: int


@dataclass(frozen=True, slots=True)
class PlannedHandler(Producer):
    """What an event handler consumes: the messages of one step at one location."""

    #: Numbers of the addresses that it hears: every other message is not for it.
    addresses: tuple[int, ...]
    #: They let the messages to its addresses pass, each once, and no others.
    subscriptions: tuple[HandlerSubscription, ...]
    #: Whether it consumes in a transaction.
    transacted: bool
    #: Whether its subscriptions outlive its connection.
    durable: bool


@dataclass(frozen=True, slots=True)
class Handler(PlannedHandler):
    """An event handler: consumes messages, and answers on the same connection."""

    answers: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class Driver:
    """Starts chains at a given rate, on a separate connection; start k has the execution `first_execution + k`."""

    #: Number of the producer.
    number: int
    #: Name of the location for display, for example SM1.
    place: str
    #: Number of the location, as used in fields.
    sender: int
    outgoing: MessageSpec
    #: Starts per second.
    rate_per_s: float
    #: Offset of the first start in mean gaps, 0 to 1: start k is due (k + offset) gaps after the start of the load.
    offset: float
    #: Execution id of start 0.
    first_execution: int
    #: The fields of start k are those at index k modulo their number.
    fields: tuple[tuple[int, ...], ...]
    #: Bounds for a draw of 64 bits: below the first bound it selects column 0, below the second column 1, and so on.
    size_class_bounds: tuple[int, ...]

    def execution(self, start: int) -> int:
        return self.first_execution + start

    def column(self, start: int) -> int:
        return size_class(self.size_class_bounds, self.execution(start))


@dataclass(frozen=True)
class Scenario:
    """Everything that the load engine needs to run a workload.

    Raises WorkloadError if a number exceeds the limits of the message stamp, if a queue has a selector, or if members
    of a population cannot subscribe as they are to.
    """

    name: str
    #: Names of the message types, by number.
    steps: tuple[str, ...]
    #: The broker's destinations, by number.
    destinations: tuple[Destination, ...]
    #: By number.
    addresses: tuple[Address, ...]
    handlers: tuple[Handler, ...]
    drivers: tuple[Driver, ...]
    #: By number; at most one of them has sessions.
    populations: tuple[Population, ...] = ()

    def __post_init__(self) -> None:
        producers: list[Handler | Driver] = [*self.handlers, *self.drivers]
        numbers = [producer.number for producer in producers]
        if numbers != list(range(len(numbers))):
            raise WorkloadError(f"{self.name}: producers are numbered {numbers[:5]}...; expected 0, 1, 2, ...")
        if len(numbers) > MOST_PRODUCERS or len(self.steps) > MOST_STEPS:
            raise WorkloadError(
                f"{self.name}: {len(numbers)} handlers and drivers, {len(self.steps)} messages; expected at most "
                f"{MOST_PRODUCERS} and {MOST_STEPS}"
            )
        largest = max((value for driver in self.drivers for row in driver.fields for value in row), default=0)
        if max(largest, *(producer.sender for producer in producers)) > MOST_FIELD:
            raise WorkloadError(f"{self.name}: more than {MOST_FIELD + 1} locations or product families")
        for handler in self.handlers:
            for subscription in handler.subscriptions:
                destination = self.destinations[subscription.destination]
                if subscription.selector is not None and destination.kind is DestinationKind.QUEUE:
                    raise WorkloadError(
                        f"{self.name}: queue {destination.name} has a selector; expected one on topics only"
                    )
        self._check_populations()

    def _check_populations(self) -> None:
        if sum(population.sessions for population in self.populations) > 1:
            raise WorkloadError(f"{self.name}: several populations have sessions; expected at most one")
        for population in self.populations:
            for subscription in population.subscriptions:
                destination = self.destinations[subscription.destination]
                if destination.kind is DestinationKind.QUEUE:
                    raise WorkloadError(f"{self.name}: members subscribe to queue {destination.name}; expected a topic")
                if (subscription.header is None) is not (KEY_PLACE in destination.name):
                    raise WorkloadError(
                        f"{self.name}: topic {destination.name}: expected a key either in its name or in a header"
                    )

    @property
    def connections(self) -> int:
        return len(self.handlers) + len(self.drivers) + sum(each.connections for each in self.populations)

    @property
    def first_session(self) -> int:
        """Number of the producer that member 0 of the population with sessions is; the others follow it."""
        return len(self.handlers) + len(self.drivers)

    @property
    def subscriptions(self) -> int:
        """Subscriptions when the load begins: of handlers, and of the members that join before it."""
        return sum(len(handler.subscriptions) for handler in self.handlers) + self.initial_subscriptions

    @cached_property
    def initial_subscriptions(self) -> int:
        """Subscriptions of the members that join before the load."""
        return sum(
            population.law.member(number).subscriptions
            for population in self.populations
            for number in range(population.law.initial)
        )

    @cached_property
    def chain_fields(self) -> int:
        """The number of fields of a chain; 0 if nothing starts any."""
        of_drivers = [row for driver in self.drivers for row in driver.fields]
        orders = [order for each in self.populations if each.sessions for order in each.law.orders(0)]
        return max(map(len, (*of_drivers, *(order.fields for order in orders))), default=0)

    @cached_property
    def fan_out(self) -> tuple[int, ...]:
        """Copies per message, by address: one for each handler that hears it on a topic, one for a queue.

        Copies for members of populations are not included: they depend on the instant.
        """
        hearing = Counter(number for handler in self.handlers for number in handler.addresses)
        return tuple(
            1 if self.destinations[address.destination].kind is DestinationKind.QUEUE else hearing[number]
            for number, address in enumerate(self.addresses)
        )

    @cached_property
    def rejections(self) -> tuple[int, ...]:
        """Subscriptions whose selectors reject a message, by address.

        Those are all subscriptions with a selector on its destination but one of each handler that hears the address.
        Subscriptions of members are not included.
        """
        filters = Counter(
            subscription.destination
            for handler in self.handlers
            for subscription in handler.subscriptions
            if subscription.selector is not None
        )
        matching: Counter[int] = Counter()
        for handler in self.handlers:
            filtered = {each.destination for each in handler.subscriptions if each.selector is not None}
            matching.update(number for number in handler.addresses if self.addresses[number].destination in filtered)
        return tuple(filters[address.destination] - matching[number] for number, address in enumerate(self.addresses))

    @cached_property
    def messages(self) -> Mapping[int, MessageSpec]:
        """The specification of every step that is sent, by its number."""
        answers = [answer.outgoing for handler in self.handlers for answer in handler.answers]
        started = [driver.outgoing for driver in self.drivers]
        orders = [population.outgoing for population in self.populations if population.outgoing is not None]
        return {message.step: message for message in (*answers, *started, *orders)}

    def parties(self, handler: Handler) -> tuple[int, frozenset[int]]:
        """The field of a chain that has the receiving party of the handler's step, and its values for this handler.

        There are no values if nothing sends the step.
        """
        if handler.step not in self.messages:
            return 0, frozenset()
        message, heard = self.messages[handler.step], frozenset(handler.addresses)
        return message.field, frozenset(value for value, number in enumerate(message.addresses) if number in heard)

    @property
    def filtered(self) -> bool:
        """Whether a subscription has a selector."""
        of_handlers = (each.selector for handler in self.handlers for each in handler.subscriptions)
        of_members = (each.header for population in self.populations for each in population.subscriptions)
        return any(each is not None for each in (*of_handlers, *of_members))

    @property
    def durable(self) -> bool:
        return any(handler.durable for handler in self.handlers)

    @property
    def confirmed(self) -> bool:
        """Whether the broker has to confirm any message."""
        return any(message.receipt for message in self.messages.values())

    @property
    def stored_unconfirmed(self) -> bool:
        """Whether a message is persistent that neither the broker confirms nor a transaction contains."""
        sent = self.messages.values()
        return any(message.persistent and not (message.receipt or message.transacted) for message in sent)

    @property
    def transacted(self) -> bool:
        """Whether anything is consumed or sent in a transaction."""
        sent = self.messages.values()
        return any(handler.transacted for handler in self.handlers) or any(message.transacted for message in sent)


def with_receipts(scenario: Scenario) -> Scenario:
    """The same scenario, in which the broker confirms each persistent message that is sent outside a transaction.

    Only so is it known of each which ones a broker that is killed had promised to keep.
    """

    def confirmed(message: MessageSpec) -> MessageSpec:
        return replace(message, receipt=message.receipt or (message.persistent and not message.transacted))

    return replace(
        scenario,
        handlers=tuple(
            replace(
                handler, answers=tuple(replace(each, outgoing=confirmed(each.outgoing)) for each in handler.answers)
            )
            for handler in scenario.handlers
        ),
        drivers=tuple(replace(driver, outgoing=confirmed(driver.outgoing)) for driver in scenario.drivers),
    )


def size_class(bounds: tuple[int, ...], execution: int) -> int:
    """The column of sizes of the execution with this id; `bounds` as in `Driver.size_class_bounds`."""
    return bisect_right(bounds, splitmix64(execution))


def splitmix64(position: int) -> int:
    """Number `position` of the SplitMix64 sequence with seed 0: evenly distributed over 0 to 2**64 - 1.

    Source: Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, 2014. Plain 64-bit arithmetic, so
    that numpy and Spark can compute the same numbers.
    """
    state = position * 0x9E3779B97F4A7C15 % 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return state ^ state >> 31
