"""The process of which Spark's Python processes are copies, as `pyspark.daemon`.

Spark puts an archive of PySpark before all else, which Python compiles at each start, for a second and more. Where the
archive belongs to the PySpark that is installed here, the same modules are beside it, compiled.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path

ARCHIVE = "pyspark.zip"


def without_archive(paths: list[str]) -> list[str]:
    """The paths of modules without that of the archive, where it is not needed."""
    archives = [Path(path).resolve() for path in paths if Path(path).name == ARCHIVE]
    others = [path for path in paths if Path(path).name != ARCHIVE]
    found = PathFinder.find_spec("pyspark", others)
    installed = Path(found.origin).resolve().parent if found is not None and found.origin else None
    return others if all(archive.parents[2] == installed for archive in archives) else paths


if __name__ == "__main__":
    sys.path[:] = without_archive(sys.path)
    from pyspark.daemon import manager

    manager()
