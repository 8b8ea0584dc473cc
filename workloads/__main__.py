"""`python -m workloads describe`: what a workload is, before anything runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from workloads.command_line import program
from workloads.description import description
from workloads.errors import WorkloadError
from workloads.registry import WORKLOADS
from workloads.scenario.workload import NO_TEXT, Text

#: The workload whose files are those of users.
_OWN = "own"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 printed; 2 refused, with the reason on standard error."""
    options = _parser().parse_args(arguments)
    try:
        text = _described(options.workload, options.case, options.base)
    except WorkloadError as error:
        sys.stderr.write(f"workloads: {error}\n")
        return 2
    sys.stdout.write(text + "\n")
    return 0


def _described(name: str, case_name: str | None, base: int | None) -> str:
    workload = WORKLOADS.get(name, WORKLOADS[_OWN])
    if case_name is not None and case_name not in workload.cases:
        raise WorkloadError(f"--case: expected one of {', '.join(workload.cases)}, got {case_name!r}")
    case = workload.cases[case_name or next(iter(workload.cases))]
    file = Path(name) if name not in WORKLOADS else None if case.files is None else case.files.default
    request = workload.request(base, NO_TEXT if file is None else _text(file))
    return description(workload, case.model(request))


def _text(file: Path) -> Text:
    try:
        return Text.read(file, str(file))
    except WorkloadError as error:
        raise WorkloadError(f"{error}; expected a file, or one of {', '.join(WORKLOADS)}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program("python -m workloads"), description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="describe")
    describe = commands.add_parser("describe", help="places, messages, rates and sizes of a workload")
    describe.add_argument("workload", help=f"FILE.toml, or one of {', '.join(WORKLOADS)}")
    describe.add_argument("--case", help="one of its cases (default: the first)")
    describe.add_argument("--base", type=int, help="BASE (default: the workload's)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
