"""What of a model follows from its scenario: message types, addresses, audiences, and the messages of an execution.

An execution is walked by the rows that the load engine runs: from the message that starts it over the answers of the
handlers that hear it. `business_model` states the rows, the rates, and how often messages repeat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from workloads.messaging import DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.message import MessageSpec
from workloads.scenario.model import Handler, Reply, Scenario
from workloads.scenario.workload import AddressKey, ExpectedMessage, StepSpec


@dataclass(frozen=True, slots=True)
class StartedExecution:
    """How an execution begins."""

    outgoing: MessageSpec
    #: The fields of its chain.
    fields: tuple[int, ...]
    #: Number of the location that starts it.
    sender: int
    #: The column of its sizes.
    column: int = 0


class DerivedModel(ABC):
    """The part of a `workloads.scenario.workload.Model` that is derived."""

    @property
    @abstractmethod
    def scenario(self) -> Scenario:
        """See `Model.scenario`."""

    @property
    @abstractmethod
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        """See `Model.address_rates_per_s`."""

    @property
    def rows(self) -> Scenario:
        """The scenario, or one with the same messages, addresses and handlers that is built with less effort."""
        return self.scenario

    @property
    def sent_per_s(self) -> float:
        return float(sum(self.address_rates_per_s))

    @cached_property
    def steps(self) -> tuple[StepSpec, ...]:
        rows = self.rows
        durable = {handler.step for handler in rows.handlers if handler.durable}
        return tuple(
            StepSpec(
                message,
                self._interaction_of[number],
                self._kind(rows.messages[number].addresses[0]),
                rows.messages[number].persistent,
                rows.messages[number].transacted,
                number in durable,
                rows.messages[number].body_bytes,
            )
            for number, message in enumerate(rows.steps)
        )

    @cached_property
    def addresses(self) -> tuple[AddressKey, ...]:
        messages = self.rows.messages
        return tuple(
            AddressKey(step, party) for step in sorted(messages) for party in range(len(messages[step].addresses))
        )

    def party(self, address: AddressKey) -> str:
        number = self.rows.messages[address.step].addresses[address.party]
        return self.rows.addresses[number].label.removesuffix(f" {self.rows.steps[address.step]}")

    def audience(self, address: AddressKey) -> tuple[tuple[int, ...], ...]:
        """The handlers that share a queue, or each that hears a topic; members of populations are in no audience."""
        return self._audiences[self.rows.messages[address.step].addresses[address.party]]

    def started(self, execution: Execution) -> StartedExecution:
        """How an execution begins that a driver starts."""
        driver = self.rows.drivers[self._drivers[execution.interaction, execution.origin]]
        fields = driver.fields[execution.number % len(driver.fields)]
        return StartedExecution(driver.outgoing, fields, driver.sender, driver.column(execution.number))

    def expected(self, execution: Execution) -> tuple[ExpectedMessage, ...]:
        """All messages of an execution, each once, by message type and then by sender."""
        start, found = self.started(execution), []
        under_way = deque([(start.outgoing, start.sender)])
        while under_way:
            message, sender = under_way.popleft()
            party = start.fields[message.field]
            found.append(ExpectedMessage(AddressKey(message.step, party), sender, message.body_bytes[start.column]))
            for handler in self._hearing(message.addresses[party]):
                answers = _answers(handler, start.fields, sender)
                under_way.extend((answer.outgoing, handler.sender) for answer in answers)
        return tuple(sorted(found))

    def _hearing(self, address: int) -> Iterator[Handler]:
        """The handlers that get a copy of a message to this address, by its number: of those that share a queue one."""
        return (self.rows.handlers[group[0]] for group in self._audiences[address])

    def _kind(self, address: int) -> DestinationKind:
        return self.rows.destinations[self.rows.addresses[address].destination].kind

    @cached_property
    def _audiences(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Groups of handlers by the number of the address."""
        consumers: list[list[int]] = [[] for _ in self.rows.addresses]
        for handler in self.rows.handlers:
            for number in handler.addresses:
                consumers[number].append(handler.number)
        return tuple(
            (tuple(handlers),)
            if self._kind(number) is DestinationKind.QUEUE
            else tuple((handler,) for handler in handlers)
            for number, handlers in enumerate(consumers)
        )

    @cached_property
    def _drivers(self) -> Mapping[tuple[int, int], int]:
        """The indices of the drivers, by the interaction and the origin of their executions."""
        first = (Execution.of(driver.first_execution) for driver in self.rows.drivers)
        return {(each.interaction, each.origin): index for index, each in enumerate(first)}

    @cached_property
    def _interaction_of(self) -> Mapping[int, int]:
        """The number of the interaction of each message type."""
        started = [(driver.first_execution, driver.outgoing) for driver in self.rows.drivers]
        started += [
            (population.law.orders(0)[0].execution, population.outgoing)
            for population in self.rows.populations
            if population.outgoing is not None
        ]
        answers = {handler.step: handler.answers for handler in self.rows.handlers}
        found: dict[int, int] = {}
        for execution, outgoing in started:
            under_way = [outgoing.step]
            while under_way:
                step = under_way.pop()
                if step not in found:
                    found[step] = Execution.of(execution).interaction
                    under_way += [answer.outgoing.step for answer in answers.get(step, ())]
        return found


def _answers(handler: Handler, fields: tuple[int, ...], sender: int) -> Iterator[Reply]:
    """The answers of a handler to a message from this sender."""
    return (each for each in handler.answers if each.only_from is None or fields[each.only_from] == sender)
