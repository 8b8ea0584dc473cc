"""What a business workload is to the rest of the suite: its cases, its texts, and a model of each case at one BASE.

The load needs a model's scenario. The audit asks which messages an execution has (`Model.expected`), and who gets a
copy of each (`Model.audience`). Both know a message by its *address*: the message type and the receiving party, apart
from the broker's destination through which it is sent. Records have an address by its number, in their `destination`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from workloads.limits import Rule
from workloads.messaging import Destination, DestinationKind
from workloads.scenario.execution import Execution
from workloads.scenario.model import Scenario
from workloads.scenario.periods import Period


class Address(NamedTuple):
    """What a message is, and for whom."""

    #: Number of the message type among the model's.
    step: int
    #: Index of the receiving party, as an execution assigns it.
    party: int


class ExpectedMessage(NamedTuple):
    """One message of an execution."""

    address: Address
    #: Index of the location that sends it.
    sender: int
    body_bytes: int


@dataclass(frozen=True, slots=True)
class StepSpec:
    """A message type of a model."""

    message: str
    #: The number of its interaction.
    interaction: int
    #: Of the destinations that it is sent to.
    kind: DestinationKind
    persistent: bool
    transacted: bool
    #: By size class.
    body_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InteractionModel:
    """Executions of one kind: how often they start, and what they amount to."""

    title: str
    #: In the whole system.
    started_per_s: Fraction
    #: Messages of an execution, on average.
    sent: Fraction
    received: Fraction
    #: Executions of one origin after which their messages repeat, but for the sizes.
    period: int
    #: As of `Driver.column_limits`.
    column_limits: tuple[int, ...]


class Model(Protocol):
    """One case at one BASE."""

    @property
    def name(self) -> str:
        """Of the topology; results of two names are never compared."""

    @property
    def base(self) -> int: ...

    @property
    def scenario(self) -> Scenario:
        """For the engine. Raises WorkloadError for what has no room in it."""

    @property
    def handlers(self) -> int:
        """How many event handlers there are, known without the scenario."""

    @property
    def connections(self) -> int:
        """How many the load opens, known without the scenario."""

    @property
    def sent_per_s(self) -> float:
        """Messages, of the whole system."""

    @property
    def steps(self) -> tuple[StepSpec, ...]:
        """By number."""

    @property
    def interactions(self) -> Mapping[int, InteractionModel]:
        """By number."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        """By number."""

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """The broker's destination of each address."""

    def expected(self, execution: Execution) -> tuple[ExpectedMessage, ...]:
        """All messages of an execution, each once."""

    def audience(self, address: Address) -> tuple[tuple[int, ...], ...]:
        """Groups of handlers, by number: each group gets one copy of every message to this address."""

    def replies(self, execution: Execution, step: int, sender: int) -> tuple[int, ...]:
        """Numbers of the message types that are sent upon the receipt of this one from that sender."""

    def party(self, address: Address) -> str:
        """The receiving party for people, as in SM1."""

    def origin(self, execution: Execution) -> str:
        """The place that starts an execution, for people."""

    @property
    def without_figure(self) -> str:
        """Why no figure can be given for it; empty where one can."""

    @property
    def deviations(self) -> tuple[str, ...]:
        """From what the workload's run rules ask of a model, each with its section."""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What describes it to people, by name."""

    def to_json(self) -> dict[str, Any]:
        """The entry `topology` of plan.json, from which the workload's `from_json` makes an equal model."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text, and what messages call the file."""

    source: str
    text: str


#: Of a case that reads no file.
NO_TEXT = Text("", "")


@dataclass(frozen=True, slots=True)
class Case:
    """What can be run of a workload under one name."""

    #: The workload's name.
    workload: str
    name: str
    #: At a BASE, with the text of its file.
    model: Callable[[int, Text], Model]
    #: Describes the topology where the user names no other file; None for a case that reads none.
    file: Path | None = None
    #: Whether the broker is killed in the middle of the load.
    killed: bool = False

    def cell(self, base: int) -> str:
        """The id of the case at a BASE."""
        return f"{self.name}-b{base:04d}"


@dataclass(frozen=True, slots=True)
class Workload:
    """A business workload; all texts are for people."""

    #: The experiment's name in every record.
    name: str
    #: What it simulates.
    subject: str
    #: Stands before every result.
    disclaimer: str
    #: The name of its figure, with `{topology}` for the name of the model.
    figure: str
    #: Title of the run rules by which a result is compliant; limits cite it.
    rules: str
    #: Where its tables come from.
    source: str
    #: A sentence on what it is derived from and judged by.
    provenance: str
    #: By name.
    cases: Mapping[str, Case]
    #: From `Model.to_json`. Raises WorkloadError, naming the key, for what no model has written.
    from_json: Callable[[Any], Model]
    #: SHA-256 of its tables: two runs with the same one had the same model.
    digest: Callable[[], str]
    #: How long the periods of a compliant run are, at least.
    lengths: Mapping[Period, Rule]
    #: What a full disclosure leaves out: section of the rules, what it asks for, why there is none of it.
    not_applicable: tuple[tuple[str, str, str], ...]

    def figure_name(self, topology: str) -> str:
        return self.figure.format(topology=topology)
