"""A conversation with a broker for tests: one blocking connection, frames out, frames in, nothing without a limit.

It says what it is told to, wrong frames included, and keeps what the broker says until a test asks for it.
"""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from dataclasses import replace
from itertools import count
from typing import Self

from fixtures.brokers.spec import Endpoint
from fixtures.wire.protocol import ClientProtocol, ClientSession
from fixtures.wire.stomp.client import Stomp, StompSession, connect_frame, error_text
from fixtures.wire.stomp.codec import Decoder, encode, negotiated
from fixtures.wire.stomp.frames import Frame, Version

#: Far more than any answer takes, also beside other work.
PATIENCE_S = 20.0
#: Longer than a local broker keeps a message that is to come, where none is waited for.
QUIET_S = 0.3
#: What most brokers ask of a login.
PLAIN = Stomp()


def stomp(protocol: ClientProtocol) -> Stomp:
    """How a broker is asked that speaks STOMP."""
    assert isinstance(protocol, Stomp)
    return protocol


def version_of(session: ClientSession) -> Version:
    """The version of STOMP that was agreed."""
    assert isinstance(session, StompSession)
    return session.version


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """The broker's ERROR in words, or the end of the connection."""


class Talk:
    """A connection that is logged in.

    `connected` is the broker's answer to CONNECT, `patience_s` how long an answer may take, or a frame to be written.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        row: Stomp = PLAIN,
        *,
        client_id: str | None = None,
        heart_beat: str = "0,0",
    ) -> None:
        self.patience_s = PATIENCE_S
        self._receipts = count()
        self._frames: deque[Frame] = deque()
        self._decoder = Decoder()
        self._socket = socket.create_connection((endpoint.host, endpoint.port), PATIENCE_S)
        try:
            self.write(_connect(endpoint, row, client_id, heart_beat))
            self.connected = self._next("CONNECTED")
        except BaseException:
            self._socket.close()
            raise
        self._decoder.version = negotiated(self.connected)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def heart_beats(self) -> int:
        """Line ends between frames so far."""
        return self._decoder.heart_beats

    def write(self, frame: Frame) -> None:
        self.write_bytes(encode(frame, self._decoder.version))

    def write_bytes(self, data: bytes) -> None:
        """Raises Refused with the broker's last words where it has ended the connection."""
        self._socket.settimeout(self.patience_s)
        try:
            self._socket.sendall(data)
        except ConnectionError:
            raise Refused(self.refusal()) from None

    def say(self, command: str, body: bytes = b"", **headers: str) -> None:
        """A frame by the names of its headers, in which underscores stand for hyphens; no answer is awaited."""
        self.write(_frame(command, body, headers))

    def request(self, command: str, body: bytes = b"", **headers: str) -> None:
        """As `say`, confirmed."""
        self.ask(_frame(command, body, headers))

    def send(self, destination: str, body: bytes = b"", **headers: str) -> None:
        self.request("SEND", body, destination=destination, **headers)

    def subscribe(self, name: str, destination: str, **headers: str) -> None:
        self.request("SUBSCRIBE", id=name, destination=destination, **headers)

    def ask(self, *frames: Frame) -> None:
        """Returns when the broker has confirmed the frames, in any order. Raises Refused with its words if it does not.

        RabbitMQ confirms what is sent in a transaction behind that one's end.
        """
        pending = set()
        for frame in frames:
            receipt = f"r{next(self._receipts)}"
            others = tuple(header for header in frame.headers if header[0] != "receipt")
            self.write(Frame(frame.command, (*others, ("receipt", receipt)), frame.body))
            pending.add(receipt)
        while pending:
            pending.remove(self._next("RECEIPT").get("receipt-id"))

    def message(self) -> Frame:
        """The next MESSAGE."""
        return self._next("MESSAGE")

    def messages(self, number: int) -> list[Frame]:
        return [self.message() for _ in range(number)]

    def kept(self) -> list[Frame]:
        """What has been read and not been asked for."""
        frames = list(self._frames)
        self._frames.clear()
        return frames

    def listen(self, for_s: float) -> list[Frame]:
        """All that comes within a time."""
        end = time.monotonic() + for_s
        while self._read(end):
            pass
        return self.kept()

    def rest(self, least: int = 0) -> list[Frame]:
        """All that comes until nothing comes any more; so many frames at least are waited for."""
        while self._read(time.monotonic() + (QUIET_S if len(self._frames) >= least else self.patience_s)):
            pass
        return self.kept()

    def leave(self) -> list[Frame]:
        """Disconnects in order; returns what came before the broker's last word."""
        self.ask(Frame("DISCONNECT"))
        self._socket.close()
        return self.kept()

    def lose(self) -> None:
        """The connection breaks off: a reset, without a word."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def refusal(self, limit_s: float = PATIENCE_S) -> str:
        """The broker's ERROR in words, or that it closed the connection. Raises TimeoutError where it does neither."""
        try:
            self._next("the end", limit_s)
        except Refused as refused:
            return str(refused)
        raise AssertionError("unreachable: no frame has that command")

    def _next(self, command: str, limit_s: float | None = None) -> Frame:
        """The first frame of a command, within the patience if nothing else is said; others before it are kept."""
        limit_s = self.patience_s if limit_s is None else limit_s
        end = time.monotonic() + limit_s
        seen = 0
        while True:
            for place in range(seen, len(self._frames)):
                frame = self._frames[place]
                if frame.command in (command, "ERROR"):
                    del self._frames[place]
                    if frame.command == "ERROR":
                        raise Refused(error_text(frame))
                    return frame
            seen = len(self._frames)
            if not self._read(end):
                came = ", ".join(frame.command for frame in self._frames) or "nothing"
                raise TimeoutError(f"the broker sent no {command} within {limit_s:g} s; it sent {came}")

    def _read(self, end: float) -> bool:
        """Whether anything came before the end of the time. Raises Refused where the connection has ended."""
        left = end - time.monotonic()
        if left <= 0:
            return False
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(1 << 16)
        except TimeoutError:
            return False
        except ConnectionError as error:
            raise Refused(f"the connection broke: {error}") from None
        if not data:
            raise Refused("the broker closed the connection")
        self._frames += self._decoder.feed(data)
        return True


def _frame(command: str, body: bytes, headers: dict[str, str]) -> Frame:
    return Frame(command, tuple((name.replace("_", "-"), value) for name, value in headers.items()), body)


def _connect(endpoint: Endpoint, row: Stomp, client_id: str | None, heart_beat: str) -> Frame:
    frame = connect_frame(row, endpoint.logging_in(client_id))
    headers = {**dict(frame.headers), "heart-beat": heart_beat}
    return replace(frame, headers=tuple(headers.items()))
