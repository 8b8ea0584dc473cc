"""Blocks of bytes as a reader takes them from sockets."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from fixtures.load.net.connection import Connection
from fixtures.wire.events import Event, Login
from fixtures.wire.stamp import LANE_DIGITS, lane_stamp
from fixtures.wire.stomp.client import Stomp
from fixtures.wire.stomp.frames import Version


def session(version=Version.V1_2):
    return Stomp(versions=(version,)).session(Login(), LANE_DIGITS)


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
            made.append(Line(there, Connection(10 + 3 * number, here, session(version))))
        yield made


def take(reader, made):
    """Takes what the reader has by the lines: stamps, whose subscriptions have the lines' numbers, and other events."""
    by_number = {line.connection.number: line for line in made}
    stamps = reader.take(lambda connection, event: by_number[connection.number].others.append(event))
    if stamps is None:
        return
    planned = [0] * len(stamps.seq) if stamps.planned_ns is None else stamps.planned_ns.tolist()
    for number, *parts in zip(
        stamps.subscription.tolist(), stamps.lane.tolist(), stamps.seq.tolist(), planned, strict=True
    ):
        by_number[number].stamps.append(lane_stamp(*parts)[1:])


@dataclass
class Line:
    """The broker's end of a connection, the load's end of it, and what was read there."""

    there: socket.socket
    connection: Connection
    stamps: list[str] = field(default_factory=list)
    others: list[Event] = field(default_factory=list)
