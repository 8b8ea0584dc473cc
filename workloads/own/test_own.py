"""A workload of the user's own, from the file of --workload: does everything arrive, once and in time?"""

import pytest

from workloads.own import cases


@pytest.mark.workload(cases.LOAD)
def test_own(perform):
    """The load that the file describes: all of it is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()


@pytest.mark.fault(cases.RECOVERABILITY)
def test_recoverability(endure):
    """A broker that is killed under this load and started again keeps what it promises, and comes back."""
    outcome = endure()

    assert outcome.kept, outcome.explain()
