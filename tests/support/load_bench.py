"""What the tests of brokers and connections share: cells laid out and measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from fixtures.brokers import registry as brokers
from fixtures.brokers.spec import Running
from fixtures.host import cpus
from fixtures.load.group.coordinator import LoadGroup, Workers
from fixtures.load.group.job import CellLoad, Client, LayoutId, LayoutJob, LoadSettings, Side
from fixtures.load.group.quoting import quoting
from fixtures.load.hosts.hosted_workers import HostedWorkers
from fixtures.load.throughput.hosted_layout_run import HostedLayoutRun
from fixtures.load.throughput.layout_run import LayoutContext, LayoutRun, LiveBroker, PlannedSlice
from fixtures.recording.run_directory import RunDirectory
from fixtures.session.throughput_start import CellOutcome
from tests.conftest import read_json, table_rows
from tests.support.relay import Relay
from workloads.messaging import Destination, DestinationKind
from workloads.schedule import Slot
from workloads.schema import Window
from workloads.selectors import Equals
from workloads.status import WindowStatus
from workloads.throughput.blocks import Block, BlockCell
from workloads.throughput.flow import PROFILES, Flow, Plan, Profile, Subscription, Template
from workloads.throughput.load_shape import ClosedLoop, CreditBy, SendRule
from workloads.throughput.presets import ramp_s

CPUS = cpus.available_cpus()
#: Near its memory limit it sends messages that asked for a receipt behind newer ones of the same publisher.
ACTIVEMQ = "activemq,memory_limit=256mb"


#: Numbers of the destinations that plans get.
_NUMBERS = count()


def plan_of(profile: Profile = PROFILES["today"], *, publishers=4, body_bytes=90, per_connection=1, cell="cell"):
    """Two templates, one of which has a property that versions escape differently, to five subscriptions.

    The destination is of this plan alone, so that no cell sees what another left.
    """
    wanted = [Equals("ID", "#0"), Equals("ID", "#0"), Equals("ID", "#1"), None, Equals("ID", "#2")]
    templates = (Template((("ID", "#0"),)), Template((("ID", "#1"), ("P", "a:b")), body_bytes=body_bytes))
    flow = Flow(own_destination(), publishers, templates, tuple(map(Subscription, wanted)), per_connection)
    return Plan("test", cell, profile, (flow,))


def own_destination(kind: DestinationKind = DestinationKind.TOPIC) -> Destination:
    """One that nobody else of this process uses."""
    return Destination(kind, f"t{os.getpid()}.{next(_NUMBERS)}")


#: The first layout that counts.
FIRST = LayoutId(1, 1, 0)


@dataclass(frozen=True)
class Way:
    """How a test puts load on its cells: all of them by one rule, in slices of so many seconds."""

    rule: SendRule
    coalesce_us: int = 500
    slice_s: float = 0.1
    events: bool = False
    progress_limit_s: float = 10.0
    client: Client = Client.BULK
    last_silence_s: float = 1.0

    @property
    def load(self) -> LoadSettings:
        """As a run has it, of which each cell's own load is not taken here."""
        rule = self.rule if isinstance(self.rule, ClosedLoop) else ClosedLoop(1)
        return LoadSettings(
            rule, self.coalesce_us, self.events, self.progress_limit_s, self.client, self.last_silence_s
        )


@dataclass
class Laid:
    """Cells that are laid out; the numbers of their slices count on."""

    run: LayoutRun
    block: Block
    loads: Sequence[CellLoad]
    layout_id: LayoutId
    roles: Sequence[str]
    slice_s: float
    windows: list[Window] = field(default_factory=list)
    #: Messages per second in the last slice, by broker and cell; what is put in is taken as that of an earlier layout.
    rates: dict[tuple[int, int], float] = field(default_factory=dict)
    _outcomes: dict[tuple[int, int], CellOutcome] = field(default_factory=dict)

    def slice(
        self, cell: int = 0, seconds: float | None = None, *, side: int = 0, number: int = 1, most: int | None = None
    ) -> Window:
        """One cell under load, with at most so many messages in flight, or as many as its rule says."""
        position = sum(window.round == number for window in self.windows)
        wanted = self._wanted(cell, position, side, number, most)
        window = self.run.slice(replace(wanted, measured_s=seconds or self.slice_s))
        self._note(side, cell, window)
        return window

    def round(self, order: Sequence[int], number: int = 1, *, side: int = 0) -> list[Window]:
        """A slice of each of these cells, in this order, measured as a round."""
        wanted = [self._wanted(cell, position, side, number) for position, cell in enumerate(order)]
        measured = self.run.round(wanted)
        for cell, window in zip(order, measured, strict=True):
            self._note(side, cell, window)
        return measured

    def rounds_until(self, messages: int, *, side: int = 0) -> list[Window]:
        """Rounds of all cells until each has sent so many messages: how many that takes depends on the host."""
        cells = range(len(self.block.cells))
        sent, windows, end = [0] * len(cells), [], time.monotonic() + PATIENCE_S
        rounds = count(1)
        while min(sent) < messages:
            assert time.monotonic() < end, f"{sent} messages of the cells, {messages} of each are needed"
            measured = self.round(cells, next(rounds), side=side)
            sent = [before + window.received for before, window in zip(sent, measured, strict=True)]
            windows += measured
        return windows

    def _note(self, side: int, cell: int, window: Window) -> None:
        self.windows.append(window)
        if window.messages:
            self.rates[side, cell] = window.messages_per_s

    def _wanted(self, cell: int, position: int, side: int, number: int, most: int | None = None) -> PlannedSlice:
        rule = self.loads[cell].rule
        credit = (most or rule.in_flight) if isinstance(rule, ClosedLoop) else None
        status = WindowStatus.OK if number else WindowStatus.WARM_UP
        return PlannedSlice(
            cell,
            number,
            position,
            ramp_s(self.slice_s),
            self.slice_s,
            status,
            credit,
            self.rates.get((side, cell)),
            side,
        )

    def finish(self, cell: int = 0, side: int = 0) -> CellOutcome:
        """Ends the layout when it is first asked; what came of one of its cells."""
        if not self._outcomes:
            done = self.run.finish()
            for at, role in enumerate(self.roles):
                for number, each in enumerate(self.block.cells):
                    slot = Slot(role, self.layout_id.start, *each.key)
                    self._outcomes[at, number] = CellOutcome(slot, done.audits[at][number], done.windows[at][number])
        return self._outcomes[side, cell]

    def finished(self, side: int = 0) -> list[CellOutcome]:
        """What came of each cell."""
        return [self.finish(cell, side) for cell in range(len(self.block.cells))]


@contextmanager
def lay_out(
    brokers_: Running | Sequence[Running],
    plans: Sequence[Plan],
    folder: Path | RunDirectory,
    workers: LoadGroup,
    way: Way,
    *,
    rules: Sequence[SendRule | CellLoad] = (),
    own_connections: bool = False,
    layout_id: LayoutId = FIRST,
) -> Iterator[Laid]:
    """These plans as the cells of one block, laid out on a broker, or on several live ones.

    rules: where the cells differ in theirs, one for each · folder: where a run directory is made for it.
    """
    running = [brokers_] if isinstance(brokers_, Running) else list(brokers_)
    roles = ["broker"] if len(running) == 1 else ["baseline", "candidate"]
    directory = RunDirectory(folder, "test", {}) if isinstance(folder, Path) else folder
    block = Block(layout_id.block, tuple(BlockCell(plan, None, own_connections) for plan in plans))
    asked = rules or [way.rule] * len(plans)
    loads = [each if isinstance(each, CellLoad) else CellLoad(each, way.coalesce_us) for each in asked]
    live = [LiveBroker.of(role, each) for role, each in zip(roles, running, strict=True)]
    context = LayoutContext(way.load, lambda: workers, directory, lambda: None)
    made = HostedLayoutRun if isinstance(workers, HostedWorkers) else LayoutRun
    run = made(block, loads, layout_id, live, context)
    with quoting(running[-1]):
        run.open()
        with run:
            yield Laid(run, block, loads, layout_id, roles, way.slice_s)


def job_of(plans: Sequence[Plan], folder: Path, *sides: Side) -> LayoutJob:
    """A layout of these cells for a worker, in a closed loop without a pause."""
    rule = ClosedLoop(10)
    block = Block(0, tuple(map(BlockCell, plans)))
    loads = (CellLoad(rule, coalesce_us=0),) * len(plans)
    return LayoutJob(block, loads, LoadSettings(rule, 0, events=False), sides, FIRST, folder)


def measured(
    running: Running, plan: Plan, folder: Path, workers: Workers, client: Client = Client.BULK, in_flight: int = 200
) -> CellOutcome:
    """The outcome of one slice of full load."""
    way = Way(ClosedLoop(in_flight, loop_of(plan)), slice_s=0.5, client=client)
    with lay_out(running, [plan], folder, workers, way) as laid:
        laid.slice()
        return laid.finish()


def loop_of(plan: Plan) -> CreditBy:
    """What gives credit back: receipts, where there are any."""
    return CreditBy.RECEIPT if plan.profile.receipts else CreditBy.DELIVERY


def truth_of(running: Running) -> dict[str, int]:
    """What a reference broker has done up to the last receipt of a client."""
    truth: dict[str, int] = read_json(running.log.parent / "truth.json")["messages"]
    return truth


def through(relay: Relay, running: Running, **capabilities: Any) -> Running:
    """A broker as a load sees it that reaches it by a relay."""
    return replace(
        running,
        endpoint=replace(running.endpoint, port=relay.port),
        capabilities=replace(running.capabilities, **capabilities),
    )


@dataclass
class Bench:
    """A run directory, workers and brokers of one test, and all processes that it ever had."""

    directory: RunDirectory
    stack: ExitStack
    #: The reference broker of all tests, which none of them may end.
    shared: Running
    pool: LoadGroup | None = None
    #: Of brokers and workers of this test alone.
    pids: set[int] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._before = truth_of(self.shared)

    def truth(self) -> dict[str, int]:
        """What the shared broker has done in this test."""
        return {word: number - self._before[word] for word, number in truth_of(self.shared).items()}

    def broker(self, text: str = "reference") -> Running:
        """A broker of this test alone."""
        folder = self.directory.path / "brokers" / str(len(self.ports))
        folder.mkdir(parents=True)
        running = brokers.start(brokers.parse(text), folder, CPUS[-1:])
        self.stack.callback(running.stop)
        self.pids.add(running.account.pid)
        self.ports.add(running.endpoint.port)
        return running

    def workers(self, number: int = 1) -> Workers:
        """Workers of this test alone, which may end."""
        pool = Workers(number, CPUS[:1])
        self.pool = pool
        self.stack.callback(pool.close)
        self.pids.update(pool.pids)
        return pool

    def relay(self, kind: type[Relay] = Relay, running: Running | None = None) -> Relay:
        relay = kind((running or self.shared).endpoint)
        self.stack.callback(relay.close)
        return relay

    def cell(self, plan=None, way=None, workers=None, running=None, **changes):
        """One cell, laid out; see `lay_out`."""
        return self.cells([plan or plan_of()], way, workers, running, **changes)

    def cells(self, plans, way=None, workers=None, running=None, **changes):
        running = running or self.shared
        pool = workers or self.pool or self.workers()
        return lay_out(running, plans, self.directory, pool, way or Way(ClosedLoop(50)), **changes)

    def rows(self, table: str, **keys: Any) -> list[dict[str, Any]]:
        return table_rows(self.directory.path, table, **keys)

    def assert_nothing_complete(self) -> None:
        """Of a layout that failed no file is read as one that is whole."""
        assert not any(self.rows(table) for table in ("layouts", "windows", "sends", "deliveries"))


#: Far more than anything here takes, also beside other work.
PATIENCE_S = 30.0
