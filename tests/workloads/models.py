"""Models of all workloads, for tests: named ones, any that can be built, and what their scenarios send when walked."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice

from hypothesis import strategies as st

from tests.workloads.jms2009ps.configurations import BASES, configurations
from tests.workloads.logistics.sizes import as_printed, corrected
from tests.workloads.supply_chain.topologies import own_topologies
from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.logistics.compiled import LogisticsModel
from workloads.logistics.dimensions import Addressing
from workloads.messaging import DestinationKind
from workloads.registry import WORKLOADS
from workloads.scenario.execution import Execution
from workloads.scenario.message import MessageSpec
from workloads.scenario.model import Driver, Handler
from workloads.scenario.workload import NO_TEXT, Case, ExpectedMessage, Model, Text
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import horizontal


def text_of(case: Case) -> Text:
    """The text of the file that a case reads unless the user names one."""
    file = case.files and case.files.default
    return Text(file.name, file.read_text(encoding="utf-8")) if file else NO_TEXT


def _named() -> Iterator[tuple[str, Model]]:
    for workload in WORKLOADS.values():
        for case in workload.cases.values():
            for base in (1, 2) if workload.presets else (1, 7):
                request = workload.request(base, text_of(case), {"vehicles": 2} if workload.presets else {})
                yield f"{workload.name}-{case.cell(request)}", case.model(request)
    for base in (4, 21):
        yield f"horizontal-{base}", SupplyChain(horizontal(base))
    yield "logistics-topics", LogisticsModel(corrected(2, 2, 720, addressing=Addressing.TOPIC))
    yield "logistics-thrice", LogisticsModel(as_printed(3, 1, 9, customers_per_connection=1))


#: Every case at small and odd BASEs: below 5, not a multiple of 5, one past a headquarters instance.
NAMED: Mapping[str, Model] = dict(_named())

#: Any model on the supply chain's tables.
ANY = st.one_of(
    own_topologies().map(SupplyChain),
    st.builds(ConfiguredSupplyChain.configured, configurations(), st.sampled_from(BASES)),
)


@dataclass(frozen=True, slots=True)
class Start:
    """A message that starts an execution."""

    execution: Execution
    outgoing: MessageSpec
    fields: tuple[int, ...]
    sender: int
    #: The column of its sizes.
    column: int = 0


def starts_of(driver: Driver, numbers: Iterable[int]) -> Iterator[Start]:
    """Some starts of a driver."""
    for number in numbers:
        fields = driver.fields[number % len(driver.fields)]
        yield Start(
            Execution.of(driver.execution(number)), driver.outgoing, fields, driver.sender, driver.column(number)
        )


def orders_of(model: Model, most: int) -> Iterator[Start]:
    """The first orders of the sessions; none if no population has any."""
    for population in model.scenario.populations:
        if population.outgoing is not None:
            orders = (order for number in count() for order in population.law.orders(number))
            for order in islice(orders, most):
                yield Start(Execution.of(order.execution), population.outgoing, order.fields, order.sender)


@dataclass(frozen=True, slots=True)
class Walked:
    """What an execution sends, and what arrives where."""

    sent: list[ExpectedMessage] = field(default_factory=list)
    #: Each copy that a handler gets.
    received: list[tuple[ExpectedMessage, Handler]] = field(default_factory=list)


class Walker:
    """Walks executions by the rows of a scenario alone; of handlers that share a queue the first takes a message."""

    def __init__(self, model: Model) -> None:
        self._addresses = model.addresses
        self._hearing: dict[int, list[Handler]] = defaultdict(list)
        scenario = model.scenario
        queues = {
            number
            for number, address in enumerate(scenario.addresses)
            if scenario.destinations[address.destination].kind is DestinationKind.QUEUE
        }
        for handler in scenario.handlers:
            for number in handler.addresses:
                if number not in queues or not self._hearing[number]:
                    self._hearing[number].append(handler)

    def walk(self, start: Start) -> Walked:
        found, under_way = Walked(), deque([(start.outgoing, start.sender)])
        while under_way:
            outgoing, sender = under_way.popleft()
            number = outgoing.addresses[start.fields[outgoing.field]]
            message = ExpectedMessage(self._addresses[number], sender, outgoing.body_bytes[start.column])
            found.sent.append(message)
            for handler in self._hearing[number]:
                found.received.append((message, handler))
                answers = [
                    answer.outgoing
                    for answer in handler.answers
                    if answer.only_from is None or start.fields[answer.only_from] == sender
                ]
                under_way.extend((answer, handler.sender) for answer in answers)
        return found
