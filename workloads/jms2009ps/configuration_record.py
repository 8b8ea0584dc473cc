"""A configuration as plan.json has it, and the digests that identify a configuration and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from workloads.errors import WorkloadError
from workloads.jms2009ps.parameters import PARAMETERS, Configuration, MessageParameters
from workloads.jms2009ps.targets import MOST_SELECTOR, TOPICS
from workloads.json_value import digest_of
from workloads.supply_chain import topology_record


@dataclass(frozen=True, slots=True)
class ConfigurationRecord:
    """A configuration; fields as of `workloads.jms2009ps.parameters.Configuration`."""

    name: str
    topology: str
    handlers_per_queue: int
    #: By message.
    parameters: Mapping[str, MessageParameters]
    #: Of all values but the name.
    digest: str

    @classmethod
    def of(cls, configuration: Configuration) -> Self:
        return cls(
            configuration.name,
            configuration.topology,
            configuration.handlers_per_queue,
            configuration.parameters,
            configuration_digest(configuration),
        )

    def rebuilt(self) -> Configuration:
        """The configuration. Raises WorkloadError for an invalid value, or where the digest is another."""
        found = Configuration(self.name, self.parameters, self.topology, self.handlers_per_queue)
        if self.digest != configuration_digest(found):
            raise WorkloadError("configuration.digest: expected the digest of the values")
        return found


def configuration_digest(configuration: Configuration) -> str:
    """SHA-256 of everything but the name: configurations with the same digest are the same."""
    return digest_of(
        {
            "topology": configuration.topology,
            "handlers_per_queue": configuration.handlers_per_queue,
            "parameters": configuration.parameters,
        }
    )


def digest() -> str:
    """SHA-256 of all tables: runs with the same digest and the same configuration had the same model."""
    return digest_of(
        {
            "supply_chain": topology_record.tables(),
            "topics": TOPICS,
            "parameters": {name: parameter.expected for name, parameter in PARAMETERS.items()},
            "most_selector": MOST_SELECTOR,
        }
    )
