"""What tests of brokers on a JVM share: a frame at a time, a started one, an installation."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures import brokers
from fixtures.brokers import ivy, os_process_provider
from fixtures.host import cpus
from fixtures.wire.frames import Frame, Version
from fixtures.wire.stomp import Decoder, encode
from tests.support.requirements import require_broker

#: Far more than any answer takes, also beside other work.
PATIENCE_S = 20.0
#: Longer than a local broker keeps a message that is to come, where none is waited for.
QUIET_S = 0.7


class Talk:
    """One STOMP connection that says and hears frames; `underscores` in names of headers are hyphens."""

    def __init__(self, endpoint, **headers):
        self._socket = socket.create_connection((endpoint.host, endpoint.port), PATIENCE_S)
        self._decoder, self._heard = Decoder(), []
        login = {"login": endpoint.login, "passcode": endpoint.passcode} if endpoint.login else {}
        self.say("CONNECT", accept_version="1.2", host="/", **login, **headers)
        try:
            self.frame("CONNECTED")
        except BaseException:
            self._socket.close()
            raise
        self._decoder.version = Version.V1_2

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._socket.close()

    def say(self, command, body=b"", **headers):
        named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        self._socket.sendall(encode(Frame(command, named, body), self._decoder.version))

    def request(self, command, body=b"", **headers):
        """With a receipt, which is awaited."""
        self.say(command, body, receipt="r", **headers)
        kept, self._heard = self._heard, []
        while (frame := self._next(PATIENCE_S)).command == "MESSAGE":
            kept.append(frame)
        assert frame.command == "RECEIPT", frame
        self._heard = kept + self._heard

    def send(self, destination, body=b"", **headers):
        self.request("SEND", body, destination=destination, content_length=str(len(body)), **headers)

    def subscribe(self, name, destination, **headers):
        self.request("SUBSCRIBE", id=name, destination=destination, **headers)

    def frame(self, command):
        frame = self._next(PATIENCE_S)
        assert frame.command == command, frame
        return frame

    def rest(self, least=0):
        """All that comes until nothing comes; so many frames at least are waited for."""
        frames = []
        while (frame := self._next(PATIENCE_S if len(frames) < least else QUIET_S)) is not None:
            frames.append(frame)
        return frames

    def limit(self, seconds):
        """How long a frame may take to be written."""
        self._socket.settimeout(seconds)

    def within(self, seconds):
        """The command of the next frame, None where nothing comes."""
        frame = self._next(seconds)
        return frame and frame.command

    def _next(self, limit_s):
        self._socket.settimeout(limit_s)
        while not self._heard:
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            assert data, "the broker closed the connection"
            self._heard += self._decoder.feed(data)
        return self._heard.pop(0)


@contextmanager
def started(text, folder, provider=None):
    spec = brokers.parse(text, provider=provider)
    brokers.prepare(spec)
    broker = brokers.start(spec, folder, cpus.available_cpus()[-1:])
    try:
        yield broker
    finally:
        broker.stop()


def folder_of(running):
    """The private folder of a broker's process."""
    return Path(f"/proc/{running.account.pid}/cwd").readlink()


def installed(text, home, layout):
    """A directory laid out like the distribution's, of the real jars."""
    require_broker(text)
    spec = brokers.parse(text)
    product = next(product for product in brokers.PRODUCTS if product.name == spec.product)
    for folder in layout.folders:
        (home / folder).mkdir(parents=True)
    for jar in ivy.class_path(os_process_provider.bundle(product, spec.version), print):
        (home / layout.folders[-1] / jar.name).symlink_to(jar)
    return home


@pytest.fixture(scope="module")
def jars():
    """The default ActiveMQ in the user's own cache, so that only the first test run downloads it."""
    require_broker("activemq")
