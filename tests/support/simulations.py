"""How often a simulation is repeated, and what so few repetitions may show of a share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from analysis.results import Interval

#: Standard errors within which a share may lie.
SIGMA = 3.0


def repetitions(few: int, many: int) -> int:
    """So many in the thorough profile of Hypothesis, and few in the quick one."""
    return many if settings.default.max_examples >= settings.get_profile("thorough").max_examples else few


def slack(share: float, runs: int) -> float:
    """What a share seen in so many runs may be off, by chance."""
    return SIGMA * float(np.sqrt(share * (1 - share) / runs))


def about(share: float, runs: int) -> Any:
    """A share, as so many runs may show it."""
    return pytest.approx(share, abs=slack(share, runs))


def covers(interval: Interval, truth: float) -> bool:
    """An end that is not known excludes nothing."""
    low, high = interval.low, interval.high
    return (low is None or low <= truth) and (high is None or truth <= high)
