"""A relay between a load and its broker, which notes what passes."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from contextlib import ExitStack
from typing import Any

from fixtures.brokers.spec import Endpoint
from fixtures.wire.stomp.codec import Decoder
from fixtures.wire.stomp.frames import Frame


class Relay:
    """Stands between load and broker in one thread, and notes every frame in the order in which it passes."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._stack = ExitStack()
        for each in (self._listener, self._wake, self._woken):
            self._stack.enter_context(each)
        self.port = self._listener.getsockname()[1]
        #: (instant, connection, whether it came from the broker, frame)
        self.frames: list[tuple[float, int, bool, Frame]] = []
        #: Line ends between frames of the load.
        self.heart_beats = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._woken.send(b"x")
        self._thread.join()
        self._stack.close()

    def _run(self) -> None:
        connections = 0
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._wake:
                    self._selector.close()
                    return
                if key.fileobj is self._listener:
                    self._accept(connections)
                    connections += 1
                else:
                    self._pass_on(key.fileobj, *key.data)

    def _accept(self, number: int) -> None:
        load, _ = self._listener.accept()
        broker = socket.create_connection((self._endpoint.host, self._endpoint.port))
        for here, there, from_broker in ((load, broker, False), (broker, load, True)):
            self._stack.enter_context(here)
            here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(here, selectors.EVENT_READ, (there, number, from_broker, Decoder()))

    def _pass_on(self, here: Any, there: Any, number: int, from_broker: bool, decoder: Decoder) -> None:
        try:
            data = here.recv(65536)
            for frame in decoder.feed(data):
                self.frames.append((time.monotonic(), number, from_broker, frame))
            if not from_broker:
                self.heart_beats += decoder.heart_beats
                decoder.heart_beats = 0
            there.sendall(data)
        except OSError:  # one of the two has broken it off
            data = b""
        if not data:
            self._selector.unregister(here)

    def of(self, command: str) -> list[Frame]:
        return [frame for _, _, _, frame in self.frames if frame.command == command]
