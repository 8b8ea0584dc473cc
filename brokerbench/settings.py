"""The file in the current folder that sets defaults of the options.

Its values are given to pytest as those of its ini keys, so that what is on the command line wins. The module is a
plugin of that session, which checks the keys.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest

FILE = Path("brokerbench.toml")

#: Group of `pytest --help` whose options may be set.
GROUP = "brokerbench"


class SettingsError(Exception):
    """The file cannot be used; the message says why, and what was expected."""


def arguments() -> list[str]:
    """The file as arguments of pytest; none without a file. Raises SettingsError."""
    return list(_overrides(_given()))


@pytest.hookimpl(trylast=True)  # after pytest's own, which loads that of the tree
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> None:
    """Refuses unknown keys, once all plugins have declared theirs."""
    known = {option.dest: option.names()[-1] for option in parser.getgroup(GROUP).options}
    for key, value in _given().items():
        if key not in known:
            near = get_close_matches(key, known) or sorted(known)
            raise pytest.UsageError(f"{FILE}: unknown key {key!r}; the nearest are {', '.join(near)}")
        try:
            set_to = early_config.getini(key)
        except ValueError:
            raise pytest.UsageError(f"{FILE}: {key}: give {known[key]} on the command line") from None
        if isinstance(value, list) and not isinstance(set_to, list):
            raise pytest.UsageError(f"{FILE}: {key}: expected one value, got {value!r}")


def _given() -> dict[str, Any]:
    try:
        return tomllib.loads(FILE.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{FILE}: cannot be read as TOML: {error}") from None


def _overrides(given: dict[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        text = shlex.join(_text(key, each) for each in value) if isinstance(value, list) else _text(key, value)
        yield from ("-o", f"{key}={text}")


def _text(key: str, value: object) -> str:
    """A value as it stands in an ini file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise SettingsError(f"{FILE}: {key}: expected a text, a number, true or false, got {value!r}")
