"""The commands `python -m workloads.<name>`, which describe a workload without running it: what they have in common.

Each workload says what is computed, and how it is shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from workloads.errors import WorkloadError
from workloads.scenario.workload import Text

#: A part of the text of a description.
TextPart = Callable[[dict[str, Any]], str]


def describe(
    parser: argparse.ArgumentParser,
    disclaimer: str,
    described: Callable[[argparse.Namespace], tuple[dict[str, Any], Iterable[TextPart]]],
    arguments: Sequence[str] | None = None,
) -> int:
    """Prints what `described` gives for the options of a parser `with_json`, as the parts of a text or as one object.

    Exit code: 0 printed; 2 refused, with the reason on standard error.
    """
    options = parser.parse_args(arguments)
    try:
        record, parts = described(options)
    except WorkloadError as error:
        sys.stderr.write(f"{parser.prog.removeprefix('python -m ')}: {error}\n")
        return 2
    if options.json:
        text = json.dumps({"disclaimer": disclaimer, **record}, indent=2, allow_nan=False)
    else:
        text = "\n\n".join((disclaimer, *(part(record) for part in parts)))
    sys.stdout.write(f"{text}\n")
    return 0


def with_json(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser with the option that all commands have, the last one."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def bases(text: str) -> range:
    """The type of an option: `5`, or `5:100:5`, both ends included."""
    try:
        numbers = [int(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    match numbers:
        case [base] if base >= 1:
            return range(base, base + 1)
        case [first, last, step] if 1 <= first <= last and step >= 1:
            return range(first, last + 1, step)
    raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, or FIRST:LAST:STEP, got {text!r}")


def file_text(option: str, file: Path) -> str:
    """The text of a file that an option names. Raises WorkloadError if it cannot be read."""
    return Text.read(file, f"--{option} {file}").text
