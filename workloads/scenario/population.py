"""Populations: subscribers that come and go while the load runs, at planned instants, by a law instead of a list.

A *member* of a population joins once and leaves once. It subscribes to messages by their keys (see
`workloads.scenario.message`): to some or all of the population's subscriptions, each for one key or for two. A law says
for every number of a member when it joins and leaves, which keys it has, and on which connection it is. The instants
are planned before the load, and do not depend on what the broker does. All instants are relative to the begin of the
load; a member that joins before it is subscribed while the load is set up.

The members of most populations share connections. The members of a population with an *outgoing* message type are
*sessions*: each has a connection of its own, which it opens when it joins and closes when it leaves, and sends messages
on it, its *orders*, at planned instants too. It does not leave before it has heard an answer to each of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol

from workloads.errors import WorkloadError
from workloads.scenario.message import KeySpace, MessageSpec

#: Limit of the number in the id of a subscription, see `enrolments`.
MOST_SUBSCRIPTIONS = 10**6


@dataclass(frozen=True, slots=True)
class PopulationSubscription:
    """A subscription that members of a population have, each for keys of its own.

    It is acknowledged message by message where the consumption is strict and its message types are persistent, and
    otherwise by the broker. It is not durable.
    """

    #: Numbers of the steps that it hears: all that are sent to its destination, which are alike in their persistence.
    steps: tuple[int, ...]
    #: Number of the broker's destination in the scenario, a topic; if `header` is None, its name has a place for a key.
    destination: int
    #: Name of the header that its selector compares with the texts of its keys; None if the key is a word in the name
    #: of the destination, which allows one key only.
    header: str | None
    #: The texts of its keys.
    space: KeySpace

    def selector(self, keys: Sequence[int]) -> str | None:
        """The selector that lets the messages with one of these keys pass; None if the destination does that."""
        if self.header is None:
            return None
        texts = [f"'{self.space.text(key)}'" for key in keys]
        return f"{self.header} = {texts[0]}" if len(texts) == 1 else f"{self.header} IN ({', '.join(texts)})"


class Member(NamedTuple):
    """A subscriber, from its join to its leave."""

    #: Its number in the population; members join in the order of their numbers.
    number: int
    #: The instant planned for its join, relative to the begin of the load, ns; negative for an initial member.
    joins_ns: int
    #: The instant planned for its leave, likewise.
    leaves_ns: int
    #: Index of its connection among those of the population; of a session without meaning.
    connection: int
    #: Its keys for each subscription of the population: none if it does not have the subscription, one, or two.
    keys: tuple[tuple[int, ...], ...]

    @property
    def subscriptions(self) -> int:
        """How many subscriptions it has."""
        return sum(bool(keys) for keys in self.keys)


class Order(NamedTuple):
    """A message that a session sends, the first of its chain. Its body has the size of column 0."""

    #: The planned instant, relative to the begin of the load, ns.
    planned_ns: int
    #: Id of the execution.
    execution: int
    #: Number of the location that sends it, as used in fields; the same for all orders of a session.
    sender: int
    #: The fields of the chain.
    fields: tuple[int, ...]


class MembershipLaw(Protocol):
    """The members of a population, as a pure function of their number; an object that can be pickled."""

    @property
    def initial(self) -> int:
        """The number of members that join before the load; they have the lowest numbers. Sessions have none."""

    def member(self, number: int) -> Member:
        """The member with this number, from 0; those that are not initial join at 0 or later, without an end."""

    def orders(self, number: int) -> tuple[Order, ...]:
        """The orders of the member with this number, by instant; none in a population without an outgoing message."""


@dataclass(frozen=True, slots=True)
class Population:
    """Subscribers that come and go. Raises WorkloadError if sessions are initial members, or send in transactions."""

    #: For display, for example "customers".
    label: str
    #: What its members subscribe to.
    subscriptions: tuple[PopulationSubscription, ...]
    #: The number of connections that members share; of sessions about how many are open at once.
    connections: int
    law: MembershipLaw
    #: The message type that members send, each on a connection of its own; None if members only listen, on shared
    #: connections.
    outgoing: MessageSpec | None = None

    def __post_init__(self) -> None:
        if self.sessions and self.law.initial:
            raise WorkloadError(f"{self.label}: {self.law.initial} sessions begin before the load; expected none")
        if self.outgoing is not None and self.outgoing.transacted:
            raise WorkloadError(f"{self.label}: sessions send in transactions; expected no transactions")

    @property
    def sessions(self) -> bool:
        """Whether every member has a connection of its own, and sends on it."""
        return self.outgoing is not None


class Enrolment(NamedTuple):
    """A member of one of several populations, with the numbers of its subscriptions."""

    #: Number of the population.
    population: int
    member: Member
    #: Number of the member's first subscription; the others follow it in the order of the population's subscriptions.
    first: int

    def numbered(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Number, place among the population's subscriptions, and keys of each of the member's subscriptions."""
        places = [(place, keys) for place, keys in enumerate(self.member.keys) if keys]
        return ((self.first + index, place, keys) for index, (place, keys) in enumerate(places))


def enrolments(populations: Sequence[Population]) -> Iterator[Enrolment]:
    """All members in the order of their joins, without an end; their subscriptions are numbered in this order, from 0.

    The initial members of a population are before those of the next; the others follow by instant, and at the same
    instant by population. Raises WorkloadError when a number would exceed six digits.
    """
    initial = (
        (number, population.law.member(member))
        for number, population in enumerate(populations)
        for member in range(population.law.initial)
    )
    later = heapq.merge(*(_joining(number, population.law) for number, population in enumerate(populations)))
    first = 0
    for number, member in initial:
        yield _enrolled(number, member, first)
        first += member.subscriptions
    for _, number, _, member in later:
        yield _enrolled(number, member, first)
        first += member.subscriptions


def _joining(population: int, law: MembershipLaw) -> Iterator[tuple[int, int, int, Member]]:
    """The members that are not initial, with what they are ordered by."""
    for number in count(law.initial):
        member = law.member(number)
        yield member.joins_ns, population, number, member


def _enrolled(population: int, member: Member, first: int) -> Enrolment:
    if first + member.subscriptions > MOST_SUBSCRIPTIONS:
        raise WorkloadError(f"more than {MOST_SUBSCRIPTIONS} subscriptions of members; expected at most as many")
    return Enrolment(population, member, first)
