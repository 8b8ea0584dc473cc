"""`make bench-engine`, second part: what the load costs over MQTT and AMQP 0-9-1, beside another client in one run.

That is paho-mqtt on the same Mosquitto, and pika on the same RabbitMQ.

Never a test: absolute times belong to the machine. Nothing else may run meanwhile.
"""

from __future__ import annotations

import json
import os
import select
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.client as paho
import pika
from paho.mqtt.enums import CallbackAPIVersion
from pika.adapters.select_connection import IOLoop
from scipy.stats import sem, t
from tabulate import tabulate

from fixtures.brokers import Running
from fixtures.host import cpus
from fixtures.load.group.coordinator import Workers
from microbench.test_replication import EXPERIMENT
from tests.bench_engine import CPUS, LONG_S, SHORT_S, Bench, Row, load_us, on_broker, shown
from workloads.messaging import AckMode
from workloads.schema import Window
from workloads.selectors import Equals
from workloads.throughput.flow import PROFILES, Cell, Plan, Profile, Subscription, Template, on_topic

#: The broker on which many subscriptions are measured.
MANY_ON = "mosquitto"
REPLICATION, PUBLISHERS = 10, 20
#: Further subscriptions, and how many of them share a connection.
FURTHER, PER_CONNECTION, ROUNDS = (20_000, 100_000), 100, 12
#: Messages of the other clients' publishers that may be in flight, as of the engine's.
IN_FLIGHT = 1000
_PIKA_KEY = "bench-pika"


@dataclass(frozen=True, slots=True)
class Way:
    """A way of delivering, and the other client that does the same."""

    name: str
    profile: Profile
    #: Largest load CPU per delivered message, us.
    target_us: float
    #: Name of the other client, and its load CPU per delivered message, us, on this CPU.
    other: str
    other_us: Callable[[Running, int], float]


def engine_and_other(one: Bench, running: Running, load_cpu: int, ways: Sequence[Way]) -> Iterator[Row]:
    """Load CPU per delivered message: twice each, in turn."""
    cell = Cell(f"f0000-r{REPLICATION:03d}", {"further": 0, "replication": REPLICATION})
    for way in ways:
        windows: list[Window] = []
        others: list[float] = []
        for _ in range(2):
            windows += one.cell(EXPERIMENT.plan(cell, way.profile))
            others.append(way.other_us(running, load_cpu))
        ours, theirs = load_us(windows), sum(others) / len(others)
        print(f"{way.name}, r = {REPLICATION}: {ours:.2f} us per delivered message, {way.other} {theirs:.1f} us")
        yield Row(f"load CPU per delivered message, us, {way.name}, r = {REPLICATION}", ours, way.target_us, True)
        yield Row(f"the same as a share of {way.other}'s, {way.name}", ours / theirs, 1 / 10, True)


def many_subscriptions(one: Bench, running: Running) -> None:
    """What further subscriptions to sibling topics take: time of a message, and memory of the broker.

    A cell with them and one without take turns in one block.
    """
    table = []
    for further in FURTHER:
        plans = [_with_further(0), _with_further(further)]
        bytes_before = _rss_bytes(running)
        seen_bytes: list[int] = []
        rounds = one.rotation(plans, ROUNDS, SHORT_S, look=lambda seen=seen_bytes: seen.append(_rss_bytes(running)))
        without, among = (np.array([(w.end_ns - w.begin_ns) / w.received for w in windows]) for windows in rounds)
        more = among - without
        interval = t.interval(0.95, ROUNDS - 1, more.mean(), sem(more))
        table.append(
            (
                further,
                without.mean() / 1e3,
                among.mean() / 1e3,
                interval[0] / further,
                interval[1] / further,
                (max(seen_bytes) - bytes_before) / further,
                min(w.broker_cpu_ns / (w.end_ns - w.begin_ns) for windows in rounds for w in windows),
                max(w.load_cpu_ns / (w.end_ns - w.begin_ns) for windows in rounds for w in windows),
            )
        )
    headers = ("further", "B without, us", "B, us", "t_fltr from, ns", "to, ns", "bytes each", "broker CPU", "load CPU")
    print(tabulate(table, headers=headers, floatfmt=",.4g"))


def _with_further(further: int) -> Plan:
    """A message to one subscription, beside further ones that differ in the last level of their topics."""
    filters = [Subscription(Equals("ID", f"#{number}")) for number in range(further + 1)]
    flow = on_topic(
        f"bench.many.{further}", (Template((("ID", "#0"),)),), tuple(filters), per_connection=PER_CONNECTION
    )
    return Plan("many", f"f{further}", PROFILES["today"], (flow,))


def _rss_bytes(running: Running) -> int:
    assert running.account is not None
    return running.account.usage().rss_bytes


def paho_us(qos: int, running: Running, cpu: int) -> float:
    """Load CPU of a closed loop of paho's clients per delivered message, us; one thread, nothing is checked."""
    os.sched_setaffinity(0, {cpu})
    received = 0

    def count(*_: object) -> None:
        nonlocal received
        received += 1

    topic = "bench-paho"
    with _clients(running, PUBLISHERS + REPLICATION) as clients:
        subscribers, publishers = clients[:REPLICATION], clients[REPLICATION:]
        for client in subscribers:
            client.on_message = count
            client.subscribe(topic, qos)
        sockets = {client.socket(): client for client in clients}
        sent, begin, begun, end = 0, 0.0, 0, time.monotonic() + LONG_S + 1
        while (now := time.monotonic()) < end:
            if not begin and now > end - LONG_S:
                begin, begun = time.process_time(), received
            if now > end - LONG_S - 0.5:  # the subscriptions stand
                while sent - received // REPLICATION < IN_FLIGHT:
                    publishers[sent % PUBLISHERS].publish(topic, b"x" * 36, qos)
                    sent += 1
            writing = [socket for socket, client in sockets.items() if client.want_write()]
            readable, writable, _ = select.select(list(sockets), writing, [], 0.01)
            for socket in readable:
                sockets[socket].loop_read()
            for socket in writable:
                sockets[socket].loop_write()
        return (time.process_time() - begin) * 1e6 / (received - begun)


@contextmanager
def _clients(running: Running, number: int) -> Iterator[list[paho.Client]]:
    """Clients that are connected."""
    clients = []
    try:
        for each in range(number):
            client = paho.Client(CallbackAPIVersion.VERSION2, f"bench-paho-{each}")
            client.max_inflight_messages_set(0xFFFF)
            client.username_pw_set(running.endpoint.login, running.endpoint.passcode)
            client.connect(running.endpoint.host, running.endpoint.port, keepalive=0)
            while not client.is_connected():
                client.loop(0.1)
            clients.append(client)
        yield clients
    finally:
        for client in clients:
            client.disconnect()


def pika_us(multiple: bool, running: Running, cpu: int) -> float:
    """Load CPU of a closed loop of pika's clients per delivered message, us; one thread, nothing is checked.

    multiple: every hundredth message is acknowledged with those before it; otherwise none is
    """
    os.sched_setaffinity(0, {cpu})
    return PikaLoad(running, multiple).us()


class PikaLoad:
    """pika's clients in one loop of events."""

    def __init__(self, running: Running, multiple: bool) -> None:
        """Begins to connect them."""
        endpoint = running.endpoint
        credentials = pika.PlainCredentials(endpoint.login or "", endpoint.passcode or "")
        parameters = pika.ConnectionParameters(endpoint.host, endpoint.port, credentials=credentials, heartbeat=0)
        self._loop, self._multiple = IOLoop(), multiple
        self._sent = self._received = self._begun = 0
        self._begin = 0.0
        self._publishing: list[Any] = []
        opened = [self._consume] * REPLICATION + [self._publishing.append] * PUBLISHERS
        self._connections = [
            pika.SelectConnection(
                parameters,
                on_open_callback=lambda connection, opened=each: connection.channel(on_open_callback=opened),
                custom_ioloop=self._loop,
            )
            for each in opened
        ]
        self._measured = time.monotonic() + 3.0
        self._end = self._measured + LONG_S

    def us(self) -> float:
        """Load CPU per delivered message, us."""
        self._turn()
        self._loop.start()
        used = (time.process_time() - self._begin) * 1e6 / (self._received - self._begun)
        for connection in self._connections:
            connection.close()
        self._loop.call_later(1.0, self._loop.stop)
        self._loop.start()
        return used

    def _consume(self, channel: Any) -> None:
        def declared(found: Any) -> None:
            queue = found.method.queue
            channel.queue_bind(queue, "amq.topic", _PIKA_KEY)
            channel.basic_consume(queue, self._count, auto_ack=not self._multiple)

        channel.queue_declare("", exclusive=True, callback=declared)

    def _count(self, channel: Any, deliver: Any, _properties: object, _body: bytes) -> None:
        self._received += 1
        if self._multiple and deliver.delivery_tag % 100 == 0:
            channel.basic_ack(deliver.delivery_tag, multiple=True)

    def _turn(self) -> None:
        now = time.monotonic()
        if now > self._end:
            self._loop.stop()
            return
        if not self._begin and now > self._measured:
            self._begin, self._begun = time.process_time(), self._received
        if now > self._measured - 0.5:  # the subscriptions stand
            while self._sent - self._received // REPLICATION < IN_FLIGHT:
                self._publishing[self._sent % PUBLISHERS].basic_publish("amq.topic", _PIKA_KEY, b"x" * 36)
                self._sent += 1
        self._loop.call_later(0.0005, self._turn)


def _acknowledging(mode: AckMode, *, stored: bool = False) -> Profile:
    return Profile(f"{mode}", persistent=stored, receipts=stored, ack=mode)


#: By broker.
WAYS: Mapping[str, Sequence[Way]] = {
    MANY_ON: (
        Way("QoS 0", PROFILES["today"], 0.8, "paho-mqtt", partial(paho_us, 0)),
        Way("QoS 1", _acknowledging(AckMode.CLIENT_INDIVIDUAL, stored=True), 1.2, "paho-mqtt", partial(paho_us, 1)),
    ),
    "rabbitmq,protocol=amqp091": (
        Way("no-ack", PROFILES["today"], 0.9, "pika", partial(pika_us, False)),
        Way("multiple acks", _acknowledging(AckMode.CLIENT), 1.0, "pika", partial(pika_us, True)),
    ),
}


def main() -> None:
    cpus.require_descriptors(6000)
    rows: list[Row] = []
    for broker, ways in WAYS.items():
        with tempfile.TemporaryDirectory() as name, on_broker(broker, Path(name), batch=True) as (running, load_cpu):
            os.sched_setaffinity(0, {load_cpu})
            workers = Workers(1, [load_cpu])
            try:
                one = Bench(running, Path(name), workers)
                if broker == MANY_ON:  # before its memory has grown by messages that wait
                    many_subscriptions(one, running)
                rows += engine_and_other(one, running, load_cpu, ways)
            finally:
                workers.close()
        os.sched_setaffinity(0, CPUS)
    print(shown(rows))
    print(json.dumps({row.what: round(row.value, 4) for row in rows}))


if __name__ == "__main__":
    main()
