"""Student's t distribution. scipy is imported on the first use: it takes longer than all else that reading a stored
analysis needs."""

from __future__ import annotations


def cumulative(degrees: float, t: float) -> float:
    """P(T <= t)."""
    from scipy.special import stdtr  # noqa: PLC0415

    return float(stdtr(degrees, t))


def quantile(degrees: float, probability: float) -> float:
    """The t with P(T <= t) = probability."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))
