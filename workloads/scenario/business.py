"""A business as tables: who takes part, who sends which message to whom, and when.

From its rows everything else follows: destinations, handlers, drivers, expected messages, rates
(`workloads.scenario.business_model`). The words:

* A *role* is a kind of place, for example a shop; its *places* are numbered from 0, and named from 1 on (shop1). Places
  without event handlers stand for subscribers that come and go, whose laws a workload states itself.
* An *interaction* begins with a message that a driver at each place of a role sends at a rate. Its other messages are
  answers: each is sent by whoever receives the message that it is `after`. One run through it is an *execution*.
* A *party* is what takes part in an execution: a place of a role, or several. The party's *value* says which; the
  assignment law of the party computes it from the place that started the execution and the execution's number. The
  party that starts an interaction is the place where it started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm

from workloads.errors import WorkloadError
from workloads.messaging import DestinationKind
from workloads.scenario.message import MessageKey


@dataclass(frozen=True, slots=True)
class BusinessRole:
    """A kind of place."""

    name: str
    #: Number of its places.
    places: int
    #: Event handlers at a place that compete for the messages of a queue; 0 of places that come and go.
    handlers: int = 1
    #: Format string of the names of its places; uses `name`, `index` from 0, and `number` from 1.
    named: str = "{name}{number}"
    #: What one of its places is called where there is room; empty: as the role.
    title: str = ""

    def handlers_for(self, kind: DestinationKind) -> int:
        """Event handlers for a message at each place; several compete for a queue, each hears a topic alone."""
        return self.handlers if kind is DestinationKind.QUEUE else min(self.handlers, 1)

    def place(self, index: int) -> str:
        """The name of a place, for display."""
        return self.named.format(name=self.name, index=index, number=index + 1)


@dataclass(frozen=True, slots=True)
class AssignmentLaw:
    """Which value a party has in an execution."""

    #: Number of executions of one origin after which the values repeat.
    period: int
    #: From the origin, the index of the place that started the execution, and the number of the execution there, of
    #: those in which the party takes part.
    value: Callable[[int, int], int]


def own(values: int) -> AssignmentLaw:
    """Each place that starts executions has one that it always deals with; they are dealt out to it in turn."""
    return AssignmentLaw(1, lambda origin, _number: origin % values)


def in_turn(values: int) -> AssignmentLaw:
    """Each execution has the next one; places start at different ones."""
    return AssignmentLaw(values, lambda origin, number: (number + origin) % values)


@dataclass(frozen=True)
class Party:
    """What takes part in an execution: one place of a role, or several."""

    name: str
    role: str
    #: By value: indices of the places.
    places: tuple[tuple[int, ...], ...]
    #: By value: name for display, part of the names of destinations.
    labels: tuple[str, ...]
    law: AssignmentLaw

    @property
    def several(self) -> bool:
        """Whether it is more than one place, whatever their number: each gets a copy of what the party receives."""
        return self.places != tuple((index,) for index in range(len(self.places)))

    def values_of(self, place: int) -> tuple[int, ...]:
        """The values in which a place takes part."""
        return self._values[place]

    @cached_property
    def _values(self) -> Mapping[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for value, places in enumerate(self.places):
            for place in places:
                found.setdefault(place, []).append(value)
        return {place: tuple(values) for place, values in found.items()}

    @classmethod
    def only(cls, role: BusinessRole, name: str) -> Party:
        """The one place of a role, under a name."""
        return cls(name, role.name, ((0,),), (name,), own(1))

    @classmethod
    def one(cls, role: BusinessRole, law: Callable[[int], AssignmentLaw] = own) -> Party:
        """A place of the role."""
        places = range(role.places)
        return cls(
            role.name, role.name, tuple((index,) for index in places), tuple(map(role.place, places)), law(len(places))
        )

    @classmethod
    def everyone(cls, role: BusinessRole) -> Party:
        """All places of the role."""
        name = f"all-{role.name}"
        return cls(name, role.name, (tuple(range(role.places)),), (name,), own(1))

    @classmethod
    def groups(cls, role: BusinessRole, number: int) -> Party:
        """One of so many groups, to which the role's places are dealt out; each execution has the next group."""
        places = tuple(tuple(range(group, role.places, number)) for group in range(number))
        labels = tuple(f"{role.name}-group{group + 1}" for group in range(number))
        return cls(f"{role.name}-in-{number}-groups", role.name, places, labels, in_turn(number))


@dataclass(frozen=True, slots=True)
class BusinessMessage:
    """A message of an interaction: to one place over a queue, to several over a topic."""

    name: str
    #: Names of parties.
    sender: str
    receiver: str
    #: Sizes of its body; if there are several, the execution's size class selects one.
    body_bytes: tuple[int, ...]
    kind: DestinationKind
    persistent: bool = False
    #: Whether it is sent and consumed in transactions.
    transacted: bool = False
    #: Whether the subscriptions to its topics are durable.
    durable: bool = False
    #: Name of the message that it answers; None if it starts the interaction.
    after: str | None = None
    #: Name of a party: it answers only the message that this party sent. None: every one.
    after_from: str | None = None
    #: It is sent in every n-th execution only.
    every: int = 1
    #: Name of a header by whose value the receivers select theirs on one topic; None: each value of the receiving party
    #: has a destination of its own.
    selected_by: str | None = None
    #: How members of populations tell its messages apart; None if they do not hear it.
    key: MessageKey | None = None
    #: Average number of members that get a copy.
    members: Fraction = Fraction()


@dataclass(frozen=True, slots=True)
class BusinessInteraction:
    """An interaction; an answer is listed after the message that it answers."""

    title: str
    messages: tuple[BusinessMessage, ...]
    #: Executions per second in the whole system.
    started_per_s: Fraction
    #: See `workloads.scenario.model.Driver.size_class_bounds`.
    size_class_bounds: tuple[int, ...] = ()
    #: See `workloads.scenario.workload.InteractionModel.together`.
    together: int = 1


@dataclass(frozen=True)
class Business:
    """The tables of a business at one BASE. Raises WorkloadError for rows that do not fit together."""

    name: str
    base: int
    roles: Mapping[str, BusinessRole]
    parties: Mapping[str, Party]
    #: By number, from 1.
    interactions: Mapping[int, BusinessInteraction]

    def __post_init__(self) -> None:
        if not self.interactions:
            raise WorkloadError(f"{self.name}: no message has a rate; expected at least one that starts an interaction")
        for interaction in self.interactions.values():
            before: dict[str, BusinessMessage] = {}
            for message in interaction.messages:
                self._check(message, before)
                before[message.name] = message

    def _check(self, message: BusinessMessage, before: Mapping[str, BusinessMessage]) -> None:
        """Raises WorkloadError for an answer that nobody can give, or would give several times."""
        for party in (message.sender, message.receiver):
            if not self.roles[self.parties[party].role].places:
                raise WorkloadError(f"{message.name}: there is no {self.parties[party].role}; expected at least one")
        if message.after is None:
            return
        answered = before[message.after]
        if answered.receiver != message.sender:
            raise WorkloadError(
                f"{message.name}: {message.sender} sends it after {message.after}, which {answered.receiver} receives; "
                "expected a message that the sender receives"
            )
        if self.parties[answered.sender].several and message.after_from is None:
            raise WorkloadError(
                f"{message.name}: would be sent once for each {message.after} of {answered.sender}; expected the one "
                "place whose message it answers"
            )

    @cached_property
    def messages(self) -> tuple[BusinessMessage, ...]:
        """The messages of all interactions, by number."""
        return tuple(message for each in self.interactions.values() for message in each.messages)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each message, by name."""
        return {message.name: number for number, message in enumerate(self.messages)}

    def started_by(self, number: int) -> Party:
        """The party that starts an interaction."""
        return self.parties[self.interactions[number].messages[0].sender]

    def places(self, party: Party) -> int:
        return self.roles[party.role].places

    def parties_of(self, number: int) -> tuple[str, ...]:
        """The names of the parties of an interaction, in the order of the table of parties."""
        messages = self.interactions[number].messages
        found = {party for each in messages for party in (each.sender, each.receiver, each.after_from)}
        return tuple(name for name in self.parties if name in found)

    def period(self, number: int) -> int:
        """Number of executions of one origin after which their messages repeat, except for the sizes."""
        starter = self.started_by(number).name
        laws = (
            self.parties[name].law.period * self.executions_per_part(number, name)
            for name in self.parties_of(number)
            if name != starter
        )
        return lcm(*laws, *(message.every for message in self.interactions[number].messages))

    def executions_per_part(self, number: int, party: str) -> int:
        """A party takes part in every so many executions of an interaction; its law counts those alone."""
        return gcd(
            *(
                self.executions_per_message(message)
                for message in self.interactions[number].messages
                if party in (message.sender, message.receiver, message.after_from)
            )
        )

    def answered(self, message: BusinessMessage) -> Party:
        """The party whose message an answer follows."""
        before = next(each for each in self.messages if each.name == message.after)
        return self.parties[message.after_from or before.sender]

    def executions_per_message(self, message: BusinessMessage) -> int:
        """A message is sent in every so many executions: those in which all that precede it are sent."""
        every, at = message.every, message
        while at.after is not None:
            at = self.messages[self.numbers[at.after]]
            every = lcm(every, at.every)
        return every
