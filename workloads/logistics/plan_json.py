"""Conversion of a size to plain JSON values and back, and the digest of all tables."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
from fractions import Fraction
from typing import Any

from workloads.errors import WorkloadError
from workloads.logistics.dimensions import LEAD_S, LINGER_S, Addressing, LogisticsSize, profile_of
from workloads.logistics.laws import STAGE_DAYS
from workloads.logistics.profiles import MONITORED, PROFILES
from workloads.logistics.traffic import INTERACTIONS, MESSAGES
from workloads.supply_chain.json_values import digest_of, refusal, text, values, whole

#: All subscriptions of a shipment stand for its whole life, as the published number of subscriptions asks for.
TRACKING = "life"

_KEYS = (
    "profile",
    "base",
    "vehicles_per_hub",
    "compression",
    "addressing",
    "customers_per_connection",
    "tracking",
)


def to_json(size: LogisticsSize) -> dict[str, Any]:
    """All values of the size, so that `from_json` returns an equal one."""
    return {
        "profile": size.profile.name,
        "base": size.base,
        "vehicles_per_hub": size.vehicles_per_hub,
        "compression": size.compression,
        "addressing": size.addressing.value,
        "customers_per_connection": size.customers_per_connection,
        "tracking": TRACKING,
    }


def from_json(record: Any) -> LogisticsSize:
    """The described size. Raises WorkloadError with the place if `to_json` cannot have written a value."""
    profile, base, vehicles, compression, addressing, customers, tracking = values(record, "topology", *_KEYS)
    if addressing not in tuple(Addressing):
        raise refusal("topology.addressing", f"one of {', '.join(Addressing)}", addressing)
    if tracking != TRACKING:
        raise refusal("topology.tracking", TRACKING, tracking)
    try:
        return LogisticsSize(
            profile_of(text(profile, "topology.profile")),
            whole(base, "topology.base"),
            whole(vehicles, "topology.vehicles_per_hub"),
            whole(compression, "topology.compression"),
            Addressing(addressing),
            whole(customers, "topology.customers_per_connection"),
        )
    except WorkloadError as error:
        raise WorkloadError(f"topology: {error}") from None


def digest() -> str:
    """SHA-256 of the tables: runs with the same digest and the same size had the same model."""
    return digest_of(
        {
            "profiles": {name: _plain(asdict(profile)) for name, profile in PROFILES.items()},
            "messages": [_plain(asdict(row)) for row in MESSAGES],
            "interactions": {number: asdict(row) for number, row in INTERACTIONS.items()},
            "stage_days": _plain(STAGE_DAYS),
            "monitored": str(MONITORED),
            "seconds": {"lead": LEAD_S, "linger": LINGER_S},
        }
    )


def _plain(value: Any) -> Any:
    """Fractions and enums as text, also within; keys that are pairs as one text."""
    if isinstance(value, dict):
        return {_key(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, (Fraction, Enum)) else value


def _key(key: Any) -> str:
    return " -> ".join(map(str, key)) if isinstance(key, tuple) else str(key)
