"""manifest.json of a run directory, as records: what ran where, with which options, and how it ended.

The measuring half of the suite writes them and the analysing half reads them; each key is stated here alone, as a
field. None stands for what was not known. A reader does not look at keys that a record does not have: what the records
of another version mean is told by the schema's number, not by their keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workloads.capabilities import Capabilities
from workloads.gate import GateRules
from workloads.schedule import Slot
from workloads.schema import RunKind, RunOutcome, Severity


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """The disk of the temporary files, which contain the brokers' stores."""

    filesystem: str | None
    disk: str | None
    disk_rotates: bool | None
    disk_write_cache: str | None
    size_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord:
    """The machine that directs the run, and its interpreter. No names of hosts, users or folders, no serial numbers."""

    kernel: str
    machine: str
    cpu_model: str | None
    cpus: int | None
    cpus_available: tuple[int, ...]
    memory_bytes: int
    python: str
    platform: str
    #: Vendor and product.
    system: str | None
    os: str | None
    cpu_sockets: int | None
    cpu_cores: int | None
    #: The clock frequency, the highest if it varies; a virtual machine often sees only the nominal one.
    cpu_mhz: float | None
    #: By name, such as `L1 data`: the size, and the CPUs that share it.
    cpu_caches: Mapping[str, str]
    store: StoreRecord
    #: Versions of what the load is made of.
    packages: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRecord:
    """A broker of a run, as it was started. It holds no secret."""

    product: str | None
    version: str | None
    provider: str
    #: What it says of itself when a client connects.
    server: str | None
    #: How it was configured, by name; empty for a broker that the suite did not start.
    options: Mapping[str, Any]
    #: SHA-256 of its configuration.
    configuration_digest: str | None
    #: Of its virtual machine.
    flags: tuple[str, ...] | None
    #: How much memory is for messages, in words.
    message_memory: str | None
    #: Versions that the suite was tested with, where this one is of none of their lines; else none.
    untested: tuple[str, ...] = ()
    #: Version of its JVM.
    java: str | None
    #: Flags of the JVM as it reports them.
    flags_in_effect: tuple[str, ...] | None
    #: Whether its certificate was verified; None without TLS.
    tls: Literal["verified", "insecure"] | None
    #: Of a container: name and id of its image.
    image: str | None = None
    image_id: str | None = None
    capabilities: Capabilities
    #: The protocol that is spoken with it: its `name`, its `title` in a sentence, and how it is spoken there.
    protocol: Mapping[str, Any]
    #: Its CPU set.
    cpus: tuple[int, ...] | None
    #: Whether its CPU time can be read.
    cpu_known: bool
    #: Scheduling policy of its threads, such as normal or batch.
    scheduling: str | None

    @property
    def protocol_title(self) -> str:
        """How its protocol is called in a sentence."""
        return str(self.protocol["title"])

    @property
    def title(self) -> str:
        """Product, version and provider, as far as they are known, and protocol."""
        product = " ".join(filter(None, (self.product, self.version))) or "product not known"
        return f"{product}, {self.provider}, {self.protocol_title}"

    @property
    def cpu_count(self) -> int | None:
        """Number of CPUs in its CPU set; None where its CPU time or its set is unknown."""
        return len(self.cpus) if self.cpu_known and self.cpus else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRecord:
    """A start of a broker."""

    broker: str
    start: int
    #: Fraction of its CPU set used before any load.
    idle_cpu: float | None
    #: Duration of its warm-up, s.
    warm_up_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStart(StartRecord):
    """A start of a broker in the throughput study, after its warm-up."""

    #: The cells' contrasts were stable and the compiler was idle, by the limits of `workloads.limits`.
    warm: bool
    #: Of the last rounds of the warm-up; None where there were too few rounds.
    contrast_change: float | None
    #: Of the last rounds of the warm-up; None where there were too few rounds, or no JVM is known.
    compiler_share: float | None
    #: What it lacked last before it was warm; empty if nothing.
    waited_for: str
    #: Of the warm-up.
    rounds: int


@dataclass(frozen=True, slots=True)
class MissingCell:
    """A cell that a broker cannot do, and that was therefore not scheduled."""

    broker: str
    experiment: str
    cell: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """Warnings of a log that differ only in numbers."""

    severity: Severity
    #: The first of them, without secrets.
    text: str
    count: int
    #: Its instant, in the format of its source.
    first: str


@dataclass(frozen=True, slots=True)
class LogRecord:
    """The warnings of a broker's log, or of another source, in one start."""

    broker: str
    start: int
    source: str
    messages: tuple[LoggedMessage, ...]
    #: Number of messages that were too many to be kept.
    others: int


@dataclass(frozen=True, slots=True)
class LookRecord:
    """A look at a start after a planned number of layouts, which decided whether the start went on."""

    broker: str
    start: int
    layouts: int
    #: What was decided, and why.
    said: str


@dataclass(frozen=True, slots=True)
class LoadHostRecord:
    """A host of the load in a layout of the study or a cell of a workload, where there are several hosts."""

    #: Number of the host.
    host: int
    address: str
    #: Number of its worker processes.
    workers: int
    #: Of its clock from that of the directing process.
    offset_ns: int
    #: By how much the offset changed meanwhile.
    change_ns: int
    #: How much an instant of its clock may be wrong, once put by that of the directing process.
    bound_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """manifest.json of a run of any kind; what has a default is added in the course of the run."""

    schema: int
    kind: RunKind
    label: str
    created_utc: str
    #: Of the session, as they are in effect, by name; `RunOptions` and `GateOptions` are what others depend on.
    options: Mapping[str, Any]
    host: HostRecord
    #: By their names in all records.
    brokers: Mapping[str, BrokerRecord]
    starts: tuple[StartRecord, ...]
    schedule: tuple[Slot, ...]
    not_applicable: tuple[MissingCell, ...]
    #: An entry for each log of a broker and each other source.
    warnings: tuple[LogRecord, ...] = ()
    looks: tuple[LookRecord, ...] = ()
    #: The hosts of the load, of each layout or cell in turn; none where it is a single host.
    load_hosts: tuple[LoadHostRecord, ...] = ()
    #: CPUs of the run on which another session measured as well.
    shared_cpus: tuple[int, ...] = ()
    ended_utc: str | None = None
    #: By table.
    rows: Mapping[str, int] | None = None
    #: None while the session runs, or where it was killed.
    outcome: RunOutcome | None = None
    #: Why it failed.
    error: str | None = None

    @property
    def clock_bound_ns(self) -> int:
        """How much a time between two hosts of the load may be wrong; 0 on a single host, whose clock is one."""
        worst: dict[int, int] = {}
        for each in self.load_hosts:
            worst[each.host] = max(each.bound_ns, worst.get(each.host, 0))
        return sum(sorted(worst.values())[-2:]) if len(worst) > 1 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyManifest(Manifest):
    """manifest.json of a run of the throughput study."""

    starts: tuple[StudyStart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a session that others depend on."""

    #: Worker processes of the load, on each of its hosts.
    workers: int
    #: Of the load, unless it comes from a cluster.
    load_cpus: tuple[int, ...]
    #: URL of the cluster that the load comes from; None for a single host.
    hosts: str | None = None
    #: Number of hosts, where it comes from a cluster.
    host_count: int = 1

    @property
    def load_hosts(self) -> int:
        """Number of hosts of the load."""
        return 1 if self.hosts is None else self.host_count

    @property
    def all_workers(self) -> int:
        """Worker processes of the load, on all hosts."""
        return self.workers * self.load_hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions(RunOptions):
    """Likewise of the throughput study."""

    grid: str
    #: What all cells of the run have in common.
    profile: str
    loop: str
    client: str
    #: Layouts of a start until its first look.
    layouts: int
    #: Factor by which intervals are wider than those of a fixed number of layouts.
    widening: float
    #: Largest relative half-width asked for; None for that of `workloads.limits.PRECISION`.
    precision: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions(RunOptions):
    """Likewise of a business workload."""

    consumption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRunOptions(RunOptions):
    """Likewise of the experiment about faults."""

    grid: str
    #: How often each fault is repeated.
    repetitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions(GateRules):
    """The options of a session that a regression gate depends on: its rules, and what it compares."""

    #: The baseline as the user named it.
    baseline: str
    #: The candidate.
    broker: tuple[str, ...]
