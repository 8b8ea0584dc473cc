"""Blocks of bytes as a reader takes them from sockets."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from fixtures.load.net.connection import Connection
from fixtures.wire.stamp import lane_stamp
from fixtures.wire.stomp.frames import Frame, Version


@contextmanager
def lines(count, version=Version.V1_2):
    """Connections whose numbers are not their places."""
    with ExitStack() as stack:
        made = []
        for number in range(count):
            here, there = socket.socketpair()
            stack.enter_context(here)
            stack.enter_context(there)
            here.setblocking(False)
            made.append(Line(there, Connection(10 + 3 * number, here, version)))
        yield made


def take(reader, made):
    """Books what the reader has: the stamps, as digits, and the other frames to the lines that they came from."""
    by_number = {line.connection.number: line for line in made}
    taken = reader.take(lambda connection, frame: by_number[connection.number].others.append(frame))
    if taken is None:
        return
    numbers, stamps = taken
    assert len(numbers) == len(stamps.lane) == len(stamps.seq)
    planned = [0] * len(numbers) if stamps.planned_ns is None else stamps.planned_ns.tolist()
    for number, *parts in zip(numbers.tolist(), stamps.lane.tolist(), stamps.seq.tolist(), planned, strict=True):
        by_number[number].stamps.append(lane_stamp(*parts)[1:])


@dataclass
class Line:
    """The broker's end of a connection, the load's end of it, and what was read there."""

    there: socket.socket
    connection: Connection
    stamps: list[str] = field(default_factory=list)
    others: list[Frame] = field(default_factory=list)
