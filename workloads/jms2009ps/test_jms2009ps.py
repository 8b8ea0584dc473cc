"""A supply chain over topics with selectors: does everything arrive where it should, and nowhere else?

The audit after the last case answers this; a case itself fails if messages are still in flight at the end of the drain,
or if an event handler or a driver met an error.
"""

import pytest

from workloads.jms2009ps import cases


@pytest.mark.workload(*cases.OF_PAPER)
def test_scenario(perform):
    """A scenario of the paper: all of the traffic is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()


@pytest.mark.workload(cases.CONFIGURATION)
def test_configuration(perform):
    """A configuration from a file: all of the traffic is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()
