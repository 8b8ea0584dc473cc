"""What `make extras` installs. Where it is missing a test says so in the summary; where it was installed, it fails."""

from __future__ import annotations

import os

import pytest


def lacking(what: str) -> None:
    """EXTRAS=1 says that they were installed: then nothing may be skipped for the lack of them."""
    if os.environ.get("EXTRAS") == "1":
        pytest.fail(what)
    pytest.skip(f"NOT tested: {what}; `make extras` installs what only some tests need")
