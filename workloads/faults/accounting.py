"""What became of every message around a fault: the class of each, from the records of the load alone.

Every message has a lane, that is, its publisher, and a number in it, and is sent once, so that nothing which the load
does can make a copy twice. The classes are those of Jepsen's checkers of queues (attempted, acknowledged, lost,
unexpected, recovered, duplicated), with copies told apart by whether the broker marked them as delivered before.

At the end of the drain a message may still be in the broker. No statistics of the broker are asked for it, which most
do not offer over the protocol of the load, and which count what cannot be told apart: where a confirmed message has not
arrived, all consumers connect anew, and what arrives then for the first time is *kept*, neither delivered nor lost; the
handlers of a business workload do not connect anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from workloads.schema import FaultCopyRow, FaultMessageRow, FaultTransactionRow


class Fate(StrEnum):
    """What the publisher knows of a message."""

    #: The broker has confirmed it.
    CONFIRMED = "confirmed"
    #: Some of it was written, and its connection ended before a confirmation: delivered or not, both are right.
    UNKNOWN = "unknown"
    #: None of it was written, or the transaction that it belongs to was never committed: must not be delivered.
    UNSENT = "unsent"
    #: The broker has refused it, and the protocol says that it is not taken then: must not be delivered.
    REFUSED_FINAL = "refused-final"
    #: The broker has refused it, and the protocol does not say that it is not taken: delivered or not, both are right.
    REFUSED_UNCERTAIN = "refused-uncertain"


#: What must not be delivered.
_EXCLUDED = frozenset((Fate.UNSENT, Fate.REFUSED_FINAL))
#: What the broker has answered with an error.
REFUSALS = frozenset((Fate.REFUSED_FINAL, Fate.REFUSED_UNCERTAIN))


#: A message: its lane and its number in the lane.
MessageKey = tuple[int, int]

#: The counts that may break a promise, in words.
WORDS = {
    "lost": "lost of what was confirmed",
    "twice_unmarked": "delivered twice without a mark",
    "unexpected": "delivered though refused, or never sent or committed",
    "misdelivered": "delivered to another subscription",
    "partial": "transactions that took effect in part",
}

#: How many messages of each kind are named.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Sighting:
    """A message that a count is about."""

    lane: int
    seq: int
    #: Instant, ns: of the copy; of a lost message, its confirmation.
    at_ns: int


@dataclass(frozen=True, slots=True)
class Account:
    """Messages and copies by their classes."""

    #: Messages of which something was written.
    sent: int = 0
    confirmed: int = 0
    #: Sent, and not known to have been taken; `recovered` of them were delivered or kept, and the others vanished.
    unknown: int = 0
    recovered: int = 0
    #: Sent, and answered by the broker with an error; `refused_delivered` of them were delivered or kept all the same.
    refused: int = 0
    refused_delivered: int = 0
    #: Messages that arrived where they should before the end of the drain, once or more often.
    delivered: int = 0
    #: Messages that arrived only after it, at consumers that had connected anew.
    kept: int = 0
    #: Confirmed, and neither delivered nor kept.
    lost: int = 0
    #: Further copies, marked as delivered before.
    twice_marked: int = 0
    #: Further copies without the mark.
    twice_unmarked: int = 0
    #: Copies of what was never sent, or sent in a transaction that was not committed, or refused by an answer that
    #: rules them out.
    unexpected: int = 0
    #: First copies without a mark that arrived behind a later message of their lane at the same subscription.
    reordered: int = 0
    #: Copies at a subscription that must not get them.
    misdelivered: int = 0
    #: Transactions whose commit was not confirmed, and that took effect in part.
    partial: int = 0

    def __add__(self, other: Account) -> Account:
        return Account(*(getattr(self, name) + getattr(other, name) for name in Account.__slots__))


@dataclass(frozen=True, slots=True)
class Accounting:
    """An account with the first messages of each kind that should not be there."""

    account: Account
    #: By the name of the count.
    named: Mapping[str, tuple[Sighting, ...]]

    @classmethod
    def of(
        cls,
        messages: Iterable[FaultMessageRow],
        copies: Iterable[FaultCopyRow],
        receivers: Sequence[Collection[int]],
        end_ns: int | None = None,
        doubtful: Iterable[FaultTransactionRow] = (),
    ) -> Self:
        """Puts every message and every copy into its class.

        messages: each once
        copies: in any order, but those that a subscription got at the same instant in that of their arrival
        receivers: by lane, the subscriptions one of which must get each message
        end_ns: end of the drain, from which on consumers have connected anew; None if nothing was read after it
        doubtful: what belongs to transactions whose commit was not confirmed
        """
        found = _Sorter({(message.lane, message.seq): message for message in messages}, receivers, end_ns)
        for copy in sorted(copies, key=lambda copy: copy.at_ns):
            found.take(copy)
        found.check_transactions(doubtful)
        return cls(found.account(), {name: tuple(some) for name, some in found.named.items()})

    def explained(self, count: str, origin_ns: int) -> str:
        """A count in words, with the first messages that it is about, and their instants from an origin on."""
        some = ", ".join(
            f"lane {each.lane} number {each.seq} at {(each.at_ns - origin_ns) / 1e9:+.3f} s"
            for each in self.named.get(count, ())
        )
        return f"{getattr(self.account, count):,} {WORDS[count]}: {some}"


class _Sorter:
    def __init__(
        self,
        messages: Mapping[MessageKey, FaultMessageRow],
        receivers: Sequence[Collection[int]],
        end_ns: int | None,
    ) -> None:
        self._messages, self._receivers, self._end_ns = messages, receivers, end_ns
        self._kept = 0
        self._seen: Counter[MessageKey] = Counter()  # copies where they should be
        self._excluded: set[MessageKey] = set()  # messages that were delivered and must not be
        self._last: dict[tuple[int, int], int] = {}  # by subscription and lane: the highest number so far
        self._counts: dict[str, int] = {}
        self.named: dict[str, list[Sighting]] = {}

    def take(self, copy: FaultCopyRow) -> None:
        key = copy.lane, copy.seq
        message = self._messages.get(key)
        if message is None or message.fate in _EXCLUDED:
            self._excluded.add(key)
            self._count("unexpected", copy)
        elif copy.subscription not in self._receivers[copy.lane]:
            self._count("misdelivered", copy)
        else:
            self._seen[key] += 1
            if self._seen[key] > 1:
                self._count("twice_marked" if copy.redelivered else "twice_unmarked", copy)
            elif self._end_ns is not None and copy.at_ns >= self._end_ns:
                self._kept += 1
            elif not copy.redelivered:
                self._check_order(copy)

    def check_transactions(self, doubtful: Iterable[FaultTransactionRow]) -> None:
        """Finds those that took effect in part: of which either what was sent is there, or what was consumed comes
        again, but not both, nor neither."""
        effects: dict[int, dict[bool, FaultTransactionRow]] = {}
        for row in doubtful:
            copies = self._seen[row.lane, row.seq]
            effects.setdefault(row.transaction, {})[copies < 2 if row.consumed else copies > 0] = row
        for effect in effects.values():
            if len(effect) > 1:
                self._note("partial", Sighting(effect[False].lane, effect[False].seq, effect[False].at_ns))

    def _check_order(self, copy: FaultCopyRow) -> None:
        place = copy.subscription, copy.lane
        if copy.seq < self._last.get(place, -1):
            self._count("reordered", copy)
        else:
            self._last[place] = copy.seq

    def _count(self, name: str, copy: FaultCopyRow) -> None:
        self._note(name, Sighting(copy.lane, copy.seq, copy.at_ns))

    def _note(self, name: str, sighting: Sighting) -> None:
        self._counts[name] = self._counts.get(name, 0) + 1
        some = self.named.setdefault(name, [])
        if len(some) < NAMED:
            some.append(sighting)

    def account(self) -> Account:
        confirmed = unknown = recovered = refused = refused_delivered = 0
        for key, message in self._messages.items():
            if message.fate == Fate.CONFIRMED:
                confirmed += 1
                if key not in self._seen:
                    self._note("lost", Sighting(*key, message.confirmed_ns or 0))
            elif message.fate == Fate.UNKNOWN:
                unknown += 1
                recovered += key in self._seen
            elif message.fate in REFUSALS:
                refused += 1
                refused_delivered += key in self._seen or key in self._excluded
        return Account(
            sent=confirmed + unknown + refused,
            confirmed=confirmed,
            unknown=unknown,
            recovered=recovered,
            refused=refused,
            refused_delivered=refused_delivered,
            delivered=len(self._seen) - self._kept,
            kept=self._kept,
            **self._counts,
        )


@dataclass(frozen=True, slots=True)
class Promise:
    """What a broker promises of messages under a fault, and who says so."""

    #: Nothing confirmed is lost.
    stored: bool
    #: A further copy is marked as delivered before.
    marked: bool
    #: The page that promises that nothing confirmed is lost; empty where that goes without saying, or is not promised.
    source: str = ""
    #: A transaction takes effect as a whole or not at all.
    whole: bool = True

    def source_of(self, count: str) -> str:
        """The page by which nothing may be in a count; empty where there is none."""
        return self.source if count == "lost" else ""


def broken(account: Account, promise: Promise) -> Iterator[str]:
    """The names of the counts that break a promise."""
    if promise.stored and account.lost:
        yield "lost"
    if promise.marked and account.twice_unmarked:
        yield "twice_unmarked"
    if promise.whole and account.partial:
        yield "partial"
    for name in ("unexpected", "misdelivered"):
        if getattr(account, name):
            yield name
