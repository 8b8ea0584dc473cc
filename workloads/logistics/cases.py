"""The cases of this workload, one for each profile; its settings, the presets, and the quantity of its search."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.logistics.compiled import LogisticsModel
from workloads.logistics.dimensions import (
    CUSTOMERS_PER_CONNECTION,
    MOST_COMPRESSION,
    Addressing,
    LogisticsSize,
)
from workloads.logistics.profiles import PROFILES, VEHICLES_PER_HUB, TrafficProfile
from workloads.scenario.message import MOST_FIELD
from workloads.scenario.periods import Lengths
from workloads.scenario.workload import Case, CaseRequest, SearchedQuantity, SettingSpec, WorkloadPreset

#: Name of the experiment in every record.
NAME = "logistics"

VEHICLES = SettingSpec("vehicles", int, VEHICLES_PER_HUB, "vehicles per hub; the paper has 53", most=VEHICLES_PER_HUB)
MINUTES = SettingSpec(
    "compression", int, 1, "minutes of the model in a minute; with a search, where it begins", most=MOST_COMPRESSION
)
ADDRESSING = SettingSpec(
    "addressing",
    tuple(Addressing),
    Addressing.SELECTOR.value,
    "how customers get the messages with their keys: by selectors, or by a topic for each key",
)
CUSTOMERS = SettingSpec(
    "customers-per-connection",
    int,
    CUSTOMERS_PER_CONNECTION,
    "customers whose subscriptions share a connection",
    most=MOST_FIELD,
)
SETTINGS = (VEHICLES, MINUTES, ADDRESSING, CUSTOMERS)

#: The search goes in steps of 10, from there to the highest compression.
COMPRESSION = SearchedQuantity("find-compression", "time compression", MINUTES.name, 10, MOST_COMPRESSION)


def _preset(vehicles: int, compression: int, warm_up_s: float, measurement_s: float) -> WorkloadPreset:
    lengths = Lengths(warm_up_s=warm_up_s, measurement_s=measurement_s, drain_s=60)
    return WorkloadPreset({VEHICLES.name: vehicles, MINUTES.name: compression}, lengths)


#: By name. `small` has some 8,000 subscriptions, the others 1,600, 16,000 and 83,000.
PRESETS: Mapping[str, WorkloadPreset] = {
    "small": _preset(5, 720, 30, 90),
    "smoke": _preset(1, 720, 10, 60),
    "medium": _preset(10, 720, 30, 90),
    "full": _preset(VEHICLES_PER_HUB, 60, 30, 90),
}


def sized(profile: TrafficProfile, request: CaseRequest) -> LogisticsSize:
    """The size that is requested. Raises WorkloadError if there is none."""
    vehicles, compression, addressing, customers = (request.settings[setting.name] for setting in SETTINGS)
    return LogisticsSize(
        profile, request.base, int(vehicles), int(compression), Addressing(str(addressing)), int(customers)
    )


def _case(profile: TrafficProfile) -> Case:
    def model(request: CaseRequest) -> LogisticsModel:
        size = sized(profile, request)
        size.require_runnable()
        return LogisticsModel(size)

    name = profile.name.replace("-", "_")
    return Case(NAME, name, model, called=lambda request: f"{name}{_of_settings(request)}")


def _of_settings(request: CaseRequest) -> str:
    """Cells of different settings have different ids, also in a search."""
    vehicles, compression, addressing, customers = (request.settings[setting.name] for setting in SETTINGS)
    return f"-v{vehicles:02d}-k{compression:04d}-{addressing}-m{customers}"


OF_PROFILES = tuple(map(_case, PROFILES.values()))
CASES = {case.name: case for case in OF_PROFILES}
