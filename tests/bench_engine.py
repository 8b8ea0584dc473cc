"""`make bench-engine`: what the engine itself costs, as ratios within one run on a real ActiveMQ.

Never a test: absolute times belong to the machine. Nothing else may run meanwhile. The last line is one
JSON object.
"""

from __future__ import annotations

import json
import os
import select
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from tabulate import tabulate

from analysis.frames import frames
from analysis.spark import session
from analysis.throughput.audit import audit
from analysis.throughput.reader import open_runs
from fixtures.brokers import registry as brokers
from fixtures.brokers.spec import Running
from fixtures.host import cpus, scheduling
from fixtures.load.group.coordinator import LoadGroup, Workers
from fixtures.load.group.job import CaseSettings, Client
from fixtures.load.net.opening import ConnectionRequest, close_all, open_connections
from fixtures.load.scenario.case_run import CaseContext, load
from fixtures.load.throughput.delivery_tracker import DeliveryTracker
from fixtures.load.throughput.publisher import BLOCK_MESSAGES
from fixtures.load.throughput.slice_sizes import in_flight
from fixtures.recording.run_directory import RunDirectory
from fixtures.wire.blocks import MessageBlock
from fixtures.wire.events import Login, SubscriptionRequest
from fixtures.wire.stamp import LANE_DIGITS, lane_stamp
from fixtures.wire.stomp.client import Stomp
from fixtures.wire.stomp.codec import encode
from fixtures.wire.stomp.frames import Frame
from fixtures.wire.stomp.scan import MESSAGES, scan
from microbench.test_replication import EXPERIMENT
from tests.support.hosts import hosted
from tests.support.load_bench import FIRST, Way, lay_out
from tests.support.run_directories import write_events
from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.messaging import AckMode, Destination, DestinationKind
from workloads.scenario.model import DESTINATION_PREFIX, Consumption, Scenario
from workloads.scenario.periods import Period
from workloads.schedule import Slot
from workloads.schema import RunKind, Window
from workloads.supply_chain import supply_chain, topology
from workloads.throughput.flow import PROFILES, Cell, Plan
from workloads.throughput.load_shape import ClosedLoop

TODAY = PROFILES["today"]
CREDIT = ClosedLoop(1000)
#: Slices long enough to tell CPU times to the percent, and as a run has them.
LONG_S, SHORT_S = 4.0, 0.4
#: Cells of a block in which one is compared with itself alone, and in how many rounds.
COMPANY, ROUNDS = 12, 6
WARM_UP_S = 45.0
CPUS = os.sched_getaffinity(0)
#: Copies that one scan of the loop takes at 100 000 per s: eight turns with a pause of 0.5 ms.
COPIES_PER_BLOCK = 400
EVENTS = 10_000_000
#: The workload that reacts: ActiveMQ, which waits for no disk and notes no deliveries, at what it takes of one core
#: without a growing backlog; and the suite's own broker, which does less for a message, up to what that takes.
REACTING = {"activemq,sync=never,redelivery=memory": (100,), "reference": (100, 300, 600)}
#: BASE at which the scenarios of jms2009ps are compared with specjms2007, in how many rounds, and for how long each.
FILTERED_BASE, FILTERED_ROUNDS, FILTERED_WARM_UP_S, FILTERED_S = 100, 4, 4.0, 10.0
#: Brokers on which load from one host and from two is compared, with how many copies of a message, in how many rounds,
#: and with how many slices in each.
CHANNELS, CHANNEL_REPLICATION, CHANNEL_ROUNDS, CHANNEL_SLICES = ("activemq", "reference"), (1, 10), 8, 4
#: Queues in the ring of bare sockets.
RING = 91


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: the target is its limit, and `holds` says on which side of it the figure lies."""

    what: str
    value: float
    target: float
    at_most: bool

    @property
    def holds(self) -> bool:
        return self.value <= self.target if self.at_most else self.value >= self.target


def plan_of(further: int, replication: int) -> Plan:
    cell = Cell(f"f{further:04d}-r{replication:03d}", {"further": further, "replication": replication})
    return EXPERIMENT.plan(cell, TODAY)


class Bench:
    """A broker start on which layouts are measured one after the other."""

    def __init__(self, running: Running, folder: Path, workers: LoadGroup) -> None:
        self.running, self.workers = running, workers
        self._directory = RunDirectory(folder, "engine", {})
        self._layout = 0
        self._rates: dict[str, float] = {}  # of a cell in its last slice, as a run knows it from the layout before

    def cell(
        self,
        plan: Plan,
        slices: int = 2,
        seconds: float = LONG_S,
        client: Client = Client.BULK,
        look: Callable[[], None] = lambda: None,
    ) -> list[Window]:
        """The slices of a cell alone in its block; `look` is called between them."""
        return self.rotation([plan], slices, seconds, client, look)[0]

    def rotation(
        self,
        plans: Sequence[Plan],
        rounds: int,
        seconds: float,
        client: Client = Client.BULK,
        look: Callable[[], None] = lambda: None,
    ) -> list[list[Window]]:
        """The slices of each cell in a block of all of them, behind a round that is not counted."""
        self._layout += 1
        layout_id = replace(FIRST, layout=self._layout)
        way = Way(CREDIT, slice_s=seconds, client=client)
        with lay_out(self.running, plans, self._directory, self.workers, way, layout_id=layout_id) as laid:
            laid.rates |= {(0, n): self._rates[plan.cell] for n, plan in enumerate(plans) if plan.cell in self._rates}
            windows: list[list[Window]] = [[] for _ in plans]
            for number in range(rounds + 1):
                for cell, plan in enumerate(plans):
                    most = in_flight(plan, CREDIT, laid.rates.get((0, cell)), seconds)
                    window = laid.slice(cell, seconds if number else SHORT_S, number=number, most=most)
                    if number:
                        windows[cell].append(window)
                        look()
            self._rates |= {plans[cell].cell: rate for (_, cell), rate in laid.rates.items()}
            for outcome in laid.finished():
                if not outcome.exact:
                    raise SystemExit(outcome.explain())
        return windows


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    cpus.require_descriptors(6000)
    with on_broker("activemq", folder, batch=True) as (running, load_cpu):
        os.sched_setaffinity(0, {load_cpu})
        workers = Workers(1, [load_cpu])
        try:
            yield Bench(running, folder, workers)
        finally:
            workers.close()


def against_stomp_py(one: Bench) -> Iterator[Row]:
    """Load CPU per delivered message, as a share of stomp.py's with the same plan and audit: twice each, in turn."""
    for replication, target in ((10, 1 / 20), (40, 1 / 25)):
        windows: dict[Client, list[Window]] = {client: [] for client in Client}
        for client in [*Client] * 2:
            windows[client] += one.cell(plan_of(0, replication), client=client)
        bulk, plain = map(load_us, windows.values())
        print(f"r = {replication}: {bulk:.2f} us per delivered message, stomp.py {plain:.1f} us")
        yield Row(f"load CPU per delivered message, share of stomp.py's, r = {replication}", bulk / plain, target, True)


def load_us(windows: Sequence[Window]) -> float:
    """Microseconds of load CPU per delivered message."""
    return sum(window.load_cpu_ns for window in windows) / sum(window.dispatched for window in windows) / 1e3


def among_others(one: Bench) -> Iterator[Row]:
    """Load CPU per delivered message of a cell alone in its block, and of the same cell among many, in one run.

    Alone also in long slices, as the engine was measured before cells took turns: twice each, in turn.
    """
    others = [EXPERIMENT.plan(cell, TODAY) for cell in EXPERIMENT.cells("quick")]
    table = []
    for further, replication in ((0, 10), (0, 40)):
        plan = plan_of(further, replication)
        company = [plan, *(other for other in others if other.cell != plan.cell)][:COMPANY]
        long, short, among = [], [], []
        for _ in range(2):
            long += one.cell(plan)
            short += one.cell(plan, ROUNDS, SHORT_S)
            among += one.rotation(company, ROUNDS, SHORT_S)[0]
        seen = list(map(load_us, (long, short, among)))
        table.append((plan.cell, *seen, seen[2] / seen[1]))
    headers = ("cell", f"alone, {LONG_S:g} s", f"alone, {SHORT_S:g} s", f"of {COMPANY}, {SHORT_S:g} s", "ratio")
    print(tabulate(table, headers=headers, floatfmt=".3f"))
    for name, *_, ratio in table:
        yield Row(f"load CPU per delivered message, {name} among {COMPANY} cells over alone", ratio, 1.1, True)


def largest_cells(one: Bench) -> Iterator[Row]:
    """The corners of the grid: who is the bottleneck, is the flow conserved, do two slices agree."""
    table = []
    corners = [(0, 1), (0, 40), (4960, 1), (4960, 40)]
    for further, replication in corners:
        first, second = one.cell(plan_of(further, replication))
        table.append(
            {
                "cell": plan_of(further, replication).cell,
                "received_per_s": second.messages_per_s,
                "broker_cpu": min(w.broker_cpu_ns / (w.end_ns - w.begin_ns) for w in (first, second)),  # type: ignore[operator]
                "load_cpu": max(w.load_cpu_ns / (w.end_ns - w.begin_ns) for w in (first, second)),
                "conservation": max(abs(w.dispatched / w.expected - 1) for w in (first, second)),
                "disagreement": abs(first.messages_per_s / second.messages_per_s - 1),
            }
        )
    print(tabulate(table, headers="keys", floatfmt=".3f"))
    yield Row("broker CPU of its core, least of the corner cells", min(row["broker_cpu"] for row in table), 0.97, False)
    yield Row("load CPU of its core, most of the corner cells", max(row["load_cpu"] for row in table), 0.5, True)
    yield Row("conservation, worst slice of the corner cells", max(row["conservation"] for row in table), 0.01, True)
    yield Row("two slices of a cell, worst of the corner cells", max(row["disagreement"] for row in table), 0.05, True)


def memory(one: Bench) -> Iterator[Row]:
    """A worker with 2600 connections: how much memory, and how much more at the end than at the begin."""
    sizes: list[int] = []
    one.cell(plan_of(2540, 40), 12, 2.5, look=lambda: sizes.append(one.workers.rss_bytes()))
    yield Row("memory of a worker with 2600 connections, MB", max(sizes) / 1e6, 300, True)
    yield Row("its growth over 30 s of load, MB", (sizes[-1] - sizes[0]) / 1e6, 5, True)


def over_channel(folder: Path) -> Iterator[Row]:
    """Load CPU per delivered message of two hosts of one worker each, over that of two workers of one host.

    The hosts are processes of this machine on one CPU, without Spark; the CPU time of their agents counts. Both forms
    of the load take turns within one life of a broker, in every other round hosts first, behind a round of long slices
    that is not counted. A ratio is that of the two in one round; the row is the median of the rounds.
    """
    table = []
    for spec in CHANNELS:
        with on_broker(spec, folder, batch=True) as (running, load_cpu):
            os.sched_setaffinity(0, {load_cpu})
            forms: tuple[LoadGroup, ...] = Workers(2, [load_cpu]), hosted(hosts=2, workers=1)
            try:
                benches = [Bench(running, Path(tempfile.mkdtemp(dir=folder)), workers) for workers in forms]
                us: dict[int, list[list[float]]] = {replication: [[], []] for replication in CHANNEL_REPLICATION}
                for number in range(CHANNEL_ROUNDS + 1):
                    for replication, of_forms in us.items():
                        for form in (0, 1)[:: -1 if number % 2 else 1]:
                            plan, seconds = plan_of(0, replication), SHORT_S if number else LONG_S
                            seen = load_us(benches[form].cell(plan, CHANNEL_SLICES, seconds))
                            if number:
                                of_forms[form].append(seen)
            finally:
                for workers in forms:
                    workers.close()
        for replication, (here, hosts) in us.items():
            ratios = np.divide(hosts, here)
            spread = np.median(ratios), ratios.min(), ratios.max()
            table.append((spec, replication, np.median(here), np.median(hosts), *spread))
    headers = ("broker", "r", "us here", "us on hosts", "ratio", "least", "most")
    print(tabulate(table, headers=headers, floatfmt=".3f"))
    for spec, replication, _, _, ratio, _, _ in table:
        what = f"load CPU per delivered message, two hosts over one, r = {replication}, {spec}"
        yield Row(what, float(ratio), 1.15, True)


def reacting(folder: Path) -> Iterator[Row]:
    """Load CPU per message sent or received, all frames included, strict: the workload at several rates.

    Below saturation nearly every message is a wake-up of its own, and some 0.03 of a core goes to what is done anyway;
    the more there is to do, the more is read at once. What sockets cost at least says a ring of queues that bare
    sockets keep saturated. Of everything the last of two runs.
    """
    table = []
    for spec, bases in REACTING.items():
        with on_broker(spec, folder) as (running, load_cpu):
            for base in bases:
                scenario = supply_chain.SupplyChain(topology.vertical(base)).scenario
                *_, seen = (_performed(running, folder, load_cpu, scenario, (20, 20)) for _ in range(2))
                table.append((spec, f"vertical BASE {base}", *seen))
            *_, bare = (_ring(running, load_cpu) for _ in range(2))
            table.append((spec, "ring of bare sockets", *bare))
    print(tabulate(table, headers=("broker", "load", "messages/s", "us per message"), floatfmt=",.1f"))
    yield Row(f"load CPU per message sent or received, us, vertical BASE {base}", seen[1], 30, True)


def over_topics(folder: Path) -> Iterator[Row]:
    """Load CPU per message sent or received of jms2009ps, over that of specjms2007 with the same chains and parties.

    All take turns within one life of a broker, in every other round backwards, behind a round that is not counted. A
    ratio is that of two cells of the same round; the row is the mean of the rounds, the table has their spread.
    """
    scenarios = {
        "specjms2007": supply_chain.SupplyChain(topology.vertical(FILTERED_BASE)).scenario,
        **{
            f"jms2009ps {settings.name}": ConfiguredSupplyChain.configured(settings, FILTERED_BASE).scenario
            for settings in SCENARIOS.values()
        },
    }
    first, *others = scenarios
    table = []
    for spec in REACTING:
        us: dict[str, list[float]] = {name: [] for name in scenarios}
        with on_broker(spec, folder) as (running, load_cpu):
            for number in range(FILTERED_ROUNDS + 1):
                for name in list(scenarios)[:: -1 if number % 2 else 1]:
                    lengths_s = FILTERED_WARM_UP_S, FILTERED_S
                    _, of_message = _performed(running, folder, load_cpu, scenarios[name], lengths_s)
                    if number:
                        us[name].append(of_message)
        for name in others:
            ratios = np.divide(us[name], us[first])
            table.append((spec, name, np.mean(us[name]), np.mean(us[first]), ratios.mean(), ratios.min(), ratios.max()))
    headers = ("broker", "load", "us per message", f"{first}'s", "ratio", "least", "most")
    print(tabulate(table, headers=headers, floatfmt=",.3f"))
    for spec, name, *_, ratio, _, _ in table:
        what = f"load CPU per message, {name} over {first}, BASE {FILTERED_BASE}, {spec.partition(',')[0]}"
        yield Row(what, float(ratio), 1.1, True)


@contextmanager
def on_broker(text: str, folder: Path, *, batch: bool = False) -> Iterator[tuple[Running, int]]:
    """A broker on a CPU of its own, scheduled as for experiments or not, and the CPU that is left for the load."""
    load_cpu, broker_cpu = min(CPUS), max(CPUS)  # this process has been bound to fewer by now
    spec = brokers.parse(text)
    brokers.prepare(spec, print)
    running = brokers.start(spec, Path(tempfile.mkdtemp(prefix=f"{spec.product}-", dir=folder)), [broker_cpu])
    try:
        if batch and running.account is not None:
            scheduling.set_batch(running.account.processes())
        yield running, load_cpu
    finally:
        running.stop()


def _performed(
    running: Running, folder: Path, cpu: int, scenario: Scenario, lengths_s: tuple[float, float]
) -> tuple[float, float]:
    """Messages per second, and microseconds for one; `lengths_s` are those of the warm-up and of the measurement."""
    warm_up_s, measurement_s = lengths_s
    directory = RunDirectory(folder, "reacting", {}, RunKind.WORKLOAD)
    settings = CaseSettings(scenario, Consumption.STRICT)
    workers = Workers(1, [cpu])
    try:
        slot = Slot(running.spec.label, 1, "reacting", "cell")
        with load(settings, slot, CaseContext(workers, running, directory)) as cell:
            cell.period(Period.WARM_UP, warm_up_s)
            before = workers.control.live()
            cell.period(Period.MEASUREMENT, measurement_s)
            after = workers.control.live()
            if reason := cell.finish(60).incomplete_reason:
                raise SystemExit(f"{scenario.name} is more than {running.spec.label} takes here: {reason}")
    finally:
        workers.close()
    messages = after.sent + after.dispatched - before.sent - before.dispatched
    rows = pq.read_table(next((directory.path / "periods").glob("*.parquet"))).to_pylist()
    (row,) = (row for row in rows if row["period"] == Period.MEASUREMENT)
    return messages * 1e9 / (row["end_ns"] - row["begin_ns"]), row["load_cpu_ns"] / 1e3 / messages


def _ring(running: Running, cpu: int) -> tuple[float, float]:
    """Messages per second, and microseconds for one, where bare sockets pass each on in a transaction, in a ring.

    The frames are the same every time.
    """
    os.sched_setaffinity(0, {cpu})
    ring = time.monotonic_ns()  # the last one left its messages behind
    queues = [Destination(DestinationKind.QUEUE, f"{DESTINATION_PREFIX}.ring{ring}.{place}") for place in range(RING)]
    names = [f"/queue/{queue.name}" for queue in queues]
    body = b"x" * 1800
    wanted = [
        ConnectionRequest(place, (SubscriptionRequest(place, queue, ack=AckMode.CLIENT_INDIVIDUAL, ahead=1),))
        for place, queue in enumerate(queues)
    ]
    connections = open_connections(wanted, running.endpoint, running.protocol, LANE_DIGITS)
    epoll = select.epoll()
    sockets = {each.socket.fileno(): (each.socket, names[(each.number + 1) % RING].encode()) for each in connections}
    tails = dict.fromkeys(sockets, b"")
    try:
        for each in connections:
            epoll.register(each.socket.fileno(), select.EPOLLIN)
        for each in connections[::4]:
            frame = Frame("SEND", (("destination", names[each.number]), ("persistent", "true")), body)
            each.socket.sendall(encode(frame))
        messages, begin, end = 0, 0.0, time.monotonic() + 12
        while (now := time.monotonic()) < end:
            if not begin and now > end - 8:  # the first seconds are no steady state
                messages, begin = 0, time.process_time()
            for descriptor, _ in epoll.poll(0.01):
                connection, there = sockets[descriptor]
                *frames, tails[descriptor] = (tails[descriptor] + connection.recv(1 << 17)).split(b"\0")
                for data in frames:
                    if data.lstrip().startswith(b"MESSAGE"):
                        at = data.find(b"\nack:") + 5
                        messages += 2
                        connection.send(
                            b"BEGIN\ntransaction:t\n\n\0ACK\nid:%b\ntransaction:t\n\n\0"
                            b"SEND\ndestination:%b\ntransaction:t\npersistent:true\ncontent-length:1800\n\n%b\0"
                            b"COMMIT\ntransaction:t\nreceipt:t\n\n\0" % (data[at : data.find(b"\n", at)], there, body)
                        )
        return messages / 8, (time.process_time() - begin) * 1e6 / messages
    finally:
        epoll.close()
        close_all(connections)


def message(lane: int, seq: int, subscription: int) -> Frame:
    """A MESSAGE with the headers, and about the length, of ActiveMQ Classic's."""
    headers = (
        ("expires", "0"),
        ("destination", "/topic/bench.replication.f0160-r040"),
        ("subscription", str(subscription)),
        ("priority", "4"),
        ("Stamp", lane_stamp(lane, seq)),
        ("ID", "#0"),
        ("message-id", f"ID:host-40000-1700000000000-3:{lane}:-1:1:{seq}"),
        ("content-length", "0"),
        ("timestamp", "1700000000000"),
    )
    return Frame("MESSAGE", headers)


def scan_and_audit() -> Row:
    """Blocks of bytes as the loop sees them at r = 40: vector scan and exact audit."""
    plan = plan_of(0, 40)
    lanes = len(plan.lanes)
    blocks, subscriptions = [], np.repeat(np.arange(40), -(-COPIES_PER_BLOCK // 40))
    per_subscription = len(subscriptions) // 40
    for turn in range(400):
        at = range(turn * per_subscription, (turn + 1) * per_subscription)
        frames = [encode(message(k % lanes, k // lanes, s)) + b"\n" for s in range(40) for k in at]
        blocks.append(np.frombuffer(b"".join(frames)[:-1], np.uint8))
    arrivals = DeliveryTracker(plan)
    begin = time.process_time()
    for block in blocks:
        stamps = scan(block, MESSAGES)
        assert stamps is not None
        arrivals.add(subscriptions, stamps.lane, stamps.seq, 1)
    seconds = time.process_time() - begin
    assert len(arrivals.finish().lane) == lanes * 40
    return Row(
        "block scan with exact audit, messages/s per core", len(blocks) * len(subscriptions) / seconds, 600_000, False
    )


def encoding() -> Row:
    """Frames whose sequence number is patched in place."""
    lane = plan_of(0, 1).lanes[0]
    block = MessageBlock([Stomp().session(Login()).template(lane, TODAY)], BLOCK_MESSAGES)
    turns = 4000
    begin = time.process_time()
    for turn in range(turns):
        block.renumber(turn * block.count)
    seconds = time.process_time() - begin
    return Row("encoding with patched sequence, frames/s per core", turns * block.count / seconds, 1e6, False)


def analysis(folder: Path) -> Row:
    """The Spark audit of recorded delivery events in local[2], from the second pass on: the first warms the JVM."""
    path, truth = write_events(folder / "events", EVENTS, subscriptions=40)
    os.sched_setaffinity(0, CPUS)
    runs = open_runs([path])
    with session("local[2]", (path / "deliveries").iterdir()) as spark:
        for _ in range(2):
            begin_s = time.monotonic()
            (result,) = audit(frames(spark, runs), runs)
            seconds = time.monotonic() - begin_s
    if result.copies != truth:
        raise SystemExit(f"the audit of the generated events is wrong: {result.copies}")
    return Row("analysis audits recorded events, rows/s in local[2]", result.copies.delivered / seconds, 300_000, False)


def shown(rows: Sequence[Row]) -> str:
    """The figures beside their targets."""
    return tabulate(
        [(row.what, row.value, ("<= " if row.at_most else ">= ") + f"{row.target:g}", row.holds) for row in rows],
        headers=("figure", "seen", "target", "holds"),
        floatfmt=",.3f",
    )


def main() -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows += [scan_and_audit(), encoding()]
        with bench(folder) as one:
            end = time.monotonic() + WARM_UP_S
            while time.monotonic() < end:
                one.rotation([plan_of(*factors) for factors in ((0, 1), (0, 40), (2540, 10))], 2, LONG_S)
            rows += against_stomp_py(one)
            rows += among_others(one)
            rows += largest_cells(one)
            rows += memory(one)
        rows += over_channel(folder)
        rows += reacting(folder)
        rows += over_topics(folder)
        rows.append(analysis(folder))
    print(shown(rows))
    print(json.dumps({row.what: round(row.value, 4) for row in rows}))


if __name__ == "__main__":
    main()
