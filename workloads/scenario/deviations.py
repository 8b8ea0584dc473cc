"""How a run was conducted, and the rows by which a workload's run rules find where that deviates from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workloads.arrivals import ArrivalProcess
from workloads.capabilities import Transactions
from workloads.messaging import DestinationKind
from workloads.scenario.model import Consumption
from workloads.scenario.periods import Period


@dataclass(frozen=True, slots=True)
class Conduct:
    """The facts of a run of one cell on which run rules may depend."""

    #: Whether the model is one as published, see `workloads.scenario.workload.Model`.
    published: bool
    #: Whether clients and server ran on one host.
    one_host: bool
    #: Whether the broker was given by its URL.
    by_url: bool
    #: Whether the broker is the suite's own.
    reference: bool
    #: Where persistent messages were stored, and whether the store was synced, as text.
    store: str
    #: Whether a confirmed message is on the disk; None if unknown.
    synced: bool | None
    #: Whether a COMMIT takes effect as a whole even if the broker is killed.
    atomic: bool
    #: Length of every period in s; 0 if the run had no such period.
    lengths_s: Mapping[Period, float]
    consumption: Consumption
    #: What the broker supports of the transactions.
    transactions: Transactions
    arrivals: ArrivalProcess
    #: Whether the model has transacted messages.
    transacted: bool
    #: The kinds of destinations with messages that the broker promises to keep, see `StepSpec.kept`.
    kept: frozenset[DestinationKind]
    #: The kinds whose redeliveries after a crash are marked as such.
    crash_marked: frozenset[DestinationKind]

    @property
    def unmarked(self) -> str:
        """The kinds of destinations whose stored messages lack the mark after a crash."""
        return " and ".join(sorted(self.kept - self.crash_marked))


@dataclass(frozen=True, slots=True)
class Deviation:
    """A row of a workload's run rules: when a run deviates from a section, and how."""

    applies: Callable[[Conduct], bool]
    #: Format string over `run`, a Conduct.
    text: str
    #: Such as "section 3.4".
    section: str

    def __str__(self) -> str:
        return f"{self.text} ({self.section})"


#: The only deviation that leaves a result compliant: who has a single machine can run no workload without it.
ONE_HOST = Deviation(lambda run: run.one_host, "clients and server share one host", "section 3.9")
