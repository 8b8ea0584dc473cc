"""The digest of the tables."""

from __future__ import annotations

from fractions import Fraction

from workloads.supply_chain import digests as room
from workloads.supply_chain.digests import digest
from workloads.supply_chain.sizes import SizeDistribution


def test_the_digest_is_that_of_the_model(monkeypatch):
    """It is the same in every process, and another one when any of the tables says something else."""
    published = digest()
    assert len(published) == 64

    for table, key, value in (
        ("SIZE_DISTRIBUTIONS", 1, SizeDistribution(x=(5, 100, 701))),
        ("VERTICAL_PER_S", 1, Fraction(1)),
        ("HORIZONTAL_PER_S", 1, Fraction(1)),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(room, table, {**getattr(room, table), key: value})
            assert digest() != published
    assert digest() == published
