"""`make bench-engine`, second part: what the load costs over MQTT, beside paho-mqtt on the same Mosquitto, in one run.

What the kernel takes for the same copies is shown beside it: bare sockets that are read as often, and nothing else.

Never a test: absolute times belong to the machine. Nothing else may run meanwhile.
"""

from __future__ import annotations

import json
import os
import select
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from scipy.stats import sem, t
from tabulate import tabulate

from fixtures.brokers import Running
from fixtures.host import cpus
from fixtures.load.group.coordinator import Workers
from fixtures.load.net.connection import READ_BYTES
from fixtures.load.net.opening import ConnectionRequest, close_all, open_connections
from fixtures.load.throughput.layout_run import IN_FLIGHT_PER_PUBLISHER
from fixtures.load.throughput.loop import BOOKED_SHARE, PROMPT_US, reads_per_turn
from fixtures.wire.events import SubscriptionRequest
from fixtures.wire.stamp import LANE_DIGITS
from microbench.test_replication import EXPERIMENT
from tests.bench_engine import CPUS, LONG_S, SHORT_S, Bench, Row, load_us, on_broker, shown
from workloads.messaging import AckMode
from workloads.schema import Window
from workloads.selectors import Equals
from workloads.throughput.flow import PROFILES, Cell, Plan, Profile, Subscription, Template, on_topic

BROKER = "mosquitto"
REPLICATION, PUBLISHERS = 10, 20
#: Further subscriptions, and how many of them share a connection.
FURTHER, PER_CONNECTION, ROUNDS = (20_000, 100_000), 100, 12
#: Messages of paho's publishers that may be in flight, as of the engine's.
IN_FLIGHT = 1000
#: The same for bare sockets: as many as the engine has of such a cell.
IN_FLIGHT_BARE = IN_FLIGHT_PER_PUBLISHER * PUBLISHERS


@dataclass(frozen=True, slots=True)
class Qos:
    """A quality of service."""

    level: int
    profile: Profile
    #: Largest load CPU per delivered message, us.
    target_us: float


LEVELS = (
    Qos(0, PROFILES["today"], 0.8),
    Qos(1, Profile("qos 1", persistent=True, receipts=True, ack=AckMode.CLIENT_INDIVIDUAL), 1.2),
)


def engine_and_paho(one: Bench, running: Running, load_cpu: int) -> Iterator[Row]:
    """Load CPU per delivered message: twice each, in turn."""
    cell = Cell(f"f0000-r{REPLICATION:03d}", {"further": 0, "replication": REPLICATION})
    for qos in LEVELS:
        windows: list[Window] = []
        others: list[float] = []
        for _ in range(2):
            windows += one.cell(EXPERIMENT.plan(cell, qos.profile))
            others.append(paho_us(running, qos.level, load_cpu))
        ours, theirs = load_us(windows), sum(others) / len(others)
        print(f"QoS {qos.level}, r = {REPLICATION}: {ours:.2f} us per delivered message, paho-mqtt {theirs:.1f} us")
        yield Row(f"load CPU per delivered message, us, QoS {qos.level}, r = {REPLICATION}", ours, qos.target_us, True)
        yield Row(f"the same as a share of paho-mqtt's, QoS {qos.level}", ours / theirs, 1 / 10, True)
        if not qos.level:
            in_all, kernel = bare_us(running, EXPERIMENT.plan(cell, qos.profile), load_cpu)
            print(f"bare sockets, QoS 0: {in_all:.2f} us per delivered message, {kernel:.2f} us of them the kernel's")
            yield Row("load CPU per delivered message over that of bare sockets, QoS 0", ours / in_all, 2, True)


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
        most = reads_per_turn(plan, workers=1)
        sent = received = begun = 0
        begin: os.times_result | None = None
        end = time.monotonic() + LONG_S + 1
        while (now := time.monotonic()) < end:
            if begin is None and now > end - LONG_S:
                begin, begun = os.times(), received
            free = IN_FLIGHT_BARE - sent + received // (REPLICATION * len(message))
            if free >= IN_FLIGHT_BARE * BOOKED_SHARE:
                for publisher in publishers[: free * PUBLISHERS // IN_FLIGHT_BARE]:
                    publisher.write_all(message * IN_FLIGHT_PER_PUBLISHER)
                    sent += IN_FLIGHT_PER_PUBLISHER
            time.sleep(PROMPT_US / 1e6)
            for descriptor, _ in epoll.poll(0.02, most):
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


def paho_us(running: Running, qos: int, cpu: int) -> float:
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


def main() -> None:
    cpus.require_descriptors(6000)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name, on_broker(BROKER, Path(name), batch=True) as (running, load_cpu):
        os.sched_setaffinity(0, {load_cpu})
        workers = Workers(1, [load_cpu])
        try:
            one = Bench(running, Path(name), workers)
            many_subscriptions(one, running)  # before its memory has grown by messages that wait
            rows += engine_and_paho(one, running, load_cpu)
        finally:
            workers.close()
    os.sched_setaffinity(0, CPUS)
    print(shown(rows))
    print(json.dumps({row.what: round(row.value, 4) for row in rows}))


if __name__ == "__main__":
    main()
