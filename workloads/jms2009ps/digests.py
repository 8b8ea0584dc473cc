"""The digests that identify a configuration and the tables."""

from __future__ import annotations

from workloads.jms2009ps.parameters import PARAMETERS, Configuration
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.jms2009ps.targets import MOST_SELECTOR, TOPICS
from workloads.json_value import digest_of
from workloads.supply_chain import digests


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
    """SHA-256 of all tables: runs with the same digest and the same request had the same model."""
    return digest_of(
        {
            "supply_chain": digests.tables(),
            "topics": TOPICS,
            "parameters": {name: parameter.expected for name, parameter in PARAMETERS.items()},
            "scenarios": SCENARIOS,
            "most_selector": MOST_SELECTOR,
        }
    )
