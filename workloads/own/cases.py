"""The cases of a user's file: its load, and the same with a broker that is killed under it."""

from __future__ import annotations

from pathlib import Path

from workloads.scenario.business_file import business_name
from workloads.scenario.file_model import file_model
from workloads.scenario.workload import Case, CaseFiles, CaseRequest

#: Name of the experiment in every record.
NAME = "own"

#: The user's file, or else an example.
FILES = CaseFiles("workload", Path(__file__).with_name("shop.toml"))


def _name(request: CaseRequest) -> str:
    return business_name(request.own.text, request.own.source)


LOAD = Case(NAME, "load", file_model, FILES, called=_name)
#: Run by the same means as the experiment about faults, so that it is no case of a measurement.
RECOVERABILITY = Case(
    NAME, "recoverability", file_model, FILES, called=lambda request: f"{_name(request)}-recoverability"
)

CASES = {LOAD.name: LOAD}
