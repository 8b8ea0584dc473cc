"""A supply chain under load: does everything arrive, once, in time, at the rates that BASE asks for?

The audit after the last case answers this, test by test; a case itself fails if messages are still in flight at the end
of the drain, or if an event handler or a driver met an error.
"""

import pytest

from workloads.specjms2007 import cases


@pytest.mark.workload(cases.VERTICAL)
def test_vertical(perform):
    """Ten supermarkets whose traffic grows with BASE: all of it is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()


@pytest.mark.workload(cases.HORIZONTAL)
def test_horizontal(perform):
    """Supermarkets whose number grows with BASE: all of their traffic is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()


@pytest.mark.workload(cases.FREEFORM)
def test_freeform(perform):
    """A topology of the user's own: all of its traffic is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()


@pytest.mark.workload(*cases.ALONE)
def test_interaction(perform):
    """One interaction alone, at its share of the vertical topology: all of it is received before the drain ends."""
    outcome = perform()

    assert outcome.passed, outcome.explain()


@pytest.mark.fault(cases.RECOVERABILITY)
def test_recoverability(endure):
    """A broker that is killed under this load and started again keeps what it promises, and comes back."""
    outcome = endure()

    assert outcome.kept, outcome.explain()
