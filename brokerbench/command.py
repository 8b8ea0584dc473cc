"""The command `brokerbench`: measures from any folder, and reads what was measured.

Its first word is a folder of the tree, whose experiments or workloads pytest then runs, or a command of a module there.
The words of `analysis` are those of its own table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import cast

from brokerbench import environment

#: What pytest runs, by its folder.
MEASURED = {
    "microbench": "measure experiments: what one message, one filter and one copy cost",
    "workloads": "run business workloads, and audit every message",
}

DESCRIBE = {"describe": "places, messages, rates and sizes of a workload, before anything runs"}

VERSIONS = {"versions": "releases of a broker that can be measured"}

#: Exit code of what is refused before anything is run.
USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of what was run, or `USAGE`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    environment.enter()
    first = words[0] if words else ""
    if first in {"--version", "-V"}:
        sys.stdout.write(f"brokerbench {environment.version()}\n")
        return 0
    if first.partition("::")[0].partition("/")[0] in MEASURED:
        from brokerbench import session  # noqa: PLC0415 - imports pytest, not for the other commands

        return session.run(words)
    verbs = _verbs()
    packages = {
        **dict.fromkeys(DESCRIBE, "workloads"),
        **dict.fromkeys(VERSIONS, "fixtures.brokers"),
        **dict.fromkeys(verbs, "analysis"),
    }
    word = first.removeprefix("--")  # `--versions PRODUCT` is what some type
    if word in packages:
        return _run(packages[word], [word, *words[1:]])
    if first in {"", "--help", "-h"}:
        sys.stdout.write(_help(verbs))
        return 0 if first else USAGE
    names = [*MEASURED, *DESCRIBE, *VERSIONS, *verbs]
    near = get_close_matches(first, names) or names
    sys.stderr.write(f"brokerbench: unknown command {first!r}; expected {' or '.join(near)}; see brokerbench --help\n")
    return USAGE


def _verbs() -> dict[str, str]:
    """The words of the analysis, each with what it does."""
    return cast(dict[str, str], environment.module("analysis.__main__").VERBS)


def _run(package: str, words: Sequence[str]) -> int:
    return int(environment.module(f"{package}.__main__").main(words))


def _help(verbs: dict[str, str]) -> str:
    width = max(map(len, (*MEASURED, *DESCRIBE, *VERSIONS, *verbs)))
    groups = {
        "measure (the words that follow are those of pytest: -k, --broker, ...)": MEASURED,
        "before a measurement": DESCRIBE | VERSIONS,
        "after it (without a name: of results/latest)": verbs,
    }
    lines = ["usage: brokerbench COMMAND ...", "", "Benchmarks of message brokers, with intervals and a verdict."]
    for title, commands in groups.items():
        lines += ["", f"{title}:", *(f"  {name:{width}}  {text}" for name, text in commands.items())]
    lines += [
        "",
        "brokerbench COMMAND --help has the options of a command.",
        "brokerbench.toml in the current folder sets their defaults: keys are the options, with _ for -.",
        "Results are written to ./results.",
    ]
    return "\n".join([*lines, ""])
