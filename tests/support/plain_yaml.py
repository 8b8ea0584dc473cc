"""The part of YAML that the suite's own action and workflows are written in: mappings, lists and blocks of text.

Every scalar is text. What is not of this part is refused, so that nothing is read in another way than by the CI system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_LINE = re.compile(r"(?P<indent> *)(?P<item>- )?(?:(?P<key>[\w.-]+):(?: (?P<value>.*))?)$")
_QUOTED = re.compile(r'"([^"\\]*)"')


def plain_yaml(text: str) -> Any:
    """The value of a document."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    value, rest = _mapping(lines, 0)
    if any(line.strip() for line in rest):
        raise ValueError(f"not of the plain part of YAML: {rest[0]!r}")
    return value


def steps_of(steps: list[Any]) -> Iterator[dict[str, Any]]:
    """The steps of a job or an action that run a shell."""
    return (step for step in steps if "run" in step)


def _mapping(lines: list[str], indent: int) -> tuple[dict[str, Any], list[str]]:
    """A mapping whose keys are indented so far, and the lines behind it."""
    found: dict[str, Any] = {}
    while lines := _without_blank(lines):
        line = _LINE.fullmatch(lines[0])
        if line is None:
            raise ValueError(f"not of the plain part of YAML: {lines[0]!r}")
        if line["item"] or len(line["indent"]) != indent:
            break
        if line["key"] in found:
            raise ValueError(f"twice: {lines[0]!r}")
        found[line["key"]], lines = _value(line["value"] or "", lines[1:], indent)
    return found, lines


def _value(text: str, lines: list[str], indent: int) -> tuple[Any, list[str]]:
    """What stands behind a key: a scalar on its line, or what is indented below it."""
    if text == "|":
        return _block(lines)
    if text:
        if text[0] in "{[&*!>%@`'":
            raise ValueError(f"not of the plain part of YAML: {text!r}")
        quoted = _QUOTED.fullmatch(text)
        return quoted[1] if quoted else text, lines
    below = _without_blank(lines)
    deeper = len(below[0]) - len(below[0].lstrip()) if below else 0
    if deeper <= indent:
        return "", lines
    return (_list if below[0].lstrip().startswith("- ") else _mapping)(below, deeper)


def _block(lines: list[str]) -> tuple[str, list[str]]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    end = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith(" " * indent)), len(lines))
    return "\n".join(line[indent:] for line in lines[:end]).rstrip("\n") + "\n", lines[end:]


def _list(lines: list[str], indent: int) -> tuple[list[Any], list[str]]:
    found: list[Any] = []
    while (lines := _without_blank(lines)) and lines[0].startswith(" " * indent + "- "):
        item = " " * (indent + 2) + lines[0][indent + 2 :]
        if _LINE.fullmatch(item):
            value, lines = _mapping([item, *lines[1:]], indent + 2)
        else:
            value, lines = item.strip(), lines[1:]
        found.append(value)
    return found, lines


def _without_blank(lines: list[str]) -> list[str]:
    return lines if not lines or lines[0].strip() else _without_blank(lines[1:])
