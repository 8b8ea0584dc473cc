"""Run directory of a business workload -> checked description with its models and the meaning of all numbers.

Decides which runs can be read and which can be compared; computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import count
from pathlib import Path

from analysis.errors import DataError
from analysis.results import CellKey
from analysis.run_description import resolve_runs
from analysis.run_directory import RunRecord, read_run
from analysis.scenario.comparability import check_comparable
from analysis.scenario.results import LoggedWarnings, Warnings
from workloads.errors import WorkloadError
from workloads.manifest import BrokerRecord, Manifest, WorkloadOptions
from workloads.registry import WORKLOADS
from workloads.scenario.execution import Execution
from workloads.scenario.model import Producer
from workloads.scenario.population import Population
from workloads.scenario.scenario_plan import PlannedDriver, ScenarioPlan
from workloads.scenario.workload import AddressKey, Model, StepSpec, Workload
from workloads.schema import LOAD, RunKind

#: Why a plan and the model of its request differ, and what to do.
_OTHER = (
    "the run directory was changed after it was written, or another version of the suite measured it: measure again"
)


@dataclass(frozen=True, slots=True)
class SessionRecord(PlannedDriver):
    """A session, which starts executions as a driver does; known from the law of its population."""

    #: Ids of its first and last execution.
    first_execution: int
    last_execution: int


@dataclass(frozen=True, slots=True)
class ScenarioRecord(RunRecord[Manifest, WorkloadOptions, ScenarioPlan]):
    """A readable run directory of a business workload."""

    #: The models of the planned cells, by (experiment, cell).
    models: Mapping[tuple[str, str], Model]


@dataclass(frozen=True)
class CaseRecord:
    """A complete cell; steps, addresses, handlers and drivers have the numbers of its plan."""

    #: The `cell_id` of its rows in the frames.
    number: int
    key: CellKey
    run: ScenarioRecord
    #: With the transactions that its broker supports.
    plan: ScenarioPlan
    model: Model

    @property
    def workload(self) -> Workload:
        return WORKLOADS[self.plan.workload]

    @property
    def broker(self) -> BrokerRecord:
        return self.run.manifest.brokers[self.key.broker]

    @property
    def steps(self) -> tuple[StepSpec, ...]:
        return self.model.steps

    @cached_property
    def address_numbers(self) -> Mapping[AddressKey, int]:
        """The number of each address, as in column `address` of the records."""
        return {address: number for number, address in enumerate(self.model.addresses)}

    @cached_property
    def address_steps(self) -> tuple[int, ...]:
        """The number of the step sent to each address."""
        return tuple(address.step for address in self.model.addresses)

    @cached_property
    def producers(self) -> Mapping[int, Producer]:
        """Handlers and drivers, by number."""
        return {producer.number: producer for producer in (*self.plan.handlers, *self.plan.drivers)}

    @cached_property
    def populations(self) -> tuple[Population, ...]:
        """The populations, by number."""
        return self.model.scenario.populations if self.plan.populations else ()

    @cached_property
    def _first_executions(self) -> Mapping[int, int]:
        """Those of the drivers of a scenario with populations, whose first executions began before the load."""
        drivers = self.model.scenario.drivers if self.plan.populations else ()
        return {driver.number: driver.first_execution for driver in drivers}

    def first_execution(self, driver: PlannedDriver) -> int:
        """The id of the first execution of a driver or session."""
        if isinstance(driver, SessionRecord):
            return driver.first_execution
        started = Execution(self.steps[driver.step].interaction, driver.sender, 0).id
        return self._first_executions.get(driver.number, started)

    def sessions(self, until_ns: int) -> Iterator[SessionRecord]:
        """The sessions that are planned to begin until then, from the begin of the load on."""
        for population in self.populations:
            if population.sessions:
                for number in count():
                    if population.law.member(number).joins_ns >= until_ns:
                        break
                    yield self._session(population, number)

    def producer(self, number: int) -> Producer | None:
        """A handler, driver or session; None if there is none with this number."""
        if number in self.producers or not any(population.sessions for population in self.populations):
            return self.producers.get(number)
        population = next(population for population in self.populations if population.sessions)
        return self._session(population, number - self.model.scenario.first_session)

    def _session(self, population: Population, member: int) -> SessionRecord:
        orders = population.law.orders(member)
        first, last = orders[0], orders[-1]
        span_s = max(last.planned_ns - first.planned_ns, 1) / 1e9
        return SessionRecord(
            number=self.model.scenario.first_session + member,
            place=f"{population.label} {member}",
            sender=first.sender,
            step=0 if population.outgoing is None else population.outgoing.step,
            rate_per_s=max(len(orders) - 1, 1) / span_s,
            first_execution=first.execution,
            last_execution=last.execution,
        )

    @cached_property
    def audiences(self) -> Mapping[tuple[int, int], int]:
        """(address, handler) -> the group that gets one copy, identified by the first of its handlers."""
        return {
            (number, handler): group[0]
            for address, number in self.address_numbers.items()
            for group in self.model.audience(address)
            for handler in group
        }

    def name(self, number: int) -> str:
        """A producer for display, such as "SM1 orderConf": its place and the message that it consumes or starts.

        An unknown one has its number only.
        """
        producer = self.producer(number)
        return f"producer {number}" if producer is None else f"{producer.place} {self.plan.steps[producer.step]}"

    def audience_name(self, number: int, audience: int) -> str:
        """An audience for display: "SM1 orderConf", or "SP1 callForOffers of PF3" if the party is not the place.

        number: of the address
        audience: the group's first handler
        """
        address = self.model.addresses[number]
        party, handler = self.model.party(address), self.producers[audience].place
        return f"{handler} {self.steps[address.step].message}" + ("" if party == handler else f" of {party}")


def open_runs(paths: Sequence[Path], *, partial: bool = False) -> tuple[ScenarioRecord, ...]:
    """The named run directories, or the newest one. Raises DataError if one of them cannot be analysed."""
    return tuple(_open(folder, shown, name, partial=partial) for folder, shown, name in resolve_runs(paths))


def cells(runs: Sequence[ScenarioRecord], keys: Sequence[CellKey]) -> tuple[CaseRecord, ...]:
    """The complete cells of the runs; `keys` are those of the frames."""
    complete = {key: run for run in runs for key in run.cells}
    return tuple(
        CaseRecord(number, key, run, _plan(run, key), run.models[key.experiment, key.cell])
        for number, key in enumerate(keys)
        if (run := complete.get(key)) is not None
    )


def _plan(run: ScenarioRecord, key: CellKey) -> ScenarioPlan:
    """The cell's entry, with the transactions that its broker supports: a run may have several brokers."""
    return replace(run.plan(key), transactions=run.manifest.brokers[key.broker].capabilities.transactions)


def warnings(run: ScenarioRecord, key: CellKey) -> Warnings:
    """The warnings of the cell's broker start."""
    logs = [log for log in run.manifest.warnings if (log.broker, log.start) == (key.broker, key.start)]
    return Warnings(
        any(log.source != LOAD for log in logs),
        tuple(LoggedWarnings(source=log.source, **asdict(found)) for log in logs for found in log.messages),
        sum(log.others for log in logs),
    )


def comparable(runs: Sequence[ScenarioRecord]) -> None:
    """Raises DataError if the cells of these runs must not be compared."""
    check_comparable(
        [
            (run.plan(cell), run.models[cell.experiment, cell.cell], f"{run.name}, {cell.cell}")
            for run in runs
            for cell in run.cells
        ]
    )


def _open(folder: Path, shown: Path, name: str, *, partial: bool) -> ScenarioRecord:
    records = Manifest, WorkloadOptions, ScenarioPlan
    found = read_run(folder, shown, name, RunKind.WORKLOAD, records, partial=partial)
    models = {at: _model(plan, f"{shown}/plan.json, {at[1]}") for at, plan in found.plans.items()}
    known = {field.name: getattr(found, field.name) for field in fields(found)}
    return ScenarioRecord(**known, models=models)


def _model(plan: ScenarioPlan, place: str) -> Model:
    """The model of the plan's request. Raises DataError if it does not match the lists of the plan."""
    if plan.workload not in WORKLOADS:
        raise DataError(f"{place}: workload {plan.workload!r}, expected one of {', '.join(WORKLOADS)}")
    workload = WORKLOADS[plan.workload]
    if plan.request.tables != workload.digest():
        raise DataError(f"{place}: request: the tables of {workload.name} are not those of this version; {_OTHER}")
    try:
        model = workload.model_of(plan.request)
    except WorkloadError as error:
        raise DataError(f"{place}: request: {error}; {_OTHER}") from error
    written = (plan.steps, [address.label for address in plan.addresses], len(plan.handlers))
    steps = tuple(step.message for step in model.steps)
    labels = [f"{model.party(address)} {steps[address.step]}" for address in model.addresses]
    numbers = [producer.number for producer in (*plan.handlers, *plan.drivers)]
    shared = sum(population.connections for population in plan.populations)
    if written != (steps, labels, model.handlers) or numbers != list(range(model.connections - shared)):
        raise DataError(f"{place}: steps, addresses, handlers or drivers are not those of its topology; {_OTHER}")
    return model
