"""The faults as a table: what is done to the broker or its clients, what that needs, and what is promised under it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workloads.capabilities import WITHOUT_RECEIPTS, Capabilities, Transactions
from workloads.errors import WorkloadError
from workloads.faults.accounting import Promise
from workloads.messaging import AckMode, DestinationKind
from workloads.schema import FaultLifeRow


class Deed(StrEnum):
    """What is done."""

    KILL = "kill"
    STOP = "stop"
    FREEZE = "freeze"
    RESET = "reset"
    PARTITION = "partition"
    SILENCE = "silence"
    STALL = "stall"
    DIE = "die"
    ABANDON = "abandon"
    FILL = "fill"


#: Deeds after which the broker starts again.
RESTARTS = frozenset({Deed.KILL, Deed.STOP})
#: Deeds under which the broker may end, by itself where it is not ended: what counts is what its store promises.
ENDING = RESTARTS | {Deed.FILL}
#: Deeds that keep nothing away: they show in copies that come twice, or that should not come.
DOUBLING = frozenset({Deed.RESET, Deed.DIE, Deed.ABANDON})
#: Deeds between load and broker, which need a relay.
RELAYED = frozenset({Deed.PARTITION, Deed.SILENCE})


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A fault."""

    name: str
    deed: Deed
    #: In words.
    how: str
    #: How long what is done lasts, s; 0 for what is done once.
    lasts_s: float = 0.0


FAULTS: Mapping[str, FaultKind] = {
    fault.name: fault
    for fault in (
        FaultKind("kill", Deed.KILL, "SIGKILL of the broker, which is started again on its store"),
        FaultKind("stop", Deed.STOP, "SIGTERM of the broker, which is started again on its store"),
        FaultKind("freeze-03s", Deed.FREEZE, "SIGSTOP of the broker for 3 s", 3.0),
        FaultKind("freeze-30s", Deed.FREEZE, "SIGSTOP of the broker for 30 s, longer than clients wait", 30.0),
        FaultKind("reset", Deed.RESET, "the load resets a tenth of its connections"),
        FaultKind("partition-05s", Deed.PARTITION, "nothing passes between load and broker for 5 s", 5.0),
        FaultKind("partition-30s", Deed.PARTITION, "nothing passes for 30 s, longer than clients wait", 30.0),
        FaultKind("half-open", Deed.SILENCE, "nothing of the broker reaches the load for 15 s", 15.0),
        FaultKind("stalled-consumer", Deed.STALL, "a consumer reads nothing for 10 s", 10.0),
        FaultKind("dead-consumer", Deed.DIE, "a consumer dies with messages that it has not acknowledged"),
        FaultKind("open-transaction", Deed.ABANDON, "a publisher dies between its messages and the commit"),
        FaultKind("disk-full", Deed.FILL, "the disk of the store is full for 20 s, and then has room again", 20.0),
    )
}


class Place(StrEnum):
    """What messages are sent to."""

    #: A queue, whose consumers compete.
    QUEUE = "queue"
    #: A topic for each consumer, which has a durable subscription to it.
    DURABLE = "durable"
    #: A topic for each consumer, whose subscription ends with its connection.
    TOPIC = "topic"
    #: Queues and durable subscriptions of a business workload.
    BUSINESS = "business"

    @property
    def kind(self) -> DestinationKind:
        return DestinationKind.QUEUE if self is Place.QUEUE else DestinationKind.TOPIC


@dataclass(frozen=True, slots=True)
class DeliveryWay:
    """A mode of delivery: whether messages are persistent, and what they are sent to, the first that the broker has."""

    name: str
    persistent: bool
    places: tuple[Place, ...]

    def place(self, capabilities: Capabilities) -> Place | None:
        """What messages are sent to; None if the broker has nothing of the kind."""
        for place in self.places:
            has = place.kind in capabilities.destinations
            if place is Place.QUEUE:
                has = has and (capabilities.queues_store or not self.persistent)
            if has and (place is not Place.DURABLE or capabilities.durable):
                return place
        return None


WAYS: Mapping[str, DeliveryWay] = {
    way.name: way
    for way in (
        DeliveryWay("stored", True, (Place.QUEUE, Place.DURABLE)),
        DeliveryWay("durable", True, (Place.DURABLE,)),
        DeliveryWay("transient", False, (Place.QUEUE, Place.TOPIC)),
    )
}

#: Further publishers, which die in a transaction; their lanes follow those of the others.
ABANDONING = 5

#: How consumers acknowledge, the preferred mode first.
ACKS = (AckMode.CLIENT_INDIVIDUAL, AckMode.CLIENT)


@dataclass(frozen=True, slots=True)
class FaultCell:
    """A fault in a mode of delivery."""

    fault: FaultKind
    way: DeliveryWay

    @property
    def id(self) -> str:
        return f"{self.fault.name}-{self.way.name}"

    def promise(self, capabilities: Capabilities) -> Promise:
        """What the broker promises of messages under the fault."""
        place = self.way.place(capabilities)
        again = self.fault.deed in ENDING
        kept = place is not Place.TOPIC  # a copy is lost with the connection of its only subscription
        survives = self.way.persistent and capabilities.stored and capabilities.stored_source != ""
        stored = kept and (survives or not again)
        kinds = capabilities.crash_marked if again else capabilities.destinations
        marked = capabilities.redelivered and place is not None and place.kind in kinds
        return Promise(stored, marked, capabilities.stored_source if again and stored else "", capabilities.atomic)

    def why_not(self, capabilities: Capabilities, *, own: bool, visible: bool, no_disk: str = "") -> str:
        """Why the cell is not applicable to a broker; empty if it is.

        own: whether the suite starts the broker
        visible: whether its process is known
        no_disk: why its store cannot lie on a small file system; empty if it can
        """
        return next(self._unmet(capabilities, own=own, visible=visible, no_disk=no_disk), "")

    def _unmet(self, capabilities: Capabilities, *, own: bool, visible: bool, no_disk: str) -> Iterator[str]:
        place, deed = self.way.place(capabilities), self.fault.deed
        if place is None:
            yield f"nothing that keeps messages of the mode {self.way.name}"
        if not capabilities.receipts:
            yield WITHOUT_RECEIPTS
        if ack_of(place, capabilities) is None:
            yield "no acknowledgement by consumers"
        if deed in RESTARTS and not own:
            yield "a broker that the suite did not start is not ended"
        if deed is Deed.FREEZE and not visible:
            yield "its process is not known; name it with --broker-pid"
        if deed is Deed.ABANDON and capabilities.transactions is Transactions.NONE:
            yield "no transactions"
        if deed is Deed.FILL and no_disk:
            yield no_disk


def ack_of(place: Place | None, capabilities: Capabilities) -> AckMode | None:
    """How consumers acknowledge; None if the broker has no such mode."""
    modes = capabilities.ack_modes
    if place is Place.QUEUE and capabilities.queue_ack_modes is not None:
        modes = capabilities.queue_ack_modes
    return next((mode for mode in ACKS if mode in modes), None)


def receivers_of(place: Place, publishers: int, consumers: int) -> list[frozenset[int]]:
    """By lane, the subscriptions one of which gets each message; also of the lanes of open transactions."""
    lanes = range(publishers + ABANDONING)
    if place is Place.QUEUE:
        return [frozenset(range(consumers)) for _ in lanes]
    return [frozenset((lane % consumers,)) for lane in lanes]


@dataclass(frozen=True, slots=True)
class FaultStudy:
    """An experiment about faults: its cells by grid."""

    name: str
    question: str
    grids: Mapping[str, tuple[FaultCell, ...]]

    def cells(self, grid: str) -> tuple[FaultCell, ...]:
        """Raises WorkloadError for a grid that it does not have."""
        if grid not in self.grids:
            raise WorkloadError(f"experiment {self.name} has no grid {grid!r}; it has {', '.join(self.grids)}")
        return self.grids[grid]


def crossed(faults: Sequence[str], ways: Sequence[str]) -> tuple[FaultCell, ...]:
    """Each of these faults in each of these modes, by their names."""
    return tuple(FaultCell(FAULTS[fault], WAYS[way]) for way in ways for fault in faults)


@dataclass(frozen=True, slots=True)
class FaultBusiness:
    """A business workload as the load. A lane has the messages of a sender to an address for one of its receivers."""

    #: For display.
    title: str
    #: To be said with every result.
    disclaimer: str
    #: By lane, the handlers one of which gets each message.
    receivers: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """An entry of plan.json."""

    experiment: str
    cell: str
    #: Names of the fault and of the mode of delivery.
    fault: str
    way: str
    #: None where publishers and consumers are those of the experiment.
    business: FaultBusiness | None = None

    @property
    def planned(self) -> FaultCell:
        return FaultCell(FAULTS[self.fault], WAYS[self.way])

    def receivers(self, life: FaultLifeRow) -> Sequence[Collection[int]]:
        """By lane, the subscriptions one of which gets each message."""
        if self.business is not None:
            return self.business.receivers
        return receivers_of(Place(life.place), life.publishers, life.consumers)
