"""An entry of plan.json of a business workload: what was to run, and the numbers that its tables refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.messaging import Destination
from workloads.scenario.model import Consumption, Handler, PlannedHandler, Producer, Scenario
from workloads.scenario.periods import Lengths
from workloads.scenario.workload import Model, RequestRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLengths(Lengths):
    """The lengths of the periods; the name is "own" if the user set them."""

    name: str


@dataclass(frozen=True, slots=True)
class PlannedAddress:
    """An address; see `workloads.scenario.model.Address`."""

    label: str
    #: Number of its destination.
    destination: int
    properties: Mapping[str, str]
    #: Copies per message.
    copies: int
    #: Subscriptions whose selectors reject a message.
    rejections: int


@dataclass(frozen=True, slots=True)
class PlannedDriver(Producer):
    """A driver; see `workloads.scenario.model.Driver`."""

    #: Starts per second.
    rate_per_s: float


@dataclass(frozen=True, slots=True)
class PlannedPopulation:
    """A population; see `workloads.scenario.population.Population`."""

    label: str
    #: Those that its members share; of sessions about how many are open at once.
    connections: int
    #: Number of the members that join before the load.
    initial: int
    sessions: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlan:
    """A cell and its plan."""

    experiment: str
    cell: str
    #: Name of the workload.
    workload: str
    #: What its model is made of.
    request: RequestRecord
    consumption: Consumption
    #: What the broker supports; of a run with several brokers, one of them.
    transactions: Transactions
    arrivals: ArrivalProcess
    seed: int
    lengths: NamedLengths
    #: Whether a second measurement follows the first.
    repeat: bool
    #: Names of the message types, by number.
    steps: tuple[str, ...]
    #: By number, as all that follow.
    destinations: tuple[Destination, ...]
    addresses: tuple[PlannedAddress, ...]
    handlers: tuple[PlannedHandler, ...]
    drivers: tuple[PlannedDriver, ...]
    populations: tuple[PlannedPopulation, ...] = ()

    @classmethod
    def of(
        cls,
        workload: str,
        request: RequestRecord,
        model: Model,
        cell: str,
        *,
        consumption: Consumption,
        transactions: Transactions,
        arrivals: ArrivalProcess,
        seed: int,
        length: str,
        lengths: Lengths,
        repeat: bool = False,
    ) -> Self:
        """The entry of a cell of the workload with this name.

        model: of the request
        length: the name of `lengths`
        """
        scenario = model.scenario
        return cls(
            experiment=workload,
            cell=cell,
            workload=workload,
            request=request,
            consumption=consumption,
            transactions=transactions,
            arrivals=arrivals,
            seed=seed,
            lengths=NamedLengths(**asdict(lengths), name=length),
            repeat=repeat,
            steps=scenario.steps,
            destinations=scenario.destinations,
            addresses=_addresses(scenario),
            handlers=tuple(map(_handler, scenario.handlers)),
            drivers=tuple(
                PlannedDriver(driver.number, driver.place, driver.sender, driver.outgoing.step, driver.rate_per_s)
                for driver in scenario.drivers
            ),
            populations=tuple(
                PlannedPopulation(each.label, each.connections, each.law.initial, each.sessions)
                for each in scenario.populations
            ),
        )


def _addresses(scenario: Scenario) -> tuple[PlannedAddress, ...]:
    return tuple(
        PlannedAddress(address.label, address.destination, dict(address.properties), copies, rejections)
        for address, copies, rejections in zip(scenario.addresses, scenario.fan_out, scenario.rejections, strict=True)
    )


def _handler(handler: Handler) -> PlannedHandler:
    return PlannedHandler(**{field.name: getattr(handler, field.name) for field in fields(PlannedHandler)})
