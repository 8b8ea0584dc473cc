"""Run directory of a business workload -> checked description with the rebuilt model and the meaning of all numbers.

Decides which runs can be read and which can be compared; computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.errors import DataError
from analysis.results import CellKey
from analysis.run_directory import RunRecord, read_run, require, resolve_runs
from analysis.scenario.results import LoggedWarnings, Warnings
from workloads.errors import WorkloadError
from workloads.registry import WORKLOADS
from workloads.scenario.workload import Address, Model, StepSpec, Workload
from workloads.schema import LOAD, RunKind, Severity


@dataclass(frozen=True, slots=True)
class ScenarioRecord(RunRecord):
    """A readable run directory of a business workload."""

    #: The models of the planned cells, by (experiment, cell).
    models: Mapping[tuple[str, str], Model]


@dataclass(frozen=True)
class CaseRecord:
    """A complete cell; steps, destinations, handlers and drivers have the numbers of its plan."""

    #: The `cell_id` of its rows in the frames.
    number: int
    key: CellKey
    run: ScenarioRecord
    plan: Mapping[str, Any]
    model: Model

    @property
    def workload(self) -> Workload:
        return WORKLOADS[self.plan["workload"]]

    @property
    def steps(self) -> tuple[StepSpec, ...]:
        return self.model.steps

    @cached_property
    def address_numbers(self) -> Mapping[Address, int]:
        """The number of each address, as in column `destination` of the records."""
        return {address: number for number, address in enumerate(self.model.addresses)}

    @cached_property
    def destination_steps(self) -> tuple[int, ...]:
        """The number of the step sent to each destination."""
        return tuple(address.step for address in self.model.addresses)

    @cached_property
    def producers(self) -> Mapping[int, Mapping[str, Any]]:
        """Handlers and drivers, by number."""
        return {producer["number"]: producer for producer in (*self.plan["handlers"], *self.plan["drivers"])}

    @cached_property
    def audiences(self) -> Mapping[tuple[int, int], int]:
        """(destination, handler) -> the group that gets one copy, identified by the first of its handlers."""
        return {
            (number, handler): group[0]
            for address, number in self.address_numbers.items()
            for group in self.model.audience(address)
            for handler in group
        }

    def name(self, number: int) -> str:
        """A producer for display, such as "SM1 orderConf": its place and the message that it consumes or starts."""
        one = self.producers[number]
        return f"{one['place']} {self.plan['steps'][one['step']]}"

    def subscriber(self, destination: int, audience: int) -> str:
        """A subscriber for display: "SM1 orderConf", or "SP1 callForOffers of PF3" if the party is not the place."""
        address = self.model.addresses[destination]
        party, handler = self.model.party(address), self.producers[audience]["place"]
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


def _plan(run: ScenarioRecord, key: CellKey) -> Mapping[str, Any]:
    """The cell's entry, with the transactions that its broker supports: a run may have several brokers."""
    plan = run.plan(key)
    known = (run.manifest["brokers"].get(key.broker) or {}).get("capabilities") or {}
    return {**plan, "transactions": known.get("transactions", plan["transactions"])}


def warnings(run: ScenarioRecord, key: CellKey) -> Warnings:
    """The warnings of the cell's broker start. Raises DataError if an entry of the manifest is malformed."""
    place = f"{run.path}/manifest.json, warnings"
    logs, messages, others = [], [], 0
    for one in require({"warnings": [], **run.manifest}, "warnings", list, place):
        if (require(one, "broker", str, place), require(one, "start", int, place)) == (key.broker, key.start):
            logs.append(require(one, "source", str, place))
            messages += [_warned(logs[-1], record, place) for record in require(one, "messages", list, place)]
            others += require(one, "others", int, place)
    return Warnings(any(source != LOAD for source in logs), tuple(messages), others)


def _warned(source: str, record: Any, place: str) -> LoggedWarnings:
    severity, text, first = (require(record, key, str, place) for key in ("severity", "text", "first"))
    if severity not in tuple(Severity):
        raise DataError(f"{place}: severity {severity!r}, expected one of {', '.join(Severity)}")
    return LoggedWarnings(source, Severity(severity), text, require(record, "count", int, place), first)


def comparable(runs: Sequence[ScenarioRecord]) -> None:
    """Raises DataError if the runs must not be compared: if they differ in workload, topology or consumption.

    Source: run rules, sections 1.6 and 2.3.
    """
    for key, what, why in (
        ("workload", "workloads", "they have no message in common"),
        ("topology", "topologies", "their results are not comparable (sections 1.6 and 2.3)"),
        ("consumption", "consumptions", "strict acknowledgement has costs that relaxed acknowledgement does not have"),
    ):
        values = dict(_values(runs, key))
        if len(values) > 1:
            places = "; ".join(f"{value}: {place}" for value, place in values.items())
            raise DataError(f"different {what} are never put side by side: {why}; {places}: name runs of one of them")


def _values(runs: Sequence[ScenarioRecord], key: str) -> Iterator[tuple[str, str]]:
    for run in runs:
        for cell in run.cells:
            value = run.plan(cell)[key]
            yield (value if isinstance(value, str) else value["name"]), f"{run.name}, {cell.cell}"


_PLAN: Mapping[str, type | tuple[type, ...]] = {
    "experiment": str,
    "cell": str,
    "workload": str,
    "topology": dict,
    "base": int,
    "consumption": str,
    "transactions": str,
    "arrivals": str,
    "seed": int,
    "lengths": dict,
    "repeat": bool,
    "killed": bool,
    "steps": list,
    "destinations": list,
    "handlers": list,
    "drivers": list,
}


def _open(folder: Path, shown: Path, name: str, *, partial: bool) -> ScenarioRecord:
    found = read_run(folder, shown, name, RunKind.WORKLOAD, _PLAN, partial=partial)
    models = {at: _model(plan, f"{shown}/plan.json, {at[1]}") for at, plan in found.plans.items()}
    return ScenarioRecord(**{field.name: getattr(found, field.name) for field in fields(found)}, models=models)


def _model(plan: Mapping[str, Any], place: str) -> Model:
    """The model rebuilt from the plan. Raises DataError if it does not match the lists of the plan."""
    if plan["workload"] not in WORKLOADS:
        raise DataError(f"{place}: workload {plan['workload']!r}, expected one of {', '.join(WORKLOADS)}")
    try:
        model = WORKLOADS[plan["workload"]].from_json(plan["topology"])
    except WorkloadError as error:
        raise DataError(
            f"{place}: {error}; the run directory was changed after it was written: measure again"
        ) from error
    steps, names = [step.message for step in model.steps], [destination.name for destination in model.destinations]
    rebuilt = (steps, names, model.handlers, model.connections - model.handlers)
    try:
        written = (
            plan["steps"],
            [destination["name"] for destination in plan["destinations"]],
            len(plan["handlers"]),
            len(plan["drivers"]),
        )
        numbers = [one["number"] for one in (*plan["handlers"], *plan["drivers"])]
    except (KeyError, TypeError) as error:
        raise DataError(f"{place}: an entry of its lists lacks {error}; measure again") from error
    if written != rebuilt or numbers != list(range(len(numbers))):
        raise DataError(
            f"{place}: steps, destinations, handlers or drivers are not those of its topology; the run directory was "
            "changed after it was written, or another version of the suite measured it: measure again"
        )
    return model
