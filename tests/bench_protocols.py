"""`make bench-engine`, second part: what the load costs over MQTT and AMQP, beside another client in one run.

That is paho-mqtt on the same Mosquitto, pika on the same RabbitMQ, and Apache Qpid Proton on the same Artemis, in a
process of the system's Python, for which `make extras` installs it.

What the kernel takes for the same copies is shown beside it: bare sockets that are read as often, and nothing else.

Never a test: absolute times belong to the machine. Nothing else may run meanwhile.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
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

from fixtures.brokers.spec import Running
from fixtures.host import cpus
from fixtures.load.group.coordinator import Workers
from fixtures.load.net.connection import READ_BYTES
from fixtures.load.net.opening import ConnectionRequest, close_all, open_connections
from fixtures.load.throughput.loop import MOST_READS, PROMPT_US, SCANNED_SHARE
from fixtures.load.throughput.slice_sizes import IN_FLIGHT_PER_PUBLISHER
from fixtures.wire.events import SubscriptionRequest
from fixtures.wire.stamp import LANE_DIGITS
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
#: The same for bare sockets: as many as the engine has of such a cell.
IN_FLIGHT_BARE = IN_FLIGHT_PER_PUBLISHER * PUBLISHERS
_PIKA_KEY = "bench-pika"
#: What runs Proton's load.
SYSTEM_PYTHON, PROTON_LOAD = "/usr/bin/python3", Path(__file__).parent / "support" / "proton_load.py"


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
    #: Whether bare sockets are measured as well, which requires that copies are as long as the messages sent.
    bare: bool = False


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
        if way.bare:
            in_all, kernel = bare_us(running, EXPERIMENT.plan(cell, way.profile), load_cpu)
            print(f"bare sockets, {way.name}: {in_all:.2f} us per delivered message, {kernel:.2f} us the kernel's")
            yield Row(f"load CPU per delivered message over that of bare sockets, {way.name}", ours / in_all, 2, True)


def bare_us(running: Running, plan: Plan, cpu: int) -> tuple[float, float]:
    """CPU time of bare sockets per delivered copy of a plan, us, and the kernel's part of it: a lower bound.

    One thread keeps the broker busy with messages encoded once, and reads the sockets in rotation, as often as the
    load's loop does. It counts bytes: nothing is scanned, audited or numbered.
    """
    os.sched_setaffinity(0, {cpu})
    topic = plan.flows[0].destination
    requests = [
        ConnectionRequest(n, (SubscriptionRequest(n, topic, binding=plan.subscriptions[n][1].selector),))
        for n in range(REPLICATION)
    ]
    subscribers = open_connections(requests, running.endpoint, running.protocol, LANE_DIGITS)
    publishers = open_connections(
        [ConnectionRequest(n) for n in range(PUBLISHERS)], running.endpoint, running.protocol, LANE_DIGITS
    )
    message = publishers[0].session.template(plan.lanes[0], plan.profile).data
    buffer = memoryview(bytearray(READ_BYTES))
    epoll = select.epoll()
    reading = {each.socket.fileno(): each.socket for each in subscribers}
    try:
        for descriptor in reading:
            epoll.register(descriptor, select.EPOLLIN)
        sent = received = begun = 0
        begin: os.times_result | None = None
        end = time.monotonic() + LONG_S + 1
        while (now := time.monotonic()) < end:
            if begin is None and now > end - LONG_S:
                begin, begun = os.times(), received
            free = IN_FLIGHT_BARE - sent + received // (REPLICATION * len(message))
            if free >= IN_FLIGHT_BARE * SCANNED_SHARE:
                for publisher in publishers[: free * PUBLISHERS // IN_FLIGHT_BARE]:
                    publisher.write_all(message * IN_FLIGHT_PER_PUBLISHER)
                    sent += IN_FLIGHT_PER_PUBLISHER
            time.sleep(PROMPT_US / 1e6)
            for descriptor, _ in epoll.poll(0.02, MOST_READS):
                received += reading[descriptor].recv_into(buffer)
        assert begin is not None
        took, copies = os.times(), (received - begun) / len(message) / 1e6
        kernel = took.system - begin.system
        return (took.user - begin.user + kernel) / copies, kernel / copies
    finally:
        epoll.close()
        close_all([*subscribers, *publishers])


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


def proton_us(settled: bool, running: Running, cpu: int) -> float:
    """Load CPU of a closed loop of Proton's clients per delivered message, us; one thread, nothing is checked.

    settled: whether messages are settled when they are sent; otherwise each is accepted
    """
    endpoint = running.endpoint
    options = {
        "settled": settled,
        "replication": REPLICATION,
        "publishers": PUBLISHERS,
        "in_flight": IN_FLIGHT,
        "seconds": LONG_S,
        "cpu": cpu,
        "user": endpoint.login,
        "password": endpoint.passcode,
    }
    command = [SYSTEM_PYTHON, PROTON_LOAD, f"amqp://{endpoint.host}:{endpoint.port}", json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + LONG_S, check=True)
    return float(done.stdout)


def _acknowledging(mode: AckMode, *, stored: bool = False) -> Profile:
    return Profile(f"{mode}", persistent=stored, receipts=stored, ack=mode)


#: By broker.
WAYS: Mapping[str, Sequence[Way]] = {
    MANY_ON: (
        Way("QoS 0", PROFILES["today"], 0.8, "paho-mqtt", partial(paho_us, 0), bare=True),
        Way("QoS 1", _acknowledging(AckMode.CLIENT_INDIVIDUAL, stored=True), 1.2, "paho-mqtt", partial(paho_us, 1)),
    ),
    "rabbitmq,protocol=amqp091": (
        Way("no-ack", PROFILES["today"], 0.9, "pika", partial(pika_us, False)),
        Way("multiple acks", _acknowledging(AckMode.CLIENT), 1.0, "pika", partial(pika_us, True)),
    ),
    "artemis,protocol=amqp": (
        Way("settled", PROFILES["today"], 0.9, "proton", partial(proton_us, True)),
        Way("dispositions of ranges", _acknowledging(AckMode.CLIENT), 1.2, "proton", partial(proton_us, False)),
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
