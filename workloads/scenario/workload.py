"""The interface of a business workload to the rest of the suite: its cases, its texts, and a model per case and BASE.

The load uses a model's scenario. The audit uses the messages that an execution has (`Model.expected`), and the handlers
that get a copy of each (`Model.audience`). Both identify a message by its *address*: the message type and the receiving
party, independent of the broker's destination through which it is sent. Column `address` of the records has the number
of an address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, cast

from workloads.errors import WorkloadError
from workloads.messaging import DestinationKind
from workloads.scenario.claims import NO_CLAIMS, PublishedClaims
from workloads.scenario.deviations import Deviation
from workloads.scenario.execution import Execution
from workloads.scenario.model import Scenario
from workloads.scenario.periods import Lengths
from workloads.scenario.published_flows import PublishedFlows


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
    #: Number of executions that start close together, of which an edge of a period may cut off all.
    together: int = 1


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


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file."""

    #: Name of the file in messages.
    source: str
    text: str

    @classmethod
    def read(cls, path: Path, named: str) -> Self:
        """The text of a file, which the user named so. Raises WorkloadError if it cannot be read."""
        try:
            return cls(path.name, path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise WorkloadError(f"{named}: cannot be read: {error}") from None


#: The text of a case that reads no file.
NO_TEXT = Text("", "")


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """The files that a case reads: its own, or those that the user names, each of which is a cell."""

    #: Name of the session's option for the user's.
    option: str
    #: Read unless the user names one.
    default: Path


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """A setting of one workload, beside BASE: the row of an option of the session with the same name."""

    #: Name of the option, for example customers-per-connection.
    name: str
    #: `int`, or the texts to choose from.
    kind: type[int] | tuple[str, ...]
    #: Its value where neither the user nor a preset sets it.
    default: int | str
    #: For the help of the option.
    meaning: str
    #: Lowest and highest number; without effect on a choice.
    least: int = 1
    most: int = 1

    @property
    def expected(self) -> str:
        """What a value has to be, for display."""
        if isinstance(self.kind, tuple):
            return f"one of {', '.join(self.kind)}"
        return f"a whole number from {self.least} to {self.most}"

    def checked(self, value: Any) -> int | str:
        """The value. Raises WorkloadError with the option's name if it is none of this setting."""
        if isinstance(self.kind, tuple):
            fits = isinstance(value, str) and value in self.kind
        else:
            fits = isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most
        if not fits:
            raise WorkloadError(f"--{self.name}: expected {self.expected}, got {value!r}")
        return cast(int | str, value)


@dataclass(frozen=True, slots=True)
class WorkloadPreset:
    """Values of settings and lengths of periods that belong together, under one name."""

    #: By the setting's name; the others have their defaults.
    settings: Mapping[str, int | str]
    lengths: Lengths


@dataclass(frozen=True, slots=True)
class CaseRequest:
    """What a model is built from; made by `Workload.request`, which checks the settings and adds the defaults."""

    base: int
    #: The text of the case's file.
    own: Text = NO_TEXT
    #: Value of every setting of the workload, by name.
    settings: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord(CaseRequest):
    """A request as plan.json has it: `Workload.model_of` makes the model that was run from it again."""

    #: Name of the case.
    case: str
    #: `Workload.digest` of the tables that the model was made with.
    tables: str


@dataclass(frozen=True, slots=True)
class SearchedQuantity:
    """What the search for the highest load that passes changes: BASE, or a setting."""

    #: Name of the session's option that asks for the search.
    option: str
    #: Name of the quantity, for display.
    title: str
    #: Name of the setting; None: BASE.
    setting: str | None
    #: Its values are multiples of this.
    step: int
    #: Its highest value that is tried.
    most: int

    def value(self, request: CaseRequest) -> int:
        return request.base if self.setting is None else int(request.settings[self.setting])

    def changed(self, request: CaseRequest, value: int) -> CaseRequest:
        """The same request with another value of the quantity."""
        if self.setting is None:
            return replace(request, base=value)
        return replace(request, settings={**request.settings, self.setting: value})


#: What is searched for unless a workload says otherwise.
BASE_SEARCHED = SearchedQuantity("find-base", "BASE", None, 1, 100_000)


@dataclass(frozen=True, slots=True)
class Case:
    """A part of a workload that can be run, with its name."""

    #: The workload's name.
    workload: str
    name: str
    #: Builds the model. Raises WorkloadError if there is none for this request.
    model: Callable[[CaseRequest], Model]
    #: None if the case reads no file.
    files: CaseFiles | None = None
    #: The text of every request, if the case reads no file.
    text: Text = NO_TEXT
    #: What a request calls the case in the id of its cell, where its name alone does not say it. Raises WorkloadError
    #: for an invalid text.
    called: Callable[[CaseRequest], str] | None = None

    def cell(self, request: CaseRequest) -> str:
        """The id of the case for this request. Raises WorkloadError for an invalid text."""
        name = self.name if self.called is None else self.called(request)
        return f"{name}-b{request.base:04d}"


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
    #: SHA-256 of its tables: the same request makes the same model of tables with the same digest.
    digest: Callable[[], str]
    #: The rules by which a run is compliant; None if no run rules are published for it, so that no run is called
    #: compliant or not.
    deviations: tuple[Deviation, ...] | None
    #: Items that a full disclosure omits: section of the rules, the required item, and the reason.
    not_applicable: tuple[tuple[str, str, str], ...]
    #: Makes the models of cases that are not named above; None if there are no others.
    other_case: Case | None = None
    #: How the messages of a model reach their addresses, in plain JSON values; None if all cases have that in common.
    configuration: Callable[[Any], Any] | None = None
    #: What a publication claims of the cases, to be judged where a run has several of them.
    claims: PublishedClaims = NO_CLAIMS
    #: The value of its figure of merit, for a model that passed the audit.
    figure_value: Callable[[Model], int] = lambda model: model.base
    #: BASE unless the user names one.
    default_base: int = 5
    #: Its settings beside BASE.
    settings: tuple[SettingSpec, ...] = ()
    #: Sizes of a run by name, the first of which is the default; empty if only `--length` selects the periods.
    presets: Mapping[str, WorkloadPreset] = field(default_factory=dict)
    searched: SearchedQuantity = BASE_SEARCHED
    #: Why its drivers start at constant rates only; empty if arrivals may be random.
    constant_because: str = ""
    #: The shortest warm-up of a model, s: after as long, its load is what the model says.
    least_warm_up_s: Callable[[Model], float] = lambda _: 0.0
    #: The published table of a model's flows, beside which a run is put; None if there is none.
    flows: Callable[[Model], PublishedFlows | None] = lambda _: None
    #: Quantities of a model, by name: results that differ in one of them are never compared, nor on one page.
    apart: Callable[[Model], Mapping[str, str]] = lambda _: {}
    #: By the number of a message type, the time in s after which its sender replaces a message by the next one.
    replaced_after_s: Callable[[Model], Mapping[int, float]] = lambda _: {}
    #: By the number of a population, that of a message type: a member joins after the message of this type was received
    #: whose execution has the member's number.
    announced: Callable[[Model], Mapping[int, int]] = lambda _: {}

    def request(
        self,
        base: int | None = None,
        own: Text = NO_TEXT,
        given: Mapping[str, Any] | None = None,
        preset: str | None = None,
    ) -> CaseRequest:
        """The request for a model with every setting: as given, otherwise of the preset, otherwise the default.

        Raises WorkloadError for an unknown preset or setting, or a value that the setting cannot have.

        base: None: `default_base`
        given: values by the setting's name
        preset: None: the first, if the workload has presets
        """
        name = preset or next(iter(self.presets), None)
        if name is not None and name not in self.presets:
            raise WorkloadError(f"--preset: expected one of {', '.join(self.presets) or 'none'}, got {name!r}")
        values = {**({} if name is None else self.presets[name].settings), **(given or {})}
        if unknown := sorted(values.keys() - {setting.name for setting in self.settings}):
            raise WorkloadError(f"--{unknown[0]} is no setting of {self.name}")
        settings = {
            setting.name: setting.checked(values.get(setting.name, setting.default)) for setting in self.settings
        }
        return CaseRequest(self.default_base if base is None else base, own, settings)

    def record(self, case: str, request: CaseRequest) -> RequestRecord:
        """A request for the model of the case with this name. Raises WorkloadError if there is no such case."""
        self._case(case)
        return RequestRecord(request.base, request.own, request.settings, case=case, tables=self.digest())

    def model_of(self, record: RequestRecord) -> Model:
        """The model that was requested. Raises WorkloadError if there is none."""
        return self._case(record.case).model(self.request(record.base, record.own, record.settings))

    def _case(self, name: str) -> Case:
        found = self.cases.get(name, self.other_case)
        if found is None:
            raise WorkloadError(f"case {name!r}: expected one of {', '.join(self.cases)}")
        return found

    def figure_name(self, topology: str) -> str:
        return self.figure.format(topology=topology)

    @property
    def borrowed_limits(self) -> str:
        """Where the limits are from if no run rules are published for it, for display; otherwise empty."""
        if self.deviations is not None:
            return ""
        return f"borrowed from the {self.rules}; no run rules are published for this workload"
