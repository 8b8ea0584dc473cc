"""The cases of this workload, by name: the scenarios of the paper, and configurations from files."""

from __future__ import annotations

from workloads.jms2009ps.compiled import ConfiguredSupplyChain
from workloads.jms2009ps.configuration import NONDURABLE, read
from workloads.jms2009ps.digests import configuration_digest
from workloads.jms2009ps.scenarios import SCENARIOS
from workloads.scenario.workload import Case, CaseFiles, CaseRequest

#: Name of the experiment in every record.
NAME = "jms2009ps"


def _scenario(number: int) -> Case:
    settings = SCENARIOS[number]
    return Case(NAME, settings.name, lambda request: ConfiguredSupplyChain.configured(settings, request.base))


def _model(request: CaseRequest) -> ConfiguredSupplyChain:
    return ConfiguredSupplyChain.configured(read(request.own.text, request.own.source), request.base)


def _identified(request: CaseRequest) -> str:
    """Tells the cells of several files apart, and those of a file from those of another version of it."""
    return f"configuration_{configuration_digest(read(request.own.text, request.own.source))[:8]}"


OF_PAPER = tuple(map(_scenario, SCENARIOS))
CONFIGURATION = Case(NAME, "configuration", _model, CaseFiles("configuration", NONDURABLE), called=_identified)

CASES = {case.name: case for case in (*OF_PAPER, CONFIGURATION)}
