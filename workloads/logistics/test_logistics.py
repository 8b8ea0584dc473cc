"""Shipments under way, tracked by customers that come and go: does every subscription get what it is owed, no more?

The audit after the last case answers this, test by test; a case itself fails if messages are still in flight at the end
of the drain, or if a subscriber or a driver met an error.
"""

import pytest

from workloads.logistics import cases


@pytest.mark.workload(*cases.OF_PROFILES)
def test_profile(perform):
    """A profile at a size: all that is owed is received before the drain ends, and everyone has left."""
    outcome = perform()

    assert outcome.passed, outcome.explain()
