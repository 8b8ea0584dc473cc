"""A size as plan.json has it, and the digest of all tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from workloads.errors import WorkloadError
from workloads.json_value import digest_of
from workloads.logistics.dimensions import LEAD_S, LINGER_S, Addressing, LogisticsSize, profile_of
from workloads.logistics.laws import STAGE_DAYS
from workloads.logistics.profiles import MONITORED, PROFILES
from workloads.logistics.traffic import INTERACTIONS, MESSAGES


@dataclass(frozen=True, slots=True)
class SizeRecord:
    """A size; fields as of `workloads.logistics.dimensions.LogisticsSize`."""

    #: Name of the profile.
    profile: str
    base: int
    vehicles_per_hub: int
    compression: int
    addressing: Addressing
    customers_per_connection: int
    #: All subscriptions of a shipment stand for its whole life, as the published number of subscriptions asks for.
    tracking: Literal["life"] = "life"

    @classmethod
    def of(cls, size: LogisticsSize) -> Self:
        return cls(**{**_values(size), "profile": size.profile.name})

    def rebuilt(self) -> LogisticsSize:
        """The size. Raises WorkloadError with the option of an invalid value."""
        values = _values(self)
        del values["tracking"]
        try:
            return LogisticsSize(**{**values, "profile": profile_of(self.profile)})
        except WorkloadError as error:
            raise WorkloadError(f"topology: {error}") from None


def _values(fields_of: LogisticsSize | SizeRecord) -> dict[str, Any]:
    return {field.name: getattr(fields_of, field.name) for field in fields(fields_of)}


def digest() -> str:
    """SHA-256 of the tables: runs with the same digest and the same size had the same model."""
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
