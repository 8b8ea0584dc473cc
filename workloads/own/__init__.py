"""A workload of the user's own, from a file: `--workload FILE.toml` (`workloads.scenario.business_file`).

Without that option its cases are not collected; what a model is, is shown of an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workloads.json_value import digest_of
from workloads.own.cases import CASES, LOAD, NAME
from workloads.scenario.limits import SPEC_RULES
from workloads.scenario.workload import Workload

#: Printed before every result.
DISCLAIMER = (
    "This workload is the user's own: its figures say what this load costs on this host, and are comparable only with "
    "results of the same file."
)


def file_of(model: Any) -> Mapping[str, str]:
    """What keeps the results of a model of this workload apart from those of another file."""
    return {"file": digest_of(model.request.own.text)[:12]}


WORKLOAD = Workload(
    name=NAME,
    subject="a business of the user's own",
    disclaimer=DISCLAIMER,
    figure="BASE ({topology})",
    rules=SPEC_RULES,
    source="the user's file",
    provenance="The workload is described by the user's file, which the run directory has.",
    cases=CASES,
    digest=lambda: digest_of([]),
    deviations=None,
    not_applicable=(),
    other_case=LOAD,  # of files with a name of their own
    apart=file_of,
)
