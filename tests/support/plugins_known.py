"""What sessions of pytest inside this process would find out anew each: it takes a third of one that only collects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata

import pytest
from pytest_benchmark import plugin, utils


@contextmanager
def plugins_known() -> Iterator[None]:
    """A session looks through all packages for each of its plugins, and asks git for the default of an option."""
    packages, tag = _with_plugins(), _tag()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "distributions", lambda: packages)
        patch.setattr(plugin, "get_tag", lambda: tag)
        yield


@cache
def _with_plugins() -> tuple[metadata.Distribution, ...]:
    return tuple(
        package
        for package in metadata.distributions()
        if any(entry.group == "pytest11" for entry in package.entry_points)
    )


@cache
def _tag() -> str:
    return utils.get_tag()
