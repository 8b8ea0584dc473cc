"""Where the suite's packages are, and the environment in which they and all their processes find each other.

In a checkout they are the folders beside this package, where it is installed those in its folder `tree`.
"""

from __future__ import annotations

import os
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "tree"
TREE = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent

#: The settings of pytest for this suite, and its version.
CONFIGURATION = TREE / "pyproject.toml"

#: What would let a user's settings of pytest for other tests reach in.
_OF_PYTEST = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")


def enter() -> None:
    """Lets this process and its children import the tree before anything else of the same names."""
    if sys.path and sys.path[0] in {"", str(Path.cwd())}:  # `python -m` puts the current folder there
        del sys.path[0]
    sys.path.insert(0, str(TREE))
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONSAFEPATH"] = "1"  # else Spark's processes take the current folder for a place of modules
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TREE), *others])
    as_script = Path(sys.argv[0]).name == _PACKAGE.name
    called = _PACKAGE.name if as_script else f"python -m {_PACKAGE.name}"
    os.environ.setdefault(module("workloads.command_line").VARIABLE, called)  # set: by a session that started this one
    for name in _OF_PYTEST:
        os.environ.pop(name, None)
    if not os.access(TREE, os.W_OK) and not any(TREE.glob("*/__pycache__")):
        # An installer may leave the compiling to the first process, and each would do it again.
        sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(cache("bytecode")))


def cache(name: str) -> Path:
    """A folder of the user's for what can be made again."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / _PACKAGE.name / name


def version() -> str:
    return str(tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["project"]["version"])


def module(name: str) -> Any:
    """A module of the tree, which has been entered."""
    return import_module(name)
