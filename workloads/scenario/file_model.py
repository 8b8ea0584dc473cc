"""The model of a business that a file describes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from workloads.scenario.business import Business
from workloads.scenario.business_file import read_business
from workloads.scenario.business_model import BusinessModel, check_connections
from workloads.scenario.workload import CaseRequest


@dataclass(frozen=True)
class FileModel(BusinessModel):
    """A file at a BASE as a `workloads.scenario.workload.Model`; use `file_model`."""

    request: CaseRequest
    without_figure: str = ""
    #: Nobody has published it.
    published: bool = False

    @cached_property
    def business(self) -> Business:
        return read_business(self.request.own.text, self.request.own.source, self.request.base)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        roles = self.business.roles.values()
        places = ", ".join(f"{role.places} {role.name}" for role in roles)
        return (("file", self.request.own.source), ("places", places))


def file_model(request: CaseRequest) -> FileModel:
    """The model of a file at a BASE.

    Raises WorkloadError with line, table and key of an invalid value, or if it needs too many connections.
    """
    model = FileModel(request)
    check_connections(f"{request.own.source}, BASE {request.base}", model.connections)
    return model
