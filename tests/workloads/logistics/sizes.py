"""Sizes of the workload, for tests."""

from __future__ import annotations

from hypothesis import strategies as st

from workloads.logistics.dimensions import Addressing, LogisticsSize
from workloads.logistics.profiles import AS_PRINTED, CORRECTED, PROFILES

#: Any size that can be described; few hubs, so that laws can be enumerated.
SIZES = st.builds(
    LogisticsSize,
    st.sampled_from(list(PROFILES.values())),
    st.integers(1, 4),
    st.integers(1, 53),
    st.integers(1, 4320),
    st.sampled_from(Addressing),
    st.integers(1, 9),
)

#: Sizes whose laws are enumerated whole.
SMALL = st.builds(
    LogisticsSize,
    st.sampled_from(list(PROFILES.values())),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(1, 4320),
    st.sampled_from(Addressing),
    st.integers(1, 9),
)


def corrected(base=1, vehicles=53, compression=1, **more):
    """A size in the profile `corrected`."""
    return LogisticsSize(CORRECTED, base, vehicles, compression, **more)


def as_printed(base=1, vehicles=53, compression=1, **more):
    """A size in the profile `as-printed`."""
    return LogisticsSize(AS_PRINTED, base, vehicles, compression, **more)
