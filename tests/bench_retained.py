"""`make bench-engine`, last part: what a broker takes to replay its retained messages to a new subscription.

No experiment: those follow streams of consecutive messages, and every replay has the same ones. Here each replay is
checked by itself: every retained message once, none missing, and nothing between the end of a subscription and the
begin of the next. Connections subscribe, receive, unsubscribe and subscribe again. The time is the broker's CPU time,
which is little disturbed by other work on the machine.
"""

from __future__ import annotations

import os
import select
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import sem, t
from tabulate import tabulate

from fixtures.brokers import Running
from fixtures.load.net.connection import Connection
from fixtures.load.net.opening import ConnectionRequest, close_all, open_connections
from fixtures.wire.blocks import powers
from fixtures.wire.mqtt.codec import encode
from fixtures.wire.mqtt.packets import MqttVersion, PacketType, PublishPacket, SubscribePacket, UnsubscribePacket
from fixtures.wire.stamp import LANE, LANE_DIGITS, lane_stamp
from tests.bench_engine import on_broker

BROKER, VERSION = "mosquitto", MqttVersion.V3_1_1
#: Retained messages of a replay, connections that subscribe in turn, and slices of each number of messages.
NUMBERS, CONNECTIONS, ROUNDS = (10, 100, 1000), 20, 8
SLICE_S, SILENCE_S = 0.5, 20.0
_READ_BYTES = 1 << 17


@dataclass
class Replaying:
    """A connection whose subscription is filled again and again."""

    connection: Connection
    #: Bytes of a replay that have come.
    came: bytearray = field(default_factory=bytearray)
    replays: int = 0
    #: Whether a subscription was ended before that which stands.
    ended: bool = False


@dataclass(frozen=True)
class Retained:
    """So many retained messages, with topics and bodies of equal length."""

    number: int

    @property
    def wanted(self) -> str:
        """The filter that selects all of them."""
        return f"bench-retained-{self.number}/#"

    def messages(self, *, removed: bool) -> Iterator[bytes]:
        """What makes the broker retain them, or removes them; each is confirmed."""
        for place in range(self.number):
            body = b"" if removed else lane_stamp(place, 0).encode()
            topic = self.wanted.replace("#", f"{place:06d}")
            yield encode(PublishPacket(topic, body, 1, place % 60_000 + 1, retain=True), VERSION)

    @property
    def copy_bytes(self) -> int:
        """Length of a copy, which is of QoS 0."""
        return len(encode(PublishPacket(self.wanted.replace("#", "000000"), lane_stamp(0, 0).encode()), VERSION))

    def check(self, copies: bytes) -> None:
        """Raises SystemExit unless these are all the messages, each once, in any order."""
        rows = np.frombuffer(copies, np.uint8).reshape(self.number, -1)
        begin = rows.shape[1] - LANE_DIGITS
        seen = (rows[:, begin : begin + LANE["lane"]] - np.uint8(ord("0"))) @ powers(LANE["lane"])
        is_retained = rows[:, 0] == (PacketType.PUBLISH << 4 | 1)
        if not is_retained.all() or (np.sort(seen) != np.arange(self.number)).any():
            raise SystemExit(f"a replay of {self.number} retained messages is not each of them once")


def _command(of: Retained, *, ends: bool, begins: bool) -> bytes:
    """Ends the subscription, begins it, or both."""
    ending = encode(UnsubscribePacket(1, (of.wanted,)), VERSION) if ends else b""
    return ending + (encode(SubscribePacket(2, ((of.wanted, 0),)), VERSION) if begins else b"")


_ENDED = bytes((PacketType.UNSUBACK << 4, 2, 0, 1))
_BEGUN = bytes((PacketType.SUBACK << 4, 3, 0, 2, 0))


def _take(each: Replaying, of: Retained) -> bool:
    """Reads what has come; returns whether a replay has become complete, which is checked."""
    each.came += each.connection.socket.recv(_READ_BYTES)
    answers = (_ENDED if each.ended else b"") + _BEGUN
    end = len(answers) + of.number * of.copy_bytes
    if len(each.came) < end:
        return False
    if not each.came.startswith(answers) or len(each.came) > end:
        raise SystemExit(f"between two replays came something else: {bytes(each.came[:20])!r}")
    of.check(bytes(each.came[len(answers) :]))
    each.came.clear()
    each.replays += 1
    return True


def replay(all_of_them: Sequence[Replaying], of: Retained, seconds: float) -> int:
    """Subscriptions that were made, filled and ended one after another, for so long; returns their number."""
    epoll = select.epoll()
    by_descriptor = {each.connection.socket.fileno(): each for each in all_of_them}
    for descriptor, each in by_descriptor.items():
        epoll.register(descriptor, select.EPOLLIN)
        each.ended, each.replays = False, 0
        each.connection.write_all(_command(of, ends=False, begins=True))
    under_way, begun = set(by_descriptor), time.monotonic()
    with epoll:
        while under_way:
            ready = epoll.poll(SILENCE_S)
            if not ready:
                raise SystemExit(f"a replay of {of.number} retained messages did not end within {SILENCE_S:g} s")
            goes_on = time.monotonic() < begun + seconds
            for descriptor, _ in ready:
                each = by_descriptor[descriptor]
                if descriptor not in under_way:
                    raise SystemExit("a copy came behind the last replay")
                if _take(each, of):
                    if goes_on:
                        each.ended = True
                        each.connection.write_all(_command(of, ends=True, begins=True))
                    else:
                        under_way.discard(descriptor)
    for each in all_of_them:
        each.connection.socket.setblocking(True)
        each.connection.write_all(_command(of, ends=True, begins=False))
        if (answer := each.connection.socket.recv(_READ_BYTES)) != _ENDED:
            raise SystemExit(f"behind the last replay came {answer[:20]!r}")
        each.connection.socket.setblocking(False)
    return sum(each.replays for each in all_of_them)


@contextmanager
def retained(keeper: Connection, of: Retained) -> Iterator[None]:
    """The broker has the messages, and has none of them afterwards."""

    def confirmed(*, removed: bool) -> None:
        keeper.socket.setblocking(True)
        for message in of.messages(removed=removed):
            keeper.write_all(message)
        left = 4 * of.number
        while left:
            left -= len(keeper.socket.recv(left))

    confirmed(removed=False)
    try:
        yield
    finally:
        confirmed(removed=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, on_broker(BROKER, Path(name), batch=True) as (running, load_cpu):
        os.sched_setaffinity(0, {load_cpu})
        replays(running)


def replays(running: Running) -> None:
    """Prints what a replay takes, by its number of messages, and the straight line over them."""
    assert running.account is not None
    requests = [ConnectionRequest(number) for number in range(CONNECTIONS + 1)]
    keeper, *others = opened = open_connections(requests, running.endpoint, running.protocol, LANE_DIGITS)
    subscribers = [Replaying(each) for each in others]
    us = np.zeros((ROUNDS, len(NUMBERS)))
    shares = np.zeros((ROUNDS, len(NUMBERS), 2))
    try:
        for turn in range(ROUNDS):
            for place in range(len(NUMBERS))[:: -1 if turn % 2 else 1]:
                with retained(keeper, Retained(NUMBERS[place])):
                    before = running.account.cpu_ns(), time.process_time_ns(), time.monotonic_ns()
                    count = replay(subscribers, Retained(NUMBERS[place]), SLICE_S)
                    after = running.account.cpu_ns(), time.process_time_ns(), time.monotonic_ns()
                broker_ns, load_ns, took_ns = np.subtract(after, before)
                us[turn, place] = broker_ns / 1e3 / count
                shares[turn, place] = broker_ns / took_ns, load_ns / took_ns
    finally:
        close_all(opened)
    rows = zip(NUMBERS, us.mean(axis=0), us.mean(axis=0) / NUMBERS, *shares.mean(axis=0).T, strict=True)
    headers = ("retained", "us per replay", "us per message", "broker CPU", "load CPU")
    print(tabulate(rows, headers=headers, floatfmt=",.4g"))
    lines = np.array([np.polyfit(NUMBERS, of_round, 1, w=1 / of_round) for of_round in us])
    for what, values in zip(("a message of a replay", "a subscription and its end"), lines.T, strict=True):
        low, high = t.interval(0.95, ROUNDS - 1, values.mean(), sem(values))
        print(f"{what}: {values.mean():.3g} us of the broker's CPU time (95 % interval {low:.3g} to {high:.3g})")


if __name__ == "__main__":
    main()
