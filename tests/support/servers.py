"""A server of a test's own, which does with its connections whatever the test wants."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress


@contextmanager
def serving(answer):
    """A listener on a free port that does this with each connection, in a thread of its own, and then closes it.

    Gives the port. At the end every connection is closed, and every thread has ended.
    """
    peers, threads = [], []

    def talk(peer):
        with peer, suppress(OSError):
            answer(peer)

    def accept():
        with suppress(OSError):
            while True:
                peers.append(listener.accept()[0])
                threads.append(threading.Thread(target=talk, args=(peers[-1],), daemon=True))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join(5)
            for peer in peers:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(5)


def silence(peer):
    """Reads, and says nothing."""
    while peer.recv(4096):
        pass
