"""The suite's own broker as a process, in a thread and in memory, and peers that speak STOMP to it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fixtures.brokers.spec import Endpoint
from fixtures.reference.broker import ReferenceBroker
from fixtures.reference.server import Late, Server
from fixtures.reference.service import Service, ServiceTimes
from fixtures.reference.state import ClientState
from fixtures.wire.stomp.codec import Decoder, encode, negotiated
from fixtures.wire.stomp.frames import Frame
from fixtures.wire.stomp.server import StompServerSession
from tests.conftest import ROOT
from tests.support.stomp_peer import PATIENCE_S, Talk


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


@contextmanager
def serving(folder, times=ServiceTimes(), now_ns=time.monotonic_ns, session=StompServerSession):  # noqa: B008 - frozen
    """A broker in a thread of this process; gives its state, its service, its port and the file of its truth.

    session: makes the broker's side of a connection
    """
    service = Service(times, now_ns)
    wake, stop = socket.socketpair()
    with wake, stop, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        broker = ReferenceBroker({}, service.charge)
        truth = folder / "truth.json"
        server = Server(listener, wake, session, broker, service, truth, Late())
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield Serving(broker, service, listener.getsockname()[1], truth)
        finally:
            stop.send(b"x")
            thread.join(PATIENCE_S)
            # Clients that have just gone, or are not read at present: a process would take their sockets along.
            watched = [key.data for key in server._selector.get_map().values() if isinstance(key.data, ClientState)]
            for client in (*watched, *server._blocked):
                client.sock.close()
            server._selector.close()


@dataclass
class Serving:
    broker: ReferenceBroker
    service: Service
    port: int
    truth: Path


class MemoryPeer:
    """A client of a broker without a socket, logged in if a version is given; in names `_` stands for `-`."""

    def __init__(self, broker, version="1.2", **login):
        self.broker, self.client = broker, ClientState(None, StompServerSession())
        self._decoder = Decoder()
        self._all = []
        if version is not None:
            self.say("CONNECT", accept_version=version, **login)
            (connected,) = self.heard()
            self._decoder.version = negotiated(connected)

    def say(self, command, body=b"", **headers):
        frame = Frame(command, tuple((name.replace("_", "-"), value) for name, value in headers.items()), body)
        self.say_bytes(encode(frame, self._decoder.version))

    def say_bytes(self, data):
        for event in self.client.session.decode(data):
            if not self.client.ending:
                self.broker.handle(self.client, event)

    def subscribe(self, destination, number="0", **headers):
        self.say("SUBSCRIBE", id=str(number), destination=destination, **headers)

    def publish(self, destination, *sequences, lane=0, **headers):
        """Messages of the load."""
        for sequence in sequences:
            self.say("SEND", destination=destination, Stamp=stamped(lane, sequence), **headers)

    def send(self, destination, *bodies, **headers):
        """Messages of others."""
        for body in bodies:
            self.say("SEND", body, destination=destination, **headers)

    def heard(self):
        """The frames since the last call."""
        data = bytes(self.client.output)
        self.client.output.clear()
        came = self._decoder.feed(data)
        self._all += came
        return came

    def bodies(self):
        return [frame.body for frame in self.heard()]

    def sequences(self):
        """All that it was sent so far, of each subscription and lane, in the order of arrival."""
        self.heard()
        got = defaultdict(list)
        for frame in self._all:
            if frame.command == "MESSAGE":
                stamp = frame.get("Stamp")
                got[frame.get("subscription"), int(stamp[1:7])].append(int(stamp[7:17]))
        return got

    def receipts(self):
        """Ids of all receipts so far."""
        self.heard()
        return [frame.get("receipt-id") for frame in self._all if frame.command == "RECEIPT"]


def talk(port):
    """A conversation with a broker at a port of this host."""
    return Talk(Endpoint("127.0.0.1", port))


def stamped(lane, sequence):
    return f"~{lane:06d}{sequence:010d}{0:019d}"
