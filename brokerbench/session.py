"""A session of pytest with the settings and plugins of the tree only, in which paths and ids are those of the tree.

What the user's own words say comes last, and wins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from brokerbench import environment, settings


def run(words: Sequence[str]) -> int:
    """The exit code of pytest.

    words: its arguments; folders and files of what is measured are relative to the tree, all others to the current
        folder
    """
    try:
        defaults = settings.arguments()
    except settings.SettingsError as error:
        sys.stderr.write(f"brokerbench: {error}\n")
        return pytest.ExitCode.USAGE_ERROR
    own = (
        *("-c", environment.CONFIGURATION, "--rootdir", environment.TREE, "--confcutdir", environment.TREE),
        *("--disable-plugin-autoload", "-p", "pytest_benchmark.plugin"),
        *("-o", f"cache_dir={environment.cache('pytest')}"),
    )
    return pytest.main([*map(str, own), *defaults, *words], plugins=[_Words(tuple(words), Path.cwd()), settings])


@dataclass(frozen=True, slots=True)
class _Words:
    """A plugin of that session, which knows what the user said."""

    words: tuple[str, ...]
    #: The current folder.
    folder: Path

    @pytest.hookimpl(tryfirst=True)  # before pytest looks for what is named
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        """Lets words that name tests mean those of the tree, and lets pytest print their ids as in a checkout.

        Sessions that this one starts say the user's words again, and get the settings of the tree by themselves.
        """
        called = early_config.invocation_params
        early_config.invocation_params = replace(called, args=self.words, dir=environment.TREE)

    @pytest.hookimpl(wrapper=True)  # before all that is no wrapper
    def pytest_sessionfinish(self) -> Generator[None, Any, Any]:
        """Goes back: pytest ends in the folder that tests are relative to, and an interrupted run is recorded then."""
        os.chdir(self.folder)
        return (yield)
