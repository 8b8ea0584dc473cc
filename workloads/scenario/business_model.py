"""The model of a business: its tables in the form that load engine and audit need.

Fields of an execution are the values of its parties, in the order of the table of parties; behind them come those of
messages that are not sent in every execution. An event handler consumes one message type at one place; a handler that
consumes a transacted message sends the transacted answers in the same transaction. The drivers of an interaction start
staggered: driver i of n is offset by (2 i + 1) / 2n of a gap, so that the starts of all drivers are evenly spaced.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from workloads.messaging import Destination, DestinationKind
from workloads.scenario.business import Business, BusinessMessage, Role
from workloads.scenario.execution import Execution
from workloads.scenario.message import MOST_FIELD, MessageSpec
from workloads.scenario.model import (
    DESTINATION_PREFIX,
    Address,
    Driver,
    Handler,
    HandlerSubscription,
    Reply,
    Scenario,
    size_class,
)
from workloads.scenario.workload import AddressKey, ExpectedMessage, InteractionModel, StepSpec
from workloads.selectors import Equals


class BusinessModel(ABC):
    """What follows from the tables of a business; the part of `workloads.scenario.workload.Model` that is derived."""

    @property
    @abstractmethod
    def business(self) -> Business:
        """The tables."""

    @property
    def name(self) -> str:
        return self.business.name

    @property
    def base(self) -> int:
        return self.business.base

    @property
    def handlers(self) -> int:
        return sum(
            self._receiving_role(message).places * self._competing(message) for message in self.business.messages
        )

    @property
    def connections(self) -> int:
        starters = (self.business.started_by(number) for number in self.business.interactions)
        return self.handlers + sum(map(self.business.places, starters))

    @property
    def sent_per_s(self) -> float:
        return float(sum(self.address_rates_per_s))

    @cached_property
    def steps(self) -> tuple[StepSpec, ...]:
        return tuple(
            StepSpec(
                message.name,
                number,
                message.kind,
                message.persistent,
                message.transacted,
                message.durable,
                message.body_bytes,
            )
            for number, interaction in self.business.interactions.items()
            for message in interaction.messages
        )

    @cached_property
    def addresses(self) -> tuple[AddressKey, ...]:
        parties = (self.business.parties[message.receiver] for message in self.business.messages)
        return tuple(
            AddressKey(number, value) for number, party in enumerate(parties) for value in range(len(party.places))
        )

    @cached_property
    def interactions(self) -> Mapping[int, InteractionModel]:
        found = {}
        for number, interaction in self.business.interactions.items():
            rates = {key: rate for key, rate in self._rates_per_s.items() if self.steps[key.step].interaction == number}
            found[number] = InteractionModel(
                interaction.title,
                interaction.started_per_s,
                sum(rates.values(), Fraction()) / interaction.started_per_s,
                sum((rate * self._copies(key) for key, rate in rates.items()), Fraction()) / interaction.started_per_s,
                self.business.period(number),
                interaction.size_class_bounds,
            )
        return found

    @cached_property
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        return tuple(self._rates_per_s.get(address, Fraction()) for address in self.addresses)

    @cached_property
    def _rates_per_s(self) -> Mapping[AddressKey, Fraction]:
        """Messages sent per second to each address, counted over a period of the executions of each origin."""
        business = self.business
        found: Counter[AddressKey] = Counter()
        rates: dict[AddressKey, Fraction] = {}
        for number, interaction in business.interactions.items():
            period, origins = business.period(number), business.places(business.started_by(number))
            found.clear()
            for origin in range(origins):
                for execution in range(period):
                    cast = business.cast(number, origin, execution)
                    for step, message, places in business.sent(number, cast, execution):
                        found[AddressKey(step, cast[message.receiver])] += len(places)
            share = interaction.started_per_s / (period * origins)
            rates.update((address, messages * share) for address, messages in found.items())
        return rates

    def expected(self, execution: Execution) -> tuple[ExpectedMessage, ...]:
        business, number = self.business, execution.interaction
        cast = business.cast(number, execution.origin, execution.number)
        column = size_class(business.interactions[number].size_class_bounds, execution.id)
        return tuple(
            ExpectedMessage(AddressKey(step, cast[message.receiver]), place, message.body_bytes[column])
            for step, message, places in business.sent(number, cast, execution.number)
            for place in places
        )

    def audience(self, address: AddressKey) -> tuple[tuple[int, ...], ...]:
        return self._audiences[address]

    def replies(self, execution: Execution, step: int, sender: int) -> tuple[int, ...]:
        business = self.business
        cast = business.cast(execution.interaction, execution.origin, execution.number)
        answered = business.messages[step].name
        return tuple(
            number
            for number, message, _ in business.sent(execution.interaction, cast, execution.number)
            if message.after == answered and business.answered_place(message, cast, execution.number) == sender
        )

    def party(self, address: AddressKey) -> str:
        message = self.business.messages[address.step]
        return self.business.parties[message.receiver].labels[address.party]

    def origin(self, execution: Execution) -> str:
        starter = self.business.started_by(execution.interaction)
        return self.business.roles[starter.role].place(execution.origin)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario. Raises WorkloadError if the business exceeds the limits of a scenario."""
        business = self.business
        numbers: dict[Destination, int] = {}
        addresses = tuple(
            Address(
                f"{self.party(address)} {business.messages[address.step].name}",
                numbers.setdefault(self._destination(address), len(numbers)),
                self._properties(address),
            )
            for address in self.addresses
        )
        handlers = [
            handler
            for role in business.roles.values()
            for place in range(role.places)
            for handler in self._handlers(addresses, role, place)
        ]
        drivers = [
            driver
            for role in business.roles.values()
            for place in range(role.places)
            for driver in self._drivers(role, place)
        ]
        return Scenario(
            f"{self.name}, BASE {self.base}",
            tuple(message.name for message in business.messages),
            tuple(numbers),
            addresses,
            tuple(replace(handler, number=number) for number, handler in enumerate(handlers)),
            tuple(replace(driver, number=number) for number, driver in enumerate(drivers, len(handlers))),
        )

    def _receiving_role(self, message: BusinessMessage) -> Role:
        return self.business.roles[self.business.parties[message.receiver].role]

    def _competing(self, message: BusinessMessage) -> int:
        """Number of event handlers for a message at each place that receives it; several compete for a queue."""
        return self._receiving_role(message).handlers if message.kind is DestinationKind.QUEUE else 1

    def _copies(self, address: AddressKey) -> int:
        message = self.business.messages[address.step]
        return len(self.business.parties[message.receiver].places[address.party])

    @cached_property
    def _audiences(self) -> Mapping[AddressKey, tuple[tuple[int, ...], ...]]:
        """Groups of handlers by address: each handler that hears a topic, and all consumers of a queue together."""
        consumers: dict[AddressKey, list[int]] = {address: [] for address in self.addresses}
        for handler in self.scenario.handlers:
            for number in handler.addresses:
                consumers[self.addresses[number]].append(handler.number)
        return {
            address: (tuple(handlers),)
            if self.steps[address.step].kind is DestinationKind.QUEUE
            else tuple((handler,) for handler in handlers)
            for address, handlers in consumers.items()
        }

    def _destination(self, address: AddressKey) -> Destination:
        message = self.business.messages[address.step]
        word = message.receiver if message.selected_by else self.party(address)
        return Destination(message.kind, f"{DESTINATION_PREFIX}.{word}.{message.name}")

    def _properties(self, address: AddressKey) -> tuple[tuple[str, str], ...]:
        header = self.business.messages[address.step].selected_by
        return () if header is None else ((header, self.party(address)),)

    @cached_property
    def _conditional(self) -> tuple[str, ...]:
        """The names of the messages that are not sent in every execution, in the order of their fields."""
        return tuple(message.name for message in self.business.messages if message.every > 1)

    @cached_property
    def _messages(self) -> Mapping[str, MessageSpec]:
        """The specification of each message, by its name."""
        fields = tuple(self.business.parties)
        found: dict[str, MessageSpec] = {}
        begin = 0
        for number, message in enumerate(self.business.messages):
            end = begin + len(self.business.parties[message.receiver].places)
            found[message.name] = MessageSpec(
                number,
                fields.index(message.receiver),
                tuple(range(begin, end)),
                message.body_bytes,
                message.persistent,
                message.transacted,
            )
            begin = end
        return found

    def _condition(self, message: BusinessMessage) -> int | None:
        """The field whose value is the place whose message this one answers; None if it answers every one."""
        if message.every > 1:
            return len(self.business.parties) + self._conditional.index(message.name)
        return None if message.after_from is None else tuple(self.business.parties).index(message.after_from)

    def _handlers(self, addresses: tuple[Address, ...], role: Role, place: int) -> Iterator[Handler]:
        for message in self.business.messages:
            party = self.business.parties[message.receiver]
            if party.role != role.name:
                continue
            spec = self._messages[message.name]
            heard = tuple(
                number for number, places in zip(spec.addresses, party.places, strict=True) if place in places
            )
            answers = tuple(
                Reply(self._messages[answer.name], self._condition(answer))
                for answer in self.business.messages
                if answer.after == message.name
            )
            handler = Handler(
                0,
                role.place(place),
                place,
                spec.step,
                heard,
                tuple(
                    HandlerSubscription(addresses[number].destination, self._selector(addresses[number]))
                    for number in heard
                ),
                message.transacted,
                message.durable,
                answers,
            )
            yield from [handler] * self._competing(message)

    @staticmethod
    def _selector(address: Address) -> str | None:
        return next((str(Equals(header, value)) for header, value in address.properties), None)

    def _drivers(self, role: Role, place: int) -> Iterator[Driver]:
        for number, interaction in self.business.interactions.items():
            if self.business.started_by(number).role == role.name:
                yield Driver(
                    0,
                    role.place(place),
                    place,
                    self._messages[interaction.messages[0].name],
                    float(interaction.started_per_s / role.places),
                    float(Fraction(2 * place + 1, 2 * role.places)),
                    Execution(number, place, 0).id,
                    tuple(self._fields(number, place)),
                    interaction.size_class_bounds,
                )

    def _fields(self, number: int, origin: int) -> Iterator[tuple[int, ...]]:
        """The fields of the executions of one origin, for a period."""
        business = self.business
        conditional = [business.messages[business.numbers[name]] for name in self._conditional]
        inside = {message.name for message in business.interactions[number].messages}
        for execution in range(business.period(number)):
            cast = business.cast(number, origin, execution)
            conditions = (
                business.answered_place(message, cast, execution) if message.name in inside else None
                for message in conditional
            )
            yield (
                *(cast.get(party, 0) for party in business.parties),
                *(MOST_FIELD if place is None else place for place in conditions),
            )
