"""Student's t distribution. scipy is imported on the first use: it takes longer than all else that reading a stored
analysis needs."""

from __future__ import annotations


def p_value(estimate: float, standard_error: float, degrees: float) -> float:
    """Of the two-sided test that the estimate is 0."""
    from scipy.special import stdtr  # noqa: PLC0415

    if not standard_error:
        return 1.0 if estimate == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(estimate) / standard_error))


def quantile(degrees: float, probability: float) -> float:
    """The t with P(T <= t) = probability."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))
