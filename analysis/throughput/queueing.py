"""Waiting time of a single-server queue: arithmetic only, independent of runs, cells and fits."""

from __future__ import annotations

from analysis.errors import DataError


def mean_waiting_s(rate_per_s: float, mean_service_s: float, second_moment_s2: float) -> float:
    """Mean time in s that a message waits before its service begins, in M/GI/1, first come first served.

    rate E[S^2] / (2 (1 - rate E[S])): Pollaczek and Khinchine, as in Kleinrock, Queueing Systems, vol. 1, 1975,
    equation 5.70. Arrivals are Poisson with `rate_per_s`, service times independent with these two moments; for a
    constant service time (M/D/1) the second moment is the square of the mean. Raises DataError where a moment is
    impossible, or where the rate is not below 1 / E[S], since the queue then grows without bound.
    """
    if rate_per_s < 0 or mean_service_s <= 0 or second_moment_s2 < mean_service_s**2 * (1 - 1e-9):
        raise DataError(
            f"no queue has {rate_per_s:g} arrivals/s with service times of mean {mean_service_s:g} s and second "
            f"moment {second_moment_s2:g} s^2: the mean must be above 0, and the second moment at least its square"
        )
    utilisation = rate_per_s * mean_service_s
    if utilisation >= 1:
        raise DataError(
            f"{rate_per_s:g} messages/s are not below the capacity of {1 / mean_service_s:g} messages/s: the queue "
            "grows without bound, and there is no mean waiting time"
        )
    return rate_per_s * second_moment_s2 / (2 * (1 - utilisation))
