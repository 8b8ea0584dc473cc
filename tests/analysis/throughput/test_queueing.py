"""Waiting times against formulas of their own and a simulated queue."""

import numpy as np
import pytest

from analysis.errors import DataError
from analysis.throughput.queueing import mean_waiting_s


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_exponential_service_waits_twice_as_long_as_constant(load):
    """M/M/1 waits rho / (1 - rho) service times (Kleinrock 1975, section 3.2), M/D/1 half of that."""
    service_s = 1e-4

    exponential = mean_waiting_s(load / service_s, service_s, 2 * service_s**2)
    constant = mean_waiting_s(load / service_s, service_s, service_s**2)

    assert exponential == pytest.approx(load / (1 - load) * service_s)
    assert constant == pytest.approx(exponential / 2)


def test_a_simulated_queue_waits_as_long():
    """Lindley's recursion over 100 000 Poisson arrivals with two service times, at a load of 0.6, within 5 %."""
    rng = np.random.default_rng(1)
    service_s = rng.choice([1e-4, 5e-4], p=[0.75, 0.25], size=100_000)
    gaps_s = rng.exponential(2e-4 / 0.6, size=len(service_s))
    waited = total = 0.0
    for service, gap in zip(service_s, gaps_s, strict=True):
        total += waited
        waited = max(0.0, waited + service - gap)

    second_moment = 0.75 * 1e-4**2 + 0.25 * 5e-4**2
    assert mean_waiting_s(0.6 / 2e-4, 2e-4, second_moment) == pytest.approx(total / len(service_s), rel=0.05)


def test_nobody_waits_without_traffic():
    """A rate of 0 is no waiting, not an error."""
    assert mean_waiting_s(0, 1e-4, 1e-8) == 0


@pytest.mark.parametrize("rate", [10_000, 10_001])
def test_at_the_capacity_there_is_no_mean(rate):
    """A queue that grows without end is refused with rate and capacity, rather than given as infinite or negative."""
    with pytest.raises(DataError, match=f"{rate} messages/s are not below the capacity of 10000"):
        mean_waiting_s(rate, 1e-4, 1e-8)


@pytest.mark.parametrize(("rate", "mean", "second"), [(-1, 1e-4, 1e-8), (1, 0, 1e-8), (1, 1e-4, 0.9e-8)])
def test_impossible_moments_are_refused(rate, mean, second):
    """No distribution has them, so that the caller has mixed something up."""
    with pytest.raises(DataError, match="no queue has"):
        mean_waiting_s(rate, mean, second)
