"""The suite's own broker as a process, and a peer that speaks STOMP to it."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager

from fixtures.reference.state import ClientState
from fixtures.wire.stomp.codec import Decoder, encode, negotiated
from fixtures.wire.stomp.frames import Frame, Version
from fixtures.wire.stomp.server import StompServerSession
from tests.conftest import ROOT

PATIENCE_S = 20.0


@contextmanager
def running(truth, *options):
    """A broker process; gives it and its port."""
    command = [sys.executable, "-m", "fixtures.reference", "--truth", str(truth), *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            address, _, port = process.stdout.readline().strip().rpartition(":")
            assert address == "listening on 127.0.0.1"
            yield process, int(port)
        finally:
            process.kill()


def client_in_memory(broker, **login):
    """A client of a broker without sockets, which is logged in."""
    client = ClientState(None, StompServerSession())
    hear(broker, client, Frame("CONNECT", (("accept-version", "1.2"), *login.items())))
    return client


def hear(broker, client, frame):
    """The broker hears a frame of a client without a socket, and answers in its output."""
    for event in client.session.decode(encode(frame)):
        broker.handle(client, event)


class Peer:
    """A client made of a socket and the codec."""

    def __init__(self, port, *, accept="1.2"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.frames = []
        self.decoder = Decoder()
        self.version = Version.V1_2
        if accept is not None:
            self.connect(accept)

    def connect(self, accept, **headers):
        versions = {"accept-version": accept} if accept else {}
        self.send("CONNECT", login="anyone", passcode="at:all", **versions, **headers)
        self.version = self.decoder.version = negotiated(self.next())

    def send(self, command, body=b"", **headers):
        self.socket.sendall(encode(Frame(command, tuple(headers.items()), body), self.version))

    def subscribe(self, destination, number="0", **headers):
        self.ask("SUBSCRIBE", destination=destination, id=number, **headers)

    def ask(self, command, body=b"", **headers):
        """Sends a frame with a receipt; returns what came before the receipt did."""
        self.send(command, body, **headers, receipt="r:1")
        came = []
        while (frame := self.next()).command != "RECEIPT":
            came.append(frame)
        assert frame.headers == (("receipt-id", "r:1"),)
        return came

    def ask_back(self):
        """What came until now: the broker answers in order."""
        came = self.ask("BEGIN", transaction="none")
        return came + self.ask("ABORT", transaction="none")

    def next(self):
        while not self.frames:
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError
            self.frames += self.decoder.feed(data)
        return self.frames.pop(0)

    def ended(self):
        """Whether the broker closed the connection, and sent nothing more before."""
        try:
            return not self.next()
        except EOFError:
            return True

    def close(self):
        self.socket.close()


def stamped(lane, sequence):
    return f"~{lane:06d}{sequence:010d}{0:019d}"
