"""Network namespaces with virtual links to a bridge, and a relay that delays: hosts of a network on one machine."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from tests.support.requirements import extra_missing, not_here

_NUMBERS = itertools.count()


def require_namespaces() -> None:
    """A test that cannot make network namespaces here is skipped, or fails where they were promised."""
    if os.geteuid():
        not_here("network namespaces, which only root can make")
    if shutil.which("ip") is None:
        extra_missing("network namespaces need iproute2")


@dataclass(frozen=True)
class Host:
    """A namespace with an address of its own."""

    #: Name of the namespace.
    name: str
    #: Its address, which the bridge and the other hosts reach.
    address: str
    #: Name of the link's end outside.
    link: str

    @property
    def prefix(self) -> Sequence[str]:
        """Precedes a command that is to run there."""
        return ("ip", "netns", "exec", self.name)

    def cut(self) -> None:
        """Cuts its link: whatever is sent is lost, and nobody is told."""
        _ip("link", "set", self.link, "down")


@dataclass(frozen=True)
class Net:
    """Hosts around a bridge."""

    #: Address of this process in the network.
    address: str
    #: The hosts.
    hosts: Sequence[Host]


@contextmanager
def network(count: int) -> Iterator[Net]:
    """A network with this number of hosts, removed at the end."""
    require_namespaces()
    subnet = f"10.{200 + os.getpid() % 50}.{next(_NUMBERS) % 250}"
    mark = f"bb{os.getpid()}{next(_NUMBERS)}"[-9:]
    with ExitStack() as stack:
        bridge = f"{mark}br"
        _ip("link", "add", bridge, "type", "bridge")
        stack.callback(_ip, "link", "del", bridge)
        _ip("addr", "add", f"{subnet}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        hosts = []
        for number in range(count):
            host = Host(f"{mark}n{number}", f"{subnet}.{number + 2}", f"{mark}v{number}")
            _ip("netns", "add", host.name)
            stack.callback(_ip, "netns", "del", host.name)
            _ip("link", "add", host.link, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            _ip("link", "set", host.link, "master", bridge, "up")
            _ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                _ip("-n", host.name, "link", "set", device, "up")
            hosts.append(host)
        yield Net(f"{subnet}.1", hosts)


def _ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True)


class DelayingRelay:
    """Passes TCP connections on; what either side sends arrives a delay later."""

    def __init__(self, listen: tuple[str, int], target: tuple[str, int], delay_s: float) -> None:
        """Begins to listen.

        listen: where connections come from
        target: where they go to
        delay_s: of each direction
        """
        self._target, self._delay_s = target, delay_s
        self._listener = socket.create_server(listen)
        self._open: list[socket.socket] = [self._listener]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        self.port: int = self._listener.getsockname()[1]

    def close(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            try:
                there = socket.create_connection(self._target)
            except OSError:
                here.close()
                continue
            self._open += [here, there]
            for source, sink in ((here, there), (there, here)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                waiting: deque[tuple[float, bytes]] = deque()
                arrived = threading.Semaphore(0)
                for work, end in ((self._read, source), (self._write, sink)):
                    self._threads.append(threading.Thread(target=work, args=(end, waiting, arrived), daemon=True))
                    self._threads[-1].start()

    def _read(self, source: socket.socket, waiting: deque[tuple[float, bytes]], arrived: threading.Semaphore) -> None:
        data = b"x"
        while data:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            waiting.append((time.monotonic() + self._delay_s, data))
            arrived.release()

    def _write(self, sink: socket.socket, waiting: deque[tuple[float, bytes]], arrived: threading.Semaphore) -> None:
        while True:
            arrived.acquire()
            due_s, data = waiting.popleft()
            time.sleep(max(0.0, due_s - time.monotonic()))
            try:
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)
            except OSError:
                return
