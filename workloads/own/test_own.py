"""A workload of the user's own, from the file of --workload: does everything arrive, once and in time?"""

import pytest

from workloads.own import cases


@pytest.mark.workload(cases.LOAD)
def test_own(perform):
    """The load that the file describes: all of it is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()


@pytest.mark.workload(cases.RECOVERABILITY)
def test_recoverability(perform):
    """A broker that is killed under this load and restarted still has all messages that it had confirmed."""
    outcome = perform()

    assert outcome.passed, outcome.explain()
