"""The model of a business that a file describes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from workloads.scenario.business import Business
from workloads.scenario.business_file import read_business
from workloads.scenario.business_model import BusinessModel, check_connections


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file and a BASE, from which an equal model is built again."""

    base: int
    #: Name of the file, in messages.
    source: str
    text: str


@dataclass(frozen=True)
class FileModel(BusinessModel):
    """A file at a BASE as a `workloads.scenario.workload.Model`; use `file_model`."""

    record: FileRecord
    configuration: None = None
    without_figure: str = ""
    #: Nobody has published it.
    published: bool = False

    @cached_property
    def business(self) -> Business:
        return read_business(self.record.text, self.record.source, self.record.base)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        roles = self.business.roles.values()
        return (("file", self.record.source), ("places", ", ".join(f"{role.places} {role.name}" for role in roles)))


def file_model(record: FileRecord) -> FileModel:
    """The model of a file at a BASE.

    Raises WorkloadError with line, table and key of an invalid value, or if it needs too many connections.
    """
    model = FileModel(record)
    check_connections(f"{record.source}, BASE {record.base}", model.connections)
    return model
