"""The digest of all tables."""

from __future__ import annotations

from workloads.json_value import digest_of
from workloads.logistics.dimensions import LEAD_S, LINGER_S
from workloads.logistics.laws import STAGE_DAYS
from workloads.logistics.profiles import MONITORED, PROFILES
from workloads.logistics.traffic import INTERACTIONS, MESSAGES


def digest() -> str:
    """SHA-256 of the tables: runs with the same digest and the same request had the same model."""
    return digest_of(
        {
            "profiles": PROFILES,
            "messages": MESSAGES,
            "interactions": INTERACTIONS,
            "stage_days": STAGE_DAYS,
            "monitored": MONITORED,
            "seconds": {"lead": LEAD_S, "linger": LINGER_S},
        }
    )
