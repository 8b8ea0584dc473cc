"""A sender of a load at one end of a socket, a broker's words at the other; and sockets that take what they like."""

from __future__ import annotations

import select
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fixtures.load.net.connection import Connection
from fixtures.load.scenario.event_log import EventLog
from fixtures.load.scenario.membership_log import MembershipLog
from fixtures.load.scenario.senders import Sender, WorkerState
from fixtures.wire import stamp
from fixtures.wire.events import Login
from fixtures.wire.stomp.client import Stomp
from fixtures.wire.stomp.codec import Decoder, encode
from fixtures.wire.stomp.frames import Frame
from tests.conftest import table_rows
from workloads.capabilities import Capabilities
from workloads.messaging import DestinationKind
from workloads.scenario.model import Scenario
from workloads.schedule import Slot


class WorkerRecords:
    """What a worker of a reactive load has without a connection: its state, and what it records."""

    def __init__(
        self, stack: ExitStack, folder: Path, scenario: Scenario, *, sessions: bool = False, **capabilities: Any
    ) -> None:
        self.folder, self.scenario = folder, scenario
        self.epoll = stack.enter_context(select.epoll())
        slot = Slot("b", 1, "e", "c")
        self.log = EventLog(folder, slot, 0)
        self.membership = MembershipLog(folder, slot, 0, sessions=sessions)
        row = Capabilities(frozenset(DestinationKind), **capabilities)
        self.state = WorkerState(scenario, row, self.log, self.epoll, scenario.chain_fields)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All that was recorded; nothing more can be."""
        self.log.finish()
        self.membership.finish()
        return table_rows(self.folder, table)


class SenderLine(WorkerRecords):
    """The connection of a sender, and the broker's end of it."""

    def __init__(self, stack: ExitStack, folder: Path, scenario: Scenario, **capabilities: Any) -> None:
        super().__init__(stack, folder, scenario, **capabilities)
        here, self.there = socket.socketpair()
        for end in (here, self.there):
            stack.enter_context(end)
        here.setblocking(False)
        self.there.settimeout(5)
        session = Stomp().session(Login(), stamp.chain_digits(scenario.chain_fields))
        self.connection = Connection(0, here, session)
        self._decoder = Decoder()

    def say(self, sender: Sender, *frames: Frame | bytes) -> None:
        """Lets it read these frames; a bytes object is said as it is."""
        self.there.sendall(b"".join(frame if isinstance(frame, bytes) else encode(frame) for frame in frames))
        sender.ready(select.EPOLLIN)

    def heard(self) -> Sequence[Frame]:
        """All frames that it has written."""
        self.there.setblocking(False)
        try:
            return self._decoder.feed(self.there.recv(1 << 20))
        except BlockingIOError:
            return []
        finally:
            self.there.settimeout(5)


class Fussy:
    """A socket that takes as many bytes at a time as it is told to, 0 for not now."""

    def __init__(self, appetite: list[int]) -> None:
        """appetite: of the calls, the last one first"""
        self.appetite = appetite
        self.taken = bytearray()

    def recv_into(self, _view: object) -> int:
        raise AssertionError("a sender does not read")

    def send(self, view: bytes) -> int:
        room = self.appetite.pop() if self.appetite else 0
        if not room:
            raise BlockingIOError
        self.taken += view[:room]
        return min(room, len(view))
