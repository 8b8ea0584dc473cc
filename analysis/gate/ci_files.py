"""What a gate leaves for a CI system: its Markdown in the run directory, and in the files that the system names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.gate import console
from analysis.gate.results import GateResult

#: File with the Markdown, in the run directory.
SUMMARY = "summary.md"

#: Environment variables in which GitHub Actions names a file for Markdown, and one for the outputs of a step.
STEP_SUMMARY, STEP_OUTPUT = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"


def write(result: GateResult, report: Path | None, environment: Mapping[str, str] = os.environ) -> None:
    """Writes the verdict and the table; of the files that the environment does not name, none.

    result: of the gate
    report: its page; None where it could not be written
    environment: that of the session

    Raises OSError.
    """
    page, markdown = Path(result.path) / SUMMARY, console.markdown([result]) + "\n"
    page.write_text(markdown, encoding="utf-8")
    outputs = {"verdict": result.verdict.value, "summary": page.resolve(), "report": report and report.resolve()}
    _append(environment.get(STEP_SUMMARY), [markdown])
    _append(environment.get(STEP_OUTPUT), [f"{name}={value or ''}\n" for name, value in outputs.items()])


def _append(file: str | None, lines: Sequence[str]) -> None:
    if file:
        with Path(file).open("a", encoding="utf-8") as opened:
            opened.writelines(lines)
