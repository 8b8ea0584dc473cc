"""On how many examples a law is tried: all in the thorough profile of Hypothesis, three in ten in the quick one."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> settings:
    """So many examples in the thorough profile."""
    return settings(max_examples=count * settings.default.max_examples // 100)
