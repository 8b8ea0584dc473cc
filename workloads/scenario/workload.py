"""The interface of a business workload to the rest of the suite: its cases, its texts, and a model per case and BASE.

The load uses a model's scenario. The audit uses the messages that an execution has (`Model.expected`), and the handlers
that get a copy of each (`Model.audience`). Both identify a message by its *address*: the message type and the receiving
party, independent of the broker's destination through which it is sent. Column `address` of the records has the number
of an address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from workloads.messaging import DestinationKind
from workloads.scenario.claims import NO_CLAIMS, PublishedClaims
from workloads.scenario.deviations import Deviation
from workloads.scenario.execution import Execution
from workloads.scenario.model import Scenario
from workloads.scenario.published_views import ModelFigure, PublishedFlows


class AddressKey(NamedTuple):
    """What an address is, in the terms of a model; see `workloads.scenario.model.Address`."""

    #: Number of the message type in the model.
    step: int
    #: Index of the receiving party, as an execution assigns it.
    party: int


class ExpectedMessage(NamedTuple):
    """One message of an execution."""

    address: AddressKey
    #: Index of the location that sends it.
    sender: int
    body_bytes: int


@dataclass(frozen=True, slots=True)
class StepSpec:
    """A message type of a model."""

    message: str
    #: Number of its interaction.
    interaction: int
    #: Kind of the destinations that it is sent to.
    kind: DestinationKind
    persistent: bool
    transacted: bool
    #: Whether the subscriptions to its topics are durable; without effect on queues.
    durable: bool
    #: Body sizes by size class (column).
    body_bytes: tuple[int, ...]

    @property
    def kept(self) -> bool:
        """Whether a broker promises to keep its messages for their handlers, even if it is killed.

        It keeps what is persistent on a queue, and on a topic for durable subscriptions (JMS 1.1, section 6.12).
        """
        return self.persistent and (self.durable or self.kind is DestinationKind.QUEUE)


@dataclass(frozen=True, slots=True)
class InteractionModel:
    """The executions of an interaction: their rate, and the messages of each."""

    title: str
    #: Executions per second in the whole system.
    started_per_s: Fraction
    #: Average number of messages that an execution sends.
    sent: Fraction
    #: Average number of copies that an execution receives.
    received: Fraction
    #: Number of executions of one origin after which their messages repeat, except for the sizes.
    period: int
    #: See `Driver.size_class_bounds`.
    size_class_bounds: tuple[int, ...]


class Model(Protocol):
    """One case at one BASE."""

    @property
    def name(self) -> str:
        """Name of the topology; results of different names are never compared."""

    @property
    def base(self) -> int: ...

    @property
    def scenario(self) -> Scenario:
        """The scenario for the load engine. Raises WorkloadError if the model exceeds the limits of a scenario."""

    @property
    def handlers(self) -> int:
        """Number of event handlers, known without building the scenario."""

    @property
    def connections(self) -> int:
        """Number of connections that the load opens, known without building the scenario."""

    @property
    def sent_per_s(self) -> float:
        """Messages sent per second in the whole system."""

    @property
    def steps(self) -> tuple[StepSpec, ...]:
        """The message types, by number."""

    @property
    def interactions(self) -> Mapping[int, InteractionModel]:
        """The interactions, by number."""

    @property
    def addresses(self) -> tuple[AddressKey, ...]:
        """The addresses, by number."""

    @property
    def address_rates_per_s(self) -> tuple[Fraction, ...]:
        """Messages that the model sends per second to each address, by number."""

    def expected(self, execution: Execution) -> tuple[ExpectedMessage, ...]:
        """All messages of an execution, each once."""

    def audience(self, address: AddressKey) -> tuple[tuple[int, ...], ...]:
        """Groups of handlers, by number: each group gets one copy of every message to this address."""

    def replies(self, execution: Execution, step: int, sender: int) -> tuple[int, ...]:
        """Numbers of the message types that are sent in answer to this one from that sender."""

    def party(self, address: AddressKey) -> str:
        """The receiving party for display, for example SM1."""

    def origin(self, execution: Execution) -> str:
        """The place that starts an execution, for display."""

    @property
    def without_figure(self) -> str:
        """The reason why the model has no figure; empty if it has one."""

    @property
    def published(self) -> bool:
        """Whether it is a whole model as published, of which nothing is left out or defined by the user."""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Pairs of name and value that describe the model, for display."""

    def to_json(self) -> dict[str, Any]:
        """The entry `topology` of plan.json."""

    @property
    def configuration(self) -> Mapping[str, Any] | None:
        """The entry `configuration` of plan.json: how messages reach their addresses, as plain JSON.

        None in a workload that leaves no choice. The workload's `from_json` builds an equal model from both entries.
        """


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file."""

    #: Name of the file in messages.
    source: str
    text: str


#: The text of a case that reads no file.
NO_TEXT = Text("", "")


def _nothing(_: Text) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """The files that a case reads: its own, or those that the user names, each of which is a cell."""

    #: Name of the session's option for the user's.
    option: str
    #: Read unless the user names one.
    default: Path
    #: What a text appends to the name of the case in the id of its cell. Raises WorkloadError for an invalid text.
    suffix: Callable[[Text], str] = _nothing


@dataclass(frozen=True, slots=True)
class Case:
    """A part of a workload that can be run, with its name."""

    #: The workload's name.
    workload: str
    name: str
    #: Builds the model from a BASE and the text of the case's file.
    model: Callable[[int, Text], Model]
    #: None if the case reads no file.
    files: CaseFiles | None = None
    #: Whether the broker is killed under load.
    killed: bool = False

    def cell(self, base: int, own: Text = NO_TEXT) -> str:
        """The id of the case at a BASE with this text. Raises WorkloadError for an invalid text."""
        suffix = "" if self.files is None else self.files.suffix(own)
        return f"{self.name}{suffix}-b{base:04d}"


def _no_flows(_: Model) -> PublishedFlows | None:
    return None


def _no_figures(_: Model) -> tuple[ModelFigure, ...]:
    return ()


def _no_texts(_: Model) -> Mapping[str, str]:
    return {}


def _no_numbers(_: Model) -> Mapping[int, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Workload:
    """A business workload; its texts are for display."""

    #: Name of the experiment in every record.
    name: str
    #: The simulated business.
    subject: str
    #: Printed before every result.
    disclaimer: str
    #: Name of its figure of merit, with `{topology}` for the name of the model.
    figure: str
    #: Title of the run rules that the limits cite: its own, or those that it borrows them from.
    rules: str
    #: Source of its tables.
    source: str
    #: A sentence on its origin and on the rules that judge it.
    provenance: str
    #: The cases by name.
    cases: Mapping[str, Case]
    #: Builds a model from `Model.to_json` and `Model.configuration`. Raises WorkloadError with the key of an invalid
    #: value.
    from_json: Callable[[Any, Any], Model]
    #: SHA-256 of its tables: runs with the same digest had the same model.
    digest: Callable[[], str]
    #: The rules by which a run is compliant; None if no run rules are published for it, so that no run is called
    #: compliant or not.
    deviations: tuple[Deviation, ...] | None
    #: Items that a full disclosure omits: section of the rules, the required item, and the reason.
    not_applicable: tuple[tuple[str, str, str], ...]
    #: What a publication claims of the cases, to be judged where a run has several of them.
    claims: PublishedClaims = NO_CLAIMS
    #: The published table of a model's flows, beside which a run is put; None if there is none.
    flows: Callable[[Model], PublishedFlows | None] = _no_flows
    #: Figures of the publication that follow from the model alone.
    figures: Callable[[Model], tuple[ModelFigure, ...]] = _no_figures
    #: Quantities of a model, by name: results that differ in one of them are never compared, nor on one page.
    apart: Callable[[Model], Mapping[str, str]] = _no_texts
    #: By the number of a population, that of a message type: a member joins after the message of this type was received
    #: whose execution has the member's number.
    announced: Callable[[Model], Mapping[int, int]] = _no_numbers

    def figure_name(self, topology: str) -> str:
        return self.figure.format(topology=topology)

    @property
    def borrowed_limits(self) -> str:
        """Where the limits are from if no run rules are published for it, for display; otherwise empty."""
        if self.deviations is not None:
            return ""
        return f"borrowed from the {self.rules}; no run rules are published for this workload"
