"""The traffic computed from the tables: messages and bytes per second by step, interaction, location and group.

Source: Sachs et al. 2009, section 3.1 (xi per interaction, chi per location) and Tables 4 and 5. No result is copied
from there: everything is counted over a period of the executions that follow from the rows of `interactions`, `sizes`
and `topology`, exactly, in fractions.

Table 5 counts messages *received*; a message on a topic is received once by each subscriber. KBytes are of bodies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, TypeVar

from workloads.messaging import DestinationKind
from workloads.supply_chain.interactions import DestinationGroup, MessageType, Participant, Role
from workloads.supply_chain.sizes import BYTES_PER_KBYTE, SIZING_PARAMETERS
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import Location, Topology


@dataclass(frozen=True, slots=True)
class Volume:
    """Messages and bytes of their bodies, per second."""

    sent_per_s: Fraction = Fraction()
    received_per_s: Fraction = Fraction()
    sent_bytes_per_s: Fraction = Fraction()
    received_bytes_per_s: Fraction = Fraction()

    def __add__(self, other: Volume) -> Volume:
        return Volume(*(getattr(self, name) + getattr(other, name) for name in Volume.__slots__))


@dataclass(frozen=True, slots=True)
class Traffic:
    """The volume of a step, for all locations or for one location."""

    step: MessageType
    volume: Volume
    location: Location | None = None


def by_interaction(topology: Topology) -> tuple[Traffic, ...]:
    """The traffic of every step; the sums by interaction and group are the paper's xi."""
    model = SupplyChain(topology)
    sent, received = model.sent_by_place(), model.received_by_place()
    return tuple(
        Traffic(step, _volume(topology, step, _of_step(sent, number), _of_step(received, number)))
        for number, step in enumerate(topology.steps)
    )


def by_location(topology: Topology) -> tuple[Traffic, ...]:
    """The traffic of every step at every location that sends or receives it.

    The sums by location and group are the paper's chi.
    """
    model = SupplyChain(topology)
    sent, received = model.sent_by_place(), model.received_by_place()
    found: list[Traffic] = []
    for number, step in enumerate(topology.steps):
        volumes: dict[Location, Volume] = {}
        for location in topology.at(step.sender.role):
            rate_per_s = sent.get((number, location.index), Fraction())
            volumes[location] = _volume(topology, step, rate_per_s, Fraction())
        for location in topology.at(step.receiver.role):
            rate_per_s = received.get((number, location.index), Fraction())
            volume = _volume(topology, step, Fraction(), rate_per_s)
            volumes[location] = volumes.get(location, Volume()) + volume
        found += [Traffic(step, volume, location) for location, volume in volumes.items()]
    return tuple(found)


def _of_step(rates_per_s: Mapping[tuple[int, int], Fraction], number: int) -> Fraction:
    return sum((rate for (step, _), rate in rates_per_s.items() if step == number), Fraction())


def _volume(topology: Topology, step: MessageType, sent_per_s: Fraction, received_per_s: Fraction) -> Volume:
    mean_bytes = topology.interactions[step.interaction].size_distribution.mean_bytes(step.message)
    return Volume(sent_per_s, received_per_s, sent_per_s * mean_bytes, received_per_s * mean_bytes)


Key = TypeVar("Key", bound=Hashable)


def sums(traffic: Iterable[Traffic], key: Callable[[Traffic], Key]) -> dict[Key, Volume]:
    """Volumes summed by any key of the rows, for example `lambda row: row.step.group`."""
    found: dict[Key, Volume] = {}
    for row in traffic:
        found[key(row)] = found.get(key(row), Volume()) + row.volume
    return found


def by_group(traffic: Iterable[Traffic]) -> dict[DestinationGroup, Volume]:
    """Volumes by the four groups of Table 3, including empty groups."""
    return dict.fromkeys(DestinationGroup, Volume()) | sums(traffic, lambda row: row.step.group)


def total(traffic: Iterable[Traffic]) -> Volume:
    return reduce(add, (row.volume for row in traffic), Volume())


def percent(parts: Mapping[Key, Fraction]) -> dict[Key, float]:
    """Each part's share of the sum, in percent; for messages or bytes received by group this is Table 5."""
    whole = sum(parts.values())
    return {key: float(100 * part / whole) for key, part in parts.items()}


def characterization(topology: Topology) -> dict[str, Any]:
    """All computed values of a topology, as plain JSON."""
    model = SupplyChain(topology)
    traffic = by_interaction(topology)
    groups = by_group(traffic)
    of_interaction = sums(traffic, lambda row: (row.step.interaction, row.step.group))
    locations = by_location(topology)
    of_location = sums(locations, lambda row: (row.location, row.step.group))
    kinds = Counter(destination.kind for destination in model.rows.destinations)
    whole = _volume_json(total(traffic))
    return {
        "topology": topology.name,
        "base": topology.base,
        "locations": {role.value: number for role, number in topology.locations.items()},
        "delta": float(topology.delta) if topology.locations[Role.DC] else None,
        "product_families": _families_json(topology),
        "queues": kinds[DestinationKind.QUEUE],
        "topics": kinds[DestinationKind.TOPIC],
        "topic_subscriptions": sum(
            len(handler.subscriptions)
            for handler in model.rows.handlers
            if model.steps[handler.step].kind is DestinationKind.TOPIC
        ),
        "event_handlers": model.handlers,
        "drivers": len(model.rows.drivers),
        "connections": model.connections,
        **whole,
        "message_mix_percent": percent({group.value: volume.received_per_s for group, volume in groups.items()}),
        "bandwidth_percent": percent({group.value: volume.received_bytes_per_s for group, volume in groups.items()}),
        "groups": {group.value: _volume_json(volume) for group, volume in groups.items()},
        "interactions": {
            str(number): {
                "title": interaction.script.title,
                "rate_per_s": float(interaction.rate_per_s),
                "rate_of": "all headquarters"
                if interaction.starter is Participant.HQ
                else f"each {interaction.starter.role}",
                "started_per_s": float(topology.started_per_s(number)),
                "sizing_parameter": SIZING_PARAMETERS[number],
                "groups": _groups_json(of_interaction, number),
            }
            for number, interaction in topology.interactions.items()
        },
        "messages": {row.step.message: _message_json(topology, row) for row in traffic},
        "per_location": {
            str(location): _groups_json(of_location, location)
            for location in dict.fromkeys(row.location for row in locations)
        },
    }


def figures(topologies: Iterable[Topology]) -> list[dict[str, Any]]:
    """The data of figures 3 to 9, one row for each BASE: locations, messages and KBytes received per group, and mix."""
    rows = []
    for topology in topologies:
        groups = by_group(by_interaction(topology))
        rows.append(
            {
                "base": topology.base,
                "locations": {role.value: number for role, number in topology.locations.items()},
                "received_per_s": {group.value: float(volume.received_per_s) for group, volume in groups.items()},
                "received_kb_per_s": {
                    group.value: float(volume.received_bytes_per_s / BYTES_PER_KBYTE)
                    for group, volume in groups.items()
                },
                "message_mix_percent": percent(
                    {group.value: volume.received_per_s for group, volume in groups.items()}
                ),
            }
        )
    return rows


def _volume_json(volume: Volume) -> dict[str, float]:
    return {
        "sent_per_s": float(volume.sent_per_s),
        "received_per_s": float(volume.received_per_s),
        "sent_kb_per_s": float(volume.sent_bytes_per_s / BYTES_PER_KBYTE),
        "received_kb_per_s": float(volume.received_bytes_per_s / BYTES_PER_KBYTE),
    }


def _groups_json(volumes: Mapping[tuple[Any, DestinationGroup], Volume], key: Any) -> dict[str, dict[str, float]]:
    return {group.value: _volume_json(volumes.get((key, group), Volume())) for group in DestinationGroup}


def _families_json(topology: Topology) -> dict[str, float] | None:
    if not any(step.receiver is Participant.SUPPLIERS for step in topology.steps):
        return None
    return {
        "number": topology.families,
        "per_supplier": topology.families_per_supplier,
        "rho": float(topology.rho),
        "zeta": float(topology.zeta),
    }


def _message_json(topology: Topology, row: Traffic) -> dict[str, Any]:
    step = row.step
    size_distribution = topology.interactions[step.interaction].size_distribution
    return {
        "interaction": step.interaction,
        "description": step.description,
        "from": step.sender.value,
        "to": step.receiver.value,
        "kind": step.kind.value,
        "group": step.group.value,
        "persistent": step.mode.persistent,
        "transacted": step.mode.transacted,
        "durable": step.mode.durable,
        "body": step.body,
        "sent_after": step.after,
        "destinations": len(topology.names_of(step.receiver)),
        "body_bytes": list(size_distribution.body_bytes(step.message)),
        "mean_body_bytes": float(size_distribution.mean_bytes(step.message)),
        **_volume_json(row.volume),
    }
