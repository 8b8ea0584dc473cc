"""The model of a business: its tables as the rows that load engine and audit need.

Fields of an execution are the values of its parties, in the order of the table of parties; behind them come those of
messages that are not sent in every execution. An event handler consumes one message type at one place; a handler that
consumes a transacted message sends the transacted answers in the same transaction. The drivers of an interaction start
staggered: driver i of n is offset by (2 i + 1) / 2n of a gap, so that the starts of all drivers are evenly spaced, and
a window of one gap holds one start of each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from workloads.errors import WorkloadError
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.business import Business, BusinessMessage, BusinessRole
from workloads.scenario.derived_model import DerivedModel
from workloads.scenario.execution import Execution
from workloads.scenario.message import KEY_PLACE, MOST_FIELD, MessageSpec
from workloads.scenario.model import (
    DESTINATION_PREFIX,
    MOST_CONNECTIONS,
    Address,
    Driver,
    Handler,
    HandlerSubscription,
    Reply,
    Scenario,
)
from workloads.scenario.population import Population
from workloads.scenario.workload import AddressKey, InteractionModel
from workloads.selectors import Equals


class PartyFlow(NamedTuple):
    """Messages of a type between two parties."""

    step: int
    #: Values of the sending and of the receiving party.
    sender: int
    receiver: int
    #: Messages per second that each place of the sending party sends.
    per_s: Fraction


def connections(receiving: Iterable[tuple[BusinessRole, DestinationKind]], starting: Iterable[BusinessRole]) -> int:
    """One connection per event handler and driver, so that neither transactions nor slow readers share one.

    receiving: of each message, who receives it, and over what
    starting: of each interaction, who starts it
    """
    return _handlers(receiving) + sum(role.places for role in starting)


def check_connections(named: str, number: int) -> None:
    """Raises WorkloadError if these are more connections than a process has; `named` is what needs them."""
    if number > MOST_CONNECTIONS:
        raise WorkloadError(f"{named}: {number} connections; expected at most {MOST_CONNECTIONS}: choose a lower BASE")


def _handlers(receiving: Iterable[tuple[BusinessRole, DestinationKind]]) -> int:
    return sum(role.places * role.handlers_for(kind) for role, kind in receiving)


class BusinessModel(DerivedModel):
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
        return _handlers(self._received)

    @property
    def connections(self) -> int:
        starters = (self.business.started_by(number) for number in self.business.interactions)
        return connections(self._received, (self.business.roles[starter.role] for starter in starters))

    @property
    def _received(self) -> Iterator[tuple[BusinessRole, DestinationKind]]:
        """Of each message, who receives it, and over what."""
        return ((self._receiving_role(message), message.kind) for message in self.business.messages)

    def origin(self, execution: Execution) -> str:
        starter = self.business.started_by(execution.interaction)
        return self.business.roles[starter.role].place(execution.origin)

    @cached_property
    def interactions(self) -> Mapping[int, InteractionModel]:
        found = {}
        for number, interaction in self.business.interactions.items():
            rates = {key: rate for key, rate in self._rates_per_s.items() if self.steps[key.step].interaction == number}
            copies_per_s = sum((rate * self._copies(key) for key, rate in rates.items()), Fraction())
            found[number] = InteractionModel(
                interaction.title,
                interaction.started_per_s,
                sum(rates.values(), Fraction()) / interaction.started_per_s,
                copies_per_s / interaction.started_per_s,
                self.business.period(number),
                interaction.size_class_bounds,
                interaction.together,
            )
        return found

    @cached_property
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        return tuple(self._rates_per_s.get(address, Fraction()) for address in self.addresses)

    @cached_property
    def _rates_per_s(self) -> Mapping[AddressKey, Fraction]:
        """Messages sent per second to each address."""
        found: dict[AddressKey, Fraction] = {}
        for flow in self.flows:
            address = AddressKey(flow.step, flow.receiver)
            found[address] = found.get(address, Fraction()) + flow.per_s * len(self._sending(flow))
        return found

    @cached_property
    def flows(self) -> tuple[PartyFlow, ...]:
        """What flows between the values of parties, counted over a period of the executions of each origin."""
        business, fields = self.business, self._party_fields
        found = []
        for number, interaction in business.interactions.items():
            origins = range(business.places(business.started_by(number)))
            share = interaction.started_per_s / (business.period(number) * len(origins))
            for message in interaction.messages:
                sender, receiver = fields[message.sender], fields[message.receiver]
                every = business.executions_per_message(message)
                pairs = Counter(
                    (row[sender], row[receiver]) for origin in origins for row in self._fields[number, origin][::every]
                )
                step = business.numbers[message.name]
                found += [PartyFlow(step, *pair, share * times) for pair, times in sorted(pairs.items())]
        return tuple(found)

    def copies(self, message: BusinessMessage) -> Fraction:
        """Average number of copies of a message."""
        step = self.business.numbers[message.name]
        rates = {key: rate for key, rate in self._rates_per_s.items() if key.step == step}
        return sum((rate * self._copies(key) for key, rate in rates.items()), Fraction()) / sum(rates.values())

    def sent_by_place(self) -> Mapping[tuple[int, int], Fraction]:
        """Messages sent per second, by message type and place of the sender's role."""
        return self._by_place((flow, place, 1) for flow in self.flows for place in self._sending(flow))

    def received_by_place(self) -> Mapping[tuple[int, int], Fraction]:
        """Copies received per second, by message type and place of the receiver's role."""
        return self._by_place(
            (flow, place, len(self._sending(flow))) for flow in self.flows for place in self._receiving(flow)
        )

    def _by_place(self, rows: Iterable[tuple[PartyFlow, int, int]]) -> Mapping[tuple[int, int], Fraction]:
        found: dict[tuple[int, int], Fraction] = {}
        for flow, place, messages in rows:
            found[flow.step, place] = found.get((flow.step, place), Fraction()) + flow.per_s * messages
        return found

    def _sending(self, flow: PartyFlow) -> tuple[int, ...]:
        """The places that send."""
        return self.business.parties[self.business.messages[flow.step].sender].places[flow.sender]

    def _receiving(self, flow: PartyFlow) -> tuple[int, ...]:
        """The places that get a copy."""
        return self.business.parties[self.business.messages[flow.step].receiver].places[flow.receiver]

    @property
    def scenario(self) -> Scenario:
        return self.rows

    @cached_property
    def rows(self) -> Scenario:
        """The scenario as the tables have it, with handlers and drivers in the order of roles and places.

        Raises WorkloadError if the business exceeds the limits of a scenario.
        """
        business = self.business
        handlers = [
            handler
            for role in business.roles.values()
            for place in range(role.places)
            for handler in self._handlers(role, place)
        ]
        return Scenario(
            self._title,
            tuple(message.name for message in business.messages),
            tuple(self._numbers),
            tuple(
                Address(f"{label} {message.name}", self._numbers[destination], _properties(message, label))
                for message, label, destination in self._destinations
            ),
            tuple(replace(handler, number=number) for number, handler in enumerate(handlers)),
            tuple(
                replace(driver, number=number) for number, driver in enumerate(self._drivers_of_all(), len(handlers))
            ),
            self._populations(),
        )

    @property
    def _title(self) -> str:
        """The name of the scenario."""
        return f"{self.name}, BASE {self.base}"

    def _populations(self) -> tuple[Population, ...]:
        """The subscribers that come and go, by the workload's own laws."""
        return ()

    @cached_property
    def _destinations(self) -> tuple[tuple[BusinessMessage, str, Destination], ...]:
        """By address: the message, the label of its receiving party's value, and where it is sent."""
        return tuple(
            (message, label, self._destination(message, label))
            for message in self.business.messages
            for label in self.business.parties[message.receiver].labels
        )

    @cached_property
    def _numbers(self) -> Mapping[Destination, int]:
        """The number of each destination: of all addresses, then of what handlers subscribe to beside them."""
        sent_to = [destination for _, _, destination in self._destinations]
        heard = [_any_key(destination) for message, _, destination in self._destinations if self._competing(message)]
        return {destination: number for number, destination in enumerate(dict.fromkeys([*sent_to, *heard]))}

    def _receiving_role(self, message: BusinessMessage) -> BusinessRole:
        return self.business.roles[self.business.parties[message.receiver].role]

    def _competing(self, message: BusinessMessage) -> int:
        """Number of event handlers for a message at each place that receives it."""
        return self._receiving_role(message).handlers_for(message.kind)

    def _copies(self, address: AddressKey) -> Fraction:
        """Copies of a message, to places and to members of populations."""
        message = self.business.messages[address.step]
        places = self.business.parties[message.receiver].places[address.party]
        return message.members + (len(places) if self._receiving_role(message).handlers else 0)

    def _destination(self, message: BusinessMessage, label: str) -> Destination:
        """Where a message goes to the value with this label of its receiving party."""
        word = message.receiver if message.selected_by else label
        return Destination(message.kind, f"{DESTINATION_PREFIX}.{word}.{message.name}")

    @cached_property
    def _messages(self) -> Mapping[str, MessageSpec]:
        """The specification of each message, by its name."""
        found: dict[str, MessageSpec] = {}
        begin = 0
        for number, message in enumerate(self.business.messages):
            end = begin + len(self.business.parties[message.receiver].places)
            found[message.name] = MessageSpec(
                number,
                self._receiving_field(message),
                tuple(range(begin, end)),
                message.body_bytes,
                message.persistent,
                message.transacted,
                message.key,
                receipt=message.key is not None,  # the audit needs the instant from which the broker must deliver it
            )
            begin = end
        return found

    @cached_property
    def _conditional(self) -> tuple[BusinessMessage, ...]:
        """The messages that are not sent in every execution, in the order of their fields."""
        return tuple(message for message in self.business.messages if message.every > 1)

    def _condition(self, message: BusinessMessage) -> int | None:
        """The field whose value is the place whose message this one answers; None if it answers every one."""
        if message.every > 1:
            return len(self.business.parties) + self._conditional.index(message)
        return None if message.after_from is None else self._party_fields[message.after_from]

    def _receiving_field(self, message: BusinessMessage) -> int:
        """The field of a chain that has the value of the receiving party."""
        return self._party_fields[message.receiver]

    def _handlers(self, role: BusinessRole, place: int) -> Iterator[Handler]:
        """The handlers at a place, not yet numbered."""
        for message in self.business.messages:
            party = self.business.parties[message.receiver]
            if party.role != role.name or not role.handlers:
                continue
            spec = self._messages[message.name]
            values = party.values_of(place)
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
                tuple(spec.addresses[value] for value in values),
                tuple(self._subscription(message, party.labels[value]) for value in values),
                message.transacted,
                message.durable,
                answers,
            )
            yield from [handler] * self._competing(message)

    def _subscription(self, message: BusinessMessage, label: str) -> HandlerSubscription:
        selector = next((str(Equals(header, value)) for header, value in _properties(message, label)), None)
        return HandlerSubscription(self._numbers[_any_key(self._destination(message, label))], selector)

    def _drivers_of_all(self) -> Iterator[Driver]:
        """The drivers of all places, not yet numbered."""
        for role in self.business.roles.values():
            for place in range(role.places):
                for number in self.business.interactions:
                    if self.business.started_by(number).role == role.name:
                        yield self._driver(number, place, self._fields[number, place])

    def _driver(self, number: int, place: int, fields: tuple[tuple[int, ...], ...]) -> Driver:
        """The driver of an interaction at a place, staggered with those of the other places."""
        interaction, role = (
            self.business.interactions[number],
            self.business.roles[self.business.started_by(number).role],
        )
        return Driver(
            0,
            role.place(place),
            place,
            self._messages[interaction.messages[0].name],
            float(interaction.started_per_s / role.places),
            float(Fraction(2 * place + 1, 2 * role.places)),
            Execution(number, place, 0).id,
            fields,
            interaction.size_class_bounds,
        )

    @cached_property
    def _fields(self) -> Mapping[tuple[int, int], tuple[tuple[int, ...], ...]]:
        """By interaction and origin: the fields of its executions, for a period."""
        business = self.business
        return {
            (number, origin): tuple(self._field_rows(number, origin))
            for number in business.interactions
            for origin in range(business.places(business.started_by(number)))
        }

    def _field_rows(self, number: int, origin: int) -> Iterator[tuple[int, ...]]:
        """The fields of the executions of one origin, for a period; a party that does not take part is 0."""
        business, starter = self.business, self.business.started_by(number).name
        taking_part = business.parties_of(number)
        laws: list[tuple[Callable[[int, int], int], int]] = [
            (_origin if name == starter else party.law.value, business.executions_per_part(number, name))
            if name in taking_part
            else (_nobody, 1)
            for name, party in business.parties.items()
        ]
        inside = business.interactions[number].messages
        answered = [
            (message.every, self._party_fields[business.answered(message).name]) if message in inside else None
            for message in self._conditional
        ]
        for execution in range(business.period(number)):
            row = tuple(law(origin, execution // per_part) for law, per_part in laws)
            yield (*row, *(_condition_met(each, row, execution) for each in answered))

    @cached_property
    def _party_fields(self) -> Mapping[str, int]:
        """The field of each party, by its name."""
        return {name: index for index, name in enumerate(self.business.parties)}


def _properties(message: BusinessMessage, label: str) -> tuple[tuple[str, str], ...]:
    """The headers of the messages to the value with this label of the receiving party."""
    return () if message.selected_by is None else ((message.selected_by, label),)


def _any_key(destination: Destination) -> Destination:
    """What a handler subscribes to: where a key is a word in the name, any word."""
    return replace(destination, name=destination.name.replace(KEY_PLACE, "*"))


def _origin(origin: int, _execution: int) -> int:
    return origin


def _nobody(_origin: int, _execution: int) -> int:
    return 0


def _condition_met(answered: tuple[int, int] | None, row: tuple[int, ...], execution: int) -> int:
    """The place whose message is answered in an execution; no place if it is not answered in it.

    answered: in every so many executions, the place that is the value of this field; None: never
    """
    every, field = answered or (0, 0)
    return row[field] if every and execution % every == 0 else int(MOST_FIELD)
