"""The cases of this workload, by name: the controlled topologies, a user-defined one, and each interaction alone."""

from __future__ import annotations

from pathlib import Path

from workloads.scenario.workload import Case, CaseFiles, CaseRequest
from workloads.supply_chain import freeform
from workloads.supply_chain.interactions import INTERACTIONS
from workloads.supply_chain.supply_chain import SupplyChain
from workloads.supply_chain.topology import horizontal, vertical

#: Name of the experiment in every record.
NAME = "specjms2007"


def _alone(number: int) -> Case:
    """An interaction of the vertical topology; its name lacks `vertical`, which selects the whole topology with -k."""
    return Case(NAME, f"interaction_{number}", lambda request: SupplyChain(vertical(request.base).only(number)))


def _vertical(request: CaseRequest) -> SupplyChain:
    return SupplyChain(vertical(request.base))


def _freeform(request: CaseRequest) -> SupplyChain:
    return SupplyChain(freeform.read(request.own.text, request.base, request.own.source))


VERTICAL = Case(NAME, "vertical", _vertical)
HORIZONTAL = Case(NAME, "horizontal", lambda request: SupplyChain(horizontal(request.base)))
FREEFORM = Case(NAME, "freeform", _freeform, CaseFiles("freeform", Path(freeform.__file__).with_name(freeform.EXAMPLE)))
ALONE = tuple(map(_alone, INTERACTIONS))
#: Run by the same means as the experiment about faults, so that it is no case of a measurement.
RECOVERABILITY = Case(NAME, "recovery", _vertical)

CASES = {case.name: case for case in (VERTICAL, HORIZONTAL, FREEFORM, *ALONE)}
