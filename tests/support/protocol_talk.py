"""A client of a protocol and the reference broker in memory: bytes go from one session to the other, by any cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fixtures.reference.broker import ReferenceBroker
from fixtures.reference.state import ClientState
from fixtures.wire.events import Command, Confirmed, Event, Login
from fixtures.wire.protocol import ClientSession
from fixtures.wire.protocols import ProtocolEntry
from fixtures.wire.stamp import LANE_DIGITS


def pieces(stream: bytes, cuts: Sequence[int]) -> list[bytes]:
    """The stream cut at these places, or at its end where they lie behind it; pieces may be empty."""
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [stream[begin:end] for begin, end in pairwise(edges)]


def in_pieces(session: ClientSession, stream: bytes, cuts: Sequence[int]) -> tuple[list[Event], bytes]:
    """What a session hears of a stream that comes so, and what is left of it in the end."""
    heard: list[Event] = []
    rest = b""
    for piece in pieces(stream, cuts):
        events, rest = session.decode(rest + piece)
        heard += events
    return heard, rest


@dataclass
class MemoryTalk:
    """A connection that is logged in; what it hears is kept in the order of its arrival."""

    entry: ProtocolEntry
    broker: ReferenceBroker
    #: how many bytes are given to a session at once
    piece: int = 1 << 20
    #: of the stamps of the messages
    stamp_digits: int = LANE_DIGITS
    heard: list[Event] = field(default_factory=list)
    #: all bytes from the broker
    received: bytes = b""

    def __post_init__(self) -> None:
        self.client = ClientState(None, self.entry.server())  # type: ignore[arg-type]
        self.session = self.entry.reference.session(Login("user", "secret"), self.stamp_digits)
        self._tail = b""
        self.client.output += self.client.session.greeting()
        self.say(self.session.log_in())
        heard = self.taken()
        assert len(heard) == 1, f"expected one answer to the login, heard {heard}"
        (self.greeting,) = heard

    def say(self, data: bytes) -> None:
        """The broker hears this, completed, behind what is owed."""
        self.write(self.session.take_owed())
        self.write(self.session.completed(data))

    def write(self, data: bytes) -> None:
        """The broker hears these bytes as they are, up to the end of the connection."""
        for begin in range(0, len(data), self.piece):
            if self.client.ending:
                return
            for event in self.client.session.decode(data[begin : begin + self.piece]):
                if not self.client.ending:
                    self.broker.handle(self.client, event)

    def listen(self) -> None:
        """Reads what the broker has answered."""
        data = bytes(self.client.output)
        self.client.output.clear()
        self.received += data
        for begin in range(0, len(data), self.piece):
            events, self._tail = self.session.decode(self._tail + data[begin : begin + self.piece])
            self.heard += events
        if owed := self.session.take_owed():
            self.write(owed)
            self.listen()

    def taken(self) -> list[Event]:
        """What was heard since the last call."""
        self.listen()
        heard, self.heard = self.heard, []
        return heard

    def ask(self, command: Command) -> list[Event]:
        """Everything that is heard for a request; it must have as many confirmations as announced, behind the rest, or
        the connection ends."""
        self.say(command.data)
        heard = self.taken()
        confirmations = [event for event in heard if isinstance(event, Confirmed)]
        ended = self.client.ending and not confirmations
        assert len(confirmations) == command.confirmations or ended, f"{command.confirmations} announced, heard {heard}"
        return heard
