"""The message types of a scenario, and the keys by which subscribers tell the messages of a topic apart.

A *key* is a small number that identifies what a message is about. A field of the message's chain holds it, so that an
answer has the key of the message that it answers. Its text is a letter and the five digits of the number. Brokers see
the text only: as the value of a header that selectors compare, or as a word in the name of the destination, in which it
takes the place of `KEY_PLACE`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from workloads.errors import WorkloadError

#: Limits of the message stamp.
FIELD_DIGITS = 5
MOST_FIELD = 10**FIELD_DIGITS - 1

#: The text of a key takes its place in the name of a destination.
KEY_PLACE = "{key}"


@dataclass(frozen=True, slots=True)
class KeySpace:
    """The texts of keys; keys of several kinds may share the numbers, so that a number alone identifies a key.

    Raises WorkloadError unless the ranges begin at 0 and follow each other.
    """

    #: The first number of each range and its letter, in ascending order; a range ends where the next one begins. The
    #: letter keeps brokers from reading the text as a number.
    ranges: tuple[tuple[int, str], ...]

    def __post_init__(self) -> None:
        firsts = [first for first, _ in self.ranges]
        if not firsts or firsts[0] != 0 or any(later <= earlier for earlier, later in pairwise(firsts)):
            raise WorkloadError(f"ranges of keys begin at {firsts}; expected 0 and larger numbers")
        letters = [letter for _, letter in self.ranges]
        if not all(len(letter) == 1 and letter.isascii() and letter.isalpha() for letter in letters):
            raise WorkloadError(f"ranges of keys have the letters {letters}; expected a letter of ASCII each")

    def text(self, key: int) -> str:
        """The text of a key: its letter and its digits. Raises WorkloadError if it has more digits than a field."""
        if not 0 <= key <= MOST_FIELD:
            raise WorkloadError(f"key {key}; expected 0 to {MOST_FIELD}")
        _, letter = self.ranges[bisect_right(self.ranges, key, key=lambda each: each[0]) - 1]
        return f"{letter}{key:0{FIELD_DIGITS}d}"


@dataclass(frozen=True, slots=True)
class MessageKey:
    """How a message has its key."""

    #: Index of the chain's field that holds it.
    field: int
    #: Name of the header that has its text; None if the text is a word in the name of the destination.
    header: str | None
    #: Its text.
    space: KeySpace


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A message type that a producer sends. Raises WorkloadError for a receipt inside a transaction."""

    #: Number of the step in the scenario.
    step: int
    #: Index of the chain's field that selects the address.
    field: int
    #: Numbers of addresses in the scenario, indexed by the value of the field.
    addresses: tuple[int, ...]
    #: Body sizes, indexed by the chain's column.
    body_bytes: tuple[int, ...]
    persistent: bool
    #: Whether the message is sent in a transaction.
    transacted: bool
    #: None if its messages have no key.
    key: MessageKey | None = None
    #: Whether the broker confirms each message by a receipt of its own; several may be awaited at once. Such a message
    #: is settled when its receipt is read.
    receipt: bool = False

    def __post_init__(self) -> None:
        if self.receipt and self.transacted:
            raise WorkloadError(f"step {self.step} is sent in a transaction with a receipt of its own; expected one")
